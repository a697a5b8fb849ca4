package attacks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// session is somebody's key of the web API.
type session struct {
	w         *world
	key, user string
}

// session opens one.
func (w *world) session(name string) *session {
	w.t.Helper()
	status, answer := w.request(w.t, http.MethodPost, "/api/v1/sessions", marshal(map[string]string{"name": name}), http.Header{"Content-Type": {"application/json"}})
	var out struct{ Key, User string }
	if status != http.StatusCreated || json.Unmarshal([]byte(answer), &out) != nil {
		w.t.Fatalf("a session: %d %s", status, answer)
	}
	return &session{w, out.Key, out.User}
}

func (s *session) call(t testing.TB, method, path string, body any) (status int, answer string) {
	t.Helper()
	h := http.Header{"Content-Type": {"application/json"}}
	if s.key != "" {
		h.Set("Authorization", "Bearer "+s.key)
	}
	raw, ok := body.([]byte)
	if !ok && body != nil {
		raw = marshal(body)
	}
	return s.w.request(t, method, path, raw, h)
}

// chatroom is a chat on the web.
type chatroom struct {
	w    *world
	t    testing.TB
	key  string
	mu   sync.Mutex
	said map[person][]string // what the API refused, and why

	looks looks
}

func openRoom(w *world, t testing.TB, text string) *chatroom {
	t.Helper()
	status, answer := w.sessions[ana].call(t, http.MethodPost, "/api/v1/chats", nil)
	var out struct {
		ID string `json:"chat_id"`
	}
	if status != http.StatusCreated || json.Unmarshal([]byte(answer), &out) != nil {
		t.Fatalf("a chat: %d %s", status, answer)
	}
	r := &chatroom{w: w, t: t, key: out.ID, said: map[person][]string{}}
	r.say(ana, text)
	return r
}

func (r *chatroom) surface() string         { return "web" }
func (r *chatroom) id() chat.ID             { return chat.ID{Platform: "web", Key: r.key} }
func (r *chatroom) path(rest string) string { return "/api/v1/chats/" + r.key + rest }

func (r *chatroom) say(who person, text string) {
	if s := r.w.sessions[who]; s != nil {
		r.hear(who)(s.call(r.t, http.MethodPost, r.path("/messages"), map[string]string{"text": text}))
	}
}

// hear keeps what somebody is told.
func (r *chatroom) hear(who person) func(status int, answer string) {
	return func(status int, answer string) {
		if status >= http.StatusBadRequest {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.said[who] = append(r.said[who], fmt.Sprint(status, " ", answer))
		}
	}
}

type webChat struct{ Messages []json.RawMessage }

func (r *chatroom) get() (c webChat) {
	_, answer := r.w.sessions[ana].call(r.t, http.MethodGet, r.path(""), nil)
	_ = json.Unmarshal([]byte(answer), &c) // an error has no messages
	return c
}

func (r *chatroom) shots() (out []shot) {
	c := r.get()
	for _, raw := range c.Messages {
		var m struct{ ID, Role string }
		if json.Unmarshal(raw, &m) == nil && m.Role == "assistant" {
			out = append(out, r.looks.at(m.ID, string(raw), func() shot { return webShot(m.ID, raw) }))
		}
	}
	return out
}

func webShot(id string, raw json.RawMessage) shot {
	var m struct {
		End     json.RawMessage
		Blocks  []json.RawMessage
		Choices json.RawMessage
		Turn    string `json:"turn_id"`
	}
	_ = json.Unmarshal(raw, &m) // the API's own
	var lines, outline []string
	drawn := marshal([]any{m.Blocks, m.Choices}) // what the page draws; calls stand beside it as data for programs
	s := shot{ref: id, raw: string(drawn)}
	walk(drawn, func(o map[string]any) {
		for _, k := range []string{"markdown", "source", "title", "server_name", "header", "run", "json", "question", "says", "warning", "review", "text", "strong", "person", "content"} {
			if v, ok := o[k].(string); ok && v != "" {
				lines = append(lines, v)
			}
		}
		choice, _ := o["choice"].(string)
		token, _ := o["token"].(string)
		if choice == "stop" { // it is of the turn, wherever it stands
			token = m.Turn
		}
		if label, _ := o["label"].(string); choice != "" && token != "" && label != "" {
			s.buttons = append(s.buttons, button{label: label, choice: choice, token: token})
		}
	})
	s.text = strings.Join(lines, "\n")
	for _, b := range m.Blocks {
		var kind struct{ Type string }
		if json.Unmarshal(b, &kind) == nil && kind.Type == "ask" {
			walk(b, func(o map[string]any) {
				outline = append(outline, fmt.Sprint(sorted(slices.Collect(keys(o))), o["type"], o["choice"], o["kind"]))
			})
		}
	}
	s = s.counted(strings.Join(outline, "\n"))
	s.over = s.asks == 0 && len(m.End) > 0 && string(m.End) != "null"
	return s
}

func (r *chatroom) press(t testing.TB, who person, _ shot, b button) {
	t.Helper()
	r.click(t, who, b, "", "")
}

func (r *chatroom) fire(t testing.TB, who person, on shot, b button) { r.press(t, who, on, b) }

func (r *chatroom) click(t testing.TB, who person, b button, field, text string) {
	t.Helper()
	s := r.w.sessions[who]
	if s == nil {
		s = &session{w: r.w}
	}
	if b.choice == "stop" { // it has a path of its own
		r.hear(who)(s.call(t, http.MethodPost, r.path("/stop"), map[string]string{"turn_id": b.token}))
		return
	}
	body := map[string]string{"token": b.token, "choice": b.choice}
	if field == "args" {
		field = "arguments"
	}
	if field != "" {
		body[field] = text
	}
	r.hear(who)(s.call(t, http.MethodPost, r.path("/clicks"), body))
}

func (r *chatroom) told(who person) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said[who])
}

func (r *chatroom) open(t testing.TB, who person, _ shot, b button) (send func(field, text string)) {
	if b.choice == "deny_reason" {
		b.choice = "deny"
	}
	return func(field, text string) {
		t.Helper()
		r.click(t, who, b, field, text)
	}
}

func (r *chatroom) payloads() (out []string) {
	for _, s := range r.shots() {
		out = append(out, s.raw)
	}
	return out
}

// nodes are all nodes of the Markdown that the page is given, as the stream gives them.
func (r *chatroom) nodes(t testing.TB) (out []map[string]any) {
	t.Helper()
	r.w.streams <- struct{}{} // a person has at most 16 open
	defer func() { <-r.w.streams }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.w.url+r.path("/events?nodes"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.w.sessions[ana].key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("the stream: %d %s", res.StatusCode, kind)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 8<<20)
	name := ""
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			walk([]byte(line[len("data: "):]), func(o map[string]any) { out = append(out, o) })
			if name == "message" { // the newest one, which is told first
				return out
			}
		}
	}
	return out
}
