package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// serversOf are the servers of which tools are known, each once, in order.
func serversOf(s permission.Settings) []string {
	var out []string
	for _, p := range s.Pins {
		if !slices.Contains(out, p.Tool.Server) {
			out = append(out, p.Tool.Server)
		}
	}
	return out
}

// toolsOf are a server's tools as they are known.
func toolsOf(s permission.Settings, server string) []permission.Tool {
	var out []permission.Tool
	for _, p := range s.Pins {
		if p.Tool.Server == server {
			out = append(out, p.Tool)
		}
	}
	return out
}

// installToken names a server's tools as they are: what an installation card accepts.
func installToken(s permission.Settings, server string) string {
	return "i-" + string(permission.ServerDigest(toolsOf(s, server)))[:32]
}

// observe records what servers say about their tools where it is new or another than before, so that every replica knows before
// anything is asked, and returns the settings after that. It costs one read where nothing is.
func (e *Engine) observe(ctx context.Context, base permission.Policy, specs []ToolSpec) (permission.Settings, error) {
	s, err := e.settings(ctx)
	if err != nil || len(e.news(base, s, specs)) == 0 {
		return s, err
	}
	s, err = e.Change(ctx, chat.Envelope{}, "", func(_ permission.Policy, s permission.Settings) ([]permission.Change, error) {
		return e.news(base, s, specs), nil
	})
	switch {
	case err == nil:
		select {
		case e.newsCh <- struct{}{}: // the admins are to hear of it
		default:
		}
	case errors.Is(err, ErrUnchanged):
		err = nil // another replica was first
	}
	return s, err
}

// news are the changes that tell what servers say. What is seen first of a server counts as accepted where the operator's own
// configuration stands for the server: it is marked as trusted, or set never to ask.
func (e *Engine) news(base permission.Policy, s permission.Settings, specs []ToolSpec) []permission.Change {
	var out []permission.Change
	known := map[string]bool{}
	for _, sp := range specs {
		if sp.Source == permission.SourceWorkbench { // ours: it changes with the program
			continue
		}
		server := sp.Tool.Server
		set := base.Servers[server]
		vouched := set.Trusted || set.Ask == permission.NeverAsk
		pin, _ := s.Pin(sp.Tool) // of no tool where it is not known
		if !pin.IsNews(sp.Tool, vouched) {
			continue
		}
		if _, looked := known[server]; !looked {
			known[server] = s.Knows(server)
		}
		out = append(out, permission.Change{Seen: &permission.Seen{
			Tool: sp.Tool, Definition: sp.Definition.Kept(), Stranger: !vouched, Vouched: vouched && (!known[server] || pin.Stranger),
		}})
	}
	return out
}

// tellWithin bounds how long one message to an admin may take.
const tellWithin = 10 * time.Second

// tellTries bounds the attempts: the settings show what is new all the same.
const tellTries = 5

// announce tells the admins once of servers whose tools nobody accepted yet, or which changed.
func (e *Engine) announce(ctx context.Context) {
	base, err := e.Policies.Policy(ctx)
	if err != nil {
		return
	}
	s, err := e.settings(ctx)
	if err != nil {
		return
	}
	policy := e.laid(base, s)
	for _, server := range serversOf(s) {
		told := permission.Told{Server: server, Tools: permission.ServerDigest(toolsOf(s, server))}
		if _, due := s.Apply(permission.Change{Told: &told}, chat.User{}, "", e.now()); !due || !e.unaccepted(s, server) {
			continue
		}
		// Recorded first: of several replicas one tells. Should it die before it has, another one does later; an admin who was told is
		// not told twice, for the message has a key.
		if !e.notes(ctx, told) {
			continue
		}
		for try := 1; !told.Sent && try <= tellTries; try++ {
			if told.Sent = e.tellAdmins(ctx, policy, s, server); !told.Sent && !pause(ctx, time.Duration(try)*time.Second) {
				return
			}
		}
		if told.Sent {
			e.notes(ctx, told)
		}
	}
}

// notes records how far the telling is, and reports whether that changed anything.
func (e *Engine) notes(ctx context.Context, told permission.Told) bool {
	_, err := e.Change(ctx, chat.Envelope{}, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{{Told: &told}}, nil
	})
	if err != nil && !errors.Is(err, ErrUnchanged) && ctx.Err() == nil {
		e.Logger.Warn("that the admins are told of a server's tools could not be recorded; trying again later", "server", told.Server, "err", err)
	}
	return err == nil
}

func (e *Engine) unaccepted(s permission.Settings, server string) bool {
	return slices.ContainsFunc(s.Pins, func(p permission.Pinned) bool { return p.Tool.Server == server && (!p.Accepted || p.Changed()) })
}

// tellAdmins writes to every admin who can be written to, and reports whether each of them was, or cannot be.
func (e *Engine) tellAdmins(ctx context.Context, policy permission.Policy, s permission.Settings, server string) bool {
	all := true
	for _, u := range policy.Admins {
		t, can := e.Platforms[u.Platform].(Teller)
		if !can || u.IsGroup() {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, tellWithin)
		key := postKey(SettingsChat, installToken(s, server)+"/"+u.String())
		_, err := t.Tell(ctx, u, key, render.Fit(e.installCard(policy, s, server), e.Platforms[u.Platform].Limits()))
		cancel()
		var pe *PlatformError
		if errors.As(err, &pe) && pe.refuses() {
			e.Logger.Warn("an admin cannot be written to about a server's tools; the settings show them", "admin", u, "server", server, "err", err)
			continue
		}
		if err != nil {
			e.Logger.Warn("could not write to an admin about a server's tools; trying again later", "admin", u, "server", server, "err", err)
			all = false
		}
	}
	return all
}

// maxInstallLines is how many tools one message names. The settings have them all.
const maxInstallLines = 40

// installCard is the message about a server whose tools are new, or changed.
func (e *Engine) installCard(policy permission.Policy, s permission.Settings, server string) render.Message {
	m := render.Message{State: render.Waiting, Token: installToken(s, server)}
	m.Blocks = append(m.Blocks, render.Note{Line: render.Line{render.Strong(render.InstallHeader(turn.Seen(server)))}})
	var list []string
	for _, pin := range s.Pins {
		if pin.Tool.Server != server {
			continue
		}
		line := e.proposed(policy, pin)
		switch {
		case pin.Changed():
			var parts []string
			for _, d := range pin.Differences() {
				parts = append(parts, d.Part)
			}
			line += " · " + render.ChangedOnCard(parts)
		case !pin.Accepted:
			line += " · " + render.InstallNew
		}
		for _, a := range s.Analyses {
			if a.Tool == pin.Tool && a.Reason != "" {
				line += " · " + render.AnalysisSays(a.Reason)
			}
		}
		list = append(list, "- "+render.EscapePlain(turn.Seen(pin.Tool.Name)+" · "+line))
	}
	if left := len(list) - maxInstallLines; left > 0 {
		list = append(list[:maxInstallLines], "- "+render.AndMore(left))
	}
	m.Blocks = append(m.Blocks, render.Text{Markdown: strings.Join(list, "\n")})
	m.Blocks = append(m.Blocks, render.Note{Line: render.Line{render.Plain(render.InstallMeans)}})
	token := installToken(s, server)
	m.Choices = []render.Choice{
		{Choice: chat.Accept, Token: token, Label: render.LabelAcceptTools},
		{Choice: chat.Open, Token: InstallView(server), Label: render.LabelEditTools},
	}
	return m
}

// proposed is what holds for a tool, in words, and why.
func (e *Engine) proposed(policy permission.Policy, pin permission.Pinned) string {
	var h permission.Hints
	src := permission.SourceMCP
	for _, sp := range e.lastSpecs() {
		if sp.Tool == pin.Tool {
			h, src = sp.Hints, sp.Source
		}
	}
	eff := policy.Get(pin.Tool, src, h, permission.Metadata{})
	return render.ToolLine(eff.Access.String(), string(eff.AccessFrom), eff.Risk.String(), string(eff.RiskFrom), eff.Approval.String(), string(eff.ApprovalFrom))
}

// lastSpecs are the tools as they were listed last.
func (e *Engine) lastSpecs() []ToolSpec {
	if p := e.seen.Load(); p != nil {
		return *p
	}
	return nil
}

// watchTools lists the tools at the start and now and then, and tells admins of what is new, until ctx ends.
func (e *Engine) watchTools(ctx context.Context) {
	t := time.NewTicker(toolsLook)
	defer t.Stop()
	for {
		before := e.seen.Load()
		if specs, _, err := e.Tools.List(ctx); err == nil && e.seen.CompareAndSwap(before, &specs) { // else a turn has listed them meanwhile: this may be old
			if _, _, err := e.policyFor(ctx, specs); err != nil && ctx.Err() == nil {
				e.Logger.Warn("what servers say about their tools could not be recorded", "err", err)
			}
		}
		if e.Analyse {
			e.analyse(ctx) // before anybody is told: the card shows what came of it
		}
		e.announce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-e.newsCh:
		case <-t.C:
		}
	}
}

// toolsLook is how often a replica looks what servers say while nobody uses them.
const toolsLook = time.Minute
