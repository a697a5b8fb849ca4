package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/chat"
)

const doorKey = "a-key-that-opens-the-door"

// signs posts a form of the page as a browser does, with the cookies it has.
func (c *client) signs(path string, form url.Values, cookies ...*http.Cookie) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "POST", c.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, k := range cookies {
		req.AddCookie(k)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	res.Body.Close()
	return res
}

func (c *client) cookie(form url.Values) *http.Cookie {
	c.t.Helper()
	res := c.signs("/session", form)
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		c.t.Fatalf("signing in: %d, cookies %v", res.StatusCode, res.Cookies())
	}
	return res.Cookies()[0]
}

func (c *client) sessions() (out []any) {
	c.t.Helper()
	return c.ok(http.StatusOK, "GET", "/api/v1/sessions", nil)["sessions"].([]any)
}

// F14, A8: what the browser keeps is a session of its own, and not the key that gives everything.
func TestAnAdminsKeyIsNoCookie(t *testing.T) {
	_, _, c := serve(t, nil)
	k := c.cookie(url.Values{"key": {masterKey}})
	if strings.Contains(k.Value, masterKey) || !strings.HasPrefix(k.Value, "nod_") {
		t.Errorf("the cookie is %q", k.Value)
	}
	admin := c.with(k.Value)
	if all := admin.sessions(); len(all) != 1 || all[0].(map[string]any)["admin"] != true || all[0].(map[string]any)["user"] != session.AdminUser(masterKey).String() {
		t.Errorf("the session is %v", all)
	}
	req := c.request("GET", "/api/v1/chats", nil)
	req.AddCookie(&http.Cookie{Name: "nod_session", Value: masterKey})
	c.failed(req, http.StatusUnauthorized, "unauthorized")
	// Behind TLS the cookie goes to no other port, and no other host can set it.
	_, _, c = serve(t, func(c *Config) { c.SessionKeys = []session.Key{{Key: doorKey}} })
	for _, proto := range []string{"https", "https, http"} { // the second of two proxies
		far := c.request("POST", "/session", "key="+masterKey)
		far.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		far.Header.Set("X-Forwarded-Proto", proto)
		res, err := http.DefaultTransport.RoundTrip(far)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-") || !strings.Contains(got, "Secure") {
			t.Errorf("behind TLS the cookie is %q", got)
		}
	}
}

// F14, A9: signing out ends the session where it is kept.
func TestSigningOutEndsTheSession(t *testing.T) {
	b, _, c := serve(t, func(c *Config) { c.SessionKeys = []session.Key{{Name: "ana", Key: doorKey}} })
	one, two := c.cookie(url.Values{"key": {doorKey}}), c.cookie(url.Values{"key": {doorKey}})
	c.with(one.Value).ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	for _, way := range []string{"Session", "EndSessions", "", ""} { // where it cannot be ended, the browser keeps it to try again; one that is over is no trouble
		b.down = way
		res := c.signs("/signout", url.Values{}, one)
		if gone := len(res.Cookies()) > 0; gone != (way == "") || (res.StatusCode == http.StatusSeeOther) != gone {
			t.Errorf("signing out without %q: %d, cookies %v", way, res.StatusCode, res.Cookies())
		}
	}
	c.with(one.Value).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	three := c.cookie(url.Values{"key": {doorKey}})
	if n := len(c.with(two.Value).sessions()); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
	c.signs("/signout", url.Values{"all": {"yes"}}, two) // everywhere
	for _, k := range []*http.Cookie{two, three} {
		c.with(k.Value).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	}
}

// Whoever signs in over a session gets another in its place.
func TestSigningInEndsTheSessionBefore(t *testing.T) {
	b, _, c := serve(t, func(c *Config) {
		c.SessionKeys = []session.Key{{Name: "ana", Key: doorKey}, {Name: "ben", Key: "the-key-of-ben-himself"}}
	})
	ana := c.cookie(url.Values{"key": {doorKey}})
	if res := c.signs("/session", url.Values{"key": {strings.Repeat("k", 9<<10)}}); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a form of 9 KB: %d", res.StatusCode)
	}
	if res := c.signs("/session", url.Values{"key": {"wrong"}}, ana); res.StatusCode != http.StatusForbidden {
		t.Errorf("%d", res.StatusCode)
	}
	c.signs("/session", url.Values{"key": {ana.Value}}, ana)
	c.with(ana.Value).ok(http.StatusOK, "GET", "/api/v1/chats", nil) // it is the same one
	res := c.signs("/session", url.Values{"key": {"the-key-of-ben-himself"}}, ana)
	c.with(ana.Value).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	if all := c.with(res.Cookies()[0].Value).sessions(); len(all) != 1 || all[0].(map[string]any)["user"] != "web::ben" {
		t.Errorf("%v", all)
	}
	b.down = "EndSessions" // the one before goes on, so this one is not begun
	if res := c.signs("/session", url.Values{"key": {"the-key-of-ben-himself"}}, res.Cookies()[0]); res.StatusCode != http.StatusServiceUnavailable || len(res.Cookies()) > 0 {
		t.Errorf("%d %v", res.StatusCode, res.Cookies())
	}
}

// Somebody lists and ends their own sessions; an admin those of everybody.
func TestEndingSessions(t *testing.T) {
	_, _, c := serve(t, nil)
	ana, ben, admin := c.as("Ana"), c.as("Ben"), c.with(masterKey)
	idOf := func(list []any) string { return list[0].(map[string]any)["id"].(string) }
	if len(ana.sessions()) != 1 || len(admin.sessions()) != 2 {
		t.Errorf("Ana sees %v, the admin %v", ana.sessions(), admin.sessions())
	}
	ana.fails(http.StatusNotFound, "unknown_session", "DELETE", "/api/v1/sessions/"+idOf(ben.sessions()), nil)
	ana.fails(http.StatusForbidden, "forbidden", "DELETE", "/api/v1/sessions?of=everybody", nil)
	ana.fails(http.StatusBadRequest, "bad_request", "DELETE", "/api/v1/sessions?of=ben", nil)
	admin.ok(http.StatusOK, "DELETE", "/api/v1/sessions/"+idOf(ben.sessions()), nil)
	ben.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	eve := c.as("Eve")
	eve.ok(http.StatusOK, "DELETE", "/api/v1/sessions?of=me", nil)
	eve.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	admin.ok(http.StatusOK, "DELETE", "/api/v1/sessions?of=everybody", nil)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
}

// A session ends 30 days after it was last used, and 90 days after it was opened. One that an older version opened counts from its next use.
func TestSessionsEndByTime(t *testing.T) {
	var now atomic.Int64
	now.Store(epoch.Unix())
	pass := func(d time.Duration) { now.Add(int64(d / time.Second)) }
	b, _, c := serve(t, func(c *Config) { c.Now = func() time.Time { return time.Unix(now.Load(), 0) } })
	ana, old := c.as("Ana"), c.with("nod_of-an-older-version")
	b.sessions[hashOf(old.key)] = []byte(`{"user":"u-old","name":"Old"}`)
	pass(40 * 24 * time.Hour)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	if _, kept := b.sessions[hashOf(ana.key)]; kept {
		t.Error("a session that is over is still kept")
	}
	for range 4 {
		old.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
		pass(session.Idle - time.Hour)
	}
	old.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	b.sessions["garbage"] = []byte("{")
	ben := c.as("Ben")
	if n := len(c.with(masterKey).sessions()); n != 1 {
		t.Errorf("%d sessions are listed, want Ben's alone", n)
	}
	ben.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
}

// Whoever takes a key out of the configuration ends what it opened.
func TestARemovedKeyEndsItsSessions(t *testing.T) {
	b, _, c := serve(t, func(c *Config) {
		c.SessionKeys = []session.Key{{Key: doorKey}, {Name: "ana", Key: "the-key-of-ana-herself"}}
	})
	anybody, ana := c.with(doorKey).as("Somebody"), c.with("the-key-of-ana-herself").as("Eve")
	boss := c.with(c.cookie(url.Values{"key": {masterKey}}).Value)
	later := func(keys []session.Key, admins ...string) *client {
		s, err := New(Config{Listen: "127.0.0.1:1", Engine: b, Settings: b, Log: b, Shelf: b, SessionKeys: keys, AdminKeys: admins})
		if err != nil {
			t.Fatal(err)
		}
		return to(t, s)
	}
	for _, p := range []*client{anybody, ana, boss} {
		p.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	}
	c = later([]session.Key{{Name: "ana", Key: "the-key-of-ana-herself"}}, masterKey)
	c.with(anybody.key).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	c.with(ana.key).ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	c = later([]session.Key{{Name: "ben", Key: "the-key-of-ana-herself"}}, "another-admin-key-of-32-bytes")
	c.with(ana.key).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil) // it is another person's now
	c.with(boss.key).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	// What was opened without a key ends where one is asked for.
	_, _, c = serve(t, nil)
	free := c.as("Free")
	s, err := New(Config{Listen: "127.0.0.1:1", Engine: b, Settings: b, Log: b, Shelf: b, SessionKeys: []session.Key{{Key: doorKey}}})
	if err != nil {
		t.Fatal(err)
	}
	to(t, s).with(free.key).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
}

// F9: a key may name its person; nobody else takes that name, the bot's or an admin's.
func TestNamesOfSessions(t *testing.T) {
	_, _, c := serve(t, func(c *Config) {
		c.SessionKeys = []session.Key{{Key: doorKey}, {Name: "ana", Key: "the-key-of-ana-herself"}}
	})
	if ana := c.with("the-key-of-ana-herself").as("Eve"); ana.user != "web::ana" {
		t.Errorf("Ana's key opens a session of %s", ana.user)
	}
	for _, name := range []string{"Ana", "a n a", "ADMIN", "admin.", "Nod", "аdmin", "ａｎａ", "аnа"} {
		c.with(doorKey).fails(http.StatusBadRequest, "name_taken", "POST", "/api/v1/sessions", map[string]string{"name": name})
		if res := c.signs("/session", url.Values{"key": {doorKey}, "name": {name}}); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the page takes the name %q: %d", name, res.StatusCode)
		}
	}
	for _, name := range []string{"Anastasia", "Нина", "李雷", "José O'Neill", ""} {
		c.with(doorKey).as(name)
	}
}

// F10: keys are asked for on loopback, too, and without them no proxy may stand before the page.
func TestKeysAreAskedForEverywhere(t *testing.T) {
	_, _, keyed := serve(t, func(c *Config) { c.SessionKeys = []session.Key{{Key: doorKey}} })
	keyed.fails(http.StatusUnauthorized, "unauthorized", "POST", "/api/v1/sessions", nil)
	keyed.with("wrong").fails(http.StatusForbidden, "forbidden", "POST", "/api/v1/sessions", nil)
	if res := keyed.signs("/session", url.Values{"name": {"Eve"}}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the page opens a session without a key: %d", res.StatusCode)
	}
	ana := keyed.with(doorKey).as("Ana")
	_, _, open := serve(t, nil)
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "x-forwarded-proto", "X-Real-IP", "Via"} {
		req := open.request("POST", "/api/v1/sessions", nil)
		req.Header.Set(header, "x")
		e := open.failed(req, http.StatusForbidden, "proxy_needs_keys")
		if say, _ := e["message"].(string); !strings.Contains(say, "web.session_keys") {
			t.Errorf("it does not say what to set: %q", say)
		}
		req = ana.request("GET", "/api/v1/chats", nil)
		req.Header.Set(header, "x")
		if status, out := ana.do(req); status != http.StatusOK {
			t.Errorf("with keys a proxy may pass on: %d %v", status, out)
		}
	}
}

// A proxy that keeps the name, and one that does not.
func TestHosts(t *testing.T) {
	_, _, c := serve(t, func(c *Config) {
		c.SessionKeys, c.Hosts = []session.Key{{Key: doorKey}}, []string{"nod.example.org", "2001:db8::1"}
	})
	ana := c.with(doorKey).as("Ana")
	for _, host := range []string{"nod.example.org", "[2001:db8::1]:8443", "NOD.example.org:8443", "127.0.0.1:8080", "localhost"} {
		req := ana.request("POST", "/api/v1/chats", nil)
		req.Host = host
		req.Header.Set("Origin", "https://nod.example.org")
		if status, out := ana.do(req); status != http.StatusCreated {
			t.Errorf("Host %s: %d %v", host, status, out)
		}
		req.Header.Set("Origin", "https://evil.example.org")
		ana.failed(req, http.StatusForbidden, "origin_not_allowed")
	}
	req := ana.request("GET", "/api/v1/chats", nil)
	req.Host = "other.example.org"
	if e := ana.failed(req, http.StatusForbidden, "host_not_allowed"); !strings.Contains(e["message"].(string), "web.hosts") {
		t.Errorf("it does not name the setting: %v", e)
	}
}

// Guessing a configured key stops after some wrong ones; who is signed in goes on.
func TestWrongKeysAreLimited(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	limited := false
	for i := range 300 {
		status, _ := c.with(fmt.Sprint("guess", i)).call("GET", "/api/v1/chats", nil)
		if limited = status == http.StatusTooManyRequests; limited {
			break
		}
	}
	if !limited {
		t.Error("keys can be guessed without end")
	}
	ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
}

// A12: sessions and chats have bounds, with an error that says so.
func TestBoundsOfSessionsAndChats(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	list := strings.TrimPrefix(ana.user, "web::")
	for i := range maxChats {
		b.lists[list] = append(b.lists[list], chat.Listed{Key: fmt.Sprint("c", i), At: time.Now()})
	}
	ana.fails(http.StatusTooManyRequests, "too_many_chats", "POST", "/api/v1/chats", nil)
	b.lists[list][7].At = time.Now().Add(-session.Idle - time.Hour)
	ana.chat() // in the place of one that nobody touched
	fast := http.StatusCreated
	for n := 0; n < 5000 && fast == http.StatusCreated; n++ {
		fast, _ = c.call("POST", "/api/v1/sessions", nil)
	}
	if fast != http.StatusTooManyRequests {
		t.Errorf("sessions can be opened without end: %d", fast)
	}
	b, _, c = serve(t, nil)
	for i := range 10_000 {
		b.sessions[fmt.Sprint(i)] = []byte(`{"user":"u-x"}`)
	}
	c.fails(http.StatusTooManyRequests, "too_many_sessions", "POST", "/api/v1/sessions", nil)
	b.sessions["7"] = []byte(`{"user":"u-x","opened":"2001-01-01T00:00:00Z"}`)
	c.as("Ben") // in the place of one that is over
}

// The page says how long a session lasts and, at the door, that it has ended; an admin's sign-in leads to the permissions.
func TestThePageTellsOfSessions(t *testing.T) {
	_, _, c := serve(t, nil)
	page := func(k *http.Cookie) string {
		t.Helper()
		req := c.request("GET", "/", nil)
		req.AddCookie(k)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}
	k := c.cookie(url.Values{"name": {"Ana"}})
	if got := page(k); !strings.Contains(got, "Signed in until <time") || strings.Contains(got, "has ended") {
		t.Errorf("the page: %s", got)
	}
	c.with(k.Value).ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil)
	if got := page(k); !strings.Contains(got, saySessionEnded) {
		t.Errorf("the door: %s", got)
	}
	for chat, want := range map[string]string{"": "/settings", "c-1": "/c/c-1"} {
		if got := c.signs("/session", url.Values{"key": {masterKey}, "chat": {chat}}).Header.Get("Location"); got != want {
			t.Errorf("an admin who came for %q is led to %q", chat, got)
		}
	}
}

// Another site's link comes without the cookie, and is led on, past the door; one with it, or from here, is not.
func TestAnotherSitesLink(t *testing.T) {
	b, s, c := serve(t, nil)
	ana := c.as("Ana")
	for _, x := range []struct {
		site, key, down, says, not string
		status                     int
	}{
		{"cross-site", "", "", `href="/c/abc"`, "<form", http.StatusOK},
		{"same-origin", "", "", `id="name"`, `href="/c/abc"`, http.StatusOK},
		{"cross-site", ana.key, "", "Ana", `href="/c/abc"`, http.StatusOK},
		{"same-origin", ana.key, "Session", "The bot's store did not answer", "Ana", http.StatusServiceUnavailable},
	} {
		r, w := httptest.NewRequestWithContext(t.Context(), "GET", "/c/abc", nil), httptest.NewRecorder()
		r.Host = "localhost"
		r.Header.Set("Sec-Fetch-Site", x.site)
		if x.key != "" {
			r.AddCookie(&http.Cookie{Name: "nod_session", Value: x.key})
		}
		b.down = x.down
		s.Handler().ServeHTTP(w, r)
		if page := html.UnescapeString(w.Body.String()); w.Code != x.status || !strings.Contains(page, x.says) || strings.Contains(page, x.not) {
			t.Errorf("%+v: %d %s", x, w.Code, page)
		}
	}
}

// kept is what the shelf keeps of a session of the page's own people.
type kept struct {
	User   string    `json:"user"`
	Name   string    `json:"name"`
	Opener string    `json:"opener,omitempty"`
	Opened time.Time `json:"opened"`
	Seen   time.Time `json:"seen"`
}

func keptOf(b []byte) (x kept) {
	_ = json.Unmarshal(b, &x)
	return x
}

// hashOf is under what the shelf keeps a key's session.
func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
