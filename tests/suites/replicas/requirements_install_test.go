package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// New servers, as docs/requirements.md asks for them: what is proposed for their tools, who is told, and what a model may say of them.

// cardsOf are the installation cards of a server that somebody was told, oldest first.
func cardsOf(w *World, u chat.User, server string) []Telling {
	var out []Telling
	for _, t := range w.Platform.Tellings(u) {
		if strings.Contains(render.PlainText(t.View), text.InstallHeader(server)) {
			out = append(out, t)
		}
	}
	return out
}

// knows waits until everybody knows of this many tools of a server, after somebody said something.
func knows(w *World, server string, tools int) {
	w.Helper()
	n := len(w.Platform.Messages(Room))
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(n)
	w.Until("the tools of "+server+" are known", func() bool { return len(pinsOf(w, server)) == tools })
}

func pinsOf(w *World, server string) (out []permission.Pinned) {
	for _, p := range settingsOf(w).Pins {
		if p.Tool.Server == server {
			out = append(out, p)
		}
	}
	return out
}

// told reports whether it is on record that the admins were told of a server's tools as they are.
func told(w *World, server string) bool {
	var now []permission.Tool
	for _, p := range pinsOf(w, server) {
		now = append(now, p.Tool)
	}
	return slices.ContainsFunc(settingsOf(w).Told, func(x permission.Told) bool {
		return x.Server == server && x.Tools == permission.ServerDigest(now) && x.Sent
	})
}

// Admins are told once of a server's tools, by whichever replica sees them, and again when they change; nobody else is. Accept and
// Edit stand on the card. Only an admin's Accept counts, and only for the tools that stood on that card.
// R161
func TestAdminsAreToldOfANewServer(t *testing.T) {
	both(t, Options{Replicas: 3, Teller: true}, func(w *World) {
		w.Until("Root was told of the first server", func() bool { return len(cardsOf(w, Root, "files")) == 1 })
		again := chat.User{Platform: Root.Platform, Workspace: "elsewhere", Key: Root.Key}                    // Root, who is listed twice
		crew := chat.User{Platform: Root.Platform, Workspace: Root.Workspace, Key: chat.GroupPrefix + "crew"} // who nobody can write to
		w.SetPolicy(func(p *permission.Policy, _ tools) {
			p.Admins = append(p.Admins, again, crew)
			p.Servers["mail"] = permission.ServerSettings{Tools: tools{"ghost": {}}} // which it does not have
		})
		cards := func(n int) []Telling {
			w.Helper()
			w.Until(fmt.Sprintf("Root has %d cards", n), func() bool { return len(cardsOf(w, Root, "mail")) >= n })
			return cardsOf(w, Root, "mail")
		}
		w.Tools.Put(Tool{Server: "mail", Name: "post"})
		knows(w, "mail", 1)
		first := cards(1)[0]
		hasNot(w, "a list of tools", render.PlainText(first.View), render.MarkWord(render.StepPending), "ghost")
		has(w, "the card", render.PlainText(first.View), "**Nobody says what they do**: post")
		var labels string
		for _, c := range first.View.Choices {
			labels += c.Label + " "
			if c.Choice == chat.Open {
				equal(w, "Edit opens", panel(w, Root, c.Token).View, settings.InstallView("mail"))
			}
		}
		has(w, "the buttons", labels, text.LabelAcceptTools, text.LabelEditTools)

		// Every replica sees the same tools again, and so does one that starts only now.
		w.Start()
		for i := range w.Replicas {
			n := len(w.Platform.Messages(Room))
			w.Say(w.Replicas[i], Ana, "hello")
			w.Over(n)
		}

		// Another set of tools is another card. The first one accepts nothing any more.
		w.Tools.Put(Tool{Server: "mail", Name: "burn"})
		knows(w, "mail", 2)
		second := cards(2)[1]
		has(w, "the second card", render.PlainText(second.View), "**Nobody says what they do**: burn, post")
		refused(w, w.PressTold(Root, first, chat.Accept), decision.RefusedUnknown)
		refused(w, w.PressTold(Ana, second, chat.Accept), decision.RefusedNotYours, "admin")
		for _, p := range pinsOf(w, "mail") {
			equal(w, p.Tool.Name+" is accepted", p.Accepted, false)
		}
		w.Deliver(w.Replicas[1], w.PressTold(Root, second, chat.Accept))
		for _, p := range pinsOf(w, "mail") {
			equal(w, p.Tool.Name+" is accepted", p.Accepted, true)
			equal(w, p.Tool.Name+" is accepted by", p.By, Root)
		}
		equal(w, "what stands on the card", render.PlainText(cardsOf(w, Root, "mail")[1].Now), text.InstallDone("mail", "Root"))
		equal(w, "its buttons", len(cardsOf(w, Root, "mail")[1].Now.Choices), 0)

		// A changed definition is told as such, though the tool was accepted before.
		w.Tools.Change("burn")
		knows(w, "mail", 2)
		third := cards(3)[2]
		has(w, "the third card", render.PlainText(third.View), "burn (changed: description)")
		hasNot(w, "the third card, of what was accepted", render.PlainText(third.View), "post")

		for _, r := range w.Replicas {
			r.Stop() // and whatever any of them had to say is said
		}
		equal(w, "cards", len(cardsOf(w, Root, "mail")), 3)
		equal(w, "cards of the first server", len(cardsOf(w, Root, "files")), 1)
		equal(w, "lines about what nobody could record", w.Lines("could not be recorded"), 0)
		for _, u := range []chat.User{Ana, Ben, again, crew} {
			equal(w, u.Key+" was told", len(w.Platform.Tellings(u)), 0)
		}
	})
}

// Who could not be written to just then is written to later; who does not take messages is not tried for ever.
// R161
func TestAnAdminWhoCannotBeTold(t *testing.T) {
	for name, c := range map[string]struct {
		trouble Trouble
		cards   int
	}{"for a while": {Transient(false), 1}, "never": {Forbidden(), 0}} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Teller: true})
			w.Until("Root was told of the first server", func() bool { return len(cardsOf(w, Root, "files")) == 1 })
			var tried atomic.Int32
			var over atomic.Bool
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Chat != DM(Root) || over.Load() {
					return Trouble{}
				}
				tried.Add(1)
				return c.trouble
			})
			w.Tools.Put(Tool{Server: "mail", Name: "post"})
			knows(w, "mail", 1)
			w.Until("it was tried", func() bool { return w.Logged("about a server's tools") })
			over.Store(c.cards > 0) // long before the last try: they are seconds apart
			w.Until("somebody gave up, or Root was told", func() bool {
				return w.Logged("the settings show them\" admin=fake:T1:root server=mail") || len(cardsOf(w, Root, "mail")) > 0
			})
			equal(t, "cards", len(cardsOf(w, Root, "mail")), c.cards)
			w.Until("that is on record", func() bool { return told(w, "mail") })
			if c.cards == 0 {
				equal(t, "tries", tried.Load(), 1)
			}
		})
	}
}

// Every tool of a new server has access, risk and level with where each comes from, and whatever it says of itself it asks until
// somebody looked: a stranger's word lowers nothing.
// R159
func TestNewToolsAreAssessedCarefully(t *testing.T) {
	w := settingsWorld(t)
	yes := true
	w.Tools.Put(Tool{Server: "mail", Name: "list", Hints: permission.Hints{ReadOnly: &yes}})
	w.Tools.Put(Tool{Server: "mail", Name: "burn", Hints: permission.Hints{Destructive: &yes}})
	w.Tools.Put(Tool{Server: "mail", Name: "web_search"}) // by its name nod's own would not ask
	w.Tools.Put(Tool{Server: "mail", Name: "system_shutdown"})
	knows(w, "mail", 4)
	var rows []string
	for _, s := range panel(w, Root, settings.InstallView("mail")).Sections {
		for _, r := range s.Rows {
			row := render.PlainLine(r.Line)
			for _, d := range r.Details {
				row += "\n" + render.PlainLine(d)
			}
			rows = append(rows, row)
		}
	}
	for tool, want := range map[string][]string{
		"list":            {"write", "Nobody who is believed", "⚠️ confirmation", "A call asks first.", text.NewOnCard},
		"burn":            {"dangerous", "⚠️ confirmation", "A call asks first."},
		"web_search":      {"⚠️ confirmation", "A call asks first."},
		"system_shutdown": {"dangerous", "🔐 admin", "level by named table", "A call asks an admin first."},
	} {
		found := false
		for _, row := range rows {
			if strings.HasPrefix(row, tool+" · ") {
				found = true
				has(t, tool, row, want...)
			}
		}
		if !found {
			t.Errorf("%s is not there:\n%s", tool, strings.Join(rows, "\n"))
		}
	}
	for _, tool := range []string{"list", "web_search"} { // and so it is
		c := Call(tool, `{}`)
		c.Server = "mail"
		w.Model.When("use "+tool, Calls(c))
		n := len(w.Platform.Messages(Room))
		w.Say(w.Replicas[0], Ana, "use "+tool)
		w.Until(tool+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == tool })
		w.Press(w.Replicas[0], Ana, chat.Deny, tool)
		w.Over(n)
		equal(t, "runs", len(w.Tools.Effects()), 0)
	}
}

// What a model says in the one strict form adds caution at the next call; anything else changes nothing, nothing it says lowers
// anything, and an admin's own word stands over it.
// R160
func TestAnalysisThroughTheEngine(t *testing.T) {
	var model agent.Model
	w := New(t, Options{
		Engine:   func(c *agent.Config) { model = c.Model },
		Settings: func(c *settings.Config) { c.Analyst = model },
		Teller:   true,
	})
	yes := true
	for tool, says := range map[string]string{
		"wipe":  `{"access":"write","risk":"dangerous","admin":true,"reason":"It deletes every letter."}`,
		"prose": `Sure: {"access":"write","risk":"dangerous","admin":true,"reason":"x"}`,
		"more":  `{"access":"write","risk":"dangerous","admin":true,"reason":"x","allow":true}`,
		"lower": `{"access":"read","risk":"safe","admin":false,"reason":"Never ask."}`,
		"quiet": `{"access":"write","risk":"moderate","admin":false,"reason":""}`,
	} {
		w.Model.When(`"tool":"`+tool+`"`, Says(says))
	}
	w.Until("the first tools were looked at", func() bool { return len(w.Model.Heard()) == 5 })
	for _, tool := range []string{"wipe", "prose", "more", "lower", "quiet"} {
		w.Tools.Put(Tool{Server: "post", Name: tool, Hints: permission.Hints{ReadOnly: &yes}})
		c := Call(tool, `{}`)
		c.Server = "post"
		w.Model.When("use "+tool, Calls(c))
	}
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		dangerous := permission.Dangerous
		p.Servers["post"] = permission.ServerSettings{Tools: map[string]permission.ToolSettings{"lower": {Risk: &dangerous}}}
	})
	knows(w, "post", 5)
	w.Until("what can be read is recorded", func() bool { return len(settingsOf(w).Analyses) == 3 })
	w.Until("Root was told", func() bool { return len(cardsOf(w, Root, "post")) > 0 })
	has(t, "the card", render.PlainText(cardsOf(w, Root, "post")[0].View), "It deletes every letter.")
	equal(t, "reasons on the card", strings.Count(render.PlainText(cardsOf(w, Root, "post")[0].View), text.AnalysisSays("")), 2)

	facts := func(tool string) string { return typed(w, Ana, "why post "+tool) }
	has(t, "wipe", facts("wipe"), "dangerous", "a model's analysis")
	for _, tool := range []string{"prose", "more", "lower"} {
		hasNot(t, tool, facts(tool), "a model's analysis")
	}
	has(t, "lower", facts("lower"), "dangerous")

	press := func(tool string, who chat.User, words ...string) {
		w.Helper()
		n := len(w.Platform.Messages(Room))
		w.Say(w.Replicas[0], Ana, "use "+tool)
		w.Until(tool+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == tool })
		has(t, "whispered", w.Press(w.Replicas[0], who, chat.AllowOnce, tool), words...)
		if len(words) > 0 {
			w.Press(w.Replicas[0], Root, chat.Deny, tool)
		}
		w.Over(n)
	}
	press("wipe", Ana, "admin") // who asked may not decide it any more
	press("prose", Ana)
	equal(t, "runs", w.Tools.Ran(), "prose")

	for field, value := range map[string]string{"approval": "RequireConfirmation", "risk": "moderate", "access": "write"} {
		typed(w, Root, "tool post wipe "+field+" "+value)
	}
	hasNot(t, "wipe, after an admin's word", facts("wipe"), "dangerous", "a model's analysis")
	press("wipe", Ana)
	equal(t, "runs", w.Tools.Ran(), "prose wipe")
}

// slow is a model that answers some of what it is asked when it may.
type slow struct {
	agent.Model
	asked atomic.Int32
	waits map[int32]chan struct{}
}

func (m *slow) Reply(ctx context.Context, words []turn.Utterance, tools []agent.ToolSpec, on func(agent.Delta)) (agent.Reply, error) {
	if until := m.waits[m.asked.Add(1)]; until != nil {
		<-until
	}
	return m.Model.Reply(ctx, words, tools, on)
}

// Nobody is told of a server before a model was asked about each of its tools, many as they are, and some of them newer than its last look; of
// one that is done with before the next is looked at; and of one not at all whose tools were accepted meanwhile.
// R160 R161
func TestAnalysisComesBeforeTheCard(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	analyst := &slow{waits: map[int32]chan struct{}{1: first, 11: second}} // of the first server, and when five more were looked at
	w := New(t, Options{
		Engine:   func(c *agent.Config) { analyst.Model = c.Model },
		Settings: func(c *settings.Config) { c.Analyst = analyst },
		Teller:   true,
	})
	w.Until("a model looks at the first tools", func() bool { return analyst.asked.Load() == 1 })
	const tools = 12
	for i := range tools {
		tool := fmt.Sprintf("t%02d", i)
		w.Model.When(`"tool":"`+tool+`"`, Says(`{"access":"write","risk":"dangerous","admin":true,"reason":"It deletes `+tool+`."}`))
		w.Tools.Put(Tool{Server: "post", Name: tool})
	}
	w.Tools.Put(Tool{Server: "mail", Name: "list"})
	w.Tools.Put(Tool{Server: "also", Name: "list"})
	knows(w, "post", tools)
	has(t, "accepted", typed(w, Root, "accept mail"), text.NowAccepted(1))
	close(first)
	w.Until("Root was told of what was looked at", func() bool { return len(cardsOf(w, Root, "files")) > 0 && len(cardsOf(w, Root, "also")) > 0 })
	equal(t, "tools that a model was asked about by then", analyst.asked.Load() <= 11, true)
	close(second)
	w.Until("Root was told", func() bool { return len(cardsOf(w, Root, "post")) > 0 })
	for i := range tools {
		equal(t, "what the card says", strings.Count(render.PlainText(cardsOf(w, Root, "post")[0].View), fmt.Sprintf("It deletes t%02d.", i)), 1)
	}
	w.Replicas[0].Stop() // and whatever it had to say is said
	equal(t, "tools that a model was asked about", analyst.asked.Load(), 5+1+tools)
	equal(t, "cards", len(cardsOf(w, Root, "post")), 1)
	equal(t, "cards of what was accepted", len(cardsOf(w, Root, "mail")), 0)

	// What was said of a tool is on record. A message names so many tools, and counts the others.
	const many = 45
	for i := range many {
		w.Tools.Put(Tool{Server: "zoo", Name: fmt.Sprintf("z%02d", i)})
	}
	w.Replicas[0] = w.Start()
	w.Until("Root was told of many", func() bool { return len(cardsOf(w, Root, "zoo")) > 0 })
	card := render.PlainText(cardsOf(w, Root, "zoo")[0].View)
	has(t, "the card of many", card, "z39", text.AndMore(many-40))
	hasNot(t, "the card of many", card, "z40")
	said := 0 // of files and also nothing of use was said: that is asked anew
	for _, a := range settingsOf(w).Analyses {
		said += map[bool]int{true: 1}[a.Tool.Server == "post"]
	}
	equal(t, "on record", said, tools)
	equal(t, "tools that a model was asked about anew", analyst.asked.Load()-(5+1+tools), 5+1+many)
}

// An admin reads the last week in numbers, in the statistics and by a command; what is older is not in it, and nobody else reads it.
// R147
func TestDigestIsTheLastWeeksAndAnAdmins(t *testing.T) {
	w, clock := clockedAt(t, time.Now(), Options{})
	dangerous := permission.Dangerous
	w.SetPolicy(func(_ *permission.Policy, files tools) {
		files["drop"] = permission.ToolSettings{Ask: permission.NeverAsk, Risk: &dangerous}
		files["touch"] = permission.ToolSettings{Risk: &dangerous}
	})
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Model.When("touch it", Calls(Call("touch", `{}`)))
	w.Model.When("drop it", Calls(Call("drop", `{}`)))
	turn := 0
	write := func(choice chat.Choice) {
		w.Helper()
		w.Say(w.Replicas[0], Ana, "write it")
		w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == turn+1 && w.Asked() == "write" })
		w.Press(w.Replicas[0], Ana, choice, "write")
		w.Over(turn)
		turn++
	}
	for range 3 {
		write(chat.Deny)
	}
	has(t, "the first week", typed(w, Root, "digest"), text.DigestTitle(7), text.StatsDecisions(3, 0, 3, 0), text.DigestDangerous(0, 0), "write of files: denied 3")

	clock(8 * 24 * time.Hour)
	typed(w, Root, "tool files send ask always")
	w.Say(w.Replicas[0], Ana, "drop it")
	w.Over(turn)
	turn++
	write(chat.Deny)
	write(chat.AllowChat)
	w.Say(w.Replicas[0], Ana, "write it") // by that, and harmless
	w.Over(turn)
	w.Say(w.Replicas[0], Ana, "touch it") // dangerous, and asked
	w.Press(w.Replicas[0], Ana, chat.AllowOnce, "touch")
	w.Over(turn + 1)
	turn += 2
	typed(w, Ana, "mode never yes")
	digest := typed(w, Root, "digest")
	has(t, "the second week", digest, text.StatsDecisions(3, 2, 1, 0), text.DigestDangerous(2, 1), text.DigestLooser(1, 1, 1), "write of files: denied 1")
	has(t, "the statistics", typed(w, Root, "stats"), digest, text.StatsDecisions(6, 2, 4, 0))
	equal(t, "the first section", panel(w, Root, "stats").Sections[0].Title, text.DigestTitle(7))

	has(t, "Ana", typed(w, Ana, "digest"), text.OnlyAdminsSee)
	hasNot(t, "Ana's digest", typed(w, Ana, "digest"), "Asked")
	hasNot(t, "Ana's numbers", typed(w, Ana, "stats")+panelText(panel(w, Ana, "stats")), text.DigestTitle(7))
	has(t, "the help", typed(w, Ana, "help"), "digest", text.HelpDigest)

	clock(30 * 24 * time.Hour)
	if _, err := w.Replicas[0].Engine.ChangeAsAdmin(context.Background(), w.Envelope(Room, Root), "", permission.Setting{Server: "files", Tool: "send", Field: "ask", Value: "never"}); err != nil {
		t.Fatal(err)
	}
	has(t, "a quiet week", typed(w, Root, "digest"), text.StatsDecisions(0, 0, 0, 0), text.DigestLooser(0, 0, 1))
	clock(60 * 24 * time.Hour)
	hello := w.SaidBy(Ana, "hello")
	hello.Chat = Other // nothing ends there
	w.Deliver(w.Replicas[0], hello)
	has(t, "one in which nothing happened", typed(w, Root, "digest"), text.DigestEmpty(7))
}
