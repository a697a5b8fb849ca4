package attacks

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/adapters/web"
	websession "github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
)

const doorKey = "a-key-that-opens-the-door"

// door is another page of the same bot, on an address of its own, with its own keys.
func (w *world) door(t testing.TB, keys ...websession.Key) string {
	t.Helper()
	page := must(web.New(web.Config{Listen: "127.0.0.1:0", Engine: w.engine, Settings: w.settings, Log: w.store, Shelf: w.store, AdminKeys: []string{adminKey},
		SessionKeys: keys, Hosts: []string{"nod.example.org"}, Logger: slog.New(slog.DiscardHandler)}))(t)
	s := httptest.NewServer(page.Handler())
	t.Cleanup(s.Close)
	return s.URL
}

// behind is a proxy on the same machine.
func behind(t testing.TB, to string, rewrite func(*httputil.ProxyRequest)) string {
	t.Helper()
	target := must(url.Parse(to))(t)
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		rewrite(r)
	}})
	t.Cleanup(s.Close)
	return s.URL
}

// asks sends one request as a client that follows no redirect.
func asks(t testing.TB, c *http.Client, method, to, body string, h http.Header) (*http.Response, string) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(body)))(t)
	if h != nil {
		r.Header = h
	}
	if c == nil {
		c = &http.Client{}
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res := must(c.Do(r))(t)
	defer res.Body.Close()
	return res, string(must(io.ReadAll(res.Body))(t))
}

// doors is row 40: who comes through a proxy, and who calls themselves what.
func doors() (out []attack) {
	// Strangers whom a proxy lets through look like this machine. What the first does is nginx's default.
	for name, rewrite := range map[string]func(*httputil.ProxyRequest){
		"name-not-kept": func(r *httputil.ProxyRequest) { r.Out.Host = "" },
		"name-kept":     func(r *httputil.ProxyRequest) { r.Out.Host = "nod.example.org" },
		"forwarded":     func(r *httputil.ProxyRequest) { r.SetXForwarded() },
	} {
		out = append(out, on(40, "web", "stranger-behind-a-proxy-"+name, func(t *testing.T, w *world) {
			proxy := behind(t, w.door(t, websession.Key{Key: doorKey}), rewrite)
			if res, answer := asks(t, nil, http.MethodPost, proxy+"/api/v1/sessions", `{"name":"stranger"}`, nil); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("a stranger opens a session: %d %s", res.StatusCode, answer)
			}
			form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			if res, _ := asks(t, nil, http.MethodPost, proxy+"/session", "name=stranger", form); len(res.Cookies()) > 0 {
				t.Errorf("a stranger signs in: %d", res.StatusCode)
			}
			// The control: who has a key comes in.
			if res, answer := asks(t, nil, http.MethodPost, proxy+"/api/v1/sessions", `{}`, http.Header{"Authorization": {"Bearer " + doorKey}}); res.StatusCode != http.StatusCreated {
				t.Errorf("with a key: %d %s", res.StatusCode, answer)
			}
		}))
	}
	out = append(out, on(40, "web", "proxy-and-no-keys", func(t *testing.T, w *world) {
		open := w.door(t)
		proxy := behind(t, open, func(r *httputil.ProxyRequest) { r.SetXForwarded() })
		if res, answer := asks(t, nil, http.MethodPost, proxy+"/api/v1/sessions", `{}`, nil); res.StatusCode != http.StatusForbidden || !strings.Contains(answer, "web.session_keys") {
			t.Errorf("%d %s", res.StatusCode, answer)
		}
		if res, answer := asks(t, nil, http.MethodPost, open+"/api/v1/sessions", `{}`, nil); res.StatusCode != http.StatusCreated { // the control
			t.Errorf("from this machine: %d %s", res.StatusCode, answer)
		}
	}))
	// One person opens as many sessions as they like; they are one approver. control-two-people of row 20 is the control.
	for name, tool := range map[string]string{"two-of-them": "pair", "somebody-else": "others"} {
		out = append(out, on(40, "web", "one-person-as-"+name, func(t *testing.T, w *world) {
			k := begin(t, w, "web", wants(call("mix", tool, `{"path":"`+idOf(t)+`"}`)))
			b := k.one(k.asking(1), "Allow once")
			for _, s := range []*session{w.sessions[ana], w.session("Ben"), w.session("Eve")} {
				s.call(t, http.MethodPost, "/api/v1/asks/"+b.token, map[string]string{"choice": "allow_once"})
			}
			k.still(1)
			k.stops(ana)
		}))
	}
	out = append(out, on(40, "web", "a-session-called-admin", func(t *testing.T, w *world) {
		for _, name := range []string{"admin", "Admin ", "аdmin", "nod"} {
			if status, answer := (&session{w: w}).call(t, http.MethodPost, "/api/v1/sessions", map[string]string{"name": name}); status != http.StatusBadRequest {
				t.Errorf("%q: %d %s", name, status, answer)
			}
		}
		w.session("Adam") // the control
	}))
	return out
}

// sessionsThatEnd is row 41: what a browser keeps, and for how long it is worth something.
func sessionsThatEnd() []attack {
	return []attack{on(41, "web", "admins-cookie-at-another-port", func(t *testing.T, w *world) {
		var stolen string
		thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("Cookie") }))
		defer thief.Close()
		browser := &http.Client{Jar: must(cookiejar.New(nil))(t)}
		form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		asks(t, browser, http.MethodPost, w.url+"/session", url.Values{"key": {adminKey}}.Encode(), form)
		asks(t, browser, http.MethodGet, thief.URL, "", nil)
		if stolen == "" || strings.Contains(stolen, adminKey) {
			t.Errorf("another port is sent %q", stolen)
		}
		// What it has ends with the session; until then it is the admin's, which docs/web.md says.
		settings := func() int {
			res, _ := asks(t, nil, http.MethodGet, w.url+"/api/v1/sessions", "", http.Header{"Cookie": {stolen}})
			return res.StatusCode
		}
		if got := settings(); got != http.StatusOK { // the control
			t.Errorf("before signing out: %d", got)
		}
		asks(t, browser, http.MethodPost, w.url+"/signout", "", form)
		if got := settings(); got != http.StatusUnauthorized {
			t.Errorf("after signing out: %d", got)
		}
	}), on(41, "web", "stolen-key-after-signing-out-everywhere", func(t *testing.T, w *world) {
		eve := w.session("Eve")
		if status, _ := eve.call(t, http.MethodGet, "/api/v1/chats", nil); status != http.StatusOK { // the control
			t.Errorf("before: %d", status)
		}
		eve.call(t, http.MethodDelete, "/api/v1/sessions", nil)
		if status, _ := eve.call(t, http.MethodGet, "/api/v1/chats", nil); status != http.StatusUnauthorized {
			t.Errorf("after: %d", status)
		}
	}), on(41, "web", "key-taken-out-of-the-configuration", func(t *testing.T, w *world) {
		_, answer := asks(t, nil, http.MethodPost, w.door(t, websession.Key{Key: doorKey})+"/api/v1/sessions", `{}`, http.Header{"Authorization": {"Bearer " + doorKey}})
		var opened struct{ Key string }
		if json.Unmarshal([]byte(answer), &opened) != nil || opened.Key == "" {
			t.Fatal(answer)
		}
		for _, c := range []struct {
			keys []websession.Key
			want int
		}{{[]websession.Key{{Key: doorKey}, {Key: "another-key-of-many-bytes"}}, http.StatusOK}, {[]websession.Key{{Key: "another-key-of-many-bytes"}}, http.StatusUnauthorized}} {
			if res, answer := asks(t, nil, http.MethodGet, w.door(t, c.keys...)+"/api/v1/chats", "", http.Header{"Authorization": {"Bearer " + opened.Key}}); res.StatusCode != c.want {
				t.Errorf("%d %s, want %d", res.StatusCode, answer, c.want)
			}
		}
	})}
}

// floods is row 42: what grows without end behind one open card, and what strangers open.
func floods() (out []attack) {
	out = append(out, on(42, "web", "messages-behind-a-card", func(t *testing.T, w *world) {
		k := begin(t, w, "web")
		k.asking(1)
		for range agent.MaxWaiting {
			k.place.say(ana, "and this")
		}
		if n := len(k.told(ana)); n != 0 { // the control
			t.Errorf("within the bound %d were refused", n)
		}
		k.place.say(ana, "one more")
		if !has(k.told(ana), "wait here already") {
			t.Errorf("one more is taken: %q", k.told(ana))
		}
		k.still(1)
		k.end()
	}))
	return append(out, on(42, "web", "sessions", func(t *testing.T, w *world) {
		door := w.door(t)
		// Many at once, for on a busy machine one after the other is no flood.
		var asked, refused atomic.Int64
		var strangers sync.WaitGroup
		for range 16 {
			strangers.Go(func() {
				for refused.Load() == 0 && asked.Add(1) <= 2000 {
					if res, _ := asks(t, nil, http.MethodPost, door+"/api/v1/sessions", `{}`, nil); res.StatusCode == http.StatusTooManyRequests {
						refused.Add(1)
					}
				}
			})
		}
		strangers.Wait()
		if refused.Load() == 0 {
			t.Error("2,000 sessions at once")
		}
	}))
}
