package settings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// lookEvery is how often a replica looks what servers say while nobody uses them.
const lookEvery = time.Minute

// maxTries bounds the attempts at one notification: the settings show what is new all the same.
const maxTries = 5

// Run looks at the tools at the start and now and then, and tells admins of what is new, until ctx ends.
func (s *Settings) Run(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	asked := map[permission.Tool]bool{} // what the analyst was asked about
	for {
		if err := s.Engine.Observe(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Warn("what servers say about their tools could not be recorded", "err", err)
		}
		if s.Analyst != nil {
			s.analyse(ctx, asked) // before anybody is told: the card shows what came of it
		}
		s.notify(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-s.Engine.News():
		case <-t.C:
		}
	}
}

// notify tells the admins once of each server that has a tool which nobody accepted yet, or which changed.
func (s *Settings) notify(ctx context.Context) {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return
	}
	for _, server := range now.Settings.Servers() {
		n := permission.Told{Server: server, Tools: permission.ServerDigest(now.Settings.ToolsOf(server))}
		if _, due := now.Settings.Apply(permission.Change{Told: &n}, chat.User{}, "", s.Engine.Now()); !due || !unaccepted(now.Settings, server) {
			continue
		}
		// Recorded first: of several replicas one tells. Should it die before it has, another one does later; an admin who was told is
		// not told twice, for the message has a key.
		if !s.recordNotification(ctx, n) {
			continue
		}
		for try := 1; !n.Sent && try <= maxTries; try++ {
			if n.Sent = s.tellAdmins(ctx, now, server); n.Sent {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(try) * time.Second):
			}
		}
		if n.Sent {
			s.recordNotification(ctx, n)
		}
	}
}

// recordNotification records that a notification is begun, or sent, and reports whether that was not on record yet.
func (s *Settings) recordNotification(ctx context.Context, n permission.Told) bool {
	_, err := s.Engine.Change(ctx, chat.Envelope{}, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{{Told: &n}}, nil
	})
	if err != nil && !errors.Is(err, agent.ErrUnchanged) && ctx.Err() == nil {
		s.Logger.Warn("that the admins are told of a server's tools could not be recorded; trying again later", "server", n.Server, "err", err)
	}
	return err == nil
}

func unaccepted(s permission.Settings, server string) bool {
	return slices.ContainsFunc(s.Pins, func(p permission.Pinned) bool { return p.Tool.Server == server && (!p.Accepted || p.Changed()) })
}

// tellAdmins writes to every admin who can be written to, and reports whether each of them was, or cannot be.
func (s *Settings) tellAdmins(ctx context.Context, now agent.Rules, server string) bool {
	all := true
	for _, u := range now.Policy.Admins {
		t, can := s.Platforms[u.Platform].(agent.Teller)
		if !can || u.IsGroup() {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, agent.TellWithin)
		key := agent.PostKey(agent.SettingsChat, now.Settings.InstallToken(server)+"/"+u.String())
		_, err := t.Tell(ctx, u, key, render.Fit(s.installCard(now, server), s.Platforms[u.Platform].Limits()))
		cancel()
		var pe *agent.PlatformError
		if errors.As(err, &pe) && pe.Refuses() {
			s.Logger.Warn("an admin cannot be written to about a server's tools; the settings show them", "admin", u, "server", server, "err", err)
			continue
		}
		if err != nil {
			s.Logger.Warn("could not write to an admin about a server's tools; trying again later", "admin", u, "server", server, "err", err)
			all = false
		}
	}
	return all
}

// maxInstallLines is how many tools one message names. The settings have them all.
const maxInstallLines = 40

// installCard is the message about a server whose tools are new, or changed.
func (s *Settings) installCard(now agent.Rules, server string) render.Message {
	token := now.Settings.InstallToken(server)
	m := render.Message{State: render.Waiting, Token: token}
	m.Blocks = append(m.Blocks, render.Note{Line: render.Line{render.Strong(text.InstallHeader(text.Inline(server)))}})
	var list []string
	for _, pin := range now.Settings.Pins {
		if pin.Tool.Server != server {
			continue
		}
		line := s.proposed(now.Policy, pin)
		switch {
		case pin.Changed():
			var parts []string
			for _, d := range pin.Differences() {
				parts = append(parts, d.Part)
			}
			line += " · " + text.ChangedOnCard(parts)
		case !pin.Accepted:
			line += " · " + text.InstallNew
		}
		for _, a := range now.Settings.Analyses {
			if a.Tool == pin.Tool && a.Reason != "" {
				line += " · " + text.AnalysisSays(a.Reason)
			}
		}
		list = append(list, "- "+render.EscapePlain(text.Inline(pin.Tool.Name)+" · "+line))
	}
	if left := len(list) - maxInstallLines; left > 0 {
		list = append(list[:maxInstallLines], "- "+text.AndMore(left))
	}
	m.Blocks = append(m.Blocks, render.Text{Markdown: strings.Join(list, "\n")})
	m.Blocks = append(m.Blocks, render.Note{Line: render.Line{render.Plain(text.InstallMeans)}})
	m.Choices = []render.Choice{render.NewChoice(chat.Accept, token), render.NewChoice(chat.Open, InstallView(server))}
	return m
}

// proposed is what holds for a tool, in words, and why.
func (s *Settings) proposed(policy permission.Policy, pin permission.Pinned) string {
	var h permission.Hints
	src := permission.SourceMCP
	for _, sp := range s.Engine.Listed() {
		if sp.Tool == pin.Tool {
			h, src = sp.Hints, sp.Source
		}
	}
	eff := policy.Get(pin.Tool, src, h, permission.Metadata{})
	return text.ToolLine(eff.Access.String(), string(eff.AccessFrom), eff.Risk.String(), string(eff.RiskFrom), eff.Approval.String(), string(eff.ApprovalFrom))
}
