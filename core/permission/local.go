package permission

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// Place is where chats stand, by their platform's IDs: a platform (web), a workspace of it (slack:T1), or a channel there (slack:T1:C1).
// Threads stand in their channel. A direct message stands in its workspace, and where it has none, as on Discord, in the platform.
type Place chat.ID

// ParsePlace reads what [Place.String] writes.
func ParsePlace(s string) (Place, error) {
	f := strings.Split(s, ":")
	if len(f) > 3 || slices.Contains(f, "") {
		return Place{}, errors.New("want IDs: a channel as slack:T1:C1, a workspace or Discord server as slack:T1, or a platform as web")
	}
	f = append(f, "", "")
	return Place{Platform: f[0], Workspace: f[1], Key: f[2]}, nil
}

func (p Place) String() string { return strings.TrimRight(chat.ID(p).String(), ":") }

// depth is how narrow it is.
func (p Place) depth() int { return strings.Count(p.String(), ":") }

func (p Place) has(id chat.ID, in chat.Channel) bool {
	return p.Platform == id.Platform && (p.Workspace == "" || p.Workspace == id.Workspace) && (p.Key == "" || p.String() == string(in))
}

// Local is the operator's word for some places. It goes over what the rest of the file says, field by field: see [Policy.In].
type Local struct {
	In    []Place
	Set   []Setting
	Rules []LocalRules
}

// LocalRules are a tool's rules on arguments, besides those that it has everywhere.
type LocalRules struct {
	Server, Tool string
	Rules        []Rule
}

// In is the policy as it holds in a chat: what is said of its platform, over that of its workspace, over that of its channel. A word for all
// tools of a server, or for everything, adds care to all of them, and takes care only from what is set just there. Nothing takes away
// what an admin set from a chat.
func (p Policy) In(id chat.ID, in chat.Channel) Policy {
	locals := p.Locals
	p.Locals = nil
	for depth := range 3 {
		for _, l := range locals {
			i := slices.IndexFunc(l.In, func(at Place) bool { return at.depth() == depth && at.has(id, in) })
			if i < 0 {
				continue
			}
			if len(p.Here) == 0 {
				p.own()
			}
			p.Here = append(p.Here, l.In[i].String())
			p.lay(l)
		}
	}
	return p
}

// at is the policy as it holds where a call is made, and what it comes to for its tool: whoever forgot [Policy.In] is no less careful.
func (p Policy) at(req Request) (Policy, Effective) {
	p = p.In(req.Chat, req.Channel)
	return p, p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
}

// lay puts what is said of a place over a policy whose maps are its own.
func (p *Policy) lay(l Local) {
	for _, x := range slices.SortedFunc(slices.Values(l.Set), Setting.compare) { // what is wider first
		if p.held(x) {
			continue
		}
		_ = x.on(p)
		for name, server := range p.Servers {
			if x.Server != "" && x.Server != name || x.Tool != "" {
				continue
			}
			p.below(l, x, Setting{Server: name})
			for tool := range server.Tools {
				p.below(l, x, Setting{Server: name, Tool: tool})
			}
		}
		if slices.Contains(whetherItAsks, x.Field) && x.care() > 0 {
			p.withoutLets(x.Server, x.Tool)
		}
	}
	for _, r := range l.Rules {
		rules := r.Rules
		if p.held(Setting{Server: r.Server, Tool: r.Tool, Field: "ask", Value: NeverAsk.String()}) {
			rules = without(rules, Rule.lets)
		}
		p.editTool(Tool{Server: r.Server, Name: r.Tool}, func(t *ToolSettings) { t.Rules = slices.Concat(t.Rules, rules) })
	}
}

// below keeps a word of l that is wider than at from being less careful there than what either of them says.
func (p *Policy) below(l Local, wide, at Setting) {
	if wide.Field == "enabled" { // a server that is off has no tools
		return
	}
	at.Field = wide.Field
	is := p.Setting(at)
	t := p.Servers[at.Server].Tools[at.Tool]
	switch {
	case is.Value != "" && is.Value != Inherit.String() && is.care() < wide.care():
	case wide.Field == "ask" && t.Ask == Inherit && wide.care() == 0 && (t.Approval != nil && *t.Approval != AutoApprove || t.Risk != nil && *t.Risk != Safe) &&
		!slices.ContainsFunc(l.Set, func(x Setting) bool {
			return x.Server == at.Server && x.Tool == at.Tool && slices.Contains(whetherItAsks, x.Field)
		}):
		wide.Value = AlwaysAsk.String() // its level would not count beside the server's word
	default:
		return
	}
	at.Value = wide.Value
	_ = at.on(p)
}

// held reports whether an admin said from a chat what x would take back.
func (p *Policy) held(x Setting) bool {
	return slices.ContainsFunc(p.ByAdmins, func(set Set) bool {
		covers := set.Server == "" || set.Server == x.Server && (set.Tool == "" || set.Tool == x.Tool)
		both := slices.Contains(whetherItAsks, x.Field) && slices.Contains(whetherItAsks, set.Field)
		return covers && (set.Field == x.Field && x.care() <= set.care() || both && x.care() == 0)
	})
}

// whetherItAsks are the fields of which each can be what lets a call run.
var whetherItAsks = []string{"ask", "approval", "risk"}

// care are the words of fields, the least careful first. One that lists people comes after the words, as does what is no word.
var care = map[string][]string{
	"ask": {"never", "default"}, "enabled": {"true"}, "access": {"read"}, "risk": {"safe", "moderate"}, "approval": {"AutoApprove", "RequireConfirmation"},
	"mode": {"never", "tool"}, "posture": {"mcp"}, "strict": {"false"}, "reads_only": {"false"}, "repeat": {"always", "auto"}, "chat_grant": {"true"},
	"channel_grants": {"true"}, "remember": {"server", "writes", "reads"}, "approvers": {"anyone", "participants", "requester"}, "requester_may_approve": {"true"},
}

// care is how much it asks for: to be compared with another value of the field. A field of which none is more careful than another has one.
func (s Setting) care() int {
	if s.Field == "min_approvals" {
		n, _ := strconv.Atoi(s.Value)
		return n
	}
	return rank(s.Value, care[s.Field]...)
}
