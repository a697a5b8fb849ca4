package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// ToolRules is what the file says of tools of a server, by their names: everywhere, in some places, and in templates.
func (c Config) ToolRules(server string) map[string][]ToolPolicy {
	out := map[string][]ToolPolicy{}
	add := func(in map[string]ServerPolicy) {
		for name, t := range in[server].Tools {
			out[name] = append(out[name], t)
		}
	}
	add(c.Permissions.Servers)
	for _, l := range c.Permissions.Channels {
		add(l.Servers)
	}
	for _, t := range c.Permissions.Templates {
		add(t.Servers)
	}
	return out
}

// Policy is the part of the configuration that the permission rules read. It is pure: the same configuration gives the same
// policy and revision on every replica. What only a running process knows stays zero: Epoch, and the web users behind
// ADMIN_SESSION_KEYS.
func (c Config) Policy() permission.Policy {
	p := permission.Policy{
		Installed:      true,
		Mode:           c.Permissions.Mode,
		Posture:        c.Permissions.Posture,
		Servers:        map[string]permission.ServerSettings{},
		Approvers:      c.Approvals.Approvers,
		Admins:         slices.Clone(c.Admins),
		Escalate:       slices.Clone(c.Approvals.Escalate.To),
		PageOf:         c.Web.OIDC.Platforms(),
		Timeout:        permission.TimeoutUnset,
		SurviveRestart: c.Grants.SurviveRestart,
		Strict:         c.Permissions.Strict,
		ReadsOnly:      c.Permissions.ReadsOnly,
		ChannelGrants:  c.Grants.Channel,
		ChannelFor:     c.Grants.ChannelFor,
		RememberUpTo:   c.Grants.Remember,
	}
	if t := c.Approvals.Timeout; t != nil {
		p.Timeout = time.Duration(*t)
	}
	if c.Approvals.MinApprovals > 1 {
		p.Rights.MinApprovals = new(c.Approvals.MinApprovals)
	}
	if !c.Approvals.RequesterMayApprove {
		p.Rights.RequesterMayApprove = new(bool)
	}
	for name, s := range c.MCP.Servers {
		p.Servers[name] = permission.ServerSettings{Trusted: s.Trusted, Description: s.Description, Icon: s.Icon}
	}
	for name, s := range c.Permissions.Servers {
		e := p.Servers[name]
		e.Ask, e.Disabled, e.Timeout, e.Rights = s.Ask, off(s.Enabled), (*time.Duration)(s.Timeout), s.Rights
		e.Tools = make(map[string]permission.ToolSettings, len(s.Tools))
		for tool, t := range s.Tools {
			e.Tools[tool] = permission.ToolSettings{
				Ask: t.Ask, Disabled: off(t.Enabled), Access: t.Access, Risk: t.Risk, Approval: t.Approval, Message: t.Message, Impact: t.Impact,
				Category: t.Category, Timeout: (*time.Duration)(t.Timeout), Repeat: t.Repeat, ChatGrant: t.ChatGrant, Rights: t.Rights, Rules: t.Rules,
			}
		}
		p.Servers[name] = e
	}
	for _, l := range c.Permissions.Channels {
		p.Locals = append(p.Locals, l.local())
	}
	for name, t := range sorted(c.Permissions.Templates) {
		p.Templates = append(p.Templates, permission.Template{Name: name, Title: name, Says: cmp.Or(t.Says, "Made by whoever runs this bot."), Set: t.local().Set})
	}
	// Its content names it, for audit entries. The name is short: it tells policies apart, it proves nothing.
	b, err := json.Marshal(p) // maps are written in the order of their keys
	sum := sha256.Sum256(b)
	if p.Revision = hex.EncodeToString(sum[:6]); err != nil {
		p.Revision = "unknown"
	}
	return p
}

func off(enabled *bool) bool { return enabled != nil && !*enabled }

func (l LocalPolicy) local() permission.Local {
	out := permission.Local{In: l.In, Set: said(l, permission.Setting{}, "in", "servers")}
	for name, s := range sorted(l.Servers) {
		out.Set = append(out.Set, said(s, permission.Setting{Server: name}, "tools")...)
		for tool, t := range sorted(s.Tools) {
			out.Set = append(out.Set, said(t, permission.Setting{Server: name, Tool: tool}, "rules")...)
			if len(t.Rules) > 0 {
				out.Rules = append(out.Rules, permission.LocalRules{Server: name, Tool: tool, Rules: t.Rules})
			}
		}
	}
	return out
}

// said are the settings that stand in a part of the file, but for these fields.
func said(part any, at permission.Setting, but ...string) (out []permission.Setting) {
	v := reflect.ValueOf(part)
	for _, f := range yamlFields(v.Type()) {
		if e := v.FieldByIndex(f.index); !e.IsZero() && !slices.Contains(but, f.name) {
			at.Field, at.Value = f.name, fmt.Sprint(reflect.Indirect(e))
			out = append(out, at)
		}
	}
	return out
}
