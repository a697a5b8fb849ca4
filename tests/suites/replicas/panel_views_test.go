package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// R159, R161: new and changed tools are shown with what is proposed and why, and accepted as they are.
// newsIn is how many tools wait for an admin's word, as the panel counts them and as its tab says.
func newsIn(w *World, u chat.User) string {
	p := panel(w, u, "home")
	for n := range 100 {
		if slices.ContainsFunc(p.Tabs, func(a render.Act) bool { return a.Label == text.ServersTab(n) }) {
			return fmt.Sprint(p.News, " ", n)
		}
	}
	return fmt.Sprint(p.News, " in no tab")
}

// R159
func TestInstallAndAccept(t *testing.T) {
	w := settingsWorld(t)
	if p := panel(w, Ben, "install:files"); p.View != "home" {
		t.Errorf("Ben sees %q", p.View)
	}
	shown := panelText(panel(w, Root, "install:files"))
	has(t, "the proposal", shown, "write · write (nobody said) · moderate · ⚠️ confirmation", "it counts as writing", "A call asks first.", text.NewOnCard)
	has(t, "the overview", panelText(panel(w, Root, "home")), "files: 5 new tools")
	hasNot(t, "Ben's overview", panelText(panel(w, Ben, "home")), "new tools")
	equal(t, "news for an admin", newsIn(w, Root), "5 5")
	equal(t, "news for others", newsIn(w, Ben), "0 0")
	write := permission.Tool{Server: "files", Name: "write"}
	changes := func() {
		w.Tools.Change("write")
		n := len(w.Platform.Messages(Room))
		w.Say(w.Replicas[0], Ana, "hello")
		w.Over(n)
		w.Until("the change is known", func() bool { p, _ := settingsOf(w).Pin(write); return p.Changed() })
	}
	changes()
	has(t, "the overview", panelText(panel(w, Root, "home")), text.NewsOf("files", 4, 1))
	equal(t, "said", choose(w, Root, "install:files", text.GroupAsksNote, text.LabelAcceptGroup(4), ""), "Accepted: 4 tools count as they are now.")
	equal(t, "news of the other group", newsIn(w, Root), "1 1")
	equal(t, "said", choose(w, Root, "install:files", text.GroupReadsNote, text.LabelAcceptReads(1), ""), text.NowAcceptedReads(1))
	hasNot(t, "the overview", panelText(panel(w, Root, "home")), "new tools")
	equal(t, "news afterwards", newsIn(w, Root), "0 0")
	changes()
	has(t, "the tool", panelText(panel(w, Root, "tool:files/write")), text.ToolChanged)
	equal(t, "news of the change", newsIn(w, Root), "1 1")
	has(t, "Ben", typed(w, Ben, "accept files write"), text.OnlyAdmins)
	if _, ok := offerOf(panel(w, Ben, "tool:files/write"), text.ToolChanged, text.LabelAccept); ok {
		t.Error("Ben can accept it")
	}
	choose(w, Root, "tool:files/write", text.ToolChanged, text.LabelAccept, "")
	p, _ := settingsOf(w).Pin(write)
	equal(t, "changed", p.Changed(), false)
	equal(t, "by", p.By, Root)
	has(t, "again", typed(w, Root, "accept files"), text.NothingToChange)
	changes()
	typed(w, Root, "tool files write timeout 3m") // so that it is shown, gone as it is
	w.Tools.Remove("write")
	equal(t, "news of what is gone", newsIn(w, Root), "0 0")
}

// The preview is what applying does, and applying twice does nothing.
// R156
func TestTemplates(t *testing.T) {
	for _, tmpl := range permission.Templates() {
		t.Run(tmpl.Name, func(t *testing.T) {
			w := settingsWorld(t)
			typed(w, Root, "tool files drop risk dangerous")
			typed(w, Root, "server files trusted true")
			preview := panelText(panel(w, Ben, "template:"+tmpl.Name))
			has(t, "the preview", preview, " → ")
			has(t, "Ben", typed(w, Ben, "apply "+tmpl.Name+" yes"), text.OnlyAdmins)
			before := settingsOf(w)
			has(t, "without the second word", typed(w, Root, "apply "+tmpl.Name), "apply "+tmpl.Name+" yes", " → ")
			equal(t, "revision", settingsOf(w).Rev, before.Rev)
			var row string
			for _, o := range offers(panel(w, Root, "template:"+tmpl.Name)) {
				row = o.row
				if o.confirm == "" {
					t.Error("it is not confirmed")
				}
			}
			has(t, "said", choose(w, Root, "template:"+tmpl.Name, row, text.LabelApply, ""), "Applied “"+tmpl.Title+"”")
			has(t, "again", typed(w, Root, "apply "+tmpl.Name+" yes"), text.NothingToChange)
			for _, x := range settingsOf(w).Set {
				if old := slices.IndexFunc(before.Set, func(y permission.Set) bool { return y.Setting == x.Setting }); old < 0 {
					has(t, "the preview", preview, x.Where()+": "+text.FieldLabel(x.Field)+":")
				}
			}
		})
	}
}

// The history and the numbers are those of the log.
// R141 R142 R143 R144 R145 R146 R147 R157
func TestHistoryAndNumbers(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	w.Model.When("send it", Calls(Call("send", `{"token":"hunter2hunter2hunter2"}`)))
	w.Say(w.Replicas[0], Ana, "send it")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(1)
	typed(w, Root, "tool files write always")
	said := typed(w, Ben, "history 50")
	has(t, "the history", said, "decision: denied · send of files", "decision: approved · write of files")
	hasNot(t, "the history", said, "hunter2")
	has(t, "denials", typed(w, Ben, "history denied"), "send of files")
	hasNot(t, "denials", typed(w, Ben, "history denied"), "write of files")
	has(t, "only one", typed(w, Ben, "history 1"), "and ")
	has(t, "Ben", typed(w, Ben, "history settings"), text.OnlyAdminsSee)
	has(t, "Ben, who names no chat", typedIn(w, chat.ID{}, Ben, "history"), "“@nod history”")
	has(t, "Ben, who names no chat", typedIn(w, chat.ID{}, Ben, "stats"), "“@nod history”")
	has(t, "Root, who names no chat", typedIn(w, chat.ID{}, Root, "history"), "send of files", "write of files")
	has(t, "Root, who names no chat", typedIn(w, chat.ID{}, Root, "stats"), "Over every chat")
	has(t, "Root", typed(w, Root, "history settings"), "files/write: ask = always")
	has(t, "everywhere", panelText(panelIn(w, Other, Root, "history:everywhere")), "send of files")
	hasNot(t, "another's elsewhere", panelText(panelIn(w, Other, Ben, "history:everywhere")), "send of files")
	o, ok := offerOf(panel(w, Ben, "history"), "The newest first", "denials")
	if !ok {
		t.Fatal("no filter")
	}
	done, err := act(w, Ben, "history", o.token, "")
	if err != nil || done.View != "history:chat:denied" {
		t.Fatalf("%+v %v", done, err)
	}
	hasNot(t, "filtered", panelText(panel(w, Ben, done.View)), "write of files")
	stats := audit.StatsOf(audit.Records(Room, history(w)))
	has(t, "the numbers", typed(w, Ben, "stats"), text.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries), "send of files: denied 1")
	has(t, "the server", panelText(panel(w, Ben, "server:files")), text.OwnRecord(1, 1, 0, 0))
}

// A suggestion is done by an admin's own act only.
// R146
func TestSuggestionsAreNeverFollowedByThemselves(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("send it", Calls(Call("send", `{}`)))
	for i := range 5 {
		w.Say(w.Replicas[0], Ana, "send it")
		w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == i+1 && w.Asked() == "send" })
		w.Press(w.Replicas[0], Ana, chat.Deny, "send")
		w.Over(i)
	}
	has(t, "what Ben reads", panelText(panel(w, Ben, "stats")), "consider disabling it")
	equal(t, "set", value(w, "files", "send", "enabled"), "")
	choose(w, Root, "stats", "send of files", "Disable it…", "")
	equal(t, "set", value(w, "files", "send", "enabled"), "false")
}

// Why, and who am I.
// R150 R151 R152
func TestWhyAndWhoAmI(t *testing.T) {
	w := settingsWorld(t)
	has(t, "why", typed(w, Ana, "why files write"), "write of files asks first.", "→ ", "timeout: 1m0s (default)")
	typed(w, Root, "tool files write timeout 2m")
	has(t, "why", typed(w, Ana, "why files write"), "timeout: 2m0s (tool setting)")
	has(t, "Ana", typed(w, Ana, "whoami"), "You are not an admin.", "fake:T1:ana")
	has(t, "Root", typed(w, Root, "whoami"), "You are an admin.", "fake:T1:root")
	secret := chat.User{Platform: "web", Key: "k3y-that-nobody-may-see"}
	for _, words := range []string{"whoami", "", "help"} {
		hasNot(t, "the web", typed(w, secret, words), secret.Key)
	}
	hasNot(t, "the web's panel", panelText(panel(w, secret, "home")), secret.Key)
	has(t, "the web", typed(w, secret, "whoami"), text.YourKeyIsSecret)
	vouched := chat.User{Platform: "web", Key: chat.VouchedPrefix + "1@login.example.org"} // no secret, and written where people are listed
	has(t, "somebody of a provider", typed(w, vouched, "whoami"), "web::oidc-1@login.example.org")
	has(t, "nobody", typed(w, Root, "why files"), "Say: why [-in <place>] <server> <tool>")
	_, err := w.Replicas[0].Settings.Act(context.Background(), chat.Envelope{Chat: Room}, "home", "x", "")
	if no, refused := errors.AsType[*decision.Refusal](err); !refused || no.Say != text.WhoAreYou {
		t.Errorf("nobody acts: %v", err)
	}
	p, err := w.Replicas[0].Settings.Panel(context.Background(), chat.Envelope{Chat: Room}, "grants")
	if err != nil || len(p.Sections) != 1 || p.Sections[0].Empty != text.WhoAreYou {
		t.Errorf("nobody sees %+v, %v", p, err)
	}
	if lines, err := w.Replicas[0].Settings.Permissions(context.Background(), chat.Envelope{Chat: Room}, []string{"halt"}); err != nil || len(lines) != 1 || lines[0] != text.WhoAreYou {
		t.Errorf("%q %v", lines, err)
	}
}

// Why a card asks.
// R150 R151
func TestWhyOnACard(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	b := w.Await(chat.ViewDetail, "write")
	d, err := w.Replicas[0].Settings.Why(context.Background(), w.Envelope(Room, Ben), b.Token)
	if err != nil || len(d.Parts) != 2 {
		t.Fatalf("%+v %v", d, err)
	}
	has(t, "then", d.Parts[0].Text, "→ ")
	has(t, "now", d.Parts[1].Text, "write of files asks first.", "→ ", "timeout: 1m0s (default)")
	if _, err := w.Replicas[0].Settings.Why(context.Background(), w.Envelope(Other, Ben), b.Token); err == nil {
		t.Error("an ask of another chat is explained")
	}
	w.Tools.Remove("write")
	d, err = w.Replicas[0].Settings.Why(context.Background(), w.Envelope(Room, Ben), b.Token)
	if err != nil || d.Parts[1].Text != text.ToolNotThere {
		t.Errorf("%+v %v", d, err)
	}
}

// Halt and resume are an admin's.
func TestHaltFromTheSettings(t *testing.T) {
	w := settingsWorld(t)
	has(t, "Ben", typed(w, Ben, "halt"), text.OnlyAdmins)
	if settingsOf(w).Halted != nil {
		t.Fatal("halted")
	}
	o, _ := offerOf(panel(w, Root, "home"), text.NotHalted, text.LabelHalt)
	equal(t, "it is confirmed with", o.confirm, text.ConfirmHalt)
	choose(w, Root, "home", text.NotHalted, text.LabelHalt, "")
	has(t, "everybody's banner", panelText(panel(w, Ben, "home")), text.HaltedBy("Root"))
	has(t, "Ben", typed(w, Ben, "resume"), text.OnlyAdmins)
	if settingsOf(w).Halted == nil {
		t.Fatal("not halted")
	}
	has(t, "Root", typed(w, Root, "resume"), text.NowResumed)
	has(t, "again", typed(w, Root, "resume"), text.NothingToChange)
}

// The export is an admin's, and is the settings.
// R8
func TestExportIsAnAdmins(t *testing.T) {
	w := settingsWorld(t)
	typed(w, Root, "tool files write always")
	has(t, "Ben", typed(w, Ben, "export"), text.OnlyAdminsSee)
	hasNot(t, "Ben", typed(w, Ben, "export"), "files")
	equal(t, "the export", typed(w, Root, "export"), strings.Join(settingsOf(w).Exchange().Lines(), "\n"))
}

// builtIn are tools of which one server's are nod's own.
type builtIn struct{ agent.Tools }

// List calls one server nod's own.
func (s builtIn) List(ctx context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	specs, faults, err := s.Tools.List(ctx)
	for i := range specs {
		if specs[i].Tool.Server == "built" {
			specs[i].Source = permission.SourceWorkbench
		}
	}
	return specs, faults, err
}

// scored is a list of scores with one server on it.
type scored string

func (s scored) Reputation(server string) (settings.Reputation, bool) {
	return settings.Reputation{Score: "2 of 5", Source: "the operator's list"}, server == string(s)
}

// Tools are grouped by category; a score is shown with its source and decides nothing. Long lists say how much is left out.
// R22 R157
func TestServersInTheSettings(t *testing.T) {
	w := New(t, Options{
		Engine:   func(c *agent.Config) { c.Tools = builtIn{c.Tools} },
		Settings: func(c *settings.Config) { c.Reputations = scored("files") },
	})
	for i := range 60 {
		w.Tools.Put(Tool{Server: "many", Name: fmt.Sprintf("tool%02d", i)})
	}
	w.Tools.Down("mail", "It does not answer.")
	w.Tools.Put(Tool{Server: "built", Name: "look"})
	has(t, "what is nod's own", typed(w, Root, "accept built"), text.NothingToChange)
	has(t, "what is nod's own", panelText(panel(w, Root, "server:built")), text.ServerBuiltIn)
	if _, pinned := settingsOf(w).Pin(permission.Tool{Server: "built", Name: "look"}); pinned {
		t.Error("a built-in tool is pinned")
	}
	typed(w, Root, "tool files write category Letters")
	typed(w, Root, "tool files send category Letters")
	var groups []string
	for _, s := range panel(w, Ana, "server:files").Sections {
		for _, r := range s.Rows {
			for _, a := range r.Acts {
				if strings.HasPrefix(a.View, "tool:files/") {
					groups = append(groups, s.Title+" "+strings.TrimPrefix(a.View, "tool:files/"))
				}
			}
		}
	}
	equal(t, "groups", strings.Join(groups, ", "), "Tools drop, Tools read, Tools touch, Letters send, Letters write")
	has(t, "the score", panelText(panel(w, Ana, "server:files")), text.ReputationIs("2 of 5", "the operator's list"))
	hasNot(t, "another's score", panelText(panel(w, Ana, "server:many")), "2 of 5")
	has(t, "why", typed(w, Ana, "why files write"), "asks first.")
	has(t, "the list", panelText(panel(w, Ana, "server:many")), "and 20 more")
	has(t, "what is to be accepted", panelText(panel(w, Root, "install:many")), "and 20 more")
	has(t, "the servers", panelText(panel(w, Ana, "servers")), "mail", "It does not answer.", "many · 60 tools · not trusted", "built · 1 tool · trusted")
	has(t, "by words", typed(w, Ana, "why many nothing"), "and 48 more")
}

// Names are strangers' text: a view of any of them is short ASCII and leads back to it, and nothing hidden stands in a line of ours.
func TestStrangersNamesInTheSettings(t *testing.T) {
	w := settingsWorld(t)
	for _, name := range []string{"a/b", "~a", "ü", "line\nbreak", "hid\u202eden", strings.Repeat("long", 60), "a b", "a:b", "tool"} {
		for _, srv := range []string{"odd", "odd/" + name, name} {
			w.Tools.Put(Tool{Server: srv, Name: name})
		}
	}
	tried := 0
	for _, s := range panel(w, Root, "servers").Sections {
		for _, r := range s.Rows {
			for _, a := range r.Acts {
				if a.Kind != render.ActGo {
					continue
				}
				p := panel(w, Root, a.View)
				if p.View != a.View || len(p.View) > 64 || strings.ContainsFunc(p.View, func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Errorf("%q leads to %q", a.View, p.View)
				}
				for _, line := range strings.Split(panelText(p), "\n") {
					hasNot(t, a.View, line, "\u202e")
				}
				for _, s := range p.Sections {
					for _, r := range s.Rows {
						for _, b := range r.Acts {
							if b.Kind == render.ActGo && panel(w, Root, b.View).View != b.View {
								t.Errorf("%q leads nowhere", b.View)
							}
							tried++
						}
					}
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d acts were looked at", tried)
	}
}

// A redelivered revocation is no error either.
func TestARedeliveredRevocation(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	o, _ := offerOf(panel(w, Ana, "grants"), "write of files", text.LabelRevoke)
	env := w.Envelope(Room, Ana)
	for range 2 {
		if _, err := w.Replicas[0].Settings.Act(context.Background(), env, "grants", o.token, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := act(w, Ana, "grants", o.token, ""); err == nil {
		t.Error("another click on a grant that ended was taken")
	}
}

// A word for a whole server means the tools that were shown with it.
func TestAWordForAServerIsForItsTools(t *testing.T) {
	w := settingsWorld(t)
	o, ok := offerOf(panel(w, Root, "server:files"), "Asking", "Never ask (dangerous)")
	if !ok {
		t.Fatal("not offered")
	}
	equal(t, "it is confirmed with", o.confirm, text.ConfirmSetting("ask", "never", "files", true))
	w.Tools.Put(Tool{Server: "files", Name: "wipe"})
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	w.Until("it is known", func() bool { return len(settingsOf(w).Pins) == 6 })
	if _, err := act(w, Root, "server:files", o.token, ""); err == nil {
		t.Error("a word for other tools was taken")
	}
}

// A text is no longer than the form says, and is text.
func TestFormsTakeOnlyText(t *testing.T) {
	w := settingsWorld(t)
	o, _ := offerOf(panel(w, Root, "tool:files/write"), "Impact", "Change: Impact")
	equal(t, "at most", o.act.Max, settings.MaxFill)
	for _, entered := range []string{strings.Repeat("ü", settings.MaxFill+1), "\xff"} {
		_, err := act(w, Root, "tool:files/write", o.token, entered)
		if no, refused := errors.AsType[*decision.Refusal](err); !refused || no.Say != text.TooLongFill(settings.MaxFill) {
			t.Errorf("%.10q: %v", entered, err)
		}
	}
	if _, err := act(w, Root, "tool:files/write", o.token, strings.Repeat("ü", settings.MaxFill)); err != nil {
		t.Error(err)
	}
}

// What a grant is limited to stands beside it, and one that has ended is not there.
func TestLimitedGrantsInTheSettings(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.AllowUses, "write")
	w.Over(0)
	has(t, "the grants", panelText(panel(w, Ana, "grants")), "write of files · allowed by Ana", "2 calls left")
	for n := range 2 {
		w.Say(w.Replicas[0], Ana, "write it")
		w.Over(n + 1)
	}
	has(t, "used up", panelText(panel(w, Ana, "grants")), text.PanelNoGrants)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.AllowHour, "write")
	w.Over(3)
	has(t, "for an hour", panelText(panel(w, Ana, "grants")), "any number of calls · until ")
	for epoch, survives := range map[uint64]bool{0: false, 7: true} { // the same run, or one that a grant outlives
		w.SetPolicy(func(p *permission.Policy, _ tools) { p.SurviveRestart, p.Epoch = survives, epoch })
		has(t, "after no end", panelText(panel(w, Ana, "grants")), "any number of calls · until ")
	}
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.SurviveRestart, p.Epoch = false, 7 })
	has(t, "ended with a restart", panelText(panel(w, Ana, "grants")), text.PanelNoGrants)
}

// What a server asks of the requester waits for the requester alone.
func TestOnlyTheRequesterIsToldOfAWant(t *testing.T) {
	w := settingsWorld(t)
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
		_, err := in.Ask(turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which?", Fields: []turn.FormField{{Name: "which", Type: "string", Required: true}}})
		return turn.Result{Text: "touched"}, err
	}})
	w.Model.When("touch it", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "touch it")
	b := w.Await(chat.Decline, "touch")
	for u, sees := range map[chat.User]bool{Ana: true, Ben: false, Root: false} {
		equal(t, u.Key+" is told", strings.Contains(typed(w, u, "pending"), text.WaitsForInput("files")), sees)
	}
	d, err := w.Replicas[0].Settings.Why(context.Background(), w.Envelope(Room, Ana), b.Token)
	if err != nil || len(d.Parts) != 2 {
		t.Errorf("%+v %v", d, err)
	}
	w.Deliver(w.Replicas[0], w.Click(Ana, b))
	w.Over(0)
}
