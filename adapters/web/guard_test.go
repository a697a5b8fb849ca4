package web

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/web/session"
)

// R131: also where nobody configured a key, as where a replica serves nothing but health and webhooks. An empty entry is no key.
func TestNetworksHaveNoOpenDoor(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:8080", ":8080", "192.0.2.1:80", "[::]:8080", "example.org:80", ""} {
		for _, keys := range [][]session.Key{nil, {{}}, {{Key: " "}}, {{Key: doorKey}}} {
			_, _, c := serve(t, func(c *Config) { c.Listen, c.AdminKeys, c.SessionKeys = listen, []string{" ", ""}, keys })
			c.fails(http.StatusUnauthorized, "unauthorized", "POST", "/api/v1/sessions", nil)
			if res := c.signs("/session", url.Values{"name": {"Eve"}}); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%q opens a session without a key: %d", listen, res.StatusCode)
			}
		}
	}
	for _, listen := range []string{"127.0.0.1:8080", "localhost:0", "[::1]:8080"} {
		_, _, c := serve(t, func(c *Config) { c.Listen, c.SessionKeys = listen, []session.Key{{}, {Key: " "}} })
		c.as("Ana")
	}
}

func TestNewRefuses(t *testing.T) {
	b := newBot()
	if _, err := New(Config{Listen: "127.0.0.1:1", Engine: b, Settings: b, Log: b, Shelf: b, Hosts: []string{""}}); err == nil || !strings.Contains(err.Error(), "Config.Hosts") {
		t.Errorf("a host without a name: %v", err)
	}
	for _, c := range []Config{{Settings: b, Log: b, Shelf: b}, {Engine: b, Log: b, Shelf: b}, {Engine: b, Settings: b, Shelf: b}, {Engine: b, Settings: b, Log: b}} {
		c.Listen = "127.0.0.1:1"
		if _, err := New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// R131
func TestEveryCallNeedsAKey(t *testing.T) {
	b, _, c := serve(t, nil)
	ana := c.as("Ana")
	id := ana.chat()
	for _, call := range [][2]string{
		{"GET", "/api/v1/chats"}, {"POST", "/api/v1/chats"}, {"GET", "/api/v1/chats/" + id}, {"POST", "/api/v1/chats/" + id + "/messages"},
		{"POST", "/api/v1/chats/" + id + "/stop"}, {"GET", "/api/v1/chats/" + id + "/events"}, {"POST", "/api/v1/chats/" + id + "/asks"},
		{"POST", "/api/v1/chats/" + id + "/clicks"}, {"POST", "/api/v1/tools/approve"}, {"POST", "/api/v1/asks/x"},
	} {
		for _, key := range []string{"", "nod_wrong", " ", strings.Repeat("x", 5000), ana.key + "x", ana.key[:len(ana.key)-1]} {
			c.with(key).fails(http.StatusUnauthorized, "unauthorized", call[0], call[1], nil)
		}
		basic := c.request(call[0], call[1], nil)
		basic.Header.Set("Authorization", "Basic "+ana.key)
		c.failed(basic, http.StatusUnauthorized, "unauthorized")
	}
	for hash := range b.sessions {
		if strings.Contains(hash, ana.key) || len(hash) != 64 {
			t.Errorf("the key is stored as %q", hash)
		}
	}
	if ana.user == "" || strings.Contains(ana.user, ana.key) {
		t.Errorf("user %q", ana.user)
	}
	// A wrong header is not saved by a good cookie: who sends a header means it. What a proxy has browsers say, or says itself, is no key of ours.
	beside := func(header string) *http.Request {
		req := c.request("GET", "/api/v1/chats", nil)
		req.Header.Set("Authorization", header)
		req.AddCookie(&http.Cookie{Name: "nod_session", Value: ana.key})
		return req
	}
	c.failed(beside("Bearer wrong"), http.StatusUnauthorized, "unauthorized")
	for _, theirs := range []string{"Basic YW5hOnB3", "Bearer " + strings.Repeat("eyJhbGciOiJSUzI1NiJ9.", 20)} {
		if status, out := c.do(beside(theirs)); status != http.StatusOK {
			t.Errorf("%.20s…: %d %v", theirs, status, out)
		}
	}
}

// R110
func TestAdminKeys(t *testing.T) {
	_, _, c := serve(t, nil)
	c.with(masterKey).ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	for _, guess := range []string{"", " ", masterKey + " x", strings.ToUpper(masterKey)} {
		c.with(guess).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	}
	if session.AdminUser(" "+masterKey+"\n") != session.AdminUser(masterKey) || session.AdminUser(masterKey) == session.AdminUser("another") || !session.AdminUser("  ").IsZero() {
		t.Error("AdminUser is not the identity of the trimmed key")
	}
	if strings.Contains(session.AdminUser(masterKey).String(), masterKey) {
		t.Error("the identity holds the key")
	}
}

func TestSessionsAwayFromLoopback(t *testing.T) {
	_, _, c := serve(t, func(c *Config) { c.Listen, c.SessionKeys = "0.0.0.0:8080", []session.Key{{Key: " door-key "}} })
	c.fails(http.StatusUnauthorized, "unauthorized", "POST", "/api/v1/sessions", map[string]string{"name": "x"})
	c.with("wrong").fails(http.StatusForbidden, "forbidden", "POST", "/api/v1/sessions", map[string]string{"name": "x"})
	for _, key := range []string{"door-key", masterKey} {
		ana := c.with(key).as("Ana")
		if ana.user == session.AdminUser(masterKey).String() {
			t.Error("a session opened with an admin's key is the admin")
		}
		ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	}
	// The key of the door is nobody's identity.
	c.with("door-key").fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
}

func TestHostAndOrigin(t *testing.T) {
	_, _, c := serve(t, nil)
	ana := c.as("Ana")
	ours := strings.TrimPrefix(c.url, "http://")
	port := ours[strings.LastIndex(ours, ":"):]
	for _, host := range []string{"localhost", "localhost" + port, "127.0.0.1" + port, "[::1]" + port, "LOCALHOST:1"} {
		req := ana.request("GET", "/api/v1/chats", nil)
		req.Host = host
		if status, out := ana.do(req); status != http.StatusOK {
			t.Errorf("Host %s: %d %v", host, status, out)
		}
	}
	for _, host := range []string{"evil.example", "evil.example" + port, "localhost.evil.example", "127.0.0.1.nip.io" + port, "192.0.2.7", "127.0.0.2", "[::2]", "xlocalhost"} {
		for _, path := range []string{"/api/v1/chats", "/", "/assets/app.js"} {
			req := ana.request("GET", path, nil)
			req.Host = host
			ana.failed(req, http.StatusForbidden, "host_not_allowed")
		}
	}
	for _, method := range []string{"GET", "POST"} {
		for header, values := range map[string][]string{
			"Origin":         {"http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example" + port, "file://", "chrome-extension://" + ours, "http://[::1"},
			"Sec-Fetch-Site": {"cross-site", "same-site"},
		} {
			if method == "GET" && header == "Sec-Fetch-Site" {
				continue // reading is the browser's to refuse; opening the page by a link is fine
			}
			for _, v := range values {
				req := ana.request(method, "/api/v1/chats", nil)
				req.Header.Set(header, v)
				ana.failed(req, http.StatusForbidden, "origin_not_allowed")
			}
		}
		req := ana.request(method, "/api/v1/chats", nil)
		req.Header.Set("Origin", c.url)
		if status, out := ana.do(req); status >= 300 {
			t.Errorf("our own page: %d %v", status, out)
		}
	}
	// Configured names are taken; on another listener only they are.
	_, _, far := serve(t, func(c *Config) { c.Listen, c.Hosts = "0.0.0.0:80", []string{"nod.example"} })
	admin := far.with(masterKey)
	req := admin.request("GET", "/api/v1/chats", nil)
	req.Host = "nod.example:443"
	if status, _ := admin.do(req); status != http.StatusOK {
		t.Errorf("configured host: %d", status)
	}
	admin.fails(http.StatusForbidden, "host_not_allowed", "GET", "/api/v1/chats", nil)
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	_, _, c := serve(t, nil)
	for _, path := range []string{"/", "/c/x", "/assets/app.js", "/assets/app.css", "/assets/icon.svg", "/api/v1/chats", "/nothing"} {
		res, err := http.Get(c.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		csp := res.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s", path, want)
			}
		}
		if strings.Contains(csp, "unsafe") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, res.Header)
		}
		if strings.Contains(string(body), "<script>") || strings.Contains(string(body), " style=") || strings.Contains(string(body), " onclick=") {
			t.Errorf("%s has something inline, which its own policy forbids", path)
		}
	}
}

func TestOnlyAssetsAreServed(t *testing.T) {
	_, _, c := serve(t, nil)
	for path, want := range map[string]int{"/assets/app.js": http.StatusOK, "/assets/nothing.js": http.StatusNotFound, "/assets/page.html": http.StatusNotFound} {
		res, err := http.Get(c.url + path)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

func TestSignInSetsAStrictCookie(t *testing.T) {
	_, _, c := serve(t, nil)
	form := func(values string) *http.Response {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", c.url+"/session", strings.NewReader(values))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for values, status := range map[string]int{"name=Ana": 303, "name=Ana&key=" + masterKey: 303, "name=Ana&key=wrong": 403} {
		res := form(values)
		if res.StatusCode != status {
			t.Errorf("%s: %d", values, res.StatusCode)
		}
		cookies := res.Cookies()
		if (len(cookies) == 1) != (status == 303) {
			t.Fatalf("%s: cookies %v", values, cookies)
		}
		if status != 303 {
			continue
		}
		k := cookies[0]
		if !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/" {
			t.Errorf("cookie %v", k)
		}
		req := c.request("GET", "/api/v1/chats", nil)
		req.AddCookie(k)
		if status, out := c.do(req); status != http.StatusOK {
			t.Errorf("%s: the cookie is not taken: %d %v", values, status, out)
		}
	}
	if got := form("name=x&page=inbox").Header.Get("Location"); got != "/inbox" {
		t.Errorf("who came for the inbox is led to %q", got)
	}
	for from, to := range map[string]string{"c-abc": "/c/c-abc", "//evil.example": "/", "..%2F..": "/", "": "/"} {
		if got := form("name=x&chat=" + from).Header.Get("Location"); got != to {
			t.Errorf("after signing in at %q the page goes to %q", from, got)
		}
	}
}
