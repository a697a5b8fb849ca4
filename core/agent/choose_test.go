package agent

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// badLog answers as a test says, and counts what it is asked.
type badLog struct {
	Log
	loads, appends int
	load           func(n int) error
	append         func(n int) (Written, error)
}

func (l *badLog) Load(context.Context, chat.ID) (Snapshot, []turn.Entry, Head, error) {
	l.loads++
	if l.load == nil {
		return Snapshot{}, nil, Head{}, nil
	}
	return Snapshot{}, nil, Head{}, l.load(l.loads)
}

func (l *badLog) Append(context.Context, Write) (Written, error) {
	l.appends++
	if l.append == nil {
		return Written{}, nil
	}
	return l.append(l.appends)
}

// A choice is written against what is newest, and what the log says is not hidden from whoever chose.
func TestChoosing(t *testing.T) {
	boom, never := errors.New("the disk is on fire"), errors.New("not this")
	from := func(first int) func(int) error {
		return func(n int) error {
			if n >= first {
				return boom
			}
			return nil
		}
	}
	fails := func(err error) func(int) (Written, error) {
		return func(int) (Written, error) { return Written{}, err }
	}
	once := func(err error, got Written) func(int) (Written, error) {
		return func(n int) (Written, error) {
			if n == 1 {
				return got, err
			}
			return Written{}, nil
		}
	}
	stop := []turn.Event{turn.StopAsked{Turn: "t1", By: ana}}
	for name, c := range map[string]struct {
		log            badLog
		events         []turn.Event
		refusal        error
		want           error
		made           int
		loads, appends int
	}{
		"written":                      {events: stop, made: 1, loads: 1, appends: 1},
		"repeated, and not in it":      {log: badLog{append: once(nil, Written{Repeated: true})}, events: stop, made: 1, loads: 1, appends: 1},
		"cannot be read":               {log: badLog{load: from(1)}, events: stop, want: boom, loads: 1},
		"refused":                      {refusal: never, want: never, loads: 2},
		"refused, with events":         {events: stop, refusal: never, want: never, loads: 2},
		"refused, cannot be read anew": {log: badLog{load: from(2)}, refusal: never, want: boom, loads: 2},
		"nothing to write":             {loads: 2},
		"cannot be written":            {log: badLog{append: fails(boom)}, events: stop, want: boom, loads: 1, appends: 1},
		"somebody was first":           {log: badLog{append: once(ErrStale, Written{})}, events: stop, made: 1, loads: 1, appends: 2},
		"somebody always is":           {log: badLog{append: fails(ErrStale)}, events: stop, want: ErrStale, loads: 1, appends: 51},
		"first, and much was missed":   {log: badLog{append: once(ErrStale, Written{Missing: true})}, events: stop, made: 1, loads: 2, appends: 2},
		"first, and cannot be read":    {log: badLog{append: once(ErrStale, Written{Missing: true}), load: from(2)}, events: stop, want: boom, loads: 2, appends: 1},
		"another history":              {log: badLog{append: once(ErrRewound, Written{})}, events: stop, made: 1, loads: 2, appends: 2},
		"another one each time":        {log: badLog{append: fails(ErrRewound)}, events: stop, want: ErrRewound, loads: 51, appends: 51},
		"another, and cannot be read":  {log: badLog{append: once(ErrRewound, Written{}), load: from(2)}, events: stop, want: boom, loads: 2, appends: 1},
		"written, and cannot be read":  {log: badLog{append: once(nil, Written{Missing: true}), load: from(2)}, events: stop, want: boom, made: 1, loads: 2, appends: 1},
	} {
		log := c.log
		e := &Engine{Config: Config{Log: &log, Logger: slog.New(slog.DiscardHandler)}, sessions: &sessionCache{Cache: newRecent[chat.ID, fold](4)}, rewound: newRecent[chat.ID, time.Time](4)}
		by := chat.Envelope{Chat: here, User: ana, Delivery: "d"}
		_, made, _, err := e.choose(t.Context(), by, nil, func(turn.Session) ([]turn.Event, error) { return c.events, c.refusal })
		if !errors.Is(err, c.want) || len(made) != c.made || log.loads != c.loads || log.appends != c.appends {
			t.Errorf("%s: made %d, read %d times and written %d: %v", name, len(made), log.loads, log.appends, err)
		}
	}
}
