package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gorilla/websocket"
)

// recorder is a connection that is read from and written to memory.
type recorder struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
	end bool
}

func (r *recorder) Read(p []byte) (int, error)       { return r.in.Read(p) }
func (r *recorder) Write(p []byte) (int, error)      { return r.out.Write(p) }
func (r *recorder) Close() error                     { r.end = true; return nil }
func (r *recorder) SetReadDeadline(time.Time) error  { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) SetDeadline(time.Time) error      { return nil }

const upgraded = "HTTP/1.1 101 Switching Protocols\r\n\r\n"

// An IDENTIFY leaves only with a ticket, however it is cut into frames and writes, and a close frame only at the end.
func TestWhatMayLeave(t *testing.T) {
	t.Parallel()
	identify := []byte(` {"d":{"token":"x"},"op":2}`)
	frames := func(parts int, payload []byte) (out []byte) {
		for i := range parts {
			part := payload[len(payload)*i/parts : len(payload)*(i+1)/parts]
			f := textFrame(part, [4]byte{1, 2, 3, byte(i)})
			if i > 0 {
				f[0] &^= frameText
			}
			if i < parts-1 {
				f[0] &^= 0x80
			}
			out = append(out, f...)
		}
		return out
	}
	closing := []byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8}
	for name, c := range map[string]struct {
		b              []byte
		ticket, ending bool
		leaves         bool
	}{
		"IDENTIFY":                    {b: frames(1, identify)},
		"IDENTIFY in parts":           {b: frames(3, identify)},
		"IDENTIFY twice in an object": {b: frames(1, []byte(`{"op":1,"op":2}`))},
		"IDENTIFY in capitals":        {b: frames(1, []byte(`{"OP":2}`))},
		"IDENTIFY, very long":         {b: frames(9, append(bytes.Repeat([]byte(" "), 9*100), identify...)), ticket: true, leaves: true},
		"too long to be looked at":    {b: frames(60, append(bytes.Repeat([]byte(" "), 60*110), identify...)), ticket: true},
		"IDENTIFY with a ticket":      {b: frames(2, identify), ticket: true, leaves: true},
		"RESUME":                      {b: frames(1, []byte(`{"op":6}`)), leaves: true},
		"no JSON":                     {b: frames(1, []byte(`x`))},
		"no op":                       {b: frames(1, []byte(`{}`))},
		"close":                       {b: closing},
		"close at the end":            {b: closing, ending: true, leaves: true},
		"no frame":                    {b: []byte{0x83, 0x80, 0, 0, 0, 0}},
		"pong":                        {b: []byte{0x8a, 0x80, 0, 0, 0, 0}, leaves: true},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			r := &recorder{}
			w := newWire(r, time.Hour)
			has := c.ticket
			w.ticket = func() bool { was := has; has = false; return was }
			w.ending.Store(c.ending)
			ask := "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
			all := append([]byte(ask), c.b...)
			var err error
			for len(all) > 0 && err == nil {
				n := min(step, len(all))
				_, err = w.Write(all[:n])
				all = all[n:]
			}
			got := strings.TrimPrefix(r.out.String(), ask)
			if c.leaves && (err != nil || got != string(c.b)) {
				t.Errorf("%s, %d at a time: %v, %d bytes left, want %d", name, step, err, len(got), len(c.b))
			}
			if !c.leaves && (err == nil || strings.Contains(unmaskedText(got), "op") && got != "") {
				t.Errorf("%s, %d at a time: %v, %q left", name, step, err, got)
			}
			if c.leaves {
				continue
			}
			if _, err := w.Write(frames(1, identify)); err == nil {
				t.Errorf("%s: afterwards an IDENTIFY leaves", name)
			}
		}
	}
}

func unmaskedText(s string) string {
	var out []byte
	var sp splitter
	_ = sp.feed([]byte(s), func(p framed) error { out = append(out, p.payload...); return nil })
	return string(out)
}

// What one side sends arrives as it was sent, in whatever pieces it comes, and every small message is seen whole: gorilla writes, and
// gorilla reads what the splitter let by.
func TestSplitterAgainstGorilla(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		stream, sent := chatter(t, r, seed%2 == 0)
		passed, seen := split(t, r, stream)
		if got := heardBy(t, seed%2 != 0, passed); len(passed) != len(stream) || !slices.Equal(got, sent) {
			t.Fatalf("seed %d: of %d messages in %d bytes %d messages in %d bytes arrived, or others", seed, len(sent), len(stream), len(got), len(passed))
		}
		var small []string
		for _, m := range sent {
			if len(m) <= maxHeld {
				small = append(small, m)
			}
		}
		if !slices.Equal(seen, small) {
			t.Fatalf("seed %d: %d of %d small messages were seen whole", seed, len(seen), len(small))
		}
	}
}

// chatter is what one side sends: messages of all sizes, in fragments of all sizes, with control frames between.
func chatter(t *testing.T, r *rand.Rand, server bool) (stream []byte, messages []string) {
	t.Helper()
	var out bytes.Buffer
	c := gorilla(t, server, 1+r.IntN(5000), nil, &out)
	for range 1 + r.IntN(8) {
		size := []int{0, 1, 125, 126, maxHeld - 1, maxHeld, maxHeld + 1, 65535, 65536, r.IntN(200_000)}[r.IntN(10)]
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		m, err := c.NextWriter(websocket.BinaryMessage)
		if err != nil {
			t.Fatal(err)
		}
		for rest := b; len(rest) > 0; {
			n := min(1+r.IntN(6000), len(rest))
			_, _ = m.Write(rest[:n])
			rest = rest[n:]
			if r.IntN(3) == 0 {
				_ = c.WriteControl(websocket.PingMessage, b[:min(len(b), r.IntN(maxControl+1))], time.Time{})
			}
		}
		_ = m.Close()
		messages = append(messages, string(b))
	}
	return out.Bytes(), messages
}

// split feeds a stream in pieces of all sizes. seen are the messages that came whole.
func split(t *testing.T, r *rand.Rand, stream []byte) (passed []byte, seen []string) {
	t.Helper()
	var s splitter
	for len(stream) > 0 {
		n := min(1+r.IntN(10_000), len(stream))
		if r.IntN(2) == 0 {
			n = min(1+r.IntN(5), len(stream))
		}
		err := s.feed(stream[:n], func(p framed) error {
			passed = append(passed, p.raw...)
			if p.whole && p.op < frameClose {
				seen = append(seen, string(p.payload))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	if !s.idle() {
		t.Fatal("something is left")
	}
	return passed, seen
}

func heardBy(t *testing.T, server bool, stream []byte) (messages []string) {
	t.Helper()
	c := gorilla(t, server, 0, bytes.NewReader(stream), io.Discard)
	for {
		_, m, err := c.ReadMessage()
		if err != nil {
			return messages
		}
		messages = append(messages, string(m))
	}
}

// switched is a connection that is in memory once in and out are set.
type switched struct {
	net.Conn
	in  io.Reader
	out io.Writer
}

func (s *switched) Read(p []byte) (int, error) {
	if s.out != nil && s.in == nil {
		return 0, io.EOF
	}
	if s.in != nil {
		return s.in.Read(p)
	}
	return s.Conn.Read(p)
}

func (s *switched) Write(p []byte) (int, error) {
	if s.out != nil {
		return s.out.Write(p)
	}
	return s.Conn.Write(p)
}

type hijacked struct {
	*httptest.ResponseRecorder
	c net.Conn
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.c, bufio.NewReadWriter(bufio.NewReader(h.c), bufio.NewWriter(h.c)), nil
}

// gorilla is one end of a websocket connection that reads and writes in memory.
func gorilla(t *testing.T, server bool, buffer int, in io.Reader, out io.Writer) *websocket.Conn {
	t.Helper()
	here, there := net.Pipe()
	us, them := &switched{Conn: here}, &switched{Conn: there}
	upgraded := make(chan *websocket.Conn, 1)
	go func() {
		r, err := http.ReadRequest(bufio.NewReader(them))
		if err != nil {
			return
		}
		up := websocket.Upgrader{WriteBufferSize: buffer}
		c, _ := up.Upgrade(hijacked{httptest.NewRecorder(), them}, r, nil)
		upgraded <- c
	}()
	d := websocket.Dialer{WriteBufferSize: buffer, NetDialContext: func(context.Context, string, string) (net.Conn, error) { return us, nil }}
	client, _, err := d.Dial("ws://x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	served := <-upgraded
	for _, s := range []*switched{us, them} {
		s.in, s.out = in, out
	}
	if server {
		return served
	}
	return client
}

// Whatever bytes come, nothing panics, nothing is invented, and what is held back stays small.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte{0x81, 0x02, 'h', 'i', 0x88, 0x02, 0x03, 0xe8}, 3)
	f.Add([]byte{0x01, 0x7e, 0x20, 0x00, 'x', 0x89, 0x00, 0x80, 0x01, 'y'}, 1)
	f.Add(append([]byte{0x01, 0x00}, bytes.Repeat([]byte{0, 0}, maxHeads)...), maxHeads)
	f.Add([]byte{0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, 5)
	f.Fuzz(func(t *testing.T, b []byte, step int) {
		var s splitter
		n, held := 0, 0
		for len(b) > 0 {
			part := b[:min(len(b), max(step, 1))]
			b = b[len(part):]
			err := s.feed(part, func(p framed) error {
				n += len(p.raw)
				if p.whole && len(p.payload) > maxHeld {
					t.Errorf("%d bytes held", len(p.payload))
				}
				return nil
			})
			held += len(part)
			if err != nil {
				return
			}
			if kept := len(s.raw) + len(s.held); n+kept != held || kept > maxHeads+2*maxHeld+len(part) {
				t.Fatalf("of %d bytes %d went by and %d are kept", held, n, kept)
			}
		}
	})
}

func TestWhatAreNoFrames(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"goes on with nothing":     {0x80, 0x00},
		"begins in the middle":     {0x01, 0x00, 0x81, 0x00},
		"a control frame in parts": {0x09, 0x00},
		"a long control frame":     {0x89, 126, 0, 126},
		"an unknown kind":          {0x83, 0x00},
		"longer than there is":     {0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0},
	} {
		var s splitter
		if err := s.feed(b, func(framed) error { return nil }); !errors.Is(err, errFrames) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Our answer to op 1 never comes between the parts of what discordgo sends.
func TestAHeartbeatOfOursWaitsForNoHalfFrame(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	w := newWire(r, time.Hour)
	if w.beat() {
		t.Error("before the upgrade was asked for")
	}
	_, _ = w.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	r.out.Reset()
	frame := textFrame([]byte(`{"op":6}`), [4]byte{1, 2, 3, 4})
	_, _ = w.Write(frame[:5])
	if w.beat() || r.out.Len() != 0 {
		t.Error("in the middle of a frame")
	}
	_, _ = w.Write(frame[5:])
	if !w.beat() || unmaskedText(r.out.String()) != `{"op":6}{"op":1,"d":null}` {
		t.Errorf("sent %q", unmaskedText(r.out.String()))
	}
}

// What is no websocket is for gorilla to complain about.
func TestWhatIsNoWebsocketIsLetBy(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"a page":     "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\n\x81\x02hi",
		"no frames":  upgraded + "\x83\x00 and so on",
		"no headers": strings.Repeat("x", 3*maxHeadline),
		"frames":     upgraded + "\x81\x0a{\"op\":110}\x89\x00",
	} {
		w := newWire(&recorder{in: iotest.OneByteReader(strings.NewReader(answer))}, time.Hour)
		got, err := io.ReadAll(w)
		if err != nil || string(got) != answer {
			t.Errorf("%s: %v, %q", name, err, got[:min(len(got), 100)])
		}
		if len(w.head) > maxHeadline+1 {
			t.Errorf("%s: %d bytes are kept", name, len(w.head))
		}
	}
	w := newWire(&recorder{in: strings.NewReader("HTTP/1.1 503 Service Unavailable\r\n\r\n")}, time.Hour)
	if _, _ = io.ReadAll(w); !strings.Contains(w.reason.Load().say, "503") {
		t.Errorf("it ended because %s", w.reason.Load().say)
	}
}

// Both of discordgo's goroutines close a connection that has ended, a second long each, and the later one closes the next one.
func TestOneGoroutineIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	beat := textFrame([]byte(`{"op":1,"d":1}`), [4]byte{})
	ready := func() *wire {
		w := newWire(&recorder{in: strings.NewReader(upgraded + "\x81\x08{\"op\":7}")}, time.Hour)
		w.open = true
		return w
	}
	w := ready()
	if _, err := io.ReadAll(w); !errors.Is(err, errKept) {
		t.Error(err)
	}
	if n, err := w.Write(textFrame([]byte(`{"op":2}`), [4]byte{})); err != nil || n == 0 {
		t.Errorf("after the reader, who writes was told: %v", err)
	}
	w = ready()
	_, _ = w.Write(beat)
	if _, err := w.Write(beat); !errors.Is(err, errKept) {
		t.Error(err)
	}
	read := make(chan error)
	go func() { _, err := io.ReadAll(w); read <- err }()
	select {
	case err := <-read:
		t.Errorf("after who writes, the reader was told: %v", err)
	default:
	}
	_ = w.Close()
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestTheGatewayThroughTLSAndAProxy(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	gateway.Config.ErrorLog = log.New(io.Discard, "", 0)
	gateway.StartTLS()
	defer gateway.Close()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		there, err := net.Dial("tcp", r.Host) //nolint:noctx // a test
		if err != nil {
			t.Error(err)
			return
		}
		here, _, _ := w.(http.Hijacker).Hijack()
		_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() { defer there.Close(); _, _ = io.Copy(there, here) }()
		defer here.Close()
		_, _ = io.Copy(here, there)
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	roots := gateway.Client().Transport.(*http.Transport).TLSClientConfig
	get := func(tr *http.Transport) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c, err := dialerOf(&http.Client{Transport: tr}).connect(ctx, strings.TrimPrefix(gateway.URL, "https://"), true)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c, "GET / HTTP/1.0\r\n\r\n")
		b, err := io.ReadAll(c)
		return string(b), err
	}
	as := *at
	as.User = url.UserPassword("ana", "secret")
	socks := url.URL{Scheme: "socks5", Host: at.Host}
	for name, c := range map[string]struct {
		tr   *http.Transport
		want string // of the error; empty: it works
	}{
		"plainly":            {&http.Transport{TLSClientConfig: roots}, ""},
		"without the roots":  {&http.Transport{}, "certificate"},
		"through a proxy":    {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&as)}, ""},
		"a proxy says no":    {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(at)}, "407"},
		"a proxy of a kind":  {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&socks)}, "socks5"},
		"a proxy of no sort": {&http.Transport{TLSClientConfig: roots, Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("http://ana:secret@") }}, "HTTPS_PROXY"},
		"a proxy is no more": {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})}, "refused"},
	} {
		got, err := get(c.tr)
		switch {
		case c.want == "" && (err != nil || !strings.HasSuffix(got, "here")):
			t.Errorf("%s: %v, %q", name, err, got)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 2 || !strings.Contains(strings.Join(asked, "|"), "CONNECT "+strings.TrimPrefix(gateway.URL, "https://")+" Basic YW5hOnNlY3JldA==") {
		t.Errorf("the proxy was asked %q", asked)
	}
}
