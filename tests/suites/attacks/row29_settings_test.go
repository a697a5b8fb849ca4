package attacks

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// loosenings are what only an admin may set, as it is typed.
var loosenings = map[string]string{
	"tool-never": "tool mix look never", "tool-ask-never": "tool mix look ask never", "server-never": "server mix never", "server-trusted": "server mix trusted true",
	"approval": "tool box guarded approval RequireConfirmation", "mode": "set mode never", "approvers": "set approvers anyone", "others": "set approvers slack:T0FAKE:U0BEN",
	"quorum": "tool mix pair min_approvals 1", "requester": "tool mix others requester_may_approve true", "strict": "set strict false", "timeout": "set timeout park",
	"disable": "tools disable mix", "disable-one": "tools disable mix look", "accept": "accept mix", "halt": "halt", "resume": "resume", "template": "apply solo yes",
	"in-capitals": "TOOL mix look NEVER", "with-permissions": "permissions tool mix look never", "two-lines": "show\ntool mix look never",
}

// settingsFromChat is row 29 from the other side: what holds is changed by admins, whatever door somebody else tries.
func settingsFromChat() (out []attack) {
	for name, words := range loosenings {
		for _, who := range []person{ana, ben} {
			out = append(out, everywhere(29, "settings-"+name+"-by-"+slug(string(who)), func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface)
				k.asking(1)
				switch th, in := k.place.(*thread); {
				case in:
					th.taken(t)(w.slack.Slash(inSlack[who], th.channel, "/nod", "permissions "+words), nil)
				case surface == "web":
					body := map[string]any{"text": "/nod permissions " + words}
					if status, answer := w.sessions[who].call(t, http.MethodPost, "/api/v1/permissions", body); status >= http.StatusInternalServerError {
						t.Errorf("%d %s", status, answer)
					}
				}
				lines, err := w.settings.Permissions(t.Context(), k.envelope(who), strings.Fields(words))
				if err != nil || len(lines) == 0 {
					t.Errorf("%q, %v", lines, err)
				}
				w.onlyAdminsSet(t)
				k.still(1)
				k.end()
			})...)
		}
	}
	out = append(out, everywhere(29, "settings-everything-that-anybody-is-offered", func(t *testing.T, _ *world, surface string) {
		// As many tools as a page of the panel shows: what stands on none is offered to nobody, however harmless.
		tools := slices.DeleteFunc(mixTools(), func(x tool) bool { return strings.HasPrefix(x.name, "channel-") })
		w := openWorld(t, append(boxTools(), tools...), nil)
		k := begin(t, w, surface)
		k.asking(1)
		adas, bens := k.offered(ada), k.offered(ben)
		if len(adas) <= len(bens) {
			t.Fatalf("Ada is offered %d things, Ben %d", len(adas), len(bens))
		}
		taken := 0
		for at := range adas {
			_, err := w.settings.Act(t.Context(), k.envelope(ben), at.view, at.token, "false")
			var no *decision.Refusal
			if _, his := bens[at]; !his && !errors.As(err, &no) {
				t.Errorf("Ben does Ada's %+v: %v", at, err)
			}
			if err == nil {
				taken++
			}
		}
		for at := range bens {
			for _, text := range []string{"", "anyone", "never"} {
				_, _ = w.settings.Act(t.Context(), k.envelope(ben), at.view, at.token, text)
			}
		}
		w.onlyAdminsSet(t)
		t.Logf("of the %d things that Ada is offered, Ben is offered %d, and did %d", len(adas), len(bens), taken)
		k.still(1)
		k.end()
	})...)
	for name, view := range map[string]string{"dots": "../tool:mix", "star": "*", "tool": "tool:mix/look", "server": "server:mix", "install": "install:mix", "settings": "settings", "long": strings.Repeat("v", 5000), "controls": "home\x00\u202e", "templates": "template:solo"} {
		out = append(out, everywhere(29, "settings-forged-view-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface)
			k.asking(1)
			for _, token := range []string{"", "x", "1", strings.Repeat("t", 5000), k.one(k.last(), "Allow once").ticket()} {
				if _, err := w.settings.Act(t.Context(), k.envelope(ben), view, token, "never"); err == nil {
					t.Errorf("%q is taken", token)
				}
				if surface == "web" {
					if status, answer := w.sessions[ben].call(t, http.MethodPost, "/api/v1/settings", map[string]string{"view": view, "token": token, "text": "never"}); status < 400 || status >= 500 {
						t.Errorf("%q: %d %s", token, status, answer)
					}
				}
			}
			w.onlyAdminsSet(t)
			k.still(1)
			k.end()
		})...)
	}
	for _, who := range []person{ana, ben} {
		out = append(out, everywhere(29, "installation-accepted-by-"+slug(string(who)), func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("mix", "boom", `{"path":"`+idOf(t)+`"}`)))
			k.asking(1)
			k.mayNotAccept(who, w.cardOf(t, "mix"))
			k.still(1)
			k.end()
		})...)
	}
	return append(out, everywhere(29, "installation-accepted-with-an-old-card", func(t *testing.T, w *world, surface string) {
		x := tool{server: "mix", name: "changing-" + surface, description: "Does something else."}
		k := begin(t, w, surface, wants(call("mix", "boom", `{"path":"`+idOf(t)+`"}`)))
		k.asking(1)
		old := w.cardOf(t, "mix")
		x.description += " " + k.name
		w.changed(t, x.name, func() { w.servers["mix"].put(x) })
		k.end()
		k.again(ana, k.name+"-2", wants(call("mix", "boom", `{"path":"`+k.name+`"}`))) // the change is seen by then
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		if w.cardOf(t, "mix") == old {
			t.Fatal("nothing changed")
		}
		k.mayNotAccept(ada, old)
		k.end()
	})...)
}

// onlyAdminsSet fails the test if anything was set by somebody who is no admin, or everything is halted.
func (w *world) onlyAdminsSet(t testing.TB) {
	t.Helper()
	s := must(w.engine.Settings(t.Context()))(t)
	for _, x := range s.Set {
		if x.Name != string(ada) {
			t.Errorf("%s set %s", x.Name, x.Setting)
		}
	}
	if s.Halted != nil {
		t.Errorf("halted by %s", s.Halted.Name)
	}
}

// act is something a panel offers.
type act struct{ view, token string }

// offered is everything that all views together offer to somebody.
func (k *talk) offered(who person) map[act]render.ActKind {
	k.t.Helper()
	out, seen, todo := map[act]render.ActKind{}, map[string]bool{}, []string{""}
	for len(todo) > 0 {
		view := todo[0]
		todo = todo[1:]
		p := must(k.settings.Panel(k.t.Context(), k.envelope(who), view))(k.t)
		if seen[p.View] {
			continue
		}
		seen[p.View] = true
		acts := p.Tabs
		for _, s := range p.Sections {
			for _, r := range s.Rows {
				acts = append(acts, r.Acts...)
			}
		}
		for _, a := range acts {
			if a.Kind == render.ActGo {
				todo = append(todo, a.View)
			}
			if a.Token != "" {
				out[act{p.View, a.Token}] = a.Kind
			}
			for _, o := range a.Options {
				out[act{p.View, o.Token}] = a.Kind
			}
		}
	}
	return out
}

// cardOf is what the button of a server's installation card carries.
func (w *world) cardOf(t testing.TB, server string) string {
	t.Helper()
	var tools []permission.Tool
	for _, p := range must(w.engine.Settings(t.Context()))(t).Pins {
		if p.Tool.Server == server {
			tools = append(tools, p.Tool)
		}
	}
	return "i-" + string(permission.ServerDigest(tools))[:32]
}

// mayNotAccept tries to accept a server's tools.
func (k *talk) mayNotAccept(who person, token string) {
	k.t.Helper()
	before := marshal(must(k.engine.Settings(k.t.Context()))(k.t).Pins)
	if on, b := k.last(), (button{token: token, choice: string(chat.Accept)}); k.surface() == "slack" {
		b.slack = fakeslack.Button{BlockID: "b", ActionID: "nod:accept:1", Type: "button", Text: "Accept", Value: token}
		k.press(k.t, who, on, b)
	}
	var no *decision.Refusal
	_, err := k.engine.Decide(k.t.Context(), chat.Clicked{Envelope: k.envelope(who), Choice: chat.Accept, Token: token})
	if !errors.As(err, &no) {
		k.t.Errorf("%s accepts: %v", who, err)
	}
	var was, is []permission.Pinned
	if json.Unmarshal(before, &was) != nil {
		k.t.Fatal("the pins cannot be read")
	}
	is = must(k.engine.Settings(k.t.Context()))(k.t).Pins
	accepted := map[permission.Tool]bool{}
	for _, p := range was {
		accepted[p.Tool] = p.Accepted
	}
	for _, p := range is {
		if was, known := accepted[p.Tool]; known && p.Accepted && !was && p.Tool.Server == "mix" {
			k.t.Errorf("%s is accepted", p.Tool.Name)
		}
	}
}

// staleSettings is row 29 with the settings in place of the configuration: what an admin tightens from a chat counts at once.
func staleSettings() (out []attack) {
	for kind, set := range map[string]permission.Setting{"disabled": {Field: "enabled", Value: "false"}, "require-auth": {Field: "approval", Value: "RequireAuth"}} {
		tighten := func(k *talk, tool string) {
			set := set
			set.Server, set.Tool = "stale", tool
			if _, err := k.engine.ChangeAsAdmin(k.t.Context(), k.envelope(ada), "", set); err != nil {
				k.t.Fatal(err)
			}
		}
		out = append(out, everywhere(29, kind+"-in-the-settings-between-ask-and-click", func(t *testing.T, w *world, surface string) {
			x := staleName(kind, "set-ask", surface)
			k := begin(t, w, surface, wants(call("stale", x, `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			tighten(k, x)
			k.click(ana, s, "Allow once")
			k.until("it is over, or asks an admin", func(s shot) bool { return s.over || kind == "require-auth" && s.asks == 1 })
			k.never()
			k.end()
		})...)
		out = append(out, everywhere(29, kind+"-in-the-settings-between-click-and-run", func(t *testing.T, w *world, surface string) {
			x, name := staleName(kind, "set-run", surface), idOf(t)
			k := begin(t, w, surface, wants(call("stale", x, `{"path":"`+name+`"}`), call("box", "write", `{"path":"other-`+name+`"}`)))
			s := k.asking(2)
			k.press(t, ana, s, s.labelled("Allow once")[0])
			k.until("one is decided", func(s shot) bool { return s.asks == 1 })
			tighten(k, x)
			now := k.last()
			k.press(t, ana, now, now.labelled("Deny")[0])
			k.until("it is over, or asks an admin", func(s shot) bool {
				return s.over || kind == "require-auth" && s.asks == 1 && len(s.labelled("Allow for this chat")) == 0
			})
			k.end()
		})...)
	}
	return out
}
