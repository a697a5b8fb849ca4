package decision

import "github.com/nodhq/nod/core/permission"

// News are the changes that record what servers say of their tools and the settings do not hold yet. What is seen first of a server counts as
// accepted where the operator's own configuration stands for the server: it is marked as trusted, or set never to ask.
func News(base permission.Policy, s permission.Settings, tools []Tool) []permission.Change {
	var out []permission.Change
	for _, t := range tools {
		if t.Source == permission.SourceWorkbench { // ours: it changes with the program
			continue
		}
		set := base.Servers[t.Tool.Server]
		vouched := set.Trusted || set.Ask == permission.NeverAsk
		pin, _ := s.Pin(t.Tool) // of no tool where it is not known
		if pin.IsNews(t.Tool, vouched) {
			out = append(out, permission.Seen{
				Tool: t.Tool, Definition: t.Definition.Kept(), Stranger: !vouched, Vouched: vouched && (!s.Knows(t.Tool.Server) || pin.Stranger),
			})
		}
	}
	return out
}
