package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/permission"
)

// patience bounds what a test waits for; it never decides anything.
const patience = 2 * time.Minute

// alive is a bot that runs, with the real web API and the scripted model unless the configuration says otherwise.
type alive struct {
	*bot
	t    *testing.T
	url  string
	stop func()
}

func running(t *testing.T, change func(*config.Config)) alive {
	t.Helper()
	c := config.Default()
	c.Listen, c.DataDir = "127.0.0.1:0", t.TempDir()
	if change != nil {
		change(&c)
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b, err := wire(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { _ = b.serve(ctx, ln, nil) })
	a := alive{b, t, "http://" + ln.Addr().String(), sync.OnceFunc(func() { cancel(); served.Wait(); b.close() })}
	t.Cleanup(a.stop)
	if _, err := get(a.url + "/healthz"); err != nil { // answers once everything is started
		t.Fatal(err)
	}
	return a
}

// file is what stands in a file of the workbench, or "(missing)".
func (a alive) file(name string) string {
	b, err := os.ReadFile(filepath.Join(a.config.DataDir, "workspace", name))
	if err != nil {
		return "(missing)"
	}
	return string(b)
}

// screen is what stands on a terminal.
type screen struct {
	mu    sync.Mutex
	text  string
	seen  int
	moved chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	close(s.moved)
	s.moved = make(chan struct{})
	return len(b), nil
}

func (s *screen) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.text }

// seat is nod chat with a person at it.
type seat struct {
	t       *testing.T
	out     *screen
	errs    *screen
	keys    *io.PipeWriter
	signals chan os.Signal
	code    chan int
}

func newScreen() *screen { return &screen{moved: make(chan struct{})} }

func atTerminal(t *testing.T, env map[string]string, args ...string) *seat {
	t.Helper()
	return typing(t, true, env, args...)
}

func typing(t *testing.T, person bool, env map[string]string, args ...string) *seat {
	t.Helper()
	r, w := io.Pipe()
	k := &seat{t, newScreen(), newScreen(), w, make(chan os.Signal, 2), make(chan int, 1)}
	p := process{args: append([]string{"chat"}, args...), Process: command.Process{Stdin: r, Terminal: person, Stdout: k.out, Stderr: k.errs, Signals: k.signals,
		Exit: func(code int) { t.Errorf("exit(%d) was called", code) }, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}}
	go func() { k.code <- p.main(); _ = r.Close() }()
	t.Cleanup(func() { _ = w.Close() })
	return k
}

// until waits for words on the screen, after those that were waited for before.
func (k *seat) until(words string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	for {
		k.out.mu.Lock()
		at, moved := strings.Index(k.out.text[k.out.seen:], words), k.out.moved
		if at >= 0 {
			k.out.seen += at + len(words)
		}
		k.out.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-moved:
		case code := <-k.code:
			k.t.Fatalf("it ended with %d before it said %q:\n%s\n%s", code, words, k.out, k.errs)
		case <-ctx.Done():
			k.t.Fatalf("it never said %q:\n%s\n%s", words, k.out, k.errs)
		}
	}
}

func (k *seat) typed(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.keys, text); err != nil {
		k.t.Fatal(err)
	}
}

func (k *seat) ends(code int) {
	k.t.Helper()
	select {
	case got := <-k.code:
		if got != code {
			k.t.Errorf("the code is %d, want %d\n%s\n%s", got, code, k.out, k.errs)
		}
	case <-time.After(patience):
		k.t.Fatalf("it does not end:\n%s", k.out)
	}
}

// What nod chat says.
const (
	sayTooEarly = "This was typed before the question stood here, so it was not taken."
	sayStopping = "Stopping. Ctrl-C again leaves at once."
	sayNotTaken = "Not taken: "
	interrupted = 130
	maxPiped    = 64 << 10

	threeWords = "[s]ession  [o]nce  [d]eny (d): "
	twoWords   = "[o]nce  [d]eny (d): "
)

// S, o and d, and d is what everything else means.
// R171
func TestChatAnswers(t *testing.T) {
	b := running(t, nil)
	for _, tt := range []struct{ typed, file string }{
		{"o\n", "hello"}, {" O \r\n", "hello"}, {"s\n", "hello"},
		{"d\n", "(missing)"}, {"\n", "(missing)"}, {"yes\n", "(missing)"}, {"so\n", "(missing)"}, {"allow\n", "(missing)"}, {"once\n", "(missing)"}, {"h\n", "(missing)"}, {"о\n", "(missing)"}, // the last is Cyrillic
	} {
		t.Run(fmt.Sprintf("%q", tt.typed), func(t *testing.T) {
			_ = os.Remove(filepath.Join(b.config.DataDir, "workspace", "notes.txt"))
			k := atTerminal(t, nil, "-url", b.url, "write", "hello", "to", "notes.txt")
			k.until("Allow tool call from workbench? · Run write_file from workbench\n")
			k.until("path: notes.txt\n    content: hello\n") // as the tool's schema has them
			k.until("Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools.\nReview each action carefully before approving\n")
			k.until("session: Allow for this chat")
			k.until(threeWords)
			if got := b.file("notes.txt"); got != "(missing)" {
				t.Fatalf("before any answer the file says %q", got)
			}
			k.typed(tt.typed)
			k.ends(command.OK)
			if got := b.file("notes.txt"); got != tt.file {
				t.Errorf("the file says %q, want %q\n%s", got, tt.file, k.out)
			}
		})
	}
}

// What a card masks is allowed by who looked at it, at a terminal too.
func TestChatShowsWhatIsHidden(t *testing.T) {
	b := running(t, nil)
	const words = "[v]iew what is hidden  [o]nce  [d]eny (d): "
	k := atTerminal(t, nil, "-url", b.url)
	k.until("> ")
	k.typed("write password=hunter2 to notes.txt\n")
	k.until(words)
	if strings.Contains(k.out.String(), "hunter2") {
		t.Errorf("it is shown unasked:\n%s", k.out)
	}
	k.typed("v\n")
	k.until("password=hunter2")
	k.until(words)
	k.typed("o\n")
	k.until("> ")
	if b.file("notes.txt") != "password=hunter2" {
		t.Errorf("the file says %q\n%s", b.file("notes.txt"), k.out)
	}
	_ = k.keys.Close()
	k.ends(command.OK)
}

// Session is for this chat, and once is for once.
// R171
func TestChatTurnAfterTurn(t *testing.T) {
	b := running(t, nil)
	k := atTerminal(t, nil, "-url", b.url)
	k.until("> ")
	k.typed("write one to a.txt\n")
	k.until(threeWords)
	k.typed("o\n")
	k.until("> ")
	k.typed("write two to a.txt\n")
	k.until(threeWords)
	k.typed("s\n")
	k.until("> ")
	k.typed("write three to a.txt\n")
	k.until("> ")
	if got := b.file("a.txt"); got != "three" || strings.Count(k.out.String(), threeWords) != 2 {
		t.Errorf("a.txt says %q, and it asked %d times, want three and 2\n%s", got, strings.Count(k.out.String(), threeWords), k.out)
	}
	k.typed("/permissions show\n")
	k.until("write_file")
	k.until("> ")
	_ = k.keys.Close()
	k.ends(command.OK)
	if strings.Contains(k.out.String(), "(): ") {
		t.Errorf("it asks about nothing:\n%s", k.out)
	}
	if !strings.Contains(k.errs.String(), b.url+"/c/c-") {
		t.Errorf("it does not say where the chat is: %s", k.errs)
	}
}

// With nobody at a terminal everything is denied, whatever is piped in.
// R171
func TestChatWithoutATerminalDenies(t *testing.T) {
	b := running(t, nil)
	for name, tt := range map[string]struct {
		args  []string
		stdin io.Reader
	}{
		"closed":             {[]string{"write", "hello", "to", "notes.txt"}, nil},
		"approvals piped in": {[]string{"write", "hello", "to", "notes.txt"}, strings.NewReader("o\ns\nyes\n")},
		"words piped in":     {nil, strings.NewReader("write hello\no\n to notes.txt\n")},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			p := process{args: append([]string{"chat", "-url", b.url}, tt.args...), Process: command.Process{Stdin: tt.stdin, Stdout: &out, Stderr: &errs,
				Env: func(string) (string, bool) { return "", false }}}
			if code := p.main(); code != command.OK {
				t.Errorf("code %d\n%s%s", code, &out, &errs)
			}
			if b.file("notes.txt") != "(missing)" || !strings.Contains(out.String(), threeWords+"nobody is at this terminal: deny") {
				t.Errorf("the file says %q\n%s", b.file("notes.txt"), &out)
			}
		})
	}
	t.Run("piped in while it asks", func(t *testing.T) {
		k := typing(t, false, nil, "-url", b.url, "write hello to notes.txt")
		var writing sync.WaitGroup
		defer writing.Wait()
		k.until(threeWords)
		writing.Go(func() { _, _ = io.WriteString(k.keys, "o\n") }) // nobody reads it
		k.ends(command.OK)
		if b.file("notes.txt") != "(missing)" {
			t.Errorf("it was written:\n%s", k.out)
		}
	})
	for _, words := range [][]string{{"write hello to notes.txt"}, nil} {
		t.Run("the terminal is closed while it asks", func(t *testing.T) {
			k := atTerminal(t, nil, append([]string{"-url", b.url}, words...)...)
			if words == nil { // what comes after the turn is nothing
				k.until("> ")
				k.typed("write hello to notes.txt\n")
			}
			k.until(threeWords)
			k.typed("o") // nobody finished this line
			_ = k.keys.Close()
			k.ends(command.OK)
			if b.file("notes.txt") != "(missing)" {
				t.Errorf("it was written:\n%s", k.out)
			}
		})
	}
}

// What was typed before a question stood there does not answer it.
// R171
func TestChatTakesNoAnswerFromBeforeTheQuestion(t *testing.T) {
	b := running(t, nil)
	k := atTerminal(t, nil, "-url", b.url, "write one to a.txt and write two to b.txt")
	k.until(threeWords)
	k.typed("o\ns\n") // the second was typed at the first question
	k.until(sayTooEarly)
	k.until(threeWords)
	if got := b.file("b.txt"); got != "(missing)" {
		t.Fatalf("b.txt says %q", got)
	}
	k.typed("d\n")
	k.ends(command.OK)
	if a, two := b.file("a.txt"), b.file("b.txt"); a != "one" || two != "(missing)" {
		t.Errorf("a.txt says %q and b.txt %q\n%s", a, two, k.out)
	}
}

// Nothing that cannot be seen reaches the terminal, and a card shows it.
func TestChatShowsHiddenCharacters(t *testing.T) {
	b := running(t, nil)
	k := atTerminal(t, nil, "-url", b.url, "write hel\u202elo\x1b[2J to notes.txt")
	k.until(`content: "hel\u{202E}lo\u{001B}[2J"`)
	k.until(threeWords)
	k.typed("d\n")
	k.ends(command.OK)
	if strings.ContainsAny(k.out.String()+k.errs.String(), "\u202e\x1b") {
		t.Errorf("a hidden character is on the terminal: %q", k.out)
	}
}

func TestChatShowsAllArguments(t *testing.T) {
	b := running(t, nil)
	long := strings.Repeat("abcdefghi ", 2000) + "THE END"
	k := atTerminal(t, nil, "-url", b.url, "write "+long+" to notes.txt")
	k.until("THE END")
	k.until(threeWords)
	k.typed("\n")
	k.ends(command.OK)
}

// An interrupt stops the turn: nothing runs, and the code says so.
func TestChatInterrupted(t *testing.T) {
	b := running(t, nil)
	k := atTerminal(t, nil, "-url", b.url, "write hello to notes.txt")
	k.until(threeWords)
	k.signals <- syscall.SIGINT
	k.until(sayStopping)
	k.ends(interrupted)
	if got := b.file("notes.txt"); got != "(missing)" {
		t.Errorf("the file says %q", got)
	}
	again := atTerminal(t, nil, "-url", b.url, "write hello to notes.txt")
	again.until(threeWords)
	b.stop() // so that nothing comes of the first
	again.signals <- syscall.SIGINT
	again.until(sayStopping)
	again.signals <- syscall.SIGINT
	again.ends(interrupted)
	b = running(t, nil)
	idle := atTerminal(t, nil, "-url", b.url)
	idle.until("> ")
	idle.signals <- syscall.SIGINT
	idle.ends(command.OK)
}

// What an admin has to decide is asked without a session, of an admin's key.
func TestChatAsAnAdmin(t *testing.T) {
	auth := func(c *config.Config) {
		c.AdminSessionKeys = []config.Secret{"the-admin-key"}
		c.Permissions.Servers = map[string]config.ServerPolicy{config.Workbench: {Tools: map[string]config.ToolPolicy{
			"write_file": {Approval: &adminLevel},
		}}}
	}
	b := running(t, auth)
	admin := map[string]string{"NOD_SESSION_KEY": " the-admin-key "}
	k := atTerminal(t, admin, "-url", b.url, "write hello to notes.txt")
	k.until(twoWords)
	k.typed("s\n") // not offered: it denies
	k.ends(command.OK)
	if got := b.file("notes.txt"); got != "(missing)" || strings.Contains(k.out.String(), "[s]ession") {
		t.Errorf("the file says %q\n%s", got, k.out)
	}
	k = atTerminal(t, nil, "-url", b.url, "-key", "the-admin-key", "write hello to notes.txt")
	k.until(twoWords)
	k.typed("o\n")
	k.ends(command.OK)
	if got := b.file("notes.txt"); got != "hello" {
		t.Errorf("the file says %q\n%s", got, k.out)
	}
	// Somebody else may answer and is refused; the admin's page then denies, which ends it.
	k = atTerminal(t, nil, "-url", b.url, "write again to notes.txt")
	k.until(twoWords)
	k.typed("o\n")
	k.until(sayNotTaken + "Only an admin can decide this.")
	k.signals <- syscall.SIGINT
	k.ends(interrupted)
	if got := b.file("notes.txt"); got != "hello" {
		t.Errorf("a stranger wrote %q", got)
	}
}

// Somebody else answers while the question stands on the terminal.
func TestChatAnsweredElsewhere(t *testing.T) {
	b := running(t, func(c *config.Config) { c.AdminSessionKeys = []config.Secret{"k"} })
	k := atTerminal(t, nil, "-url", b.url, "write hello to notes.txt")
	k.until(threeWords)
	asking, err := b.store.Asking(t.Context(), nil)
	if err != nil || len(asking) != 1 {
		t.Fatalf("%v, %v", asking, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/api/v1/chats/"+asking[0].Key+"/asks", strings.NewReader(`{"choice":"deny"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	k.until("denied by admin")
	k.ends(command.OK)
	if got := b.file("notes.txt"); got != "(missing)" {
		t.Errorf("the file says %q", got)
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A stream that breaks is taken up where it was.
func TestChatStreamBreaks(t *testing.T) {
	b := running(t, nil)
	var mu sync.Mutex
	var cuts []context.CancelFunc
	var from []string
	to := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(mustURL(t, b.url)) }} // says nothing of itself
	to.FlushInterval = -1
	to.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = mustURL(t, b.url).Host
		if strings.HasSuffix(r.URL.Path, "/events") {
			ctx, cut := context.WithCancel(r.Context())
			mu.Lock()
			cuts, from = append(cuts, cut), append(from, r.URL.Query().Get("after"))
			mu.Unlock()
			r = r.WithContext(ctx)
			defer func() { _ = recover() }() // the proxy panics where it can only abort
		}
		to.ServeHTTP(w, r)
	}))
	defer s.Close()
	k := atTerminal(t, nil, "-url", s.URL, "write hello to notes.txt")
	k.until(threeWords)
	mu.Lock()
	cuts[0]()
	mu.Unlock()
	k.typed("o\n")
	k.ends(command.OK)
	mu.Lock()
	defer mu.Unlock()
	if from[0] != "0" || from[len(from)-1] == "0" {
		t.Errorf("the streams begin after %v", from)
	}
	if len(cuts) < 2 || b.file("notes.txt") != "hello" {
		t.Errorf("%d streams, the file says %q", len(cuts), b.file("notes.txt"))
	}
	if n := strings.Count(k.out.String(), "Run write_file"); n != 1 {
		t.Errorf("the card is shown %d times\n%s", n, k.out)
	}
}

// What cannot work is said in words, without the key.
func TestChatProblems(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	redirects := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer redirects.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":"unauthorized","message":"Opening a session here needs one of the configured keys (web.session_keys)."}}`)
	}))
	defer locked.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	port := strings.TrimPrefix(gone.URL, "http://127.0.0.1")
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no bot":        {[]string{"-url", gone.URL, "hi"}, command.Fail, "no bot can be reached at " + gone.URL},
		"in the open":   {[]string{"-url", "http://0.0.0.0" + port, "hi"}, command.Fail, "note: the session key goes over the network unencrypted"},
		"encrypted":     {[]string{"-url", "https://0.0.0.0" + port, "hi"}, command.Fail, "no bot can be reached"},
		"on localhost":  {[]string{"-url", "http://localhost" + port, "hi"}, command.Fail, "no bot can be reached"},
		"another site":  {[]string{"-url", redirects.URL, "hi"}, command.Fail, "answers 307"},
		"needs a key":   {[]string{"-url", locked.URL, "hi"}, command.Fail, "Set NOD_SESSION_KEY."},
		"no address":    {[]string{"-url", "localhost:8080", "hi"}, command.Usage, "-url: want where the bot listens"},
		"password":      {[]string{"-url", "http://u:p@localhost", "hi"}, command.Usage, "-url: want where the bot listens"},
		"no host":       {[]string{"-url", "http:///nod", "hi"}, command.Usage, "-url: want where the bot listens"},
		"no URL":        {[]string{"-url", "http://h:x", "hi"}, command.Usage, "-url: want where the bot listens"},
		"no web":        {[]string{"-url", "ftp" + strings.TrimPrefix(other.URL, "http"), "hi"}, command.Usage, "-url: want where the bot listens"},
		"a question":    {[]string{"-url", other.URL + "?", "hi"}, command.Usage, "-url: want where the bot listens"},
		"a mark":        {[]string{"-url", other.URL + "/#top", "hi"}, command.Usage, "-url: want where the bot listens"},
		"nothing to do": {nil, command.Usage, "there is nothing to say"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := try(t, append([]string{"chat"}, tt.args...), map[string]string{"NOD_SESSION_KEY": "s3cret"}, nil)
			if code != tt.code || !strings.Contains(errs, tt.says) || out != "" || strings.Contains(errs, "s3cret") || strings.Contains(errs, "note:") != (name == "in the open") {
				t.Errorf("code %d, %q, %q", code, out, errs)
			}
		})
	}
	if asked.Load() != 0 {
		t.Error("a request, with its key, followed a redirect to another place")
	}
	if code, _, errs := try(t, []string{"doctor", "-url", "http://h"}, nil, nil); code != command.Usage || !strings.Contains(errs, "-url goes with: nod chat") {
		t.Errorf("code %d, %q", code, errs)
	}
	if _, _, errs := try(t, []string{"chat", "-url", "http://0.0.0.0" + port, "hi"}, nil, nil); strings.Contains(errs, "note:") {
		t.Errorf("without a key: %q", errs)
	}
	for says, in := range map[string]io.Reader{
		"longer than 64 KiB": strings.NewReader(strings.Repeat("x", maxPiped+1)),
		"unexpected EOF":     io.MultiReader(strings.NewReader("delete all but"), iotest.ErrReader(io.ErrUnexpectedEOF)), // half of what was meant
	} {
		var errs strings.Builder
		p := process{args: []string{"chat"}, Process: command.Process{Stdin: in, Stdout: io.Discard, Stderr: &errs, Env: onlyHome}}
		if code := p.main(); code != command.Usage || !strings.Contains(errs.String(), says) {
			t.Errorf("code %d, %q, want %q", code, &errs, says)
		}
	}
}

// What a bot refuses, or one that goes away, is said, and the code is that of no answer: also where nothing goes on.
func TestChatIsRefused(t *testing.T) {
	const (
		gone    = `404 {"error":{"code":"gone","message":"It is gone."}}`
		busy    = `503 {"error":{"code":"unavailable","message":"It starts."}}`
		slower  = `429 {"error":{"code":"too_many_requests","message":"Slower."}}`
		unknown = `403 {"error":{"code":"forbidden","message":"This key is not known here."}}`
	)
	for name, tt := range map[string]struct {
		at      string   // what is asked
		answers []string // to that, one after the other
		words   string
		says    string
	}{
		"a chat":                          {"POST /api/v1/chats", []string{gone}, "hi", "It is gone.\n"},
		"a message":                       {"POST /api/v1/chats/c/messages", []string{gone}, "hi", "It is gone.\n"},
		"the events, while nothing is on": {"GET /api/v1/chats/c/events", []string{gone}, "", "It is gone.\n"},
		"the events of a turn":            {"GET /api/v1/chats/c/events", []string{gone}, "hi", "It is gone.\n"},
		"a bot that starts":               {"GET /api/v1/chats/c/events", []string{busy, gone}, "hi", "It is gone.\n"},
		"a bot that has much to do":       {"GET /api/v1/chats/c/events", []string{slower, gone}, "hi", "It is gone.\n"},
		"a key, for now":                  {"GET /api/v1/chats", []string{busy}, "hi", "It starts.\n"},
		"a session, for now":              {"POST /api/v1/sessions", []string{busy}, "hi", "It starts.\n"},
		"a session":                       {"POST /api/v1/sessions", []string{unknown}, "hi", "This key is not known here. Set NOD_SESSION_KEY.\n"},
		"a proxy's word":                  {"POST /api/v1/sessions", []string{`502 {"error":{}}`}, "hi", "the address answers 502 Bad Gateway, which no nod says\n"},
		"an answer that breaks off":       {"POST /api/v1/chats", []string{"200 {"}, "hi", "no bot can be reached at http://"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := `200 {"key":"k","chat_id":"c"}`
				if r.Method+" "+r.URL.Path == tt.at {
					answer = tt.answers[int(asked.Add(1))-1]
				} else if strings.HasSuffix(tt.at, "/sessions") && r.Method == "GET" {
					answer = `401 {"error":{"code":"unauthorized","message":"No."}}` // a key that only opens sessions
				}
				status, body, _ := strings.Cut(answer, " ")
				code, _ := strconv.Atoi(status)
				if body == "{" {
					w.Header().Set("Content-Length", "2")
				}
				w.WriteHeader(code)
				fmt.Fprint(w, body)
			}))
			defer s.Close()
			k := atTerminal(t, map[string]string{"NOD_SESSION_KEY": "k"}, append([]string{"-url", s.URL}, strings.Fields(tt.words)...)...)
			k.ends(command.Fail)
			if said := k.errs.String(); strings.Count(said, tt.says) != 1 || int(asked.Load()) != len(tt.answers) {
				t.Errorf("asked %d times, it says %q", asked.Load(), said)
			}
		})
	}
}

var adminLevel = permission.RequireAuth
