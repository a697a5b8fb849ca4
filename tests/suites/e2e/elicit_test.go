package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// wantForm is what a server wants of a person, as the API tells it.
type wantForm struct {
	Kind       string `json:"kind"`
	ServerName string `json:"server_name"`
	Message    string `json:"message"`
	Fields     []struct {
		Name     string `json:"name"`
		Title    string `json:"title"`
		Required bool   `json:"required"`
	} `json:"fields"`
	Address *struct {
		URL     string `json:"url"`
		Host    string `json:"host"`
		Warning string `json:"warning"`
	} `json:"address"`
	Prompt string `json:"prompt"`
}

// asksBack says something, allows the call, and waits for what its server wants meanwhile.
func (r *room) asksBack(text string) (request string, w wantForm) {
	r.t.Helper()
	r.mustClick(r.ask(text).RequestID, "allow_once")
	c := r.until("the server asks for something", func(c chatForm) bool { return c.last().block("ask", "").Kind == "input" })
	request = c.last().block("ask", "").RequestID
	if status, no := r.call("GET", "/api/v1/asks/"+request+"/want", nil, &w); status != http.StatusOK {
		r.t.Fatalf("want: %d %+v", status, no)
	}
	return request, w
}

// answer fills in what a server wants.
func (r *room) answer(request string, fields map[string]any) (status int, no problem) {
	r.t.Helper()
	return r.call("POST", "/api/v1/asks/"+request, map[string]any{"choice": "answer", "fields": fields}, nil)
}

const elicits = `call box__elicit {"params":{"message":"Which branch?","requestedSchema":{"type":"object","properties":{"branch":{"type":"string","title":"Branch","minLength":2},"force":{"type":"boolean"}},"required":["branch"]}}}`

// A server's form is the requester's alone, and what they fill in is what the server gets.
func TestServerElicitsAForm(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	request, w := r.asksBack(elicits)
	if w.Kind != "form" || w.ServerName != "box" || w.Message != "Which branch?" || len(w.Fields) != 2 || w.Fields[0].Name != "branch" || !w.Fields[0].Required {
		t.Errorf("%+v", w)
	}
	ben := r.as(b.session("Ben"))
	if status, no := ben.call("GET", "/api/v1/asks/"+request+"/want", nil, nil); status != http.StatusForbidden {
		t.Errorf("Ben reads what Ana is asked: %d %+v", status, no)
	}
	if status, no := ben.answer(request, map[string]any{"branch": "evil"}); status != http.StatusForbidden {
		t.Errorf("Ben answers for Ana: %d %+v", status, no)
	}
	if status, no := r.answer(request, map[string]any{"branch": "x"}); status < 400 || !strings.Contains(no.Message, "Branch") {
		t.Errorf("a branch that is too short: %d %+v", status, no)
	}
	if status, no := r.answer(request, map[string]any{"branch": "main", "force": true}); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	c := r.idle()
	if got := c.last().ToolCalls[0].Result; got.IsError || got.Content != `accept {"branch":"main","force":true}` {
		t.Errorf("%+v", got)
	}
	if status, _ := r.answer(request, map[string]any{"branch": "other"}); status < 400 {
		t.Errorf("a second answer: %d", status)
	}
	if n := ledger.Count("elicit", "did"); n != 1 {
		t.Errorf("it was done %d times", n)
	}
	llm.healthy()
}

func TestServerIsDeclined(t *testing.T) {
	t.Parallel()
	box, _ := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	request, _ := r.asksBack(elicits)
	r.mustClick(request, "decline")
	if got := r.idle().last().ToolCalls[0].Result; got.Content != "decline null" {
		t.Errorf("%+v", got)
	}
}

// The whole address is shown, what is deceptive about its host is said, and only its reader says that they are done.
func TestServerWantsAnAddressOpened(t *testing.T) {
	t.Parallel()
	box, _ := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	const address = "https://xn--pple-43d.com/login?state=a%20b"
	request, w := r.asksBack(`call box__elicit_url {"url":"` + address + `"}`)
	if w.Kind != "url" || w.Address == nil || w.Address.URL != address || w.Address.Host != "xn--pple-43d.com" || !strings.Contains(w.Address.Warning, "mixes Cyrillic and Latin letters") {
		t.Errorf("%+v %+v", w, w.Address)
	}
	if status, no := r.answer(request, nil); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	if got := r.idle().last().ToolCalls[0].Result; got.Content != "accept null" {
		t.Errorf("%+v", got)
	}
	// What nobody can judge by reading it is not shown at all.
	r.mustClick(r.ask(`call box__elicit_url {"url":"https://good.example@evil.example/"}`).RequestID, "allow_once")
	c := r.idle()
	if got := c.last().ToolCalls[0].Result; got.Content != "cancel null" || strings.Contains(c.String(), "asks for something") {
		t.Errorf("%+v\n%s", got, c)
	}
}

// No server asks the model, whatever an old configuration says.
func TestNoServerAsksTheModel(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: entry(box, "sampling: true"), env: startLLM(t).env()})
	r := b.session("Ana").room()
	r.mustClick(r.ask(`call box__sample {"params":{"messages":[{"role":"user","content":{"type":"text","text":"say forty-two"}}],"maxTokens":50}}`).RequestID, "allow_once")
	if got := r.idle().last().ToolCalls[0].Result; !got.IsError || ledger.Count("sample", "did") != 0 {
		t.Errorf("%+v", got)
	}
}

// Stop ends the wait, and the server gets no yes.
func TestStopWhileAServerAsks(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: box, env: startLLM(t).env()})
	r := b.session("Ana").room()
	request, _ := r.asksBack(elicits)
	if status, no := r.call("POST", r.path("/stop"), nil, nil); status != http.StatusAccepted {
		t.Fatalf("stop: %d %+v", status, no)
	}
	if c := r.idle(); c.last().State != "stopped" {
		t.Errorf("%s", c)
	}
	if status, _ := r.answer(request, map[string]any{"branch": "main"}); status < 400 {
		t.Errorf("an answer after Stop: %d", status)
	}
	all, err := ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if strings.Contains(string(e.Args), "main") {
			t.Errorf("the server has an answer: %s", e.Args)
		}
	}
}
