package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// toolEntry is a tool as the panel shows it: what its server offers now, what was set, and what counts.
type toolEntry struct {
	spec    agent.ToolSpec
	offered bool              // its server offers it now
	pin     permission.Pinned // as it was recorded; zero: it was not
	is      permission.Effective
	does    permission.Does
}

func (k toolEntry) tool() permission.Tool { return k.spec.Tool }

// changed and isNew are what somebody should look at before the tool is used: of what its server offers, for nobody can accept what is gone.
func (k toolEntry) changed() bool    { return k.offered && k.is.Changed }
func (k toolEntry) isNew() bool      { return k.offered && k.is.New && !k.is.Changed }
func (k toolEntry) isOffered() bool  { return k.offered }
func (k toolEntry) unreviewed() bool { return k.changed() || k.isNew() }

// server is a server with all that is known of it.
type server struct {
	name  string
	set   permission.ServerSettings
	about render.Server
	fault string
	tools []toolEntry
}

// servers are all servers that are offered, configured, or were seen, by name. They are asked once in a request.
func (q *request) servers(ctx context.Context) []server {
	if q.all != nil {
		return q.all
	}
	specs, faults, err := q.Tools.List(ctx)
	if q.failed("list the tools", err) {
		return nil
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
	for name := range q.policy.Servers {
		at(name)
	}
	for _, k := range entriesOf(specs, q.policy, q.settings) {
		s := at(k.tool().Server)
		s.tools = append(s.tools, k)
		if k.offered {
			s.about = k.spec.Server
		}
	}
	q.specs, q.all = specs, make([]server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		q.all = append(q.all, *all[name])
	}
	return q.all
}

// entriesOf are the tools that servers offer now, and those that were seen or set before.
func entriesOf(specs []agent.ToolSpec, policy permission.Policy, now permission.Settings) (out []toolEntry) {
	offered := map[permission.Tool]bool{}
	for _, sp := range specs {
		offered[permission.Tool{Server: sp.Tool.Server, Name: sp.Tool.Name}] = true
		out = append(out, toolEntry{spec: sp, offered: true})
	}
	for name, set := range policy.Servers {
		for _, tool := range slices.Sorted(maps.Keys(set.Tools)) {
			k := toolEntry{spec: agent.ToolSpec{Tool: permission.Tool{Server: name, Name: tool}}}
			if !offered[k.tool()] {
				out = append(out, k)
			}
		}
	}
	for i := range out {
		k := &out[i]
		if k.pin, _ = now.Pin(k.tool()); !k.offered {
			k.spec.Tool.Definition = k.pin.Tool.Definition
		}
		k.is = policy.Get(k.tool(), k.spec.Source, k.spec.Hints, k.spec.Metadata)
		k.does = policy.Does(k.tool(), k.spec.Source, k.spec.Hints, k.spec.Metadata)
	}
	return out
}

// KnownTools are the same tools as templates want them.
func KnownTools(specs []agent.ToolSpec, policy permission.Policy, now permission.Settings) (out []permission.Known) {
	for _, k := range entriesOf(specs, policy, now) {
		out = append(out, permission.Known{Tool: k.tool(), Source: k.spec.Source, Hints: k.spec.Hints, Metadata: k.spec.Metadata})
	}
	return out
}

// callOf is a call of the tool by the person, in this chat, or where there is none, in one of their own workspace.
func (q *request) callOf(k toolEntry) permission.Request {
	r := turn.Requested(q.here, turn.ToolCall{Tool: k.spec.Tool, Args: []byte("{}")})
	r.Chat = q.env.Chat
	if !q.hasChat() {
		r.Chat = chat.ID{Platform: q.env.User.Platform, Workspace: q.env.User.Workspace}
	}
	r.Requester, r.Unattended, r.Standing, r.Unwritten = q.env.User, false, chat.Member, true
	r.Source, r.Hints, r.Metadata = k.spec.Source, k.spec.Hints, k.spec.Metadata
	if !slices.Contains(r.Present, q.env.User) {
		r.Present = append(r.Present, q.env.User)
	}
	return r
}

// find is a tool or a server by the view that shows it: names may be anything, and a view must be short.
func (q *request) find(ctx context.Context, view string) (server, toolEntry, bool) {
	for _, s := range q.servers(ctx) {
		if view == viewOf(viewServer, s.name) || view == viewOf(viewInstall, s.name) {
			return s, toolEntry{}, true
		}
		for _, k := range s.tools {
			if view == viewOf(viewTool, s.name, k.tool().Name) {
				return s, k, true
			}
		}
	}
	return server{}, toolEntry{}, false
}

func (s server) tool(name string) (k toolEntry, found bool) {
	i := slices.IndexFunc(s.tools, func(k toolEntry) bool { return k.tool().Name == name })
	if i < 0 {
		return k, false
	}
	return s.tools[i], true
}

func (s server) count(what func(toolEntry) bool) (n int) {
	for _, k := range s.tools {
		if what(k) {
			n++
		}
	}
	return n
}

func (s server) offered() int    { return s.count(toolEntry.isOffered) }
func (s server) unreviewed() int { return s.count(toolEntry.unreviewed) }

// trusted is the operator's word; the workbench is nod's own.
func (s server) trusted() bool { return s.set.Trusted || s.workbench() }

func (s server) workbench() bool {
	return slices.ContainsFunc(s.tools, func(k toolEntry) bool { return k.spec.Source == permission.SourceWorkbench })
}

func (s server) state() string {
	switch {
	case s.fault != "":
		return text.ServerFails(text.Clip(s.fault, 300))
	case s.offered() == 0:
		return text.PanelNoTools
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

// accept are the changes by which a tool counts as it is now, and with reads runs unasked as a read. One that was never recorded is recorded
// with it. A server that is trusted is believed as it is.
func (k toolEntry) accept(reads bool) []permission.Change {
	t := k.tool()
	word, said := permission.Change(permission.Accept(t)), k.pin.Accepted && !k.pin.Changed()
	if reads && !k.is.Trusted {
		word, said = permission.AcceptReads{Tool: t}, k.is.Reads
	}
	switch {
	case k.spec.Source == permission.SourceWorkbench: // ours: it changes with the program
		return nil
	case k.pin.Tool != t:
		return []permission.Change{permission.Seen{Tool: t, Definition: k.spec.Definition.Kept()}, word}
	case said:
		return nil
	}
	return []permission.Change{word}
}

// facts are access, risk and level.
func (k toolEntry) facts() string {
	return text.ToolFacts(k.is.Access.String(), k.is.Classified, k.is.Risk.String(), levelMarks[k.is.Approval])
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

// explain is every rule that is consulted for a call, with the winner and the timeout.
func explain(p permission.Policy, grants []permission.Grant, r permission.Request, now time.Time) []string {
	lines := permission.Explain(p, grants, r, now)
	for i, l := range lines {
		lines[i] = text.Clip(l, 400)
	}
	return lines
}

// Why is the answer to "Why am I asked?" about an ask of a chat, for one person: what was ruled when it was asked, and every rule that
// is consulted now, with the winner.
func (s *Settings) Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error) {
	in, err := s.Engine.Session(ctx, env.Chat)
	if err != nil {
		return render.Details{}, fmt.Errorf("read the chat: %w", err)
	}
	c, t, found := in.FindAsk(turn.AskID(ask))
	if !found {
		if c, found = in.FindElicitation(turn.AskID(ask)); !found {
			return render.Details{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.UnknownAsk}
		}
		t = in.Turn
	}
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return render.Details{}, err
	}
	specs, _, err := s.Tools.List(ctx)
	if err != nil {
		return render.Details{}, fmt.Errorf("list the tools: %w", err)
	}
	says := text.ToolNotThere
	if sp, there := findTool(specs, c.Tool.Server, c.Tool.Name); there {
		r := turn.Requested(in, c)
		r.Tool, r.Source, r.Hints, r.Metadata = sp.Tool, sp.Source, sp.Hints, sp.Metadata
		if t != nil {
			r.Requester, r.Unattended, r.Standing = t.Requester, t.Unattended, t.Standing
		}
		if r.Requester == env.User {
			now.Policy, _ = s.Engine.WithGroups(ctx, now.Policy, env)
		}
		says = strings.Join(explain(now.Policy, in.Grants, r, s.Engine.Now()), "\n")
	}
	return render.Details{Title: text.RunLine(sanitize(c.Tool.Name), sanitize(c.Tool.Server)), Parts: []render.Part{
		{Name: text.PartWhyThen, Text: ruledLines(c.Ruling)}, {Name: text.PartWhyNow, Text: says},
	}}, nil
}

// ruledLines are the reasons that were recorded with a ruling, the winner marked.
func ruledLines(r permission.Ruling) string {
	var lines []string
	for _, x := range r.Reasons {
		mark := "  "
		if x.Won {
			mark = "→ "
		}
		lines = append(lines, mark+text.Clip(x.Text, 400))
	}
	return strings.Join(lines, "\n")
}

// findTool finds a tool of a server by their names.
func findTool(specs []agent.ToolSpec, server, name string) (agent.ToolSpec, bool) {
	i := slices.IndexFunc(specs, func(sp agent.ToolSpec) bool { return sp.Tool.Server == server && sp.Tool.Name == name })
	if i < 0 {
		return agent.ToolSpec{}, false
	}
	return specs[i], true
}
