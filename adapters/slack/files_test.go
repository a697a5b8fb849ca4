package slack

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
	"github.com/nodhq/nod/tests/suites/conformance"
)

const mostOfFile = 1000

// fileRoom is a room whose adapter reaches every host there is.
func fileRoom(t *testing.T) (*room, *stand.Hosts) {
	hosts := stand.NewHosts()
	t.Cleanup(hosts.Close)
	r := newRoom(t, fakeslack.Options{})
	r.http = surface.HTTPClient(hosts.Client())
	return r, hosts
}

// fetch uploads a file, and fetches what a message says of it.
func (r *room) fetch(t *testing.T, f fakeslack.File) (string, error) {
	t.Helper()
	f.Name, f.Owner = "notes.md", "UANA"
	handle := r.slack.Upload(f)["id"].(string)
	data, err := r.Fetch(t.Context(), r.id, chat.File{Name: f.Name, Handle: handle}, mostOfFile)
	if err != nil && (strings.Contains(err.Error(), r.slack.BotToken()) || strings.Contains(err.Error(), "://")) {
		t.Errorf("the token or an address is in the error: %v", err)
	}
	return string(data), err
}

// TestFilesComeFromSlackAlone: files are asked for at Slack's own hosts, by HTTPS, and nobody else is asked anything or shown the token.
func TestFilesComeFromSlackAlone(t *testing.T) {
	r, hosts := fileRoom(t)
	for at, asked := range map[string]string{
		"https://files.slack.com/files-pri/T1-F1/notes.md":               "https files.slack.com/files-pri/T1-F1/notes.md token",
		"https://FILES.slack.com/files-pri/T1-F1/notes.md":               "https FILES.slack.com/files-pri/T1-F1/notes.md token",
		"https://acme.enterprise.slack.com/files-pri/T1-F1/notes.md":     "https acme.enterprise.slack.com/files-pri/T1-F1/notes.md token",
		"http://files.slack.com/files-pri/T1-F1/notes.md":                "",
		"https://files.slack.com:8443/files-pri/T1-F1/notes.md":          "",
		"https://ana:pass@files.slack.com/files-pri/T1-F1/notes.md":      "",
		"https://files.slack.com@evil.example/files-pri/T1-F1/notes.md":  "",
		"https://evil.example/files.slack.com/notes.md":                  "",
		"https://evil.example/?.slack.com":                               "",
		"https://evil.example#.slack.com":                                "",
		"https://files.slack.com.evil.example/files-pri/T1-F1/notes.md":  "",
		"https://evilslack.com/files-pri/T1-F1/notes.md":                 "",
		"https://slack.com.evil.example/files-pri/T1-F1/notes.md":        "",
		"https://10.0.0.1/latest/meta-data":                              "",
		"http://127.0.0.1:1/files-pri/T1-F1/notes.md":                    "",
		"file:///etc/passwd":                                             "",
		"//evil.example/notes.md":                                        "",
		"https://files.slack.com\\@evil.example/files-pri/T1-F1/note.md": "",
	} {
		hosts.Answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("# Plan")) })
		data, err := r.fetch(t, fakeslack.File{At: at})
		if asked == "" && (conformance.WhyUnread(err) != turn.UnreadElsewhere || data != "") || asked != "" && (err != nil || data != "# Plan") {
			t.Errorf("%s: %q, %v", at, data, err)
		}
		if got := hosts.Asked(); got != asked {
			t.Errorf("%s: asked %q, want %q", at, got, asked)
		}
	}
}

// TestNoFileComesFromSlacksOwnAPI: only a stand-in's is where its files are, too.
func TestNoFileComesFromSlacksOwnAPI(t *testing.T) {
	hosts := stand.NewHosts()
	t.Cleanup(hosts.Close)
	a := newAdapter(t, Config{Client: hosts.Client()})
	a.self = testSelf
	close(a.introduced)
	hosts.Answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ok":true,"file":{"id":"F1","size":6,"url_private":"https://slack.com/files-pri/T1-F1/notes.md"}}`))
	})
	data, err := a.Fetch(t.Context(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), chat.File{Handle: "F1"}, mostOfFile)
	if got := hosts.Asked(); conformance.WhyUnread(err) != turn.UnreadElsewhere || !strings.HasPrefix(got, "https slack.com/api/files.info") || strings.Contains(got, "files-pri") {
		t.Errorf("%q, %v; asked %s", data, err, got)
	}
}

// TestFilesFollowNoRedirect: neither to another host, nor to one of Slack's own, which would be a page to sign in.
func TestFilesFollowNoRedirect(t *testing.T) {
	r, hosts := fileRoom(t)
	const first = "https://files.slack.com/files-pri/T1-F1/notes.md"
	for _, to := range []string{"https://evil.example/x", "http://files.slack.com/x", "https://acme.slack.com/?redir=x", "/x", "http://127.0.0.1:1/"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			hosts.Answer(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/files-pri/T1-F1/notes.md" {
					_, _ = w.Write([]byte("from elsewhere"))
					return
				}
				w.Header().Set("Location", to)
				w.WriteHeader(code)
			})
			data, err := r.fetch(t, fakeslack.File{At: first})
			if conformance.WhyUnread(err) != turn.UnreadForbidden || data != "" {
				t.Errorf("%d to %s: %q, %v", code, to, data, err)
			}
			if got := hosts.Asked(); got != "https files.slack.com/files-pri/T1-F1/notes.md token" {
				t.Errorf("%d to %s: asked %s", code, to, got)
			}
		}
	}
}

// TestFilesThatAreNone: what Slack gives instead of a file is said as what it is, and never taken for the file.
func TestFilesThatAreNone(t *testing.T) {
	r, _ := fileRoom(t)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Sign in | Slack</title>"))
	}
	const canvasText = `<div class="quip-canvas-content"><h1 id="temp:C:a">Plan</h1></div>`
	canvas := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(canvasText))
	}
	long := func(length string, n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			_, _ = io.Copy(w, strings.NewReader(rep(n)))
			_ = http.NewResponseController(w).Flush() // sent in chunks, where no length was said
		}
	}
	longer := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"+rep(10*mostOfFile))
	}
	for name, c := range map[string]struct {
		file fakeslack.File
		why  turn.WhyUnread // empty: some other error
		data string         // no error at all
	}{
		"sign in":              {fakeslack.File{Answer: page}, turn.UnreadScope, ""},
		"sign in, odd type":    {fakeslack.File{Answer: page, Type: "text/plain"}, turn.UnreadScope, ""},
		"a page of a person's": {fakeslack.File{Answer: page, Type: "text/html"}, "", "<!DOCTYPE html><title>Sign in | Slack</title>"},
		"a canvas":             {fakeslack.File{Answer: canvas, Type: "application/vnd.slack-docs", Mode: "quip"}, "", canvasText},
		"no canvas, a sign in": {fakeslack.File{Answer: page, Type: "application/vnd.slack-docs", Mode: "quip"}, turn.UnreadScope, ""},
		"404":                  {fakeslack.File{Answer: status(404)}, turn.UnreadGone, ""},
		"410":                  {fakeslack.File{Answer: status(410)}, turn.UnreadGone, ""},
		"401":                  {fakeslack.File{Answer: status(401)}, turn.UnreadForbidden, ""},
		"403":                  {fakeslack.File{Answer: status(403)}, turn.UnreadForbidden, ""},
		"500":                  {fakeslack.File{Answer: status(500)}, "", ""},
		"part of it":           {fakeslack.File{Answer: status(206)}, "", ""},
		"tombstone":            {fakeslack.File{Mode: "tombstone", Answer: long("", 1)}, turn.UnreadGone, ""},
		"hidden":               {fakeslack.File{Mode: "hidden_by_limit", Data: []byte("x")}, turn.UnreadGone, ""},
		"external":             {fakeslack.File{Mode: "external", Data: []byte("x")}, turn.UnreadElsewhere, ""},
		"big, and says so":     {fakeslack.File{Data: []byte(rep(mostOfFile + 1)), Answer: status(404)}, turn.UnreadTooBig, ""},
		"just not too big":     {fakeslack.File{Data: []byte(rep(mostOfFile))}, "", rep(mostOfFile)},
		"big in chunks":        {fakeslack.File{Data: []byte("x"), Answer: long("", 10*mostOfFile)}, turn.UnreadTooBig, ""},
		"big by its length":    {fakeslack.File{Data: []byte("x"), Answer: long(strconv.Itoa(mostOfFile+1), mostOfFile+1)}, turn.UnreadTooBig, ""},
		"shorter than said":    {fakeslack.File{Data: []byte("x"), Answer: long("900", 10)}, "", ""},
		"longer than said":     {fakeslack.File{Data: []byte("x"), Answer: longer}, "", rep(10)},
	} {
		data, err := r.fetch(t, c.file)
		if conformance.WhyUnread(err) != c.why || data != c.data || c.data == "" && err == nil {
			t.Errorf("%s: %.40q, %v; want %q", name, data, err, c.why)
		}
	}
}

// TestAFileOfNoEnd: what never ends is left at the limit, not when time is over.
func TestAFileOfNoEnd(t *testing.T) {
	r, _ := fileRoom(t)
	left := make(chan struct{})
	_, err := r.fetch(t, fakeslack.File{Answer: func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(rep(mostOfFile))); err != nil {
				return
			}
		}
	}})
	if conformance.WhyUnread(err) != turn.UnreadTooBig {
		t.Error(err)
	}
	<-left
}

// TestRefusalsOfFiles: what Slack refuses to say of a file is told apart.
func TestRefusalsOfFiles(t *testing.T) {
	for code, want := range map[string]turn.WhyUnread{
		"missing_scope": turn.UnreadScope, "file_not_found": turn.UnreadGone, "file_deleted": turn.UnreadGone, "file_not_shared": turn.UnreadGone,
		"access_denied": turn.UnreadForbidden, "internal_error": "",
	} {
		r, hosts := fileRoom(t)
		r.slack.Fail("files.info", 1, fakeslack.Fault{Error: code})
		if _, err := r.fetch(t, fakeslack.File{Data: []byte("x")}); err == nil || conformance.WhyUnread(err) != want {
			t.Errorf("%s: %v", code, err)
		}
		if got := hosts.Asked(); got != "" {
			t.Errorf("%s: asked %s", code, got)
		}
	}
	r, _ := fileRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Fetch(ctx, r.id, chat.File{Handle: "F1"}, 1); err == nil || conformance.WhyUnread(err) != "" {
		t.Errorf("whoever is stopped says that a file never comes: %v", err)
	}
}
