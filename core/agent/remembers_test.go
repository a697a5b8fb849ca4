package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/standing"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// drawer is a log of the settings alone. It counts how often it is opened.
type drawer struct {
	Log
	kept   permission.Settings // before the first entry
	clicks []string            // and the clicks that are in them
	head   Head
	opened int
	fails  error
}

func (d *drawer) Load(context.Context, chat.ID) (Snapshot, []turn.Entry, Head, error) {
	d.opened++
	return Snapshot{Head: d.head, Session: turn.Session{Chat: SettingsChat, Settings: &d.kept, Clicks: d.clicks}}, nil, d.head, nil
}

func (d *drawer) Tail(context.Context, chat.ID, Head) ([]turn.Entry, Head, error) {
	d.opened++
	return nil, d.head, nil
}

func (d *drawer) Append(_ context.Context, w Write) (Written, error) {
	d.opened++
	if d.fails != nil {
		return Written{}, d.fails
	}
	var got Written
	for _, k := range w.Events {
		d.head = Head{Seq: d.head.Seq + 1, Tip: k.Op}
		got.Entries = append(got.Entries, turn.Entry{Seq: d.head.Seq, Op: string(k.Op), At: noon, Event: k.Event})
	}
	got.Head = d.head
	return got, nil
}

type ruledBy permission.Policy

func (p ruledBy) Policy(context.Context) (permission.Policy, error) { return permission.Policy(p), nil }

// ear hears what is whispered.
type ear struct {
	Platform
	heard string
}

func (e *ear) Whisper(_ context.Context, _ chat.ReplyHandle, m render.Message) error {
	e.heard += render.PlainText(m)
	return nil
}

// What is remembered of a decision: what the person who made it ticked, as they made it. Whoever ticked and is not remembered is told so,
// and nobody else is told anything; where nothing was ticked the settings are not even looked at.
func TestWhatIsRemembered(t *testing.T) {
	ticked := func(u chat.User) func(*turn.ToolCall) {
		return func(c *turn.ToolCall) { c.Ticked = &turn.Person{User: u} }
	}
	outcome := func(choices ...chat.Choice) (done []decision.Outcome) {
		for i, choice := range choices {
			done = append(done, decision.Outcome{Ask: []turn.AskID{"a-allowed", "a-running"}[i], Choice: choice, By: ana})
		}
		return done
	}
	in := chat.Clicked{Envelope: chat.Envelope{Chat: here, User: ana, Name: "Ana", Delivery: "d"}}
	before := opOf(chat.Envelope{User: ana, Delivery: "remember:a-allowed"})
	since := permission.Settings{Remembered: []permission.Remembered{{ID: "r", By: ana, Tool: board().Turn.Calls[1].Tool, Choice: permission.StandDeny}}}
	many := permission.Settings{Remembered: slices.Repeat([]permission.Remembered{{ID: "r", By: ben, Tool: permission.Tool{Server: "files", Name: "read"}}}, 10_000)}
	many.Remembered[0].By = ana // for another tool
	for name, c := range map[string]struct {
		call func(*turn.ToolCall) // what the call is beside decided by Ana
		done []decision.Outcome
		log  drawer
		want string // the standings, and what was whispered
		shut bool   // nothing is read or written
	}{
		"allowed":                           {call: ticked(ana), done: outcome(chat.AllowOnce), want: "[allow]"},
		"allowed for the chat":              {call: ticked(ana), done: outcome(chat.AllowChat), want: "[allow]"},
		"denied":                            {call: ticked(ana), done: outcome(chat.Deny), want: "[deny]"},
		"two of the same tool":              {call: ticked(ana), done: outcome(chat.AllowOnce, chat.AllowOnce), want: "[allow]"},
		"one of them was given time":        {call: ticked(ana), done: outcome(chat.AllowOnce, chat.Extend), want: "[allow]"},
		"given more time":                   {call: ticked(ana), done: outcome(chat.Extend), want: "[]", shut: true},
		"found to have happened":            {call: ticked(ana), done: outcome(chat.Happened), want: "[]", shut: true},
		"not ticked":                        {call: func(*turn.ToolCall) {}, done: outcome(chat.AllowOnce), want: "[]", shut: true},
		"ticked by another":                 {call: ticked(ben), done: outcome(chat.AllowOnce), want: "[]", shut: true},
		"not there":                         {call: ticked(ana), done: []decision.Outcome{{Ask: "a-none", Choice: chat.AllowOnce}}, want: "[]", shut: true},
		"nothing done":                      {call: ticked(ana), want: "[]", shut: true},
		"one word of several people's":      {call: func(c *turn.ToolCall) { ticked(ana)(c); c.By = ben }, done: outcome(chat.AllowOnce), want: "[]", shut: true},
		"cannot be written":                 {call: ticked(ana), done: outcome(chat.AllowOnce), log: drawer{fails: errors.New("the disk is on fire")}, want: "[]" + text.NotRemembered},
		"no room":                           {call: ticked(ana), done: outcome(chat.Deny), log: drawer{head: Head{Seq: 1}, kept: many}, want: "[ask]" + text.NotRemembered},
		"written before, and changed since": {call: ticked(ana), done: outcome(chat.AllowOnce), log: drawer{head: Head{Seq: 1}, kept: since, clicks: []string{string(before)}}, want: "[deny]"},
	} {
		t.Run(name, func(t *testing.T) {
			s, log, whispers := board(), c.log, &ear{}
			c.call(&s.Turn.Calls[1])
			c.call(&s.Turn.Calls[2])
			e := &Engine{sessions: &sessionCache{Cache: newRecent[chat.ID, fold](4)}, Config: Config{
				Log: &log, Policies: ruledBy(ruled()), Platforms: map[string]Platform{here.Platform: whispers}, Logger: slog.New(slog.DiscardHandler),
			}}
			e.remember(t.Context(), s, in, c.done)
			if shut := log.opened == 0; shut != c.shut {
				t.Errorf("the settings were opened %d times", log.opened)
			}
			now, err := e.Settings(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			standings := []string{}
			for _, r := range now.Of(ana) {
				standings = append(standings, r.Choice.String())
			}
			if got := fmt.Sprint(standings) + whispers.heard; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What is forgotten of an undone decision: what was remembered with it, and nothing else of anybody. Where that fails the person is told.
func TestWhatIsForgotten(t *testing.T) {
	tool := board().Turn.Calls[1].Tool
	with := func(id string) permission.Settings {
		return permission.Settings{Remembered: []permission.Remembered{
			{ID: id, By: ana, Tool: tool, Choice: permission.StandAllow}, {ID: "r:other", By: ana, Tool: permission.Tool{Server: "files", Name: "read"}, Choice: permission.StandDeny},
		}}
	}
	for name, c := range map[string]struct {
		choice chat.Choice
		log    drawer
		want   string // what is left, and what was whispered
		shut   bool   // nothing is read or written
	}{
		"undone":                  {choice: chat.Undo, log: drawer{head: Head{Seq: 1}, kept: with("r:a-allowed")}, want: "[r:other]"},
		"remembered another time": {choice: chat.Undo, log: drawer{head: Head{Seq: 1}, kept: with("r:before")}, want: "[r:other r:before]"},
		"cannot be written":       {choice: chat.Undo, log: drawer{head: Head{Seq: 1}, kept: with("r:a-allowed"), fails: errors.New("the disk is on fire")}, want: "[r:other r:a-allowed]" + text.NotForgotten},
		"not undone":              {choice: chat.AllowOnce, log: drawer{head: Head{Seq: 1}, kept: with("r:a-allowed")}, want: "[r:other r:a-allowed]", shut: true},
	} {
		t.Run(name, func(t *testing.T) {
			log, whispers := c.log, &ear{}
			e := &Engine{sessions: &sessionCache{Cache: newRecent[chat.ID, fold](4)}, Config: Config{
				Log: &log, Policies: ruledBy(ruled()), Platforms: map[string]Platform{here.Platform: whispers}, Logger: slog.New(slog.DiscardHandler),
			}}
			e.forget(t.Context(), chat.Clicked{Envelope: chat.Envelope{Chat: here, User: ana, Delivery: "d"}, Token: "a-allowed", Choice: c.choice})
			if shut := log.opened == 0; shut != c.shut {
				t.Errorf("the settings were opened %d times", log.opened)
			}
			now, err := e.Settings(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			left := []string{}
			for _, r := range now.Of(ana) {
				left = append(left, r.ID)
			}
			if got := fmt.Sprint(left) + whispers.heard; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What an old decision left standing is not kept once more when its call starts: it may have been ended since.
func TestKeptAgainOnlyWhileItIsFresh(t *testing.T) {
	for age, want := range map[time.Duration]int{time.Second: 1, standing.KeepWithin: 0} {
		s, log := board(), drawer{}
		c := s.Turn.Calls[1]
		c.Ticked, c.Asked, c.DecidedAt = &turn.Person{User: c.By}, true, time.Now().Add(-age)
		e := &Engine{sessions: &sessionCache{Cache: newRecent[chat.ID, fold](4)}, Config: Config{
			Log: &log, Policies: ruledBy(ruled()), Logger: slog.New(slog.DiscardHandler),
		}}
		if err := standing.KeepAgain(t.Context(), e, s, c); err != nil {
			t.Error(err)
		}
		now, err := e.Settings(t.Context())
		if got := len(now.Of(c.By)); err != nil || got != want {
			t.Errorf("%v old: %d kept, want %d; %v", age, got, want, err)
		}
	}
}
