package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/tests/standins/stand"
)

// inboxForm is what waits for a person, as far as is looked at.
type inboxForm struct {
	Open, More int
	Asks       []struct {
		RequestID            string `json:"request_id"`
		Surface, Where, Link string
		Name                 string
		Card                 struct{ Question string }
	}
}

func (p *person) inbox() (f inboxForm) {
	p.t.Helper()
	if status, no := p.call("GET", "/api/v1/inbox", nil, &f); status != http.StatusOK {
		p.t.Fatal(status, no)
	}
	return f
}

// What is asked in a thread of Slack is decided in the page's inbox by the same person, while others see no sign of it. The record says where.
func TestInboxDecidesWhatSlackAsks(t *testing.T) {
	t.Parallel()
	o := slackDoor(t, "approvers: anyone")
	b := o.bots[0]
	tab := arrive(t, b)
	tab.signInBy("#sign-in-slack", ana)
	tab.do(chromedp.Navigate(b.addr + "/inbox"))
	tab.until(`document.querySelector("#count").textContent.startsWith("Nothing waits for you.")`)
	order, args := write(t)
	th := o.mention(t, order)
	first := th.asking(1)
	tab.until(`document.querySelectorAll("#asks .ask").length === 1`) // by itself
	if got := tab.text(".where"); got != "Slack · Ana asks" {
		t.Errorf("it waits in %q", got)
	}
	link := look[string](tab, `document.querySelector(".where a").href`)
	if !strings.Contains(link, "/archives/"+th.channel+"/p") {
		t.Errorf("it leads to %q", link)
	}
	// Anybody may answer who is in the channel; who is there, only Slack knows.
	stranger := signsIn(t, b, ben)
	ask := signsIn(t, b, ana).inbox().Asks[0].RequestID
	if f := stranger.inbox(); f.Open != 0 || f.More != 0 || len(f.Asks) != 0 {
		t.Errorf("a stranger sees %+v", f)
	}
	if status, _ := stranger.call("GET", "/api/v1/asks/"+ask+"/details", nil, nil); status != http.StatusForbidden {
		t.Errorf("a stranger reads its details: %d", status)
	}
	if f := signsIn(t, b, admin).inbox(); f.Open != 1 || f.Asks[0].Surface != "slack" {
		t.Errorf("an admin sees %+v", f)
	}
	tab.press("#asks .choices [data-choice=allow_once]")
	th.done(first, "gave: written", "Ana")
	tab.until(`document.querySelector("#count").textContent.startsWith("Nothing waits for you.")`)
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	// Too late, in words.
	if status, no := signsIn(t, b, ana).call("POST", "/api/v1/inbox/clicks", map[string]string{"token": ask, "choice": "allow_once"}, nil); status != http.StatusConflict || !strings.Contains(no.Message, "Ana") {
		t.Errorf("%d %+v", status, no)
	}
	quiet(t, o.SignIn(), b)
}

// A group of the company's provider that approves sees in the inbox what waits in Slack, and decides it; who is in none sees nothing.
func TestInboxOfAGroupThatApprovesForSlack(t *testing.T) {
	t.Parallel()
	p, s := provider(t, stand.FreePort(t), "approvals: {approvers: ['web::&board']}\n")
	o := openOffice(t, officeSettings{via: signed, yaml: s.yaml, env: s.env})
	b := o.bots[0]
	as := func(name string) *tab {
		t.Helper()
		tab := arrive(t, b)
		tab.signInAs(name)
		tab.do(chromedp.Navigate(b.addr + "/inbox"))
		tab.until(`document.querySelector("#count").textContent.startsWith("Nothing waits for you.")`)
		return tab
	}
	board, cleo := as("ben"), as("cleo")
	order, args := write(t)
	th := o.mention(t, order)
	first := th.asking(1)
	board.until(`document.querySelectorAll("#asks .ask").length === 1`)
	ask := look[string](board, `document.querySelector("#asks .ask").dataset.request`)
	if no := look[string](cleo, `fetch("/api/v1/inbox/clicks", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"token":"`+ask+`","choice":"allow_once"}'}).then(r => r.text())`, chromedp.EvalAwaitPromise); !strings.Contains(no, "not_yours") {
		t.Errorf("somebody of no group: %s", no)
	}
	if n := look[int](cleo, `fetch("/api/v1/inbox").then(r => r.json()).then(f => f.open + f.more + f.asks.length)`, chromedp.EvalAwaitPromise); n != 0 {
		t.Errorf("somebody of no group counts %d", n)
	}
	board.press("#asks .choices [data-choice=allow_once]")
	th.done(first, "gave: written", "Ben Okri")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	noSecret(t, p, b)
}
