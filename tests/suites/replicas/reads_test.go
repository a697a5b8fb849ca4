package replicas

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// What spares people questions for nothing: reads that an admin accepted, and what a chat offers after it asked often enough.

var (
	readsOnly = permission.Hints{ReadOnly: new(true)}
	readsOut  = permission.Hints{ReadOnly: new(true), OpenWorld: new(true)}
	writes    = permission.Hints{ReadOnly: new(false)}
	destroys  = permission.Hints{Destructive: new(true)}
)

// mail is a server with a tool of each group; use says "use <tool>" to its replicas in turn.
type mail struct {
	*World
	turns int
}

func newMail(w *World) *mail {
	for name, h := range map[string]permission.Hints{"list": readsOnly, "find": readsOnly, "look": readsOut, "post": writes, "burn": destroys, "mark": {}} {
		w.Tools.Put(Tool{Server: "mail", Name: name, Hints: h})
		c := Call(name, `{}`)
		c.Server = "mail"
		w.Model.When("use "+name, Calls(c))
	}
	m := &mail{World: w}
	knows(w, "mail", 6)
	m.turns++
	return m
}

// asks reports whether a call of the tool by that person is asked about; it is denied then.
func (m *mail) asks(u chat.User, tool string) bool {
	m.Helper()
	n, ran := m.turns, m.Tools.Count(tool)
	m.turns++
	m.Say(m.Replicas[n%len(m.Replicas)], u, "use "+tool)
	asked := false
	m.Until(tool+" asks or ran", func() bool {
		asked = len(m.Platform.Messages(Room)) == n+1 && m.Asked() == tool
		return asked || m.Tools.Count(tool) > ran
	})
	if asked {
		m.Press(m.Replicas[n%len(m.Replicas)], u, chat.Deny, tool)
	}
	m.Over(n)
	if m.Tools.Count(tool) != ran+map[bool]int{false: 1}[asked] {
		m.Errorf("%s ran %d times, asked %v", tool, m.Tools.Count(tool)-ran, asked)
	}
	return asked
}

func (m *mail) only(what string, unasked ...string) {
	m.Helper()
	got, want := map[string]bool{}, map[string]bool{}
	for _, x := range unasked {
		want[x] = true
	}
	for _, tool := range []string{"list", "find", "look", "post", "burn", "mark"} {
		got[tool] = !m.asks(Ana, tool)
		equal(m, what+": "+tool+" runs unasked", got[tool], want[tool])
	}
}

// known waits until it is recorded what the server says of a tool now.
func (m *mail) known(change func()) {
	m.Helper()
	head := settingsOf(m.World).Rev
	change()
	m.Say(m.Replicas[0], Ana, "hello")
	m.Over(m.turns)
	m.turns++
	m.Until("the change is known", func() bool { return settingsOf(m.World).Rev > head })
}

// An admin is walked through a new server in one view: its tools by what they do, one click for each group. What only reads runs unasked from
// then on, everywhere, and nothing else does; until it changes, or the admin takes that back.
// R16 R159
func TestAServersReadsAreAccepted(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		m := newMail(w)
		shown := panelText(panel(w, Root, "install:mail"))
		for title, n := range map[string]int{text.GroupReads: 2, text.GroupReach: 1, text.GroupChanges: 1, text.GroupDestroys: 1, text.GroupUnknown: 1} {
			has(t, "the view", shown, text.GroupTitle(title, n))
		}
		if p := panel(w, Ana, "install:mail"); p.View != "home" {
			t.Errorf("Ana sees %s", p.View)
		}
		m.only("before anybody accepted it")

		o, ok := offerOf(panel(w, Root, "install:mail"), text.GroupReadsNote, text.LabelAcceptReads(2))
		if !ok || o.confirm != "" {
			t.Fatalf("offered %v, confirmed with %q", ok, o.confirm)
		}
		if _, err := act(w, Ana, "install:mail", o.token, ""); err == nil {
			t.Error("Ana accepts reads")
		}
		for _, x := range []struct{ note, label string }{
			{text.GroupReachNote, text.LabelAcceptGroup(1)}, {text.GroupAsksNote, text.LabelAcceptGroup(1)}, {text.GroupAsksNote, text.LabelAcceptGroup(1)}, {text.GroupAsksNote, text.LabelAcceptGroup(1)},
		} {
			choose(w, Root, "install:mail", x.note, x.label, "")
		}
		m.only("all but the reads were looked at")
		equal(t, "said", choose(w, Root, "install:mail", text.GroupReadsNote, text.LabelAcceptReads(2), ""), text.NowAcceptedReads(2))
		hasNot(t, "the overview", panelText(panel(w, Root, "home")), "mail: ")
		m.only("accepted", "list", "find")
		has(t, "why", typed(w, Ana, "why mail list"), "An admin accepted that list of mail only reads.")

		// What changed is another tool, and so is one of that name elsewhere; to look at it is not to accept it as a read.
		m.known(func() { w.Tools.Change("list") })
		m.only("list changed", "find")
		typed(w, Root, "accept mail list")
		m.only("the new one was looked at", "find")
		choose(w, Root, "install:mail", text.GroupReadsNote, text.LabelAcceptReads(1), "")
		m.only("and accepted as a read", "list", "find")
		w.Tools.Put(Tool{Server: "mail", Name: "find", Hints: writes}) // the same definition, another word
		m.only("find says that it writes", "list")
		w.Tools.Put(Tool{Server: "mail", Name: "find", Hints: destroys})
		m.only("find says that it destroys", "list")
		w.Tools.Put(Tool{Server: "mail", Name: "find", Hints: readsOnly})

		// A chat that always asks does.
		typed(w, Ana, "mode always")
		m.only("the chat always asks")
		typed(w, Ana, "mode tool")
		for _, r := range w.Replicas {
			r.Stop()
		}
		w.Start()
		w.Replicas = w.Replicas[2:]
		m.only("after all was stopped", "list", "find")

		if _, ok := offerOf(panel(w, Ana, "server:mail"), text.ReadsUnasked(2), text.LabelAskReads); ok {
			t.Error("Ana can take it back")
		}
		choose(w, Root, "server:mail", text.ReadsUnasked(2), text.LabelAskReads, "")
		m.only("taken back")
		hasNot(t, "the overview", panelText(panel(w, Root, "home")), "mail: ")
	})
}

// A server that moved, or another one with tools of the same names, begins anew.
func TestAcceptedReadsAreOneServers(t *testing.T) {
	w := settingsWorld(t)
	m := newMail(w)
	choose(w, Root, "install:mail", text.GroupReadsNote, text.LabelAcceptReads(2), "")
	equal(t, "list asks", m.asks(Ana, "list"), false)
	m.known(func() { w.Tools.Put(Tool{Server: "mail", Name: "list", Hints: readsOnly, Moved: true}) })
	equal(t, "list of the moved server asks", m.asks(Ana, "list"), true)
	m.known(func() { w.Tools.Put(Tool{Server: "letters", Name: "find", Hints: readsOnly}) })
	c := Call("find", `{}`)
	c.Server = "letters"
	w.Model.When("use find", Calls(c))
	equal(t, "find of the other server asks", m.asks(Ana, "find"), true)
}

// The first card about a server that no admin accepted says so in a chat, the next ones do not; a changed tool is another matter.
func TestACardTellsOnceOfANewServer(t *testing.T) {
	w := settingsWorld(t)
	m := newMail(w)
	first := func(tool string) bool {
		equal(t, tool+" asks", m.asks(Ana, tool), true)
		return callOf(w, tool).Card.First
	}
	equal(t, "the first", first("list"), true)
	equal(t, "the second", first("post"), false)
	equal(t, "the first again", first("list"), false)
	choose(w, Root, "install:mail", text.GroupReadsNote, text.LabelAcceptReads(2), "")
	equal(t, "of what nobody accepted yet", first("post"), false)
	w.Tools.Put(Tool{Server: "letters", Name: "read", Hints: readsOnly})
	c := Call("read", `{}`)
	c.Server = "letters"
	w.Model.When("use read", Calls(c))
	equal(t, "of another server", first("read"), true)
}

// The third time that reads of a server are asked about in a chat, its card puts the grant for them in front, where that would cover them.
func TestReadsAreOfferedTogetherAtTheThird(t *testing.T) {
	w := settingsWorld(t)
	m := newMail(w)
	front := func(tool string) bool {
		t.Helper()
		equal(t, tool+" asks", m.asks(Ana, tool), true)
		return callOf(w, tool).Card.Reads
	}
	for i := range 5 { // nobody is believed to say that these read: no grant for reads covers them
		equal(t, fmt.Sprint("what only claims to read, ", i), front("list"), false)
	}
	for _, tool := range []string{"list", "find", "look"} {
		sets(w, "mail", tool, "access", "read")
	}
	for i, tool := range []string{"list", "post", "find", "mark", "look", "post", "find"} {
		equal(t, fmt.Sprint(tool, ", ", i), front(tool), map[int]bool{4: true, 6: true}[i])
	}
	// Taken, it lets reads run, and nothing else.
	n := m.turns
	m.turns++
	w.Say(w.Replicas[0], Ana, "use list")
	w.Press(w.Replicas[0], Ana, chat.AllowReads, "list")
	w.Over(n)
	m.only("allowed", "list", "find", "look")
	typed(w, Ana, "revoke all")
	m.only("revoked")
}

// What people allowed every time is suggested to an admin as a server's reads, and done only by the admin's own click: of those tools, as they
// were when people allowed them.
// R146
func TestReadsAreSuggestedByTheRecord(t *testing.T) {
	w := settingsWorld(t)
	m := newMail(w)
	allow := func(times int, tools ...string) {
		t.Helper()
		for i := range times {
			tool, n := tools[i%len(tools)], m.turns
			m.turns++
			w.Say(w.Replicas[0], Ana, "use "+tool)
			w.Until(tool+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == tool })
			w.Press(w.Replicas[0], Ana, chat.AllowOnce, tool)
			w.Over(n)
		}
	}
	idea := func(u chat.User, n, tools int) bool {
		_, ok := offerOf(panel(w, u, "stats"), text.ReadsAllowed("mail", n), text.LabelAcceptReads(tools))
		return ok
	}
	allow(6, "post", "look") // that they change things or reach out is no read, however often they were allowed
	allow(4, "list")
	equal(t, "after four", idea(Root, 4, 1), false)
	m.known(func() { w.Tools.Change("list") })
	typed(w, Root, "accept mail list")
	allow(1, "list")
	equal(t, "four of them were another tool's", idea(Root, 5, 1) || idea(Root, 1, 1), false)
	allow(4, "list")
	equal(t, "after five of this one", idea(Root, 5, 1), true)
	equal(t, "for Ana", idea(Ana, 5, 1), false)
	equal(t, "find was never asked about, and list still asks", m.asks(Ana, "list"), true) // and is denied
	equal(t, "after a denial", idea(Root, 5, 1), false)
	allow(5, "find")
	equal(t, "with a denial of another read", idea(Root, 10, 2) || idea(Root, 5, 1), false)
	m.known(func() { w.Tools.Change("list") })
	typed(w, Root, "accept mail list")
	allow(5, "list")
	m.only("suggested, and not done")
	equal(t, "by looking", idea(Root, 10, 2), false) // all of them were denied just now
	m.known(func() { w.Tools.Change("list"); w.Tools.Change("find") })
	typed(w, Root, "accept mail")
	allow(5, "list", "find")
	equal(t, "said", choose(w, Root, "stats", text.ReadsAllowed("mail", 5), text.LabelAcceptReads(2), ""), text.NowAcceptedReads(2))
	m.only("followed", "list", "find")
}

// What speaks against an idea of the numbers is in the log, or in how the tool stands now: reads that an admin may accept, reads that somebody
// may allow for the channel, and a tool that is never to ask again.
// R146
func TestWhatSpeaksAgainstAnIdea(t *testing.T) {
	next := chat.ID{Platform: "fake", Workspace: "T1", Key: "next"}
	for name, x := range map[string]struct {
		allowed                int // times; one more in another channel
		then                   func(*mail)
		reads, channel, always bool
	}{
		"nothing":         {allowed: 20, then: func(*mail) {}, reads: true, channel: true, always: true},
		"another denied":  {allowed: 20, then: func(m *mail) { m.click("use find", chat.Deny) }, always: true},
		"denied":          {allowed: 20, then: func(m *mail) { m.click("use list", chat.Deny) }},
		"taken back":      {allowed: 5, then: func(m *mail) { m.click("use both", chat.AllowOnce); m.click("", chat.Undo) }},
		"nobody answered": {allowed: 5, then: func(m *mail) { m.set("timeout", "1s"); m.click("use list", chat.AskAgain) }, channel: true},
		"elsewhere":       {allowed: 4, then: func(*mail) {}, reads: true},
		"not offered":     {allowed: 20, then: func(m *mail) { m.Tools.Remove("list") }},
		"accepted":        {allowed: 5, then: func(m *mail) { typed(m.World, Root, "accept mail reads") }},
		"several must":    {allowed: 5, then: func(m *mail) { m.set("min_approvals", "2") }, reads: true},
		"for no channel":  {allowed: 5, then: func(m *mail) { typed(m.World, Root, "set channel_grants false") }, reads: true},
		"changed": {allowed: 5, then: func(m *mail) {
			m.changes()
			for range 20 {
				m.click("use list", chat.AllowOnce)
			}
		}, channel: true}, // as her click on a card of it would be
		"changed, and looked at": {allowed: 20, then: func(m *mail) { m.changes(); typed(m.World, Root, "accept mail list") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := settingsWorld(t)
			m := newMail(w)
			both := []agent.ReplyCall{Call("list", `{}`), Call("post", `{}`)}
			both[0].Server, both[1].Server = "mail", "mail"
			w.Model.When("use both", Calls(both...))
			for _, words := range []string{"set channel_grants true", "accept mail", "tool mail list access read", "tool mail find access read"} {
				typed(w, Root, words)
			}
			for range x.allowed {
				m.click("use list", chat.AllowOnce)
			}
			w.Tools.In(next)
			in := w.SaidBy(Ana, "use list")
			in.Chat, in.Channel = next, "fake:T1:next"
			m.clicks(in, chat.AllowOnce)
			x.then(m)
			stats := func(u chat.User, row, label string) bool {
				_, ok := offerOf(panel(w, u, "stats"), row, label)
				return ok
			}
			equal(t, "to accept the reads", stats(Root, "", text.LabelAcceptReads(1)), x.reads)
			equal(t, "to allow them in the channel", stats(Ana, "", text.LabelReadsInChannel), x.channel)
			equal(t, "never to ask again", stats(Root, "list of mail", text.SuggestionLabel("allow")), x.always)
			equal(t, "that, to who is no admin", stats(Ana, "list of mail", text.SuggestionLabel("allow")), false)
		})
	}
}

func (m *mail) set(field, value string) {
	m.Helper()
	typed(m.World, Root, "tool mail list "+field+" "+value)
}

// changes gives list another definition, which is on record then.
func (m *mail) changes() {
	m.Helper()
	m.turns = len(m.Platform.Messages(Room))
	m.known(func() { m.Tools.Change("list") })
}

// click answers list or find in the channel, when Ana has said that; "" is what stands there.
func (m *mail) click(words string, choice chat.Choice) {
	m.Helper()
	in := m.SaidBy(Ana, words)
	in.Channel = ops
	m.clicks(in, choice)
}

func (m *mail) clicks(in chat.Said, choice chat.Choice) {
	m.Helper()
	if in.Text != "" {
		m.Deliver(m.Replicas[0], in)
	}
	var b Button
	tool := "list"
	if in.Text == "use find" {
		tool = "find"
	}
	m.Until(tool+" can be answered", func() (can bool) { b, can = m.Button(in.Chat, choice, tool); return can })
	if choice != chat.AskAgain {
		m.Deliver(m.Replicas[0], m.Click(Ana, b))
		m.Until("its answer is drawn", func() bool { now, can := m.Button(in.Chat, choice, tool); return !can || now.Token != b.Token })
	}
}
