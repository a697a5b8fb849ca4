package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/demo"
	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/mcp/confine"
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
func (p *examination) tools(ctx context.Context) {
	if f := (finding{What: config.Workbench, Found: "is offered"}); p.OffersWorkbench() {
		if p.missing(&f, config.Workbench, slices.Sorted(maps.Keys(demo.Metadata()))); f.Do != "" {
			p.say(f)
		}
	}
	if len(p.MCP.Servers) == 0 {
		p.found("MCP servers", surface.Unchecked, "none are configured: only the built-in workbench", "Name some under mcp.servers.")
		return
	}
	p.confinement()
	for _, name := range slices.Sorted(maps.Keys(p.MCP.Servers)) {
		if p.say(p.server(ctx, name)); ctx.Err() != nil {
			return
		}
	}
}

// confinement says how the servers' programs are kept apart.
func (p *examination) confinement() {
	fine, say, remarks := parts.Confinement(p.Config, confine.Able)
	switch {
	case fine && say != "":
		p.found("confinement", surface.Fine, say, "")
	case say != "":
		p.found("confinement", surface.Doubtful, say, "Use a Linux with Landlock (5.13, better 6.12), or give each server a user: docs/configuration.md.")
	}
	for _, r := range remarks {
		p.found("confinement", surface.Doubtful, r, "")
	}
}

func (p *examination) server(ctx context.Context, name string) finding {
	f := finding{What: "MCP server " + name, Do: "Look at mcp.servers." + name + "."}
	s, warned := p.MCP.Servers[name], &warnings{}
	server := parts.Server(p.Config, name)
	server.ConnectTimeout = surface.LookTimeout
	servers, err := mcp.New(mcp.Config{Servers: map[string]mcp.Server{name: server}, Log: slog.New(warned), Version: p.version})
	if err != nil {
		f.Mark, f.Found, f.Do = surface.Wrong, err.Error(), "Correct mcp.servers."+name+"."
		return f
	}
	servers.Start()
	_ = servers.Ready(ctx) // as long as ConnectTimeout at most
	list, faults, err := servers.List(ctx)
	_ = servers.Close()
	switch {
	case err != nil:
		f.Mark, f.Found = surface.Wrong, err.Error()
	case len(faults) > 0:
		f.Mark, f.Found = surface.Wrong, strings.TrimSuffix(faults[0].Say, " It is tried again.")
		if len(list) > 0 {
			f.Mark = surface.Doubtful
		}
		for _, w := range warned.list() {
			if w.stderr != "" {
				f.Found = strings.TrimRight(f.Found, ".") + "; it said: " + w.stderr
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
		var names []string
		for _, t := range list {
			names = append(names, t.Tool.Name)
		}
		p.missing(&f, name, names)
	}
	return f
}

// ruled counts what the rules say of tools, in a new chat and before anybody clicked, and remembers those that need an admin.
func (p *examination) ruled(list []agent.ToolSpec) string {
	asks, off := 0, 0
	for _, t := range list {
		if set := p.policy.Servers[t.Tool.Server]; set.Disabled || set.Tools[t.Tool.Name].Disabled {
			off++
			continue
		}
		r := permission.Weigh(p.policy, nil, permission.Request{Unwritten: true, Mode: p.policy.Mode, Tool: t.Tool, Source: t.Source, Hints: t.Hints, Metadata: t.Metadata}, time.Time{})
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

// missing tells of tools that rules of a server name and that it has not. That is wrong where one of them was to be kept from people.
func (p *examination) missing(f *finding, server string, names []string) {
	var missing []string
	grave := false
	for name, rules := range p.ToolRules(server) {
		if slices.Contains(names, name) {
			continue
		}
		missing = append(missing, name+config.Suggest(name, names))
		for _, t := range rules {
			off, admins := t.Enabled != nil && !*t.Enabled, t.Approval != nil && *t.Approval == permission.RequireAuth
			grave = grave || off || admins || t.Ask == permission.AlwaysAsk
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	f.Mark, f.Do = surface.Doubtful, "Correct permissions.servers."+server+".tools."
	f.Found += "; permissions name tools that it does not have, so these rules protect nothing: " + strings.Join(missing, ", ")
	if grave {
		f.Mark = surface.Wrong
	}
}

// someAdmin looks whether there is somebody for what only an admin may allow.
func (p *examination) someAdmin(context.Context) {
	const what = "admins"
	need := p.needAdmin()
	switch {
	case len(p.Admins)+len(p.AdminSessionKeys) > 0:
		found := p.adminsNamed() + " and " + command.Count(len(p.AdminSessionKeys), "key", "keys") + " of the web API"
		if where, as := p.adminless(); where != "" && len(need) > 0 {
			p.found(what, surface.Doubtful, found+": in "+where+" nobody can allow "+need[0], "Name people under admins, such as "+as+".")
		} else {
			p.found(what, surface.Fine, found, "")
		}
	case len(need) > 0:
		p.found(what, surface.Wrong, "nobody is one, and only one can allow "+strings.Join(need[:min(3, len(need))], ", "),
			"Name people under admins, such as slack:T0123:U0123 or discord:123456789012345678:234567890123456789, or set ADMIN_SESSION_KEYS.")
	default:
		p.found(what, surface.Unchecked, "nobody is one, and no tool needs one", "Set admins or ADMIN_SESSION_KEYS before a tool has approval: RequireAuth.")
	}
}

// adminsNamed counts those of the configuration.
func (p *examination) adminsNamed() string {
	people, roles, groups := 0, 0, 0
	for _, u := range p.Admins {
		switch {
		case !u.IsGroup():
			people++
		case u.Platform == discord.Platform:
			roles++
		default:
			groups++
		}
	}
	var named []string
	for _, of := range []struct {
		n         int
		one, more string
	}{{people, "person", "people"}, {roles, "role", "roles"}, {groups, "user group", "user groups"}} {
		if of.n > 0 {
			named = append(named, command.Count(of.n, of.one, of.more))
		}
	}
	if len(named) == 0 {
		return "0 people"
	}
	return strings.Join(named, ", ")
}

// adminless is a platform on which nobody is an admin, and how one is written.
func (p *examination) adminless() (where, as string) {
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
func (p *examination) needAdmin() []string {
	list := slices.Clone(p.admins)
	for name, s := range p.policy.Servers {
		for tool, t := range s.Tools {
			if t.Approval != nil && *t.Approval == permission.RequireAuth && !t.Disabled && !s.Disabled {
				list = append(list, tool+" of "+name)
			}
		}
	}
	for _, l := range p.policy.Locals {
		for _, x := range l.Set {
			if x.Field == "approval" && x.Value == permission.RequireAuth.String() {
				list = append(list, x.Tool+" of "+x.Server)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// warnings is a log that keeps its warnings.
type warnings struct {
	mu   sync.Mutex
	kept []warning
}

type warning struct{ text, stderr string }

func (n *warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (n *warnings) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := warning{text: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stderr" {
			one.stderr = a.Value.String()
		}
		return true
	})
	n.kept = append(n.kept, one)
	return nil
}

func (n *warnings) WithAttrs([]slog.Attr) slog.Handler { return n }
func (n *warnings) WithGroup(string) slog.Handler      { return n }

func (n *warnings) list() []warning {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.kept)
}
