package permission

import "slices"

// Template is a set of settings for a common way of working (R156). Nothing applies one by itself.
type Template struct {
	Name  string // what people type
	Title string
	Says  string    // what it does, and what it does not
	Set   []Setting // an operator's own: what it sets, whatever is there

	everything []Setting
	servers    func(ServerSettings) []Setting // with the server's name left out
	tools      func(Effective) []Setting      // with the tool left out
}

// Known is a tool as its server offers it: what a template has to know to set something for it.
type Known struct {
	Tool     Tool
	Source   Source
	Hints    Hints
	Metadata Metadata
}

func field(name, value string) Setting { return Setting{Field: name, Value: value} }

func when(so bool, set ...Setting) []Setting {
	if so {
		return set
	}
	return nil
}

// Templates are all there are: those of nod, then the operator's own.
func Templates(own ...Template) []Template {
	return append([]Template{
		{
			Name: "careful", Title: "Careful",
			Says: "Every chat asks before every call, built-in tools included, and nothing can be allowed for a chat. " +
				"Calls of the dangerous tools that are known now need two people. Chats that have a mode of their own keep it.",
			everything: []Setting{field("mode", "always"), field("posture", "all"), field("strict", "true")},
			servers:    func(s ServerSettings) []Setting { return when(s.Ask != Inherit, field("ask", "always")) },
			tools: func(e Effective) []Setting {
				return append(when(e.Risk == Dangerous, field("min_approvals", "2")), field("ask", "always"))
			},
		},
		{
			Name: "read-only", Title: "Read only",
			Says: "What the tools of trusted servers read runs as each tool's own level says; every tool that is known now and may write needs an admin for each call. " +
				"Which servers are trusted is not changed. Tools that come later ask, as everywhere.",
			everything: []Setting{field("mode", "tool"), field("posture", "mcp")},
			servers:    func(s ServerSettings) []Setting { return when(s.Trusted, field("ask", "default")) },
			tools: func(e Effective) []Setting {
				reads := e.Access == Read && e.Classified
				return append(when(!reads, field("approval", "RequireAuth")), when(reads && e.Trusted, field("ask", "default"))...)
			},
		},
		{
			Name: "team", Title: "Team",
			Says: "Anybody of the team may answer, within 30 minutes. Whoever asks for a call of a dangerous tool that is known now may not allow it themselves. " +
				"What one server or tool has for approvers and time stays. Whether tools ask is not changed.",
			everything: []Setting{field("approvers", "anyone"), field("timeout", "30m")},
			tools:      func(e Effective) []Setting { return when(e.Risk == Dangerous, field("requester_may_approve", "false")) },
		},
		{
			Name: "solo", Title: "Solo",
			Says:       "Whoever asks decides alone, and a question waits until it is answered. What one server or tool has for approvers and time stays. Whether tools ask is not changed, and admins' tools stay with admins.",
			everything: []Setting{field("approvers", "requester"), field("min_approvals", "1"), field("requester_may_approve", "true"), field("timeout", Park)},
			tools: func(e Effective) []Setting { // what has approvers of its own keeps them
				alone := e.Approvers.Rule == ApproversRequester
				return append(when(alone && e.Approvals > 1, field("min_approvals", "1")), when(alone && e.OthersOnly, field("requester_may_approve", "true"))...)
			},
		},
	}, own...)
}

// FindTemplate is the template of that name.
func FindTemplate(name string, own ...Template) (Template, bool) {
	all := Templates(own...)
	i := slices.IndexFunc(all, func(t Template) bool { return t.Name == name })
	if i < 0 {
		return Template{}, false
	}
	return all[i], true
}

// Changes are what applying the template would change now: nothing that already is so. The order is that of everything, servers, tools.
// A template never takes an admin's level from a tool.
func (t Template) Changes(p Policy, tools []Known) []Change {
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b Known) int { return a.Tool.compare(b.Tool) })
	var out []Change
	add := func(server, tool string, set []Setting) {
		for _, s := range set {
			s.Server, s.Tool = server, tool
			if c, err := s.Canonical(); err == nil && p.Setting(c).Value != c.Value {
				out = append(out, c)
			}
		}
	}
	add("", "", t.everything)
	for _, s := range t.everything { // servers and tools are looked at as they are then
		_ = s.on(&p)
	}
	for _, s := range t.Set {
		add(s.Server, s.Tool, []Setting{s})
	}
	for i, k := range tools {
		if t.servers != nil && (i == 0 || tools[i-1].Tool.Server != k.Tool.Server) {
			add(k.Tool.Server, "", t.servers(p.Servers[k.Tool.Server]))
		}
	}
	for _, k := range tools {
		if t.tools != nil {
			add(k.Tool.Server, k.Tool.Name, t.tools(p.Get(k.Tool, k.Source, k.Hints, k.Metadata)))
		}
	}
	return out
}
