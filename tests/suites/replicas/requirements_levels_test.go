package replicas

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// asksFor has the model call one tool and says whether somebody is asked before it runs. What is asked for is denied by an admin; card is what
// stood in the message until then.
func asksFor(w *World, server, tool string) (asked bool, card string) {
	w.Helper()
	c := Call(tool, `{}`)
	c.Server = server
	order := "use " + server + " " + tool + "."
	w.Model.When(order, Calls(c))
	n, ran := len(w.Platform.Messages(Room)), len(w.Tools.Effects())
	w.Say(w.Replicas[0], Ana, order)
	w.Until(order+": it asks or is over", func() bool {
		list := w.Platform.Messages(Room)
		return len(list) == n+1 && (w.Asked() == tool || list[n].Now().State == render.Done)
	})
	if asked = w.Asked() == tool; asked {
		card = w.Text(n)
		w.Press(w.Replicas[0], Root, chat.Deny, tool)
	}
	w.Over(n)
	equal(w, order+": it ran", len(w.Tools.Effects()) > ran, !asked)
	return asked, card
}

// Document 000's 18 rows, set as people set them; and for a tool that needs an admin each of them asks one.
// R4 R5 R6 R7 R113 R165 C4
func TestTheThreeLevelsDecide(t *testing.T) {
	w := New(t, Options{})
	vouched(w)
	w.Say(w.Replicas[0], Ana, "hello")
	w.Over(0)
	for _, mode := range []string{"always", "never yes", "tool"} {
		types(w, Ana, "mode "+mode)
		for _, server := range []string{"always", "never"} {
			types(w, Root, "server files "+server)
			for _, tool := range []string{"default", "always", "never"} {
				types(w, Root, "tool files write "+tool)
				want := mode == "always" || tool == "always" || tool == "default" && server == "always" // a chat that never asks is not above them
				if asked, _ := asksFor(w, "files", "write"); asked != want {
					t.Errorf("session %s, server %s, tool %s: it asks: %v", mode, server, tool, asked)
				}
				types(w, Root, "tool files write approval RequireAuth")
				if asked, card := asksFor(w, "files", "write"); !asked || !strings.Contains(card, text.SymbolAdmin+" "+text.FactAdmin) {
					t.Errorf("session %s, server %s, tool %s, for an admin: it asks: %v\n%s", mode, server, tool, asked, card)
				}
				types(w, Root, "tool files write approval default")
			}
		}
	}
}

// The documents' names, called by a model, as tools of nod's own workbench and of a server that
// nobody said anything about: which run, which ask whom, and what the card says of them.
// R12 R14 R15 R16 R17 R18 R24 R26 R30 R31 R32 R33 R36 R37 R46 R165 C4 C5 C7
func TestWellKnownNames(t *testing.T) {
	w := New(t, Options{Engine: func(c *agent.Config) { c.Tools = builtIn{c.Tools} }})
	auto, confirm, admin := "", text.SymbolConfirm+" ", text.SymbolAdmin+" "+text.FactAdmin
	facts := map[string]string{"Read": text.FactReads, "Write": text.FactWrites}
	for _, x := range []struct{ name, access, risk, own, stranger string }{
		{"web_search", "Read", "safe", auto, confirm},
		{"calculator", "Read", "safe", auto, confirm},
		{"datetime", "Read", "safe", auto, confirm},
		{"file_read", "Read", "safe", auto, confirm},
		{"read_file", "Read", "safe", auto, confirm},
		{"list_directory", "Read", "moderate", auto, confirm},
		{"get_information", "Read", "moderate", auto, confirm},
		{"write_file", "Write", "moderate", confirm, confirm},
		{"file_write", "Write", "moderate", confirm, confirm},
		{"create_directory", "Write", "moderate", confirm, confirm},
		{"gmail_send", "Write", "moderate", confirm, confirm},
		{"phone_call", "Write", "moderate", confirm, confirm},
		{"delete_file", "Write", "dangerous", confirm, confirm},
		{"run_command", "Write", "dangerous", confirm, confirm},
		{"execute_command", "Write", "dangerous", confirm, confirm},
		{"code_execute", "Write", "dangerous", confirm, confirm},
		{"github_create_or_update_file", "Write", "moderate", admin, admin},
		{"github_create_pr", "Write", "moderate", admin, admin},
		{"system_shutdown", "Write", "dangerous", admin, admin},
		{"frobnicate", "Write", "moderate", auto, confirm},
	} {
		for server, level := range map[string]string{"built": x.own, "stranger": x.stranger} {
			w.Tools.Put(Tool{Server: server, Name: x.name})
			access, risk := x.access, x.risk
			if server == "stranger" {
				access, risk = "Write", strings.Replace(risk, "safe", "moderate", 1) // a stranger's name lowers nothing
			}
			asked, card := asksFor(w, server, x.name)
			if asked != (level != auto) {
				t.Errorf("%s of %s asks: %v", x.name, server, asked)
			}
			if asked {
				has(t, x.name+" of "+server, card, facts[access], level)
				if got := strings.Contains(card, text.ChipDangerous); got != (risk == text.ChipDangerous) {
					t.Errorf("%s of %s is dangerous on its card: %v", x.name, server, got)
				}
			}
			has(t, "why "+x.name+" of "+server, types(w, Ana, "why "+server+" "+x.name), strings.ToLower(access), risk)
		}
	}
	w.Tools.Put(Tool{Server: "github", Name: "create_pr"}) // the documents spell server and tool as one
	if _, card := asksFor(w, "github", "create_pr"); !strings.Contains(card, admin) {
		t.Errorf("create_pr of github:\n%s", card)
	}
}

// What a tool without any setting does, by where it comes from and what it says of itself. A server that an admin trusts is
// accepted as it is then: what changes or comes afterwards asks.
// R12 R14 R15 R16 R17 R18 R23
func TestDefaultsBySource(t *testing.T) {
	yes, no := true, false
	for _, x := range []struct {
		name, server string
		hints        permission.Hints
		trusted      bool
		asks         bool
	}{
		{"built in, says nothing", "built", permission.Hints{}, false, false},
		{"built in, says that it writes", "built", permission.Hints{ReadOnly: &no}, false, true},
		{"built in, says that it destroys", "built", permission.Hints{Destructive: &yes}, false, true},
		{"a stranger's, says nothing", "wiki", permission.Hints{}, false, true},
		{"a stranger's, says that it reads", "wiki", permission.Hints{ReadOnly: &yes}, false, true},
		{"trusted, says nothing", "wiki", permission.Hints{}, true, true},
		{"trusted, says that it writes", "wiki", permission.Hints{ReadOnly: &no}, true, true},
		{"trusted, says both", "wiki", permission.Hints{ReadOnly: &yes, Destructive: &yes}, true, true},
		{"trusted, says that it reads", "wiki", permission.Hints{ReadOnly: &yes}, true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := New(t, Options{Engine: func(c *agent.Config) { c.Tools = builtIn{c.Tools} }})
			w.Tools.Put(Tool{Server: x.server, Name: "look", Hints: x.hints})
			if x.server == "wiki" {
				knows(w, "wiki", 1)
			}
			if x.trusted {
				types(w, Root, "server wiki trusted true")
			}
			asked, _ := asksFor(w, x.server, "look")
			equal(t, "it asks", asked, x.asks)
			if !x.trusted {
				return
			}
			w.Tools.Put(Tool{Server: "wiki", Name: "later", Hints: permission.Hints{ReadOnly: &yes}})
			knows(w, "wiki", 2)
			w.Tools.Change("look")
			for _, tool := range []string{"later", "look"} {
				asked, _ = asksFor(w, "wiki", tool)
				equal(t, tool+", which is not what was accepted, asks", asked, true)
			}
		})
	}
}

// The question on the card is the tool's own, made from this call's arguments; what is missing reads "unknown", and where there is
// none the card says what runs.
// R13 R34 R90 R92
func TestTheQuestionOnTheCard(t *testing.T) {
	for _, x := range []struct{ template, args, want string }{
		{"Execute my_tool on target: {{.args.target}}?", `{"target":"X"}`, "Execute my_tool on target: X?"},
		{"Execute my_tool on target: {{.args.target}}?", `{}`, "Execute my_tool on target: unknown?"},
		{"Send email to {{.args.to}}?", `{"to":"user@example.com"}`, "Send email to user@example.com?"},
		{"Are you sure you want to delete {{.args.path}}?", `{"path":"a.txt"}`, "Are you sure you want to delete a.txt?"},
		{"", `{"path":"a.txt"}`, "Run write from files"},
	} {
		t.Run(x.want, func(t *testing.T) {
			w := New(t, Options{})
			w.SetPolicy(func(_ *permission.Policy, files tools) { files["write"] = permission.ToolSettings{Message: x.template} })
			w.Model.When("go", Calls(Call("write", x.args)))
			w.Say(w.Replicas[0], Ana, "go")
			w.Asks("write")
			has(t, "the card", w.Text(0), x.want, "Run write from files")
			if x.template == "" {
				hasNot(t, "the card", w.Text(0), "{{", "unknown")
			}
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			w.Over(0)
		})
	}
}

// R41, 5.12: what was given for reads does not cover a write, which asks anew and says which access is missing.
// R41
func TestEscalationNamesTheHigherLevel(t *testing.T) {
	w := classified(t)
	orders(w, "read", "write")
	w.Say(w.Replicas[0], Ana, "use read")
	w.Press(w.Replicas[0], Ana, chat.AllowReads, "read")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "use write")
	w.Until("it asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	has(t, "the card", w.Text(1), text.FactWrites, "it gives read access and this needs write access.")
	d, err := w.Replicas[0].Settings.Why(t.Context(), w.Envelope(Room, Ana), w.Await(chat.ViewDetail, "write").Token)
	if err != nil {
		t.Fatal(err)
	}
	has(t, "why", d.Parts[1].Text, "it gives read access and this needs write access")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(1)
	asked, _ := asksFor(w, "files", "read") // and what was given for reads is as it was
	equal(t, "a read asks", asked, false)
}

// Without a policy nothing runs and nobody is asked; what allows everything is a policy of its own, which a library's user has to name, and it
// leaves out what is disabled and what an admin decides.
// R39 R62 C10
func TestWithoutAPolicy(t *testing.T) {
	auth := permission.RequireAuth
	for name, x := range map[string]struct {
		policy permission.Policy
		runs   string
		tells  string
	}{
		"none":      {permission.Policy{}, "", "Nothing was run"},
		"allow all": {permission.Policy{AllowAll: true}, "write", ""},
		"allow all, disabled": {permission.Policy{AllowAll: true, Servers: map[string]permission.ServerSettings{
			"files": {Tools: tools{"write": {Disabled: true}}}}}, "", "write"},
		"allow all, an admin's": {permission.Policy{AllowAll: true, Servers: map[string]permission.ServerSettings{
			"files": {Tools: tools{"write": {Approval: &auth}}}}}, "ask", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.SetPolicy(func(p *permission.Policy, files tools) {
				*p = x.policy
				clear(files)
				for n, s := range x.policy.Servers["files"].Tools {
					files[n] = s
				}
				p.Servers = map[string]permission.ServerSettings{}
			})
			w.Model.When("go", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "go")
			if x.runs == "ask" {
				w.Asks("write")
				equal(t, "ran", w.Tools.Ran(), "")
				return
			}
			w.Over(0)
			equal(t, "ran", w.Tools.Ran(), x.runs)
			r := w.Model.Latest().Results()
			if len(r) != 1 || r[0].IsError != (x.runs == "") || !strings.Contains(r[0].Text, x.tells) {
				t.Errorf("the model is told %+v", r)
			}
			for _, e := range history(w) {
				if ruled, ok := e.Event.(turn.Ruled); ok && ruled.Ruling.Verdict == permission.Ask {
					t.Error("somebody was asked")
				}
			}
		})
	}
}
