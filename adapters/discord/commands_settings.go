package discord

import (
	"context"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Commands about settings: "/nod permissions …", "/nod halt" and the like, and the same after a mention. What they say is for the one
// person who gave them.

// settings are the words for [surface.Settings] of a slash command, which are those that somebody would type.
func (s *slash) settings(verb string) (words []string, ok bool) {
	given := map[string]string{}
	if len(s.in.Data.Options) == 1 {
		for _, o := range s.in.Data.Options[0].Options {
			given[string(o.Name)] = strings.TrimSpace(string(o.Value))
		}
	}
	switch verb {
	case verbPermissions:
		return strings.Fields(given[optionDo]), true
	case verbTools:
		return append([]string{verb}, strings.Fields(given[optionDo])...), true
	case verbHalt, verbResume, verbWhoami:
		return []string{verb}, true
	case verbWhy:
		return []string{verb, given[optionServer], given[optionTool]}, true
	}
	return nil, false
}

// slashSettings does a command, and answers it.
func (a *Adapter) slashSettings(ctx context.Context, s slash, words []string) {
	if a.Settings == nil {
		a.tell(ctx, s.w, sayNoSettings)
		return
	}
	env := a.envelope(s.at, s.in.delivery(), s.by, s.w.handle())
	env.Chat = a.here(ctx, s.at, s.channel)
	said, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		said, err = []string{no.Say}, nil
	}
	if err != nil {
		a.Logger.Warn("discord: a command about settings failed", "chat", s.at.id(), "err", err)
		a.tell(ctx, s.w, sayCommandFailed)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	if err := s.w.show(ctx, settingsPayload(words, said)); err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}

// settingsPayload are lines for one person: in the message, or where they are many in a file.
func settingsPayload(words, said []string) payload {
	p := render.Part{Text: strings.Join(said, "\n"), Form: render.FormPlain}
	if len(words) > 0 && strings.EqualFold(words[0], "export") { // its spaces mean something
		p.Form = render.FormCode
	}
	return detailsPayload(render.Details{Parts: []render.Part{p}})
}

// typedSettings does a command that somebody typed after a mention, and answers in their direct messages, whoever was watching.
func (a *Adapter) typedSettings(ctx context.Context, s spoken, by somebody, words []string) error {
	if a.Settings == nil {
		a.answer(s, sayNoSettings)
		return nil
	}
	env := a.envelope(s.at, s.delivery(), by, s.reply())
	if s.begins && !s.known { // nothing was said there yet: the thread would begin with this
		env.Chat = chat.ID{}
	}
	said, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		said, err = []string{no.Say}, nil
	}
	if err != nil {
		return err
	}
	if a.now().Sub(writtenAt(string(s.m.ID))) <= staleAfter {
		a.later(func(ctx context.Context) { a.tellSettings(ctx, s, settingsPayload(words, said)) })
	}
	return nil
}

// tellSettings shows settings to the author of a message alone. Where their direct messages are closed nothing of it is said: only that
// there is an answer.
func (a *Adapter) tellSettings(ctx context.Context, s spoken, p payload) {
	me, err := a.me(ctx)
	if err == nil {
		if s.direct {
			err = a.quick(ctx, me, s.at.room(), onlyShape(p), nil)
		} else {
			err = a.direct(ctx, string(s.m.Author.ID), onlyShape(p))
		}
	}
	if codeOf(err) == codeClosedDM && !s.direct {
		at := s.at
		if s.begins && !s.known { // its thread is not there
			at.Thread = ""
		}
		err = a.openly(ctx, me, at, string(s.m.Author.ID), inWords(sayElsewhere))
	}
	if err != nil {
		a.Logger.Warn("discord: a private answer did not arrive", "err", err)
	}
}
