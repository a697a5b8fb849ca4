package fakediscord_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type obj = map[string]any

// room is a Discord with Ana, Ben and the bot in #general.
type room struct {
	t *testing.T
	*fakediscord.Server
	ana, ben, general string
}

func start(t *testing.T, o fakediscord.Options) *room {
	t.Helper()
	o.Undescribed = t.Error
	s := fakediscord.New(o)
	t.Cleanup(s.Close)
	r := &room{t: t, Server: s}
	r.ana = s.AddUser(fakediscord.User{Name: "Ana"})
	r.ben = s.AddUser(fakediscord.User{Name: "Ben"})
	r.general = s.AddChannel(fakediscord.Channel{Name: "general"})
	return r
}

// reply is an answer of the REST API.
type reply struct {
	status int
	head   http.Header
	raw    string
	obj
	list []any
}

// call makes one call with the bot's token. body is nil, a string that is sent as it is, or a value sent as JSON.
func (r *room) call(method, path string, body any) reply {
	r.t.Helper()
	return r.callWith(method, path, body, "Bot "+r.Token())
}

func (r *room) callWith(method, path string, body any, token string) reply {
	r.t.Helper()
	var in io.Reader
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	case *bytes.Buffer:
		in = b
	default:
		in = strings.NewReader(asJSON(b))
	}
	if f, ok := body.(form); ok {
		in, kind = f.encode(r.t)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+"/api/v10"+path, in)
	if err != nil {
		r.t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", kind)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	req.Close = true
	hc := &http.Client{Transport: &http.Transport{}}
	res, err := hc.Do(req)
	if err != nil {
		return reply{}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	out := reply{status: res.StatusCode, head: res.Header, raw: string(raw), obj: obj{}}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			r.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
		out.list, _ = v.([]any)
		if o, ok := v.(obj); ok {
			out.obj = o
		}
	}
	return out
}

// is fails the test unless the status and error code are these.
func (a reply) is(t *testing.T, status, code int) {
	t.Helper()
	got, _ := a.obj["code"].(float64)
	if a.status != status || int(got) != code {
		t.Errorf("got %d (%v), want %d (%d): %s", a.status, a.obj["code"], status, code, a.raw)
	}
}

// id is the ID of what was made; the test ends if nothing was.
func (a reply) id(t *testing.T) string {
	t.Helper()
	id, _ := a.obj["id"].(string)
	if a.status/100 != 2 || id == "" {
		t.Fatalf("got %d: %s", a.status, a.raw)
	}
	return id
}

func (r *room) messages() string { return "/channels/" + r.general + "/messages" }

// post posts a message of the bot's.
func (r *room) post(body any) reply { r.t.Helper(); return r.call("POST", r.messages(), body) }

// asking is a message with two buttons.
func asking(more ...any) obj {
	return obj{"flags": 32768, "components": []any{box(append([]any{text("May I?"), row(button("yes", "Allow once"), button("no", "Deny"))}, more...)...)}}
}

func box(inner ...any) obj { return obj{"type": 17, "accent_color": 0xFFAA00, "components": inner} }
func text(s string) obj    { return obj{"type": 10, "content": s} }
func row(inner ...any) obj { return obj{"type": 1, "components": inner} }
func button(id, label string) obj {
	return obj{"type": 2, "style": 2, "custom_id": id, "label": label}
}
func v2(list ...any) obj { return obj{"flags": 32768, "components": list} }

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (r *room) wait(what string, is func() bool) {
	r.t.Helper()
	if err := r.Wait(within(r.t), is); err != nil {
		r.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// wire is a bare gateway client: what the server writes comes out of frames.
type wire struct {
	t      *testing.T
	conn   *websocket.Conn
	frames chan obj // closed when the connection ends
	code   int      // with which it was closed, once frames is
}

func (r *room) dial() *wire {
	r.t.Helper()
	return r.dialAt("ws" + r.URL()[4:] + "/gateway?v=10&encoding=json")
}

func (r *room) dialAt(address string) *wire {
	r.t.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(r.t.Context(), address, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	w := &wire{t: r.t, conn: conn, frames: make(chan obj, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.frames)
		for {
			kind, raw, err := conn.ReadMessage()
			var e *websocket.CloseError
			if errors.As(err, &e) {
				w.code = e.Code
			}
			if err != nil {
				return
			}
			w.frames <- unpack(kind, raw)
		}
	}()
	r.t.Cleanup(func() { _ = conn.Close(); <-done })
	return w
}

func unpack(kind int, raw []byte) obj {
	var in io.Reader = bytes.NewReader(raw)
	if kind == websocket.BinaryMessage {
		z, err := zlib.NewReader(in)
		if err != nil {
			return obj{"broken": err.Error()}
		}
		in = z
	}
	var f obj
	if err := json.NewDecoder(in).Decode(&f); err != nil {
		return obj{"broken": err.Error()}
	}
	return f
}

// next is the next frame; nil: the connection ended.
func (w *wire) next() obj {
	w.t.Helper()
	select {
	case f := <-w.frames:
		return f
	case <-within(w.t).Done():
		w.t.Fatal("no frame came")
		return nil
	}
}

// op is the next frame, which must have this opcode.
func (w *wire) op(code int) obj {
	w.t.Helper()
	f := w.next()
	if f == nil || f["op"] != float64(code) {
		w.t.Fatalf("want op %d, got %v (close code %d)", code, f, w.code)
	}
	return f
}

// event skips to the next event of this name and returns its data.
func (w *wire) event(name string) obj {
	w.t.Helper()
	for {
		f := w.next()
		if f == nil {
			w.t.Fatalf("the connection ended (%d) before %s", w.code, name)
		}
		if f["t"] == name {
			d, _ := f["d"].(obj)
			return d
		}
	}
}

// closed reads to the end and fails the test unless the connection was closed with this code.
func (w *wire) closed(code int) {
	w.t.Helper()
	for w.next() != nil {
		continue
	}
	if w.code != code {
		w.t.Errorf("closed with %d, want %d", w.code, code)
	}
}

func (w *wire) send(op int, d any) {
	w.t.Helper()
	if err := w.conn.WriteJSON(obj{"op": op, "d": d}); err != nil {
		w.t.Fatal(err)
	}
}

const everything = 1<<0 | 1<<9 | 1<<11 | 1<<12 | 1<<14 | 1<<15

func identify(token string, intents int) obj {
	return obj{"token": token, "intents": intents, "properties": obj{"os": "linux", "browser": "test", "device": "test"}}
}

// ready is a client that has identified and seen its guilds.
func (r *room) ready() *wire {
	r.t.Helper()
	w, _ := r.readyWith(identify(r.Token(), everything))
	return w
}

func (r *room) readyWith(hello obj) (*wire, obj) {
	r.t.Helper()
	w := r.dial()
	w.op(10)
	w.send(2, hello)
	d := w.event("READY")
	w.event("GUILD_CREATE")
	return w, d
}

// at digs into decoded JSON.
func at(v any, path ...any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(obj)
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

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
