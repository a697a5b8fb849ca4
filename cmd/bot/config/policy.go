package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/nodhq/nod/core/permission"
)

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
		Timeout:        permission.TimeoutUnset,
		SurviveRestart: c.Grants.SurviveRestart,
		Strict:         c.Permissions.Strict,
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
		e.Ask, e.Disabled, e.Timeout, e.Rights = s.Ask, !s.Enabled, (*time.Duration)(s.Timeout), s.Rights
		e.Tools = make(map[string]permission.ToolSettings, len(s.Tools))
		for tool, t := range s.Tools {
			e.Tools[tool] = permission.ToolSettings{
				Ask: t.Ask, Disabled: !t.Enabled, Access: t.Access, Risk: t.Risk, Approval: t.Approval, Message: t.Message, Impact: t.Impact,
				Category: t.Category, Timeout: (*time.Duration)(t.Timeout), Repeat: t.Repeat, ChatGrant: t.ChatGrant, Rights: t.Rights, Rules: t.Rules,
			}
		}
		p.Servers[name] = e
	}
	// Its content names it, for audit entries. The name is short: it tells policies apart, it proves nothing.
	b, err := json.Marshal(p) // maps are written in the order of their keys
	sum := sha256.Sum256(b)
	if p.Revision = hex.EncodeToString(sum[:6]); err != nil {
		p.Revision = "unknown"
	}
	return p
}
