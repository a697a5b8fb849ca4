package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// clinic is as much of Discord as a doctor asks: one answer for each path, and a gateway with one first word.
type clinic struct {
	*httptest.Server
	answers map[string]string // by path; "403 {…}" is one with a status
	first   string            // the gateway's first word; empty: none
	joined  chan struct{}     // gets a value when a connection is open
	left    chan string       // and what was said on it until the other side closed it
	mu      sync.Mutex
	asked   []string
}

const (
	doctorToken = "MTIz.SENTINEL.t"
	doctorKey   = "00000000000000000000000000000000000000000000000000000000000000aa"
)

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{
		answers: map[string]string{
			"/users/@me":                `{"id":"123","username":"nod","bot":true}`,
			"/applications/@me":         fmt.Sprintf(`{"id":"55","name":"nod","flags":%d,"verify_key":%q,"interactions_endpoint_url":null,"bot_require_code_grant":false}`, 1<<19, doctorKey),
			"/gateway/bot":              `{"url":"SOCKET","shards":2,"session_start_limit":{"total":1000,"remaining":993,"reset_after":3600000,"max_concurrency":1}}`,
			"/users/@me/guilds":         fmt.Sprintf(`[{"id":"100","name":"Acme","owner":false,"permissions":"%d"}]`, invited()),
			"/applications/55/commands": `[{"name":"nod","options":[{"name":"ask"},{"name":"stop"}]}]`,
			"/channels/700":             `{"id":"700","type":0,"guild_id":"100","name":"general","permission_overwrites":[]}`,
			"/guilds/100/members/123":   `{"roles":["9"],"communication_disabled_until":null}`,
			"/guilds/100/roles":         fmt.Sprintf(`[{"id":"100","name":"@everyone","permissions":"0"},{"id":"9","name":"nod","permissions":"%d"},{"id":"8","name":"mods","permissions":"0"}]`, invited()),
		},
		first:  `{"op":10,"d":{"heartbeat_interval":41250}}`,
		joined: make(chan struct{}, 100),
		left:   make(chan string, 100),
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *clinic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/link" {
		c.link(w, r)
		return
	}
	path, ours := strings.CutPrefix(r.URL.Path, "/api/v10")
	c.mu.Lock()
	c.asked = append(c.asked, r.Method+" "+path)
	c.mu.Unlock()
	answer, known := c.answers[path]
	switch {
	case !ours || r.Method != http.MethodGet || !strings.HasPrefix(r.UserAgent(), "DiscordBot (https://"):
		answer = `400 {"message":"not so","code":0}`
	case r.Header.Get("Authorization") != "Bot "+doctorToken:
		answer = `401 {"message":"401: Unauthorized","code":0}`
	case !known:
		answer = `404 {"message":"404: Not Found","code":0}`
	}
	status := http.StatusOK
	if n, err := fmt.Sscanf(answer, "%d ", &status); n == 1 && err == nil {
		answer = answer[4:]
	}
	w.Header().Set("Retry-After", "7")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.ReplaceAll(answer, "SOCKET", "ws"+strings.TrimPrefix(c.URL, "http")+"/link"))
}

// link is the gateway.
func (c *clinic) link(w http.ResponseWriter, r *http.Request) {
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
	_, heard, _ := conn.ReadMessage() // until the other side says that it closes
	_, _ = io.Copy(io.Discard, conn.NetConn())
	c.left <- r.URL.RawQuery + " " + string(heard)
}

func (c *clinic) config() discord.Config {
	return discord.Config{Token: doctorToken, APIURL: c.URL, Client: c.Client()}
}

// diagnosed is a doctor's findings by what was looked at.
func diagnosed(t *testing.T, ctx context.Context, c discord.Config, roles ...chat.User) map[string]surface.Finding {
	t.Helper()
	return conformance.Findings(t, Check(ctx, c, roles, ""))
}

func TestDoctorOfAHealthyApplication(t *testing.T) {
	c := newClinic(t)
	conf := c.config()
	conf.Channels = map[string]discord.Channel{"700": {Conversation: discord.InChannel}}
	all := diagnosed(t, t.Context(), conf, ids.Role("100", "8"))
	conformance.WantFinding(t, all, "Discord: token", surface.Fine, "nod", "123")
	conformance.WantFinding(t, all, "Discord: message content", surface.Fine, "on")
	conformance.WantFinding(t, all, "Discord: clicks and commands", surface.Fine, "through the gateway")
	conformance.WantFinding(t, all, "Discord: session starts", surface.Fine, "993 of 1000", "2 shards", "one at a time")
	conformance.WantFinding(t, all, "Discord: gateway", surface.Fine, "hello", "41.25s")
	conformance.WantFinding(t, all, "Discord: servers", surface.Fine, "Acme", "100")
	conformance.WantFinding(t, all, "Discord: slash command", surface.Fine, "/nod", "ask, stop")
	conformance.WantFinding(t, all, "Discord: channel #general", surface.Fine)
	conformance.WantFinding(t, all, "Discord: role 8", surface.Fine, "@mods")
	if len(all) != 9 {
		t.Errorf("%d findings", len(all))
	}
	for _, call := range c.asked { // nothing is posted, and nothing is changed
		path, get := strings.CutPrefix(call, "GET ")
		if !get || c.answers[path] == "" {
			t.Errorf("it called %s", call)
		}
	}
	// It says nothing to the gateway: an IDENTIFY would be counted, and would make a second session.
	if t.Failed() {
		return // who never came to the gateway never leaves it
	}
	if heard := <-c.left; heard != "v=10&encoding=json " {
		t.Errorf("the gateway heard %q", heard)
	}
}

func TestDoctorLeavesNothingBehind(t *testing.T) {
	c := newClinic(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent()) // the clinic's own listener runs on
	conf := c.config()
	conf.Client = nil
	for range Check(t.Context(), conf, nil, "") {
	}
	<-c.left
	for range Check(t.Context(), conf, nil, "") { // a reader that stops early
		break
	}
}

// Who stops it is not told more.
func TestDoctorStops(t *testing.T) {
	c := newClinic(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range Check(ctx, c.config(), nil, "") {
		n++
		cancel()
	}
	if n != 1 || len(c.asked) != 1 {
		t.Errorf("%d findings and %d questions after it was stopped", n, len(c.asked))
	}
}

func TestDoctorOfTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		words  []string
	}{
		"unknown":        {`401 {"message":"401: Unauthorized","code":0}`, []string{"does not know it", "Reset Token", "DISCORD_TOKEN"}},
		"busy":           {`429 {"message":"You are being rate limited.","retry_after":7,"global":true}`, []string{"slow down", "7s"}},
		"shut out":       {`429 <html>error 1015</html>`, []string{"slow down", "shut out", "7s"}},
		"down":           {`503 <html></html>`, []string{"503", "discordstatus"}},
		"a page":         {`<html>`, []string{"not Discord's", "DISCORD_API_URL"}},
		"something else": {`{"status":"ok"}`, []string{"not Discord's", "DISCORD_API_URL"}},
		"no such path":   {`404 <html></html>`, []string{"404", "DISCORD_API_URL"}},
		"a refusal":      {`403 {"message":"no\n\u001b[2J ` + doctorToken + `","code":40001}`, []string{"40001", "[secret]"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.answers["/users/@me"] = tt.answer
			conf := c.config()
			conf.Channels = map[string]discord.Channel{"700": {Conversation: discord.InChannel}}
			all := diagnosed(t, t.Context(), conf, ids.Role("100", "8"))
			conformance.WantFinding(t, all, "Discord: token", surface.Wrong, tt.words...)
			// What rests on a token that does not work is not called wrong, too.
			for _, what := range []string{"application", "gateway", "servers", "slash command", "channel 700", "role 8"} {
				conformance.WantFinding(t, all, "Discord: "+what, surface.Unchecked, "not")
			}
			if len(c.asked) != 1 { // each refused request counts, and too many shut the address out
				t.Errorf("it went on asking: %q", c.asked)
			}
		})
	}
}

func TestDoctorOfUnreachableDiscord(t *testing.T) {
	c := newClinic(t)
	conf := c.config()
	c.Close()
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: token", surface.Wrong, "cannot be reached", "DISCORD_API_URL")
	conf.APIURL, conf.Client = "", &http.Client{Transport: walled{}}
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: token", surface.Wrong, "cannot be reached", "https://discord.com", "HTTPS_PROXY")
}

// walled is a network without a way out.
type walled struct{}

func (walled) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }

// app changes what the application's pages say.
func (c *clinic) app(flags uint64, endpoint string, grant bool) {
	c.answers["/applications/@me"] = fmt.Sprintf(`{"id":"55","name":"nod","flags":%d,"verify_key":%q,"interactions_endpoint_url":%q,"bot_require_code_grant":%v}`, flags, doctorKey, endpoint, grant)
}

func TestDoctorOfMessageContent(t *testing.T) {
	for name, tt := range map[string]struct {
		flags    uint64
		follow   surface.Follow
		channels map[string]discord.Channel
		mark     surface.Mark
		word     string
	}{
		"on, small":                 {1 << 19, "", nil, surface.Fine, "on"},
		"on, looked at":             {1 << 18, "", nil, surface.Fine, "on"},
		"off":                       {1<<17 | 1<<20, "", nil, surface.Doubtful, "page Bot"},
		"off, and not needed":       {0, surface.FollowMention, nil, surface.Fine, "not needed"},
		"off, needed in a channel":  {0, surface.FollowMention, map[string]discord.Channel{"1": {Follow: surface.FollowThread}}, surface.Doubtful, "Message Content Intent"},
		"off, only words of others": {0, surface.FollowMention, map[string]discord.Channel{"1": {Conversation: discord.InChannel}}, surface.Fine, "not needed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.app(tt.flags, "", false)
			conf := c.config()
			conf.Follow, conf.Channels = tt.follow, tt.channels
			conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: message content", tt.mark, tt.word)
		})
	}
}

// Clicks that go where nobody takes them are the silent kind of failure: the doctor must see each of them.
func TestDoctorOfClicks(t *testing.T) {
	const ours = "https://bot.example.com/discord/interactions"
	other := strings.Repeat("b", 64)
	for name, tt := range map[string]struct {
		endpoint, key string
		mark          surface.Mark
		words         []string
	}{
		"the gateway":              {"", "", surface.Fine, []string{"through the gateway"}},
		"the gateway, and a key":   {"", doctorKey, surface.Fine, []string{"through the gateway", "could be posted as well"}},
		"the gateway, another key": {"", other, surface.Doubtful, []string{"another application"}},
		"posted, and no key":       {ours + "?SENTINEL", "", surface.Wrong, []string{"never arrive", ours, "DISCORD_PUBLIC_KEY", "empty the field"}},
		"posted, another key":      {ours, other, surface.Wrong, []string{"never arrive", "another key", "DISCORD_PUBLIC_KEY"}},
		"posted":                   {ours, strings.ToUpper(doctorKey), surface.Fine, []string{"posted to " + ours}},
		"posted, with a slash":     {ours + "/", doctorKey, surface.Fine, nil},
		"posted elsewhere":         {"https://bot.example.com/hook", doctorKey, surface.Doubtful, []string{"/discord/interactions", "proxy"}},
		"posted to nowhere":        {"SENTINEL", "", surface.Wrong, []string{"cannot be read"}},
		"posted to no address":     {"http://[::1SENTINEL", "", surface.Wrong, []string{"cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.app(1<<18, tt.endpoint, false)
			conf := c.config()
			conf.PublicKey = tt.key
			conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: clicks and commands", tt.mark, tt.words...)
		})
	}
}

// Where Discord does not say with which key it signs, the one that is set is not called wrong.
func TestDoctorOfAnUnknownKey(t *testing.T) {
	c := newClinic(t)
	c.answers["/applications/@me"] = `{"id":"55","name":"nod","flags":0,"interactions_endpoint_url":null}`
	conf := c.config()
	conf.PublicKey = doctorKey
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: clicks and commands", surface.Fine)
}

func TestDoctorOfApplications(t *testing.T) {
	c := newClinic(t)
	c.app(1<<18, "", true)
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: application", surface.Doubtful, "Requires OAuth2 Code Grant", "page Bot")
	c.answers["/applications/@me"] = `500 {"message":"500","code":0}`
	all := diagnosed(t, t.Context(), c.config())
	conformance.WantFinding(t, all, "Discord: application", surface.Doubtful, "not checked", "discordstatus")
	conformance.WantFinding(t, all, "Discord: slash command", surface.Unchecked)
}

func TestDoctorOfSlashCommands(t *testing.T) {
	c := newClinic(t)
	c.answers["/applications/55/commands"] = `[{"name":"other"}]`
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: slash command", surface.Unchecked, "not registered yet", "Start the bot")
	c.answers["/applications/55/commands"] = `403 {"message":"Missing Access","code":50001}`
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: slash command", surface.Doubtful, "50001")
}

func TestReachOfTheBot(t *testing.T) {
	for status, tt := range map[int]struct {
		mark surface.Mark
		word string
	}{
		http.StatusUnauthorized:     {surface.Fine, "refuses what is not signed"},
		http.StatusNotFound:         {surface.Wrong, "DISCORD_PUBLIC_KEY"},
		http.StatusOK:               {surface.Wrong, "wants 401"},
		http.StatusMethodNotAllowed: {surface.Wrong, "DISCORD_PUBLIC_KEY"},
		http.StatusBadGateway:       {surface.Wrong, "502"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != discord.PathInteractions || r.Header.Get("Authorization") != "" || r.Header.Get("X-Signature-Ed25519") != "" {
				status = http.StatusTeapot
			}
			w.WriteHeader(status)
		}))
		f := Reach(t.Context(), s.URL, discord.Config{Token: doctorToken, Client: s.Client()})
		conformance.WantFinding(t, map[string]surface.Finding{f.What: f}, "Discord: /discord/interactions", tt.mark, tt.word)
		s.Close()
		for _, gone := range []string{s.URL, "http://h\x7f"} {
			f = Reach(t.Context(), gone, discord.Config{Token: doctorToken})
			conformance.WantFinding(t, map[string]surface.Finding{f.What: f}, "Discord: /discord/interactions", surface.Wrong, "does not answer", "NOD_LISTEN")
		}
	}
}
