package surface

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// told is an engine and settings that say what a test has them say.
type told struct {
	Engine
	Settings
	sessions map[chat.ID]turn.Session
	err      error // of everything
	no       *decision.Refusal
	shows    []decision.Outcome
}

func (e told) Session(_ context.Context, id chat.ID) (turn.Session, error) {
	return e.sessions[id], e.err
}

func (e told) Refuses(context.Context, chat.Clicked) *decision.Refusal { return e.no }

func (e told) Decide(context.Context, chat.Clicked) ([]decision.Outcome, error) {
	return e.shows, e.err
}

func (e told) Why(context.Context, chat.Envelope, string) (render.Details, error) {
	return render.Details{Title: "why"}, e.err
}

// asked is a chat in which a call waits, or did.
func asked(status turn.Status, args string) map[chat.ID]turn.Session {
	c := turn.ToolCall{ID: "c", Args: []byte(args), Status: status, Asking: turn.Asking{Ask: "a", Asks: []turn.AskID{"a"}, Asked: true}}
	return map[chat.ID]turn.Session{{}: {Mode: permission.ModeNever, Turn: &turn.Turn{ID: "t", Calls: []turn.ToolCall{c}}}}
}

var errDown = errors.New("down")

func TestWhoseFormIsOpened(t *testing.T) {
	t.Parallel()
	no := &decision.Refusal{Say: "Only Ben may."}
	for name, x := range map[string]struct {
		e      told
		choice chat.Choice
		ask    string
		want   string
	}{
		"other arguments":                         {told{sessions: asked(turn.Awaiting, "{}")}, chat.Edit, "a", ""},
		"a reason":                                {told{sessions: asked(turn.Awaiting, "{}")}, chat.DenyReason, "a", ""},
		"the form would show a secret":            {told{sessions: asked(turn.Awaiting, `{"password":"hunter2hunter2"}`)}, chat.Edit, "a", text.NotEditable},
		"for a reason it does not":                {told{sessions: asked(turn.Awaiting, `{"password":"hunter2hunter2"}`)}, chat.DenyReason, "a", ""},
		"somebody allowed it meanwhile":           {told{sessions: asked(turn.Allowed, "{}")}, chat.DenyReason, "a", SayNotOpen},
		"of another call":                         {told{sessions: asked(turn.Awaiting, "{}")}, chat.DenyReason, "b", SayNotOpen},
		"it is not theirs, and they write little": {told{sessions: asked(turn.Awaiting, "{}"), no: no}, chat.DenyReason, "a", no.Say},
		"the log is not reached":                  {told{sessions: asked(turn.Awaiting, "{}"), err: errDown}, chat.DenyReason, "a", SayNotRead},
	} {
		call, say := FormOf(t.Context(), x.e, chat.Clicked{Choice: x.choice, Token: x.ask}, slog.New(slog.DiscardHandler))
		if say != x.want || say == "" && call.ID != "c" {
			t.Errorf("%s: %q of %q", name, say, call.ID)
		}
	}
}

func TestWhatAChoiceShows(t *testing.T) {
	t.Parallel()
	here := asked(turn.Awaiting, "{}")
	hidden := []decision.Outcome{{Hidden: &render.Details{Title: "hidden"}}, {}}
	no := &decision.Refusal{Say: "Only Ben may."}
	for name, x := range map[string]struct {
		e        told
		settings bool
		choice   chat.Choice
		token    string
		title    string
		answers  bool
		say      string
	}{
		"why":                               {told{sessions: here}, true, chat.Why, "a", "why", false, ""},
		"why, where there are no rules":     {told{sessions: here}, false, chat.Why, "t", text.LabelViewDetails, false, ""},
		"all of a turn":                     {told{sessions: here}, true, chat.ViewDetail, "t", text.LabelViewDetails, false, ""},
		"a call that waits has answers":     {told{sessions: here}, true, chat.ViewDetail, "a", "", true, ""},
		"what is no longer kept":            {told{sessions: here}, true, chat.ViewDetail, "b", "", false, SayNoDetails},
		"what a card masks":                 {told{sessions: here, shows: hidden}, true, chat.Reveal, "a", "hidden", false, ""},
		"what it masks is not theirs":       {told{sessions: here, err: no}, true, chat.Reveal, "a", "", false, no.Say},
		"that they looked is not on record": {told{sessions: here, shows: hidden, err: errDown}, true, chat.Reveal, "a", "", false, SayNotRecorded},
		"the log is not reached":            {told{sessions: here, err: errDown}, true, chat.ViewDetail, "a", "", false, SayNotRead},
		"the rules are not reached":         {told{sessions: here, err: errDown}, true, chat.Why, "a", "", false, SayNotRead},
	} {
		var s Settings
		if x.settings {
			s = x.e
		}
		d, answers, say := Details(t.Context(), x.e, s, chat.Clicked{Choice: x.choice, Token: x.token}, slog.New(slog.DiscardHandler))
		if say != x.say || len(answers) > 0 != x.answers || x.title != "" && d.Title != x.title {
			t.Errorf("%s: %q, %v, %q", name, d.Title, labels(answers), say)
		}
	}
}

func TestWhatIsSaidOfACommand(t *testing.T) {
	t.Parallel()
	here := asked(turn.Awaiting, "{}")
	for command, x := range map[string]struct {
		e    told
		want string
	}{
		"reset":          {told{}, SayReset},
		"stop":           {told{sessions: here}, ""},
		"mode":           {told{sessions: here}, ""}, // the engine says how it is used
		"mode never":     {told{sessions: here}, ""}, // as it is already, but it has to be said twice
		"mode never yes": {told{sessions: here}, SayMode(permission.ModeNever)},
		"mode always":    {told{sessions: here}, ""}, // it was refused
		"mode tool":      {told{err: errDown}, ""},
	} {
		c, _ := ParseCommand(command)
		if got := SayDone(t.Context(), x.e, chat.ID{}, c); got != x.want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestWhatWaitsLongestIsFirst(t *testing.T) {
	t.Parallel()
	at := func(minute int) turn.Session {
		s := asked(turn.Awaiting, "{}")[chat.ID{}]
		s.Turn.Calls[0].AskedAt = time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)
		return s
	}
	late, early, over := chat.ID{Key: "late"}, chat.ID{Key: "early"}, chat.ID{Key: "over"}
	e := told{sessions: map[chat.ID]turn.Session{late: at(2), early: at(1), over: asked(turn.Allowed, "{}")[chat.ID{}]}}
	got, err := Asking(t.Context(), e, []chat.ID{late, early, over})
	if err != nil || len(got) != 2 || turn.OpenAsks(got[0])[0].AskedAt.Minute() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	e.err = errDown // a list with some left out would say that nothing else waits
	if got, err := Asking(t.Context(), e, []chat.ID{late}); err == nil {
		t.Errorf("%v of a log that is not reached", got)
	}
}

func TestHopelessOrNot(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{agent.ErrTooLong: true, agent.ErrNotText: true, agent.ErrEmpty: true, agent.ErrFull: true, errDown: false, agent.ErrNotDurable: false} {
		if got := Hopeless(fmt.Errorf("accept: %w", err)); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	for f, want := range map[Follow]bool{FollowRequester: true, FollowThread: true, FollowMention: false, "": false, "all": false} {
		if got := f.Unmentioned(); got != want {
			t.Errorf("%q: %v", f, got)
		}
	}
}
