package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakepush"
)

// notified is what GET /api/v1/push says.
type notified struct {
	Key, User string
	Devices   int
}

func (p *person) pushes(method string, body any) (n notified) {
	p.t.Helper()
	if status, no := p.call(method, "/api/v1/push", body, &n); status != http.StatusOK {
		p.t.Fatal(status, no)
	}
	return n
}

// device is a browser of theirs that is notified.
func (p *person) device(at *fakepush.Service) *fakepush.Device {
	p.t.Helper()
	d := at.Subscribe(p.pushes("GET", nil).Key)
	p.pushes("POST", d.Form())
	return d
}

// What waits for people is pushed to their devices once, asked in Slack or on the page, whichever of two replicas has them. Strangers hear nothing,
// nor does who has signed out, was deleted, or whose browser is gone.
func TestDevicesAreNotifiedBesideReplicas(t *testing.T) {
	t.Parallel()
	at := fakepush.Start(t)
	env := at.Env()
	o := openOffice(t, officeSettings{replicas: 2, env: env, yaml: fmt.Sprintf(`audit: {key: %q}
web: {session_keys: [{name: ana, key: a-long-key-of-ana}, {name: ben, key: a-long-key-of-ben}, {name: cleo, key: a-long-key-of-cleo}, {name: eve, key: a-long-key-of-eve}]}
approvals: {approvers: ['web::ana', 'web::ben', 'web::cleo']}
`, filepath.Join(t.TempDir(), "audit.key"))})
	a, b := o.bots[0], o.bots[1]
	ana, ben, cleo, eve := a.sessionBy("a-long-key-of-ana"), b.sessionBy("a-long-key-of-ben"), b.sessionBy("a-long-key-of-cleo"), a.sessionBy("a-long-key-of-eve")
	if one, two := ana.pushes("GET", nil).Key, ben.pushes("GET", nil).Key; one != two {
		t.Fatalf("the replicas sign with two keys: %s and %s", one, two)
	}
	phone, desk, gone, stranger := ana.device(at), ben.device(at), cleo.device(at), eve.device(at)
	asks := func(n int) (*thread, string) {
		t.Helper()
		order, _ := write(t)
		th := o.mention(t, order)
		first := th.asking(1)
		phone.Wait(n)
		return th, first
	}
	th, first := asks(1)
	desk.Wait(1)
	gone.Wait(1)
	m := phone.Got()[0]
	if !strings.Contains(m.Text, `"title":"Ana asks: Allow write from box?","body":"Waits in Slack."`) || !strings.Contains(m.Text, `"to":"/inbox"`) || m.Urgency != "high" || m.TTL <= 0 {
		t.Errorf("pushed: %+v", m)
	}
	ben.answers(ben.inbox().Asks[0].RequestID, http.StatusOK)
	th.done(first, "gave: written", "ben")

	desk.Ends()
	asks(2)
	gone.Wait(2)
	until(t, "Ben's browser is forgotten", func() bool { return ben.pushes("GET", nil).Devices == 0 })

	operator := filepath.Join(t.TempDir(), "operator")
	run := func(says string, args ...string) {
		t.Helper()
		if code, out := prepare(t, settings{yaml: content(t, a.file), dir: operator, env: a.env}).run(args...); code != 0 || !strings.Contains(out, says) || strings.Contains(out, gone.Auth) || strings.Contains(out, gone.Endpoint) {
			t.Errorf("nod %s: code %d:\n%s", strings.Join(args, " "), code, out)
		}
	}
	run(`"device": "`+fakepush.Name+`"`, "person", "export", "web::cleo")
	run("Deleted.", "person", "delete", "web::cleo", "-yes")
	asks(3)

	tablet := b.sessionBy("a-long-key-of-ana").device(at)
	var listed struct {
		Sessions []struct {
			ID      string
			Current bool
		}
	}
	ana.call("GET", "/api/v1/sessions", nil, &listed)
	for _, s := range listed.Sessions {
		if s.Current {
			if status, no := ana.call("DELETE", "/api/v1/sessions/"+s.ID, nil, nil); status != http.StatusOK {
				t.Fatal(status, no)
			}
		}
	}
	r := ben.at(a).room()
	r.ask(`call box__write {"path":"of-the-page"}`)
	if m := tablet.Wait(1)[0]; !strings.Contains(m.Text, `"title":"ben asks: Allow write from box?","body":"Waits on this page."`) || !strings.Contains(m.Text, `"to":"/inbox"`) {
		t.Errorf("pushed: %+v", m)
	}
	for name, x := range map[string]struct {
		d    *fakepush.Device
		want int
	}{"Ana's phone": {phone, 3}, "her tablet": {tablet, 1}, "Ben's browser": {desk, 2}, "who was deleted": {gone, 2}, "a stranger": {stranger, 0}} {
		if got := x.d.Tried(); got != x.want {
			t.Errorf("%s is sent %d, want %d", name, got, x.want)
		}
	}
	for _, bot := range o.bots {
		if out := bot.out.String(); strings.Contains(out, "/wpush/") || strings.Contains(out, phone.Auth) {
			t.Errorf("%s logs where a device is:\n%s", bot.name, out)
		}
	}
}
