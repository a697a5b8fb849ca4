package doctor

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// tools starts each MCP server of the configuration, asks for its tools, and ends it.
func (p *patient) tools(ctx context.Context) iter.Seq[finding] {
	return func(yield func(finding) bool) {
		if len(p.MCP.Servers) == 0 {
			yield(finding{What: "MCP servers", Found: "none are configured: only the built-in workbench", Do: "Name some under mcp.servers."})
			return
		}
		for _, f := range p.guarded() {
			if !yield(f) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.MCP.Servers)) {
			if !yield(p.tool(ctx, name)) || ctx.Err() != nil {
				return
			}
		}
	}
}

// guarded is how the servers' programs are kept apart.
func (p *patient) guarded() (list []finding) {
	fine, say, remarks := parts.Guard(p.Config)
	if say == "" {
		return nil
	}
	f := finding{What: "confinement", Mark: surface.Fine, Found: say}
	if !fine {
		f.Mark, f.Do = surface.Doubtful, "Use a Linux with Landlock (5.13, better 6.12), or give each server a user: docs/configuration.md."
	}
	list = append(list, f)
	for _, r := range remarks {
		list = append(list, finding{What: "confinement", Mark: surface.Doubtful, Found: r})
	}
	return list
}

func (p *patient) tool(ctx context.Context, name string) finding {
	f := finding{What: "MCP server " + name}
	s, notes := p.MCP.Servers[name], &notes{}
	server := parts.Server(p.Config, name)
	server.ConnectTimeout, server.Sampling = surface.LookTimeout, false
	servers, err := mcp.New(mcp.Config{Servers: map[string]mcp.Server{name: server}, Log: slog.New(notes), ClientName: "nod", Version: p.version})
	if err != nil {
		f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Correct mcp.servers."+name+"."
		return f
	}
	servers.Start()
	_ = servers.Ready(ctx) // as long as ConnectTimeout at most
	list, faults, err := servers.List(ctx)
	_ = servers.Close()
	f.Do = "Look at mcp.servers." + name + "."
	switch {
	case err != nil:
		f.Mark, f.Found = surface.Wrong, err.Error()
	case len(faults) > 0:
		f.Mark, f.Found = surface.Wrong, strings.TrimSuffix(faults[0].Say, " It is tried again.")
		if len(list) > 0 {
			f.Mark = surface.Doubtful
		}
		for _, n := range notes.list() {
			if n.stderr != "" {
				f.Found = strings.TrimRight(f.Found, ".") + "; it said: " + n.stderr
			}
		}
		if len(s.Command) > 0 && len(list) == 0 {
			f.Do = "Look at mcp.servers." + name + ": start its command by hand, with only PATH, HOME and its env. If that works, it may miss what it is confined from: grant it with paths. One that downloads first (npx) may only need a second try."
		}
	case len(list) == 0:
		f.Mark, f.Found = surface.Doubtful, "answers, but has no tools"
	default:
		trust := "not trusted: what it says of its tools only adds caution"
		if s.Trusted {
			trust = "trusted: tools that it calls read-only run unasked"
		}
		f.Mark, f.Do = surface.Fine, ""
		f.Found = command.Count(len(list), "tool", "tools") + ", " + p.ruled(list) + "; " + trust
		if say, grave := p.absent(name, list); say != "" {
			f.Mark, f.Found, f.Do = surface.Doubtful, f.Found+"; "+say, "Correct permissions.servers."+name+".tools."
			if grave {
				f.Mark = surface.Wrong
			}
		}
	}
	return f
}

// ruled counts what the rules say of tools, in a new chat and before anybody clicked, and remembers those that need an admin.
func (p *patient) ruled(list []agent.ToolSpec) string {
	asks, off := 0, 0
	for _, t := range list {
		if set := p.policy.Servers[t.Tool.Server]; set.Disabled || set.Tools[t.Tool.Name].Disabled {
			off++
			continue
		}
		r := permission.Weigh(p.policy, nil, permission.Request{Mode: p.policy.Mode, Tool: t.Tool, Source: t.Source, Hints: t.Hints, Metadata: t.Metadata}, time.Time{})
		if r.Approval == permission.RequireAuth {
			p.admins = append(p.admins, t.Tool.Name+" of "+t.Tool.Server)
		}
		if r.Verdict == permission.Ask {
			asks++
		}
	}
	say := fmt.Sprintf("%d of them ask first", asks)
	if off > 0 {
		say += fmt.Sprintf(", %d switched off", off)
	}
	return say
}

// absent are the tools that rules of a server name and that it has not. grave: one of them was to be kept from people.
func (p *patient) absent(server string, list []agent.ToolSpec) (say string, grave bool) {
	var names, missing []string
	for _, t := range list {
		names = append(names, t.Tool.Name)
	}
	rules := p.Permissions.Servers[server].Tools
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if slices.Contains(names, name) {
			continue
		}
		missing = append(missing, name+config.Meant(name, names))
		t := rules[name]
		grave = grave || !t.Enabled || t.Ask == permission.AlwaysAsk || t.Approval != nil && *t.Approval == permission.RequireAuth
	}
	if len(missing) == 0 {
		return "", false
	}
	return "permissions name tools that it does not have, so these rules protect nothing: " + strings.Join(missing, ", "), grave
}

// deciders looks whether there is somebody for what only an admin may allow.
func (p *patient) deciders(ctx context.Context) iter.Seq[finding] {
	return one(ctx, func(context.Context) finding {
		f := finding{What: "admins"}
		n := len(p.Admins) + len(p.AdminSessionKeys)
		switch {
		case n > 0:
			f.Mark, f.Found = surface.Fine, p.adminsNamed()+" and "+command.Count(len(p.AdminSessionKeys), "key", "keys")+" of the web API"
			if where, as := p.adminless(); where != "" && len(p.needAdmin()) > 0 {
				f.Mark, f.Found = surface.Doubtful, f.Found+": in "+where+" nobody can allow "+p.needAdmin()[0]
				f.Do = "Name people under admins, such as " + as + "."
			}
		case len(p.needAdmin()) > 0:
			f.Mark, f.Found = surface.Wrong, "nobody is one, and only one can allow "+strings.Join(p.needAdmin()[:min(3, len(p.needAdmin()))], ", ")
			f.Do = "Name people under admins, such as slack:T0123:U0123 or discord:123456789012345678:234567890123456789, or set ADMIN_SESSION_KEYS."
		default:
			f.Found, f.Do = "nobody is one, and no tool needs one", "Set admins or ADMIN_SESSION_KEYS before a tool has approval: RequireAuth."
		}
		return f
	})
}

// adminsNamed counts those of the configuration.
func (p *patient) adminsNamed() string {
	people, roles, groups := 0, 0, 0
	for _, u := range p.Admins {
		switch {
		case !u.IsGroup():
			people++
		case u.Platform == slack.Platform:
			groups++
		default:
			roles++
		}
	}
	var named []string
	if people > 0 || len(p.Admins) == 0 {
		named = append(named, command.Count(people, "person", "people"))
	}
	if roles > 0 {
		named = append(named, command.Count(roles, "role", "roles"))
	}
	if groups > 0 {
		named = append(named, command.Count(groups, "user group", "user groups"))
	}
	return strings.Join(named, ", ")
}

// adminless is a platform on which nobody is an admin, and how one is written.
func (p *patient) adminless() (where, as string) {
	of := func(platform string) bool {
		return slices.ContainsFunc(p.Admins, func(u chat.User) bool { return u.Platform == platform })
	}
	switch {
	case p.Slack.Enabled() && !of(slack.Platform):
		return "Slack", "slack:T0123:U0123 (workspace and person; a user group has & before its ID)"
	case p.Discord.Enabled() && !of(discord.Platform):
		return "Discord", "discord:123456789012345678:234567890123456789 (server and person; a role has & before its number)"
	}
	return "", ""
}

// needAdmin are the tools that only an admin can allow: by the configuration, and by what the servers listed.
func (p *patient) needAdmin() []string {
	list := slices.Clone(p.admins)
	for name, s := range p.Permissions.Servers {
		for tool, t := range s.Tools {
			if t.Approval != nil && *t.Approval == permission.RequireAuth && t.Enabled && s.Enabled {
				list = append(list, tool+" of "+name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// notes is a log that keeps its warnings.
type notes struct {
	mu   sync.Mutex
	kept []note
}

type note struct{ text, stderr string }

func (n *notes) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (n *notes) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := note{text: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stderr" {
			one.stderr = a.Value.String()
		}
		return true
	})
	n.kept = append(n.kept, one)
	return nil
}

func (n *notes) WithAttrs([]slog.Attr) slog.Handler { return n }
func (n *notes) WithGroup(string) slog.Handler      { return n }

func (n *notes) list() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.kept)
}
