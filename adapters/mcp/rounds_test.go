package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// modern is a server of 2026-07-28 that answers the n-th tools/call, from 1, with the rest of a message: its result or its
// error. Nothing at all: the connection breaks.
func modern(t *testing.T, calls *atomic.Int32, seen func(n int, params json.RawMessage), answer func(n int) string) Server {
	t.Helper()
	h := mcpserver.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req rawRequest
		_ = json.Unmarshal(body, &req)
		rest := `"result":{}`
		switch req.Method {
		case "server/discover":
			rest = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case "tools/list":
			rest = `"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			n := int(calls.Add(1))
			if seen != nil {
				seen(n, req.Params)
			}
			switch rest = answer(n); rest {
			case "":
				panic(http.ErrAbortHandler)
			case "404", "400", "503", "413":
				var status int
				_, _ = fmt.Sscan(rest, &status)
				w.WriteHeader(status)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, rest)
	}), "/")
	return Server{URL: h.URL}
}

const wantsBranch = `"result":{"resultType":"input_required","requestState":"opaque","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object","properties":{"branch":{"type":"string"}}}}}}}`

// Whatever a server answers, the call is sent again only with answers of a person in it.
func TestACallIsContinuedOnlyWithAnswers(t *testing.T) {
	ask := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`
	six := strings.Repeat(`"%d":`+ask+`,`, 5) + `"%d":` + ask
	for name, result := range map[string]string{
		"no requests":        `{"resultType":"input_required","requestState":"s"}`,
		"empty requests":     `{"resultType":"input_required","inputRequests":{},"requestState":"s"}`,
		"null requests":      `{"resultType":"input_required","inputRequests":null}`,
		"escaped":            `{"resultType":"input\u005frequired","inputRequests":{}}`,
		"another case":       `{"RESULTTYPE":"input_required","inputRequests":{}}`,
		"said twice":         `{"resultType":"complete","content":[],"resulttype":"input_required"}`,
		"content beside":     `{"resultType":"input_required","content":[{"type":"text","text":"x"}],"inputRequests":{}}`,
		"roots":              `{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`,
		"roots among others": `{"resultType":"input_required","inputRequests":{"a":` + ask + `,"r":{"method":"roots/list"}}}`,
		"the model":          `{"resultType":"input_required","inputRequests":{"s":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`,
		"a tool":             `{"resultType":"input_required","inputRequests":{"t":{"method":"tools/call","params":{}}}}`,
		"six at once":        fmt.Sprintf(`{"resultType":"input_required","inputRequests":{`+six+`}}`, 1, 2, 3, 4, 5, 6),
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			m := start(t, map[string]Server{"files": modern(t, &calls, nil, func(int) string { return `"result":` + result })})
			p := newPerson()
			p.answer <- accept("")
			got := receive(t, "outcome", runFor(t, m, p, "work", `{}`))
			if calls.Load() != 1 || len(p.asked) > 0 || got.err != nil {
				t.Errorf("%+v after %d calls and %d questions", got, calls.Load(), len(p.asked))
			}
			if name != "said twice" && name != "another case" && (!got.IsError || !strings.Contains(got.Text, "did not finish")) {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("in an older version", func(t *testing.T) {
		var calls atomic.Int32
		m, _ := rawAnswers(t, &rawServer{answer: func(id, _ json.RawMessage) string {
			calls.Add(1)
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, wantsBranch)
		}})
		p := newPerson()
		p.answer <- accept("")
		tok := token(t, spec(t, m, "wiki", "work").Tool, `{}`)
		r, err := m.run(within(t), tok, p.ask, nil)
		if err != nil || !r.IsError || calls.Load() != 1 || len(p.asked) > 0 {
			t.Errorf("%+v, %v after %d calls and %d questions", r, err, calls.Load(), len(p.asked))
		}
	})
}

// A call that is continued is the same call: its arguments, the answers, and the state that was given.
func TestTheContinuationCarriesTheAnswers(t *testing.T) {
	var calls atomic.Int32
	sent := make(chan json.RawMessage, 2)
	m := start(t, map[string]Server{"files": modern(t, &calls, func(_ int, p json.RawMessage) { sent <- p }, func(n int) string {
		if n == 1 {
			return wantsBranch
		}
		return `"result":{"content":[{"type":"text","text":"done"}]}`
	})})
	p := newPerson()
	p.answer <- accept(`{"branch":"main","n":9007199254740993}`)
	if got := receive(t, "outcome", runFor(t, m, p, "work", `{"x":9007199254740993}`)); got.err != nil || got.Text != "done" || calls.Load() != 2 {
		t.Errorf("%+v after %d calls", got, calls.Load())
	}
	type params struct {
		Arguments      json.RawMessage            `json:"arguments"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
		RequestState   string                     `json:"requestState"`
		Meta           struct {
			Can json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	var first, second params
	if err := json.Unmarshal(<-sent, &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(<-sent, &second); err != nil {
		t.Fatal(err)
	}
	if string(first.Meta.Can) != `{"elicitation":{"form":{},"url":{}}}` {
		t.Errorf("declared %s", first.Meta.Can)
	}
	if len(first.InputResponses) > 0 || string(first.Arguments) != string(second.Arguments) || string(second.Arguments) != `{"x":9007199254740993}` {
		t.Errorf("%+v, then %+v", first, second)
	}
	if second.RequestState != "opaque" || len(second.InputResponses) != 1 || string(second.InputResponses["a"]) != `{"action":"accept","content":{"branch":"main","n":9007199254740993}}` {
		t.Errorf("state %q, answers %s", second.RequestState, second.InputResponses)
	}
}

// Only the last answer counts; without one, what the server did before it asked is not undone: nobody knows.
func TestTheOutcomeOfAContinuedCall(t *testing.T) {
	for name, c := range map[string]struct {
		last  string
		known string // of the result; empty: nobody knows
	}{
		"answered":     {`"result":{"content":[{"type":"text","text":"done"}]}`, "done"},
		"refused":      {`"error":{"code":-32000,"message":"changed my mind"}`, "changed my mind"},
		"asks nothing": {`"result":{"resultType":"input_required","requestState":"s"}`, "nothing that a person could answer. It did not get it, and did not finish."},
		"broken":       {"", ""},
		"not found":    {"404", ""},
		"too large":    {"413", ""},
		"bad request":  {"400", ""},
		"overloaded":   {"503", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			m := start(t, map[string]Server{"files": modern(t, &calls, nil, func(n int) string {
				if n == 1 {
					return wantsBranch
				}
				return c.last
			})})
			p := newPerson()
			p.answer <- turn.Fill{Action: turn.FillDecline}
			got := receive(t, "outcome", runFor(t, m, p, "work", `{}`))
			if calls.Load() != 2 {
				t.Errorf("it was sent %d times", calls.Load())
			}
			if c.known == "" {
				unknown(t, got.err, "not known")
			} else if got.err != nil || !strings.Contains(got.Text, c.known) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A server may refuse a call until an address is opened. The person gets to see it; the call is not made again.
func TestWhatMustBeOpenedFirst(t *testing.T) {
	refusal := func(elicitations string) string {
		return `"error":{"code":-32042,"message":"Sign in first","data":{"elicitations":[` + elicitations + `]}}`
	}
	const one = `{"mode":"url","elicitationId":"e","message":"Sign in","url":"https://example.com/login"}`
	for name, c := range map[string]struct {
		answer string
		fill   turn.Fill
		asked  int
		want   string
	}{
		"opened":      {refusal(one + "," + one), accept(""), 2, "Call the tool again to go on."},
		"declined":    {refusal(one), turn.Fill{Action: turn.FillDecline}, 1, "was not opened."},
		"a form":      {refusal(`{"message":"m","requestedSchema":{"type":"object"}}`), accept(""), 0, "cannot be shown."},
		"javascript":  {refusal(`{"mode":"url","url":"javascript:x"}`), accept(""), 0, "cannot be shown."},
		"four":        {refusal(one + "," + one + "," + one + "," + one), accept(""), 0, "(JSON-RPC error -32042)"},
		"none":        {refusal(""), accept(""), 0, "(JSON-RPC error -32042)"},
		"another one": {strings.Replace(refusal(one), "-32042", "-32041", 1), accept(""), 0, "(JSON-RPC error -32041)"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			m := start(t, map[string]Server{"files": modern(t, &calls, nil, func(int) string { return c.answer })})
			p := newPerson()
			p.answer <- c.fill
			p.answer <- c.fill
			got := receive(t, "outcome", runFor(t, m, p, "work", `{}`))
			if got.err != nil || !got.IsError || !strings.HasPrefix(got.Text, "The files server refused work: Sign in first") || !strings.HasSuffix(got.Text, c.want) {
				t.Errorf("%+v", got)
			}
			if len(p.asked) != c.asked || calls.Load() != 1 {
				t.Errorf("%d questions, %d calls", len(p.asked), calls.Load())
			}
			for range c.asked {
				if w := <-p.asked; w.Kind != turn.ElicitationURL || w.URL != "https://example.com/login" {
					t.Errorf("asked %+v", w)
				}
			}
		})
	}
}

// The limit is for the call, however its questions are packed.
func TestManyQuestionsAtOnceCountEach(t *testing.T) {
	var all []string
	for i := range maxRound {
		all = append(all, fmt.Sprintf(`"%d":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`, i))
	}
	var calls atomic.Int32
	m := start(t, map[string]Server{"files": modern(t, &calls, nil, func(n int) string {
		if n > 4 {
			return `"result":{"content":[{"type":"text","text":"done"}]}`
		}
		return `"result":{"resultType":"input_required","inputRequests":{` + strings.Join(all, ",") + `}}`
	})})
	p := newPerson()
	for range 4 * maxRound {
		p.answer <- accept("")
	}
	if got := receive(t, "outcome", runFor(t, m, p, "work", `{}`)); got.Text != "done" || len(p.asked) != maxElicitations {
		t.Errorf("%+v after %d questions", got, len(p.asked))
	}
}
