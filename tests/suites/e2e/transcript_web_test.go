package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// webSurface is the bot's own API. People are sessions; Ada's is opened with an administrator's key.
type webSurface struct {
	t      testing.TB
	b      *bot
	llm    *llm
	ledger *mcpserver.Ledger
	people map[string]*person
}

func openWeb(t testing.TB) surface {
	t.Helper()
	yaml, ledger := toolbox(t)
	yaml = entry(yaml, "shared: true") + "web: {session_keys: [{name: Ana, key: a-long-key-of-ana}, {name: Ben, key: a-long-key-of-ben}]}\n"
	w := &webSurface{t: t, llm: startLLM(t), ledger: ledger, people: map[string]*person{}}
	w.b = start(t, settings{yaml: yaml + transcriptYAML, env: w.llm.env("ADMIN_SESSION_KEYS=a-long-key-of-ada")})
	for _, name := range []string{"Ana", "Ben"} {
		w.people[name] = w.b.sessionBy("a-long-key-of-" + strings.ToLower(name))
	}
	w.people["Ada"] = &person{t: t, b: w.b, key: "a-long-key-of-ada"}
	return w
}

func (*webSurface) room(all string) string     { return all }
func (w *webSurface) model() *llm              { return w.llm }
func (w *webSurface) tools() *mcpserver.Ledger { return w.ledger }

// webChat is a chat there: what its stream of events says, as a page would have it.
type webChat struct {
	t    testing.TB
	on   *webSurface
	room *room
	s    *stream

	mu    sync.Mutex
	said  map[string][]string   // to whom
	forms map[string]placedForm // by their IDs
	older []post                // of chats that were left
}

// placedForm is a message of the API with all of it that transcripts compare.
type placedForm struct {
	ID      string       `json:"id"`
	Number  int          `json:"number"` // its place in the chat
	Role    string       `json:"role"`
	Turn    string       `json:"turn_id"`
	Choices []choiceForm `json:"choices"`
	Blocks  []struct {
		blockForm
		Mark      string       `json:"mark"`
		Says      string       `json:"says"`
		Footer    []spanForm   `json:"footer"`
		More      []choiceForm `json:"more"`
		Arguments struct {
			JSON string                         `json:"json"`
			Rows []struct{ Name, Value string } `json:"rows"`
			Say  string                         `json:"say"`
		} `json:"arguments"`
	} `json:"blocks"`
}

func (w *webSurface) chat(t testing.TB) conversation {
	c := &webChat{t: t, on: w, said: map[string][]string{}}
	c.open()
	return c
}

func (c *webChat) open() {
	ana := *c.on.people["Ana"]
	ana.t = c.t
	c.room = ana.room()
	c.s = c.room.events("")
	c.forms = map[string]placedForm{}
}

func (c *webChat) close() { c.s.close() }

func (c *webChat) as(who string) *room {
	p := *c.on.people[who]
	p.t = c.t
	return c.room.as(&p)
}

func (c *webChat) says(who, text string) { c.as(who).say(text) }

// commands: a message that begins with "/nod" is none. Its answer is for whoever gave it.
func (c *webChat) commands(who, text string) {
	var out struct{ Lines []string }
	r := c.as(who)
	status, no := r.call("POST", r.path("/messages"), map[string]string{"text": "/nod " + text}, &out)
	if status >= http.StatusBadRequest {
		out.Lines = []string{no.Message}
	}
	c.tell(who, strings.Join(out.Lines, " "))
}

func (c *webChat) tell(who, say string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[who] = append(c.said[who], plainly(isAda.Replace(say)))
}

// startsOver: whatever was said and allowed counts for its chat alone, and this is another.
func (c *webChat) startsOver(string) {
	c.older = c.posts()
	c.s.close()
	c.open()
}

// posts are what the stream told so far. Its events hold whole messages; what comes late is told by its number.
func (c *webChat) posts() []post {
	c.mu.Lock()
	defer c.mu.Unlock()
	for more := true; more; {
		select {
		case e, ok := <-c.s.events:
			if more = ok; ok && e.Name == "message" {
				m := decode[placedForm](c.t, e.Data)
				c.forms[m.ID] = m
			}
		default:
			more = false
		}
	}
	out := slices.Clone(c.older)
	var forms []placedForm
	for _, m := range c.forms {
		if m.Role == "assistant" {
			forms = append(forms, m)
		}
	}
	slices.SortFunc(forms, func(a, b placedForm) int { return a.Number - b.Number })
	for _, m := range forms {
		out = append(out, c.read(m))
	}
	return out
}

// isAda: whoever has an administrator's key is called "admin" there.
var isAda = strings.NewReplacer(" by admin", " by Ada", "admin halted", "Ada halted")

// read is a message of the API as what it says.
func (c *webChat) read(m placedForm) post {
	p := post{id: m.Turn}
	take := func(all []choiceForm) (out []button) {
		for _, b := range all {
			label := b.Label
			if b.Toggle != "" {
				label = ticked(label, b.Toggle == "on")
			}
			out = append(out, button{label, b})
		}
		return out
	}
	for _, b := range m.Blocks {
		switch b.Type {
		case "text":
			p.said = append(p.said, plainly(b.Markdown))
		case "step":
			p.steps = append(p.steps, stepLine(b.Mark+" "+b.Title, b.ServerName, isAda.Replace(words(b.Detail))))
			p.buttons = append(p.buttons, take(b.Choices)...)
		case "ask":
			k := card{header: b.Header, run: b.Run, question: plainly(b.Question), facts: stepLine(words(b.Facts), b.Arguments.Say), footer: plainly(timed(b.Footer)),
				warned: b.Warning == warning && b.Review == review, buttons: append(take(b.Choices), take(b.More)...)}
			if k.args = compactly(b.Arguments.JSON); !json.Valid([]byte(k.args)) && len(b.Arguments.Rows) > 0 { // of several calls, a row for each
				var rows []string
				for _, r := range b.Arguments.Rows {
					rows = append(rows, r.Name+": "+r.Value)
				}
				k.args = argsOf(rows)
			}
			if b.Says != "" {
				k.said = plainly("The server says (not checked): " + b.Says)
			}
			p.cards = append(p.cards, k)
		case "note":
			p.notes = append(p.notes, plainly(isAda.Replace(words(b.Line))))
			p.buttons = append(p.buttons, take(b.Choices)...)
		default:
			c.t.Errorf("a block of type %s", b.Type)
		}
	}
	p.buttons = append(p.buttons, take(m.Choices)...)
	return p
}

// timed is a line with its times, as a page has them.
func timed(line []spanForm) string {
	var out strings.Builder
	for _, s := range line {
		if out.WriteString(words([]spanForm{s})); !s.Time.IsZero() {
			out.WriteString(s.Time.Format("15:04 UTC"))
		}
	}
	return out.String()
}

func (c *webChat) press(who string, on post, b button) {
	body := map[string]string{"token": b.native.(choiceForm).Token, "choice": b.native.(choiceForm).Choice}
	if b.label == "Stop" { // is a request of its own
		c.post(who, "/stop", map[string]string{"turn_id": on.id})
		return
	}
	c.post(who, "/clicks", body)
}

func (c *webChat) fillIn(who string, _ post, b button, text string) {
	x := b.native.(choiceForm)
	body := map[string]string{"token": x.Token, "choice": x.Choice}
	switch x.Choice {
	case "deny_reason":
		body["choice"], body["reason"] = "deny", text
	case "edit":
		body["arguments"] = text
	default:
		c.t.Fatalf("%s opens no form", b.label)
	}
	c.post(who, "/clicks", body)
}

// post sends an answer. What is refused, they are told.
func (c *webChat) post(who, path string, body map[string]string) {
	var out json.RawMessage
	r := c.as(who)
	status, no := r.call("POST", r.path(path), body, &out)
	if status < http.StatusBadRequest {
		return
	}
	c.tell(who, no.Message)
}

func (c *webChat) told(who string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.said[who])
}
