package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// heard is one event as a reader of the stream gets it.
type heard struct {
	id, name string
	data     map[string]any
}

// reader is one open stream.
type reader struct {
	t      *testing.T
	path   string // as docs/openapi.yaml has it
	ctx    context.Context
	lines  *bufio.Scanner
	cancel context.CancelFunc
	beats  int

	message string // as it was told last
	patches int    // that it was told by
}

const (
	chatEvents  = "/api/v1/chats/{chat}/events"
	inboxEvents = "/api/v1/inbox/events"
)

func (c *client) listen(id, last string) *reader {
	c.t.Helper()
	return c.stream(chatEvents, id, last, "")
}

// begins is Ana, who begins a chat by saying words, and listens to it.
func (c *client) begins(words string) (ana *client, id string, r *reader) {
	c.t.Helper()
	ana = c.as("Ana")
	id = ana.chat()
	ana.say(id, words)
	return ana, id, ana.listen(id, "")
}

// follow listens to the inbox.
func (c *client) follow() *reader {
	c.t.Helper()
	return c.stream(inboxEvents, "", "", "")
}

func (c *client) stream(path, id, last, query string) *reader {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	c.t.Cleanup(cancel)
	req := c.request("GET", strings.Replace(path, "{chat}", id, 1)+query, nil).WithContext(ctx)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		c.t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	asDescribed(c.t, res, nil)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	return &reader{t: c.t, path: path, ctx: ctx, lines: lines, cancel: cancel}
}

// next is the next event; ok is false at the stream's end.
func (r *reader) next() (heard, bool) {
	r.t.Helper()
	var h heard
	for r.lines.Scan() {
		line := r.lines.Text()
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && h.name != "":
			tells(r.t, r.path, h)
			return h, true
		case field == "id":
			h.id = value
		case field == "event":
			h.name = value
		case field == "data":
			if err := json.Unmarshal([]byte(value), &h.data); err != nil {
				r.t.Fatalf("%q: %v", value, err)
			}
			switch h.name {
			case "message":
				r.message = value
			case "patch":
				r.patch(value)
			}
		case strings.HasPrefix(line, ":"):
			r.beats++
		}
	}
	return h, false
}

// patch changes the message as the page does.
func (r *reader) patch(value string) {
	r.t.Helper()
	var p struct {
		Head, Tail int
		Part       string
	}
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		r.t.Fatal(err)
	}
	old := utf16.Encode([]rune(r.message))
	r.message = string(utf16.Decode(old[:p.Head])) + p.Part + string(utf16.Decode(old[len(old)-p.Tail:]))
	r.patches++
}

// until reads to the first event of a name and returns everything up to it.
func (r *reader) until(name string) []heard {
	r.t.Helper()
	var all []heard
	for {
		h, ok := r.next()
		if !ok {
			r.t.Fatalf("the stream ended before %s; heard %v (%v)", name, names(all), r.lines.Err())
		}
		if all = append(all, h); h.name == name {
			return all
		}
	}
}

func names(hs []heard) (out []string) {
	for _, h := range hs {
		out = append(out, h.name)
	}
	return out
}

// R50
func TestStreamTellsATurn(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	r := ana.listen(id, "")
	ana.say(id, "write hello")
	all := r.until("approval_required")
	ask := all[len(all)-1].data
	for _, field := range []string{"type", "tool_call_id", "tool_name", "message", "permission", "arguments", "server_name", "request_id", "access", "risk", "expires_at", "scopes"} {
		if _, ok := ask[field]; !ok {
			t.Errorf("approval_required lacks %s", field)
		}
		delete(ask, field)
	}
	if len(ask) > 0 {
		t.Errorf("approval_required has more than it should: %v", ask)
	}
	pending := ana.ask(id)
	ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": pending.ToolCallID, "approved": true})
	rest := r.until("turn_done")
	all = append(all, rest...)
	if !slices.Contains(names(rest), "permission_granted") {
		t.Errorf("heard %v", names(rest))
	}
	var state any
	last := ""
	for _, h := range all {
		if h.name == "message" && h.data["role"] == "assistant" {
			state = h.data["state"]
		}
		if h.id != "" && h.id <= last && len(h.id) == len(last) {
			t.Errorf("ids do not grow: %s after %s", h.id, last)
		}
		if h.id != "" {
			last = h.id
		}
	}
	if state != "done" {
		t.Errorf("the last message before turn_done is %v", state)
	}
	if done := all[len(all)-1]; done.id == "" || done.data["why"] != "answered" || done.data["chat_id"] != id {
		t.Errorf("%+v", done)
	}
}

// After any place a reader may have lost its connection at, it hears the current message and then everything that came after.
func TestStreamResumesAnywhere(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "three things")
	ana.ok(http.StatusOK, "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "deny"})
	ana.say(id, "write hello")
	b.expire(webChat(id))
	all := ana.listen(id, "0").until("permission_expired")
	var whole []heard
	for _, h := range append(all, heard{}) {
		if h.name != "message" && h.name != "" {
			whole = append(whole, h)
		}
	}
	want := []string{"approval_required", "approval_required", "permission_denied", "permission_denied", "turn_done", "approval_required", "permission_expired"}
	if !slices.Equal(names(whole), want) {
		t.Fatalf("the whole chat: %v", names(whole))
	}
	places := map[string]bool{}
	for i, h := range whole {
		if places[h.id] = true; h.id == "" || i == len(whole)-1 {
			continue
		}
		r := ana.listen(id, h.id)
		got := r.until("turn_done") // of the first or the second turn
		for got[len(got)-1].data["message_id"] != ana.look(id).Messages[3].ID {
			got = append(got, r.until("turn_done")...)
		}
		if got[0].name != "message" || got[0].data["id"] != ana.look(id).Messages[3].ID || got[0].data["state"] != "done" || got[0].id != "" {
			t.Errorf("after %s the first thing told is %v, not the current message", h.id, got[0])
		}
		var after []string
		for _, g := range got {
			if g.name != "message" {
				after = append(after, g.name)
			}
		}
		if !slices.Equal(after, append(slices.Clone(want[i+1:]), "turn_done")) {
			t.Errorf("after %s (%s): %v", h.id, h.name, after)
		}
		r.cancel()
	}
	if len(places) < 7 {
		t.Errorf("places to go on from: %v", places)
	}
}

// What does not change is not told again; that words no longer wait is.
func TestStreamTellsWhatChanged(t *testing.T) {
	_, _, c := serve(t, nil)
	ana, id, r := c.begins("hello")
	r.until("message")
	first := ana.look(id).Messages[1].ID
	ana.say(id, "write hello")
	ana.say(id, "and hello")
	all := r.until("approval_required")
	ana.ok(http.StatusOK, "POST", "/api/v1/chats/"+id+"/asks", map[string]string{"choice": "deny"})
	r.until("turn_done")
	var queued []any
	for all = append(all, r.until("turn_done")...); len(all) > 0; all = all[1:] {
		if all[0].data["id"] == first {
			t.Errorf("what is over is told again: %v", all[0].data)
		}
		if all[0].data["text"] == "and hello" {
			queued = append(queued, all[0].data["queued"])
		}
	}
	if len(queued) == 0 || queued[len(queued)-1] != nil {
		t.Errorf("whether it waits: %v", queued)
	}
}

// After a failover the log may be a shorter one, which is told from its beginning.
func TestAStreamFollowsAnotherHistory(t *testing.T) {
	b, _, c := serve(t, nil)
	_, id, r := c.begins("write hello")
	r.until("approval_required")
	b.mu.Lock()
	b.logs[webChat(id)] = nil
	b.append(webChat(id), turn.Said{Delivery: "d", By: otto, Text: "hello"})
	b.mu.Unlock()
	if h := r.until("message"); h[0].data["state"] != "working" {
		t.Errorf("%v", h)
	}
}

func TestStreamForALatecomer(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ana.say(id, "and hello") // waits
	for _, last := range []string{"", "nonsense", "999999", "-1"} {
		all := ana.listen(id, last).until("approval_required")
		if len(all) != 2 || all[0].name != "message" || all[0].data["state"] != "waiting" || all[1].data["request_id"] != ana.ask(id).RequestID {
			t.Errorf("Last-Event-ID %q: %v", last, names(all))
		}
	}
}

// atWork is a chat whose call was asked about, as it stood then, and runs now.
func atWork(t *testing.T) (b *bot, s *Server, ana *client, id string, asking, running turn.Session) {
	t.Helper()
	b, s, c := serve(t, nil)
	b.hold = true
	ana = c.as("Ana")
	id = ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	stands := func() turn.Session { b.mu.Lock(); defer b.mu.Unlock(); return b.fold(webChat(id)) }
	asking = stands()
	ana.ok(http.StatusOK, "POST", approve, map[string]any{"tool_call_id": ask.ToolCallID, "approved": true})
	return b, s, ana, id, asking, stands()
}

func TestLiveFramesHaveNoIDAndChangeNoFacts(t *testing.T) {
	b, s, ana, id, asking, running := atWork(t)
	r := ana.listen(id, "")
	r.until("message")

	show := func(x turn.Session, ref string, live card.Live) {
		t.Helper()
		m := card.View(x, x.Turn, live)
		if err := s.Edit(t.Context(), webChat(id), turnRef(x, ref), m, agent.Progress); err != nil {
			t.Fatal(err)
		}
	}
	show(asking, "", card.Live{Text: "stale: it would bring the buttons back"})
	show(running, "another message", card.Live{Text: "another"})
	if err := b.PublishLive(t.Context(), webChat(id), []byte("not json")); err != nil {
		t.Fatal(err)
	}
	show(running, "", card.Live{Text: "half a sent"})
	h := r.until("message")[0]
	text, _ := json.Marshal(h.data["blocks"])
	if h.id != "" || h.data["live"] != true || !strings.Contains(string(text), "half a sent") || strings.Contains(string(text), "stale") {
		t.Errorf("the first frame that came through: %+v", h)
	}
	for state, frames := range map[render.State]int{render.Working: 1, render.Waiting: 1, render.Done: 0} {
		m := card.View(running, running.Turn, card.Live{})
		m.State = state
		if err := s.Edit(t.Context(), webChat(id), running.Turn.Shown, m, agent.Final); err != nil {
			t.Fatal(err)
		}
		if late, err := s.frames.Follow(t.Context(), webChat(id)); err != nil || len(late.Own) != frames {
			t.Errorf("%s: who comes now is shown %d frames, %v", state, len(late.Own), err)
		}
	}
}

// A page that asks for patches has the same message after each as one that is told all of it.
func TestAPatchMakesTheMessage(t *testing.T) {
	_, s, ana, id, _, running := atWork(t)
	whole, patched := ana.stream(chatEvents, id, "", "?nodes=1"), ana.stream(chatEvents, id, "", "?nodes=1&patches=1")
	whole.until("message")
	patched.until("message")
	texts := []string{"half a sentence", "half a sentence that goes on 😀", "half a sentence that goes on 😁", "half a sentence that goes on 😁 and\n\n- a list", "half a \"quoted\" 😁 & <b>", "é", "ĩ", ""}
	for _, text := range texts {
		if err := s.Edit(t.Context(), webChat(id), running.Turn.Shown, card.View(running, running.Turn, card.Live{Text: text}), agent.Progress); err != nil {
			t.Fatal(err)
		}
		whole.until("message")
		for before := patched.message; patched.message == before; {
			if h, ok := patched.next(); !ok || h.name != "message" && h.name != "patch" {
				t.Fatalf("%q: %+v", text, h)
			}
		}
		if patched.message != whole.message {
			t.Errorf("%q:\n%s\n%s", text, patched.message, whole.message)
		}
	}
	if patched.patches < len(texts)-1 {
		t.Errorf("of %d changes %d came as patches", len(texts), patched.patches)
	}
	// Another message is told as such, and not as a change of this one.
	ana.say(id, "another message")
	for _, r := range []*reader{whole, patched} {
		for h := r.until("message"); h[len(h)-1].data["text"] != "another message"; h = r.until("message") {
		}
	}
	if patched.message != whole.message {
		t.Errorf("%s\n%s", patched.message, whole.message)
	}
}

func turnRef(s turn.Session, other string) (ref chat.MessageRef) {
	if other != "" {
		return chat.MessageRef(other)
	}
	return s.Turn.Shown
}

func TestStreamsPerPersonAreLimited(t *testing.T) {
	_, _, c := serve(t, func(c *Config) { c.Streams = 2 })
	ana, ben := c.as("Ana"), c.as("Ben")
	id := ana.chat()
	ana.say(id, "hello")
	one := ana.listen(id, "")
	one.until("message")
	ana.listen(id, "").until("message")
	for _, path := range []string{"/api/v1/chats/" + id + "/events", inboxEvents} {
		ana.fails(http.StatusTooManyRequests, "too_many_streams", "GET", path, nil)
	}
	ben.listen(id, "").until("message")
	one.cancel()
	// The place is free once the server has seen the end; ask until it has.
	for {
		res, err := http.DefaultClient.Do(ana.request("GET", "/api/v1/chats/"+id+"/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
}

// A HEAD of a stream is over with its headers, and leaves the connection and the place to the next.
func TestTheHeadOfAStream(t *testing.T) {
	_, _, c := serve(t, func(c *Config) { c.Streams = 1 })
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "hello")
	for _, path := range []string{"/api/v1/chats/" + id + "/events", "/api/v1/inbox/events"} {
		res, err := http.DefaultClient.Do(ana.request("HEAD", path, nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
			t.Errorf("%s: %d, %s", path, res.StatusCode, kind)
		}
	}
	ana.listen(id, "").until("message")
}

func TestHeartbeat(t *testing.T) {
	_, _, c := serve(t, func(c *Config) { c.Heartbeat = time.Millisecond })
	_, _, r := c.begins("hello")
	r.until("message")
	for r.beats == 0 {
		if !r.lines.Scan() {
			t.Fatal("the stream ended")
		}
		if strings.HasPrefix(r.lines.Text(), ":") {
			r.beats++
		}
	}
}

// A stream that cannot go on ends, and so does one whose session did: its reader comes back, or does not.
func TestAStreamThatCannotGoOnEnds(t *testing.T) {
	for name, happens := range map[string]func(b *bot, id chat.ID, ana *client){
		"the log fails": func(b *bot, id chat.ID, _ *client) {
			b.down = "Tail"
			b.append(id, turn.Said{Delivery: "d", Text: "x"})
		},
		"its signals end": func(b *bot, id chat.ID, _ *client) { close(b.watch[id][0]) },
		"its frames end":  func(b *bot, id chat.ID, _ *client) { close(b.live[id][0]) },
		"its session ends": func(b *bot, _ chat.ID, ana *client) {
			delete(b.sessions, hashOf(ana.key))
		},
	} {
		b, s, c := serve(t, func(c *Config) {
			if c.Heartbeat = time.Hour; name == "its session ends" {
				c.Heartbeat = time.Millisecond
			}
		})
		ana, id, r := c.begins("hello")
		r.until("message")
		b.mu.Lock()
		happens(b, webChat(id), ana)
		b.mu.Unlock()
		if h, ok := r.next(); ok || r.ctx.Err() != nil {
			t.Errorf("%s: it went on: %v %v", name, h, r.ctx.Err())
		}
		if b.down != "" { // nor does one begin that cannot look, once it listens
			b.down = ""
			ctx := context.WithValue(t.Context(), listens{}, func() { b.down = "Tail" })
			q, w := httptest.NewRequestWithContext(ctx, "HEAD", strings.Replace(chatEvents, "{chat}", id, 1), nil), httptest.NewRecorder()
			q.Host = "localhost"
			q.Header.Set("Authorization", "Bearer "+ana.key)
			if s.Handler().ServeHTTP(w, q); w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: %d", name, w.Code)
			}
		}
	}
}

// A lost signal costs at most a heartbeat.
func TestHeartbeatLooksForWhatASignalLost(t *testing.T) {
	b, _, c := serve(t, func(c *Config) { c.Heartbeat = time.Millisecond })
	ana, id, r := c.begins("hello")
	r.until("message")
	b.mu.Lock()
	b.watch = map[chat.ID][]chan struct{}{}
	b.mu.Unlock()
	ana.say(id, "write hello")
	r.until("approval_required")
}

// A reader that does not take its bytes is dropped and holds nobody up.
func TestASlowReaderIsDropped(t *testing.T) {
	b, s, _ := serve(t, func(c *Config) { c.Patience = 50 * time.Millisecond })
	srv := httptest.NewUnstartedServer(s.Handler())
	closed := make(chan string, 64)
	srv.Config.ConnState = func(c net.Conn, st http.ConnState) {
		if st == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	srv.Start()
	defer srv.Close()
	ana := (&client{t: t, url: srv.URL}).as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /api/v1/chats/" + id + "/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + ana.key + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	session := func() turn.Session { b.mu.Lock(); defer b.mu.Unlock(); return b.fold(webChat(id)) }()
	m := card.View(session, session.Turn, card.Live{Text: strings.Repeat("x", 1<<20)})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		select {
		case who := <-closed:
			if who == conn.LocalAddr().String() {
				return
			}
		case <-ctx.Done():
			t.Fatal("the reader is still there")
		default:
			if err := s.Edit(ctx, webChat(id), session.Turn.Shown, m, agent.Progress); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRunEndsEveryStream(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := newBot()
	s, err := New(Config{Listen: "127.0.0.1:1", Engine: b, Settings: b, Log: b, Shelf: b})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	ana, id, r := (&client{t: t, url: srv.URL}).begins("hello")
	r.until("message")
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- s.Run(ctx) }()
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if h, ok := r.next(); ok || r.ctx.Err() != nil {
		t.Errorf("the stream went on: %v %v", h, r.ctx.Err())
	}
	ana.fails(http.StatusServiceUnavailable, "stopping", "GET", "/api/v1/chats/"+id+"/events", nil)
	r.cancel()
	http.DefaultClient.CloseIdleConnections()
	srv.Close()
}
