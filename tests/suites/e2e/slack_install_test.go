package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Where the app's settings say that browsers are sent back to. Tests go to a replica themselves.
const installPage = "http://127.0.0.1:9"

const tokenKey = "a-key-of-the-operators-0123456789"

// company is an app of Slack and two workspaces that may have it, none of which has.
type company struct {
	*office
	acme, beta *office
}

func openCompany(t *testing.T, via transport, replicas int) *company {
	t.Helper()
	c := &company{office: openOffice(t, officeSettings{
		via: via, replicas: replicas, slack: fmt.Sprintf(", install: {client_id: %q, page_url: %q, workspaces: [T0ACME, E0BETA]}", fakeslack.ClientID, installPage),
		env: map[string]string{"SLACK_BOT_TOKEN": "", "SLACK_CLIENT_SECRET": fakeslack.ClientSecret, "NOD_SLACK_TOKEN_KEYS": tokenKey},
	})}
	c.Redirect(installPage + "/slack/installed")
	c.acme = c.host(fakeslack.Options{Team: "T0ACME", TeamName: "Acme"})
	c.beta = c.host(fakeslack.Options{Team: "T0BETA", TeamName: "Beta <b>", Enterprise: "E0BETA"})
	t.Cleanup(func() { c.keepsSecrets(t) })
	return c
}

// host is another workspace, with people who have the IDs that they have everywhere.
func (c *company) host(o fakeslack.Options) *office {
	own := *c.office
	own.Server = c.Host(o)
	c.t.Cleanup(own.Close)
	own.AddUser(fakeslack.User{ID: ana, Name: "Ana of " + o.Team})
	own.AddUser(fakeslack.User{ID: ben, Name: "Ben of " + o.Team})
	if c.via == signed {
		own.turnTo(own.bots[0])
	}
	return &own
}

// browser is somebody's, with the cookie of an installation that it began.
type browser struct {
	t      *testing.T
	cookie *http.Cookie
}

func (b *browser) get(address string) (status int, to *url.URL, said string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(r) // which follows nothing
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		b.cookie = c
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	to, _ = res.Location()
	return res.StatusCode, to, string(body)
}

// begin goes from a replica to Slack and agrees there: back is what Slack sends the browser back with.
func (b *browser) begin(at *bot, more string) (back string) {
	b.t.Helper()
	_, to, _ := b.get(at.addr + "/slack/install")
	status, to, said := b.get(to.String() + more)
	if to == nil || !strings.HasPrefix(to.String(), installPage+"/slack/installed?") {
		b.t.Fatalf("Slack says %d: %s", status, said)
	}
	return "/slack/installed?" + to.RawQuery
}

// install installs the app in a workspace, by way of a replica.
func (c *company) install(t *testing.T, in *office, at *bot) {
	t.Helper()
	b := &browser{t: t}
	status, _, said := b.get(at.addr + b.begin(at, "&team="+in.Team()+"&as="+ana))
	if status != http.StatusOK || !strings.Contains(said, "nod is installed in ") || !strings.Contains(said, "/invite @nod") || strings.Contains(said, "<b>") {
		t.Fatalf("%d: %s", status, said)
	}
}

// secrets are what nobody may see.
func (c *company) secrets() []string {
	return append([]string{fakeslack.ClientSecret, tokenKey, c.AppToken(), c.SigningSecret()}, c.Given()...)
}

func (c *company) keepsSecrets(t *testing.T) {
	t.Helper()
	for _, b := range c.bots {
		for _, secret := range c.secrets() {
			if strings.Contains(b.out.String(), secret) {
				t.Errorf("%s logs %s", b.name, secret)
			}
		}
	}
}

// stored is what lies in Redis of workspaces.
func (c *company) stored(t *testing.T) map[string]string {
	t.Helper()
	o, err := redis.ParseURL(c.redis.url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	all, err := rdb.HGetAll(t.Context(), "nod:installs").Result()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// works has somebody ask and decide in a workspace.
func works(t *testing.T, in *office) {
	t.Helper()
	order, args := write(t)
	before := in.wrote(t, args)
	th := in.mention(t, order)
	first := th.asking(1)
	th.click(ana, first, "Allow once")
	th.done(first, "gave: written", "allowed once by")
	if n := in.wrote(t, args) - before; n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// Two workspaces install nod, each at another replica, and each is answered by the other one as well. One removes it: its question ends, nothing
// runs, its token is gone on both; the other one notices nothing. It installs nod again.
func TestSlackWorkspacesInstallAndRemove(t *testing.T) {
	t.Parallel()
	for _, via := range []transport{sockets, signed} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			c := openCompany(t, via, 2)
			a, b := c.bots[0], c.bots[1]
			c.install(t, c.acme, a)
			c.install(t, c.beta, b)
			for _, at := range c.bots { // both ran before
				c.turnTo(at)
				if via == signed {
					c.acme.turnTo(at)
					c.beta.turnTo(at)
				}
				works(t, c.acme)
				works(t, c.beta)
			}
			for team, sealed := range c.stored(t) {
				if strings.Contains(sealed, c.acme.BotToken()) || strings.Contains(sealed, c.beta.BotToken()) {
					t.Errorf("the token of %s lies in Redis as it is", team)
				}
			}

			const never = `{"path":"never"}`
			th := c.acme.mention(t, "call box__write "+never)
			first := th.asking(1)
			for _, d := range c.acme.Uninstall() {
				c.acked(t, d)
			}
			until(t, "the token is deleted", func() bool { return c.stored(t)["T0ACME"] == "" })
			for _, at := range c.bots {
				at.logs(t, "a workspace is not served any more")
			}
			c.acked(t, th.click(ana, first, "Allow once"))
			works(t, c.beta)
			if n := c.wrote(t, never); n != 0 {
				t.Errorf("what nobody allowed ran %d times", n)
			}

			c.install(t, c.acme, b)
			works(t, c.acme)
			if n := c.wrote(t, never); n != 0 {
				t.Errorf("what nobody allowed ran %d times", n)
			}
		})
	}
}

// Somebody of one workspace is nobody in another, whatever their ID there: a click that names a message of Acme, and comes from Beta, decides
// nothing and is answered in Beta's name.
func TestSlackWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	c := openCompany(t, sockets, 0)
	c.install(t, c.acme, c.bots[0])
	c.install(t, c.beta, c.bots[0])
	order, args := write(t)
	th := c.acme.mention(t, order)
	first := th.asking(1)
	// In Beta there is a channel of that name, too, and Slack signs what its people do there: only the workspace says which is meant.
	c.beta.AddChannel(fakeslack.Channel{ID: th.channel, Members: []string{ana, c.beta.BotUser()}})
	d, err := c.beta.PressMoved(ana, th.now(first), th.nth(first, "Allow once", 0))
	if err != nil {
		t.Fatal(err)
	}
	c.acked(t, d)
	c.beta.wait(t, "she is told so with Beta's token", func() bool { return len(c.beta.Calls("chat.postEphemeral")) > 0 })
	if n := c.wrote(t, args); n != 0 {
		t.Errorf("somebody of another workspace ran it %d times", n)
	}
	for _, call := range c.acme.Calls() {
		if strings.Contains(fmt.Sprint(call.Values), c.beta.Team()) {
			t.Errorf("Acme's token was used for Beta: %+v", call)
		}
	}
	th.click(ana, first, "Allow once")
	th.done(first, "gave: written", "allowed once by")
}

// An installation counts only in the browser that began it, once, in a workspace that the operator named; what is refused is revoked.
func TestSlackInstallRefusesWhatDidNotBeginThere(t *testing.T) {
	t.Parallel()
	c := openCompany(t, sockets, 1)
	at := c.bots[0]
	evil := c.host(fakeslack.Options{Team: "T0EVIL", TeamName: "Evil"})
	agreed := "&team=T0ACME&as=" + ana
	refused := func(what string, status int, said string, want int, word string) {
		t.Helper()
		if status != want || !strings.Contains(strings.ToLower(said), "not") || !strings.Contains(said, word) {
			t.Errorf("%s: %d: %s", what, status, said)
		}
	}

	victim, attacker := &browser{t: t}, &browser{t: t}
	back := attacker.begin(at, agreed)
	status, _, said := victim.get(at.addr + back)
	refused("no cookie", status, said, http.StatusBadRequest, "another browser")
	victim.begin(at, agreed)
	status, _, said = victim.get(at.addr + back)
	refused("somebody else's state", status, said, http.StatusBadRequest, "another browser")
	q, _ := url.ParseQuery(strings.TrimPrefix(back, "/slack/installed?"))
	for what, state := range map[string]string{"no state": "", "a state of their own": strings.Repeat("A", len(q.Get("state"))), "a longer one": q.Get("state") + "A"} {
		again := &browser{t: t, cookie: attacker.cookie}
		status, _, said = again.get(at.addr + "/slack/installed?" + url.Values{"code": {q.Get("code")}, "state": {state}}.Encode())
		refused(what, status, said, http.StatusBadRequest, "another browser")
	}
	if n := c.Count("oauth.v2.access"); n != 0 {
		t.Errorf("Slack was asked %d times", n)
	}
	cookie := attacker.cookie
	if status, _, said = attacker.get(at.addr + back); status != http.StatusOK {
		t.Errorf("what began there: %d: %s", status, said)
	}
	replay := &browser{t: t, cookie: cookie}
	status, _, said = replay.get(at.addr + back)
	refused("once more", status, said, http.StatusBadGateway, "code_already_used")
	works(t, c.acme)

	other := &browser{t: t}
	status, _, said = other.get(at.addr + other.begin(at, "&team=T0EVIL&as="+ben))
	refused("a workspace that nobody named", status, said, http.StatusForbidden, "T0EVIL")
	if evil.Installed() || len(c.stored(t)) != 1 {
		t.Errorf("Evil has nod: %v; stored: %d", evil.Installed(), len(c.stored(t)))
	}
	status, _, said = other.get(at.addr + other.begin(at, "&as=deny"))
	refused("declined", status, said, http.StatusOK, "declined")
}

// A key is replaced by putting a new one before it: what the old one sealed is read, and sealed anew, so that it can go. Without either nothing is
// lost: nod says which workspace it cannot serve.
func TestSlackInstallKeysRotate(t *testing.T) {
	t.Parallel()
	c := openCompany(t, sockets, 1)
	at := c.bots[0]
	c.install(t, c.acme, at)
	works(t, c.acme)
	before := c.stored(t)["T0ACME"]
	restart := func(keys string) {
		t.Helper()
		at.env["NOD_SLACK_TOKEN_KEYS"] = keys
		at.kill()
		c.connected(0) // else what is said goes to the socket of one who is dead
		at.start()
		c.connected(1)
	}
	const next = "the-operators-next-key-0123456789"
	restart(next + "," + tokenKey)
	works(t, c.acme)
	until(t, "it is sealed anew", func() bool { now := c.stored(t)["T0ACME"]; return now != "" && now != before })
	restart(next)
	works(t, c.acme)
	restart("a-key-that-sealed-nothing-0123456789")
	at.logs(t, "a workspace is not served", "NOD_SLACK_TOKEN_KEYS")
	if c.stored(t)["T0ACME"] == "" {
		t.Error("it was deleted")
	}
	restart(next)
	works(t, c.acme)
}

// The doctor names each workspace and says whether its token works.
func TestDoctorNamesWorkspaces(t *testing.T) {
	t.Parallel()
	c := openCompany(t, sockets, 1)
	at := c.bots[0]
	report := func(want int, all ...string) {
		t.Helper()
		doctor := prepare(t, settings{name: "doctor", dir: filepath.Join(t.TempDir(), "doctor"), env: at.env})
		doctor.file = at.file
		code, printed := doctor.run("doctor")
		for _, what := range all {
			if !strings.Contains(printed, what) {
				t.Errorf("it does not say %q", what)
			}
		}
		for _, secret := range c.secrets() {
			if strings.Contains(printed, secret) {
				t.Errorf("it says %s", secret)
			}
		}
		if code != want || t.Failed() {
			t.Fatalf("exit code %d:\n%s", code, printed)
		}
	}
	report(0, "none has installed nod yet", installPage+"/slack/install")
	c.install(t, c.acme, at)
	c.install(t, c.beta, at)
	report(0, "✓ Slack, workspace T0ACME: bot token: @nod in the workspace Acme (T0ACME)", "✓ Slack, workspace T0BETA: bot token")
	c.beta.Revoke("invalid_auth")
	report(1, "✓ Slack, workspace T0ACME: bot token", "✗ Slack, workspace T0BETA: bot token: Slack refuses it: invalid_auth", installPage+"/slack/install")
}

// A removal that came while nobody listened is found out by the token itself.
func TestSlackRemovalIsFoundOut(t *testing.T) {
	t.Parallel()
	c := openCompany(t, sockets, 1)
	at := c.bots[0]
	c.install(t, c.acme, at)
	c.install(t, c.beta, at)
	works(t, c.acme)
	at.kill()
	c.connected(0)
	c.Hold(true) // what is sent now never comes
	c.acme.Hold(true)
	c.acme.Uninstall()
	at.start()
	c.connected(1)
	until(t, "the token is deleted", func() bool { return c.stored(t)["T0ACME"] == "" })
	c.Hold(false)
	works(t, c.beta)
}
