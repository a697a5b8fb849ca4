package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// toolEntry is a tool as the panel shows it: what its server offers now, what was set, and what counts.
type toolEntry struct {
	spec    agent.ToolSpec
	offered bool // its server offers it now
	pin     permission.Pinned
	pinned  bool
	is      permission.Effective
}

func (k toolEntry) tool() permission.Tool { return k.spec.Tool }

// changed and isNew are what somebody should look at before the tool is used.
func (k toolEntry) changed() bool { return k.is.Changed }
func (k toolEntry) isNew() bool   { return k.is.New && !k.is.Changed }

// server is a server with all that is known of it.
type server struct {
	name  string
	set   permission.ServerSettings
	about render.Server
	fault string
	tools []toolEntry
}

// servers are all servers that are offered, configured, or were seen, by name. They are asked once in a request.
func (q *request) servers(ctx context.Context) ([]server, error) {
	if q.all != nil {
		return q.all, nil
	}
	specs, faults, err := q.Tools.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tools: %w", err)
	}
	all := map[string]*server{}
	at := func(name string) *server {
		if all[name] == nil {
			all[name] = &server{name: name, set: q.policy.Servers[name]}
		}
		return all[name]
	}
	for _, f := range faults {
		at(f.Server).fault = f.Say
	}
	for _, sp := range specs {
		s := at(sp.Tool.Server)
		s.about = sp.Server
		s.tools = append(s.tools, q.entryOf(sp, true))
	}
	for name, set := range q.policy.Servers {
		s := at(name)
		for _, tool := range slices.Sorted(maps.Keys(set.Tools)) {
			if !slices.ContainsFunc(s.tools, func(k toolEntry) bool { return k.tool().Name == tool }) {
				s.tools = append(s.tools, q.entryOf(agent.ToolSpec{Tool: permission.Tool{Server: name, Name: tool}}, false))
			}
		}
	}
	out := make([]server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	q.specs, q.all = specs, out
	return out, nil
}

func (q *request) entryOf(sp agent.ToolSpec, offered bool) toolEntry {
	k := toolEntry{spec: sp, offered: offered}
	if k.pin, k.pinned = q.settings.Pin(sp.Tool); k.pinned && !offered {
		k.spec.Tool.Definition = k.pin.Tool.Definition
	}
	k.is = q.policy.Get(k.spec.Tool, sp.Source, sp.Hints, sp.Metadata)
	return k
}

// callOf is a call of the tool by the person, in this chat.
func (q *request) callOf(k toolEntry) permission.Request {
	r := turn.Requested(q.here, turn.ToolCall{Tool: k.spec.Tool, Args: []byte("{}")})
	r.Chat, r.Requester, r.Unattended, r.Standing = q.place(), q.env.User, false, chat.Member
	r.Source, r.Hints, r.Metadata = k.spec.Source, k.spec.Hints, k.spec.Metadata
	if !slices.Contains(r.Present, q.env.User) {
		r.Present = append(r.Present, q.env.User)
	}
	return r
}

// place is this chat, or where there is none, one of the person's own workspace.
func (q *request) place() chat.ID {
	if q.hasChat() {
		return q.env.Chat
	}
	return chat.ID{Platform: q.env.User.Platform, Workspace: q.env.User.Workspace}
}

// find is a tool or a server by the view that shows it: names may be anything, and a view must be short.
func (q *request) find(ctx context.Context, view string) (server, toolEntry, bool, error) {
	all, err := q.servers(ctx)
	for _, s := range all {
		if view == viewOf(viewServer, s.name) || view == viewOf(viewInstall, s.name) {
			return s, toolEntry{}, true, err
		}
		for _, k := range s.tools {
			if view == viewOf(viewTool, s.name, k.tool().Name) {
				return s, k, true, err
			}
		}
	}
	return server{}, toolEntry{}, false, err
}

// unreviewed counts the tools that nobody has reviewed: those that are new, or changed.
func (s server) unreviewed() (n int) {
	for _, k := range s.tools {
		if k.changed() || k.isNew() {
			n++
		}
	}
	return n
}

func (s server) offered() (n int) {
	for _, k := range s.tools {
		if k.offered {
			n++
		}
	}
	return n
}

// trusted is the operator's word; the workbench is nod's own.
func (s server) trusted() bool { return s.set.Trusted || s.workbench() }

func (s server) workbench() bool {
	return slices.ContainsFunc(s.tools, func(k toolEntry) bool { return k.offered && k.spec.Source == permission.SourceWorkbench })
}

func (s server) summary() string {
	return text.ServerSummary(s.offered(), s.trusted(), s.set.Disabled, s.set.Ask.Label())
}

func (s server) state() string {
	switch {
	case s.fault != "":
		return text.ServerFails(text.Clip(s.fault, 300))
	case s.offered() == 0:
		return text.ServerSilent
	}
	return text.ServerAnswers(s.unreviewed())
}

// digest names all that is shown of a server's tools: a click on what was shown before they changed is none.
func (s server) digest() permission.Digest {
	var tools []permission.Tool
	for _, k := range s.tools {
		if k.offered {
			tools = append(tools, k.tool())
		}
	}
	return permission.ServerDigest(tools)
}

// setting is the tool's own.
func (k toolEntry) setting(p permission.Policy) permission.Prompt {
	return p.Servers[k.tool().Server].Tools[k.tool().Name].Ask
}

// facts are access, risk and level.
func (k toolEntry) facts() string {
	return text.ToolFacts(k.is.Access.String(), k.is.Classified, k.is.Risk.String(), levelMark(k.is.Approval))
}

// mark says what somebody should know before they use the tool.
func (k toolEntry) mark() string {
	switch {
	case !k.offered:
		return text.ToolNotThere
	case k.changed():
		return text.ToolChanged
	case k.isNew():
		return text.NewOnCard
	}
	return ""
}

// verdict is what would happen to a call of the person, in this chat.
func (q *request) verdict(k toolEntry) string {
	r := permission.Evaluate(q.policy, q.here.Grants, q.callOf(k), q.now)
	switch {
	case r.Verdict == permission.Forbid:
		return text.VerdictForbid
	case r.Verdict == permission.Allow:
		return text.VerdictAllow
	case r.Level == permission.LevelAdmin:
		return text.VerdictAdmin
	}
	return text.VerdictAsk
}
