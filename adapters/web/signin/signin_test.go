package signin_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/tests/standins/fakeoidc"
)

const page = "https://nod.example.org"

// visit is a provider, doors of ours before it, and a browser.
type visit struct {
	t    *testing.T
	p    *fakeoidc.Provider
	log  bytes.Buffer
	now  func() time.Time
	way  http.RoundTripper // nil: the network's
	mu   sync.Mutex
	used map[string]bool
	told []string // what was refused, in both wordings
}

func start(t *testing.T) *visit {
	t.Helper()
	p, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	p.Redirect = page + "/signin/callback"
	p.Person("ana", map[string]any{"sub": "1001", "name": "Ana Lima", "email": "Ana@Example.org", "email_verified": true, "groups": []string{"staff", "nod-admins"}})
	v := &visit{t: t, p: p, now: time.Now, used: map[string]bool{}}
	t.Cleanup(func() {
		p.Close()
		for _, secret := range append(v.p.Gave(), fakeoidc.Secret) {
			for _, told := range append(v.told, v.log.String()) {
				if strings.Contains(told, secret) {
					t.Errorf("a secret is told: %s", told)
				}
			}
		}
	})
	return v
}

// within leads to a provider of any name.
type within struct{ p *fakeoidc.Provider }

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.p.ServeHTTP(rec, r)
	res := rec.Result()
	res.Request = r
	return res, nil
}

// once is what the store of all replicas says.
func (v *visit) once(_ context.Context, name string, _ time.Duration) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.used[name]
	v.used[name] = true
	return !was, nil
}

func (v *visit) door(change func(*signin.Config)) *signin.Door {
	v.t.Helper()
	c := signin.Config{Issuer: v.p.URL, ClientID: fakeoidc.ClientID, ClientSecret: fakeoidc.Secret, Page: page, Claim: "sub", GroupsClaim: "groups", Client: &http.Client{Transport: v.way},
		Now: func() time.Time { return v.now() }, Logger: slog.New(slog.NewTextHandler(&v.log, nil))}
	if change != nil {
		change(&c)
	}
	d, err := signin.New(c)
	if err != nil {
		v.t.Fatal(err)
	}
	return d
}

// goes lets a browser go to the provider and say who it is.
func (v *visit) goes(d *signin.Door, as string) (cookie string, back url.Values) {
	v.t.Helper()
	address, cookie, err := d.Begin(v.t.Context(), "/c/chat")
	if err != nil {
		v.t.Fatal(err)
	}
	browser := &http.Client{Transport: v.way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, address+"&as="+as, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	res, err := browser.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	res.Body.Close()
	to, err := res.Location()
	if err != nil {
		v.t.Fatalf("the provider sends nobody back: %d, %v", res.StatusCode, v.p.Faults())
	}
	return cookie, to.Query()
}

func (v *visit) signsIn(d *signin.Door, as string) (signin.Person, error) {
	v.t.Helper()
	cookie, back := v.goes(d, as)
	return d.Finish(v.t.Context(), cookie, back, v.once)
}

// refused wants a sign-in to come to nothing, for this reason.
func (v *visit) refused(err error, code, why string) {
	v.t.Helper()
	no, ok := errors.AsType[*signin.Refused](err)
	if !ok || no.Code != code || !strings.Contains(no.Error(), why) || no.Say == "" {
		v.t.Errorf("it came to %v, want %s: %s", err, code, why)
		return
	}
	v.told = append(v.told, no.Error(), no.Say)
}

func TestSigningIn(t *testing.T) {
	v := start(t)
	d := v.door(nil)
	for range 2 { // the same person each time
		who, err := v.signsIn(d, "ana")
		if err != nil {
			t.Fatal(err)
		}
		host := strings.TrimPrefix(v.p.URL, "http://")
		if who.Key != "1001@"+host || who.To != "/c/chat" || !slices.Equal(who.Groups, []string{"staff", "nod-admins"}) || !slices.Equal(who.Names, []string{"Ana Lima", "", "ana@example.org", "1001"}) {
			t.Errorf("%+v", who)
		}
	}
	// A sign-in may end on another replica than it began on.
	cookie, back := v.goes(d, "ana")
	if _, err := v.door(nil).Finish(t.Context(), cookie, back, v.once); err != nil {
		t.Error(err)
	}
	// One group is no list with some providers.
	v.p.Person("ben", map[string]any{"groups": "staff"})
	if who, err := v.signsIn(d, "ben"); err != nil || !slices.Equal(who.Groups, []string{"staff"}) {
		t.Errorf("%+v, %v", who, err)
	}
	v.p.Person("cleo", map[string]any{"groups": append(slices.Repeat([]string{"one of many"}, 500), "nod-admins")})
	if who, err := v.signsIn(d, "cleo"); err != nil || len(who.Groups) != 501 {
		t.Errorf("%d groups, %v", len(who.Groups), err)
	}
	// Entra names none of so many, and says where to ask for them.
	v.p.Person("cem", map[string]any{"_claim_names": map[string]any{"groups": "src1"}, "_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example"}}})
	if who, err := v.signsIn(d, "cem"); err != nil || len(who.Groups) != 0 || !strings.Contains(v.log.String(), "more groups than") {
		t.Errorf("%+v, %v", who, err)
	}
	v.p.Person("dan", map[string]any{"groups": []any{"staff", "", 7, nil, strings.Repeat("x", 256), "board"}})
	if who, err := v.signsIn(d, "dan"); err != nil || !slices.Equal(who.Groups, []string{"staff", "board"}) {
		t.Errorf("%+v, %v", who, err)
	}
	v.p.Person("eve", map[string]any{"groups": 7})
	if who, err := v.signsIn(d, "eve"); err != nil || len(who.Groups) != 0 {
		t.Errorf("%+v, %v", who, err)
	}
	// Where the secret goes is the provider's to say.
	v.p.Set(fakeoidc.Behaviour{Post: true})
	if _, err := v.signsIn(v.door(nil), "ana"); err != nil {
		t.Error(err)
	}
	v.p.Set(fakeoidc.Behaviour{Document: func(d map[string]any) {
		d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post", "client_secret_basic"}
		delete(d, "code_challenge_methods_supported") // as with Entra, which has PKCE
	}})
	if _, err := v.signsIn(v.door(nil), "ana"); err != nil {
		t.Error(err)
	}
	if faults := v.p.Faults(); len(faults) != 0 {
		t.Error(faults)
	}
	if log := v.log.String(); strings.Count(log, "\n") != 1 {
		t.Errorf("where nothing went wrong the log says %s", log)
	}
}

// What is not this sign-in, in this browser, now and for the first time, is none.
func TestOneSignInIsOne(t *testing.T) {
	v := start(t)
	v.p.Set(fakeoidc.Behaviour{Generous: true})
	d := v.door(nil)
	cookie, back := v.goes(d, "ana")
	other, others := v.goes(d, "ana")
	_, err := d.Finish(t.Context(), "", back, v.once)
	v.refused(err, "sign_in_stale", "no cookie")
	_, err = d.Finish(t.Context(), other, back, v.once)
	v.refused(err, "sign_in_stale", "the state is of another")
	_, err = d.Finish(t.Context(), cookie, url.Values{"code": others["code"]}, v.once)
	v.refused(err, "sign_in_stale", "the state is of another")
	_, err = d.Finish(t.Context(), cookie[:len(cookie)-2]+"AA", back, v.once)
	v.refused(err, "sign_in_stale", "no cookie")
	stranger := v.door(func(c *signin.Config) { c.ClientSecret = "another-secret-of-the-client" })
	_, err = stranger.Finish(t.Context(), cookie, back, v.once)
	v.refused(err, "sign_in_stale", "no cookie")
	// A code of another sign-in, as whoever wants somebody to act under their name would send it.
	_, err = d.Finish(t.Context(), cookie, url.Values{"state": back["state"], "code": others["code"]}, v.once)
	v.refused(err, "sign_in_stale", "HTTP 400, invalid_grant")
	for _, off := range []time.Duration{61 * time.Minute, -61 * time.Minute} {
		v.now = func() time.Time { return time.Now().Add(off) }
		_, err = d.Finish(t.Context(), cookie, back, v.once)
		v.refused(err, "sign_in_stale", "longer than")
	}
	// Who has to reset a password first takes their time.
	v.now = func() time.Time { return time.Now().Add(-40 * time.Minute) }
	slow, late := v.goes(d, "ana")
	v.now = time.Now
	if _, err := d.Finish(t.Context(), slow, late, v.once); err != nil {
		t.Error(err)
	}
	if _, err := d.Finish(t.Context(), cookie, back, v.once); err != nil {
		t.Fatal(err)
	}
	_, err = v.door(nil).Finish(t.Context(), cookie, back, v.once) // although the provider would take it again
	v.refused(err, "sign_in_stale", "finished already")
	down := errors.New("the store is down")
	_, err = d.Finish(t.Context(), other, others, func(context.Context, string, time.Duration) (bool, error) { return true, down })
	if !errors.Is(err, down) {
		t.Errorf("without the store it came to %v", err)
	}
}

// A token is taken from nobody but the provider, for nobody but us, for this sign-in, now.
func TestForgedTokens(t *testing.T) {
	v := start(t)
	d := v.door(nil)
	alg := func(name string) func(h, c map[string]any) { return func(h, _ map[string]any) { h["alg"] = name } }
	claim := func(name string, value any) fakeoidc.Behaviour {
		return fakeoidc.Behaviour{Bend: func(_, c map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}}
	}
	by := func(secret func(*fakeoidc.Provider) []byte) fakeoidc.Behaviour {
		return fakeoidc.Behaviour{Bend: alg("HS256"), Sign: fakeoidc.SignBySecret(secret)}
	}
	thief, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for why, b := range map[string]fakeoidc.Behaviour{
		`unexpected signature algorithm "none"`:  {Bend: alg("none"), Sign: func(string, *fakeoidc.Provider) []byte { return nil }},
		`unexpected signature algorithm "HS256"`: by(func(*fakeoidc.Provider) []byte { return []byte(fakeoidc.Secret) }),
		`algorithm "HS256"`:                      by(func(*fakeoidc.Provider) []byte { return []byte(fakeoidc.ClientID) }),
		`signature algorithm "HS256"`:            by(fakeoidc.Public),
		"failed to verify signature": {Sign: func(signed string, _ *fakeoidc.Provider) []byte {
			sum := sha256.Sum256([]byte(signed))
			sig, _ := rsa.SignPKCS1v15(nil, thief, crypto.SHA256, sum[:])
			return sig
		}},
		`expected audience "nod"`:        claim("aud", "another-client"),
		"the token is for somebody else": claim("aud", []string{"nod", "another-client"}),
		"is for somebody else, too":      claim("azp", "another-client"),
		"for somebody else, too":         claim("azp", []string{"nod"}),
		"issued by a different provider": claim("iss", "https://evil.example"),
		"token is expired":               claim("exp", in(-time.Minute)),
		"token is expired (Token Expiry": claim("exp", nil),
		"before the nbf":                 claim("nbf", in(time.Hour)),
		"more than 10m0s from now":       claim("iat", in(-11*time.Minute)),
		"issued more than 10m0s":         claim("iat", in(11*time.Minute)),
		"whose clock is wrong":           claim("iat", nil),
		"the token's nonce":              claim("nonce", "another-nonce-of-another-sign-in"),
		"nonce is not the one":           claim("nonce", nil),
		"the token has no sub":           claim("sub", nil),
		"has no sub that could name":     claim("sub", strings.Repeat("x", 256)),
		"no sub that could name":         claim("sub", "1001\n"),
		"cannot unmarshal number":        claim("sub", 1001),
		"malformed jwt": {Token: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"x"}`)
		}},
		"HTTP 400, an error without a name": {Token: func(w http.ResponseWriter) { http.Error(w, "your code was …", http.StatusBadRequest) }},
	} {
		v.p.Set(b)
		_, err := v.signsIn(d, "ana")
		v.refused(err, "sign_in_refused", why)
	}
	v.p.Set(fakeoidc.Behaviour{Refuse: "access_denied"})
	_, err = v.signsIn(d, "ana")
	v.refused(err, "sign_in_refused", "access_denied")
	v.p.Set(fakeoidc.Behaviour{Refuse: "<b>" + fakeoidc.Secret})
	_, err = v.signsIn(d, "ana")
	v.refused(err, "sign_in_refused", "an error without a name")
	v.p.Set(fakeoidc.Behaviour{})
	_, err = v.signsIn(v.door(func(c *signin.Config) { c.ClientSecret = "not-the-secret-of-the-client" }), "ana")
	v.refused(err, "sign_in_client", "HTTP 401, invalid_client")
	// A token of several audiences that names us is for us.
	v.p.Set(fakeoidc.Behaviour{Bend: func(_, c map[string]any) { c["aud"], c["azp"] = []string{"nod", "another-client"}, "nod" }})
	if _, err := v.signsIn(d, "ana"); err != nil {
		t.Error(err)
	}
}

// Who may sign in at all. An address that nobody verified counts for nothing.
func TestWhoMaySignIn(t *testing.T) {
	v := start(t)
	v.p.Person("unsure", map[string]any{"email": "ben@example.org", "email_verified": false, "groups": []string{"staff"}})
	v.p.Person("unsaid", map[string]any{"email": "ben@example.org", "groups": []string{"staff"}})
	v.p.Person("texted", map[string]any{"email": "ben@example.org", "email_verified": "true", "groups": []string{"staff"}})
	v.p.Person("evil", map[string]any{"email": "ana@example.org.evil.example", "email_verified": true, "groups": []string{"Staff"}})
	v.p.Person("twice", map[string]any{"email": "ana@evil.example@example.org", "email_verified": true})
	domains := func(c *signin.Config) { c.Domains = []string{"Example.org"} }
	groups := func(c *signin.Config) { c.Groups = []string{"staff", "board"} }
	nowhere := func(c *signin.Config) { c.Domains = []string{""} }
	both := func(c *signin.Config) { domains(c); groups(c) }
	mail := func(c *signin.Config) { c.Claim = "email" }
	for _, x := range []struct {
		who    string
		rule   func(*signin.Config)
		key    string
		refuse string
	}{
		{"ana", domains, "1001@", ""}, {"ana", groups, "1001@", ""}, {"ana", both, "1001@", ""}, {"ana", mail, "ana@example.org@", ""},
		{"unsure", domains, "", "web.oidc.domains"}, {"unsaid", domains, "", "web.oidc.domains"}, {"texted", domains, "", "web.oidc.domains"},
		{"evil", domains, "", "web.oidc.domains"}, {"twice", domains, "", "web.oidc.domains"},
		{"evil", groups, "", "web.oidc.groups"}, {"twice", groups, "", "web.oidc.groups"}, {"unsaid", both, "", "web.oidc.domains"}, {"twice", both, "", "web.oidc.groups"},
		{"unsure", nowhere, "", "web.oidc.domains"},
		{"unsure", mail, "", "has to be verified"}, {"unsaid", mail, "", "has to be verified"},
	} {
		who, err := v.signsIn(v.door(x.rule), x.who)
		switch {
		case x.refuse == "" && (err != nil || !strings.HasPrefix(who.Key, x.key)):
			t.Errorf("%s is %q, %v", x.who, who.Key, err)
		case x.refuse == "has to be verified":
			v.refused(err, "sign_in_refused", x.refuse)
		case x.refuse != "":
			v.refused(err, "sign_in_not_allowed", x.refuse)
			if strings.HasSuffix(x.refuse, "groups") { // so that whoever runs nod sees whether the provider sends any
				v.refused(err, "sign_in_not_allowed", fmt.Sprintf("%d in its claim groups", map[string]int{"evil": 1}[x.who]))
			} else {
				v.refused(err, "sign_in_not_allowed", fmt.Sprintf("has one in %q", map[string]string{"evil": "example.org.evil.example", "twice": "evil.example@example.org"}[x.who]))
			}
		}
	}
	if who, err := v.signsIn(v.door(nil), "unsure"); err != nil || strings.Contains(fmt.Sprint(who.Names), "@") {
		t.Errorf("called %q by an address that nobody verified, %v", who.Names, err)
	}
	// Google calls an address verified for ever that somebody else gave out: who left, and made an account of their own by it, has it still.
	google, err := fakeoidc.New("https://accounts.google.com")
	if err != nil {
		t.Fatal(err)
	}
	google.Redirect, v.p, v.way = v.p.Redirect, google, within{google}
	for _, x := range []struct{ mail, of, refuse string }{
		{"ana@example.org", "example.org", ""}, {"ana@gmail.com", "", ""}, {"left@example.org", "", "web.oidc.domains"}, {"left@notgmail.com", "", "web.oidc.domains"},
	} {
		google.Person("x", map[string]any{"email": x.mail, "email_verified": true, "hd": x.of})
		d := v.door(func(c *signin.Config) { c.Domains = []string{"example.org", "gmail.com", "notgmail.com"} })
		if address, _, err := d.Begin(t.Context(), "/"); err != nil || strings.Contains(address, "hd=") {
			t.Errorf("%s, %v", address, err)
		}
		_, err := v.signsIn(d, "x")
		if x.refuse != "" {
			v.refused(err, "sign_in_not_allowed", x.refuse)
		} else if err != nil {
			t.Errorf("%s: %v", x.mail, err)
		}
	}
	// Google is told whose account it has to be.
	if address, _, err := v.door(domains).Begin(t.Context(), "/"); err != nil || !strings.Contains(address, "&hd=Example.org&") {
		t.Errorf("%s, %v", address, err)
	}
}

// The rules by which people get in are part of a door's name.
func TestADoorIsNamedByItsRules(t *testing.T) {
	v := start(t)
	domains := func(c *signin.Config) { c.Domains = []string{"example.org"} }
	mail := func(c *signin.Config) { c.Claim = "email" }
	one, same := v.door(nil), v.door(nil)
	if one.ID() == v.door(domains).ID() || one.ID() == v.door(mail).ID() || one.ID() != same.ID() {
		t.Error("the rules by which people got in are not told apart")
	}
}

// A provider that is down, or not what it must be, keeps people out, and is tried again.
func TestAProviderThatDoesNotAnswer(t *testing.T) {
	v := start(t)
	at := time.Now()
	v.now = func() time.Time { return at }
	d := v.door(nil)
	down := func() {
		t.Helper()
		_, _, err := d.Begin(t.Context(), "/")
		v.refused(err, "sign_in_unavailable", "503")
		if no, ok := errors.AsType[*signin.Refused](err); !ok || !no.Down {
			t.Error("it is not said that the provider is down")
		}
	}
	v.p.Set(fakeoidc.Behaviour{Down: true})
	down()
	v.p.Set(fakeoidc.Behaviour{})
	at = at.Add(9 * time.Second)
	down() // nobody is asked so soon
	v.p.Set(fakeoidc.Behaviour{Down: true})
	at = at.Add(time.Second)
	down()
	v.p.Set(fakeoidc.Behaviour{})
	at = at.Add(10 * time.Second)
	cookie, back := v.goes(d, "ana")
	if log := v.log.String(); strings.Count(log, "nobody can sign in") != 1 || strings.Count(log, "answers again") != 1 {
		t.Errorf("the log: %s", log)
	}
	for _, status := range []int{429, 500, 503} {
		v.p.Set(fakeoidc.Behaviour{Token: func(w http.ResponseWriter) { http.Error(w, "your code was …", status) }})
		_, err := v.signsIn(d, "ana")
		v.refused(err, "sign_in_unavailable", fmt.Sprint("gave no token: HTTP ", status))
		v.refused(d.Try(t.Context()), "sign_in_unavailable", fmt.Sprint("HTTP ", status)) // the secret was not looked at
	}
	v.p.Set(fakeoidc.Behaviour{})
	v.p.Close() // between the two ends of a sign-in
	_, err := d.Finish(t.Context(), cookie, back, v.once)
	v.refused(err, "sign_in_unavailable", "gave no token")
	_, err = v.door(nil).Finish(t.Context(), cookie, back, v.once) // on a replica that did not know the provider yet
	v.refused(err, "sign_in_unavailable", "refused")
	// Somebody who went away has not found out that it is down.
	gone, leave := context.WithCancel(t.Context())
	leave()
	w := start(t)
	if _, _, err := w.door(nil).Begin(gone, "/"); err != nil {
		t.Error(err)
	}
	const entra = "https://login.microsoftonline.com/8f14e45f-ceea-467f-a9a3-6f1d2c8e0b57/v2.0"
	for why, change := range map[string]func(map[string]any){
		"of the issuer " + entra: func(d map[string]any) { d["issuer"] = entra }, // whole: it is what has to be configured
		"an address without TLS": func(d map[string]any) { d["token_endpoint"] = "http://login.example.org/token" },
		"address without TLS":    func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" },
		"without TLS, or none":   func(d map[string]any) { delete(d, "jwks_uri") },
		"does not know PKCE":     func(d map[string]any) { d["code_challenge_methods_supported"] = []string{"plain"} },
	} {
		w.p.Set(fakeoidc.Behaviour{Document: change})
		v.refused(w.door(nil).Check(t.Context()), "sign_in_unavailable", why)
	}
	for address, safe := range map[string]bool{
		"https://login.example.org/token": true, "http://localhost:1/token": true, "http://127.0.0.1/token": true, "http://[::1]:1/token": true,
		"http://login.example.org/token": false, "http://192.0.2.1/token": false, "ftp://localhost/token": false, "https:///token": false, "https://a b/": false, "/token": false, "": false,
	} {
		w.p.Set(fakeoidc.Behaviour{Document: func(d map[string]any) { d["token_endpoint"] = address }})
		if err := w.door(nil).Check(t.Context()); (err == nil) != safe {
			t.Errorf("a secret goes to %q: %v", address, err)
		}
	}
}

func TestADoorNeedsAll(t *testing.T) {
	v := start(t)
	for _, leaveOut := range []func(*signin.Config){
		func(c *signin.Config) { c.Issuer = "" }, func(c *signin.Config) { c.ClientID = "" }, func(c *signin.Config) { c.ClientSecret = "" },
		func(c *signin.Config) { c.Page = "" }, func(c *signin.Config) { c.Claim = "" }, func(c *signin.Config) { c.GroupsClaim = "" },
	} {
		c := v.door(nil).Config
		leaveOut(&c)
		if _, err := signin.New(c); err == nil {
			t.Errorf("a door is made of %+v", c)
		}
	}
}
