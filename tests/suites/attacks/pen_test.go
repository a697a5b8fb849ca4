package attacks

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// reply is one answer of the model's.
type reply struct {
	text  string
	calls []agent.ReplyCall
}

// says is an answer of words, wants one of calls.
func says(text string) reply               { return reply{text: text} }
func wants(calls ...agent.ReplyCall) reply { return reply{text: "Let me see.", calls: calls} }
func (r reply) with(text string) reply     { r.text = text; return r }
func call(server, tool, args string) agent.ReplyCall {
	return agent.ReplyCall{ModelID: "m-" + tool, Server: server, Name: tool, Args: []byte(args)}
}

// write is a call of the tool that every case knows. path names the effect in the ledger.
func write(path string) agent.ReplyCall { return call("box", "write", `{"path":"`+path+`"}`) }

// pen is a model in the attacker's hand: what people say names a script, and it answers with the script's next reply. It is a pure
// function of what it hears, so that a request made again is answered alike.
type pen struct {
	mu     sync.Mutex
	script map[string][]reply
	heard  map[string]string // the newest talk by script, as text
	tools  map[string][]agent.ToolSpec
}

func newPen() *pen {
	return &pen{script: map[string][]reply{}, heard: map[string]string{}, tools: map[string][]agent.ToolSpec{}}
}

// learn puts a script; what is said must hold "#name" then. After its last reply the model says "All done."
func (p *pen) learn(name string, script ...reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script[name] = script
}

var named = regexp.MustCompile(`#([a-z0-9-]+)`)

// Name implements agent.Model.
func (p *pen) Name() string { return "pen" }

// Reply implements agent.Model.
func (p *pen) Reply(_ context.Context, talk []turn.Utterance, tools []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	name, step := "", 0
	var all strings.Builder
	for _, u := range talk {
		all.WriteString(string(u.Role) + ": " + u.Text + "\n")
		for _, c := range u.Calls {
			all.WriteString("result of " + c.Name + ": " + c.Result.Text + "\n")
		}
		switch u.Role {
		case turn.RoleUser:
			name, step = "", 0
			if m := named.FindAllStringSubmatch(u.Text, -1); m != nil {
				name = m[len(m)-1][1]
			}
		case turn.RoleAssistant:
			step++
		}
	}
	p.mu.Lock()
	script := p.script[name]
	p.heard[name], p.tools[name] = all.String(), tools
	p.mu.Unlock()
	r := says("All done.")
	if step < len(script) {
		r = script[step]
	}
	stream(agent.Delta{Text: r.text})
	return agent.Reply{Text: r.text, Calls: r.calls}, nil
}

// offers reports whether the model was offered a tool when it was last asked in a script.
func (p *pen) offers(name, server, tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.tools[name], func(x agent.ToolSpec) bool { return x.Tool.Server == server && x.Tool.Name == tool })
}

// read is all that the model was last given in a script.
func (p *pen) read(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard[name]
}
