package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeoidc"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

// signsIn signs somebody in on a bot's page by its platform, and gives their session; nil where they are not let in.
func signsIn(t *testing.T, b *bot, as string) *person {
	t.Helper()
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
	begun := get(b.addr + "/signin")
	to, err := begun.Location()
	if err != nil {
		t.Fatal(begun.Status)
	}
	sent := get(to.String() + "&as=" + as)
	back, err := sent.Location()
	if err != nil {
		t.Fatal(sent.Status)
	}
	for _, k := range get(b.addr+back.RequestURI(), begun.Cookies()...).Cookies() {
		if k.Name == "nod_session" {
			return &person{t: t, b: b, key: k.Value}
		}
	}
	return nil
}

// answers gives an ask an answer on the page, and wants that status.
func (p *person) answers(ask string, want int) {
	p.t.Helper()
	if status, no := p.call("POST", "/api/v1/asks/"+ask, map[string]string{"choice": "allow_once"}, nil); status != want {
		p.t.Errorf("%d %+v, want %d", status, no, want)
	}
}

// whoami is what the bot says of them.
func (p *person) whoami() string {
	p.t.Helper()
	var out struct{ Lines []string }
	if status, no := p.call("POST", "/api/v1/permissions", map[string]any{"words": []string{"whoami"}}, &out); status != http.StatusOK {
		p.t.Fatal(status, no)
	}
	return strings.Join(out.Lines, "\n")
}

// quiet wants the bots to have logged no secret of a sign-in.
func quiet(t *testing.T, by *stand.OAuth, b *bot) {
	t.Helper()
	for _, secret := range by.Gave() {
		if strings.Contains(b.out.String(), secret) {
			t.Errorf("%s logs %s", b.name, secret)
		}
	}
}

// slackDoor is an office in which people sign in on the page by Slack, or by their company's provider, which knows Cleo.
func slackDoor(t *testing.T, approvals string) *office {
	t.Helper()
	port := stand.FreePort(t)
	page := fmt.Sprintf("http://127.0.0.1:%d", port)
	p, s := provider(t, port, "")
	s.env["SLACK_CLIENT_SECRET"] = fakeslack.ClientSecret
	o := openOffice(t, officeSettings{via: signed, env: s.env,
		yaml: fmt.Sprintf("web: {oidc: [{issuer: slack, client_id: %q, page_url: %q}, {issuer: %q, client_id: %q}]}\napprovals: {%s}\n",
			fakeslack.ClientID, page, p.URL, fakeoidc.ClientID, approvals)})
	o.SignIn().Change(func(s *stand.OAuth) { s.Redirect = page + "/signin/callback" })
	return o
}

// Who signs in on the page by Slack is the one they are in Slack: they count once, wherever they click, and as admins, too.
func TestOnePersonInSlackAndOnThePage(t *testing.T) {
	t.Parallel()
	o := slackDoor(t, "min_approvals: 2, approvers: anyone")
	b := o.bots[0]
	order, args := write(t)
	th := o.mention(t, order)
	first := th.asking(1)
	ask := th.nth(first, "Allow once", 0).Value
	th.click(ana, first, "Allow once")
	th.says(first, "1 of 2")
	signsIn(t, b, ana).answers(ask, http.StatusConflict) // she has allowed it
	for _, who := range []string{xena, guest, gone} {
		if signsIn(t, b, who) != nil {
			t.Errorf("%s is let in", who)
		}
	}
	if n := o.wrote(t, args); n != 0 {
		t.Fatalf("one person counted twice: it ran %d times", n)
	}
	tab := arrive(t, b)
	tab.do(chromedp.WaitVisible(chromedp.CSS("#sign-in-slack")))
	if got := tab.text("#sign-in-slack"); got != "Sign in with Slack" {
		t.Errorf("the button says %q", got)
	}
	cleo := arrive(t, b)
	cleo.signInBy("#sign-in", "cleo")
	if got := cleo.text(".me"); !strings.Contains(got, "Cleo Marin") {
		t.Errorf("Cleo, whom the company vouches for, reads %q", got)
	}
	tab.signInBy("#sign-in-slack", ben)
	if got := tab.text(".me"); !strings.Contains(got, "Ben") {
		t.Errorf("Ben reads %q", got)
	}
	_ = look[any](tab, `void fetch("/api/v1/asks/`+ask+`", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"choice":"allow_once"}'})`)
	th.done(first, "gave: written", "Ben")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if got := signsIn(t, b, admin).whoami(); !strings.Contains(got, "slack:"+o.Team()+":"+admin) || !strings.Contains(got, "You are an admin") {
		t.Errorf("Ada is %s", got)
	}
	// What is asked on the page is for people of Slack, too.
	talk := signsIn(t, b, ana).room()
	asked := talk.ask("call box__write " + `{"path":"on-the-page"}`)
	talk.answers(asked.RequestID, http.StatusOK)
	signsIn(t, b, ana).answers(asked.RequestID, http.StatusConflict)
	signsIn(t, b, ben).answers(asked.RequestID, http.StatusOK)
	talk.idle()
	if n := o.wrote(t, `{"path":"on-the-page"}`); n != 1 {
		t.Errorf("on the page it ran %d times", n)
	}
	quiet(t, o.SignIn(), b)
}

// On Discord the roles of the server count on the page as they do there.
func TestOnePersonOnDiscordAndOnThePage(t *testing.T) {
	t.Parallel()
	port := stand.FreePort(t)
	page := fmt.Sprintf("http://127.0.0.1:%d", port)
	g := openGuild(t, guildSettings{
		yamlOf: func(g *guild) string {
			return fmt.Sprintf("web: {oidc: {issuer: discord, client_id: %q, discord_server: %q, page_url: %q}}\napprovals: {approvers: [%q]}\n", g.AppID(), g.Guild(), page, g.name("&"+g.lead))
		},
		env: map[string]string{"NOD_LISTEN": fmt.Sprintf("127.0.0.1:%d", port), "NOD_OIDC_CLIENT_SECRET": fakediscord.ClientSecret}})
	g.SignIn().Change(func(s *stand.OAuth) { s.Redirect = page + "/signin/callback" })
	b := g.bots[0]
	if signsIn(t, b, g.AddStranger(fakediscord.User{Name: "Sam"})) != nil {
		t.Error("somebody who is not in the server is let in")
	}
	order, args := write(t)
	k := g.mention(t, order)
	first := k.asking(1)
	_, ask, _ := strings.Cut(strings.TrimPrefix(k.nth(first, "Allow once", 0).ID, "nod:"), ":")
	signsIn(t, b, benID).answers(ask, http.StatusForbidden)
	signsIn(t, b, leaID).answers(ask, http.StatusOK)
	k.done(first, "gave: written", "Lea")
	talk := signsIn(t, b, anaID).room()
	asked := talk.ask("call box__write " + `{"path":"on-the-page"}`)
	talk.answers(asked.RequestID, http.StatusForbidden)
	signsIn(t, b, leaID).answers(asked.RequestID, http.StatusOK)
	talk.idle()
	for _, args := range []string{args, `{"path":"on-the-page"}`} {
		if n := g.wrote(t, args); n != 1 {
			t.Errorf("%s ran %d times", args, n)
		}
	}
	quiet(t, g.SignIn(), b)
}
