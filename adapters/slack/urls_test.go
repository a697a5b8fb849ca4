package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestURLsHaveFiveUses(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	u.add(at, "https://hooks/1", now)
	for i := range 5 {
		if got, ok := u.take(at, now); !ok || got != "https://hooks/1" {
			t.Fatalf("use %d: got %q, %v", i+1, got, ok)
		}
	}
	if got, ok := u.take(at, now); ok {
		t.Errorf("a sixth use: %q", got)
	}
}

func TestURLsNewestFirst(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	u.add(at, "https://hooks/old", now)
	u.add(at, "https://hooks/new", now.Add(time.Minute))
	u.add(messageAt{"C1", "2.2"}, "https://hooks/other", now.Add(time.Minute))
	for i, want := range strings.Fields("new new new new new old old old old old") {
		if got, _ := u.take(at, now.Add(time.Minute)); got != "https://hooks/"+want {
			t.Fatalf("use %d: got %q, want %s", i+1, got, want)
		}
	}
	if got, ok := u.take(at, now); ok {
		t.Errorf("got %q, that of another message", got)
	}
}

func TestURLsExpire(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	u.add(at, "https://hooks/1", now)
	if _, ok := u.take(at, now.Add(29*time.Minute)); !ok {
		t.Error("not taken after 29 minutes")
	}
	if got, ok := u.take(at, now.Add(30*time.Minute)); ok {
		t.Errorf("%q was taken after 30 minutes", got)
	}
	if n := len(u.all); n > 0 {
		t.Errorf("%d entries are kept of what is over", n)
	}
}

func TestURLsCountWhispers(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	u.add(at, "https://hooks/1", now)
	for range 4 {
		u.take(at, now)
	}
	if !u.use("https://hooks/1", now) {
		t.Error("the fifth use is refused")
	}
	if u.use("https://hooks/1", now) {
		t.Error("a sixth use is let through")
	}
	if !u.use("https://hooks/of-a-command", now) {
		t.Error("one that was never remembered is refused")
	}
}

func TestURLsOfOneClickDeliveredTwice(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	for range 2 {
		u.add(at, "https://hooks/1", now)
		for range 3 {
			u.take(at, now)
		}
	}
	if got, ok := u.take(at, now); ok {
		t.Errorf("%q has more than five uses", got)
	}
}

func TestURLsAreBounded(t *testing.T) {
	u, now := &urls{}, time.Unix(1_700_000_000, 0)
	for i := range maxURLs + 10 {
		u.add(messageAt{"C1", fmt.Sprint(i)}, fmt.Sprint("https://hooks/", i), now)
	}
	if len(u.all) != maxURLs {
		t.Errorf("kept %d of at most %d", len(u.all), maxURLs)
	}
	if _, ok := u.take(messageAt{"C1", "9"}, now); ok {
		t.Error("the oldest is kept")
	}
	if _, ok := u.take(messageAt{"C1", fmt.Sprint(maxURLs + 9)}, now); !ok {
		t.Error("the newest is not kept")
	}
}

func TestURLsManyAtOnce(t *testing.T) {
	u, now, at := &urls{}, time.Unix(1_700_000_000, 0), messageAt{"C1", "1.1"}
	u.add(at, "https://hooks/1", now)
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 20 {
		wg.Go(func() {
			if _, ok := u.take(at, now); ok {
				mu.Lock()
				taken++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if taken != 5 {
		t.Errorf("%d uses of one response_url, want 5", taken)
	}
}

func TestRememberOnlyAddresses(t *testing.T) {
	for raw, want := range map[string]bool{
		"https://hooks.slack.com/actions/T1/1/x": true,
		"http://hooks.slack.com/actions/T1/1/x":  false, // readable on the way
		"":                                       false,
		"/actions/x":                             false,
		"file:///etc/passwd":                     false,
		"https:/actions/x":                       false,
		"https://hooks.slack.com/%zz":            false,
	} {
		a := newAdapter(t, Config{})
		a.remember(messageAt{"C1", "1.1"}, raw)
		if _, ok := a.urls.take(messageAt{"C1", "1.1"}, a.now()); ok != want {
			t.Errorf("remember(%q): taken %v, want %v", raw, ok, want)
		}
	}
}

// What a response_url may answer. https://docs.slack.dev/interactivity/handling-user-interaction
func TestRespondReadsTheAnswer(t *testing.T) {
	for _, c := range []struct {
		status      int
		kind, body  string
		ok, spoiled bool
	}{
		{200, "text/html", "ok", true, false},
		{200, "", "", true, false}, // no Content-Type: slack-go's own function fails on this
		{200, "application/json", `{"ok":true}`, true, false},
		{200, "application/json", `{"ok":false,"error":"invalid_blocks"}`, false, false},
		{404, "text/html", "used_url", false, true},
		{404, "text/html", "expired_url", false, true},
		{404, "application/json", `{"ok":false,"error":"expired_url"}`, false, true},
		{404, "", "", false, true},
		{410, "", "", false, true},
		{200, "application/json", `{"ok":false,"error":"expired_url"}`, false, true},
		{200, "application/json", `{"warning":"x"}`, false, false},
		{500, "text/html", "<html>oops</html>", false, false},
		{429, "", "", false, false},
		{302, "", "", false, false},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.body), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				if c.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			a := newAdapter(t, Config{APIURL: srv.URL + "/api/"})
			a.remember(messageAt{"C1", "1.1"}, srv.URL+"/actions/T1/1/topsecret")
			err := a.respond(context.Background(), srv.URL+"/actions/T1/1/topsecret", reply{Text: "x"})
			if (err == nil) != c.ok {
				t.Errorf("err = %v, want ok = %v", err, c.ok)
			}
			if err != nil && strings.Contains(err.Error(), "topsecret") {
				t.Errorf("the address is in the error: %v", err)
			}
			if _, left := a.urls.take(messageAt{"C1", "1.1"}, a.now()); left == c.spoiled {
				t.Errorf("may be used again: %v, want %v", left, !c.spoiled)
			}
		})
	}
}
