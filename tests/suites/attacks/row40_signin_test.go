package attacks

import (
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

const (
	pageOutside = "https://nod.example.org"
	// People whose tokens lack a claim, or have one that is no text.
	noUser, noTeam, manyUsers = "U0NOUSER", "U0NOTEAM", "U0MANY"
)

// bent is what Slack's tokens say of them.
func bent(claims map[string]any) {
	const user, team = "https://slack.com/user_id", "https://slack.com/team_id"
	switch claims[user] {
	case noUser:
		delete(claims, user)
	case noTeam:
		delete(claims, team)
	case manyUsers:
		claims[user] = []string{manyUsers, inSlack[ada]}
	}
}

// visitor is a browser at a page where people sign in by Slack.
type visitor struct {
	t    *testing.T
	page string
}

// signInDoor is such a page of the same bot, behind a proxy with TLS.
func (w *world) signInDoor(t *testing.T) visitor {
	t.Helper()
	by := w.slack.SignIn()
	door := must(signin.New(signin.Config{Platform: signin.Slack, Issuer: strings.TrimSuffix(w.slack.URL(), "/api/"), ClientID: by.ID, ClientSecret: by.Secret, Page: pageOutside}))(t)
	page := must(web.New(web.Config{Listen: "127.0.0.1:0", Engine: w.engine, Settings: w.settings, Log: w.store, Shelf: w.store, SignIn: signin.Doors{door}, Surfaces: w.platforms,
		Logger: slog.New(slog.DiscardHandler)}))(t)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Host = "nod.example.org"
		r.Header.Set("X-Forwarded-Proto", "https")
		page.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	return visitor{t, s.URL}
}

// leaves begins a sign-in: the cookie that the browser keeps, and the address that Slack sends somebody back to.
func (v visitor) leaves(as string) (cookie, back string) {
	v.t.Helper()
	begun, _ := asks(v.t, nil, http.MethodGet, v.page+"/signin", "", nil)
	to := must(begun.Location())(v.t)
	sent, said := asks(v.t, nil, http.MethodGet, to.String()+"&as="+as, "", nil)
	at, err := sent.Location()
	if err != nil {
		v.t.Fatalf("Slack sends nobody back: %d %s", sent.StatusCode, said)
	}
	return begun.Cookies()[0].Name + "=" + begun.Cookies()[0].Value, at.RequestURI()
}

// returns is the session that coming back opens; empty: none.
func (v visitor) returns(cookie, back string) (session string) {
	v.t.Helper()
	res, _ := asks(v.t, nil, http.MethodGet, v.page+back, "", http.Header{"Cookie": {cookie}})
	for _, k := range res.Cookies() {
		if k.Name == "__Host-nod_session" {
			session = k.Value
		}
	}
	return session
}

// signIns is row 40 where people sign in by Slack: nobody is anybody but whom Slack says, of this workspace, in this browser, once.
func signIns() (out []attack) {
	in := func(name string, run func(*testing.T, *world, visitor)) {
		out = append(out, on(40, "web", "sign-in-"+name, func(t *testing.T, w *world) {
			v := w.signInDoor(t)
			run(t, w, v)
			if v.returns(v.leaves(inSlack[ana])) == "" {
				t.Error("the control does not sign in either")
			}
		}))
	}
	for name, who := range map[string]string{
		"of-another-workspace": inSlack[xena], "of-a-stranger": inSlack[odd], "of-a-guest": inSlack[guest], "of-somebody-deactivated": inSlack[gone], "of-a-bot": inSlack[robot],
		"without-a-user": noUser, "without-a-workspace": noTeam, "with-two-users": manyUsers, "of-nobody": inSlack[nobody],
	} {
		in(name, func(t *testing.T, _ *world, v visitor) {
			if v.returns(v.leaves(who)) != "" {
				t.Error("is let in")
			}
		})
	}
	in("twice", func(t *testing.T, _ *world, v visitor) {
		cookie, back := v.leaves(inSlack[ana])
		if v.returns(cookie, back) == "" || v.returns(cookie, back) != "" {
			t.Error("one code is not one session")
		}
	})
	in("of-another-browser", func(t *testing.T, _ *world, v visitor) {
		_, mallorys := v.leaves(inSlack[ben]) // whoever is to act under Mallory's name is given this address
		cookie, back := v.leaves(inSlack[ana])
		mine, theirs := must(url.Parse(back))(t).Query(), must(url.Parse(mallorys))(t).Query()
		mixed := maps.Clone(mine)
		mixed["code"] = theirs["code"]
		for _, back := range []string{mallorys, signin.PathReturn + "?" + mixed.Encode(), signin.PathReturn + "?code=" + theirs.Get("code")} {
			if v.returns(cookie, back) != "" || v.returns("", back) != "" {
				t.Errorf("%s opens a session", back)
			}
		}
	})
	in("and-one-person-is-two", func(t *testing.T, w *world, v visitor) {
		k := begin(t, w, "slack", wants(call("mix", "pair", `{"path":"`+idOf(t)+`"}`)))
		b := k.one(k.asking(1), "Allow once")
		if err := k.decide(ana, b, chat.AllowOnce); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			session := v.returns(v.leaves(inSlack[ana]))
			h := http.Header{"Authorization": {"Bearer " + session}}
			if res, answer := asks(t, nil, http.MethodPost, v.page+"/api/v1/asks/"+b.ticket(), `{"choice":"allow_once"}`, h); res.StatusCode != http.StatusConflict {
				t.Errorf("%d %s", res.StatusCode, answer)
			}
		}
		k.still(1)
		k.end()
	})
	return out
}

// openSignIn lets people sign in by the world's Slack.
func (w *world) openSignIn() {
	for _, id := range []string{noUser, noTeam, manyUsers} {
		w.slack.AddUser(fakeslack.User{ID: id, Name: id})
	}
	w.slack.SignIn().Redirect, w.slack.SignIn().Bend = pageOutside+signin.PathReturn, bent
}
