package signin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

const (
	ofAna   = "300000000000000001"
	ofRobot = "300000000000000002"
)

// onPlatform is a visit by the sign-in of a platform: of one of its own, whoever v.p knows is nobody.
func onPlatform(t *testing.T, platform string) (*visit, *stand.OAuth, *signin.Door) {
	t.Helper()
	v := start(t)
	var by *stand.OAuth
	var at, server string
	switch platform {
	case signin.Slack:
		s := fakeslack.New(fakeslack.Options{})
		t.Cleanup(s.Close)
		s.AddUser(fakeslack.User{ID: "U0ANA", Name: "Ana"})
		s.AddUser(fakeslack.User{ID: "U0XENA", Name: "Xena", Team: "T0OTHER"})
		by, at = s.SignIn(), strings.TrimSuffix(s.URL(), "/api/")
	case signin.Discord:
		s := fakediscord.New(fakediscord.Options{})
		t.Cleanup(s.Close)
		s.AddUser(fakediscord.User{ID: ofAna, Name: "Ana", Handle: "ana.lima"})
		s.AddUser(fakediscord.User{ID: ofRobot, Name: "Robot", Bot: true})
		by, at, server = s.SignIn(), s.URL(), s.Guild()
	}
	by.Redirect = page + signin.PathReturn
	t.Cleanup(func() {
		for _, secret := range by.Gave() {
			for _, told := range append(v.told, v.log.String()) {
				if strings.Contains(told, secret) {
					t.Errorf("a secret is told: %s", told)
				}
			}
		}
	})
	return v, by, v.door(func(c *signin.Config) {
		c.Platform, c.Server, c.Issuer, c.ClientID, c.ClientSecret, c.Claim, c.GroupsClaim = platform, server, at, by.ID, by.Secret, "", ""
	})
}

func TestSigningInByAPlatform(t *testing.T) {
	for platform, who := range map[string]struct {
		as, place string
		names     []string
	}{
		signin.Slack:   {"U0ANA", "T0FAKE", []string{"Ana", "", "", "U0ANA"}},
		signin.Discord: {ofAna, "800000000000000001", []string{"Ana", "ana.lima", ofAna}},
	} {
		t.Run(platform, func(t *testing.T) {
			v, by, d := onPlatform(t, platform)
			got, err := v.signsIn(d, who.as)
			if err != nil || got.Key != who.as || got.Place != who.place || !slices.Equal(got.Names, who.names) || got.To != "/c/chat" || got.Groups != nil {
				t.Errorf("%+v, %v", got, err)
			}
			if err := d.Try(t.Context()); err != nil {
				t.Error(err)
			}
			// A code counts once, and so does a sign-in, although the platform would take its code again.
			cookie, back := v.goes(d, who.as)
			if _, err := d.Finish(t.Context(), cookie, back, v.once); err != nil {
				t.Fatal(err)
			}
			_, err = d.Finish(t.Context(), cookie, back, v.once)
			v.refused(err, "sign_in_stale", "gave no token")
			by.Change(func(o *stand.OAuth) { o.Generous = true })
			_, err = d.Finish(t.Context(), cookie, back, v.once)
			v.refused(err, "sign_in_stale", "finished already")
			// One of another browser counts for nothing.
			mine, _ := v.goes(d, who.as)
			_, theirs := v.goes(d, who.as)
			_, err = d.Finish(t.Context(), mine, theirs, v.once)
			v.refused(err, "sign_in_stale", "the state is of another")
			cookie, back = v.goes(d, who.as)
			_, err = d.Finish(t.Context(), cookie, url.Values{"state": back["state"], "code": theirs["code"]}, v.once)
			v.refused(err, "sign_in_stale", "gave no token") // the verifier is another's
			by.Change(func(o *stand.OAuth) { o.Secret = "another-secret-of-the-client" })
			_, err = v.signsIn(d, who.as)
			v.refused(err, "sign_in_client", "gave no token")
			if err := d.Try(t.Context()); err == nil {
				t.Error("the doctor takes a wrong secret for right")
			}
		})
	}
}

// What Slack says of somebody has to name them and their workspace, and be for us.
func TestWhatSlackSays(t *testing.T) {
	v, by, d := onPlatform(t, signin.Slack)
	if who, err := v.signsIn(d, "U0XENA"); err != nil || who.Place != "T0OTHER" { // whether that is ours is the adapter's to say
		t.Errorf("%+v, %v", who, err)
	}
	for why, bend := range map[string]func(map[string]any){
		"has no https://slack.com/user_id": func(c map[string]any) { delete(c, "https://slack.com/user_id") },
		"no https://slack.com/user_id":     func(c map[string]any) { c["https://slack.com/user_id"] = []string{"U0ANA"} },
		"has no https://slack.com/team_id": func(c map[string]any) { delete(c, "https://slack.com/team_id") },
		"no https://slack.com/team_id":     func(c map[string]any) { c["https://slack.com/team_id"] = "" },
		`expected audience`:                func(c map[string]any) { c["aud"] = "another-app" },
		"issued by a different provider":   func(c map[string]any) { c["iss"] = "https://slack.evil.example" },
		"token's nonce":                    func(c map[string]any) { c["nonce"] = "another" },
		"more than 10m0s from now":         func(c map[string]any) { c["iat"] = time.Now().Add(-time.Hour).Unix() },
	} {
		by.Change(func(o *stand.OAuth) { o.Bend = bend })
		_, err := v.signsIn(d, "U0ANA")
		v.refused(err, "sign_in_refused", why)
	}
}

// Discord is asked whose the token is; what is no person's, or no answer, is nobody.
func TestWhatDiscordSays(t *testing.T) {
	v, by, d := onPlatform(t, signin.Discord)
	_, err := v.signsIn(d, ofRobot)
	v.refused(err, "sign_in_not_allowed", "a bot")
	for why, id := range map[string]any{"HTTP 200": nil, "say whose": "ana", "not say whose": 300, "does not say": ofAna + "\n"} {
		by.Change(func(o *stand.OAuth) { o.Bend = func(c map[string]any) { c["id"] = id } })
		_, err = v.signsIn(d, ofAna)
		v.refused(err, "sign_in_refused", why)
	}
	by.Change(func(o *stand.OAuth) { o.Bend = nil })
	cookie, back := v.goes(d, ofAna)
	for status, want := range map[int]string{401: "sign_in_refused", 429: "sign_in_unavailable", 503: "sign_in_unavailable"} {
		sick := v.door(func(c *signin.Config) {
			*c = d.Config
			c.Client = &http.Client{Transport: sickly{status}}
		})
		_, err := sick.Finish(t.Context(), cookie, back, v.once)
		v.refused(err, want, fmt.Sprint(status))
	}
}

// sickly answers so whoever asks whose a token is.
type sickly struct{ status int }

func (s sickly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"access_token":"of-somebody","token_type":"Bearer"}`))}, nil
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
