// Package surface is what the chat surfaces of nod have in common and no platform's name belongs to: what is written once here would stand in
// each of them otherwise. It may import core/*, and no platform, library of one or store; what differs between two platforms stands in
// their own rooms, and comes in as a value or a function.
//
// # Where to start
//
// [Engine] and [Settings] are what a surface asks of the engine. What comes in is seen once ([Once]), put into [Lanes], and read as a command or
// heeded (inbound.go), with what others said before. What goes out is drawn in [Renditions], simpler where a platform refuses it, remembered
// ([Sent], [Cache]) and sent as the shared budget allows ([RateLimiter], over [HTTPClient]). text.go has what text goes through on its way into a
// platform's parts, finding.go what the doctors say.
//
// # Where a new line goes
//
// A sentence that reads the same on every platform: words.go; one that names a platform takes its name. How something is cut, joined or made
// visible: text.go. A rule about a message of core/render that two encoders need: renditions.go. A choice, its label and its style are no surface's: they
// stand in core/text's table of choices.
package surface

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Engine takes what people say and click, and knows how chats stand.
type Engine interface {
	// Accept records an inbound. A nil error means durable: acknowledge. Any other means that nothing is known to be recorded.
	Accept(context.Context, chat.Inbound) error
	// Decide records an answer. It returns an [*decision.Refusal] for one that is not taken; any other error leaves it open
	// whether it was.
	Decide(context.Context, chat.Clicked) ([]decision.Outcome, error)
	// Refuses is why a choice would certainly not be taken of this person now, or nil. It records nothing.
	Refuses(context.Context, chat.Clicked) *decision.Refusal
	// Session is a chat as the log stands now.
	Session(context.Context, chat.ID) (turn.Session, error)
	// Knows reports whether anything was ever recorded of a chat.
	Knows(context.Context, chat.ID) (bool, error)
}

// Settings are what people manage: the private panel or page, and the commands around it.
type Settings interface {
	// Panel is a view of the settings for the envelope's user; its chat is what "here" means (zero: none). An empty view, and one that is not
	// there for them, is the first one.
	Panel(ctx context.Context, env chat.Envelope, view string) (render.Panel, error)
	// Act does what they chose in a view: the token of an act or option that it offers them, with the text they filled in. It returns an
	// [*decision.Refusal] for what is not taken.
	Act(ctx context.Context, env chat.Envelope, view, token, text string) (settings.Done, error)
	// Permissions does one command: the words after "/nod" or "/nod permissions". It returns lines of plain text for that person, which may
	// hold untrusted words.
	Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error)
	// Why is the answer to "Why am I asked?" about an ask of the envelope's chat.
	Why(ctx context.Context, env chat.Envelope, ask string) (render.Details, error)
}

// Asks finds chats in which something waits for a person, whichever replica recorded it. It reads every open ask: for rare
// events only.
type Asks interface {
	Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error)
}

// Follow is which messages of a thread the bot listens to once it was mentioned there.
type Follow string

// The ways to follow. Empty is as around it, and at last FollowRequester.
const (
	FollowRequester Follow = "requester" // what the person says whom it works for
	FollowThread    Follow = "thread"    // what anybody says
	FollowMention   Follow = "mention"   // only what mentions it
)

// Unmentioned reports whether messages count that do not mention the bot. An unknown way listens to less.
func (f Follow) Unmentioned() bool { return f == FollowRequester || f == FollowThread }

// Hopeless: nothing was recorded, and nothing would be if it came again.
func Hopeless(err error) bool {
	return errors.Is(err, agent.ErrTooLong) || errors.Is(err, agent.ErrNotText) || errors.Is(err, agent.ErrEmpty) || errors.Is(err, agent.ErrFull)
}

// Asking are the sessions of chats in which something waits, those that have waited longest first.
func Asking(ctx context.Context, e Engine, chats []chat.ID) (all []turn.Session, err error) {
	for _, id := range chats {
		s, err := e.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(turn.OpenAsks(s)) > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b turn.Session) int { return turn.OpenAsks(a)[0].AskedAt.Compare(turn.OpenAsks(b)[0].AskedAt) })
	return all, nil
}

// FormOf is the call whose form for a reason, or for other arguments, somebody may fill in. say is a sentence for them where there is none, or
// where what they fill in would certainly not be taken: nobody writes for nothing.
func FormOf(ctx context.Context, e Engine, c chat.Clicked, log *slog.Logger) (call turn.ToolCall, say string) {
	s, err := e.Session(ctx, c.Chat)
	if err != nil {
		log.Warn(c.Chat.Platform+": a form could not be filled in", "chat", c.Chat, "err", err)
		return call, SayNotRead
	}
	call, _, _ = s.FindAsk(turn.AskID(c.Token))
	switch {
	case call.Status != turn.Awaiting:
		return call, SayNotOpen
	case c.Choice == chat.Edit && !turn.CanEdit(call): // a masked secret would stand in the form
		return call, text.NotEditable
	}
	if no := e.Refuses(ctx, c); no != nil {
		return call, no.Say
	}
	return call, ""
}

// Details is what a choice shows to whoever made it: why something is asked, what a card masks, which is on record before they see it, or all of
// what its token stands for, with what its card offers while it waits. say is a sentence for them where there is nothing to be shown. Without
// settings, why somebody is asked is what the details say of it.
func Details(ctx context.Context, e Engine, s Settings, c chat.Clicked, log *slog.Logger) (d render.Details, answers []render.Choice, say string) {
	var err error
	var session turn.Session
	found := true
	switch {
	case c.Choice == chat.Why && s != nil:
		d, err = s.Why(ctx, c.Envelope, c.Token)
	case c.Choice == chat.Reveal:
		var out []decision.Outcome
		out, err = e.Decide(ctx, c)
		for _, o := range out {
			if o.Hidden != nil {
				d = *o.Hidden
			}
		}
	default:
		if session, err = e.Session(ctx, c.Chat); err == nil {
			d, found = card.Details(session, c.Token)
			answers = card.Offered(session, c.Token)
		}
	}
	switch no := Refusal(err); {
	case no != nil:
		return d, nil, no.Say
	case err != nil && c.Choice == chat.Reveal:
		log.Error(c.Chat.Platform+": a click was not recorded", "chat", c.Chat, "choice", c.Choice, "err", err)
		return d, nil, SayNotRecorded
	case err != nil:
		log.Warn(c.Chat.Platform+": details could not be read", "chat", c.Chat, "choice", c.Choice, "err", err)
		return d, nil, SayNotRead
	case !found:
		return d, nil, SayNoDetails
	}
	return d, answers, ""
}

// Refusal is what [Engine.Decide] says of an answer that is not taken; nil for any other error.
func Refusal(err error) *decision.Refusal {
	no, _ := errors.AsType[*decision.Refusal](err)
	return no
}

// SayDone says that a command was done where the chat does not show it, or nothing. The engine itself says why one was not.
func SayDone(ctx context.Context, e Engine, id chat.ID, c Command) string {
	switch {
	case c.Verb == "reset":
		return SayReset
	case slices.Equal(c.Args, []string{"never"}): // it was told that this has to be said twice
	case len(c.Args) > 0: // of a chat's commands only mode has any
		if s, err := e.Session(ctx, id); err == nil && s.Mode.String() == c.Args[0] {
			return SayMode(s.Mode)
		}
	}
	return ""
}

// EndAsks ends every open ask of chats in a place that nobody can answer in any more: else their turns would wait for their deadlines, or for ever.
func EndAsks(ctx context.Context, e Engine, asking []chat.ID, d chat.Delivery, log *slog.Logger) error {
	var all []error
	for _, id := range asking {
		log.Info(id.Platform+": a place is gone while something waits there", "chat", id)
		all = append(all, e.Accept(ctx, chat.Deleted{Envelope: chat.Envelope{Delivery: d, Chat: id}, All: true}))
	}
	return errors.Join(all...)
}
