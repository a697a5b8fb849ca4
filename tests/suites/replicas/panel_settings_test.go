package replicas

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// The mode, by whom and with what confirmation.
// R2 R149 C1 C3
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
	has(t, "the banner", panelText(panel(w, Ben, "home")), text.AlwaysAsks)
	if _, ok := offerOf(panel(w, Ben, "home"), "This chat", "Never ask (dangerous)"); ok {
		t.Error("somebody else than who began the chat can turn asking off")
	}
	has(t, "Ben's command", typed(w, Ben, "mode never yes"), text.OnlyOwnerOrAdmin)
	o, _ := offerOf(panel(w, Ana, "home"), "This chat", "Never ask (dangerous)")
	equal(t, "it is confirmed with", o.confirm, text.ConfirmNeverMode)
	equal(t, "Ben's command", typed(w, Ben, "mode never"), text.OnlyOwnerOrAdmin)
	has(t, "without the second word", typed(w, Ana, "mode never"), text.ConfirmNeverMode, "mode never yes")
	equal(t, "mode", mode(), permission.ModeAlways)
	has(t, "Ana's command", typed(w, Ana, "permissions mode never yes"), "Never ask (dangerous)")
	equal(t, "mode", mode(), permission.ModeNever)
	choose(w, Ben, "home", "This chat", "Use each tool's setting", "")
	equal(t, "mode", mode(), permission.ModeTool)
	has(t, "usage", typed(w, Ana, "mode sometimes"), text.ModeUsage)
}

// Settings of servers and tools, from the panel and by words, count at the next call; others read them only.
// R3 R4 R19 R148 R149
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
	has(t, "what Ben reads", p, "Asking: Always ask", "set by Root", text.OnlyAdmins)
	choose(w, Root, "tool:files/read", "Asking", "Never ask (dangerous)", "") // as the operator configured it
	equal(t, "set", value(w, "files", "read", "ask"), "")
	has(t, "where it is from", panelText(panel(w, Root, "tool:files/read")), "Asking: Never ask (dangerous)", text.FromFile)
	asks("the default", false)
	has(t, "typed", typed(w, Root, "tool files read default"), "files/read: Asking is now: Use the default.")
	asks("the server's", true) // the configuration's never is overridden: R4
	has(t, "typed", typed(w, Root, "server files never"), "files: Asking is now: Never ask (dangerous).")
	asks("the server never asks", false)
	has(t, "typed", typed(w, Root, "server files ask always"), "Always ask")
	asks("the server always asks", true)
	for _, words := range []string{"server files never", "tool files read never", "tool files read approval AutoApprove", "set mode never", "tools disable files read", "tools enable files"} {
		has(t, "Ben: "+words, typed(w, Ben, words), text.OnlyAdmins)
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
		rev := settingsOf(w).Rev
		has(t, words, typed(w, Root, words), want)
		equal(t, "revision after "+words, settingsOf(w).Rev, rev)
	}
	choose(w, Root, "tool:files/write", "Question", "Change: Question", " Write to {{.args.path}}? ")
	equal(t, "message", value(w, "files", "write", "message"), "Write to {{.args.path}}?")
	choose(w, Root, "tool:files/write", "Question", "Change: Question", "")
	equal(t, "message", value(w, "files", "write", "message"), "")
	typed(w, Root, "set timeout 90s")
	equal(t, "timeout", value(w, "", "", "timeout"), "1m30s")
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Timeout = 90 * time.Second }) // which is no reason to keep it
	choose(w, Root, "servers", "Timeout", text.LabelUseDefault, "")
	equal(t, "timeout", value(w, "", "", "timeout"), "")
}

// Disabled from a chat.
// R11
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

// Trusting a server is one act with a confirmation, and its undo is one act that gives back what was.
// R112 C14
func TestTrustIsOneActAndItsUndo(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	typed(w, Root, "server files always")
	row := text.ServerUntrusted
	o, ok := offerOf(panel(w, Root, "server:files"), row, text.LabelTrust)
	if !ok {
		t.Fatal(panelText(panel(w, Root, "server:files")))
	}
	equal(t, "it is confirmed with", o.confirm, text.ConfirmTrust("files", 5))
	rev := settingsOf(w).Rev
	choose(w, Root, "server:files", row, text.LabelTrust, "")
	equal(t, "trusted", value(w, "files", "", "trusted"), "true")
	equal(t, "ask", value(w, "files", "", "ask"), "never")
	for _, p := range settingsOf(w).Pins {
		if !p.Accepted {
			t.Errorf("%s is not accepted", p.Tool.Name)
		}
	}
	if settingsOf(w).Rev == rev {
		t.Error("nothing moved")
	}
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(0)
	equal(t, "runs unasked", w.Tools.Count("write"), 1)
	if _, ok := offerOf(panel(w, Root, "server:files"), text.ServerTrusted, text.LabelTrust); ok {
		t.Error("it can be trusted twice")
	}
	typed(w, Root, "tool files read timeout 3m") // beside it, and after it
	choose(w, Root, "server:files", text.ServerTrusted, text.LabelUndoTrust, "")
	equal(t, "trusted", value(w, "files", "", "trusted"), "")
	equal(t, "ask, as it was", value(w, "files", "", "ask"), "always")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(1)
	choose(w, Root, "server:files", row, text.LabelTrust, "")
	typed(w, Root, "server files always") // what somebody chose since is not undone
	if _, ok := offerOf(panel(w, Root, "server:files"), text.ServerTrusted, text.LabelUndoTrust); ok {
		t.Error("the undo would take back what somebody chose since")
	}
	if _, ok := offerOf(panel(w, Root, "server:files"), text.ServerTrusted, text.LabelTrust); !ok {
		t.Error("one that is trusted and asks always cannot be trusted")
	}
	typed(w, Root, "server files never")
	typed(w, Root, "server files trusted false")
	if _, ok := offerOf(panel(w, Root, "server:files"), row, text.LabelTrust); !ok {
		t.Error("one that never asks and is not trusted cannot be trusted")
	}
}

// Grants are listed with who, when and scope, and are revoked by whom they belong to and by admins.
// R101 R108 R148
func TestGrantsInTheSettings(t *testing.T) {
	w := settingsWorld(t)
	granted(w)
	for _, u := range []chat.User{Ana, Ben, Root} {
		said := panelText(panel(w, u, "grants"))
		has(t, u.Key, said, "write of files · allowed by Ana", "in this chat · any number of calls")
		_, may := offerOf(panel(w, u, "grants"), "write of files", text.LabelRevoke)
		equal(t, u.Key+" may revoke it", may, u != Ben)
	}
	has(t, "show", typed(w, Ben, ""), "1. write of files · allowed by Ana")
	has(t, "Ben", typed(w, Ben, "revoke 1"), "Only Ana or an admin")
	has(t, "Ben", typed(w, Ben, "revoke all"), text.NothingToRevoke(1))
	has(t, "out of range", typed(w, Ana, "revoke 2"), "no number “2”")
	for u, sees := range map[chat.User]bool{Ana: true, Root: true, Ben: false} {
		p := panelIn(w, Other, u, "grants")
		equal(t, u.Key+" sees it from elsewhere", strings.Contains(panelText(p), "in another chat on fake"), sees)
	}
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone })
	hasNot(t, "of a chat in which Ben does not take part", panelText(panelIn(w, Other, Ben, "grants")), "write of files")
	w.Say(w.Replicas[0], Ben, "hello")
	w.Over(1)
	has(t, "now it covers what Ben asks", panelText(panelIn(w, Other, Ben, "grants")), "in another chat on fake")
	o, ok := offerOf(panelIn(w, Other, Ana, "grants"), "write of files", text.LabelRevoke)
	if !ok {
		t.Fatal("not to be revoked from elsewhere")
	}
	if _, err := w.Replicas[0].Settings.Act(context.Background(), w.Envelope(Other, Ana), "grants", o.token, ""); err != nil {
		t.Fatal(err)
	}
	has(t, "the grants", panelText(panel(w, Ana, "grants")), text.PanelNoGrants)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("it asks", func() bool { return w.Asked() == "write" })
}

// Several grants end with one act.
// R148 R173
func TestRevokeAll(t *testing.T) {
	w := settingsWorld(t)
	w.Model.When("all of it", Calls(Call("write", `{}`), Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "all of it")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowChat, "send")
	w.Over(0)
	o, ok := offerOf(panel(w, Ana, "grants"), text.GrantsHere(2), text.LabelRevokeAll)
	if !ok {
		t.Fatal(panelText(panel(w, Ana, "grants")))
	}
	equal(t, "it is confirmed with", o.confirm, text.ConfirmRevokeAll(2))
	choose(w, Ana, "grants", text.GrantsHere(2), text.LabelRevokeAll, "")
	has(t, "the grants", typed(w, Ana, "revoke"), text.PanelNoGrants)
}

// One's own choices, kept and forgotten by oneself alone, and never in an admin's place.
// R43 R44 R45 R109 R113 R153
func TestMyChoices(t *testing.T) {
	w := settingsWorld(t)
	vouched(w)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	has(t, "kept", typed(w, Ana, "remembered files write deny"), "Remembered: deny write of files.")
	has(t, "of another tool", panelText(panel(w, Ana, "tool:files/read")), text.OwnNone)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(0)
	equal(t, "runs", w.Tools.Count("write"), 0)
	o, _ := offerOf(panel(w, Ana, "tool:files/write"), "deny write", "Allow without asking me")
	equal(t, "it is confirmed with", o.confirm, text.ConfirmRemember("write", "files"))
	choose(w, Ana, "tool:files/write", "deny write", "Allow without asking me", "")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(1)
	equal(t, "runs", w.Tools.Count("write"), 1)
	has(t, "what Ana reads", panelText(panel(w, Ana, "mine")), "allow write of files without asking")
	has(t, "what Ben reads", panelText(panel(w, Ben, "mine")), text.PanelMineNone)
	mine, ok := offerOf(panel(w, Ana, "mine"), "allow write", text.LabelForget)
	if !ok {
		t.Fatal("not to be forgotten")
	}
	for _, u := range []chat.User{Ben, Root} {
		if _, err := act(w, u, "mine", mine.token, ""); err == nil {
			t.Errorf("%s forgot what is Ana's", u.Key)
		}
		has(t, u.Key, typed(w, u, "forget all"), text.PanelMineNone)
	}
	w.Say(w.Replicas[0], Ben, "write it") // R45: it is not Ben's
	w.Until("Ben is asked", func() bool { return w.Asked() == "write" })
	w.Press(w.Replicas[0], Ben, chat.Deny, "write")
	w.Over(2)
	has(t, "forgotten", typed(w, Ana, "forget 1"), "Forgotten: 1 choice.")
	equal(t, "kept", len(settingsOf(w).Remembered), 0)

	for words, why := range map[string]string{
		"tool files send approval RequireAuth":        text.AdminEachCall,
		"tool files send chat_grant false":            text.StandingWithheld,
		"tool files send min_approvals 2":             text.SeveralMust,
		"tool files send requester_may_approve false": "Whoever asked may not decide this",
		"tool files send approvers fake:T1:ben":       "or an admin can decide this.",
		"tools disable files send":                    text.ToolIsDisabled,
	} {
		typed(w, Root, words)
		has(t, words, typed(w, Ana, "remembered files send allow"), why)
		if _, ok := offerOf(panel(w, Ana, "tool:files/send"), text.OwnNone, "Allow without asking me"); ok {
			t.Errorf("%s: the panel offers it", words)
		}
		equal(t, "kept after "+words, len(settingsOf(w).Remembered), 0)
		for _, x := range settingsOf(w).Set {
			x.Value = ""
			if _, err := engine(w).ChangeAsAdmin(context.Background(), w.Envelope(Room, Root), "", x.Setting); err != nil {
				t.Fatal(err)
			}
		}
	}
	has(t, "usage", typed(w, Ana, "remembered files send maybe"), "Say: remembered")
	w.Tools.Change("send")
	w.Say(w.Replicas[0], Ana, "hello")
	w.Until("the change is known", func() bool {
		p, _ := settingsOf(w).Pin(permission.Tool{Server: "files", Name: "send"})
		return p.Changed()
	})
	has(t, "changed", typed(w, Ana, "remembered files send allow"), text.LookFirst)
	w.Tools.Remove("drop")
	has(t, "gone", typed(w, Ana, "remembered files drop allow"), text.ToolNotThere)
	equal(t, "kept", len(settingsOf(w).Remembered), 0)
}

// An allowance is for the tool as it was: once that changed, the settings say so, and offer to allow it as it is now. A denial stands, and of
// what is gone there is nothing to say.
// R44 R109
func TestWhatAnAllowanceWasFor(t *testing.T) {
	w := settingsWorld(t)
	w.Tools.Put(Tool{Server: "also", Name: "write"})
	typed(w, Root, "accept files")
	for _, words := range []string{"write allow", "touch allow", "send deny"} {
		has(t, "kept", typed(w, Ana, "remembered files "+words), "Remembered: ")
	}
	stale := func(view string) int { return strings.Count(panelText(panel(w, Ana, view)), text.RememberedStale) }
	equal(t, "what changed as yet", stale("mine")+stale("tool:files/write"), 0)
	if o, _ := offerOf(panel(w, Ana, "tool:files/write"), "allow write", "Allow without asking me"); o.act.Kind != render.ActPick {
		t.Errorf("what is so already is offered as %+v", o)
	}
	w.Tools.Change("write")
	w.Tools.Change("send")
	w.Tools.Remove("touch")
	knows(w, "also", 1)
	w.Until("the change is known", func() bool {
		p, _ := settingsOf(w).Pin(permission.Tool{Server: "files", Name: "write"})
		return p.Changed()
	})
	typed(w, Root, "accept files write")
	equal(t, "what changed", stale("mine"), 1)
	equal(t, "said of it", stale("tool:files/write"), 1)
	o, _ := offerOf(panel(w, Ana, "tool:files/write"), "allow write", "Allow without asking me")
	equal(t, "it is confirmed with", o.confirm, text.ConfirmRemember("write", "files"))
	choose(w, Ana, "tool:files/write", "allow write", "Allow without asking me", "")
	equal(t, "what changed since", stale("mine")+stale("tool:files/write"), 0)
}

// What has run out is not listed any more, in a chat and for a channel.
// R118
func TestWhatHasRunOutIsNotListed(t *testing.T) {
	w, clock := clocked(t, Options{})
	vouched(w)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.ChannelGrants, p.ChannelFor = true, time.Hour })
	w.Model.When("go", Calls(Call("write", `{}`), Call("send", `{}`)))
	saidIn(w, w.Replicas[0], Room, Ana, "go")
	w.Press(w.Replicas[0], Ana, chat.AllowHour, "write")
	w.Press(w.Replicas[0], Ana, chat.AllowChannel, "send")
	w.Over(0)
	lists := func(after time.Duration) string {
		n := len(w.Platform.Messages(Room))
		clock(after)
		w.Say(w.Replicas[0], Ana, "hello") // with which the replica hears what time it is
		w.Over(n)
		return panelText(panel(w, Ana, "grants")) + typed(w, Ana, "show")
	}
	within := lists(59 * time.Minute)
	for _, tool := range []string{"write", "send"} {
		equal(t, tool+" within the hour", strings.Count(within, tool+" of files · allowed by Ana"), 2)
	}
	hasNot(t, "after it", lists(61*time.Minute), "allowed by Ana")
	has(t, "after it", typed(w, Ana, "revoke 1"), "no number")
}
