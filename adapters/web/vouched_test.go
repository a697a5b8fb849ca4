package web

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeoidc"
)

// company is a page where a provider says who people are, behind a proxy with TLS.
type company struct {
	t   *testing.T
	p   *fakeoidc.Provider
	b   *bot
	s   *Server
	c   *client
	now time.Time
	log bytes.Buffer
}

const outside = "nod.example.org"

func atCompany(t *testing.T, change func(*Config)) *company {
	t.Helper()
	p, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Redirect = "https://" + outside + "/signin/callback"
	p.Person("ana", map[string]any{"sub": "1001", "name": "Ana Lima", "groups": []string{"staff", "nod-admins"}})
	m := &company{t: t, p: p, now: time.Now()}
	m.b, m.s, m.c = serve(t, func(c *Config) {
		c.SignIn, c.Now, c.Logger = signin.Doors{m.door(nil)}, func() time.Time { return m.now }, slog.New(slog.NewTextHandler(&m.log, nil))
		if change != nil {
			change(c)
		}
	})
	return m
}

// anew starts the page again over the same shelf, with other doors.
func (m *company) anew(doors signin.Doors) *client {
	m.t.Helper()
	c := m.s.Config
	c.SignIn = doors
	s, err := New(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.s, m.c = s, to(m.t, s)
	return m.c
}

func (m *company) door(change func(*signin.Config)) *signin.Door {
	m.t.Helper()
	c := signin.Config{Issuer: m.p.URL, ClientID: fakeoidc.ClientID, ClientSecret: fakeoidc.Secret, Page: "https://" + outside, Claim: "sub", GroupsClaim: "groups"}
	if change != nil {
		change(&c)
	}
	d, err := signin.New(c)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

// get is what a browser gets that reaches us by the proxy.
func (m *company) get(path string, cookies ...*http.Cookie) (*http.Response, string) {
	m.t.Helper()
	r := httptest.NewRequestWithContext(m.t.Context(), http.MethodGet, path, nil)
	r.Host = outside
	r.Header.Set("X-Forwarded-Proto", "https")
	for _, k := range cookies {
		r.AddCookie(k)
	}
	w := httptest.NewRecorder()
	m.s.Handler().ServeHTTP(w, r)
	return w.Result(), html.UnescapeString(w.Body.String())
}

func cookieNamed(res *http.Response, name string) *http.Cookie {
	for _, k := range res.Cookies() {
		if k.Name == name {
			return k
		}
	}
	return &http.Cookie{Name: name}
}

// returns goes to the provider and comes back as somebody, as far as the address that the provider sends them to.
func (m *company) returns(from, as string) (back string, flow *http.Cookie) {
	m.t.Helper()
	res, body := m.get(from)
	to, err := res.Location()
	if err != nil {
		m.t.Fatalf("%s leads nowhere: %d %s", from, res.StatusCode, body)
	}
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, to.String()+"&as="+as, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	sent, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		m.t.Fatal(err)
	}
	sent.Body.Close()
	at, err := sent.Location()
	if err != nil {
		m.t.Fatal(sent.Status, m.p.Faults())
	}
	return at.RequestURI(), cookieNamed(res, "__Host-nod_signin")
}

// comes is somebody's session, and the page on which they go on.
func (m *company) comes(from, as string, more ...*http.Cookie) (session *http.Cookie, to string) {
	m.t.Helper()
	back, flow := m.returns(from, as)
	res, body := m.get(back, append(more, flow)...)
	on := regexp.MustCompile(`http-equiv="refresh" content="0; url=([^"]*)"`).FindStringSubmatch(body)
	session = cookieNamed(res, "__Host-nod_session")
	if res.StatusCode != http.StatusOK || on == nil || !strings.HasPrefix(session.Value, "nod_") {
		m.t.Fatalf("coming back: %d %s\n%s", res.StatusCode, body, m.log.String())
	}
	return session, on[1]
}

func TestSigningInByAProvider(t *testing.T) {
	m := atCompany(t, nil)
	_, door := m.get("/c/abc?x")
	if !strings.Contains(door, `href="https://`+outside+`/signin?with=&chat=abc&page="`) || strings.Contains(door, `id="name"`) || !strings.Contains(door, "I have a key") {
		t.Errorf("the door: %s", door)
	}
	if _, door := atCompany(t, func(c *Config) { c.AdminKeys = []string{"", " "} }).get("/"); strings.Contains(door, "I have a key") {
		t.Error("a key is asked for where there is none")
	}
	res, _ := m.get("/signin")
	if k := cookieNamed(res, "__Host-nod_signin"); !k.HttpOnly || !k.Secure || k.SameSite != http.SameSiteLaxMode || k.MaxAge != 3600 || k.Path != "/" {
		t.Errorf("the cookie of a sign-in on its way: %v", k)
	}
	session, to := m.comes("/signin", "ana")
	if !session.HttpOnly || !session.Secure || session.SameSite != http.SameSiteStrictMode || session.MaxAge != 8*3600 || to != "/" {
		t.Errorf("the session's cookie: %v; on to %s", session, to)
	}
	ana := m.c.with(session.Value)
	key := "oidc-1001@" + strings.TrimPrefix(m.p.URL, "http://")
	list := ana.sessions()
	if u := list[0].(map[string]any); u["user"] != (chat.User{Platform: "web", Key: key}).String() || u["name"] != "Ana Lima" || u["admin"] != nil {
		t.Errorf("Ana is %v", u)
	}
	if _, page := m.get("/", session); !strings.Contains(page, "Ana Lima") || !strings.Contains(page, sayVouchedEnds) {
		t.Errorf("the page: %s", page)
	}
	groups, err := m.s.Groups(t.Context(), chat.ID{}, chat.User{Platform: "web", Key: key})
	if got := fmt.Sprint(groups); err != nil || got != "[web::&staff web::&nod-admins]" {
		t.Errorf("Ana's groups: %s, %v", got, err)
	}
	if name := m.s.GroupName(chat.ID{}, groups[0]); name != "staff" {
		t.Error(name)
	}
	// Each sign-in is a new session of the same person, in place of the one that the browser brought along.
	again, _ := m.comes("/signin", "ana")
	if again.Value == session.Value || len(ana.sessions()) != 2 {
		t.Errorf("%d sessions", len(ana.sessions()))
	}
	third, _ := m.comes("/signin", "ana", session)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	ana = m.c.with(third.Value)
	m.c.with(again.Value).ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	if faults := m.p.Faults(); len(faults) != 0 {
		t.Error(faults)
	}
}

// Whoever signed out here finds where to sign out at the provider, too.
func TestSigningOutAtTheProvider(t *testing.T) {
	const at = `Sign out at `
	var end any = "https://login.example.org/logout?realm=acme"
	m := atCompany(t, nil)
	m.p.Set(fakeoidc.Behaviour{Document: func(d map[string]any) { d["end_session_endpoint"] = end }})
	door := func() string { _, page := m.get("/"); return page }
	if page := door(); strings.Contains(page, at) {
		t.Errorf("before the provider was asked for anything: %s", page)
	}
	session, _ := m.comes("/signin", "ana")
	if page := door(); !strings.Contains(page, `<a href="https://login.example.org/logout?client_id=`+fakeoidc.ClientID+`&realm=acme" rel="noreferrer">Sign out at login.example.org</a>`) {
		t.Errorf("the door: %s", page)
	}
	if _, page := m.get("/", session); strings.Contains(page, at) {
		t.Errorf("who is signed in is asked whether they are somebody else: %s", page)
	}
	for _, end = range []any{nil, "", "http://login.example.org/logout", "javascript:alert(1)", "https://acme.okta.com/oauth2/v1/logout", "https://login.example.org/oauth2/default/v1/logout"} {
		m.anew(signin.Doors{m.door(nil)})
		if m.comes("/signin", "ana"); strings.Contains(door(), at) {
			t.Errorf("it leads to %v", end)
		}
	}
}

// Nobody gives themselves a name any more; keys that name their person, and an admin's, still open sessions.
func TestWithAProviderNobodyNamesThemselves(t *testing.T) {
	m := atCompany(t, func(c *Config) {
		c.SessionKeys = []session.Key{{Name: "ana", Key: doorKey}}
	})
	m.c.fails(http.StatusUnauthorized, "unauthorized", "POST", "/api/v1/sessions", map[string]string{"name": "Eve"})
	if res := m.c.signs("/session", url.Values{"name": {"Eve"}}); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 0 {
		t.Errorf("the page lets in whoever says a name: %d", res.StatusCode)
	}
	if ana := m.c.with(doorKey).as("Eve"); ana.user != "web::ana" {
		t.Error(ana.user)
	} else {
		ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	}
	if k := m.c.cookie(url.Values{"key": {masterKey}}); !strings.HasPrefix(k.Value, "nod_") {
		t.Error(k)
	} else {
		m.c.with(k.Value).ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	}
	// A program with an admin's key is told so, and gets no session that would be over before its first use.
	m.c.with(masterKey).fails(http.StatusForbidden, "forbidden", "POST", "/api/v1/sessions", map[string]string{"name": "Ana"})
	// What was opened before: by a name, and by an older version.
	for _, stored := range []string{`{"user":"u-eve","name":"Ana","opener":"-","opened":"2099-01-01T00:00:00Z","seen":"2099-01-01T00:00:00Z"}`, `{"user":"u-eve","name":"Ana"}`} {
		m.b.sessions[hashOf("nod_before")] = []byte(stored)
		m.c.with("nod_before").fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	}
	_, err := New(Config{Listen: "127.0.0.1:1", Engine: m.b, Settings: m.b, Log: m.b, Shelf: m.b, SignIn: signin.Doors{m.door(nil)}, SessionKeys: []session.Key{{Key: doorKey}}})
	if err == nil {
		t.Error("a key is taken with which people name themselves")
	}
	if _, err := New(Config{Listen: "0.0.0.0:1", Engine: m.b, Settings: m.b, Log: m.b, Shelf: m.b, SignIn: signin.Doors{m.door(nil)}}); err != nil {
		t.Error(err)
	}
	if _, _, c := serve(t, nil); c.signs("/signin", nil).StatusCode == http.StatusFound {
		t.Error("without a provider there is a sign-in")
	}
}

// A provider may think better of somebody: what it said counts for eight hours, and no longer than it is the provider.
func TestWhatAProviderSaysEnds(t *testing.T) {
	m := atCompany(t, nil)
	signedIn := func() (*client, chat.User) {
		session, _ := m.comes("/signin", "ana")
		return m.c.with(session.Value), chat.User{Platform: "web", Key: "oidc-1001@" + strings.TrimPrefix(m.p.URL, "http://")}
	}
	counts := func(s *Server, u chat.User, want int) {
		t.Helper()
		if groups, err := s.Groups(t.Context(), chat.ID{}, u); len(groups) != want || err != nil {
			t.Errorf("groups: %v, %v, want %d", groups, err, want)
		}
	}
	ana, u := signedIn()
	m.now = m.now.Add(8*time.Hour - time.Second)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil) // it is used all the time
	counts(m.s, u, 2)
	m.now = m.now.Add(time.Second)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	counts(m.s, u, 0)
	// Who signs in anew has the groups of now, also where they did so before.
	old, _ := signedIn()
	m.p.Person("ana", map[string]any{"sub": "1001", "name": "Ana Lima"})
	signedIn()
	counts(m.s, u, 0)
	old.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	m.p.Person("ana", map[string]any{"sub": "1001", "groups": []string{"staff"}})
	ana, _ = signedIn()
	for _, door := range []signin.Doors{nil, {m.door(func(c *signin.Config) { c.Groups = []string{"board"} })}} {
		counts(m.s, u, 1)
		s, err := New(Config{Listen: "127.0.0.1:1", Engine: m.b, Settings: m.b, Log: m.b, Shelf: m.b, SignIn: door, SessionKeys: []session.Key{{Name: "ben", Key: doorKey}}})
		if err != nil {
			t.Fatal(err)
		}
		to(t, s).with(ana.key).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
		counts(s, u, 0)
		ana, _ = signedIn()
	}
	counts(m.s, chat.User{Platform: "slack", Key: u.Key}, 0)
	counts(m.s, chat.User{Platform: "web", Key: "ben"}, 0)
	counts(m.s, chat.User{Platform: "web", Key: "oidc-of-whom-nothing-is-known"}, 0)
	m.b.people[u.Key] = []byte("{")
	if groups, err := m.s.Groups(t.Context(), chat.ID{}, u); err == nil {
		t.Errorf("of what cannot be read it makes %v", groups)
	}
}

// Where somebody goes on is a page of ours, whatever the link said.
func TestASignInLeadsToOurPagesOnly(t *testing.T) {
	m := atCompany(t, nil)
	const id = "0123456789abcdefghijkl"
	for link, want := range map[string]string{
		"?chat=" + id: "/c/" + id, "?chat=" + id + "&page=settings": "/settings/c/" + id, "?page=settings": "/settings",
		"?chat=//evil.example": "/", "?page=//evil.example": "/", "?chat=" + id + "%0d%0aSet-Cookie:x": "/", "?to=https://evil.example": "/",
		"?chat=%22%3E%3Cscript%3E": "/",
	} {
		if _, to := m.comes("/signin"+link, "ana"); to != want {
			t.Errorf("%s leads to %s", link, to)
		}
	}
}

var errForgetful = errors.New("nobody is kept")

// What goes wrong is said to the person in a sentence, and to the log with its cause.
func TestASignInThatFails(t *testing.T) {
	m := atCompany(t, nil)
	fails := func(path, say, log string, status int, cookies ...*http.Cookie) {
		t.Helper()
		res, body := m.get(path, cookies...)
		if res.StatusCode != status || !strings.Contains(body, say) || !strings.Contains(m.log.String(), log) || cookieNamed(res, "__Host-nod_session").Value != "" || !strings.Contains(body, `id="sign-in"`) {
			t.Errorf("%d %s\nlog: %s", res.StatusCode, body, m.log.String())
		}
		m.log.Reset()
	}
	back, flow := m.returns("/signin", "ana")
	fails(back, "This sign-in is no longer valid", "no cookie of a sign-in", http.StatusForbidden)
	m.get(back, flow)
	fails(back, "This sign-in is no longer valid", "invalid_grant", http.StatusForbidden, flow)
	m.p.Set(fakeoidc.Behaviour{Refuse: "access_denied"})
	back, flow = m.returns("/signin", "ana")
	fails(back, "did not let you in (access_denied)", "access_denied", http.StatusForbidden, flow)
	m.p.Set(fakeoidc.Behaviour{})
	back, flow = m.returns("/signin", "ana")
	m.b.forgets = errForgetful
	fails(back, "store did not answer", errForgetful.Error(), http.StatusServiceUnavailable, flow) // with groups of earlier, nobody gets in
	if _, err := m.s.Groups(t.Context(), chat.ID{}, chat.User{Platform: "web", Key: "oidc-1"}); err == nil {
		t.Error("where the store does not answer there are no groups, and no error")
	}
	m.b.forgets = nil
	back, flow = m.returns("/signin", "ana")
	m.p.Close()
	fails(back, "its provider does not answer", "gave no token", http.StatusServiceUnavailable, flow)
	m.anew(signin.Doors{m.door(nil)})
	fails("/signin?chat=abc", "its provider does not answer", "sign_in_unavailable", http.StatusServiceUnavailable)
	_, body := m.get("/", &http.Cookie{Name: "__Host-nod_session", Value: "nod_over"})
	if !strings.Contains(body, sayVouchedEnded) {
		t.Errorf("whose session is over reads %s", body)
	}
}

// Whoever went back to the provider, or signed in in two tabs at once, is signed in: a return that counts no more takes them to the page. From
// the provider the browser comes without the session's cookie, so a page of ours is between.
func TestASignInThatIsOverLeadsWhoIsSignedInOn(t *testing.T) {
	m := atCompany(t, nil)
	comes := func(site, path string, cookies ...*http.Cookie) (*http.Response, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = outside
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("Sec-Fetch-Site", site)
		for _, k := range cookies {
			r.AddCookie(k)
		}
		w := httptest.NewRecorder()
		m.s.Handler().ServeHTTP(w, r)
		return w.Result(), html.UnescapeString(w.Body.String())
	}
	first, _ := m.returns("/signin", "ana")
	second, flow := m.returns("/signin", "ana") // whose cookie the browser keeps
	res, _ := comes("cross-site", second, flow)
	session := cookieNamed(res, "__Host-nod_session")
	for _, back := range []struct {
		to      string
		cookies []*http.Cookie
	}{{first, []*http.Cookie{flow}}, {first, nil}, {second, nil}, {second, []*http.Cookie{flow}}} {
		if res, body := comes("cross-site", back.to, back.cookies...); res.StatusCode != http.StatusOK || !strings.Contains(body, `content="0; url=`+back.to+`"`) {
			t.Errorf("from the provider: %d %s", res.StatusCode, body)
		}
		if res, _ := comes("same-origin", back.to, append(back.cookies, session)...); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" {
			t.Errorf("who is signed in comes to %d %s", res.StatusCode, res.Header.Get("Location"))
		}
		if res, body := comes("same-origin", back.to, back.cookies...); res.StatusCode != http.StatusForbidden || !strings.Contains(body, "This sign-in is no longer valid") {
			t.Errorf("who is not: %d %s", res.StatusCode, body)
		}
	}
}

// A name that the provider gives is shown unless it is somebody else's here.
func TestNamesThatAProviderGives(t *testing.T) {
	m := atCompany(t, func(c *Config) { c.SessionKeys = []session.Key{{Name: "ben", Key: doorKey}} })
	for _, x := range [][3]string{
		{"Cleo A.", "cleo", "Cleo A."}, {"Admin", "cleo", "cleo"}, {"B e n", "cleo", "cleo"}, {"nod", "cleo", "cleo"}, {"", "cleo", "cleo"}, {"admin", "nod", "2"},
		{"Cleo\u202e", "", `Cleo\u{202E}`},
	} {
		m.p.Person("x", map[string]any{"sub": "2", "name": x[0], "preferred_username": x[1]})
		session, _ := m.comes("/signin", "x")
		for _, one := range m.c.with(session.Value).sessions() {
			if f := one.(map[string]any); f["current"] == true && f["name"] != x[2] {
				t.Errorf("%q is called %q, want %q", x[0], f["name"], x[2])
			}
		}
	}
}
