package replicas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// The small forms of what tests/tools/bench measures of a busy workspace: rows P19, P23 and P24.

// roomOf is one of many chats.
func roomOf(i int) chat.ID {
	return chat.ID{Platform: Room.Platform, Workspace: Room.Workspace, Key: fmt.Sprint("room", i)}
}

// inRoom is a message of Ana in one of many chats.
func inRoom(w *World, i int, text string) chat.Said {
	in := w.SaidBy(Ana, text)
	in.Chat = roomOf(i)
	w.Tools.In(in.Chat)
	return in
}

// Many people are asked, and all replicas are killed. What fell due meanwhile expires once, and everything else can still be decided; of two
// opposite clicks on it exactly one counts, and the other person is told.
func TestManyAsksOverARestart(t *testing.T) {
	t.Parallel()
	const asks, overdue = 60, 20
	w := New(t, Options{Parallel: true, Backend: Lightest, Replicas: 3, Lease: 10 * time.Second}) // on a slow machine, too, nobody loses one
	short(w, "send")
	w.Model.When("soon", Calls(Call("send", `{}`)), Says("Too bad."))
	w.Model.When("go", Calls(Call("write", `{}`)), Says("I see."))
	for i := range asks {
		w.Deliver(w.Replicas[i%3], inRoom(w, i, "go"))
	}
	for i := range overdue {
		w.Deliver(w.Replicas[i%3], inRoom(w, asks+i, "soon"))
	}
	buttons := make([]Button, asks)
	for i := range buttons {
		w.Until("the question is there", func() (ok bool) { buttons[i], ok = w.Button(roomOf(i), chat.AllowOnce, "write"); return ok })
	}
	for _, r := range w.Replicas {
		r.Kill()
	}
	living := []*Replica{w.Start(), w.Start()}
	var clicking sync.WaitGroup
	var allowed, denied atomic.Int32
	for i, b := range buttons {
		clicks := []chat.Clicked{w.Click(Ana, b), w.Click(Root, b)}
		clicks[1].Choice = chat.Deny
		var at sync.WaitGroup
		for j, c := range clicks {
			at.Go(func() {
				for errors.Is(living[j].Engine.Accept(context.Background(), c), ErrLine) { // as a platform does
				}
			})
		}
		clicking.Go(func() {
			at.Wait()
			a, d := w.Platform.Whispered(clicks[0].Reply.Key), w.Platform.Whispered(clicks[1].Reply.Key)
			switch {
			case a == "" && strings.Contains(d, "Already allowed once by Ana"):
				allowed.Add(1)
			case d == "" && strings.Contains(a, "Already denied by Root"):
				denied.Add(1)
			default:
				w.Errorf("%s: Ana was told %q, Root was told %q", roomOf(i), a, d)
			}
		})
	}
	clicking.Wait()
	for i := range asks + overdue {
		w.Until("it is over", func() bool {
			m := w.Platform.Messages(roomOf(i))
			return len(m) == 1 && m[0].Now().State == render.Done
		})
	}
	equal(w, "decided", allowed.Load()+denied.Load(), asks)
	equal(w, "runs", w.Tools.Count("write"), int(allowed.Load()))
	for i := range overdue {
		entries, err := living[0].Gate.History(context.Background(), roomOf(asks+i))
		if err != nil {
			t.Fatal(err)
		}
		expired := 0
		for _, e := range entries {
			if _, ok := e.Event.(turn.Expired); ok {
				expired++
			}
		}
		equal(w, roomOf(asks+i).Key+": expired", expired, 1)
	}
}

// lossy is a log of which one answer of twenty is lost on its way back.
type lossy struct {
	*Gate
	n *atomic.Int64
}

func (l lossy) Append(ctx context.Context, in agent.Write) (agent.Written, error) {
	got, err := l.Gate.Append(ctx, in)
	if err == nil && l.n.Add(1)%20 == 0 {
		return agent.Written{}, ErrLine
	}
	return got, err
}

// Messages that arrive one to four times, in another order, at any of three replicas that lose one answer of Redis in twenty: none is lost, and
// the model reads none twice.
func TestDeliveriesThatComeAgain(t *testing.T) {
	const rooms, each = 40, 3
	var n atomic.Int64
	w := New(t, Options{Backend: Lightest, Replicas: 3, Lease: 10 * time.Second, Engine: func(c *agent.Config) { c.Log = lossy{c.Log.(*Gate), &n} }})
	var arriving []chat.Said
	for i := range rooms {
		for j := range each {
			word := fmt.Sprintf("word-%d-%d.", i, j)
			in := inRoom(w, i, word)
			for range 1 + rand.IntN(4) {
				arriving = append(arriving, in)
			}
		}
	}
	rand.Shuffle(len(arriving), func(i, j int) { arriving[i], arriving[j] = arriving[j], arriving[i] })
	var deliveries sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, in := range arriving {
		slots <- struct{}{}
		deliveries.Go(func() {
			defer func() { <-slots }()
			for w.Replicas[rand.IntN(3)].Engine.Accept(context.Background(), in) != nil { // as a platform does
			}
		})
	}
	deliveries.Wait()
	for i := range rooms {
		read := "" // those that came while a turn was under way are read together
		w.Until("all is read", func() bool {
			s, err := w.Replicas[0].Engine.Session(context.Background(), roomOf(i))
			read = ""
			for _, u := range talk.Of(s) {
				if u.Role == turn.RoleUser {
					read += u.Text + " "
				}
			}
			return err == nil && s.Turn == nil && len(s.Waiting) == 0 && strings.Count(read, "word") >= each
		})
		for j := range each {
			word := fmt.Sprintf("word-%d-%d.", i, j)
			equal(w, "the model read "+word, strings.Count(read, word), 1)
		}
	}
}

// Somebody who asks in ever more chats at once waits for their own answers, and is told so; others do not wait for them.
func TestAFloodSlowsWhoSendsIt(t *testing.T) {
	const most, asked = 3, 8
	w := New(t, Options{Engine: func(c *agent.Config) { c.Replying = most }})
	var writing, peak atomic.Int32
	gate := w.Latch()
	w.Model.When("flood", func(h Heard) (agent.Reply, error) {
		if n := writing.Add(1); n > peak.Load() {
			peak.Store(n)
		}
		defer writing.Add(-1)
		select {
		case <-gate.C():
		case <-h.Ctx.Done():
		}
		return Says("An answer.")(h)
	})
	for i := range asked {
		w.Deliver(w.Replicas[0], inRoom(w, i, "flood"))
	}
	waiting := func() (n int) {
		for i := range asked {
			for _, m := range w.Platform.Messages(roomOf(i)) {
				if strings.Contains(render.PlainText(m.Now()), "Waiting: 3 other answers to the same person are being written.") {
					n++
				}
			}
		}
		return n
	}
	w.Until("the others wait, and it is said", func() bool { return writing.Load() == most && waiting() == asked-most })
	w.Say(w.Replicas[0], Ben, "hello")
	has(w, "another person's message", w.Over(0), "All done.")
	gate.Open()
	for i := range asked {
		w.Until("it is answered", func() bool {
			m := w.Platform.Messages(roomOf(i))
			return len(m) == 1 && strings.Contains(render.PlainText(m[0].Now()), "An answer.")
		})
	}
	if n := peak.Load(); n != most {
		t.Errorf("%d answers were written at once for one person", n)
	}
}
