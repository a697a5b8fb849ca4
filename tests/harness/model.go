package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Heard is one request to the model.
type Heard struct {
	Ctx    context.Context
	Talk   []turn.Utterance
	Tools  []agent.ToolSpec
	Stream func(agent.Delta)
}

// Last is the newest thing a person said, and step how many replies followed it.
func (h Heard) Last() (text string, step int) {
	for _, u := range h.Talk {
		switch u.Role {
		case turn.RoleUser:
			text, step = u.Text, 0
		case turn.RoleAssistant:
			step++
		}
	}
	return text, step
}

// Results are the results of the newest reply's calls, in order.
func (h Heard) Results() []turn.Result {
	for i := len(h.Talk) - 1; i >= 0; i-- {
		if u := h.Talk[i]; u.Role == turn.RoleAssistant {
			var out []turn.Result
			for _, c := range u.Calls {
				out = append(out, c.Result)
			}
			return out
		}
	}
	return nil
}

// Notes are what was told to the model by us.
func (h Heard) Notes() string {
	var all []string
	for _, u := range h.Talk {
		if u.Role == turn.RoleNote {
			all = append(all, u.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Step is one reply of the script.
type Step func(Heard) (agent.Reply, error)

// Says replies with words.
func Says(text string) Step {
	return func(h Heard) (agent.Reply, error) {
		h.Stream(agent.Delta{Text: text})
		return agent.Reply{Text: text, Usage: turn.Usage{Input: 10, Output: 2}}, nil
	}
}

// Calls replies with tool calls.
func Calls(calls ...agent.ReplyCall) Step {
	return func(Heard) (agent.Reply, error) { return agent.Reply{Text: "Let me see.", Calls: calls}, nil }
}

// Call is one call of a tool of the server "files".
func Call(tool, args string) agent.ReplyCall {
	return agent.ReplyCall{ModelID: "m-" + tool, Server: "files", Name: tool, Args: []byte(args)}
}

// Model is a scripted model: a pure function of what it hears, so that a request that is made again is answered alike.
type Model struct {
	sig *stand.Signal

	mu     sync.Mutex
	script map[string][]Step
	heard  []Heard
	broken []string
}

func newModel(sig *stand.Signal) *Model { return &Model{sig: sig, script: map[string][]Step{}} }

// When tells what to reply, step by step, in a turn whose newest words of a person contain text. After the last step it says "All done."
func (m *Model) When(text string, steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script[text] = steps
}

// Heard are all requests so far.
func (m *Model) Heard() []Heard {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Heard(nil), m.heard...)
}

// Latest is the newest request.
func (m *Model) Latest() Heard {
	h := m.Heard()
	if len(h) == 0 {
		return Heard{}
	}
	return h[len(h)-1]
}

func (m *Model) reply(h Heard) (agent.Reply, error) {
	last, n := h.Last()
	m.mu.Lock()
	m.heard = append(m.heard, h)
	m.check(h)
	step, found := Says("All done."), ""
	for text, steps := range m.script {
		if strings.Contains(last, text) && len(text) > len(found) {
			found = text
			if n < len(steps) {
				step = steps[n]
			} else {
				step = Says("All done.")
			}
		}
	}
	m.mu.Unlock()
	m.sig.Fire()
	return step(h)
}

// check: every call that a model reads has exactly one result (REQUIREMENTS 5.2).
func (m *Model) check(h Heard) {
	seen := map[turn.CallID]bool{}
	for _, u := range h.Talk {
		for _, c := range u.Calls {
			if seen[c.ID] {
				m.broken = append(m.broken, fmt.Sprintf("the model hears call %s twice", c.ID))
			}
			seen[c.ID] = true
			if c.Result.Text == "" || c.Result.Text == "No result yet." {
				m.broken = append(m.broken, fmt.Sprintf("the model hears call %s of %s without a result", c.ID, c.Name))
			}
		}
	}
}

// mouth is the model as one replica reaches it.
type mouth struct {
	*Model
	gate *Gate
}

func (m mouth) Name() string { return "script" }

func (m mouth) Reply(ctx context.Context, talk []turn.Utterance, tools []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	if m.gate.isDead() {
		return agent.Reply{}, errDead
	}
	return m.reply(Heard{ctx, talk, tools, stream})
}
