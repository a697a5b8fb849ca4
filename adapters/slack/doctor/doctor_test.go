package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// clinic is as much of Slack as a doctor asks: one answer for each method, and a socket with one first message.
type clinic struct {
	*httptest.Server
	answers map[string]string // by method
	granted string            // X-OAuth-Scopes of auth.test; empty: the header is not there
	first   string            // the socket's first message; empty: none
	joined  chan struct{}     // gets a value when a socket is open
	left    chan struct{}     // and one when the other side closed it
	asked   map[string]url.Values
}

const (
	testBot    = "xoxb-SENTINEL-b"
	testApp    = "xapp-SENTINEL-a"
	testSecret = "0123456789abcdef0123456789abcdef"
)

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{
		answers: map[string]string{
			"auth.test":             `{"ok":true,"url":"https://acme.slack.com/","team":"Acme","user":"nod","team_id":"T1","user_id":"U1","bot_id":"B1"}`,
			"apps.connections.open": `{"ok":true,"url":"SOCKET"}`,
			"blocks.validate":       `{"ok":true}`,
			"users.conversations":   `{"ok":true,"channels":[{"id":"C1"}]}`,
			"bots.info":             `{"ok":true,"bot":{"id":"B1","app_id":"A1"}}`,
		},
		granted: strings.Join(Scopes(false), ","),
		first:   `{"type":"hello","num_connections":1,"connection_info":{"app_id":"A1"}}`,
		joined:  make(chan struct{}, 100),
		left:    make(chan struct{}, 100),
		asked:   map[string]url.Values{},
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *clinic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := path.Base(r.URL.Path)
	if method == "link" {
		up := websocket.Upgrader{}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		if c.first != "" {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(c.first))
		}
		c.joined <- struct{}{}
		_, _, _ = conn.ReadMessage()               // until the other side says that it closes
		_, _ = io.Copy(io.Discard, conn.NetConn()) // and until it did
		c.left <- struct{}{}
		return
	}
	_ = r.ParseForm()
	c.asked[method] = r.PostForm
	answer, known := c.answers[method]
	if !known {
		answer = `{"ok":false,"error":"unknown_method"}`
	}
	if method == "auth.test" && c.granted != "" {
		w.Header().Set("X-OAuth-Scopes", c.granted)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(strings.ReplaceAll(answer, "SOCKET", "ws"+strings.TrimPrefix(c.URL, "http")+"/link?ticket=SENTINEL-t")))
}

// seen is a doctor's findings by what was looked at, where no user group may decide.
func seen(t *testing.T, ctx context.Context, c adapter.Config) map[string]surface.Finding {
	t.Helper()
	return seenWith(t, ctx, c, false)
}

func seenWith(t *testing.T, ctx context.Context, c adapter.Config, groups bool) map[string]surface.Finding {
	t.Helper()
	return conformance.Findings(t, Examine(ctx, c, groups, nil))
}

func (c *clinic) config() adapter.Config {
	return adapter.Config{BotToken: testBot, AppToken: testApp, APIURL: c.URL + "/api", Client: c.Client()}
}

func TestDoctorOfAHealthyApp(t *testing.T) {
	c := newClinic(t)
	all := seen(t, t.Context(), c.config())
	conformance.WantFinding(t, all, "Slack: bot token", surface.Fine, "@nod", "Acme", "T1")
	conformance.WantFinding(t, all, "Slack: scopes", surface.Fine, "all 13")
	conformance.WantFinding(t, all, "Slack: agent view", surface.Unchecked, "plan")
	conformance.WantFinding(t, all, "Slack: app token", surface.Fine)
	conformance.WantFinding(t, all, "Slack: connection", surface.Fine, "hello")
	conformance.WantFinding(t, all, "Slack: sample card", surface.Fine)
	conformance.WantFinding(t, all, "Slack: events and interactivity", surface.Unchecked, "nod manifest slack")
	if len(all) != 8 {
		t.Errorf("%d findings", len(all))
	}
	var blocks []map[string]any
	if err := json.Unmarshal([]byte(c.asked["blocks.validate"].Get("blocks")), &blocks); err != nil || len(blocks) == 0 {
		t.Errorf("what was validated is no list of blocks: %v", err)
	}
	for method := range c.asked { // nothing is posted, and nothing is changed
		if c.answers[method] == "" {
			t.Errorf("it called %s", method)
		}
	}
}

func TestDoctorLeavesNothingBehind(t *testing.T) {
	c := newClinic(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the clinic's own listener runs on
	conf := c.config()
	conf.Client = nil
	for range Examine(t.Context(), conf, false, nil) {
	}
	<-c.left
	for range Examine(t.Context(), conf, false, nil) { // a reader that stops early
		break
	}
}

func TestDoctorNamesEachMissingScope(t *testing.T) {
	for _, lost := range scopes {
		c := newClinic(t)
		var rest []string
		for _, s := range scopes {
			if s.Name != lost.Name {
				rest = append(rest, s.Name)
			}
		}
		c.granted = strings.Join(rest, ", ")
		mark := surface.Doubtful
		if lost.Vital {
			mark = surface.Wrong
		}
		conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: scope "+lost.Name, mark, lost.Lacks, "OAuth & Permissions", "reinstall")
	}
}

func TestDoctorOfScopes(t *testing.T) {
	c := newClinic(t)
	c.granted += ",admin,files:write, no <scope>"
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: scopes", surface.Fine, "admin, files:write, which nod does not use")
	c.granted = "" // a stand-in that sends no header
	all := seen(t, t.Context(), c.config())
	conformance.WantFinding(t, all, "Slack: scopes", surface.Unchecked)
	conformance.WantFinding(t, all, "Slack: agent view", surface.Unchecked)
	c.granted = "chat:write"
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: agent view", surface.Doubtful, "assistant:write")
}

// Where user groups may decide, the token must let the bot read them; where none may, that is a right too many.
func TestDoctorOfUserGroups(t *testing.T) {
	const one = "Slack: scope usergroups:read"
	c := newClinic(t)
	if f, asked := seen(t, t.Context(), c.config())[one]; asked {
		t.Errorf("no group may decide, and it says %+v", f)
	}
	all := seenWith(t, t.Context(), c.config(), true)
	conformance.WantFinding(t, all, one, surface.Wrong, "user group", "nod manifest slack -groups", "OAuth & Permissions", "reinstall the app")
	conformance.WantFinding(t, all, "Slack: events and interactivity", surface.Unchecked, "what nod manifest slack -groups prints")
	if _, fine := all["Slack: scopes"]; fine {
		t.Error("a scope is missing, and they are all there")
	}
	c.granted += ",usergroups:read"
	all = seenWith(t, t.Context(), c.config(), true)
	conformance.WantFinding(t, all, "Slack: scopes", surface.Fine, "all 14")
	if strings.Contains(all["Slack: scopes"].Found, "does not use") {
		t.Errorf("what is needed is called unused: %+v", all["Slack: scopes"])
	}
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: scopes", surface.Fine, "all 13; it also has usergroups:read, which nod does not use")
	c.granted = "usergroups:read"
	conformance.WantFinding(t, seenWith(t, t.Context(), c.config(), true), "Slack: agent view", surface.Doubtful, "what nod manifest slack -groups prints")
}

func TestDoctorOfTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		method, answer, what string
		words                []string
	}{
		"a wrong bot token":   {"auth.test", `{"ok":false,"error":"invalid_auth"}`, "Slack: bot token", []string{"invalid_auth", "SLACK_BOT_TOKEN"}},
		"a word we know not":  {"auth.test", `{"ok":false,"error":"new_word"}`, "Slack: bot token", []string{"new_word", "docs.slack.dev"}},
		"a word with a token": {"auth.test", `{"ok":false,"error":"xoxb-SENTINEL-b\u001b[1m is bad"}`, "Slack: bot token", []string{"refuses"}},
		"a person's token":    {"auth.test", `{"ok":true,"team":"Acme","user":"ana","team_id":"T1","user_id":"U1"}`, "Slack: bot token", []string{"person", "SLACK_BOT_TOKEN"}},
		"not Slack":           {"auth.test", `<html>`, "Slack: bot token", []string{"not Slack's", "SLACK_API_URL"}},
		"a wrong app token":   {"apps.connections.open", `{"ok":false,"error":"invalid_auth"}`, "Slack: app token", []string{"invalid_auth", "SLACK_APP_TOKEN", "connections:write"}},
		"no connections":      {"apps.connections.open", `{"ok":false,"error":"missing_scope","needed":"connections:write"}`, "Slack: app token", []string{"missing_scope", "connections:write"}},
		"an app token's word": {"apps.connections.open", `{"ok":false,"error":"xapp-SENTINEL-a"}`, "Slack: app token", []string{"SLACK_APP_TOKEN"}},
		"no such socket":      {"apps.connections.open", `{"ok":true,"url":"ws://127.0.0.1:1/?ticket=SENTINEL-t"}`, "Slack: connection", []string{"does not open", "wss-primary"}},
		"no socket at all":    {"apps.connections.open", `{"ok":true,"url":"ws://%zz/?ticket=SENTINEL-t"}`, "Slack: connection", []string{"does not open"}},
		"two apps":            {"bots.info", `{"ok":true,"bot":{"id":"B1","app_id":"A2"}}`, "Slack: one app", []string{"A1", "A2"}},
		"a card refused":      {"blocks.validate", `{"ok":false,"error":"invalid_blocks","errors":[{"pointer":"/0/text","message":"too\nlong"}]}`, "Slack: sample card", []string{"invalid_blocks", "too ⏎ long at /0/text", "report"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.answers[tt.method] = tt.answer
			conformance.WantFinding(t, seen(t, t.Context(), c.config()), tt.what, surface.Wrong, tt.words...)
		})
	}
}

// What rests on a bot token that does not work is not called wrong, too.
func TestDoctorWithoutABotToken(t *testing.T) {
	c := newClinic(t)
	c.answers["auth.test"] = `{"ok":false,"error":"token_revoked"}`
	all := seen(t, t.Context(), c.config())
	for _, what := range []string{"Slack: scopes", "Slack: agent view", "Slack: sample card"} {
		conformance.WantFinding(t, all, what, surface.Unchecked)
	}
	conformance.WantFinding(t, all, "Slack: connection", surface.Fine) // the app token is another matter
}

func TestDoctorOfCardsNotChecked(t *testing.T) {
	c := newClinic(t)
	delete(c.answers, "blocks.validate")
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: sample card", surface.Unchecked, "unknown_method")
	c.answers["blocks.validate"] = "<html>"
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: sample card", surface.Doubtful, "not Slack's")
}

func TestDoctorOfSockets(t *testing.T) {
	for first, tt := range map[string]struct {
		mark  surface.Mark
		words string
	}{
		`{"type":"disconnect","reason":"link_disabled"}`:       {surface.Wrong, "Socket Mode is switched off"},
		`{"type":"disconnect","reason":"too_many_websockets"}`: {surface.Wrong, "ten connections"},
		`{"type":"disconnect","reason":"other\nSENTI"}`:        {surface.Wrong, "does not say hello"},
		`no JSON`:                               {surface.Wrong, "not JSON"},
		`{"type":"hello","num_connections":10}`: {surface.Doubtful, "slack.connections"},
		`{"type":"hello"}`:                      {surface.Fine, "hello"},
	} {
		c := newClinic(t)
		c.first = first
		conformance.WantFinding(t, seen(t, t.Context(), c.config()), "Slack: connection", tt.mark, tt.words)
	}
}

// A socket that stays silent does not hold the doctor longer than its context.
func TestDoctorOfASilentSocket(t *testing.T) {
	c := newClinic(t)
	c.first = ""
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-c.joined; cancel() }()
	conformance.WantFinding(t, seen(t, ctx, c.config()), "Slack: connection", surface.Wrong, "does not open")
}

func TestDoctorOfUnreachableSlack(t *testing.T) {
	c := newClinic(t)
	conf := c.config()
	c.Close()
	all := seen(t, t.Context(), conf)
	conformance.WantFinding(t, all, "Slack: bot token", surface.Wrong, "cannot be reached", "SLACK_API_URL")
	conformance.WantFinding(t, all, "Slack: app token", surface.Wrong, "cannot be reached")
	conf.APIURL = ""
	conf.Client = &http.Client{Transport: refusing{}}
	conformance.WantFinding(t, seen(t, t.Context(), conf), "Slack: bot token", surface.Wrong, "cannot be reached", "https://slack.com", "HTTPS_PROXY")
}

// refusing is a network without a way out.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, http.ErrHandlerTimeout
}

func TestDoctorOfSigningSecrets(t *testing.T) {
	c := newClinic(t)
	conf := c.config()
	conf.AppToken = ""
	conformance.WantFinding(t, seen(t, t.Context(), conf), "Slack: signing secret", surface.Wrong, "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
	conf.SigningSecret = "SENTINEL"
	conformance.WantFinding(t, seen(t, t.Context(), conf), "Slack: signing secret", surface.Doubtful, "32 hexadecimal")
	conf.SigningSecret = testSecret
	all := seen(t, t.Context(), conf)
	conformance.WantFinding(t, all, "Slack: signing secret", surface.Fine)
	conformance.WantFinding(t, all, "Slack: events and interactivity", surface.Unchecked, adapter.PathEvents, adapter.PathCommands)
	if _, there := all["Slack: connection"]; there {
		t.Error("a connection without an app token")
	}
}

// receiver is a bot that takes what is signed with secret, and refuses the rest with status.
func receiver(t *testing.T, secret string, refuse int) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		if r.Header.Get("X-Slack-Signature") != sign(secret, r.Header.Get("X-Slack-Request-Timestamp"), string(body)) {
			w.WriteHeader(refuse)
			return
		}
		var in struct{ Challenge string }
		_ = json.Unmarshal(body, &in)
		_, _ = w.Write([]byte(in.Challenge))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestReach(t *testing.T) {
	for name, tt := range map[string]struct {
		secret      string
		refuse      int
		event, rest surface.Mark
		word        string
	}{
		"a bot of this configuration": {testSecret, 401, surface.Fine, surface.Fine, "challenge"},
		"another secret":              {"other", 401, surface.Wrong, surface.Fine, "SLACK_SIGNING_SECRET"},
		"no Slack there":              {"other", 404, surface.Wrong, surface.Wrong, "is not served"},
		"something else":              {"other", 200, surface.Wrong, surface.Wrong, "not the challenge"},
		"broken":                      {"other", 500, surface.Wrong, surface.Wrong, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			s := receiver(t, tt.secret, tt.refuse)
			all := map[string]surface.Finding{}
			for _, f := range Reach(t.Context(), s.URL, adapter.Config{SigningSecret: testSecret, Client: s.Client()}) {
				if f.Mark == surface.Wrong && f.Do == "" || strings.Contains(f.Found+f.Do, testSecret) {
					t.Errorf("%+v", f)
				}
				all[f.What] = f
			}
			conformance.WantFinding(t, all, "Slack: /slack/events", tt.event, tt.word)
			conformance.WantFinding(t, all, "Slack: /slack/interactivity", tt.rest)
			conformance.WantFinding(t, all, "Slack: /slack/commands", tt.rest)
		})
	}
	s := receiver(t, testSecret, 401)
	s.Close()
	for _, f := range Reach(t.Context(), s.URL, adapter.Config{SigningSecret: testSecret}) {
		if f.Mark != surface.Wrong || f.Do == "" {
			t.Errorf("%+v", f)
		}
	}
}

// The signature is that of Slack's own example: https://docs.slack.dev/authentication/verifying-requests-from-slack
func TestSign(t *testing.T) {
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	if got := sign("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body); got != "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503" {
		t.Error(got)
	}
}

func TestDoctorLooksWhetherItIsAnywhere(t *testing.T) {
	c := newClinic(t)
	const what = "Slack: channels"
	delete(c.answers, "users.conversations")
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), what, surface.Unchecked, "not checked")
	c.answers["users.conversations"] = `{"ok":true,"channels":[],"response_metadata":{"next_cursor":""}}`
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), what, surface.Doubtful, "none", "/invite @nod")
	c.answers["users.conversations"] = `{"ok":true,"channels":[{"id":"C1"},{"id":"C2"}]}`
	conformance.WantFinding(t, seen(t, t.Context(), c.config()), what, surface.Fine, "in 2")
	if got := c.asked["users.conversations"]; got.Get("types") != "public_channel,private_channel" || got.Get("exclude_archived") != "true" {
		t.Errorf("%v", got)
	}
}

func TestDoctorLooksWhoCanDecide(t *testing.T) {
	c := newClinic(t)
	one := []chat.User{{Platform: "slack", Workspace: "T1", Key: "U7"}}
	look := func(conf adapter.Config, people []chat.User) (all []surface.Finding) {
		for f := range Examine(t.Context(), conf, false, people) {
			if strings.HasPrefix(f.What, "Slack: person") || f.What == "Slack: admins and approvers" {
				all = append(all, f)
			}
		}
		return all
	}
	ext, guests := c.config(), c.config()
	ext.External, guests.Guests = true, true
	for answer, x := range map[string]struct {
		mark surface.Mark
		says string
		conf adapter.Config
	}{
		`{"ok":true,"user":{"id":"U7","team_id":"T1"}}`:                                                    {surface.Fine, "1 of the people", c.config()},
		`{"ok":false,"error":"user_not_found"}`:                                                            {surface.Wrong, "nobody with that ID", c.config()},
		`{"ok":false,"error":"internal_error"}`:                                                            {surface.Unchecked, "not checked", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","deleted":true}}`:                                     {surface.Wrong, "deactivated", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","is_bot":true}}`:                                      {surface.Wrong, "program", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","is_restricted":true}}`:                               {surface.Wrong, "guest", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","is_restricted":true,"x":1}}`:                         {surface.Fine, "1 of", guests},
		`{"ok":true,"user":{"id":"U7","team_id":"T9"}}`:                                                    {surface.Wrong, "slack:T9:U7", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","is_stranger":true}}`:                                 {surface.Wrong, "another organisation", c.config()},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","is_stranger":true,"x":1}}`:                           {surface.Fine, "1 of", ext},
		`{"ok":true,"user":{"id":"U7","team_id":"T1","enterprise_user":{"id":"U7","enterprise_id":"E1"}}}`: {surface.Wrong, "slack:E1:U7", c.config()},
	} {
		c.answers["users.info"] = answer
		if got := look(x.conf, one); len(got) != 1 || got[0].Mark != x.mark || !strings.Contains(got[0].Found, x.says) || x.mark == surface.Wrong && got[0].Do == "" {
			t.Errorf("%s: %+v", answer, got)
		}
	}
	if got := look(c.config(), nil); len(got) != 0 {
		t.Errorf("nobody is named, and %+v", got)
	}
}
