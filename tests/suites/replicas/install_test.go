package replicas

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// cardOf is what the button of an installation card carries: which tools the server has now.
func cardOf(w *World, server string) string {
	var known []permission.Tool
	for _, p := range settingsOf(w).Pins {
		if p.Tool.Server == server {
			known = append(known, p.Tool)
		}
	}
	return "i-" + string(permission.ServerDigest(known))[:32]
}

// accepted are the servers whose tools somebody accepted, all of them.
func accepted(w *World) (servers []string) {
	open := map[string]bool{}
	for _, p := range settingsOf(w).Pins {
		open[p.Tool.Server] = open[p.Tool.Server] || !p.Accepted || p.Changed()
	}
	for s, is := range open {
		if !is {
			servers = append(servers, s)
		}
	}
	return servers
}

// An installation card's button accepts the tools of its server as they were on the card: for an admin, once, and of no other server
// (R159). What changed since the card was drawn is not accepted by it.
// R161
func TestInstallationCardsButton(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "mail", Name: "post"})
	w.Model.When("hello", Says("Hello."))
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 6 })
	click := func(u chat.User, token string) chat.Clicked { return api(w, u, chat.Accept, token) }

	token := cardOf(w, "files")
	refused(w, click(Ana, token), decision.RefusedNotYours, "admin")
	refused(w, click(Root, "i-made-up"), decision.RefusedUnknown)
	refused(w, click(Root, ""), decision.RefusedUnknown)
	equal(t, "accepted", len(accepted(w)), 0)

	w.Tools.Change("write")
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(1)
	w.Until("the change is known", func() bool { return cardOf(w, "files") != token })
	refused(w, click(Root, token), decision.RefusedUnknown)
	equal(t, "accepted", len(accepted(w)), 0)

	if said := w.Deliver(w.Replicas[0], click(Root, cardOf(w, "files"))); said == "" {
		t.Error("the admin is told nothing")
	}
	if got := accepted(w); !slices.Equal(got, []string{"files"}) {
		t.Errorf("accepted are the tools of %v", got)
	}
	refused(w, click(Root, cardOf(w, "files")), decision.RefusedDecided)
	if got := accepted(w); !slices.Equal(got, []string{"files"}) {
		t.Errorf("accepted are the tools of %v", got)
	}
}

// standing is what is known of a server's tools: which of them count as accepted, which as changed.
func standing(w *World, server string) string {
	var out []string
	for _, p := range pinsOf(w, server) {
		word := "new"
		if p.Accepted {
			word = "accepted"
		}
		if p.Changed() {
			word += ", changed"
		}
		out = append(out, p.Tool.Name+" "+word)
	}
	return strings.Join(out, "; ")
}

// Without anybody's look only that is accepted which a server has when it is seen first, or when the operator begins to stand for it, by
// trusting it or by letting it never ask: not what it adds or changes later, and nothing of a server that nobody stands for.
func TestWhatIsAcceptedWithoutALook(t *testing.T) {
	server := func(s permission.ServerSettings) func(w *World) {
		return func(w *World) {
			w.SetPolicy(func(p *permission.Policy, _ tools) { p.Servers["mail"] = s })
		}
	}
	adds := func(tool string) func(w *World) {
		return func(w *World) { w.Tools.Put(Tool{Server: "mail", Name: tool}) }
	}
	changes := func(tool string) func(w *World) { return func(w *World) { w.Tools.Change(tool) } }
	trusted, never := permission.ServerSettings{Trusted: true}, permission.ServerSettings{Ask: permission.NeverAsk}
	type step struct {
		do   func(w *World)
		then string
	}
	for name, steps := range map[string][]step{
		"nobody stands for it": {
			{adds("post"), "post new"},
			{changes("post"), "post new, changed"},
			{adds("read"), "post new, changed; read new"},
		},
		"it is trusted": {
			{server(trusted), ""},
			{adds("post"), "post accepted"},
			{adds("read"), "post accepted; read new"},
			{changes("post"), "post accepted, changed; read new"},
			{changes("read"), "post accepted, changed; read new, changed"},
		},
		"it never asks": {
			{server(never), ""},
			{adds("post"), "post accepted"},
			{adds("read"), "post accepted; read new"},
		},
		"it always asks": {
			{server(permission.ServerSettings{Ask: permission.AlwaysAsk}), ""},
			{adds("post"), "post new"},
		},
		"it is trusted later": {
			{adds("post"), "post new"},
			{server(trusted), "post accepted"},
			{adds("read"), "post accepted; read new"},
			{changes("post"), "post accepted, changed; read new"},
		},
		"it never asks from some time on": {
			{adds("post"), "post new"},
			{adds("read"), "post new; read new"},
			{server(never), "post accepted; read accepted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Model.When("hello", Says("Hello."))
			w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
			for i, x := range steps {
				looked(w) // what it lists from now on is what there is
				x.do(w)
				w.Say(w.Replicas[0], Ana, "hello") // what servers say is recorded before the model is asked
				w.Over(i)
				equal(t, "step "+string(rune('1'+i)), standing(w, "mail"), x.then)
			}
			equal(t, "accepted of another server", strings.Contains(standing(w, "files"), "accepted"), false)
		})
	}
}

// What nod itself brings changes with the program: nobody is told of it, and nobody has to accept it.
func TestNodsOwnToolsAreNotInstalled(t *testing.T) {
	w := New(t, Options{Teller: true, Engine: func(c *agent.Config) { c.Tools = builtIn{c.Tools} }})
	w.Tools.Put(Tool{Server: "built", Name: "look"})
	w.Tools.Put(Tool{Server: "mail", Name: "post"})
	knows(w, "mail", 1)
	w.Until("Root was told of the other server", func() bool { return len(cardsOf(w, Root, "mail")) == 1 })
	equal(t, "known", standing(w, "built"), "")
	equal(t, "cards", len(cardsOf(w, Root, "built")), 0)
}
