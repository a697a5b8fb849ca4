package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
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
		more := s.analyse(ctx, asked) // before anybody is told: the card shows what came of it
		s.notify(ctx, asked)
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.Engine.News():
		case <-t.C:
		}
	}
}

// notify tells the admins once of each server that has a tool which nobody accepted yet, or which changed, when the analyst was asked
// about all of them: some may have come since it looked.
func (s *Settings) notify(ctx context.Context, asked map[permission.Tool]bool) {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return
	}
	for _, server := range now.Settings.Servers() {
		begun := permission.Told{Server: server, Tools: permission.ServerDigest(now.Settings.ToolsOf(server))}
		open := func(p permission.Pinned) bool { return p.Tool.Server == server && unaccepted(p) }
		later := func(p permission.Pinned) bool { return p.Tool.Server == server && s.toAnalyse(p, now.Settings, asked) }
		if _, due := now.Settings.Apply(begun, chat.User{}, "", s.Engine.Now()); !due || !slices.ContainsFunc(now.Settings.Pins, open) || slices.ContainsFunc(now.Settings.Pins, later) {
			continue
		}
		// Recorded first: of several replicas one tells. Should it die before it has, another one does later; an admin who was told is
		// not told twice, for the message has a key.
		const failed = "that the admins are told of a server's tools could not be recorded; trying again later"
		if !s.record(ctx, begun, failed, "server", server) {
			continue
		}
		for try := 1; try <= maxTries; try++ {
			if s.tellAdmins(ctx, now, server) {
				sent := begun
				sent.Sent = true
				s.record(ctx, sent, failed, "server", server)
				break
			}
			if backoff.Wait(ctx, time.Duration(try)*time.Second) != nil {
				return
			}
		}
	}
}

// record records what nod itself finds or does, and reports whether that was not on record yet. failed is logged where it cannot be.
func (s *Settings) record(ctx context.Context, c permission.Change, failed string, about ...any) bool {
	_, err := s.Engine.Change(ctx, chat.Envelope{}, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{c}, nil
	})
	if err != nil && !errors.Is(err, agent.ErrUnchanged) && ctx.Err() == nil {
		s.Logger.Warn(failed, append(about, "err", err)...)
	}
	return err == nil
}

func unaccepted(p permission.Pinned) bool { return p.Tool.Name != "" && (!p.Accepted || p.Changed()) }

// tellAdmins writes to every admin who can be written to, and reports whether each of them was, or cannot be.
func (s *Settings) tellAdmins(ctx context.Context, now agent.Rules, server string) bool {
	all := true
	for i, u := range now.Policy.Admins {
		t, can := s.Platforms[u.Platform].(agent.Teller)
		if !can || u.IsGroup() || slices.ContainsFunc(now.Policy.Admins[:i], u.SameAccount) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, agent.TellWithin)
		key := agent.PostKey(agent.SettingsChat, now.Settings.InstallToken(server)+"/"+u.String())
		_, err := t.Tell(ctx, u, key, render.Fit(s.installCard(now, server), s.Platforms[u.Platform].Limits()))
		cancel()
		pe, ok := errors.AsType[*agent.PlatformError](err)
		switch {
		case ok && pe.Refuses():
			s.Logger.Warn("an admin cannot be written to about a server's tools; the settings show them", "admin", u, "server", server, "err", err)
		case err != nil:
			s.Logger.Warn("could not write to an admin about a server's tools; trying again later", "admin", u, "server", server, "err", err)
			all = false
		}
	}
	return all
}

// maxInstallNames is how many tools one message names. The settings have them all.
const maxInstallNames = 40

// installCard is the message about a server whose tools are new, or changed: those that nobody accepted as they are, by what they are for.
func (s *Settings) installCard(now agent.Rules, server string) render.Message {
	var list []string
	entries := entriesOf(s.Engine.Listed(), now.Policy, now.Settings)
	named, left := 0, 0
	for _, g := range installGroups {
		var names []string
		for _, k := range entries {
			if k.tool().Server != server || k.does != g.does || !unaccepted(k.pin) {
				continue
			}
			if named++; named > maxInstallNames {
				left++
				continue
			}
			names = append(names, text.Inline(k.tool().Name)+remark(k, now.Settings.Analyses))
		}
		if len(names) > 0 {
			list = append(list, "- **"+g.title+"**: "+render.EscapePlain(strings.Join(names, ", ")))
		}
	}
	if left > 0 {
		list = append(list, "- "+text.AndMore(left))
	}
	token := now.Settings.InstallToken(server)
	return render.Message{State: render.Waiting, Token: token, Blocks: []render.Block{
		render.Note{Line: render.Line{render.Strong(text.InstallHeader(text.Inline(server)))}},
		render.Text{Markdown: strings.Join(list, "\n")},
		render.Note{Line: render.Line{render.Plain(text.InstallMeans)}},
	}, Choices: []render.Choice{render.NewChoice(chat.Accept, token), render.NewChoice(chat.Open, InstallView(server))}}
}

// remark is what is not as with most tools: an admin has to decide, it changed, or the model thinks something of it.
func remark(k toolEntry, analyses []permission.Analysis) string {
	var says []string
	if k.is.Approval == permission.RequireAuth {
		says = append(says, text.FactAdmin)
	}
	if k.pin.Changed() {
		var parts []string
		for _, d := range k.pin.Differences() {
			parts = append(parts, d.Part)
		}
		says = append(says, text.InstallChangedTool(parts))
	}
	for _, a := range analyses {
		if a.Tool == k.pin.Tool && a.Reason != "" {
			says = append(says, text.AnalysisSays(a.Reason))
		}
	}
	if len(says) == 0 {
		return ""
	}
	return " (" + strings.Join(says, "; ") + ")"
}

// Bounds of what a model is asked about tools.
const (
	analyseWithin = 30 * time.Second
	analyseAtOnce = 5    // tools for each look: servers that are done with are told of before the next
	maxReason     = 300  // characters of a model's reason
	maxAnalysed   = 6000 // characters of a definition that the model reads
)

// toAnalyse reports whether the analyst is to be asked about a tool: nobody accepted it, and it was not seen in this definition.
func (s *Settings) toAnalyse(p permission.Pinned, now permission.Settings, asked map[permission.Tool]bool) bool {
	return s.Analyst != nil && unaccepted(p) && !p.Now.Cut && !asked[p.Tool] && !slices.ContainsFunc(now.Analyses, func(a permission.Analysis) bool { return a.Tool == p.Tool })
}

// analyse asks the model about some of these tools and reports whether others are left. What it says may only add caution (see
// [permission.Settings.Over]); what it does not say in the strict form that it is asked for changes nothing (R160).
func (s *Settings) analyse(ctx context.Context, asked map[permission.Tool]bool) bool {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return false
	}
	n := 0
	for _, pin := range now.Settings.Pins {
		if !s.toAnalyse(pin, now.Settings, asked) {
			continue
		}
		if n++; n > analyseAtOnce {
			return true
		}
		asked[pin.Tool] = true // a model that cannot do it is not asked each minute
		a, err := s.analysis(ctx, pin)
		if err != nil {
			s.Logger.Warn("the model's analysis of a tool is of no use; the tool asks as any other", "server", pin.Tool.Server, "tool", pin.Tool.Name, "err", err)
			continue
		}
		const failed = "the model's analysis of a tool could not be recorded"
		s.record(ctx, a, failed, "server", pin.Tool.Server, "tool", pin.Tool.Name)
	}
	return false
}

func (s *Settings) analysis(ctx context.Context, pin permission.Pinned) (permission.Analysis, error) {
	ctx, cancel := context.WithTimeout(ctx, analyseWithin)
	defer cancel()
	definition, err := json.Marshal(map[string]any{
		"server": pin.Tool.Server, "tool": pin.Tool.Name, "title": pin.Now.Title, "description": pin.Now.Description,
		"input_schema": pin.Now.Input, "annotations": pin.Now.Annotations,
	})
	if err != nil {
		return permission.Analysis{}, err
	}
	read := []rune(string(definition))
	prompt := text.AnalysePrompt(string(read[:min(len(read), maxAnalysed)]))
	rep, err := s.Analyst.Reply(ctx, []turn.Utterance{{Role: turn.RoleUser, Text: prompt}}, nil, func(agent.Delta) {})
	if err != nil {
		return permission.Analysis{}, err
	}
	a, err := parseAnalysis(rep.Text)
	a.Tool = pin.Tool
	return a, err
}

// parseAnalysis reads the one form that is asked for, and nothing else.
func parseAnalysis(reply string) (a permission.Analysis, err error) {
	var in struct {
		Access *permission.Access `json:"access"`
		Risk   *permission.Risk   `json:"risk"`
		Admin  *bool              `json:"admin"`
		Reason *string            `json:"reason"`
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSpace(reply)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return a, fmt.Errorf("it is not the JSON that was asked for: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("something stands behind the JSON that was asked for")
	}
	switch {
	case in.Access == nil || in.Risk == nil || in.Admin == nil || in.Reason == nil:
		return a, errors.New("a field is missing")
	case *in.Access != permission.Read && *in.Access != permission.Write:
		return a, errors.New("access is neither read nor write")
	}
	return permission.Analysis{Access: *in.Access, Risk: *in.Risk, Level: *in.Admin, Reason: text.Clip(*in.Reason, maxReason)}, nil
}
