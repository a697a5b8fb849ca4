package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
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
	running  bool     // a bot listens already, so its addresses can be tried
	admins   []string // tools that only an admin can allow
}

// doctor tries everything that the configuration names, and says what it found and what to do. It changes nothing: it posts no
// message, writes no key and runs no tool. The code is 1 where something does not work.
func (p process) doctor(o options) int {
	ctx, release := untilSignal(context.Background(), p.signals, 0, slog.New(slog.DiscardHandler), p.exit)
	defer release()
	say := reporter{out: p.stdout, json: o.json}
	c, err := config.Load(o.config, p.env)
	var wrong config.Problems
	switch {
	case errors.As(err, &wrong):
		for _, one := range wrong {
			say.line(finding{What: "configuration", Mark: surface.Wrong, Found: one.String(), Do: "Correct it: docs/configuration.md explains each field. Nothing else was looked at."})
		}
	case err != nil:
		say.line(finding{What: "configuration", Mark: surface.Wrong, Found: err.Error(), Do: "Name a readable file with -config or BOT_CONFIG."})
	default:
		examined := patient{Config: c, policy: c.Policy(), warnings: p.warnings(c)}
		for _, look := range []func(context.Context) iter.Seq[finding]{
			examined.configuration, examined.listener, examined.state, examined.model, examined.tools, examined.deciders, examined.slack, examined.discord,
		} {
			for f := range look(ctx) {
				say.line(f)
			}
			if ctx.Err() != nil {
				return exitFail
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
			fmt.Fprintf(r.out, "\n%s. Correct what is marked ✗ first, and run bot doctor again.\n", count(r.wrong, "thing does", "things do")+" not work")
		case r.lesser > 0:
			fmt.Fprintf(r.out, "\nIt works, with %s marked !.\n", count(r.lesser, "remark", "remarks"))
		default:
			fmt.Fprint(r.out, "\nEverything that could be looked at works.\n")
		}
	}
	if r.wrong > 0 {
		return exitFail
	}
	return exitOK
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// one is a look that finds one thing, with its deadline.
func one(ctx context.Context, look func(context.Context) finding) iter.Seq[finding] {
	return func(yield func(finding) bool) {
		ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
		defer cancel()
		yield(look(ctx))
	}
}

// slackConfig is what the configuration says of Slack, without what only a running bot has.
func slackConfig(c config.Config) slack.Config {
	s := slack.Config{
		BotToken: c.Slack.BotToken.Reveal(), AppToken: c.Slack.AppToken.Reveal(), SigningSecret: c.Slack.SigningSecret.Reveal(),
		APIURL: c.Slack.APIURL.Reveal(), Follow: surface.Follow(c.Slack.Follow), Channels: map[string]surface.Follow{},
		Guests: c.Slack.Guests, External: c.Slack.External, Suggestions: c.Slack.Suggestions, Connections: c.Slack.Connections,
	}
	for id, channel := range c.Slack.Channels {
		s.Channels[id] = surface.Follow(channel.Follow)
	}
	return s
}
