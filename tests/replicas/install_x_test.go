package replicas

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// cardOf is what the button of an installation card carries: which tools the server has now.
func cardOf(w *World, server string) string {
	var known []permission.Tool
	for _, p := range settings(w).Pins {
		if p.Tool.Server == server {
			known = append(known, p.Tool)
		}
	}
	return "i-" + string(permission.ServerDigest(known))[:32]
}

// accepted are the servers whose tools somebody accepted, all of them.
func accepted(w *World) (servers []string) {
	open := map[string]bool{}
	for _, p := range settings(w).Pins {
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
func TestInstallationCardsButton(t *testing.T) {
	w := New(t, Options{})
	w.Tools.Put(Tool{Server: "mail", Name: "post"})
	w.Model.When("hello", Says("Hello."))
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	w.Until("the tools are known", func() bool { return len(settings(w).Pins) == 6 })
	click := func(u chat.User, token string) chat.Clicked { return api(w, u, chat.Accept, token) }

	token := cardOf(w, "files")
	refused(w, click(Ana, token), agent.RefusedNotYours, "admin")
	refused(w, click(Root, "i-made-up"), agent.RefusedUnknown)
	refused(w, click(Root, ""), agent.RefusedUnknown)
	equal(t, "accepted", len(accepted(w)), 0)

	w.Tools.Change("write")
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(1)
	w.Until("the change is known", func() bool { return cardOf(w, "files") != token })
	refused(w, click(Root, token), agent.RefusedUnknown)
	equal(t, "accepted", len(accepted(w)), 0)

	if said := w.Deliver(w.Replicas[0], click(Root, cardOf(w, "files"))); said == "" {
		t.Error("the admin is told nothing")
	}
	if got := accepted(w); !slices.Equal(got, []string{"files"}) {
		t.Errorf("accepted are the tools of %v", got)
	}
	refused(w, click(Root, cardOf(w, "files")), agent.RefusedDecided)
	if got := accepted(w); !slices.Equal(got, []string{"files"}) {
		t.Errorf("accepted are the tools of %v", got)
	}
}
