package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What whoever took an interaction may do with its answer.

// handle is for [Adapter.Whisper].
func (w *answer) handle() chat.ReplyHandle { return handleOf(w.incoming) }

// tell answers the person in words of ours.
func (w *answer) tell(ctx context.Context, text string) error {
	return w.whisper(ctx, noteShapes(inWords(text), ""))
}

// inWords is a message of plain text.
func inWords(text string) render.Message {
	return render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text)}}}}
}

// show answers the person with a payload, its files included.
func (w *answer) show(ctx context.Context, p payload) error { return w.whisper(ctx, onlyShape(p)) }

func (w *answer) whisper(ctx context.Context, of shapes) error {
	_, err := w.a.try(of, levelFull, func(s sketch) error { return w.private(ctx, s) })
	return err
}

// say answers in the place itself, for everybody there, and returns the message. It must be the first answer; where another replica
// has given it, that is the message.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-callback-interaction-callback-response-object
func (w *answer) say(ctx context.Context, p payload) (message string, err error) {
	var made struct {
		Resource struct {
			Message said `json:"message"`
		} `json:"resource"`
	}
	_, err = w.a.try(onlyShape(p), levelFull, func(s sketch) error {
		return w.first(ctx, callback{answerMessage, s.out(flagsShown)}, s.Files, &made)
	})
	m := made.Resource.Message
	if errors.Is(err, errGiven) {
		at := discordgo.EndpointInteractionResponseActions(w.Application, url.PathEscape(w.Token))
		if w.a.rest(withLane(ctx, agent.Decision), http.MethodGet, at, nil, &m) == nil && m.Flags&discordgo.MessageFlagsEphemeral == 0 && isSnowflake(m.ID) {
			return m.ID, nil
		}
	}
	if err == nil && !isSnowflake(m.ID) {
		err = transient(errors.New("the answer to a command names no message"))
	}
	return m.ID, asFault(err)
}

// update puts a payload in the place of the private message that was clicked. It must be the first answer.
func (w *answer) update(ctx context.Context, p payload) error {
	_, err := w.a.try(onlyShape(p), levelFull, func(s sketch) error {
		return w.first(ctx, callback{answerUpdate, s.out(flagsShown)}, s.Files, nil)
	})
	return asFault(err)
}

// said is what is read of the message that an answer is.
type said struct {
	ID    string                 `json:"id"`
	Flags discordgo.MessageFlags `json:"flags"`
}

// open answers with a form. It must be the first answer.
func (w *answer) open(ctx context.Context, m *discordgo.InteractionResponseData) error {
	form := struct { // discordgo's struct would send empty content and no embeds along
		CustomID   string                       `json:"custom_id"`
		Title      string                       `json:"title"`
		Components []discordgo.MessageComponent `json:"components"`
	}{m.CustomID, m.Title, m.Components}
	return asFault(w.first(ctx, callback{answerModal, form}, nil, nil))
}

// asFault is an error for callers that know no errGiven.
func asFault(err error) error {
	if errors.Is(err, errGiven) {
		return gone(errGiven.Error() + ", or it came too late for one")
	}
	return err
}

// settle gives the click time to be answered by what came of it, and else tells Discord that it was taken: without that, people read
// that the interaction failed. An ended ctx ends the waiting, not that. It is for clicks: a command has no message that could stay.
func (w *answer) settle(ctx context.Context) {
	if left := settleAfter - w.a.now().Sub(w.At); left > 0 {
		t := time.NewTimer(left)
		defer t.Stop()
		select {
		case <-w.given:
		case <-ctx.Done():
		case <-t.C:
		}
	}
	if w.isGiven() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clickTimeout)
	defer cancel()
	if err := w.first(ctx, callback{Type: answerDeferred}, nil, nil); err != nil && !errors.Is(err, errGiven) {
		w.a.Logger.Warn("discord: a click was recorded, but Discord could not be told so: the person reads that it failed", "channel", w.Channel, "err", err)
	}
	w.done() // nothing comes after it
}
