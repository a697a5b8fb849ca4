package replicas

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/state"
	. "github.com/nodhq/nod/tests/harness"
)

// The settings as people manage them: every view, act and command through the engine's public methods.

// index is a replica's log with what the store finds over all chats.
type index struct {
	agent.Log
	mu    sync.Mutex
	store *state.Store
}

func (x *index) of() *state.Store {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.store
}

func (x *index) Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	return x.of().Asking(ctx, match)
}

func (x *index) Granting(ctx context.Context) ([]chat.ID, error) { return x.of().Granting(ctx) }

func (x *index) EachChat(ctx context.Context, take func(chat.ID) error) error {
	return x.of().EachChat(ctx, take)
}

// settingsWorld is a world whose engine finds what is in other chats. Its tools are known before it is given back.
func settingsWorld(t *testing.T) *World {
	t.Helper()
	x := &index{}
	w := New(t, Options{Engine: func(c *agent.Config) { x.Log = c.Log; c.Log = x }})
	s, err := state.Open(context.Background(), state.Options{URL: w.URL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	x.mu.Lock()
	x.store = s
	x.mu.Unlock()
	w.Until("the tools are known", func() bool { return len(settings(w).Pins) == 5 })
	return w
}

func engine(w *World) *agent.Engine { return w.Replicas[0].Engine }

func settings(w *World) permission.Settings {
	s, err := engine(w).Settings(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func panel(w *World, u chat.User, view string) render.Panel {
	w.Helper()
	return panelIn(w, Room, u, view)
}

func panelIn(w *World, id chat.ID, u chat.User, view string) render.Panel {
	w.Helper()
	p, err := engine(w).Panel(context.Background(), w.Envelope(id, u), view)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// words is all that a panel says.
func panelText(p render.Panel) string {
	var b strings.Builder
	line := func(l render.Line) { b.WriteString(render.PlainLine(l) + "\n") }
	b.WriteString(p.Title + "\n")
	for _, l := range p.Banner {
		line(l)
	}
	for _, s := range p.Sections {
		b.WriteString(s.Title + "\n" + s.Note + "\n")
		if len(s.Rows) == 0 {
			b.WriteString(s.Empty + "\n")
		}
		for _, r := range s.Rows {
			line(r.Line)
			for _, d := range r.Details {
				line(d)
			}
		}
	}
	return b.String()
}

// offered is one thing that a panel lets somebody choose.
type offered struct {
	label, token, confirm, row string
	act                        render.Act
}

// offers are all tokens of a panel.
func offers(p render.Panel) []offered {
	var out []offered
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			row := render.PlainLine(r.Line)
			for _, a := range r.Acts {
				switch a.Kind {
				case render.ActDo, render.ActFill:
					out = append(out, offered{a.Label, a.Token, a.Confirm, row, a})
				case render.ActPick:
					for _, o := range a.Options {
						out = append(out, offered{o.Label, o.Token, a.Confirm, row, a})
					}
				default: // leads elsewhere
				}
			}
		}
	}
	return out
}

// offerOf finds what a panel offers: by its label, in the row that begins so.
func offerOf(p render.Panel, row, label string) (offered, bool) {
	for _, o := range offers(p) {
		if o.label == label && strings.HasPrefix(o.row, row) {
			return o, true
		}
	}
	return offered{}, false
}

func act(w *World, u chat.User, view, token, text string) (agent.Done, error) {
	return engine(w).Act(context.Background(), w.Envelope(Room, u), view, token, text)
}

// choose does what a panel offers somebody, and returns what they hear.
func choose(w *World, u chat.User, view, row, label, text string) string {
	w.Helper()
	o, ok := offerOf(panel(w, u, view), row, label)
	if !ok {
		w.Fatalf("%s offers no %q at %q:\n%s", view, label, row, panelText(panel(w, u, view)))
	}
	done, err := act(w, u, view, o.token, text)
	if err != nil {
		w.Fatalf("%s %s: %v", view, label, err)
	}
	return done.Say
}

// typed does one command.
func typed(w *World, u chat.User, words string) string {
	w.Helper()
	return typedIn(w, Room, u, words)
}

func typedIn(w *World, id chat.ID, u chat.User, words string) string {
	w.Helper()
	lines, err := engine(w).Permissions(context.Background(), w.Envelope(id, u), strings.Fields(words))
	if err != nil {
		w.Fatalf("%s: %v", words, err)
	}
	return strings.Join(lines, "\n")
}

// value is what was set from a chat.
func value(w *World, server, tool, field string) string {
	for _, x := range settings(w).Set {
		if x.Server == server && x.Tool == tool && x.Field == field {
			return x.Value
		}
	}
	return ""
}

var views = []string{"home", "grants", "servers", "server:files", "tool:files/write", "tool:files/read", "install:files", "mine", "templates",
	"template:careful", "template:read-only", "template:team", "template:solo", "history", "history:settings", "history:everywhere:denied", "stats"}

// Every view draws for everybody, says which it is, and fits the bounds of the contract.
func TestEveryViewDraws(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	for _, u := range []chat.User{Ana, Ben, Root} {
		for _, v := range append(views, "", "nothing of the kind", "server:nobody", "tool:files/nothing", "template:") {
			p := panel(w, u, v)
			if p.View == "" || len(p.View) > 200 || p.Title == "" || len(p.Sections) == 0 {
				t.Errorf("%q for %s: view %q, title %q, %d sections", v, u.Key, p.View, p.Title, len(p.Sections))
			}
			if len(p.Tabs) != 7 {
				t.Errorf("%q: %d tabs", v, len(p.Tabs))
			}
			seen := map[string]bool{}
			for _, o := range offers(p) {
				if len(o.token) != 26 || seen[o.token] {
					t.Errorf("%q: token %q of %q is not 26 characters of its own", v, o.token, o.label)
				}
				seen[o.token] = true
			}
			for _, bare := range []string{": always", ": never", "= always", "= never"} {
				hasNot(t, v, panelText(p), bare)
			}
			if again := panel(w, u, p.View); again.View != p.View {
				t.Errorf("%q leads to %q, which leads to %q", v, p.View, again.View)
			}
		}
	}
}

// What is not offered to somebody they cannot do: every token that an admin is offered is refused to everybody else who is not offered the same.
func TestActsAreOnlyForWhomTheyAreOffered(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	before := settings(w)
	tried := 0
	for _, v := range views {
		for _, o := range offers(panel(w, Root, v)) {
			if slices.ContainsFunc(offers(panel(w, Ben, v)), func(x offered) bool { return x.token == o.token }) {
				continue
			}
			tried++
			_, err := act(w, Ben, v, o.token, "5m")
			if no := (*agent.Refusal)(nil); !errors.As(err, &no) || no.Code != agent.RefusedUnknown {
				t.Errorf("%s %q %q was not refused: %v", v, o.row, o.label, err)
			}
		}
	}
	own := []string{"Ask me before every call", "Allow without asking me", "Deny"}
	for _, v := range views {
		switch v {
		case "home", "grants", "mine", "history", "install:files":
			continue // what is theirs to change, each with a test of its own
		}
		for _, o := range offers(panel(w, Ben, v)) {
			if !slices.Contains(own, o.label) && !strings.HasPrefix(o.act.Label, render.LabelFilter) {
				t.Errorf("%s offers Ben %q at %q", v, o.label, o.row)
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d acts of an admin were tried", tried)
	}
	if after := settings(w); after.Rev != before.Rev {
		t.Errorf("the settings moved from %d to %d", before.Rev, after.Rev)
	}
	s, err := engine(w).Session(context.Background(), Room)
	if err != nil || len(s.Grants) != 1 || s.Mode != permission.ModeTool {
		t.Errorf("the chat changed: %d grants, mode %v, %v", len(s.Grants), s.Mode, err)
	}
}

// An act is for what was shown: once that is another, its token is none.
func TestAnActIsForWhatWasShown(t *testing.T) {
	w := settingsWorld(t)
	o, _ := offerOf(panel(w, Root, "tool:files/write"), "Asking", "Always ask")
	typed(w, Root, "tool files write always")
	typed(w, Root, "tool files write default")
	typed(w, Root, "tool files write never")
	if _, err := act(w, Root, "tool:files/write", o.token, ""); err == nil {
		t.Error("an act on a value that changed since was taken")
	}
	equal(t, "ask", value(w, "files", "write", "ask"), "never")
	all, ok := offerOf(panel(w, Root, "install:files"), render.AcceptMeans, render.LabelAcceptAll(5))
	if !ok {
		t.Fatal("nothing to accept")
	}
	w.Tools.Change("write")
	if _, err := act(w, Root, "install:files", all.token, ""); err == nil {
		t.Error("tools were accepted that were not shown")
	}
	for _, p := range settings(w).Pins {
		if p.Accepted {
			t.Errorf("%s is accepted", p.Tool.Name)
		}
	}
}

// A redelivered act is done once, and is no error.
func TestARedeliveredActIsDoneOnce(t *testing.T) {
	w := settingsWorld(t)
	o, _ := offerOf(panel(w, Root, "tool:files/write"), "Asking", "Always ask")
	env := w.Envelope(Room, Root)
	for range 2 {
		if _, err := engine(w).Act(context.Background(), env, "tool:files/write", o.token, ""); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "ask", value(w, "files", "write", "ask"), "always")
	s := settings(w)
	n := 0
	for _, x := range s.Set {
		if x.Tool == "write" {
			n++
		}
	}
	equal(t, "settings of write", n, 1)
}

// R66: what is pending for me, over all chats, with the way to its message; nobody else is told of it.
func TestWhatWaitsForWhom(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	b := w.Await(chat.AllowOnce, "write")
	for _, x := range []struct {
		u   chat.User
		id  chat.ID
		see bool
	}{{Ana, Room, true}, {Ana, Other, true}, {Root, Other, true}, {Ben, Room, false}, {Ben, Other, false}} {
		p := panelIn(w, x.id, x.u, "home")
		equal(t, x.u.Key+" sees it", strings.Contains(panelText(p), "Run write from files"), x.see)
		equal(t, x.u.Key+" is told in "+x.id.Key, strings.Contains(typedIn(w, x.id, x.u, "pending"), "Run write from files"), x.see)
		linked := false
		for _, r := range p.Sections[0].Rows {
			for _, a := range r.Acts {
				linked = linked || a.Kind == render.ActLink && a.Link == render.ChatLink{Chat: Room.String(), Message: string(b.Message)}
			}
		}
		equal(t, x.u.Key+" has the link", linked, x.see)
	}
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	has(t, "the panel", panelText(panel(w, Ana, "home")), render.PanelPendingNone)
}

// R2, C1, C3: the mode, by whom and with what confirmation.
func TestModeFromTheSettings(t *testing.T) {
	w := settingsWorld(t)
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	mode := func() permission.Mode {
		s, err := engine(w).Session(context.Background(), Room)
		if err != nil {
			t.Fatal(err)
		}
		return s.Mode
	}
	equal(t, "Ben hears", choose(w, Ben, "home", "This chat", "Always ask", ""), "This chat now: Always ask.")
	equal(t, "mode", mode(), permission.ModeAlways)
	has(t, "the banner", panelText(panel(w, Ben, "home")), render.AlwaysAsks)
	if _, ok := offerOf(panel(w, Ben, "home"), "This chat", "Never ask (dangerous)"); ok {
		t.Error("somebody else than who began the chat can turn asking off")
	}
	has(t, "Ben's command", typed(w, Ben, "mode never yes"), render.OnlyOwnerOrAdmin())
	o, _ := offerOf(panel(w, Ana, "home"), "This chat", "Never ask (dangerous)")
	equal(t, "it is confirmed with", o.confirm, render.ConfirmNeverMode)
	equal(t, "Ben's command", typed(w, Ben, "mode never"), render.OnlyOwnerOrAdmin())
	has(t, "without the second word", typed(w, Ana, "mode never"), render.ConfirmNeverMode, "mode never yes")
	equal(t, "mode", mode(), permission.ModeAlways)
	has(t, "Ana's command", typed(w, Ana, "permissions mode never yes"), "Never ask (dangerous)")
	equal(t, "mode", mode(), permission.ModeNever)
	choose(w, Ben, "home", "This chat", "Use each tool's setting", "")
	equal(t, "mode", mode(), permission.ModeTool)
	has(t, "usage", typed(w, Ana, "mode sometimes"), render.ModeUsage())
}

// R3, R4, R19, R148: settings of servers and tools, from the panel and by words, count at the next call; others read them only.
func TestSettingsFromAChat(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("read it", Calls(Call("read", `{}`)))
	n := 0
	asks := func(what string, want bool) {
		t.Helper()
		w.Say(w.Replicas[0], Ana, "read it")
		n++
		if want {
			w.Until(what+": it asks", func() bool { return len(w.Platform.Messages(Room)) == n && w.Asked() == "read" })
			w.Press(w.Replicas[0], Ana, chat.Deny, "read")
		}
		w.Over(n - 1)
	}
	asks("as configured", false)
	equal(t, "said", choose(w, Root, "tool:files/read", "Asking", "Always ask", ""), "files/read: Asking is now: Always ask.")
	asks("always", true)
	p := panelText(panel(w, Ben, "tool:files/read"))
	has(t, "what Ben reads", p, "Asking: Always ask", "set by Root", render.OnlyAdmins)
	choose(w, Root, "tool:files/read", "Asking", "Never ask (dangerous)", "") // as the operator configured it
	equal(t, "set", value(w, "files", "read", "ask"), "")
	has(t, "where it is from", panelText(panel(w, Root, "tool:files/read")), "Asking: Never ask (dangerous)", render.FromFile)
	asks("the default", false)
	has(t, "typed", typed(w, Root, "tool files read default"), "files/read: Asking is now: Use the default.")
	asks("the server's", true) // the configuration's never is overridden: R4
	has(t, "typed", typed(w, Root, "server files never"), "files: Asking is now: Never ask (dangerous).")
	asks("the server never asks", false)
	has(t, "typed", typed(w, Root, "server files ask always"), "Always ask")
	asks("the server always asks", true)
	for _, words := range []string{"server files never", "tool files read never", "tool files read approval AutoApprove", "set mode never", "tools disable files read", "tools enable files"} {
		has(t, "Ben: "+words, typed(w, Ben, words), render.OnlyAdmins)
	}
	equal(t, "the server's", value(w, "files", "", "ask"), "always")
	if w.Tools.Count("read") != 3 {
		t.Errorf("%d runs of read", w.Tools.Count("read"))
	}
	for words, want := range map[string]string{
		"tool files read risk nothing":        "risk: \"nothing\" is not one of",
		"server files timeout soon":           "timeout",
		"tool files read colour red":          "What can be set for files/read:",
		"server nobody always":                "There is no server “nobody”. There is: files.",
		"tool files nothing always":           "It has: drop, read, send, touch, write.",
		"tool files":                          "Say: tool <server> <tool>",
		"set":                                 "What can be set for everything:",
		"tool files read min_approvals 0":     "a number from 1 to 20",
		"tool files read message {{.nothing}": "Nothing was changed",
		"frobnicate":                          "There is no “frobnicate”.",
	} {
		rev := settings(w).Rev
		has(t, words, typed(w, Root, words), want)
		equal(t, "revision after "+words, settings(w).Rev, rev)
	}
	choose(w, Root, "tool:files/write", "Question", "Change: Question", " Write to {{.args.path}}? ")
	equal(t, "message", value(w, "files", "write", "message"), "Write to {{.args.path}}?")
	choose(w, Root, "tool:files/write", "Question", "Change: Question", "")
	equal(t, "message", value(w, "files", "write", "message"), "")
	typed(w, Root, "set timeout 90s")
	equal(t, "timeout", value(w, "", "", "timeout"), "1m30s")
}

// R11: disabled from a chat.
func TestToolsAreDisabledFromAChat(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("read it", Calls(Call("read", `{}`)))
	has(t, "disabled", typed(w, Root, "tools disable files read"), "files/read: Enabled is now: Disabled.")
	w.Say(w.Replicas[0], Ana, "read it")
	w.Over(0)
	equal(t, "runs", w.Tools.Count("read"), 0)
	has(t, "why", typed(w, Ana, "why files read"), "does not run", "disabled")
	has(t, "enabled", typed(w, Root, "tools enable files read"), "files/read: Enabled is now: Enabled.")
	w.Say(w.Replicas[0], Ana, "read it")
	w.Over(1)
	equal(t, "runs", w.Tools.Count("read"), 1)
}

// R112: trusting a server is one act with a confirmation, and its undo is one act that gives back what was.
func TestTrustIsOneActAndItsUndo(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	typed(w, Root, "server files always")
	row := render.ServerUntrusted
	o, ok := offerOf(panel(w, Root, "server:files"), row, render.LabelTrust)
	if !ok {
		t.Fatal(panelText(panel(w, Root, "server:files")))
	}
	equal(t, "it is confirmed with", o.confirm, render.ConfirmTrust("files", 5))
	rev := settings(w).Rev
	choose(w, Root, "server:files", row, render.LabelTrust, "")
	equal(t, "trusted", value(w, "files", "", "trusted"), "true")
	equal(t, "ask", value(w, "files", "", "ask"), "never")
	for _, p := range settings(w).Pins {
		if !p.Accepted {
			t.Errorf("%s is not accepted", p.Tool.Name)
		}
	}
	if settings(w).Rev == rev {
		t.Error("nothing moved")
	}
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(0)
	equal(t, "runs unasked", w.Tools.Count("write"), 1)
	if _, ok := offerOf(panel(w, Root, "server:files"), render.ServerTrusted, render.LabelTrust); ok {
		t.Error("it can be trusted twice")
	}
	choose(w, Root, "server:files", render.ServerTrusted, render.LabelUndoTrust, "")
	equal(t, "trusted", value(w, "files", "", "trusted"), "")
	equal(t, "ask, as it was", value(w, "files", "", "ask"), "always")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(1)
	choose(w, Root, "server:files", row, render.LabelTrust, "")
	typed(w, Root, "server files always") // what somebody chose since is not undone
	if _, ok := offerOf(panel(w, Root, "server:files"), render.ServerTrusted, render.LabelUndoTrust); ok {
		t.Error("the undo would take back what somebody chose since")
	}
}

// R101, R108, R148: grants are listed with who, when and scope, and are revoked by whom they belong to and by admins.
func TestGrantsInTheSettings(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	for _, u := range []chat.User{Ana, Ben, Root} {
		text := panelText(panel(w, u, "grants"))
		has(t, u.Key, text, "write of files · allowed by Ana", "in this chat · any number of calls")
		_, may := offerOf(panel(w, u, "grants"), "write of files", render.LabelRevoke)
		equal(t, u.Key+" may revoke it", may, u != Ben)
	}
	has(t, "show", typed(w, Ben, ""), "1. write of files · allowed by Ana")
	has(t, "Ben", typed(w, Ben, "revoke 1"), "Only Ana or an admin")
	has(t, "Ben", typed(w, Ben, "revoke all"), render.NothingToRevoke(1))
	has(t, "out of range", typed(w, Ana, "revoke 2"), "no number “2”")
	for u, sees := range map[chat.User]bool{Ana: true, Root: true, Ben: false} {
		p := panelIn(w, Other, u, "grants")
		equal(t, u.Key+" sees it from elsewhere", strings.Contains(panelText(p), "in another chat on fake"), sees)
	}
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	w.Say(w.Replicas[0], Ben, "hello")
	w.Over(1)
	has(t, "now it covers what Ben asks", panelText(panelIn(w, Other, Ben, "grants")), "in another chat on fake")
	o, ok := offerOf(panelIn(w, Other, Ana, "grants"), "write of files", render.LabelRevoke)
	if !ok {
		t.Fatal("not to be revoked from elsewhere")
	}
	if _, err := engine(w).Act(context.Background(), w.Envelope(Other, Ana), "grants", o.token, ""); err != nil {
		t.Fatal(err)
	}
	has(t, "the grants", panelText(panel(w, Ana, "grants")), render.PanelNoGrants)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("it asks", func() bool { return w.Asked() == "write" })
}

// Several grants end with one act.
func TestRevokeAll(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("all of it", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "all of it")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "send")
	w.Over(0)
	o, ok := offerOf(panel(w, Ana, "grants"), render.GrantsHere(2), render.LabelRevokeAll)
	if !ok {
		t.Fatal(panelText(panel(w, Ana, "grants")))
	}
	equal(t, "it is confirmed with", o.confirm, render.ConfirmRevokeAll(2))
	choose(w, Ana, "grants", render.GrantsHere(2), render.LabelRevokeAll, "")
	has(t, "the grants", typed(w, Ana, "revoke"), render.PanelNoGrants)
}

// R43–R45, R109, R113: one's own choices, kept and forgotten by oneself alone, and never in an admin's place.
func TestMyChoices(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	has(t, "kept", typed(w, Ana, "remembered files write deny"), "Remembered: deny write of files.")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(0)
	equal(t, "runs", w.Tools.Count("write"), 0)
	o, _ := offerOf(panel(w, Ana, "tool:files/write"), "deny write", "Allow without asking me")
	equal(t, "it is confirmed with", o.confirm, render.ConfirmRemember("write", "files"))
	choose(w, Ana, "tool:files/write", "deny write", "Allow without asking me", "")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(1)
	equal(t, "runs", w.Tools.Count("write"), 1)
	has(t, "what Ana reads", panelText(panel(w, Ana, "mine")), "allow write of files without asking")
	has(t, "what Ben reads", panelText(panel(w, Ben, "mine")), render.PanelMineNone)
	mine, ok := offerOf(panel(w, Ana, "mine"), "allow write", render.LabelForget)
	if !ok {
		t.Fatal("not to be forgotten")
	}
	for _, u := range []chat.User{Ben, Root} {
		if _, err := act(w, u, "mine", mine.token, ""); err == nil {
			t.Errorf("%s forgot what is Ana's", u.Key)
		}
		has(t, u.Key, typed(w, u, "forget all"), render.PanelMineNone)
	}
	w.Say(w.Replicas[0], Ben, "write it") // R45: it is not Ben's
	w.Until("Ben is asked", func() bool { return w.Asked() == "write" })
	w.Press(w.Replicas[0], Ben, chat.Deny, "write")
	w.Over(2)
	has(t, "forgotten", typed(w, Ana, "forget 1"), "Forgotten: 1 choice.")
	equal(t, "kept", len(settings(w).Remembered), 0)

	for words, why := range map[string]string{
		"tool files send approval RequireAuth":        render.AdminEachCall,
		"tool files send chat_grant false":            render.StandingWithheld,
		"tool files send min_approvals 2":             render.SeveralMust,
		"tool files send requester_may_approve false": "Whoever asked may not decide this",
		"tool files send approvers fake:T1:ben":       "or an admin can decide this.",
		"tools disable files send":                    render.ToolIsDisabled,
	} {
		typed(w, Root, words)
		has(t, words, typed(w, Ana, "remembered files send allow"), why)
		if _, ok := offerOf(panel(w, Ana, "tool:files/send"), render.OwnNone, "Allow without asking me"); ok {
			t.Errorf("%s: the panel offers it", words)
		}
		equal(t, "kept after "+words, len(settings(w).Remembered), 0)
		for _, x := range settings(w).Set {
			x.Value = ""
			if _, err := engine(w).ChangeAsAdmin(context.Background(), w.Envelope(Room, Root), "", permission.Change{Set: &x.Setting}); err != nil {
				t.Fatal(err)
			}
		}
	}
	has(t, "usage", typed(w, Ana, "remembered files send maybe"), "Say: remembered")
}

// R159, R161: new and changed tools are shown with what is proposed and why, and accepted as they are.
func TestInstallAndAccept(t *testing.T) {
	w := settingsWorld(t)
	if p := panel(w, Ben, "install:files"); p.View != "home" {
		t.Errorf("Ben sees %q", p.View)
	}
	text := panelText(panel(w, Root, "install:files"))
	has(t, "the proposal", text, "write · write (nobody said) · moderate · ⚠️ confirmation", "it counts as writing", "A call asks first.", render.NewOnCard)
	has(t, "the overview", panelText(panel(w, Root, "home")), "files: 5 new tools")
	hasNot(t, "Ben's overview", panelText(panel(w, Ben, "home")), "new tools")
	equal(t, "said", choose(w, Root, "install:files", render.AcceptMeans, render.LabelAcceptAll(5), ""), "Accepted: 5 tools count as they are now.")
	hasNot(t, "the overview", panelText(panel(w, Root, "home")), "new tools")
	w.Tools.Change("write")
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	w.Until("the change is known", func() bool {
		p, _ := settings(w).Pin(permission.Tool{Server: "files", Name: "write"})
		return p.Changed()
	})
	has(t, "the tool", panelText(panel(w, Root, "tool:files/write")), render.ToolChanged)
	has(t, "Ben", typed(w, Ben, "accept files write"), render.OnlyAdmins)
	if _, ok := offerOf(panel(w, Ben, "tool:files/write"), render.ToolChanged, render.LabelAccept); ok {
		t.Error("Ben can accept it")
	}
	choose(w, Root, "tool:files/write", render.ToolChanged, render.LabelAccept, "")
	p, _ := settings(w).Pin(permission.Tool{Server: "files", Name: "write"})
	equal(t, "changed", p.Changed(), false)
	equal(t, "by", p.By, Root)
	has(t, "again", typed(w, Root, "accept files"), render.NothingToChange)
}

// R156: the preview is what applying does, and applying twice does nothing.
func TestTemplates(t *testing.T) {
	for _, tmpl := range permission.Templates() {
		t.Run(tmpl.Name, func(t *testing.T) {
			w := settingsWorld(t)
			typed(w, Root, "tool files drop risk dangerous")
			typed(w, Root, "server files trusted true")
			preview := panelText(panel(w, Ben, "template:"+tmpl.Name))
			has(t, "the preview", preview, " → ")
			has(t, "Ben", typed(w, Ben, "apply "+tmpl.Name+" yes"), render.OnlyAdmins)
			before := settings(w)
			has(t, "without the second word", typed(w, Root, "apply "+tmpl.Name), "apply "+tmpl.Name+" yes", " → ")
			equal(t, "revision", settings(w).Rev, before.Rev)
			var row string
			for _, o := range offers(panel(w, Root, "template:"+tmpl.Name)) {
				row = o.row
				if o.confirm == "" {
					t.Error("it is not confirmed")
				}
			}
			has(t, "said", choose(w, Root, "template:"+tmpl.Name, row, render.LabelApply, ""), "Applied “"+tmpl.Title+"”")
			has(t, "again", typed(w, Root, "apply "+tmpl.Name+" yes"), render.NothingToChange)
			for _, x := range settings(w).Set {
				if old := slices.IndexFunc(before.Set, func(y permission.Set) bool { return y.Setting == x.Setting }); old < 0 {
					has(t, "the preview", preview, x.Where()+": "+render.FieldLabel(x.Field)+":")
				}
			}
		})
	}
}

// R141–R147: the history and the numbers are those of the log.
func TestHistoryAndNumbers(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	w.Model.When("send it", Calls(Call("send", `{"token":"hunter2hunter2hunter2"}`)))
	w.Say(w.Replicas[0], Ana, "send it")
	w.Press(w.Replicas[0], Ana, chat.Deny, "send")
	w.Over(1)
	typed(w, Root, "tool files write always")
	text := typed(w, Ben, "history 50")
	has(t, "the history", text, "decision: denied · send of files", "decision: approved · write of files")
	hasNot(t, "the history", text, "hunter2")
	has(t, "denials", typed(w, Ben, "history denied"), "send of files")
	hasNot(t, "denials", typed(w, Ben, "history denied"), "write of files")
	has(t, "only one", typed(w, Ben, "history 1"), "and ")
	has(t, "Ben", typed(w, Ben, "history settings"), render.OnlyAdmins)
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
	stats := turn.StatsOf(turn.Audit(Room, history(w)))
	has(t, "the numbers", typed(w, Ben, "stats"), render.StatsDecisions(stats.Asked, stats.Approvals, stats.Denials, stats.Expiries), "send of files: denied 1")
	has(t, "the server", panelText(panel(w, Ben, "server:files")), render.OwnRecord(1, 1, 0, 0))
}

// R146: a suggestion is done by an admin's own act only.
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

// R150–R152: why, and who am I.
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
	has(t, "the web", typed(w, secret, "whoami"), render.YourKeyIsSecret)
	has(t, "nobody", typed(w, Root, "why files"), "Say: why <server> <tool>")
	if _, err := engine(w).Act(context.Background(), chat.Envelope{Chat: Room}, "home", "x", ""); err == nil {
		t.Error("nobody acts")
	}
	if lines, err := engine(w).Permissions(context.Background(), chat.Envelope{Chat: Room}, []string{"halt"}); err != nil || len(lines) != 1 || lines[0] != render.WhoAreYou() {
		t.Errorf("%q %v", lines, err)
	}
}

// Why am I asked?, on a card.
func TestWhyOnACard(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	b := w.Await(chat.Why, "write")
	d, err := engine(w).Why(context.Background(), w.Envelope(Room, Ben), b.Token)
	if err != nil || len(d.Parts) != 2 {
		t.Fatalf("%+v %v", d, err)
	}
	has(t, "then", d.Parts[0].Text, "→ ")
	has(t, "now", d.Parts[1].Text, "write of files asks first.", "→ ", "timeout: 1m0s (default)")
	if _, err := engine(w).Why(context.Background(), w.Envelope(Other, Ben), b.Token); err == nil {
		t.Error("an ask of another chat is explained")
	}
	w.Tools.Remove("write")
	d, err = engine(w).Why(context.Background(), w.Envelope(Room, Ben), b.Token)
	if err != nil || d.Parts[1].Text != render.ToolNotThere {
		t.Errorf("%+v %v", d, err)
	}
}

// Halt and resume are an admin's.
func TestHaltFromTheSettings(t *testing.T) {
	w := settingsWorld(t)
	has(t, "Ben", typed(w, Ben, "halt"), render.OnlyAdmins)
	if settings(w).Halted != nil {
		t.Fatal("halted")
	}
	o, _ := offerOf(panel(w, Root, "home"), render.NotHalted, render.LabelHalt)
	equal(t, "it is confirmed with", o.confirm, render.ConfirmHalt)
	choose(w, Root, "home", render.NotHalted, render.LabelHalt, "")
	has(t, "everybody's banner", panelText(panel(w, Ben, "home")), render.HaltedBy("Root"))
	has(t, "Ben", typed(w, Ben, "resume"), render.OnlyAdmins)
	if settings(w).Halted == nil {
		t.Fatal("not halted")
	}
	has(t, "Root", typed(w, Root, "resume"), render.NowResumed)
	has(t, "again", typed(w, Root, "resume"), render.NothingToChange)
}

// R8: the export is an admin's, and is the settings.
func TestExportIsAnAdmins(t *testing.T) {
	w := settingsWorld(t)
	typed(w, Root, "tool files write always")
	has(t, "Ben", typed(w, Ben, "export"), render.OnlyAdmins)
	hasNot(t, "Ben", typed(w, Ben, "export"), "files")
	equal(t, "the export", typed(w, Root, "export"), strings.Join(settings(w).Exchange().Lines(), "\n"))
}

// scored are tools with a list of scores.
type scored struct {
	agent.Tools
	about string
}

func (s scored) Reputation(server string) (agent.Reputation, bool) {
	return agent.Reputation{Score: "2 of 5", Source: "the operator's list"}, server == s.about
}

// R22, R157: tools are grouped by category; a score is shown with its source and decides nothing. Long lists say how much is left out.
func TestServersInTheSettings(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) { c.Tools = scored{c.Tools, "files"} }})
	for i := range 60 {
		w.Tools.Put(Tool{Server: "many", Name: fmt.Sprintf("tool%02d", i)})
	}
	w.Tools.Down("mail", "It does not answer.")
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
	has(t, "the score", panelText(panel(w, Ana, "server:files")), render.ReputationIs("2 of 5", "the operator's list"))
	hasNot(t, "another's score", panelText(panel(w, Ana, "server:many")), "2 of 5")
	has(t, "why", typed(w, Ana, "why files write"), "asks first.")
	has(t, "the list", panelText(panel(w, Ana, "server:many")), "and 20 more")
	has(t, "the servers", panelText(panel(w, Ana, "servers")), "mail", "It does not answer.", "many · 60 tools")
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
	o, _ := offerOf(panel(w, Ana, "grants"), "write of files", render.LabelRevoke)
	env := w.Envelope(Room, Ana)
	for range 2 {
		if _, err := engine(w).Act(context.Background(), env, "grants", o.token, ""); err != nil {
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
	equal(t, "it is confirmed with", o.confirm, render.ConfirmSetting("ask", "never", "files", true))
	w.Tools.Put(Tool{Server: "files", Name: "wipe"})
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	w.Until("it is known", func() bool { return len(settings(w).Pins) == 6 })
	if _, err := act(w, Root, "server:files", o.token, ""); err == nil {
		t.Error("a word for other tools was taken")
	}
}

// A text is no longer than the form says, and is text.
func TestFormsTakeOnlyText(t *testing.T) {
	w := settingsWorld(t)
	o, _ := offerOf(panel(w, Root, "tool:files/write"), "Impact", "Change: Impact")
	equal(t, "at most", o.act.Max, agent.MaxFill)
	for _, text := range []string{strings.Repeat("ü", agent.MaxFill+1), "\xff"} {
		if _, err := act(w, Root, "tool:files/write", o.token, text); err == nil {
			t.Errorf("%.10q was taken", text)
		}
	}
	if _, err := act(w, Root, "tool:files/write", o.token, strings.Repeat("ü", agent.MaxFill)); err != nil {
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
	has(t, "used up", panelText(panel(w, Ana, "grants")), render.PanelNoGrants)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.AllowHour, "write")
	w.Over(3)
	has(t, "for an hour", panelText(panel(w, Ana, "grants")), "any number of calls · until ")
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.SurviveRestart, p.Epoch = false, 7 })
	has(t, "ended with a restart", panelText(panel(w, Ana, "grants")), render.PanelNoGrants)
}


// What a server asks of the requester waits for the requester alone.
func TestOnlyTheRequesterIsToldOfAWant(t *testing.T) {
	w := settingsWorld(t)
	w.Tools.Put(Tool{Server: "files", Name: "touch", Run: func(in Invocation) (turn.Result, error) {
		_, err := in.Ask(turn.Want{Kind: turn.WantForm, Message: "Which?", Fields: []turn.FormField{{Name: "which", Type: "string", Required: true}}})
		return turn.Result{Text: "touched"}, err
	}})
	w.Model.When("touch it", Calls(Call("touch", `{}`)))
	w.Say(w.Replicas[0], Ana, "touch it")
	b := w.Await(chat.Decline, "touch")
	for u, sees := range map[chat.User]bool{Ana: true, Ben: false, Root: false} {
		equal(t, u.Key+" is told", strings.Contains(typed(w, u, "pending"), render.WaitsForInput("files")), sees)
	}
	d, err := engine(w).Why(context.Background(), w.Envelope(Room, Ana), b.Token)
	if err != nil || len(d.Parts) != 2 {
		t.Errorf("%+v %v", d, err)
	}
	w.Deliver(w.Replicas[0], w.Click(Ana, b))
	w.Over(0)
}
