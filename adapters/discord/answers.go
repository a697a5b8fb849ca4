package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// How long an interaction takes its first answer, and answers after that. A little less than Discord's: a request takes its time.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	answerFirst  = 3 * time.Second
	answerLife   = 15*time.Minute - 30*time.Second
	settleAfter  = time.Second // for an edit to be the answer: it shows what came of the click
	clickTimeout = 2 * time.Second
	maxOpen      = 64 // of one message
)

// Types of an interaction's first answer.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
const (
	answerMessage  = 4 // a message
	answerDeferred = 6 // the message that was clicked stays as it is, for now
	answerUpdate   = 7 // the message that was clicked becomes this
	answerModal    = 9 // a form
)

// incoming is an interaction as far as answering it needs it.
type incoming struct {
	ID, Token, Application string
	Channel                string
	Message                string // what was clicked, where its next edit may be the answer. Empty for a command, and for a click that a form or details answer
	User                   string
	At                     time.Time // when it reached this process
}

// answers are the interactions that may still be answered. They are kept in memory only: whoever has the token of one can write in
// its place. What falls out of these tables is answered by what its handle carries, or its message by a PATCH.
type answers struct {
	byID      surface.Cache[*answer]
	mu        sync.Mutex               // who opens one has it
	byMessage surface.Cache[[]*answer] // those that an edit of their message may be, oldest first
}

// answer is an interaction that may be answered.
type answer struct {
	incoming
	a *Adapter

	turn  chan struct{} // holds one token: whoever has it may give the first answer
	given chan struct{} // closed when there is nothing to be given any more
	once  sync.Once
}

// answering takes an interaction, before anything is done because of it. The same one again is the same answer.
func (a *Adapter) answering(in incoming) *answer {
	if in.At.IsZero() {
		in.At = a.now()
	}
	w, isNew := a.answers.byID.Add(in.ID, a.newAnswer(in), a.now())
	if isNew && in.Message != "" {
		a.answers.open(w)
	}
	return w
}

func (a *Adapter) newAnswer(in incoming) *answer {
	w := &answer{incoming: in, a: a, turn: make(chan struct{}, 1), given: make(chan struct{})}
	w.turn <- struct{}{}
	return w
}

// open lets edits of its message use an answer.
func (s *answers) open(w *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had, _ := s.byMessage.Get(w.Message, w.At)
	open := slices.DeleteFunc(slices.Clone(had), func(o *answer) bool { return o.isGiven() || w.At.Sub(o.At) >= answerFirst })
	if len(open) < maxOpen {
		s.byMessage.Put(w.Message, append(open, w), w.At)
	}
}

// next is the answer that an edit of a message may be.
func (s *answers) next(message string, now time.Time) *answer {
	open, _ := s.byMessage.Get(message, now)
	if i := slices.IndexFunc(open, func(w *answer) bool { return !w.isGiven() }); i >= 0 {
		return open[i]
	}
	return nil
}

// done says that there is no first answer to be given any more.
func (w *answer) done() {
	w.once.Do(func() { close(w.given) })
}

func (w *answer) isGiven() bool {
	select {
	case <-w.given:
		return true
	default:
		return false
	}
}

// errGiven says that the first answer cannot be this one: there is one already, or it is too late.
var errGiven = errors.New("the interaction has had its first answer")

// callback is the first answer. https://discord.com/developers/docs/interactions/receiving-and-responding#create-interaction-response
type callback struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}

// first gives the first answer, or returns errGiven. Any other error leaves it to be given, where there is time.
func (w *answer) first(ctx context.Context, c callback, files []*discordgo.File, into any) error {
	select {
	case <-w.turn:
	case <-w.given:
		return errGiven
	case <-ctx.Done():
		return rest.FaultOf(ctx.Err())
	}
	defer func() { w.turn <- struct{}{} }()
	if w.isGiven() {
		return errGiven
	}
	ctx, cancel := context.WithTimeout(rest.WithLane(ctx, agent.Decision), clickTimeout)
	defer cancel()
	at := discordgo.EndpointInteractionResponse(w.ID, url.PathEscape(w.Token))
	if into != nil {
		at += "?with_response=true"
	}
	err := w.a.api.CallFiles(ctx, http.MethodPost, at, c, files, into)
	switch rest.CodeOf(err) {
	case discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged, discordgo.ErrCodeUnknownInteraction: // by another replica, or by an attempt of ours whose answer was lost; or nobody did in time
		w.done()
		return errGiven
	}
	if err == nil {
		w.done()
	}
	return err
}

// later gives an answer after the first, to the one person.
// https://discord.com/developers/docs/interactions/receiving-and-responding#create-followup-message
func (w *answer) later(ctx context.Context, out components.Outgoing, files []*discordgo.File) error {
	if w.a.now().Sub(w.At) >= answerLife {
		return rest.Gone("the interaction is over: it takes answers for fifteen minutes")
	}
	at := discordgo.EndpointFollowupMessage(w.Application, url.PathEscape(w.Token))
	return w.a.api.CallFiles(rest.WithLane(ctx, agent.Decision), http.MethodPost, at, out, files, nil)
}

// private shows something to the one person: as the first answer, or after it.
func (w *answer) private(ctx context.Context, s components.Rendition) error {
	err := w.first(ctx, callback{answerMessage, s.Out(components.FlagsPrivate)}, s.Uploads(), nil)
	if errors.Is(err, errGiven) {
		return w.later(ctx, s.Out(components.FlagsPrivate), s.Uploads())
	}
	return err
}

// viaClick draws a message as the answer to a click on it. False where none waits or where that failed: then the same is sent
// as a PATCH, and it does no harm if both arrive. An error refuses the message's shape.
func (a *Adapter) viaClick(ctx context.Context, message string, s components.Rendition) (answered bool, err error) {
	for w := a.answers.next(message, a.now()); w != nil; w = a.answers.next(message, a.now()) {
		err := w.first(ctx, callback{answerUpdate, s.Out(components.FlagsShown)}, s.Uploads(), nil)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errGiven): // on to the next: another person clicked, too
		case refusedShape(err, s):
			return false, err
		default:
			a.Logger.Info("discord: a click could not be answered with the message; editing it instead", "channel", w.Channel, "message", message, "err", err)
			return false, nil
		}
	}
	return false, nil
}

// handle is for [Adapter.Whisper].
func (w *answer) handle() chat.ReplyHandle { return handleOf(w.incoming) }

// inWords is a message of plain text.
func inWords(text string) render.Message {
	return render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text)}}}}
}

// give answers with a reply that is shown.
func (w *answer) give(ctx context.Context, r *reply) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterWithin)
	defer cancel()
	switch {
	case r.form != nil:
		return asFault(w.first(ctx, callback{answerModal, r.form}, nil, nil))
	case r.inPlace:
		_, err := w.a.try(r.show, surface.LevelFull, func(s components.Rendition) error {
			return w.first(ctx, callback{answerUpdate, s.Out(components.FlagsShown)}, s.Uploads(), nil)
		})
		return asFault(err)
	}
	return w.whisper(ctx, r.show)
}

func (w *answer) whisper(ctx context.Context, of components.Renditions) error {
	_, err := w.a.try(of, surface.LevelFull, func(s components.Rendition) error { return w.private(ctx, s) })
	return err
}

// say answers in the place itself, for everybody there, and returns the message. It must be the first answer; where another replica
// has given it, that is the message.
// https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-callback-interaction-callback-response-object
func (w *answer) say(ctx context.Context, p components.Payload) (message string, err error) {
	var made struct {
		Resource struct {
			Message struct {
				ID    string                 `json:"id"`
				Flags discordgo.MessageFlags `json:"flags"`
			} `json:"message"`
		} `json:"resource"`
	}
	_, err = w.a.try(components.Only(p), surface.LevelFull, func(s components.Rendition) error {
		return w.first(ctx, callback{answerMessage, s.Out(components.FlagsShown)}, s.Uploads(), &made)
	})
	m := made.Resource.Message
	if errors.Is(err, errGiven) {
		at := discordgo.EndpointInteractionResponseActions(w.Application, url.PathEscape(w.Token))
		if w.a.api.Call(rest.WithLane(ctx, agent.Decision), http.MethodGet, at, nil, &m) == nil && m.Flags&discordgo.MessageFlagsEphemeral == 0 {
			err = nil
		}
	}
	if err == nil && !ids.IsSnowflake(m.ID) {
		err = rest.Transient(errors.New("the answer to a command names no message"))
	}
	return m.ID, asFault(err)
}

// asFault is an error for callers that know no errGiven.
func asFault(err error) error {
	if errors.Is(err, errGiven) {
		return rest.Gone(errGiven.Error() + ", or it came too late for one")
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clickTimeout)
	defer cancel()
	if err := w.first(ctx, callback{Type: answerDeferred}, nil, nil); err != nil && !errors.Is(err, errGiven) {
		w.a.Logger.Warn("discord: a click was recorded, but Discord could not be told so: the person reads that it failed", "channel", w.Channel, "err", err)
	}
	w.done() // nothing comes after it
}
