package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Tokens that Slack does not take end the program, with words that say which one and where a right one is.
func TestSlackWrongTokens(t *testing.T) {
	t.Parallel()
	slack := fakeslack.New(fakeslack.Options{})
	t.Cleanup(slack.Close)
	base := map[string]string{"SLACK_API_URL": slack.URL(), "SLACK_BOT_TOKEN": slack.BotToken(), "SLACK_APP_TOKEN": slack.AppToken()}
	for _, c := range []struct {
		name string
		env  map[string]string
		code int
		says []string
	}{
		{"a bot token that is none of Slack's", map[string]string{"SLACK_BOT_TOKEN": "xoxb-sekret-wrong"}, 1, []string{"invalid_auth", "SLACK_BOT_TOKEN", "OAuth & Permissions"}},
		{"an app token that is none of Slack's", map[string]string{"SLACK_APP_TOKEN": "xapp-sekret-wrong"}, 1, []string{"invalid_auth", "SLACK_APP_TOKEN"}},
		{"tokens swapped", map[string]string{"SLACK_BOT_TOKEN": "xapp-sekret-1", "SLACK_APP_TOKEN": "xoxb-sekret-2"}, 2, []string{"slack.bot_token", "slack.app_token", "belongs in"}},
		{"no way to hear", map[string]string{"SLACK_APP_TOKEN": ""}, 2, []string{"SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"}},
		{"a bot that cannot speak", map[string]string{"SLACK_BOT_TOKEN": ""}, 2, []string{"SLACK_BOT_TOKEN"}},
	} {
		env := map[string]string{}
		for _, from := range []map[string]string{base, c.env} {
			for k, v := range from {
				env[k] = v
			}
		}
		code, printed := prepare(t, settings{name: c.name, env: env}).run()
		if code != c.code {
			t.Errorf("%s: exit code %d:\n%s", c.name, code, printed)
		}
		for _, want := range c.says {
			if !strings.Contains(printed, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.name, want, printed)
			}
		}
		for _, never := range []string{"sekret", slack.BotToken(), slack.AppToken(), "goroutine "} {
			if strings.Contains(printed, never) {
				t.Errorf("%s: it says %q:\n%s", c.name, never, printed)
			}
		}
	}
}

// fewScopes lack users:read, and more.
var fewScopes = []string{"app_mentions:read", "channels:history", "chat:write", "commands"}

// Without the scope to look people up nobody can decide; they are told, and the log says what is missing.
func TestSlackMissingScope(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{options: fakeslack.Options{Scopes: fewScopes}})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Allow once")
	th.told(ana, "Slack did not say who you are just now, so nothing was recorded.")
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("nobody is known to have allowed it, and it ran %d times", n)
	}
	o.bots[0].logs(t, "missing_scope")
}

// What does not come from Slack is refused, and what cannot be understood is dropped; neither reaches the engine.
func TestSlackForgedRequests(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{via: signed})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	// A true click, which is caught on its way.
	o.Hold(true)
	d, err := th.Click(ana, th.channel, ts, "Allow once")
	if err != nil {
		t.Fatal(err)
	}
	click := []byte(url.Values{"payload": {string(d.Payload)}}.Encode())
	now, form := time.Now().Unix(), "application/x-www-form-urlencoded"
	sign := func(at int64, body []byte) (string, string) {
		return strconv.FormatInt(at, 10), fakeslack.Sign(o.SigningSecret(), at, body)
	}
	for _, c := range []struct {
		what, path, kind string
		at, signature    string
		body             []byte
		status           int
		log              string
	}{
		{what: "no signature", path: "interactivity", kind: form, body: click, status: http.StatusUnauthorized, log: "SLACK_SIGNING_SECRET"},
		{what: "another secret", path: "interactivity", kind: form, at: strconv.FormatInt(now, 10), signature: fakeslack.Sign("guess", now, click), body: click, status: http.StatusUnauthorized},
		{what: "another body", path: "interactivity", kind: form, at: strconv.FormatInt(now, 10), signature: fakeslack.Sign(o.SigningSecret(), now, []byte("x")), body: click, status: http.StatusUnauthorized},
		{what: "another time", path: "interactivity", kind: form, at: strconv.FormatInt(now-1, 10), signature: fakeslack.Sign(o.SigningSecret(), now, click), body: click, status: http.StatusUnauthorized},
		{what: "an old one, replayed", path: "interactivity", kind: form, at: "-600", body: click, status: http.StatusUnauthorized, log: "last five minutes"},
		{what: "one of the future", path: "interactivity", kind: form, at: "+600", body: click, status: http.StatusUnauthorized},
		{what: "a body of more than 1 MiB", path: "events", kind: "application/json", at: "+0", body: []byte(`{"type":"event_callback","pad":"` + strings.Repeat("x", 1<<20) + `"}`), status: http.StatusRequestEntityTooLarge, log: "longer than 1 MiB"},
		{what: "an unknown type", path: "events", kind: "application/json", at: "+0", body: []byte(`{"type":"carrier_pigeon"}`), status: http.StatusOK, log: "unknown kind"},
		{what: "an unknown event", path: "events", kind: "application/json", at: "+0", body: []byte(`{"type":"event_callback","team_id":"T0FAKE","event":{"type":"pigeon_landed","channel":{"id":7}}}`), status: http.StatusOK},
		{what: "no JSON", path: "events", kind: "application/json", at: "+0", body: []byte("hello"), status: http.StatusOK, log: "could not be understood"},
		{what: "an unknown interaction", path: "interactivity", kind: form, at: "+0", body: []byte(url.Values{"payload": {`{"type":"pigeon"}`}}.Encode()), status: http.StatusOK, log: "pigeon"},
		{what: "no payload", path: "interactivity", kind: form, at: "+0", body: []byte("x=y"), status: http.StatusOK},
		{what: "an event of another workspace", path: "events", kind: "application/json", at: "+0", status: http.StatusOK,
			body: []byte(`{"type":"event_callback","team_id":"T0ELSE","event":{"type":"app_mention","user":"U0ANA","channel":"` + th.channel + `","ts":"1.000001","text":"<@U0BOT> say from elsewhere"}}`)},
	} {
		if strings.HasPrefix(c.at, "-") || strings.HasPrefix(c.at, "+") {
			off, err := strconv.ParseInt(c.at, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			c.at, c.signature = sign(now+off, c.body)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.bots[0].addr+"/slack/"+c.path, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.kind)
		if c.at != "" {
			req.Header.Set("X-Slack-Request-Timestamp", c.at)
			req.Header.Set("X-Slack-Signature", c.signature)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		answer, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status || len(bytes.TrimSpace(answer)) > 0 {
			t.Errorf("%s: %d %q, want %d and nothing", c.what, res.StatusCode, answer, c.status)
		}
		o.bots[0].logs(t, c.log)
	}
	if res, err := http.Get(o.bots[0].addr + "/slack/events"); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	if n := o.wrote(t, args); n != 0 {
		t.Fatalf("a forged click was taken: it ran %d times", n)
	}
	o.Hold(false) // and the true one, at last
	th.done(ts, "gave: written", "allowed once by @Ana")
	th.only(1)
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times: %s", n, th)
	}
}

// What no Slack of today sends over a socket is acknowledged, so that it does not come again, and stops nothing.
func TestSlackStrangeEnvelopes(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	for id, frame := range map[string]string{
		"odd-1": `{"envelope_id":"odd-1","type":"carrier_pigeon","payload":{"a":1}}`,
		"odd-2": `{"envelope_id":"odd-2","type":"events_api","payload":{"type":"event_callback","event":{"type":"message","blocks":[{"type":"from_2030","x":[]}],"text":7}}}`,
		"odd-3": `{"envelope_id":"odd-3","type":"events_api","payload":"not an object"}`,
		"odd-4": `{"envelope_id":"odd-4","type":"interactive","payload":{"type":"pigeon"}}`,
		"odd-5": `{"envelope_id":"odd-5","type":"interactive","payload":{"type":"block_actions","actions":[{"action_id":7}],"container":{"attachment_id":""}}}`,
		"odd-6": `{"envelope_id":"odd-6","type":"slash_commands","payload":[]}`,
	} {
		if err := o.Raw(frame); err != nil {
			t.Fatal(err)
		}
		o.wait(t, "the bot acknowledges "+frame, func() bool { return o.Acks(id) == 1 })
	}
	for _, frame := range []string{`{"type":"pigeon"}`, `{"type":"hello"}`} { // nothing to acknowledge
		if err := o.Raw(frame); err != nil {
			t.Fatal(err)
		}
	}
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Allow once")
	th.done(ts, "gave: written")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// Waits for a fix: an address where there is no Slack is a mistake of the configuration, and no waiting mends it.
func TestSlackNotThere(t *testing.T) {
	t.Parallel()
	slack := fakeslack.New(fakeslack.Options{})
	t.Cleanup(slack.Close)
	b := prepare(t, settings{env: map[string]string{"SLACK_API_URL": strings.Replace(slack.URL(), "/api/", "/nowhere/", 1), "SLACK_BOT_TOKEN": slack.BotToken(), "SLACK_APP_TOKEN": slack.AppToken()}})
	if code, printed := b.run(); code != 1 || !strings.Contains(printed, "SLACK_API_URL") {
		t.Errorf("exit code %d:\n%s", code, printed)
	}
}

// The doctor names a missing scope.
func TestSlackDoctorNamesScopes(t *testing.T) {
	t.Parallel()
	slack := fakeslack.New(fakeslack.Options{Scopes: fewScopes})
	t.Cleanup(slack.Close)
	doctor := prepare(t, settings{name: "doctor", env: map[string]string{"SLACK_API_URL": slack.URL(), "SLACK_BOT_TOKEN": slack.BotToken(), "SLACK_APP_TOKEN": slack.AppToken()}})
	code, printed := doctor.run("doctor")
	if code != 1 || !strings.Contains(printed, "users:read") {
		t.Errorf("exit code %d: the doctor does not name users:read:\n%s", code, printed)
	}
	if strings.Contains(printed, slack.BotToken()) || strings.Contains(printed, slack.AppToken()) {
		t.Errorf("the doctor shows a token:\n%s", printed)
	}
}
