package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakepush"
)

var (
	ana    = chat.User{Platform: "web", Key: "ana"}
	eve    = chat.User{Platform: "web", Key: "eve"}
	otto   = chat.User{Platform: "slack", Workspace: "T1", Key: "UOTTO"}
	thread = chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1.2"}
)

// house is what lies around: a shelf, who has signed in, and how the chat stands.
type house struct {
	mu       sync.Mutex
	devices  map[string][]byte
	key      string
	once     map[string]bool
	sessions map[string]chat.User
	sees     map[chat.User]bool
	now      turn.Session
	dropped  chan string // each session whose device went
	down     error       // of the list of devices
	unknown  error       // of who has signed in
	stuck    error       // of dropping a device
	full     error       // of keeping one
	keyless  error       // of the key, the first time
	keyed    int         // how often it was asked for
	log      bytes.Buffer
}

func newHouse() *house {
	return &house{dropped: make(chan string, 100), devices: map[string][]byte{}, once: map[string]bool{}, sessions: map[string]chat.User{"s-ana": ana, "s-ana-2": ana, "s-eve": eve}, sees: map[chat.User]bool{ana: true}}
}

func (h *house) PutPush(_ context.Context, session string, device []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full == nil {
		h.devices[session] = device
	}
	return h.full
}

func (h *house) DropPush(_ context.Context, session string, was []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stuck == nil && bytes.Equal(h.devices[session], was) {
		delete(h.devices, session)
		h.dropped <- session
	}
	return h.stuck
}

func (h *house) Pushes(context.Context) (map[string][]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.devices), h.down
}

func (h *house) PushKey(_ context.Context, fresh string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keyed++; h.keyed == 1 && h.keyless != nil {
		return "", h.keyless
	}
	if h.key == "" {
		h.key = fresh
	}
	return h.key, nil
}

func (h *house) Once(_ context.Context, name string, _ time.Duration) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.once[name]
	h.once[name] = true
	return !was, nil
}

func (h *house) Write(b []byte) (int, error) { // what is logged; slog writes a line at a time
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(b)
}

func (h *house) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// sender runs one until the test, or stop, ends it.
func (h *house) sender(t *testing.T, c *http.Client) (s *Sender, stop func()) {
	t.Helper()
	s = New(Config{
		Shelf: h, Client: c, Logger: slog.New(slog.NewTextHandler(h, nil)),
		Load: func(context.Context, chat.ID) (turn.Session, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.now, nil
		},
		Who: func(_ context.Context, session string, _ chat.ID) (chat.User, Sees, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			u := h.sessions[session]
			sees := h.sees[u]
			return u, func(turn.Session, turn.ToolCall) bool { return sees }, h.unknown
		},
		To: func(chat.User, turn.Session) string { return "/inbox" },
	})
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	stop = func() { end(); running.Wait() }
	t.Cleanup(stop)
	return s, stop
}

// asks is the thread in which Otto's call waits.
func asks(ask string, more ...turn.ToolCall) turn.Session {
	call := turn.ToolCall{ID: turn.CallID("c-" + ask), Status: turn.Awaiting, Tool: permission.Tool{Server: "db", Name: "run_query"}, Args: json.RawMessage(`{"sql":"drop table wages"}`),
		Asking: turn.Asking{Ask: turn.AskID(ask), AskedAt: time.Now(), Deadline: time.Now().Add(time.Hour)}}
	return turn.Session{Chat: thread, People: []turn.Person{{User: otto, Name: "Otto"}}, Turn: &turn.Turn{ID: "t1", Requester: otto, Calls: append([]turn.ToolCall{call}, more...)}}
}

func subscription(d *fakepush.Device) (s Subscription) {
	s.Endpoint, s.Keys.P256dh, s.Keys.Auth = d.Endpoint, d.P256dh, d.Auth
	return s
}

// subscribes is a browser of a session.
func subscribes(t *testing.T, s *Sender, at *fakepush.Service, session string, u chat.User) *fakepush.Device {
	t.Helper()
	key, err := s.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := at.Subscribe(key)
	if err := s.Put(t.Context(), session, u, "https://nod.example.org", subscription(d)); err != nil {
		t.Fatal(err)
	}
	return d
}

// Everybody who is shown a question hears of it, once on each of their devices, whichever replica notices it how often; a stranger hears nothing.
func TestTellsThoseWhoSeeIt(t *testing.T) {
	h, at := newHouse(), fakepush.Start(t)
	one, _ := h.sender(t, at.Client())
	two, _ := h.sender(t, at.Client())
	phone, desk, stranger := subscribes(t, one, at, "s-ana", ana), subscribes(t, two, at, "s-ana-2", ana), subscribes(t, two, at, "s-eve", eve)
	for range 3 {
		one.Noticed(asks("a1"))
		two.Noticed(asks("a1"))
	}
	phone.Wait(1)
	desk.Wait(1)
	one.Noticed(asks("a1"))
	two.Noticed(asks("a1"))
	one.Noticed(asks("a2", asks("a1").Turn.Calls...))
	for name, d := range map[string]*fakepush.Device{"the phone": phone, "the desk": desk} {
		got := d.Wait(2)
		if len(got) != 2 {
			t.Fatalf("%s hears %d", name, len(got))
		}
		m := got[0]
		if m.Text != `{"title":"Otto asks: Allow run_query from db?","body":"Waits in Slack.","tag":"a1","to":"/inbox"}` {
			t.Errorf("%s hears %s", name, m.Text)
		}
		if m.TTL < 50*time.Minute || m.TTL > time.Hour || m.Urgency != "high" || m.Topic == "" || m.Topic == got[1].Topic || m.Subject != "https://nod.example.org" {
			t.Errorf("%s hears it so: %+v", name, m)
		}
		if m.Size != got[1].Size {
			t.Errorf("the size tells what it says: %d and %d bytes", m.Size, got[1].Size)
		}
	}
	if n := stranger.Tried(); n != 0 {
		t.Errorf("a stranger hears %d", n)
	}
}

// Where nobody answered in time, those who may then are told, too, once.
func TestTellsThoseToWhomItGoes(t *testing.T) {
	h, at := newHouse(), fakepush.Start(t)
	s, _ := h.sender(t, at.Client())
	phone, lead := subscribes(t, s, at, "s-ana", ana), subscribes(t, s, at, "s-eve", eve)
	s.Noticed(asks("a1"))
	phone.Wait(1)
	h.change(func() { h.sees[eve] = true })
	wider := asks("a1")
	wider.Turn.Beside = []turn.Beside{{Slot: "escalated-a1"}}
	for range 3 {
		s.Noticed(wider)
	}
	lead.Wait(1)
	s.Noticed(asks("a2"))
	if got := lead.Wait(2); !strings.Contains(got[0].Text, `"tag":"a1"`) || !strings.Contains(got[1].Text, `"tag":"a2"`) {
		t.Errorf("the lead hears %+v", got)
	}
}

// A session that has ended, or is another's, is no device any more; nor is one that the service no longer knows.
func TestForgetsDevices(t *testing.T) {
	h, at := newHouse(), fakepush.Start(t)
	s, _ := h.sender(t, at.Client())
	phone, desk := subscribes(t, s, at, "s-ana", ana), subscribes(t, s, at, "s-ana-2", ana)
	phone.Ends()
	s.Noticed(asks("a1"))
	desk.Wait(1)
	phone.WaitTried(1)
	if got := <-h.dropped; got != "s-ana" {
		t.Errorf("%s is forgotten", got)
	}
	h.change(func() { h.sessions["s-ana-2"] = eve })
	s.Noticed(asks("a2"))
	if got := <-h.dropped; got != "s-ana-2" {
		t.Errorf("%s is forgotten", got)
	}
	old := subscribes(t, s, at, "s-eve", eve)
	h.change(func() { delete(h.sessions, "s-eve"); h.sees[eve] = true; h.devices["s-odd"] = []byte("{") })
	s.Noticed(asks("a3"))
	if a, b := <-h.dropped, <-h.dropped; a+b != "s-odds-eve" && a+b != "s-eves-odd" {
		t.Errorf("%s and %s are forgotten", a, b)
	}
	if len(desk.Got()) != 1 || old.Tried() != 0 {
		t.Error("somebody is told who has signed out")
	}
}

// reply is a service that answers as it is told.
type reply func(*http.Request) (*http.Response, error)

func (f reply) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(code int, headers ...string) *http.Response {
	w := httptest.NewRecorder()
	for i := 0; i+1 < len(headers); i += 2 {
		w.Header().Set(headers[i], headers[i+1])
	}
	w.WriteHeader(code)
	return w.Result()
}

// What may be taken later is tried again when the service said so, as long as the question waits for its person; what may not is not.
func TestTriesAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []int
		after   string
		then    func(*house) // after the first try
		keyless error        // before it
		says    string       // in the log, which is empty where it was taken at last
		tries   int
		atLeast time.Duration
		left    int
	}{
		"taken":               {answers: []int{201}, tries: 1, left: 1},
		"busy":                {answers: []int{429, 201}, after: "120", tries: 2, atLeast: 2 * time.Minute, left: 1},
		"busy, of Microsoft":  {answers: []int{406, 201}, after: "900", tries: 2, atLeast: 15 * time.Minute, left: 1},
		"broken for a while":  {answers: []int{500, 503, 201}, tries: 3, atLeast: 6 * time.Second, left: 1},
		"broken":              {answers: []int{500}, tries: tries, left: 1},
		"busy for too long":   {answers: []int{429}, after: "7200", tries: 1, left: 1},
		"not taken":           {answers: []int{403}, tries: 1, left: 1},
		"too large":           {answers: []int{413}, tries: 1, left: 1},
		"moved":               {answers: []int{307}, tries: 1, left: 1},
		"unknown":             {answers: []int{404}, tries: 1},
		"gone":                {answers: []int{410}, tries: 1},
		"no answer":           {answers: []int{0, 201}, tries: 2, left: 1},
		"within":              {answers: []int{-1}, tries: 1, left: 1},
		"answered meanwhile":  {answers: []int{500, 201}, then: func(h *house) { h.now = turn.Session{Chat: thread} }, tries: 1, left: 1},
		"asked anew":          {answers: []int{500, 201}, then: func(h *house) { h.now.Turn.Calls[0].Ask = "a2" }, tries: 1, left: 1},
		"theirs no more":      {answers: []int{500, 201}, then: func(h *house) { h.sees[ana] = false }, tries: 1, left: 1},
		"nobody knows":        {answers: []int{500, 201}, then: func(h *house) { h.unknown = errors.New("down") }, tries: 1, left: 1, says: "it is not known"},
		"no key at first":     {answers: []int{201}, keyless: errors.New("down"), tries: 1, atLeast: time.Second, left: 1},
		"signed out":          {answers: []int{500, 201}, then: func(h *house) { delete(h.sessions, "s-ana") }, tries: 1, left: 1},
		"gone and subscribed": {answers: []int{410}, then: func(h *house) { h.devices["s-ana"] = append([]byte(" "), h.devices["s-ana"]...) }, tries: 1, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, tried, began := newHouse(), 0, time.Now()
				var last time.Time
				s, stop := h.sender(t, &http.Client{Transport: reply(func(r *http.Request) (*http.Response, error) {
					if r.Body.Close(); r.Header.Get("Authorization") == "" {
						t.Error("nobody signs it")
					}
					tried, last = tried+1, time.Now()
					if tried == 1 && tt.then != nil {
						h.change(func() { tt.then(h) })
					}
					switch code := tt.answers[min(tried, len(tt.answers))-1]; code {
					case 0:
						return nil, errors.New("reset")
					case -1:
						return nil, fmt.Errorf("dial: %w", errInside)
					default:
						return answer(code, "Retry-After", tt.after, "Location", "https://10.0.0.1/"), nil
					}
				}), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
				h.now, h.keyless = asks("a1"), tt.keyless
				if err := s.Put(t.Context(), "s-ana", ana, "http://localhost:8080", browsers(t)); err != nil {
					t.Fatal(err)
				}
				s.Noticed(asks("a1"))
				time.Sleep(3 * time.Hour) //nolint:forbidigo // of the bubble
				stop()
				if tried != tt.tries || last.Sub(began) < tt.atLeast {
					t.Errorf("%d tries, the last after %v", tried, last.Sub(began))
				}
				if len(h.devices) != tt.left {
					t.Errorf("%d devices are left", len(h.devices))
				}
				taken := tt.answers[min(tried, len(tt.answers))-1] == 201
				if log := h.log.String(); strings.Contains(log, "secret-path") || strings.Contains(log, "run_query") || !strings.Contains(log, tt.says) || taken && log != "" {
					t.Errorf("the log says %s", log)
				}
				if asked := 1 + strings.Count(fmt.Sprint(tt.keyless), "down"); h.keyed != asked {
					t.Errorf("the key was asked for %d times", h.keyed)
				}
			})
		})
	}
}

// browsers is a subscription that no service knows.
func browsers(t *testing.T) (s Subscription) {
	t.Helper()
	k, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.Endpoint, s.Keys.P256dh, s.Keys.Auth = "https://push.example.net/secret-path", base64.URLEncoding.EncodeToString(k.PublicKey().Bytes()), "BTBZMqHH6r4Tts7J_aSIgg=="
	return s
}

// A stop waits for what is on its way, and not for what would be tried again; a service that does not answer is not waited for long.
func TestStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, tried := newHouse(), make(chan struct{}, 10)
		s, stop := h.sender(t, &http.Client{Transport: reply(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			tried <- struct{}{}
			h.mu.Lock()
			asked := len(h.once)
			h.mu.Unlock()
			switch asked {
			case 1:
				return answer(503, "Retry-After", "600"), nil
			case 2:
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return answer(201), nil
		})})
		if err := s.Put(t.Context(), "s-ana", ana, "", browsers(t)); err != nil {
			t.Fatal(err)
		}
		s.Noticed(asks("a1"))
		<-tried
		s.Noticed(asks("a2"))
		<-tried
		synctest.Wait()
		began := time.Now()
		stop()
		if took := time.Since(began); took > draining {
			t.Errorf("it took %v", took)
		}
		s, stop = h.sender(t, s.Client)
		s.Noticed(asks("a3"))
		stop() // what was noticed before is sent
		if len(tried) != 1 {
			t.Errorf("%d were sent at the end", len(tried))
		}
	})
}

// A store that does not answer is asked again when the chat moves. Nobody gets more than they can look at, and a turn never waits.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, tried := newHouse(), 0
		s, _ := h.sender(t, &http.Client{Transport: reply(func(r *http.Request) (*http.Response, error) {
			tried++
			return answer(201), r.Body.Close()
		})})
		if err := s.Put(t.Context(), "s-ana", ana, "", browsers(t)); err != nil {
			t.Fatal(err)
		}
		hears := func(of turn.Session) {
			s.Noticed(of)
			synctest.Wait()
		}
		hears(turn.Session{Chat: thread})
		h.change(func() { h.sees[ana] = false })
		hears(asks("a0"))
		if len(h.once) > 0 {
			t.Errorf("the store is asked for the turn of nobody: %v", h.once)
		}
		h.change(func() { h.sees[ana] = true })
		// Whatever the store does not answer, nobody is told, nothing is forgotten, and the next that moves brings it again.
		for n, down := range []*error{&h.unknown, &h.stuck} {
			ask := asks(fmt.Sprint("s", n), turn.ToolCall{ID: "ran", Status: turn.Done})
			h.change(func() { *down = errors.New("down"); h.sessions["s-ana"] = []chat.User{ana, eve}[n] })
			hears(ask)
			if tried != n || len(h.devices) != 1 || strings.Count(h.log.String(), "were not notified") != n+1 {
				t.Errorf("%d tries, %d devices: %s", tried, len(h.devices), h.log.String())
			}
			h.change(func() { *down = nil; h.sessions["s-ana"] = ana })
			hears(ask)
		}
		if tried != 2 {
			t.Errorf("%d tries", tried)
		}
		tried = 0
		h.log.Reset()
		h.change(func() { h.down = errors.New("down") })
		s.Noticed(asks("a1"))
		synctest.Wait()
		h.change(func() { h.down = nil })
		s.Noticed(asks("a1"))
		synctest.Wait()
		h.change(func() { h.down = errors.New("down again") })
		s.Noticed(asks("a1")) // of what is dealt with nobody is asked again
		synctest.Wait()
		h.change(func() { h.down = nil })
		if n := strings.Count(h.log.String(), "were not notified"); tried != 1 || n != 1 {
			t.Fatalf("%d tries, %d lines", tried, n)
		}
		for n := range noticedRoom {
			s.Noticed(asks(fmt.Sprint("b", n)))
			synctest.Wait()
		}
		if tried != personBurst-2 {
			t.Errorf("one person was sent %d", tried)
		}
		still := New(Config{Shelf: h, Logger: slog.New(slog.NewTextHandler(h, nil))})
		for range noticedRoom + 1 { // nobody reads
			still.Noticed(asks("c"))
		}
		if n := strings.Count(h.log.String(), "too much waits"); n != 1 {
			t.Errorf("%d lines say that it is too much", n)
		}
	})
}

// Whatever people and servers are called, a push is short, on one line, and has nothing of the arguments.
func TestSaysLittle(t *testing.T) {
	of := asks("a1")
	of.People[0].Name = strings.Repeat("Ana\n\u202e", 100)
	of.Turn.Calls[0].Tool = permission.Tool{Server: strings.Repeat("世", 500), Name: strings.Repeat("\"<b>\x00", 500)}
	b, err := write(of, of.Turn.Calls[0], "/c/"+strings.Repeat("x", 64))
	if err != nil || len(b) > 1024 || strings.Contains(string(b), "wages") || strings.Contains(string(b), "\u202e") {
		t.Errorf("%d bytes, %v: %s", len(b), err, b)
	}
	of = asks("a1")
	of.Turn.Calls[0].Status = turn.Unknown
	if b, err := write(of, of.Turn.Calls[0], "/inbox"); err != nil || !strings.Contains(string(b), "Otto asks: run_query from db needs your answer") {
		t.Errorf("%v: %s", err, b)
	}
}

func TestLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, -time.Hour: time.Second, 100 * 24 * time.Hour: longest} {
			if got := lasts(turn.Wait{Deadline: time.Now().Add(left)}); got != want {
				t.Errorf("%v left: %v", left, got)
			}
		}
		if got := lasts(turn.Wait{}); got != parked {
			t.Errorf("for ever: %v", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	for says, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "30": 30 * time.Second, "99999999999": longest, "99999999999999999999": longest, "Sat, 14 Mar 2026 14:01:00 GMT": time.Minute, "Sat, 14 Mar 2020 14:01:00 GMT": 0, "Sat, 14 Mar 2099 14:01:00 GMT": longest,
	} {
		if got := retryAfter(says, now); got != want {
			t.Errorf("%q: %v, want %v", says, got, want)
		}
	}
}
