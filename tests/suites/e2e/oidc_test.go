package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/tests/standins/fakeoidc"
	"github.com/nodhq/nod/tests/standins/stand"
)

// provider is one that knows Ana and Ben of the board, Ana as an admin, and Cleo; and what a bot at this port is told of it. It is localhost, and the
// page is 127.0.0.1: for a browser two sites, as in a company.
func provider(t *testing.T, port int, rules string) (*fakeoidc.Provider, settings) {
	t.Helper()
	p, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	page := fmt.Sprintf("http://127.0.0.1:%d", port)
	p.Redirect = page + "/signin/callback"
	p.Person("ana", map[string]any{"sub": "1001", "name": "Ana Lima", "groups": []string{"board", "nod-admins"}})
	p.Person("ben", map[string]any{"sub": "1002", "name": "Ben Okri", "groups": []string{"board"}})
	p.Person("cleo", map[string]any{"sub": "1003", "name": "Cleo Marin"})
	return p, settings{
		yaml: fmt.Sprintf("web: {oidc: {issuer: %q, client_id: nod, page_url: %q}}\n%s", p.URL, page, rules),
		env:  map[string]string{"NOD_LISTEN": fmt.Sprintf("127.0.0.1:%d", port), "NOD_OIDC_CLIENT_SECRET": fakeoidc.Secret},
	}
}

// noSecret wants a bot to have logged nothing that the provider gave it.
func noSecret(t *testing.T, p *fakeoidc.Provider, bots ...*bot) {
	t.Helper()
	for _, b := range bots {
		for _, secret := range append(p.Gave(), fakeoidc.Secret) {
			if strings.Contains(b.out.String(), secret) {
				t.Errorf("%s logs %s", b.name, secret)
			}
		}
	}
	for _, fault := range p.Faults() {
		if !strings.Contains(fault, "used already") { // which a test tries
			t.Errorf("the provider complains: %s", fault)
		}
	}
}

// A company's people sign in on the page, and whoever is an admin there by a group decides what only an admin may.
func TestPageSignsInByAProvider(t *testing.T) {
	t.Parallel()
	p, s := provider(t, stand.FreePort(t), "admins: ['web::&nod-admins']\npermissions: {servers: {workbench: {tools: {create_directory: {approval: RequireAuth}}}}}\n")
	b := start(t, s)
	as := func(name string) *tab {
		t.Helper()
		tab := arrive(t, b)
		tab.do(chromedp.WaitVisible(chromedp.CSS("#sign-in")))
		if got := tab.text("main"); strings.Contains(got, "Your name") || strings.Contains(got, "key") {
			t.Errorf("the door asks for more than the provider does: %q", got)
		}
		tab.signInAs(name)
		return tab
	}
	cleo := as("cleo")
	if got := cleo.text(".me"); !strings.Contains(got, "Cleo Marin") {
		t.Errorf("Cleo reads %q", got)
	}
	cleo.say("make the directory plans")
	cleo.until(asked)
	cleo.press(".ask .answers .choices [data-choice=allow_once]")
	cleo.until(`document.querySelector("#whisper").innerText.includes("admin")`)
	ana := as("ana")
	ana.do(chromedp.Navigate(b.addr + look[string](cleo, "location.pathname")))
	ana.isIn()
	ana.until(asked)
	ana.press(".ask .answers .choices [data-choice=allow_once]")
	ana.until(isDone)
	if info, err := os.Stat(b.workspace("plans")); err != nil || !info.IsDir() {
		t.Errorf("what the admin allowed did not run: %v", err)
	}
	cleo.until(`document.querySelector(".messages").innerText.includes("Ana Lima")`) // who allowed it
	ana.press(".me button:not([name])")
	ana.do(chromedp.WaitVisible(chromedp.CSS("#sign-in")))
	ana.do(chromedp.Navigate(b.addr + "/settings"))
	ana.do(chromedp.WaitVisible(chromedp.CSS("#sign-in")))
	noSecret(t, p, b)
}

// A sign-in ends on another replica than it began on, what a group gives counts on both, and a restart changes nothing of it.
func TestSigningInOverReplicas(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	p, s := provider(t, stand.FreePort(t), "approvals: {min_approvals: 2, approvers: ['web::&board']}\n")
	s.env["REDIS_URL"], s.name, s.dir = redis.url, "first", filepath.Join(t.TempDir(), "data") // of both: the demo's files are there
	first := start(t, s)
	s.env["NOD_LISTEN"], s.name = "127.0.0.1:0", "second"
	second := start(t, s)
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(address string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range cookies {
			r.AddCookie(k)
		}
		res, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	location := func(res *http.Response) *url.URL {
		t.Helper()
		to, err := res.Location()
		if err != nil {
			t.Fatal(res.Status, p.Faults())
		}
		return to
	}
	as := func(name string) *person {
		t.Helper()
		begun := get(first.addr + "/signin")
		back := location(get(location(begun).String() + "&as=" + name)).RequestURI()
		for _, k := range get(second.addr+back, begun.Cookies()...).Cookies() {
			if k.Name == "nod_session" {
				if again := get(first.addr+back, begun.Cookies()...); again.StatusCode != http.StatusForbidden {
					t.Errorf("one sign-in is two: %s", again.Status)
				}
				return &person{t: t, b: first, key: k.Value}
			}
		}
		t.Fatalf("%s did not get in: %s", name, second.out.String())
		return nil
	}
	ana, ben, cleo := as("ana"), as("ben"), as("cleo")
	r := cleo.room()
	ask := r.ask("write hello to board.txt")
	allow := func(who *person, want int) {
		t.Helper()
		if status, no := who.call("POST", "/api/v1/asks/"+ask.RequestID, map[string]any{"choice": "allow_once"}, nil); status != want {
			t.Errorf("%d %+v, want %d", status, no, want)
		}
	}
	allow(cleo, http.StatusForbidden)
	allow(ben, http.StatusOK)
	if status, no := ben.call("DELETE", "/api/v1/sessions", nil, nil); status != http.StatusOK { // what he said still counts
		t.Fatal(status, no)
	}
	second.restart()
	ana.b = second
	allow(ana, http.StatusOK)
	r.idle()
	if got := first.content("board.txt"); got != "hello" {
		t.Errorf("what two of the board allowed did not run: %q", got)
	}
	noSecret(t, p, first, second)
}
