package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Bounds of what a model is asked about tools.
const (
	analyseWithin = 30 * time.Second
	analyseAtOnce = 5    // tools for each look; the others have their turn with the next
	maxReason     = 300  // characters of a model's reason
	maxAnalysed   = 6000 // characters of a definition that the model reads
)

// analyse asks the model about tools that nobody accepted and that it did not see in this definition. What it says may only add caution
// (see [permission.Settings.Over]); what it does not say in the strict form that it is asked for changes nothing (R160).
func (s *Settings) analyse(ctx context.Context, asked map[permission.Tool]bool) {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return
	}
	done := map[permission.Tool]bool{}
	for _, a := range now.Settings.Analyses {
		done[a.Tool] = true
	}
	n := 0
	for _, pin := range now.Settings.Pins {
		if done[pin.Tool] || asked[pin.Tool] || pin.Accepted && !pin.Changed() || pin.Now.Cut || n == analyseAtOnce {
			continue
		}
		n++
		asked[pin.Tool] = true // a model that cannot do it is not asked each minute
		a, err := s.analysis(ctx, pin)
		if err != nil {
			s.Logger.Warn("the model's analysis of a tool is of no use; the tool asks as any other", "server", pin.Tool.Server, "tool", pin.Tool.Name, "err", err)
			continue
		}
		_, err = s.Engine.Change(ctx, chat.Envelope{}, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
			return []permission.Change{{Analysis: &a}}, nil
		})
		if err != nil && !errors.Is(err, agent.ErrUnchanged) && ctx.Err() == nil {
			s.Logger.Warn("the model's analysis of a tool could not be recorded", "server", pin.Tool.Server, "tool", pin.Tool.Name, "err", err)
		}
	}
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
	shown := string(definition)
	if r := []rune(shown); len(r) > maxAnalysed {
		shown = string(r[:maxAnalysed])
	}
	rep, err := s.Analyst.Reply(ctx, []turn.Utterance{{Role: turn.RoleUser, Text: text.AnalysePrompt(shown)}}, nil, func(agent.Delta) {})
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
		Access *string `json:"access"`
		Risk   *string `json:"risk"`
		Admin  *bool   `json:"admin"`
		Reason *string `json:"reason"`
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSpace(reply)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return a, fmt.Errorf("it is not the JSON that was asked for: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("something stands behind the JSON that was asked for")
	}
	if in.Access == nil || in.Risk == nil || in.Admin == nil || in.Reason == nil {
		return a, errors.New("a field is missing")
	}
	if a.Access, err = permission.ParseAccess(*in.Access); err != nil {
		return a, err
	}
	if a.Access != permission.Read && a.Access != permission.Write {
		return a, errors.New("access is neither read nor write")
	}
	if a.Risk, err = permission.ParseRisk(*in.Risk); err != nil {
		return a, err
	}
	a.Level, a.Reason = *in.Admin, text.Clip(*in.Reason, maxReason)
	return a, nil
}
