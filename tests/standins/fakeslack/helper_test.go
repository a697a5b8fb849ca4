package fakeslack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start makes a workspace: Ana, Ben and the bot in #general (C1), Ana and the bot in the private C2, nobody of ours in C3.
func start(t *testing.T, o fakeslack.Options) *fakeslack.Server {
	t.Helper()
	s := fakeslack.New(o)
	t.Cleanup(s.Close)
	s.AddUser(fakeslack.User{ID: "U1", Name: "Ana"})
	s.AddUser(fakeslack.User{ID: "U2", Name: "Ben"})
	s.AddUser(fakeslack.User{ID: "U3BOT", Name: "Other", Bot: true})
	s.AddChannel(fakeslack.Channel{ID: "C1", Name: "general", Members: []string{"U1", "U2", s.BotUser()}})
	s.AddChannel(fakeslack.Channel{ID: "C2", Name: "secret", Kind: fakeslack.Private, Members: []string{"U1", s.BotUser()}})
	s.AddChannel(fakeslack.Channel{ID: "C3", Name: "elsewhere", Members: []string{"U1"}})
	return s
}

// api is a real client of the server.
func api(t *testing.T, s *fakeslack.Server) *slack.Client {
	t.Helper()
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	return slack.New(s.BotToken(), slack.OptionAPIURL(s.URL()), slack.OptionAppLevelToken(s.AppToken()), slack.OptionHTTPClient(hc))
}

// call makes one call as a form with the token in it.
func call(t *testing.T, s *fakeslack.Server, method string, pairs ...string) (map[string]any, *http.Response) {
	t.Helper()
	v := url.Values{"token": {s.BotToken()}}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return post(t, s.URL()+method, "application/x-www-form-urlencoded", v.Encode(), "")
}

// post posts a body and reads the answer; the answer is nil where the connection was cut.
func post(t *testing.T, address, kind, body, token string) (map[string]any, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Close = true
	hc := &http.Client{Transport: &http.Transport{}}
	res, err := hc.Do(req)
	if err != nil {
		return nil, nil
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatalf("%s: %v: %s", address, err, raw)
		}
	}
	return out, res
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// ok fails the test unless the answer is ok; it returns a member of it.
func ok(t *testing.T, answer map[string]any, member string) string {
	t.Helper()
	if answer["ok"] != true {
		t.Fatalf("%v", answer)
	}
	v, _ := answer[member].(string)
	return v
}

// refused fails the test unless the answer is this error.
func refused(t *testing.T, answer map[string]any, code string) {
	t.Helper()
	if answer["ok"] != false || answer["error"] != code {
		t.Errorf("got %v, want the error %s", answer, code)
	}
}

// said posts a message of the bot's with blocks, if they are not empty.
func said(t *testing.T, s *fakeslack.Server, channel, thread, blocks string) string {
	t.Helper()
	pairs := []string{"channel", channel, "text", "hello", "thread_ts", thread}
	if blocks != "" {
		pairs = append(pairs, "blocks", blocks)
	}
	a, _ := call(t, s, "chat.postMessage", pairs...)
	return ok(t, a, "ts")
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func wait(t *testing.T, s *fakeslack.Server, what string, is func() bool) {
	t.Helper()
	if err := s.Wait(within(t), is); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// wire is a bare Socket Mode client: what the server writes comes out of frames.
type wire struct {
	t      *testing.T
	conn   *websocket.Conn
	frames chan map[string]any // closed when the connection ends
}

func dial(t *testing.T, s *fakeslack.Server) *wire {
	t.Helper()
	w, err := tryDial(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if f := w.next(); f["type"] != "hello" {
		t.Fatalf("the first frame is %v", f)
	}
	return w
}

func tryDial(t *testing.T, s *fakeslack.Server) (*wire, error) {
	t.Helper()
	a, _ := post(t, s.URL()+"apps.connections.open", "application/json", "", s.AppToken())
	if a["ok"] != true {
		return nil, fmt.Errorf("apps.connections.open: %v", a)
	}
	conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), a["url"].(string), nil)
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("%v", res))
	}
	w := &wire{t: t, conn: conn, frames: make(chan map[string]any, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.frames)
		for {
			var f map[string]any
			if conn.ReadJSON(&f) != nil {
				return
			}
			w.frames <- f
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return w, nil
}

// next is the next frame; nil: the connection ended.
func (w *wire) next() map[string]any {
	w.t.Helper()
	select {
	case f := <-w.frames:
		return f
	case <-within(w.t).Done():
		w.t.Fatal("no frame came")
		return nil
	}
}

// quiet fails the test if a frame is there. What was sent before is, once a later frame has come.
func (w *wire) quiet() {
	w.t.Helper()
	select {
	case f := <-w.frames:
		w.t.Errorf("a frame came that should not: %v", f)
	default:
	}
}

func (w *wire) ack(f map[string]any, payload any) {
	w.t.Helper()
	m := map[string]any{"envelope_id": f["envelope_id"]}
	if payload != nil {
		m["payload"] = payload
	}
	if err := w.conn.WriteJSON(m); err != nil {
		w.t.Fatal(err)
	}
}

// at digs into decoded JSON.
func at(v any, path ...any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}
