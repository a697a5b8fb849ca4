package replicas

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// leaning is a message before which people may have said more.
func leaning(w *World, words string, since chat.MessageRef) chat.Said {
	in := w.SaidBy(Ana, words)
	in.Earlier = &chat.Earlier{Since: since}
	return in
}

// contexts are what the model was told of others with each message of the turn that it was asked about last.
func contexts(w *World) (all []string) {
	for _, u := range w.Model.Latest().Talk {
		for _, q := range u.Context {
			all = append(all, q.Name+": "+q.Text)
		}
	}
	return all
}

// However long the platform takes to tell what was said before, the message is on record and its sign stands; the model waits for it. Whoever
// takes over asks again, and what was read once is not asked for again.
func TestWhatWasSaidBeforeIsReadOnceItIsOnRecord(t *testing.T) {
	both(t, Options{Parallel: true, Replicas: 2, Lease: brief}, func(w *World) {
		var asked atomic.Int32
		w.Platform.Earlier(func(ctx context.Context, before chat.MessageRef, e chat.Earlier) ([]chat.Quote, error) {
			if asked.Add(1) == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []chat.Quote{{By: Ben, Name: "Ben", Text: strings.Join([]string{"before", string(before), "since", string(e.Since)}, " ")}}, nil
		})
		w.Model.When("what", Calls(Call("write", `{}`)), Says("It is cron."))
		in := leaning(w, "what do you think?", "p0")
		w.Deliver(w.Replicas[0], in)
		w.Shows(0, "Working on it")
		w.Until("it is asked", func() bool { return asked.Load() == 1 })
		equal(w, "the model is asked", len(w.Model.Heard()), 0)
		w.Replicas[0].Kill()
		w.Asks("write")
		equal(w, "the model reads", strings.Join(contexts(w), "|"), "Ben: before "+string(in.Message)+" since p0")
		w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write")
		has(w, "the message", w.Over(0), "It is cron.")
		equal(w, "asked", asked.Load(), 2)
		equal(w, "messages", len(w.Platform.Messages(Room)), 1)
	})
}

// What cannot be read is named to the model, which answers without it.
func TestWhatWasSaidBeforeCannotBeRead(t *testing.T) {
	w := New(t, Options{})
	var asked atomic.Int32
	w.Platform.Earlier(func(context.Context, chat.MessageRef, chat.Earlier) ([]chat.Quote, error) {
		asked.Add(1)
		return nil, Busy(1 << 40).Err
	})
	w.Model.When("what", Says("I cannot see it."))
	w.Deliver(w.Replicas[0], leaning(w, "what do you think?", ""))
	has(w, "the message", w.Over(0), "I cannot see it.", text.Unheard)
	equal(w, "the model reads", strings.Join(contexts(w), "|"), "nod: "+text.EarlierUnread)
	equal(w, "asked", asked.Load(), 1)
}

// Stop reaches a turn that waits for what was said before, and the next message is read with what is its own.
func TestStopWhileReadingWhatWasSaidBefore(t *testing.T) {
	w := New(t, Options{})
	w.Platform.Earlier(func(ctx context.Context, _ chat.MessageRef, e chat.Earlier) ([]chat.Quote, error) {
		if e.Since == "" {
			<-ctx.Done()
			return nil, errors.New("given up")
		}
		return []chat.Quote{{By: Ben, Name: "Ben", Text: "it is cron"}}, nil
	})
	w.Model.When("so", Says("Stop cron."))
	first := leaning(w, "what do you think?", "")
	w.Deliver(w.Replicas[0], first)
	w.Shows(0, "Working on it")
	w.Press(w.Replicas[0], Ana, chat.Stop, "")
	w.Over(0)
	equal(w, "the model is asked", len(w.Model.Heard()), 0)
	w.Deliver(w.Replicas[0], leaning(w, "so?", first.Message))
	has(w, "the message", w.Over(1), "Stop cron.")
	equal(w, "the model reads", strings.Join(contexts(w), "|"), "Ben: it is cron")
}
