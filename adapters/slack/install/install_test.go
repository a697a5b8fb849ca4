package install

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

type nowhere struct{}

func (nowhere) Installs(context.Context) (map[string]string, error) { return nil, nil }
func (nowhere) Install(context.Context, string, string) error       { return nil }
func (nowhere) Reinstall(_ context.Context, _, _, _ string) error   { return nil }

func door(t *testing.T, c Config) *Door {
	t.Helper()
	c.Store = nowhere{}
	if c.Page == "" {
		c.Page = "https://nod.example.org"
	}
	d, err := New(c, "https://slack.invalid/api/", http.DefaultClient, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A sealed token opens by any of the keys, under the name of its own workspace, and does not show.
func TestSeal(t *testing.T) {
	const token = "xoxb-1-secret"
	old := door(t, Config{Keys: []string{"the-old-key-0123456789"}})
	sealed, err := old.Seal("T1", Installed{Token: token, Name: "Acme"})
	if err != nil || strings.Contains(sealed, "xoxb") || strings.Contains(sealed, "Acme") {
		t.Fatalf("%q, %v", sealed, err)
	}
	again, _ := old.Seal("T1", Installed{Token: token, Name: "Acme"})
	if again == sealed {
		t.Error("the same is sealed twice the same")
	}
	both := door(t, Config{Keys: []string{"the-new-key-0123456789", "the-old-key-0123456789"}})
	if is, byOld, err := both.Open("T1", sealed); err != nil || !byOld || is.Token != token {
		t.Errorf("%+v, %v, %v", is, byOld, err)
	}
	if _, byOld, err := old.Open("T1", sealed); err != nil || byOld {
		t.Errorf("%v, %v", byOld, err)
	}
	flipped := []byte(sealed)
	flipped[len(flipped)/2] ^= 1
	for what, x := range map[string]struct{ team, sealed string }{
		"another workspace's": {"T2", sealed}, "changed": {"T1", string(flipped)}, "cut": {"T1", sealed[:len(sealed)-8]}, "none": {"T1", ""}, "no base64": {"T1", "%"},
	} {
		if is, _, err := old.Open(x.team, x.sealed); err == nil || is != (Installed{}) || strings.Contains(err.Error(), "xoxb") {
			t.Errorf("%s: %+v, %v", what, is, err)
		}
	}
	if _, _, err := door(t, Config{Keys: []string{"the-new-key-0123456789"}}).Open("T1", sealed); err == nil {
		t.Error("another key opens it")
	}
}

func TestAllows(t *testing.T) {
	for list, want := range map[string]bool{"T1": true, "E1": true, "T2 E2": false, "": false, Anybody: true} {
		if got := door(t, Config{Keys: []string{"a-key-0123456789"}, Workspaces: strings.Fields(list)}).Allows("T1", "E1"); got != want {
			t.Errorf("%q: %v", list, got)
		}
	}
	if door(t, Config{Keys: []string{"a-key-0123456789"}, Workspaces: []string{""}}).Allows("T1", "") {
		t.Error("a workspace without an organisation is of none")
	}
}

// A state counts for ten minutes, also with a key that is the second by then. The cookie is the page's alone.
func TestStateEnds(t *testing.T) {
	now := time.Now()
	d := door(t, Config{Keys: []string{"the-old-key-0123456789"}})
	d.now = func() time.Time { return now }
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, PathBegin, nil))
	res := w.Result()
	to, err := res.Location()
	if err != nil || len(res.Cookies()) != 1 {
		t.Fatal(err, res.Cookies())
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/slack/" || c.MaxAge != 600 {
		t.Errorf("the cookie is %+v", c)
	}
	state := to.Query().Get("state")
	for age, want := range map[time.Duration]bool{0: true, 9 * time.Minute: true, 10*time.Minute + time.Second: false, -time.Hour: false} {
		later := door(t, Config{Keys: []string{"the-new-key-0123456789", "the-old-key-0123456789"}})
		later.now = func() time.Time { return now.Add(age) }
		r := httptest.NewRequest(http.MethodGet, PathReturn+"?"+url.Values{"state": {state}, "error": {"access_denied"}}.Encode(), nil)
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		w := httptest.NewRecorder()
		later.Handler().ServeHTTP(w, r)
		if got := w.Code == http.StatusOK; got != want {
			t.Errorf("after %s: %d", age, w.Code)
		}
	}
}
