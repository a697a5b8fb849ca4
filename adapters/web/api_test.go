package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/time/rate"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

const masterKey = "a-long-and-secret-admin-key"

// client speaks to the API as one session.
type client struct {
	t    *testing.T
	url  string
	key  string
	user string
}

// serve starts the surface over a fresh bot, on loopback unless the configuration says otherwise.
func serve(t *testing.T, change func(*Config)) (*bot, *Server, *client) {
	t.Helper()
	b := newBot()
	b.admins = []chat.User{session.AdminUser(masterKey)}
	c := Config{Listen: "127.0.0.1:8080", Engine: b, Settings: b, Log: b, Shelf: b, AdminKeys: []string{" " + masterKey + " ", "", "  "}, Heartbeat: time.Hour}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b, s, to(t, s)
}

// to is a client of a surface.
func to(t *testing.T, s *Server) *client {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	return &client{t: t, url: srv.URL}
}

// as opens another session.
func (c *client) as(name string) *client {
	c.t.Helper()
	status, out := c.call("POST", "/api/v1/sessions", map[string]string{"name": name})
	if status != http.StatusCreated {
		c.t.Fatalf("session: %d %v", status, out)
	}
	return &client{t: c.t, url: c.url, key: out["key"].(string), user: out["user"].(string)}
}

func (c *client) with(key string) *client { return &client{t: c.t, url: c.url, key: key} }

func (c *client) request(method, path string, body any) *http.Request {
	c.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, r)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req
}

func (c *client) do(req *http.Request) (int, map[string]any) {
	c.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	asDescribed(c.t, res, b)
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		c.t.Fatalf("%s %s answered %d with %q", req.Method, req.URL.Path, res.StatusCode, b)
	}
	return res.StatusCode, out
}

func (c *client) call(method, path string, body any) (int, map[string]any) {
	c.t.Helper()
	return c.do(c.request(method, path, body))
}

// fails wants a status, and an error in the one form, with a code and a sentence.
func (c *client) fails(status int, code, method, path string, body any) map[string]any {
	c.t.Helper()
	return c.failed(c.request(method, path, body), status, code)
}

func (c *client) failed(req *http.Request, status int, code string) map[string]any {
	c.t.Helper()
	got, out := c.do(req)
	e, _ := out["error"].(map[string]any)
	if got != status || e["code"] != code {
		c.t.Errorf("%s %s: %d %v, want %d %s", req.Method, req.URL.Path, got, out, status, code)
	}
	if say, _ := e["message"].(string); !strings.HasSuffix(say, ".") || len(say) < 20 {
		c.t.Errorf("%s: not a sentence that helps: %q", code, say)
	}
	return e
}

func (c *client) ok(status int, method, path string, body any) map[string]any {
	c.t.Helper()
	got, out := c.call(method, path, body)
	if got != status {
		c.t.Fatalf("%s %s: %d %v, want %d", method, path, got, out, status)
	}
	return out
}

func (c *client) chat() string {
	c.t.Helper()
	return c.ok(http.StatusCreated, "POST", "/api/v1/chats", nil)["chat_id"].(string)
}

func (c *client) say(id, text string) {
	c.t.Helper()
	c.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": text})
}

func (c *client) look(id string) chatForm {
	c.t.Helper()
	res, err := http.DefaultClient.Do(c.request("GET", "/api/v1/chats/"+id, nil))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	asDescribed(c.t, res, b)
	var f chatForm
	if err := json.Unmarshal(b, &f); err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatal(res.StatusCode, err)
	}
	return f
}

// ask is the only open ask of a chat.
func (c *client) ask(id string) approvalRequired {
	c.t.Helper()
	f := c.look(id)
	if len(f.Pending) != 1 {
		c.t.Fatalf("%d open asks, want 1", len(f.Pending))
	}
	return f.Pending[0]
}

func TestMessageLimits(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	path := "/api/v1/chats/" + id + "/messages"
	ana.fails(http.StatusRequestEntityTooLarge, "too_large", "POST", path, map[string]string{"text": strings.Repeat("a", maxText+1)})
	e := ana.fails(http.StatusRequestEntityTooLarge, "too_large", "POST", path, map[string]string{"text": strings.Repeat("b", 1<<20)})
	if !strings.Contains(e["message"].(string), "64 KiB") {
		t.Errorf("a message of 1 MB is told %q", e["message"])
	}
	ana.fails(http.StatusBadRequest, "invalid_utf8", "POST", path, "{\"text\":\"a\xff\"}")
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, map[string]string{"text": " \n"})
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, "{")
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, "")
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, `{"text":5}`)
	ana.fails(http.StatusBadRequest, "bad_request", "POST", path, map[string]string{"text": "x", "delivery": strings.Repeat("d", 129)})
	if n := len(b.logs); n != 0 {
		t.Fatalf("%d chats have a log after refused messages", n)
	}
	ana.ok(http.StatusAccepted, "POST", path, map[string]string{"text": strings.Repeat("\x01", maxText)}) // the largest, all escapes
}

// What is wrong with a body is said as what it is, and its text is one line where a line is shown.
func TestBodiesThatCannotBeRead(t *testing.T) {
	b, s, c := serve(t, func(c *Config) { c.Files = &drawer{kept: map[string][]byte{}} })
	ana := c.as("Ana")
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id).RequestID
	clicks := "/api/v1/chats/" + id + "/clicks"
	for body, want := range map[string]string{
		`{"token":5}`: `"token" should not be a JSON number.`, `[]`: "not the JSON object that is expected", `{`: "not valid JSON (at byte 1)",
		`{"token":"` + ask + `","choice":"answer","fields":{"a":{}}}`: `In "fields" a value is`,
		`{"token":"","choice":"deny"}`:                                `"token" is missing or too long.`,
		`{"token":"` + strings.Repeat("x", 65) + `","choice":"deny"}`: `"token" is missing or too long.`,
		``: `"token" is missing or too long.`,
	} {
		if e := ana.fails(http.StatusBadRequest, "bad_request", "POST", clicks, body); !strings.Contains(e["message"].(string), want) {
			t.Errorf("%.80s: %v, want %q", body, e["message"], want)
		}
	}
	here := "/api/v1/chats/" + id
	for _, path := range []string{clicks, here + "/messages", here + "/stop", here + "/asks", approve, "/api/v1/asks/" + ask, "/api/v1/inbox/clicks", "/api/v1/settings",
		"/api/v1/permissions", "/api/v1/push", "/api/v1/sessions"} {
		ana.fails(http.StatusBadRequest, "invalid_utf8", "POST", path, "\"\xff\"")
	}
	for _, path := range []string{clicks, here + "/files?name=x"} {
		for err, want := range map[error]int{os.ErrDeadlineExceeded: http.StatusRequestTimeout, io.ErrUnexpectedEOF: http.StatusBadRequest} {
			r, w := httptest.NewRequestWithContext(t.Context(), "POST", path, iotest.ErrReader(err)), httptest.NewRecorder()
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer "+ana.key)
			if s.Handler().ServeHTTP(w, r); w.Code != want || want == http.StatusBadRequest && !strings.Contains(w.Body.String(), "broke off") {
				t.Errorf("%s: %v: %d %s", path, err, w.Code, w.Body)
			}
		}
	}
	ana.ok(http.StatusOK, "POST", clicks, map[string]string{"token": ask, "choice": "deny", "reason": "not\nnow\x7fplease"})
	if got := b.clicked[len(b.clicked)-1].Reason; got != "not now please" {
		t.Errorf("the reason is %q", got)
	}
}

// Where the store fails nobody hears that something is not there, or was done.
func TestAStoreThatFails(t *testing.T) {
	b, s, c := serve(t, func(c *Config) { c.Files = &drawer{fails: true} })
	ana := c.as("Ana")
	id, empty := ana.chat(), ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	here, asked := "/api/v1/chats/"+id, "/api/v1/asks/"+ask.RequestID
	for path, way := range map[string]string{"/api/v1/inbox": "Live", "/api/v1/inbox/events": "Live", "/api/v1/push": "PushKey"} { // the first time
		b.down = way
		ana.fails(http.StatusServiceUnavailable, "unavailable", "GET", path, nil)
	}
	came := map[string]int{}
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/api/v1/chats", ""}, {"GET", "/api/v1/chats?q=x", ""}, {"POST", "/api/v1/chats", ""}, {"GET", here, ""}, {"GET", "/api/v1/chats/" + empty, ""},
		{"HEAD", here + "/events", ""}, {"HEAD", "/api/v1/inbox/events", ""}, {"GET", "/api/v1/inbox", ""}, {"GET", "/api/v1/push", ""}, {"GET", "/api/v1/sessions", ""},
		{"POST", here + "/files?name=x", "x"}, {"GET", here + "/files/x", ""}, {"GET", "/api/v1/settings?chat=" + id, ""},
		{"GET", asked + "/why", ""}, {"GET", asked + "/details", ""}, {"GET", asked + "/want", ""},
		{"POST", here + "/messages", `{"text":"x"}`}, {"POST", here + "/stop", `{"turn_id":"x"}`},
		{"POST", approve, `{"tool_call_id":"call_0","approved":false}`},
		{"POST", approve, `{"request_id":"` + ask.RequestID + `","approved":true,"remember":true}`},
		{"POST", approve, `{"tool_call_id":"` + ask.ToolCallID + `","approved":true,"remember":true}`},
		{"DELETE", "/api/v1/push", ""}, {"DELETE", "/api/v1/sessions", ""},
	} {
		for _, way := range []string{"Find", "Tail", "History", "Watch", "Live", "Session", "Sessions", "Chats", "PutChat", "Pushes", "DropPush", "Sees", "Blobs", "EndSessions"} {
			b.down, b.hit = way, way == "Blobs" && strings.Contains(call.path, "/files")
			if way != "Tail" {
				s.chats = newSessionCache(b) // nothing is folded yet
			}
			if call.path == "/api/v1/sessions" && call.method == "DELETE" && way != "EndSessions" && way != "Session" {
				continue
			}
			r, w := httptest.NewRequestWithContext(t.Context(), call.method, call.path, strings.NewReader(call.body)), httptest.NewRecorder()
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer "+ana.key)
			if s.Handler().ServeHTTP(w, r); !b.hit {
				continue
			}
			if came[way]++; w.Code < http.StatusInternalServerError && (way != "PutChat" || w.Code != http.StatusAccepted) && (way != "Sees" || call.method != "HEAD") { // a message is recorded before the list; a stream ends
				t.Errorf("%s %s without %s: %d %s", call.method, call.path, way, w.Code, w.Body)
			}
		}
	}
	if len(came) != 14 {
		t.Errorf("nobody needs the others: %v", came)
	}
}

func TestADeliveryCountsOncePerPerson(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	id := ana.chat()
	body := map[string]string{"text": "  hello", "delivery": "d1"}
	for _, who := range []*client{ana, ana, ben, ben} {
		who.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/messages", body)
	}
	said := 0
	for _, e := range b.logs[webChat(id)] {
		if x, ok := e.Event.(turn.Said); ok && x.Text == "  hello" {
			said++
		}
	}
	if said != 2 {
		t.Errorf("%d messages recorded, want one of each person", said)
	}
}

func TestChatsAndTheirNames(t *testing.T) {
	b, _, c := serve(t, nil)
	ana, ben := c.as("Ana"), c.as("Ben")
	first, second := ana.chat(), ana.chat()
	ana.say(first, "hello there")
	ana.say(first, "and again")
	list := ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)["chats"].([]any)
	titles := map[string]string{}
	for _, l := range list {
		titles[l.(map[string]any)["chat_id"].(string)] = l.(map[string]any)["title"].(string)
	}
	if len(list) != 2 || titles[first] != "hello there" || titles[second] != sayNewChat {
		t.Errorf("Ana's chats: %v", list)
	}
	if n := len(ben.ok(http.StatusOK, "GET", "/api/v1/chats", nil)["chats"].([]any)); n != 0 {
		t.Errorf("Ben sees %d chats", n)
	}
	// Who knows the id may read, post and stop there, also before anybody has spoken.
	ben.look(second)
	ben.say(second, "hello from Ben")
	ben.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+second+"/stop", nil)
	if n := len(ben.ok(http.StatusOK, "GET", "/api/v1/chats", nil)["chats"].([]any)); n != 1 {
		t.Errorf("the chat Ben spoke in is not in his list")
	}
	b.append(webChat("c-old"), turn.Said{Delivery: "d", Text: "x"}) // on nobody's list any more
	ben.look("c-old")
	b.append(webChat("a/b"), turn.Said{Delivery: "d", Text: "x"}) // no name of a chat
	for _, id := range []string{"c-unknown", "x%00", strings.Repeat("a", 65), "a%2Fb", "web%3A%3Ax"} {
		ana.fails(http.StatusNotFound, "unknown_chat", "GET", "/api/v1/chats/"+id, nil)
		ana.fails(http.StatusNotFound, "unknown_chat", "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": "x"})
	}
	ana.fails(http.StatusNotFound, "not_found", "DELETE", "/api/v1/chats", nil)
	ana.fails(http.StatusNotFound, "not_found", "GET", "/api/v2/", nil)
}

// A search finds chats by their titles, and the newest also by what was said, of which it shows where.
func TestChatsAreSearched(t *testing.T) {
	b, s, c := serve(t, nil)
	ana := c.as("Ana")
	list := strings.TrimPrefix(ana.user, "web::")
	id := ana.chat()
	ana.say(id, "Good morning")
	ana.say(id, "the Budget of March")
	found := func(q string) (out string) {
		t.Helper()
		for _, x := range ana.ok(http.StatusOK, "GET", "/api/v1/chats?q="+url.QueryEscape(q), nil)["chats"].([]any) {
			f := x.(map[string]any)
			out += fmt.Sprintf("%v: %v|", f["title"], f["excerpt"])
		}
		return out
	}
	for q, want := range map[string]string{
		"":             "Good morning: <nil>|",
		"MORNING good": "Good morning: <nil>|",
		"budget march": "Good morning: Hello! You said: *the Budget of March*|", // where it was said last
		"budget april": "", "\t": "Good morning: <nil>|",
	} {
		if got := found(q); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
	for i := range maxSearch { // newer ones
		b.lists[list] = append(b.lists[list], chat.Listed{Key: fmt.Sprint("c", i), Title: "other", At: time.Now().Add(time.Hour)})
	}
	if found("budget") != "" || found("morning") == "" {
		t.Errorf("of an old chat: %q, %q", found("budget"), found("morning"))
	}
	s.newChats = rate.NewLimiter(0, 0)
	ana.fails(http.StatusTooManyRequests, "too_fast", "POST", "/api/v1/chats", nil)
}

// A log of before 23 November calls a turn by its place alone.
func TestATurnOfAnOlderLogIsOneMessage(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	b.append(webChat(id), turn.Said{Delivery: "d", By: chat.User{Platform: Platform, Key: "someone"}, Text: "go"})
	if all := ana.look(id).Messages; len(all) != 2 || all[1].State != "working" {
		t.Fatalf("a turn that began: %+v", all)
	}
	b.append(webChat(id), turn.Shown{Turn: "t1", Message: "m"}, turn.Replied{Turn: "t1", Text: "Here it is."}, turn.Ended{Turn: "t1", Why: turn.Answered})
	all := ana.look(id).Messages
	if len(all) != 2 || all[1].State != "done" || all[0].Turn != "t1" || all[1].Turn != "t1" || all[1].ID != "t1" {
		t.Errorf("the turn by the name that the log has for it: %+v", all)
	}
}

func TestAnErrorNamesNoCause(t *testing.T) {
	var log bytes.Buffer
	b, _, c := serve(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	ana := c.as("Ana")
	id := ana.chat()
	for err, want := range map[error]problem{agent.ErrTooLong: tooLarge, agent.ErrFull: {Status: http.StatusTooManyRequests, Code: "too_many_waiting"}} {
		b.fail = err
		ana.fails(want.Status, want.Code, "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": "x"})
	}
	b.down, b.downAs = "Chats", agent.ErrVersion
	ana.fails(http.StatusServiceUnavailable, "newer_version", "GET", "/api/v1/chats", nil)
	b.down, b.fail = "", errDown
	e := ana.fails(http.StatusServiceUnavailable, "not_recorded", "POST", "/api/v1/chats/"+id+"/messages", map[string]string{"text": "x"})
	if strings.Contains(e["message"].(string), "10.0.0.9") {
		t.Errorf("the cause reached the person: %v", e)
	}
	if !strings.Contains(log.String(), "10.0.0.9") {
		t.Errorf("the cause did not reach the log: %s", log.String())
	}
	if strings.Contains(log.String(), ana.key) {
		t.Error("a key stands in the log")
	}
}

func TestStopNamesItsTurn(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	if out := ana.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/stop", nil); out["stopping"] != false {
		t.Errorf("nothing runs, yet %v", out)
	}
	ana.say(id, "write a file")
	ana.fails(http.StatusBadRequest, "bad_request", "POST", "/api/v1/chats/"+id+"/stop", "{")
	b.refused = map[string]bool{ana.user: true}
	ana.fails(http.StatusForbidden, "not_yours", "POST", "/api/v1/chats/"+id+"/stop", nil)
	b.refused = nil
	if out := ana.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/stop", map[string]string{"turn_id": "t99"}); out["stopping"] != false {
		t.Errorf("a stop of another turn: %v", out)
	}
	if out := ana.ok(http.StatusAccepted, "POST", "/api/v1/chats/"+id+"/stop", nil); out["stopping"] != true {
		t.Errorf("%v", out)
	}
	m := ana.look(id).Messages[1]
	if m.State != "stopped" || m.ToolCalls[0].Status != "cancelled" || len(b.ran) > 0 {
		t.Errorf("after Stop: %s %s %v", m.State, m.ToolCalls[0].Status, b.ran)
	}
	if p := m.Permissions[0]; p.Status != "denied" || p.Reason != "cancelled" || p.Extra.NeedsUserAction {
		t.Errorf("%+v", p)
	}
}
