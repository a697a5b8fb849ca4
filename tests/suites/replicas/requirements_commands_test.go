package replicas

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// What people type after "/nod permissions", as docs/requirements.md asks for it: every surface hands the words to the same place.

// types is what somebody is told who types this in the room.
func types(w *World, u chat.User, words string) string {
	w.Helper()
	lines, err := w.Replicas[0].Settings.Permissions(context.Background(), w.Envelope(Room, u), strings.Fields(words))
	if err != nil {
		w.Fatalf("%s: %v", words, err)
	}
	return strings.Join(lines, "\n")
}

// The three levels, and the switch, by the words of the documents. A mode is the chat's, the others are an admin's; the echo
// never leaves open what "always" means (C1).
// R2 R3 R4 R11 R149 C1
func TestCommandsSetTheThreeLevels(t *testing.T) {
	w := New(t, Options{})
	n := 0
	w.Model.When("write it", Calls(Call("write", `{}`)))
	next := func(what string, asks, runs bool) {
		w.Helper()
		before := w.Tools.Count("write")
		w.Say(w.Replicas[0], Ana, "write it")
		if asks {
			w.Until(what+": it asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == "write" })
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
		}
		w.Over(n)
		n++
		equal(w, what+": it ran", w.Tools.Count("write") > before, runs)
	}
	next("at first", true, false)
	for _, words := range []string{"server files never", "tool files write never", "tools disable files write"} {
		has(w, "Ana, who is no admin, typing "+words, types(w, Ana, words), "admin")
	}
	next("after what was refused", true, false)
	types(w, Root, "server files never")
	next("the server never asks", false, true)
	has(w, "the echo", types(w, Root, "tool files write always"), permission.AlwaysAsk.Label())
	next("the tool always asks", true, false)
	types(w, Root, "tool files write default")
	next("the tool follows its server", false, true)
	types(w, Root, "tools disable files write")
	next("it is disabled", false, false)
	types(w, Root, "tools enable files write")
	next("it is enabled", false, true)
	types(w, Ana, "mode always")
	has(w, "the overview", types(w, Ana, "show"), permission.ModeAlways.Label())
	next("the chat always asks", true, false)
	types(w, Ana, "mode tool")
	next("the chat uses each tool's setting", false, true)
}

// What is allowed in a chat is listed with who gave it, and revoked from there; the next call asks.
// R101 R148
func TestCommandsListAndRevoke(t *testing.T) {
	w := New(t, Options{})
	granted(w)
	has(w, "the list", types(w, Ana, "show"), "write", "Ana")
	types(w, Ana, "revoke 1")
	hasNot(w, "the list", types(w, Ana, "show"), "by Ana")
	w.Say(w.Replicas[0], Ana, "write it")
	cardIn(w, 1)
}

// Why a tool asks: every rule that was looked at and the one that won, and the timeout with where it comes from.
// R150 R151
func TestCommandWhy(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it") // so that the tools are known
	w.Asks("write")
	got := types(w, Ana, "why files write")
	has(w, "why", got, `write of files asks first.
1. disabled: It is not disabled. (no opinion)
2. require_auth: It does not need an admin. (no opinion)
3. mode: This chat uses each tool's setting. (no opinion)
4. tool: The tool has no setting of its own. (no opinion)
5. server: The server has no setting of its own. (no opinion)
6. approval: No approval is set for the tool. (no opinion)
7. named: Its name decides nothing. (no opinion)
→ 8. source: Tools of MCP servers ask unless a setting says otherwise. (required)
9. grant: No grant of this chat is for it. (no opinion)
`, "timeout: 1m0s (default)")
	types(w, Root, "tool files write timeout 2m")
	has(w, "why, with a timeout of its own", types(w, Ana, "why files write"), "timeout: 2m0s (tool setting)")
	types(w, Root, "tool files write never")
	has(w, "why, when it never asks", types(w, Ana, "why files write"), "runs without asking", "tool setting")
	has(w, "why of what is not there", types(w, Ana, "why files nothing"), "nothing")
}

// Whether somebody is an admin, and how their key is written where admins are listed.
// R152
func TestCommandWhoami(t *testing.T) {
	w := New(t, Options{})
	ana, root := types(w, Ana, "whoami"), types(w, Root, "whoami")
	has(w, "Ana", ana, Ana.String())
	has(w, "root", root, Root.String())
	if strings.ReplaceAll(ana, Ana.String(), "") == strings.ReplaceAll(root, Root.String(), "") {
		t.Errorf("an admin is told the same as anybody: %s", root)
	}
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Admins = nil })
	has(w, "Ana, where nobody is an admin", types(w, Ana, "whoami"), "ADMIN_SESSION_KEYS")
}

// A person's own setting for a tool, without a card: it holds for them, is listed, and is forgotten when they say so.
// R19 R44 R45 R109 R148 R153 R162
func TestCommandsRememberAndForget(t *testing.T) {
	w := New(t, Options{})
	vouched(w)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(0)
	types(w, Ana, "remembered files write allow")
	has(w, "the list", types(w, Ana, "remembered"), "write")
	hasNot(w, "Ben's list", types(w, Ben, "remembered"), "write of files", "files/write")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(1)
	equal(w, "ran", w.Tools.Ran(), "write")
	w.Say(w.Replicas[0], Ben, "write it")
	w.Until("Ben is asked", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
	w.Press(w.Replicas[0], Ben, chat.Deny, "write")
	w.Over(2)
	types(w, Ana, "forget 1")
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 4 && w.Asked() == "write" })
}

// A template is shown before it is applied, and changes nothing until somebody who may says yes.
// R156
func TestCommandsApplyATemplate(t *testing.T) {
	w := New(t, Options{})
	all := permission.Templates()
	if len(all) == 0 {
		t.Fatal("there are no templates")
	}
	list := types(w, Ana, "templates")
	for _, x := range all {
		has(w, "the templates", list, x.Name)
	}
	rev := func() int {
		s, err := w.Replicas[0].Engine.Settings(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Set)
	}
	name := all[0].Name
	before := rev()
	types(w, Root, "apply "+name)
	equal(w, "settings after the preview", rev(), before)
	has(w, "Ana, who is no admin", types(w, Ana, "apply "+name+" yes"), "admin")
	equal(w, "settings after what was refused", rev(), before)
	types(w, Root, "apply "+name+" yes")
	if rev() == before {
		t.Errorf("%s changed nothing", name)
	}
	// The operator's own stands beside them.
	w.SetPolicy(func(p *permission.Policy, _ map[string]permission.ToolSettings) {
		p.Templates = []permission.Template{{Name: "weekend", Title: "weekend", Says: "It waits until Monday.", Set: []permission.Setting{{Field: "timeout", Value: "park"}}}}
	})
	has(w, "the templates", types(w, Ana, "templates"), "weekend", "It waits until Monday.")
	has(w, "its preview", types(w, Root, "apply weekend"), "It waits until Monday.", "it waits until somebody answers")
	types(w, Root, "apply weekend yes")
	has(w, "a second time", types(w, Root, "apply weekend"), text.NothingToChange)
	has(w, "one that there is not", types(w, Root, "apply nothing"), "weekend")
}

// One action trusts a server, so that what it says only reads runs unasked; one undoes it. What writes asks in any case.
// R112 C14
func TestCommandTrustsAServer(t *testing.T) {
	w := New(t, Options{})
	yes, no := true, false
	w.Tools.Put(Tool{Server: "wiki", Name: "look", Hints: permission.Hints{ReadOnly: &yes}})
	w.Tools.Put(Tool{Server: "wiki", Name: "edit", Hints: permission.Hints{ReadOnly: &no}})
	for _, tool := range []string{"look", "edit"} {
		c := Call(tool, `{}`)
		c.Server = "wiki"
		w.Model.When("use "+tool, Calls(c))
	}
	n := 0
	next := func(tool string, asks bool) {
		w.Helper()
		w.Say(w.Replicas[0], Ana, "use "+tool)
		if asks {
			w.Until(tool+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == tool })
			w.Press(w.Replicas[0], Ana, chat.Deny, tool)
		}
		w.Over(n)
		n++
	}
	next("look", true)
	has(w, "Ana, who is no admin", types(w, Ana, "server wiki trusted true"), "admin")
	next("look", true)
	types(w, Root, "server wiki trusted true")
	types(w, Root, "accept wiki") // nobody had looked at its tools yet
	next("look", false)
	next("edit", true)
	types(w, Root, "server wiki trusted false")
	next("look", true)
	equal(w, "ran", w.Tools.Ran(), "look")
}

// What was decided can be read where it happened, and the numbers are the log's.
// R142 R144 R145 R147 R158
func TestCommandsTellHistoryAndNumbers(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("write it", Calls(Call("write", `{}`)))
	for i, choice := range []chat.Choice{chat.Deny, chat.AllowOnce, chat.Deny, chat.Deny} {
		w.Say(w.Replicas[0], Ana, "write it")
		w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == i+1 && w.Asked() == "write" })
		w.Press(w.Replicas[0], Ana, choice, "write")
		w.Over(i)
	}
	got := types(w, Ana, "history")
	equal(w, "denials in the history", strings.Count(got, "decision: denied · write of files · Ana"), 3)
	equal(w, "approvals in the history", strings.Count(got, "decision: approved · write of files · Ana"), 1)
	equal(w, "starts in the history", strings.Count(got, "start: "), 1)
	has(w, "the numbers", types(w, Ana, "stats"), "Asked 4 · approved 1 · denied 3 · unanswered 0", "Approval rate 25 % · denial rate 75 %", "write of files: denied 3")
	hasNot(w, "Ben's numbers of another chat", types(w, Ben, "stats"), "Over every chat")
	has(w, "an admin's", types(w, Root, "stats"), "Over every chat")
}

// Tools stand under their categories.
// R22
func TestPanelGroupsByCategory(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(_ *permission.Policy, files tools) {
		files["write"] = permission.ToolSettings{Category: "Paper"}
		files["send"] = permission.ToolSettings{Category: "Post"}
		files["drop"] = permission.ToolSettings{Category: "Post"}
	})
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	p, err := w.Replicas[0].Settings.Panel(context.Background(), w.Envelope(Room, Root), "server:files")
	if err != nil {
		t.Fatal(err)
	}
	under := map[string]string{}
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			name, _, _ := strings.Cut(render.PlainLine(r.Line), " · ")
			under[s.Title] += name + " · "
		}
	}
	has(w, "Paper", under["Paper"], "write · ")
	hasNot(w, "Paper", under["Paper"], "send", "drop")
	has(w, "Post", under["Post"], "send", "drop")
	hasNot(w, "Post", under["Post"], "write · ")
}

// "tools" lists what there is, with what happens to a call of it here, for anybody.
func TestToolsAreListed(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(_ *permission.Policy, files tools) { files["send"] = permission.ToolSettings{Disabled: true} })
	got := types(w, Ana, "tools")
	has(t, "the list", got, "files · ", "\n  send · A call does not run.", "\n  write · A call asks first.")
	hasNot(t, "the list", got, "Say: ")
	for i := range 60 {
		w.Tools.Put(Tool{Server: "many", Name: fmt.Sprint("tool", i)})
	}
	got = types(w, Ana, "tools")
	equal(t, "the lines of tools", strings.Count(got, " · A call "), 40)
	has(t, "the end", got[strings.LastIndexByte(got, '\n'):], "and 25 more")
	got = types(w, Root, "apply careful")
	equal(t, "changes of a long preview", strings.Count(got, " → "), 40)
	has(t, "its end", got, "and 28 more")
	w.Tools.Down("far", "It is away.")
	hasNot(t, "a server without tools", types(w, Ana, "tools"), "\n  \n")
}
