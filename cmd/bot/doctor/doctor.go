// Package doctor is the command bot doctor: it tries everything that the configuration names, and says what it found and what to do. It changes
// nothing: it posts no message, writes no key and runs no tool.
//
// A look ([patient] has one method for each) gives findings, which are printed as they come; what Slack and Discord know about themselves
// stands in their adapters. A new thing to look at is a method of patient and its place in Run's list: looks.go has the configuration, the
// listener, the model and Slack, state.go Redis and the embedded state, tools.go the MCP servers and the admins, discord.go Discord.
//
// It may import what cmd/bot may: it opens the same parts as the bot does (cmd/bot/parts).
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/permission"
)

// finding is a line of the doctor's report. The marks are those of [surface.Finding].
type finding = surface.Finding

// patient is the configuration that the doctor looks at, with what one look leaves for a later one.
type patient struct {
	config.Config
	policy   permission.Policy
	warnings []string
	version  string   // of this program
	running  bool     // a bot listens already, so its addresses can be tried
	admins   []string // tools that only an admin can allow
}

// Run looks at everything. The code is 1 where something does not work.
func Run(p command.Process, asJSON bool) int {
	ctx, release := p.Context()
	defer release()
	say := reporter{out: p.Stdout, json: asJSON}
	c, err := config.Load(p.ConfigFile, p.Env)
	var wrong config.Problems
	switch {
	case errors.As(err, &wrong):
		for _, one := range wrong {
			say.line(finding{What: "configuration", Mark: surface.Wrong, Found: one.String(), Do: "Correct it: docs/configuration.md explains each field. Nothing else was looked at."})
		}
	case err != nil:
		say.line(finding{What: "configuration", Mark: surface.Wrong, Found: err.Error(), Do: "Name a readable file with -config or BOT_CONFIG."})
	default:
		examined := patient{Config: c, policy: c.Policy(), warnings: p.Warnings(c), version: p.Version}
		for _, look := range []func(context.Context) iter.Seq[finding]{
			examined.configuration, examined.listener, examined.state, examined.model, examined.tools, examined.deciders, examined.slack, examined.discord,
		} {
			for f := range look(ctx) {
				say.line(f)
			}
			if ctx.Err() != nil {
				return command.Fail
			}
		}
	}
	return say.end()
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
		mark := f.Mark
		if mark == surface.Unchecked {
			mark = "unchecked"
		}
		_ = json.NewEncoder(r.out).Encode(struct {
			What  string       `json:"what"`
			Mark  surface.Mark `json:"mark"`
			Found string       `json:"found"`
			Do    string       `json:"do,omitempty"`
		}{f.What, mark, f.Found, f.Do})
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
			fmt.Fprintf(r.out, "\n%s. Correct what is marked ✗ first, and run bot doctor again.\n", command.Count(r.wrong, "thing does", "things do")+" not work")
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

// one is a look that finds one thing, with its deadline.
func one(ctx context.Context, look func(context.Context) finding) iter.Seq[finding] {
	return func(yield func(finding) bool) {
		ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
		defer cancel()
		yield(look(ctx))
	}
}
