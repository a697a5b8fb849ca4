// Package doctor is the command nod doctor: it tries everything that the configuration names, and says what it found and what to do. It changes
// nothing: it posts no message, writes no key and runs no tool.
//
// An [examination] has a method for each look, which says its findings, and they are printed as they come; what Slack and Discord know about
// themselves stands in their adapters. A new thing to look at is a method and its place in run's list: looks.go has the configuration, the
// listener, the model and the two platforms, state.go Redis and the embedded state, tools.go the MCP servers and the admins.
//
// It may import what cmd/bot may: it opens the same parts as the bot does (cmd/bot/parts).
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/permission"
)

// finding is a line of the doctor's report. The marks are those of [surface.Finding].
type finding = surface.Finding

// examination is the configuration that the doctor looks at, with what one look leaves for a later one.
type examination struct {
	config.Config
	policy   permission.Policy
	warnings []string
	version  string   // of this program
	running  bool     // a bot listens already, so its addresses can be tried
	admins   []string // tools that only an admin can allow
	say      func(finding)
}

// Commands is nod doctor.
func Commands(p *command.Process) *cobra.Command {
	asJSON := false
	c := p.Command("doctor", "try everything that the configuration names, and say what to do about each failure", func(p command.Process, _ []string) int {
		return run(p, asJSON)
	})
	c.Long = "Try everything that the configuration names: tokens, permissions, Redis, model, MCP servers.\nSay what to do about each failure."
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each line")
	return c
}

// run looks at everything. The code is 1 where something does not work.
func run(p command.Process, asJSON bool) int {
	ctx, release := p.Context()
	defer release()
	report := reporter{out: p.Stdout, json: asJSON}
	c, err := config.Load(p.ConfigFile, p.Env)
	if wrong, ok := errors.AsType[config.Problems](err); ok {
		for _, one := range wrong {
			report.line(finding{What: "configuration", Mark: surface.Wrong, Found: one.String(), Do: "Correct it: docs/configuration.md explains each field. Nothing else was looked at."})
		}
		return report.end()
	}
	if err != nil {
		report.line(finding{What: "configuration", Mark: surface.Wrong, Found: err.Error(), Do: "Name a readable file with -config or NOD_CONFIG."})
		return report.end()
	}
	examined := examination{Config: c, policy: c.Policy(), warnings: p.Warnings(c), version: p.Version, say: report.line}
	for _, look := range []func(context.Context){
		examined.configuration, examined.timeout, quick(examined.listener), quick(examined.signIn), quick(examined.state), quick(examined.model),
		examined.tools, examined.someAdmin, examined.slack, examined.discord,
	} {
		if look(ctx); ctx.Err() != nil {
			return command.Fail
		}
	}
	return report.end()
}

// found says how one thing is, and what to do about it.
func (p *examination) found(what string, mark surface.Mark, how, do string) {
	p.say(finding{What: what, Mark: mark, Found: how, Do: do})
}

// quick gives a look a deadline.
func quick(look func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
		defer cancel()
		look(ctx)
	}
}

// reporter prints findings as they come.
type reporter struct {
	out           io.Writer
	json          bool
	wrong, lesser int
	advice        string // what the last line said to do
}

var marks = map[surface.Mark]string{surface.Fine: "✓", surface.Wrong: "✗", surface.Doubtful: "!", surface.Unchecked: "–"}

func (r *reporter) line(f finding) {
	switch f.Mark {
	case surface.Wrong:
		r.wrong++
	case surface.Doubtful:
		r.lesser++
	}
	if r.json {
		_ = json.NewEncoder(r.out).Encode(struct {
			What  string       `json:"what"`
			Mark  surface.Mark `json:"mark"`
			Found string       `json:"found"`
			Do    string       `json:"do,omitempty"`
		}{f.What, cmp.Or(f.Mark, "unchecked"), f.Found, f.Do})
		return
	}
	text := fmt.Sprintf("%s %s: %s", marks[f.Mark], f.What, strings.TrimRight(f.Found, "."))
	switch f.Do {
	case "":
	case r.advice:
		text += ". → The same"
	default:
		text += ". → " + f.Do
	}
	r.advice = f.Do
	fmt.Fprintln(r.out, text)
}

// end is the sum of it, and the exit code.
func (r *reporter) end() int {
	if !r.json {
		switch {
		case r.wrong > 0:
			fmt.Fprintf(r.out, "\n%s. Correct what is marked ✗ first, and run nod doctor again.\n", command.Count(r.wrong, "thing does", "things do")+" not work")
		case r.lesser > 0:
			fmt.Fprintf(r.out, "\nIt works, with %s marked !.\n", command.Count(r.lesser, "remark", "remarks"))
		default:
			fmt.Fprint(r.out, "\nEverything that could be looked at works.\n")
		}
	}
	if r.wrong > 0 {
		return command.Fail
	}
	return command.OK
}
