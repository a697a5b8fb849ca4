package replicas

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

const ops = chat.Channel("fake:T1:ops")

// saidIn delivers a message in a chat of the channel.
func saidIn(w *World, r *Replica, id chat.ID, u chat.User, words string) {
	w.Helper()
	in := w.SaidBy(u, words)
	in.Chat, in.Channel = id, ops
	w.Deliver(r, in)
}

// A tool that is allowed in a channel runs unasked in its other chats, on every replica, for whoever its giver may answer: until somebody
// revokes it, or an admin takes the possibility away.
func TestAllowedInAChannel(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		vouched(w)
		w.Model.When("go", Calls(Call("write", `{}`)))
		saidIn(w, w.Replicas[0], Room, Ana, "go")
		w.Asks("write")
		if _, offered := w.Button(Room, chat.AllowChannel, "write"); offered {
			w.Error("it is offered where no admin allows it")
		}
		w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		w.Over(0)
		has(w, "an admin allows it", typed(w, Root, "set channel_grants true"), "Can be allowed for a channel")
		saidIn(w, w.Replicas[0], Room, Ana, "go")
		w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
		w.Shows(1, text.LabelAllowChannel)
		w.Press(w.Replicas[1], Ana, chat.AllowChannel, "write")
		has(w, "the message", w.Over(1), "allowed, and its tool in this channel by Ana")
		equal(w, "grants of the chat", len(session(w).Grants), 0)

		saidIn(w, w.Replicas[1], Other, Ana, "go")
		w.Until("it ran in the other chat, unasked", func() bool { return w.Tools.Count("write") == 2 })
		saidIn(w, w.Replicas[0], later, Ben, "go")
		w.Until("Ben is asked: Ana may not answer for him", func() bool { _, ok := w.Button(later, chat.AllowOnce, "write"); return ok })
		equal(w, "runs", w.Tools.Count("write"), 2)

		has(w, "Ana's own choice", panelText(panelIn(w, Other, Ana, "tool:files/write")), text.OwnNone)
		list := typedIn(w, Other, Ben, "show")
		has(w, "what is allowed", list, "1. write of files · allowed by Ana", "in all chats of this channel · until")
		elsewhere, err := w.Replicas[0].Settings.Panel(context.Background(), chat.Envelope{User: Ana}, "grants")
		if err != nil {
			w.Fatal(err)
		}
		limits := elsewhere.Sections[len(elsewhere.Sections)-2].Rows[0].Details[0]
		equal(w, "the channel, read where it is not this one", fmt.Sprint(limits[:2]), fmt.Sprint(render.Line{render.Plain(text.InAllChatsOf), render.Channel("fake:T1:ops")}))
		has(w, "Ben may not end it", typedIn(w, Other, Ben, "revoke all"), text.PanelNoGrants)
		equal(w, "kept", len(settingsOf(w).Remembered), 1)
		if o, ok := offerOf(panelIn(w, Other, Ben, "grants"), "write of files", text.LabelRevoke); ok {
			w.Errorf("Ben is offered %+v", o)
		}
		o, ok := offerOf(panelIn(w, Other, Root, "grants"), "write of files", text.LabelRevoke)
		if !ok {
			w.Fatal("an admin cannot revoke it")
		}
		if _, err := w.Replicas[0].Settings.Act(context.Background(), w.Envelope(Other, Root), "grants", o.token, ""); err != nil {
			w.Fatal(err)
		}
		saidIn(w, w.Replicas[1], Other, Ana, "go")
		w.Until("it asks again", func() bool { _, ok := w.Button(Other, chat.AllowOnce, "write"); return ok })
		equal(w, "runs after it was revoked", w.Tools.Count("write"), 2)

		entries, err := w.Replicas[0].Gate.History(context.Background(), Room)
		if err != nil {
			w.Fatal(err)
		}
		var said []string
		for _, r := range audit.Records(Room, entries) {
			if r.Kind == audit.Decision {
				said = append(said, r.Choice+" "+r.Note)
			}
		}
		equal(w, "the record", strings.Join(said, ", "), "deny , allow_channel fake:T1:ops")
	})
}

// It is taken back with the answer that gave it, by number, and by its end; what waits in the same reply is answered with it.
func TestAllowedInAChannelEnds(t *testing.T) {
	w := New(t, Options{Replicas: 1})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.ChannelGrants, p.ChannelFor = true, time.Hour })
	w.Model.When("go", Calls(Call("write", `{"n":1}`), Call("write", `{"n":2}`), Call("send", `{}`)))
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Asks("write", "write", "send")
	w.Press(w.Replicas[0], Ana, chat.AllowChannel, "write")
	w.Asks("send")
	kept := settingsOf(w).Remembered
	equal(w, "kept", len(kept), 1)
	if ends := kept[0].Until.Sub(kept[0].At); ends > time.Hour || ends < time.Hour-time.Minute {
		t.Errorf("it ends after %v", ends)
	}
	w.Press(w.Replicas[0], Ana, chat.Undo, "write")
	equal(w, "kept after Undo", len(settingsOf(w).Remembered), 0)
	w.Press(w.Replicas[0], Ana, chat.AllowChannel, "write")
	equal(w, "kept again", len(settingsOf(w).Remembered), 1)
	has(w, "revoked by number", typed(w, Ana, "revoke 1"), text.Revoked)
	equal(w, "kept after revoke", len(settingsOf(w).Remembered), 0)
}

// R44: what is remembered with a wide answer is as wide, where an admin allows that.
func TestReadsAreRemembered(t *testing.T) {
	for _, upTo := range []permission.Scope{permission.ScopeTool, permission.ScopeReads} {
		t.Run(upTo.String(), func(t *testing.T) { readsAreRemembered(t, upTo) })
	}
}

// An admin accepts a server's reads by a typed command, which says what it accepted; nobody else does.
func TestAcceptReadsTyped(t *testing.T) {
	w := New(t, Options{Replicas: 1})
	m := newMail(w)
	has(t, "Ana", typed(w, Ana, "accept mail reads"), "Only an admin")
	m.only("nobody accepted it")
	has(t, "the answer", typed(w, Root, "accept mail READS"), text.NowAcceptedReads(2), "These are: find, list.")
	m.only("accepted", "list", "find")
	has(t, "again", typed(w, Root, "accept mail reads"), text.NothingToChange)
	has(t, "all of it", typed(w, Root, "accept mail"), "These are: burn, look, mark, post.")
	m.only("all accepted", "list", "find")
	m.known(func() { w.Tools.Put(Tool{Server: "post", Name: "list", Hints: readsOnly}) })
	typed(w, Root, "server post trusted true")
	has(t, "what is believed as it is", typed(w, Root, "accept post reads"), text.NothingToChange)
}

// What somebody allowed in a channel each time is offered to them for the channel, and is never applied by itself. What is changed since, or
// was denied once, is not.
func TestReadsAreOfferedForTheChannel(t *testing.T) {
	w := New(t, Options{Replicas: 1})
	newMail(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.ChannelGrants = true })
	typed(w, Root, "accept mail")
	typed(w, Root, "tool mail list access read")
	typed(w, Root, "tool mail find access read")
	idea := func() (offered, bool) {
		return offerOf(panelIn(w, Room, Ana, "stats"), "You allowed reads of mail", text.LabelReadsInChannel)
	}
	for n := range 5 {
		if _, ok := idea(); ok {
			t.Fatalf("it is offered after %d times", n)
		}
		id := []chat.ID{Room, Other}[n%2]
		saidIn(w, w.Replicas[0], id, Ana, "use list")
		var b Button
		w.Until("it asks", func() (asks bool) { b, asks = w.Button(id, chat.AllowOnce, "list"); return asks })
		w.Deliver(w.Replicas[0], w.Click(Ana, b))
		w.Until("it ran", func() bool { return w.Tools.Count("list") == n+1 })
	}
	o, ok := idea()
	if !ok || o.confirm != text.ConfirmReadsInChannel("mail", permission.ChannelGrantFor) {
		t.Fatalf("offered: %+v, %v", o, ok)
	}
	if _, ok := offerOf(panelIn(w, Room, Ben, "stats"), "You allowed reads of mail", text.LabelReadsInChannel); ok {
		t.Error("it is offered to Ben")
	}
	equal(t, "kept unasked", len(settingsOf(w).Remembered), 0)
	if _, err := w.Replicas[0].Settings.Act(context.Background(), w.Envelope(Room, Ana), "stats", o.token, ""); err != nil {
		t.Fatal(err)
	}
	kept := settingsOf(w).Remembered
	if len(kept) != 1 || kept[0].Channel != ops || kept[0].Scope != permission.ScopeReads || len(kept[0].Tools) != 2 || kept[0].Until.IsZero() {
		t.Fatalf("kept %+v", kept)
	}
	saidIn(w, w.Replicas[0], Other, Ana, "use find")
	w.Until("the other read ran in the other chat, unasked", func() bool { return w.Tools.Count("find") == 1 })
	if _, ok := idea(); ok {
		t.Error("it is offered again")
	}
}

func readsAreRemembered(t *testing.T, upTo permission.Scope) {
	w := New(t, Options{Replicas: 1})
	newMail(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.RememberUpTo = upTo })
	has(w, "accepted", typed(w, Root, "accept mail"), "6 tools")
	has(w, "what they do", typed(w, Root, "tool mail list access read")+typed(w, Root, "tool mail find access read"), "Access")
	w.Say(w.Replicas[0], Ana, "use list")
	w.Until("it asks", func() bool { return w.Asked() == "list" })
	w.Press(w.Replicas[0], Ana, chat.Remember, "list")
	w.Press(w.Replicas[0], Ana, chat.AllowReads, "list")
	w.Over(1)
	kept := settingsOf(w).Remembered
	if len(kept) != 1 || kept[0].Scope != upTo {
		t.Fatalf("up to %v: kept %+v", upTo, kept)
	}
	equal(t, "it is of this tool alone", !strings.Contains(panelText(panel(w, Ana, "tool:mail/list")), text.OwnNone), upTo == permission.ScopeTool)
	in := w.SaidBy(Ana, "use find")
	in.Chat = Other
	w.Deliver(w.Replicas[0], in)
	w.Until("it asks or ran in another chat", func() bool {
		_, asks := w.Button(Other, chat.AllowOnce, "find")
		return asks || w.Tools.Count("find") == 1
	})
	equal(t, "it ran unasked", w.Tools.Count("find") == 1, upTo == permission.ScopeReads)
}

// place is one of many chats.
func place(name string) chat.ID { return chat.ID{Platform: "fake", Workspace: "T1", Key: name} }

// runsUnasked says "go" in a chat of its own and reports whether its call of write ran without a card. A card is denied.
func runsUnasked(w *World, r *Replica, in chat.Said) bool {
	w.Helper()
	ran := w.Tools.Count("write")
	w.Tools.In(in.Chat)
	w.Deliver(r, in)
	var b Button
	asks := false
	w.Until("it asks or ran in "+in.Chat.Key, func() bool {
		b, asks = w.Button(in.Chat, chat.Deny, "write")
		return asks || w.Tools.Count("write") > ran
	})
	if asks {
		w.Deliver(r, w.Click(in.User, b))
	}
	return !asks
}

// allowedHere is a world in which Ana allowed write in the channel, and others may answer, too.
func allowedHere(w *World) {
	w.Helper()
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.ChannelGrants, p.Approvers.Rule = true, permission.ApproversAnyone
	})
	w.Model.When("go", Calls(Call("write", `{}`)))
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowChannel, "write")
	w.Ran("write")
}

// What stops it where it is asked: on the way in, by the policy as it is then, and by what the call is.
func TestWhereAChannelsAllowanceStops(t *testing.T) {
	w := New(t, Options{Replicas: 2})
	allowedHere(w)
	n := 0
	unasked := func(what string, want bool, change func(*chat.Said)) {
		t.Helper()
		n++
		in := w.SaidBy(Ben, "go")
		in.Chat, in.Channel = place(fmt.Sprintf("c%d", n)), ops
		change(&in)
		if got := runsUnasked(w, w.Replicas[n%2], in); got != want {
			t.Errorf("%s: it ran unasked %v, want %v", what, got, want)
		}
	}
	as := func(*chat.Said) {}
	policy := func(what string, change func(p *permission.Policy, files tools)) {
		t.Helper()
		before, _ := w.Policy(context.Background())
		w.SetPolicy(change)
		unasked(what, false, as)
		w.SetPolicy(func(p *permission.Policy, files tools) {
			clear(files)
			maps.Copy(files, before.Servers["files"].Tools)
			*p, p.Servers = before, maps.Clone(before.Servers)
		})
		unasked("after: "+what, true, as)
	}
	unasked("in another chat, by another person", true, as)
	unasked("no channel", false, func(in *chat.Said) { in.Channel = "" })
	unasked("of another workspace", false, func(in *chat.Said) { in.Channel = "fake:T2:ops" })
	unasked("of another platform", false, func(in *chat.Said) { in.Channel = "slack:T1:ops" })
	unasked("a visitor", false, func(in *chat.Said) { in.Standing = chat.Visitor })
	unasked("somebody untold", false, func(in *chat.Said) { in.Standing = chat.Untold })
	policy("switched off", func(p *permission.Policy, _ tools) { p.ChannelGrants = false })
	policy("all chats ask", func(p *permission.Policy, _ tools) { p.Mode = permission.ModeAlways })
	policy("an admin's always", func(_ *permission.Policy, files tools) {
		files["write"] = permission.ToolSettings{Ask: permission.AlwaysAsk}
	})
	policy("an admin's tool", func(_ *permission.Policy, files tools) {
		files["write"] = permission.ToolSettings{Approval: new(permission.RequireAuth)}
	})
	policy("several people", func(p *permission.Policy, _ tools) { p.Rights.MinApprovals = new(permission.People(2)) })
	policy("its giver may not decide any more", func(p *permission.Policy, _ tools) {
		p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ben}}
	})

	// What is hidden, and what runs with nobody there.
	w.Model.When("hide", Calls(Call("write", `{"password":"hunter2-hunter2"}`)))
	unasked("something masked", false, func(in *chat.Said) { in.Text = "hide" })
	ran := w.Tools.Count("write")
	in := w.SaidBy(Ben, "go")
	in.Chat, in.Channel, in.Unattended = place("alone"), ops, true
	w.Deliver(w.Replicas[0], in)
	w.Until("the unattended turn is over", func() bool {
		m := w.Platform.Messages(in.Chat)
		return len(m) == 1 && (m[0].Now().State == render.Done || m[0].Now().State == render.Failed)
	})
	equal(t, "unattended runs", w.Tools.Count("write"), ran)

	// It is another tool once it changed.
	w.Tools.Put(Tool{Server: "files", Name: "write", Version: 2})
	unasked("a changed tool", false, as)
}

// A click that allows for the channel counts only where its card may have offered it, by the policy of the moment too.
func TestAllowInAChannelIsRefused(t *testing.T) {
	w := New(t, Options{Replicas: 1})
	vouched(w)
	w.Model.When("go", Calls(Call("write", `{}`)))
	on := func(yes bool) { w.SetPolicy(func(p *permission.Policy, _ tools) { p.ChannelGrants = yes }) }
	on(true)
	w.Say(w.Replicas[0], Ana, "go") // in no channel
	w.Asks("write")
	refused(w, api(w, Ana, chat.AllowChannel, string(callOf(w, "write").Ask)), decision.RefusedNotOffered)
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	b := w.Await(chat.AllowChannel, "write")
	on(false)
	refused(w, w.Click(Ana, b), decision.RefusedNotOffered)
	refused(w, w.Click(Ben, b), decision.RefusedNotYours)
	equal(t, "kept", len(settingsOf(w).Remembered), 0)
	on(true)
	equal(t, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "")
	w.Over(1)
	equal(t, "kept at last", len(settingsOf(w).Remembered), 1)
}

// Who allowed it for the channel is told on the card that it stands. That is so even where the replica that took the click died before it could
// keep that, once; what was ended since does not come back.
func TestKilledBetweenTheClickAndTheChannelsAllowance(t *testing.T) {
	for _, choice := range []chat.Choice{chat.AllowChannel, chat.AllowOnce} {
		t.Run(string(choice), func(t *testing.T) { killedBeforeKeeping(t, choice) })
	}
}

func killedBeforeKeeping(t *testing.T, choice chat.Choice) {
	var armed atomic.Bool
	w := New(t, Options{Replicas: 2, Lease: brief, Faults: func(_ int, what string) Fault {
		if strings.HasPrefix(what, "append "+turn.Changed{}.Kind()) && armed.Load() {
			return KillBefore
		}
		return None
	}})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.ChannelGrants = true })
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Asks("write", "send")
	if choice == chat.AllowOnce { // for herself, with the box
		w.Press(w.Replicas[0], Ana, chat.Remember, "write")
	}
	in := w.Click(Ana, w.Await(choice, "write"))
	armed.Store(true)
	_ = w.Replicas[0].Engine.Accept(context.Background(), in) // whether it can still say that it took the click is chance
	equal(t, "kept when it died", len(keptBy(w)), 0)
	w.Until("the other replica asks about what is left", func() bool { return w.Asked() == "send" })
	equal(t, "runs before all is answered", w.Tools.Count("write"), 0)
	w.Press(w.Replicas[1], Ana, chat.Deny, "send")
	w.Over(0)
	equal(t, "runs", w.Tools.Count("write"), 1)
	kept := keptBy(w)
	if len(kept) != 1 || kept[0].By != Ana || (kept[0].Channel == ops) != (choice == chat.AllowChannel) {
		t.Fatalf("kept by the other replica: %+v", kept)
	}
	env := w.Envelope(Room, Ana)
	if _, err := w.Replicas[1].Engine.Change(context.Background(), env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{permission.Forget(kept[0].ID)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.Deliver(w.Replicas[1], in) // the platform's second attempt
	equal(t, "kept after it was ended", len(keptBy(w)), 0)
}

// keptBy is what is remembered as the last replica has it.
func keptBy(w *World) []permission.Remembered {
	w.Helper()
	s, err := w.Replicas[len(w.Replicas)-1].Engine.Settings(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return s.Remembered
}

// An answer takes along only what it left standing itself: not what somebody else allowed meanwhile, and a denial nothing.
func TestAnAnswerTakesAlongOnlyItsOwn(t *testing.T) {
	w := New(t, Options{Replicas: 1})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.ChannelGrants, p.Approvers.Rule = true, permission.ApproversAnyone
	})
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Model.When("send", Calls(Call("send", `{}`)))
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Asks("write", "send")
	in := w.SaidBy(Ben, "send")
	in.Chat, in.Channel = Other, ops
	w.Deliver(w.Replicas[0], in)
	var b Button
	w.Until("it asks in the other chat", func() (asks bool) { b, asks = w.Button(Other, chat.AllowChannel, "send"); return asks })
	w.Deliver(w.Replicas[0], w.Click(Ben, b))
	w.Until("it ran there", func() bool { return w.Tools.Count("send") == 1 })
	for _, c := range []chat.Choice{chat.Deny, chat.AllowOnce, chat.AllowChat, chat.AllowChannel} {
		w.Press(w.Replicas[0], Ana, c, "write")
		w.Asks("send")
		w.Press(w.Replicas[0], Ana, chat.Undo, "write")
		w.Asks("write", "send")
	}
}
