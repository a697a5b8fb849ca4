package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// many is a log of chats in each of which one call waits, and counts what is read of it.
type many struct {
	mu    sync.Mutex
	chats map[chat.ID]turn.Session
	seq   uint64
	reads int
	wants int
	fails error
	moved chan []byte
}

func chats(n int) *many {
	m := &many{chats: map[chat.ID]turn.Session{}, seq: 1, moved: make(chan []byte, 1)}
	for i := range n {
		m.ask(i, time.Unix(int64(n-i), 0))
	}
	return m
}

func idOf(i int) chat.ID { return chat.ID{Platform: "slack", Workspace: "T1", Key: fmt.Sprint(i)} }

func (m *many) ask(i int, until time.Time) {
	c := turn.ToolCall{ID: "c1", Status: turn.Awaiting, Asking: turn.Asking{Ask: turn.AskID(fmt.Sprint("ask", i)), Deadline: until}}
	m.chats[idOf(i)] = turn.Session{Chat: idOf(i), Transcript: []turn.Utterance{{Text: "long ago"}}, Turn: &turn.Turn{ID: "t1", Calls: []turn.ToolCall{c}}}
}

func (m *many) Load(_ context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	h := agent.Head{Seq: m.seq}
	return agent.Snapshot{Head: h, Session: m.chats[id]}, nil, h, m.fails
}

func (m *many) Asking(context.Context, func(chat.ID) bool) (ids []chat.ID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.chats {
		ids = append(ids, id)
	}
	return ids, nil
}

func (m *many) replicas() Replicas {
	return Replicas{
		Hear: func(context.Context) (<-chan []byte, error) { return m.moved, nil },
		Want: func(context.Context) error { m.wants++; return nil },
	}
}

// kept is a list of them that is kept until the test ends.
func (m *many) kept(t *testing.T) *List {
	t.Helper()
	l := New(m, slog.New(slog.DiscardHandler))
	if err := m.keep(t, l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (m *many) keep(t *testing.T, l *List) error {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { end(); running.Wait() })
	return l.Keep(t.Context(), life, m.replicas(), func(f func()) bool { running.Go(f); return true })
}

// With ten thousand questions each chat is read once for everybody, and judged once for a person; what changes costs one chat, whoever looks.
func TestTenThousandQuestions(t *testing.T) {
	const n = 10_000
	m := chats(n)
	l := m.kept(t)
	judged := 0
	person := func() *Look[int] {
		return NewLook[int](l, func(context.Context, chat.ID) (func(turn.Session, turn.ToolCall) bool, error) {
			return func(turn.Session, turn.ToolCall) bool { judged++; return true }, nil
		})
	}
	looks := []*Look[int]{person(), person()}
	count := func(want int) {
		t.Helper()
		for _, k := range looks {
			all, err := k.Asks(t.Context())
			if err != nil || len(all) != want {
				t.Fatalf("%d questions, want %d: %v", len(all), want, err)
			}
			for i := range all[1:] {
				if all[i].Wait.Deadline.After(all[i+1].Wait.Deadline) {
					t.Fatal("an older deadline comes later")
				}
			}
			if all[0].Chat.Transcript != nil {
				t.Error("what was said long ago is kept")
			}
		}
	}
	count(n)
	count(n)
	if m.reads != n || judged != 2*n {
		t.Errorf("%d chats were read and %d judged, want %d and %d", m.reads, judged, n, 2*n)
	}
	moved := l.Watch(t.Context())
	m.mu.Lock()
	s := m.chats[idOf(7)]
	s.Turn = nil
	m.chats[idOf(7)], m.seq = s, 2
	m.mu.Unlock()
	m.moved <- []byte(idOf(7).String())
	<-moved
	count(n - 1)
	if m.reads != n+1 || judged != 2*n {
		t.Errorf("after one answer %d chats were read and %d judged", m.reads, judged)
	}
}

// What cannot be read is not taken for nothing that waits; whoever looks next tries again.
func TestWhatCannotBeRead(t *testing.T) {
	m := chats(3)
	m.fails = errors.New("down")
	l := New(m, slog.New(slog.DiscardHandler))
	if err := l.Keep(t.Context(), t.Context(), m.replicas(), func(func()) bool { return true }); err == nil {
		t.Fatal("an inbox that could not be read is kept")
	}
	m.fails = nil
	if err := m.keep(t, l); err != nil || len(l.chats) != 3 {
		t.Fatalf("%d: %v", len(l.chats), err)
	}
	m.fails = agent.ErrVersion // of a newer release: left out
	if err := l.read(t.Context(), idOf(1)); err != nil {
		t.Error(err)
	}
}

// Memory has a bound: what is over it waits in its own place alone.
func TestMoreChatsThanAreKept(t *testing.T) {
	m := chats(5)
	l := New(m, slog.New(slog.DiscardHandler))
	l.most = 3
	if err := m.keep(t, l); err != nil || len(l.chats) != 3 || m.reads != 3 {
		t.Fatalf("%d chats, %d reads: %v", len(l.chats), m.reads, err)
	}
	m.ask(9, time.Time{})
	moved := m.reads
	if err := l.read(t.Context(), idOf(9)); err != nil || len(l.chats) != 3 || m.reads != moved+1 {
		t.Errorf("one more: %d chats, %v", len(l.chats), err)
	}
}

// A turn that somebody has stopped waits for nobody.
func TestWhatIsStopped(t *testing.T) {
	m := chats(2)
	m.chats[idOf(0)].Turn.Stopped = &turn.Person{Name: "Ana"}
	if l := m.kept(t); len(l.chats) != 1 || l.chats[idOf(1)] == nil {
		t.Errorf("%d chats wait", len(l.chats))
	}
}

// What can be answered for ever stands last.
func TestWhatIsParkedComesLast(t *testing.T) {
	m := chats(2)
	m.ask(9, time.Time{})
	k := NewLook[int](m.kept(t), func(context.Context, chat.ID) (func(turn.Session, turn.ToolCall) bool, error) {
		return func(turn.Session, turn.ToolCall) bool { return true }, nil
	})
	all, err := k.Asks(t.Context())
	if err != nil || len(all) != 3 || all[2].Wait.Ask != "ask9" {
		t.Errorf("%+v %v", all, err)
	}
}

// Nobody keeps a list, or has the others tell what moves, that nobody looks at. Whoever looks again begins anew.
func TestWhatNobodyLooksAt(t *testing.T) {
	m := chats(3)
	synctest.Test(t, func(t *testing.T) {
		m.moved = make(chan []byte)
		l := m.kept(t)
		looking, stop := context.WithCancel(t.Context())
		l.Watch(looking)
		time.Sleep(5*lookAll + time.Second) // of the bubble's clock
		synctest.Wait()
		if !l.Kept() || m.wants != 6 || m.reads != 18 {
			t.Errorf("while somebody follows it: kept %t, wanted %d times, %d reads", l.Kept(), m.wants, m.reads)
		}
		stop()
		time.Sleep(2 * lookAll)
		synctest.Wait()
		if l.Kept() || len(l.chats) > 0 || m.wants > 7 {
			t.Errorf("nobody looks: kept %t, %d chats, wanted %d times", l.Kept(), len(l.chats), m.wants)
		}
		if err := m.keep(t, l); err != nil || len(l.chats) != 3 {
			t.Errorf("looked at again: %d chats, %v", len(l.chats), err)
		}
	})
}
