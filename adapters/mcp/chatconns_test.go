package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// inChat calls a tool in a chat.
func inChat(t *testing.T, m *Servers, chat, name, args string) (string, error) {
	t.Helper()
	r, err := m.Call(within(t), tokenIn(t, chat, spec(t, m, "files", name).Tool, args), nil)
	return r.Text, err
}

// says fails the test where a call in a chat gives something else.
func says(t *testing.T, m *Servers, chat, name, args, want string) {
	t.Helper()
	if got, err := inChat(t, m, chat, name, args); err != nil || got != want {
		t.Errorf("%s in chat %s: %q, %v; want %q", name, chat, got, err, want)
	}
}

// What a server keeps for one chat no other chat sees: a page that is open, a transaction, a thought.
func TestOneChatDoesNotSeeAnothers(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, _ *logged) {
		if !strings.Contains(t.Name(), "stdio") && !strings.HasSuffix(t.Name(), "http_legacy") {
			for _, chat := range []string{"ana", "ben"} { // without sessions a server cannot keep anything for one caller
				says(t, m, chat, "echo", `{}`, "{}")
			}
			if n := len(m.byName["files"].chatConns); n > 0 {
				t.Errorf("%d connections beside the one that does for all", n)
			}
			return
		}
		says(t, m, "ana", "keep", `{"text":"Ana's page"}`, "kept")
		says(t, m, "ben", "recall", `{}`, "nothing is kept")
		says(t, m, "ben", "keep", `{"text":"Ben's page"}`, "kept")
		says(t, m, "ana", "recall", `{}`, "Ana's page")
		says(t, m, "ben", "recall", `{}`, "Ben's page")
	})
}

// Another chat's session may end, and the tools be read on a new one: whoever has a session keeps it.
func TestAnothersCrashLeavesASessionAlone(t *testing.T) {
	m := start(t, map[string]Server{"files": stdio(ledger(t))})
	says(t, m, "ben", "recall", `{}`, "nothing is kept")
	says(t, m, "ana", "keep", `{"text":"Ana's page"}`, "kept")
	old := connOf(m)
	if _, err := inChat(t, m, "ben", "crash", `{}`); err == nil {
		t.Fatal("it did not crash")
	}
	eventually(t, m, "files", func() bool { return up(m, "files")() && connOf(m) != old })
	says(t, m, "ana", "recall", `{}`, "Ana's page")
	says(t, m, "ben", "recall", `{}`, "nothing is kept")
	says(t, m, "ana", "recall", `{}`, "Ana's page")
}

func TestASharedSessionIsTheOperatorsWord(t *testing.T) {
	cfg := stdio(ledger(t))
	cfg.Shared = true
	m := start(t, map[string]Server{"files": cfg})
	says(t, m, "ana", "keep", `{"text":"for everybody"}`, "kept")
	says(t, m, "ben", "recall", `{}`, "for everybody")
}

// While another chat's call runs on the same server, a form still reaches the person whose call it is about.
func TestAFormReachesItsPersonBesideAnotherChatsCall(t *testing.T) {
	l, log := ledger(t), &logged{}
	m := legacyStart(t, log, map[string]Server{"files": stdio(l)})
	ana, idle := newPerson(), newPerson()
	slow, elicit := spec(t, m, "files", "slow").Tool, spec(t, m, "files", "elicit").Tool
	begin := func(chat string, p *person, tok agent.RunToken) <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			r, err := m.run(within(t), tok, p.ask, nil)
			done <- outcome{r, err}
		}()
		return done
	}
	waits := begin("ben", idle, tokenIn(t, "ben", slow, `{}`))
	waitFor(t, func() bool { return l.Count("slow", "began") == 1 })
	ana.answer <- accept(`{"branch":"main"}`)
	if got := receive(t, "outcome", begin("ana", ana, tokenIn(t, "ana", elicit, branchForm))); got.err != nil || !strings.HasPrefix(got.Text, "accept") {
		t.Errorf("%+v\n%s", got, log)
	}
	if w := receive(t, "question", ana.asked); w.Message != "Which branch?" || len(idle.asked) != 0 {
		t.Errorf("asked %+v; the other person %d times", w, len(idle.asked))
	}
	m.byName["files"].lose(connOf(m), errClosed) // the slow one ends
	_ = m.Close()
	receive(t, "outcome", waits)
}

// There is room for so many chats; one that does nothing makes room for another.
func TestSessionsAreBounded(t *testing.T) {
	l := ledger(t)
	s := mcpserver.New("tools", l)
	m := start(t, map[string]Server{"files": {URL: s.ServeHTTP(t, stateful...).URL}})
	slow := spec(t, m, "files", "slow").Tool
	done := make(chan error, maxChatConns+1)
	for i := range maxChatConns + 1 {
		go func() {
			_, err := m.Call(within(t), tokenIn(t, fmt.Sprint(i), slow, `{}`), nil)
			done <- err
		}()
	}
	waitFor(t, func() bool { return l.Count("slow", "began") == maxChatConns+1 })
	if _, err := inChat(t, m, "one more", "recall", `{}`); !errors.Is(err, agent.ErrNotRun) || !strings.Contains(err.Error(), "at work for 17 chats already") {
		t.Errorf("one more: %v", err)
	}
	for _, chat := range []string{"0", "1"} { // whoever has one keeps it, and needs no other's
		says(t, m, chat, "recall", `{}`, "nothing is kept")
	}
	s.Release()
	for range maxChatConns + 1 {
		if err := receive(t, "outcome", done); err != nil {
			t.Error(err)
		}
	}
	says(t, m, "one more", "recall", `{}`, "nothing is kept")
}

// A session that nobody uses ends, and so does what the server kept for it.
func TestAnIdleSessionEnds(t *testing.T) {
	p := quick
	p.idle = time.Millisecond
	m := startWith(t, p, nil, map[string]Server{"files": stdio(ledger(t))})
	says(t, m, "first", "recall", `{}`, "nothing is kept")
	says(t, m, "ana", "keep", `{"text":"a page"}`, "kept")
	files := m.byName["files"]
	waitFor(t, func() bool {
		files.mu.Lock()
		defer files.mu.Unlock()
		return len(files.chatConns) == 0
	})
	says(t, m, "ana", "recall", `{}`, "nothing is kept")
}

// Tools that changed without a word are called all the same, once they were approved as they are now.
func TestASessionOfItsOwnLearnsOfAChange(t *testing.T) {
	p := quick
	p.refresh = 10 * time.Millisecond
	s := mcpserver.New("tools", ledger(t))
	h := s.ServeHTTP(t, stateful...)
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet { // a server without a stream tells nothing
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return r.Method == http.MethodGet
	})
	m := startWith(t, p, nil, map[string]Server{"files": {URL: h.URL}})
	old := spec(t, m, "files", "mutable").Tool
	says(t, m, "first", "recall", `{}`, "nothing is kept")
	says(t, m, "ana", "recall", `{}`, "nothing is kept")
	s.Change()
	eventually(t, m, "files", func() bool { return spec(t, m, "files", "mutable").Tool != old })
	if _, err := inChat(t, m, "ana", "mutable", `{}`); err != nil {
		t.Error(err)
	}

	// The server is another now, that does not know the session.
	files := m.byName["files"]
	files.mu.Lock()
	stale := files.chatConns[tokenIn(t, "ana", old, `{}`).Chat()].conn.session()
	files.mu.Unlock()
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Header.Get("Mcp-Session-Id") == stale:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, noSession)
		default:
			return false
		}
		return true
	})
	old = spec(t, m, "files", "mutable").Tool
	s.Change()
	eventually(t, m, "files", func() bool { return spec(t, m, "files", "mutable").Tool != old })
	if _, err := inChat(t, m, "ana", "mutable", `{}`); err != nil {
		t.Error(err)
	}
}

// A tool runs in the definition that was approved, also where only this chat's session shows another.
func TestASessionOfItsOwnIsLookedAtToo(t *testing.T) {
	l := ledger(t)
	m := start(t, map[string]Server{"files": stdio(l)})
	old := spec(t, m, "files", "mutable").Tool
	says(t, m, "first", "recall", `{}`, "nothing is kept")
	says(t, m, "ana", "keep", `{"text":"Ana's page"}`, "kept")
	if _, err := inChat(t, m, "ana", "change", `{}`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { // what a server announces may come after its answer
		s := m.byName["files"]
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.chatConns[tokenIn(t, "ana", old, `{}`).Chat()].conn
		return c.announce.Load() != c.read.Load()
	})
	_, err := m.Call(within(t), tokenIn(t, "ana", old, `{}`), nil)
	if !errors.Is(err, agent.ErrNotRun) || l.Count("mutable", "did") != 0 {
		t.Errorf("%v, done %d times", err, l.Count("mutable", "did"))
	}
	says(t, m, "ana", "recall", `{}`, "Ana's page")
}

// The tools of a chat's session are read when they may have changed, and not at each call. Whoever gives up meanwhile loses nothing that stands
// there; where no session can be had, that is said.
func TestASessionOfItsOwnIsReadWhenItMust(t *testing.T) {
	h := mcpserver.New("tools", ledger(t)).ServeHTTP(t, stateful...)
	m := start(t, map[string]Server{"files": {URL: h.URL}})
	says(t, m, "first", "recall", `{}`, "nothing is kept")
	standing(t, m) // else it reads, too, below
	says(t, m, "ana", "keep", `{"text":"Ana's page"}`, "kept")
	files, recall := m.byName["files"], spec(t, m, "files", "recall").Tool
	ana := tokenIn(t, "ana", recall, `{}`)
	files.mu.Lock()
	c := files.chatConns[ana.Chat()].conn
	files.mu.Unlock()
	waitFor(t, func() bool { return c.announce.Load() > 0 }) // its stream stands
	says(t, m, "ana", "recall", `{}`, "Ana's page")
	asked := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(within(t))
	h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		_, list := idOf(bodyOf(r), "tools/list")
		if list {
			asked <- struct{}{}
			<-r.Context().Done()
		}
		return list
	})
	says(t, m, "ana", "recall", `{}`, "Ana's page")
	c.toolsChanged()
	done := make(chan error, 1)
	go func() { _, err := m.Call(ctx, ana, nil); done <- err }()
	receive(t, "list", asked)
	cancel()
	notRunAt(t, receive(t, "outcome", done), "it was cancelled before it was sent")
	h.Intercept(nil)
	says(t, m, "ana", "recall", `{}`, "Ana's page")

	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		fresh := r.Header.Get("Mcp-Session-Id") == ""
		if fresh {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return fresh
	})
	_, err := inChat(t, m, "ben", "recall", `{}`)
	notRunAt(t, err, "no session of its own could be had for this chat with the files server (it answered HTTP 503)")
}
