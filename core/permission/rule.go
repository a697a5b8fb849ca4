package permission

import (
	"errors"
	"fmt"

	"github.com/nodhq/nod/core/permission/pin"
)

// Rule is the operator's word about those calls of a tool that When is about. Of several the strictest counts: one that refuses before one that
// asks, and that before one that lets run. What cannot be judged falls under every rule that asks or refuses, and under none that lets run.
type Rule struct {
	When    pin.Condition `yaml:"when"`
	Ask     Prompt        `yaml:"ask"`
	Enabled bool          `yaml:"enabled" default:"true"` // false refuses
}

// MaxRules is how many one tool has: each is looked at with each call.
const MaxRules = 20

// strict orders rules: what is neither sure to let run nor a refusal asks.
func (r Rule) strict() int {
	switch {
	case !r.Enabled:
		return 2
	case r.Ask == NeverAsk:
		return 0
	}
	return 1
}

// lets reports whether it lets calls run.
func (r Rule) lets() bool { return r.strict() == 0 }

// Says is what it says of a call, for people: never asks where method is "GET".
func (r Rule) Says() string {
	return fmt.Sprintf("%s where %s", [...]string{"never asks", "asks each time", "is refused"}[r.strict()], r.When)
}

// about reports whether it counts for these arguments.
func (r Rule) about(req Request) bool {
	if r.lets() {
		return r.When.Surely(req.Args)
	}
	return r.When.Perhaps(req.Args)
}

// Check says what is wrong with it, and with which of its fields; nil: nothing.
func (r Rule) Check() (field string, err error) {
	switch {
	case len(r.When) == 0:
		return "when", errors.New("want an argument and its value, such as {method: GET}; for every call there is ask of the tool itself")
	case r.Enabled && r.Ask != NeverAsk && r.Ask != AlwaysAsk, !r.Enabled && r.Ask != Inherit:
		return "ask", errors.New("want always or never; or enabled: false alone, which refuses")
	}
	for path, values := range r.When {
		if err := values.Check(path, !r.lets()); err != nil {
			return "when." + path, err
		}
	}
	return "", nil
}

// ruled is the strictest rule about a call, as a sentence. There is none for what is no call yet.
func (p Policy) ruled(req Request) (found Rule, says string, ok bool) {
	if req.Unwritten {
		return found, "", false
	}
	for i, r := range p.Servers[req.Tool.Server].Tools[req.Tool.Name].Rules {
		if r.about(req) && (!ok || r.strict() > found.strict()) {
			found, ok = r, true
			says = fmt.Sprintf(sayRule, called(req.Tool), r.Says(), i+1)
		}
	}
	return found, says, ok
}

// asks reports whether a rule asks about a call, each time.
func (p Policy) asks(req Request) bool {
	r, _, ok := p.ruled(req)
	return ok && !r.lets()
}

// withoutLets takes away, in a policy whose maps are its own, the rules that let calls of a tool run, or of all of a server's: an admin has said
// since whether they ask.
func (p *Policy) withoutLets(server, tool string) {
	for name, t := range p.Servers[server].Tools {
		if tool == "" || tool == name {
			t.Rules = without(t.Rules, Rule.lets)
			p.Servers[server].Tools[name] = t
		}
	}
}
