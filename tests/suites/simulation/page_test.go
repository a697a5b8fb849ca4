package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/adapters/web/signin"
	. "github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/standins/fakeoidc"
)

const (
	outside = "nod.example" // where the page is
	issuer  = "https://login.example"

	browserWaits = 30 * time.Second // longer than the store tries
)

// provider is where people sign in, in all stories: its key takes its time.
var provider = sync.OnceValues(func() (*fakeoidc.Provider, error) {
	p, err := fakeoidc.New(issuer)
	if err == nil {
		p.Redirect = "https://" + outside + signin.PathReturn
		for _, who := range people {
			p.Person(who, map[string]any{"sub": who, "name": strings.ToUpper(who)})
		}
	}
	return p, err
})

var people = []string{"ana", "ben"}

// stay is one session on the page that somebody was given.
type stay struct {
	who   string
	key   *http.Cookie
	began time.Time // their sign-in
	tries int       // to end it
	over  time.Time // that was certainly on record
}

// left is that somebody ends all their sessions.
type left struct {
	who   string
	taken time.Time // zero: that is not known
}

// pages are what people do on the page, in a story with sign-ins.
type pages struct {
	provider *fakeoidc.Provider
	gave     int // codes and tokens, in stories before

	of     map[*Replica]*web.Server // guarded by the story's lock, as is all that follows
	stays  []*stay
	lefts  []*left
	log    bytes.Buffer
	writes sync.Mutex // to the log
}

// Write is a page's log.
func (p *pages) Write(b []byte) (int, error) {
	p.writes.Lock()
	defer p.writes.Unlock()
	return p.log.Write(b)
}

// opensPages has people sign in on the page in this story.
func (s *story) opensPages(smooth bool) {
	if smooth || s.seed%4 != 3 {
		return
	}
	p, err := provider()
	if err != nil {
		s.Fatal(err)
	}
	s.troubled["provider"], s.rates["provider"] = rand.New(rand.NewPCG(s.seed, 5)), 0.1 //nolint:gosec // a story
	p.Set(fakeoidc.Behaviour{Generous: s.seed%8 == 3})                                  // that a code counts once is for nod to see to
	s.pages = &pages{provider: p, gave: len(p.Gave()), of: map[*Replica]*web.Server{}}
}

// RoundTrip is how pages reach the provider.
func (s *story) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, wait := s.befalls("provider", 3)
	if kind == 1 && r.Method == http.MethodPost { // it takes its time; over its document a lock is held, for which a bubble's time stands still
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	w := httptest.NewRecorder()
	s.pages.provider.ServeHTTP(w, r)
	switch kind {
	case 2:
		return nil, errors.New("the provider's answer was lost (simulated)")
	case 3:
		return &http.Response{StatusCode: http.StatusBadGateway, Status: "502", Body: http.NoBody, Request: r}, nil
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// pageOf is a replica's page.
func (s *story) pageOf(r *Replica) *web.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages.of[r]; p != nil {
		return p
	}
	log := slog.New(slog.NewTextHandler(s.pages, nil))
	door, err := signin.New(signin.Config{
		Issuer: issuer, ClientID: fakeoidc.ClientID, ClientSecret: fakeoidc.Secret, Page: "https://" + outside, Claim: "sub", GroupsClaim: "groups",
		Client: &http.Client{Transport: s, Timeout: patience}, Logger: log,
	})
	if err != nil {
		s.Fatal(err)
	}
	p, err := web.New(web.Config{Engine: r.Engine, Settings: r.Settings, Log: r.Store(), Shelf: r.Store(), SignIn: signin.Doors{door}, Logger: log})
	if err != nil {
		s.Fatal(err)
	}
	s.pages.of[r] = p
	return p
}

// browses sends a page what a browser sends, and gives its answer; nil where none came.
func (s *story) browses(r *Replica, method, path string, form url.Values, cookies ...*http.Cookie) *http.Response {
	ctx, cancel := context.WithTimeout(context.Background(), browserWaits)
	defer cancel()
	in := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form.Encode()))
	in.Host = outside
	in.Header.Set("X-Forwarded-Proto", "https")
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range cookies {
		in.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.pageOf(r).Handler().ServeHTTP(w, in)
	if r.Dead() {
		return nil
	}
	return w.Result()
}

func cookieOf(res *http.Response, name string) *http.Cookie {
	if i := slices.IndexFunc(res.Cookies(), func(c *http.Cookie) bool { return c.Name == name && c.Value != "" }); i >= 0 {
		return res.Cookies()[i]
	}
	return nil
}

// visit has somebody sign in on the page, look who they are there, or sign out.
func (s *story) visit() {
	who, kind := pick(s.rng, people), s.rng.IntN(6)
	s.mu.Lock()
	all := slices.Clone(s.pages.stays)
	s.mu.Unlock()
	if len(all) == 0 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2:
		s.aside(func(rng *rand.Rand) { s.signsIn(rng, who) })
	case 3:
		x := pick(s.rng, all)
		s.aside(func(rng *rand.Rand) { s.looks(s.some(rng), x) })
	default:
		x := all[len(all)-1] // what was begun a moment ago may still be on its way
		if s.rng.IntN(2) == 0 {
			x = pick(s.rng, all)
		}
		s.aside(func(rng *rand.Rand) { s.signsOut(rng, x, kind == 4) })
	}
}

// signsIn has somebody go to the provider and come back, and tries again until they are in. Browsers come back twice, if people reload.
func (s *story) signsIn(rng *rand.Rand, who string) {
	for range 20 {
		began := time.Now()
		if s.comesBack(rng, who, began) {
			return
		}
		<-time.After(time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm {
		s.Errorf("%s cannot sign in, and nothing breaks", who)
	}
}

func (s *story) comesBack(rng *rand.Rand, who string, began time.Time) bool {
	res := s.browses(s.some(rng), http.MethodGet, "/signin", nil)
	if res == nil || res.StatusCode != http.StatusFound {
		return false
	}
	flow := cookieOf(res, "__Host-nod_signin")
	w := httptest.NewRecorder()
	s.pages.provider.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, res.Header.Get("Location")+"&as="+who, nil))
	back, err := w.Result().Location()
	if err != nil || flow == nil {
		s.Errorf("%s was sent to the provider in a way that it does not take: %v", who, s.pages.provider.Faults())
		return false
	}
	var in []*stay
	var mu sync.Mutex
	var browsers sync.WaitGroup
	for range 1 + rng.IntN(3) {
		r, wait := s.some(rng), time.Duration(rng.IntN(int(patience)))
		browsers.Go(func() {
			<-time.After(wait)
			if r.Dead() {
				return
			}
			res := s.browses(r, http.MethodGet, back.RequestURI(), nil, flow)
			if res == nil || res.StatusCode != http.StatusOK {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			in = append(in, &stay{who: who, key: cookieOf(res, "__Host-nod_session"), began: began})
		})
	}
	browsers.Wait()
	if len(in) > 1 {
		s.Errorf("one sign-in of %s gave %d sessions", who, len(in))
	}
	for _, x := range in {
		s.tell("%s signed in on the page: %s", who, x.key.Value[:8])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages.stays = append(s.pages.stays, in...)
	return len(in) > 0
}

// signsOut ends one session, or all of its person, and tries again until that is taken.
func (s *story) signsOut(rng *rand.Rand, x *stay, all bool) {
	form, l := url.Values{}, &left{who: x.who}
	s.mu.Lock()
	mean, alone := []*stay{x}, !s.mayBeOver(x) // a browser that is signed out already ends nothing more
	if all {
		mean = slices.DeleteFunc(slices.Clone(s.pages.stays), func(y *stay) bool { return y.who != x.who })
		form.Set("all", "yes")
		s.pages.lefts = append(s.pages.lefts, l)
	}
	lefts, tries := len(s.pages.lefts), x.tries+1
	for _, y := range mean {
		y.tries++
	}
	s.mu.Unlock()
	for range 20 {
		if res := s.browses(s.some(rng), http.MethodPost, "/signout", form, x.key); res != nil && res.StatusCode == http.StatusSeeOther {
			s.tell("%s signed out of %s, everywhere: %v", x.who, x.key.Value[:8], all)
			s.mu.Lock()
			defer s.mu.Unlock()
			if !alone || tries != x.tries || lefts != len(s.pages.lefts) {
				mean = []*stay{x}
			}
			l.taken = time.Now()
			for _, y := range mean {
				if y.over.IsZero() {
					y.over = l.taken
				}
			}
			return
		}
		<-time.After(time.Second)
	}
}

// looks has somebody ask a page who they are.
func (s *story) looks(r *Replica, x *stay) {
	s.mu.Lock()
	over := !x.over.IsZero()
	s.mu.Unlock()
	res := s.browses(r, http.MethodGet, "/api/v1/sessions", nil, x.key)
	if res == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case res.StatusCode == http.StatusOK:
		var v struct {
			Sessions []struct {
				User    string
				Current bool
			}
		}
		err := json.NewDecoder(res.Body).Decode(&v)
		current := 0
		for _, y := range v.Sessions {
			if !strings.HasSuffix(y.User, x.who+"@login.example") {
				s.Errorf("%s is shown a session of %s", x.who, y.User)
			}
			if y.Current {
				current++
			}
		}
		if over || err != nil || current > 1 {
			s.Errorf("%s is let in, and signed out: %v (%v, %d)", x.who, over, err, current)
		}
	case res.StatusCode == http.StatusUnauthorized:
		if !s.mayBeOver(x) {
			s.Errorf("%s lost a session that nobody ended", x.who)
		}
	case s.calm:
		s.Errorf("%s looks who they are: HTTP %d, and nothing breaks", x.who, res.StatusCode)
	}
}

// mayBeOver reports whether somebody may have ended a session.
func (s *story) mayBeOver(x *stay) bool {
	return x.tries > 0 || slices.ContainsFunc(s.pages.lefts, func(l *left) bool { return l.who == x.who && (l.taken.IsZero() || l.taken.After(x.began)) })
}

// afterPages looks at all sessions once nothing breaks any more, and has everybody sign in again.
func (s *story) afterPages() {
	if s.pages == nil {
		return
	}
	for _, who := range people {
		s.signsIn(s.rng, who)
	}
	for _, x := range s.pages.stays {
		for _, r := range s.alive {
			s.looks(r, x)
		}
	}
}

// judgePages: no log holds what lets somebody in.
func (s *story) judgePages() {
	if s.pages == nil {
		return
	}
	secrets := s.pages.provider.Gave()[s.pages.gave:]
	for _, x := range s.pages.stays {
		secrets = append(secrets, x.key.Value)
	}
	for _, secret := range secrets {
		if strings.Contains(s.pages.log.String(), secret) {
			s.Errorf("a log of the pages holds what lets somebody in: %s", s.pages.log.String())
		}
	}
}
