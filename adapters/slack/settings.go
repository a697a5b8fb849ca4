package slack

import (
	"context"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// Settings in words: "/nod permissions …", and the same in a thread after a mention.

// runSlashSettings does a slash command about settings. "permissions" alone opens the panel, in which "here" is nothing: a slash command names no thread.
func (a *Adapter) runSlashSettings(ctx context.Context, c inbound.SlashCommand, words []string) receipt {
	reply := privately(string(c.ResponseURL), string(c.Channel), "", string(c.User))
	by, no := a.identifyDecider(ctx, string(c.User), "")
	if no != "" {
		return a.answerPrivately(reply, no)
	}
	env := chat.Envelope{Delivery: chat.Delivery("c:" + string(c.Trigger)), User: by.User, Name: by.Name, Reply: reply}
	if len(words) == 0 {
		return receipt{after: func(ctx context.Context) { a.openPanel(ctx, c.Trigger, blocks.PanelForm{}, env) }}
	}
	lines, err := a.runSettingsWords(ctx, env, words)
	if err != nil {
		a.Logger.Warn("slack: a slash command failed", "command", surface.Shortened(string(c.Text), 40), "err", err)
		lines = []string{surface.SayCommandFailed("Slack")}
	}
	return receipt{after: func(ctx context.Context) { a.whisperBlocks(ctx, reply, blocks.EncodeLines(lines, nil)) }}
}

// runThreadSettings does a command about settings in a thread, for which "here" is that thread. The panel needs a click: what is typed has no trigger.
func (a *Adapter) runThreadSettings(ctx context.Context, s inbound.MessagePosted, words []string) (receipt, error) {
	by, no := a.identifyDecider(ctx, s.User, "")
	if no != "" {
		return a.answer(s, no), nil
	}
	reply := privately("", s.Thread.Channel, s.PrivateThread(), s.User)
	lines, err := a.runSettingsWords(ctx, a.envelope(s.Thread, s.Delivery(), by, reply), words)
	if err != nil {
		return receipt{}, err // Slack sends it again, and the engine takes it once
	}
	var open *blocks.PanelForm
	if len(words) == 0 {
		open = &blocks.PanelForm{At: s.Thread}
	}
	return receipt{after: func(ctx context.Context) { a.whisperBlocks(ctx, reply, blocks.EncodeLines(lines, open)) }}, nil
}

func (a *Adapter) runSettingsWords(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	lines, err := a.Settings.Permissions(ctx, env, words)
	if no := surface.Refusal(err); no != nil {
		return []string{no.Say}, nil
	}
	return lines, err
}
