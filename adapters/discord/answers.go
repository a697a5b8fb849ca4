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

	"github.com/nodhq/nod/core/agent"
)

// How long an interaction takes its first answer, and answers after that. A little less than Discord's: a request takes its time.
// https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages
const (
	answerFirst  = 3 * time.Second
	answerLife   = 15*time.Minute - 30*time.Second
	settleAfter  = time.Second // for an edit to be the answer: it shows what came of the click
	clickTimeout = 2 * time.Second
	maxAnswers   = 4096
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
// its place. The table is bounded; what falls out of it is answered by what its handle carries.
type answers struct {
	byID kept[*answer]

	mu    sync.Mutex
	byRef map[string][]*answer // those of a message that had no first answer yet, oldest first
	count int                  // of all in byRef
}

func newAnswers() answers { return answers{byID: kept[*answer]{most: maxAnswers, life: answerLife}} }

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
	w, isNew := a.answers.byID.add(in.ID, a.newAnswer(in), a.now())
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

// open lets edits of its message use an answer. Where there are too many, they are sent as PATCH.
func (s *answers) open(w *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= maxAnswers {
		s.sweep(w.At)
	}
	if s.count >= maxAnswers {
		return
	}
	if s.byRef == nil {
		s.byRef = map[string][]*answer{}
	}
	s.byRef[w.Message] = append(s.byRef[w.Message], w)
	s.count++
}

// sweep takes those out that nobody settled, and that are too old for a first answer.
func (s *answers) sweep(now time.Time) {
	for ref, open := range s.byRef {
		open = slices.DeleteFunc(open, func(w *answer) bool { return now.Sub(w.At) >= answerFirst })
		s.count -= len(s.byRef[ref]) - len(open)
		if len(open) == 0 {
			delete(s.byRef, ref)
		} else {
			s.byRef[ref] = open
		}
	}
}

// close takes an answer out of those that an edit may use.
func (s *answers) close(w *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.byRef[w.Message])
	rest := slices.DeleteFunc(s.byRef[w.Message], func(o *answer) bool { return o == w })
	s.count -= had - len(rest)
	if len(rest) == 0 {
		delete(s.byRef, w.Message)
	} else {
		s.byRef[w.Message] = rest
	}
}

// next is the answer that an edit of a message may be.
func (s *answers) next(message string) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.byRef[message]; len(open) > 0 {
		return open[0]
	}
	return nil
}

// done says that there is no first answer to be given any more.
func (w *answer) done() {
	w.once.Do(func() {
		close(w.given)
		if w.Message != "" {
			w.a.answers.close(w)
		}
	})
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
func (w *answer) first(ctx context.Context, c callback, files []file, into any) error {
	select {
	case <-w.turn:
	case <-w.given:
		return errGiven
	case <-ctx.Done():
		return faultOf(ctx.Err())
	}
	defer func() { w.turn <- struct{}{} }()
	if w.isGiven() {
		return errGiven
	}
	ctx, cancel := context.WithTimeout(withLane(ctx, agent.Decision), clickTimeout)
	defer cancel()
	at := discordgo.EndpointInteractionResponse(w.ID, url.PathEscape(w.Token))
	if into != nil {
		at += "?with_response=true"
	}
	err := w.a.restFiles(ctx, http.MethodPost, at, c, files, into)
	switch codeOf(err) {
	case codeAnswered, codeUnknownInteraction: // by another replica, or by an attempt of ours whose answer was lost; or nobody did in time
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
func (w *answer) later(ctx context.Context, out outgoing, files []file) error {
	if w.a.now().Sub(w.At) >= answerLife {
		return gone("the interaction is over: it takes answers for fifteen minutes")
	}
	at := discordgo.EndpointFollowupMessage(w.Application, url.PathEscape(w.Token))
	return w.a.restFiles(withLane(ctx, agent.Decision), http.MethodPost, at, out, files, nil)
}

// private shows something to the one person: as the first answer, or after it.
func (w *answer) private(ctx context.Context, s sketch) error {
	err := w.first(ctx, callback{answerMessage, s.out(flagsPrivate)}, s.Files, nil)
	if errors.Is(err, errGiven) {
		return w.later(ctx, s.out(flagsPrivate), s.Files)
	}
	return err
}

// viaClick draws a message as the answer to a click on it. False where none waits or where that failed: then the same is sent
// as a PATCH, and it does no harm if both arrive. An error refuses the message's shape.
func (a *Adapter) viaClick(ctx context.Context, message string, s sketch) (answered bool, err error) {
	for w := a.answers.next(message); w != nil; w = a.answers.next(message) {
		err := w.first(ctx, callback{answerUpdate, s.out(flagsShown)}, s.Files, nil)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errGiven):
			a.answers.close(w) // on to the next: another person clicked, too
		case refusedShape(err, s):
			return false, err
		default:
			a.answers.close(w) // it is settled by whoever took the click
			a.Logger.Info("discord: a click could not be answered with the message; editing it instead", "channel", w.Channel, "message", message, "err", err)
			return false, nil
		}
	}
	return false, nil
}
