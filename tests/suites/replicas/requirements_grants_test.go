package replicas

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// Decisions beyond the three buttons, as docs/requirements.md asks for them.

// classified brings a world whose tools of files all ask, with an access and a risk each: read and peek read, write and send write, drop is
// dangerous, touch is not classified, and root needs an admin.
func classified(t *testing.T) *World {
	w := New(t, Options{})
	vouched(w)
	w.Tools.Put(Tool{Server: "files", Name: "peek"})
	w.Tools.Put(Tool{Server: "files", Name: "root"})
	w.Tools.Put(Tool{Server: "elsewhere", Name: "read"})
	w.SetPolicy(func(p *permission.Policy, files tools) {
		set := func(name string, a permission.Access, r permission.Risk) {
			files[name] = permission.ToolSettings{Access: &a, Risk: &r}
		}
		set("read", permission.Read, permission.Safe)
		set("peek", permission.Read, permission.Safe)
		set("write", permission.Write, permission.Moderate)
		set("send", permission.Write, permission.Moderate)
		set("drop", permission.Write, permission.Dangerous)
		delete(files, "touch")
		auth := permission.RequireAuth
		files["root"] = permission.ToolSettings{Approval: &auth}
	})
	return w
}

// orders has the model call each tool when it is named.
func orders(w *World, names ...string) {
	for _, name := range names {
		w.Model.When("use "+name, Calls(Call(name, `{"n":1}`)))
	}
}

// Reads, writes or all of a server, given on a card: what each covers runs unasked, and what it does not cover asks by the
// name of its own access.
// R35 R38 R41 R107 C6
func TestGrantsOfAServer(t *testing.T) {
	for _, x := range []struct {
		on     string // the tool on whose card it is given
		choice chat.Choice
		label  string
		runs   string
		asks   string
	}{
		{"read", chat.AllowReads, "Allow reads from files", "read peek", "write send drop touch root new"},
		{"write", chat.AllowWrites, "Allow reads and writes from files", "write send read peek", "drop touch root new"},
		{"write", chat.AllowServer, "Allow all from files", "write send read peek touch", "drop root new"},
	} {
		t.Run(string(x.choice), func(t *testing.T) {
			w := classified(t)
			orders(w, "read", "peek", "write", "send", "drop", "touch", "root", "new")
			w.Say(w.Replicas[0], Ana, "use "+x.on)
			w.Asks(x.on)
			has(w, "the card", w.Text(0), x.label)
			w.Press(w.Replicas[0], Ana, x.choice, x.on)
			w.Over(0)
			ran, n := x.on, 1
			for _, name := range strings.Fields(x.runs) {
				w.Say(w.Replicas[0], Ana, "use "+name)
				w.Over(n)
				ran, n = ran+" "+name, n+1
			}
			equal(w, "ran unasked", w.Tools.Ran(), ran)
			w.Tools.Put(Tool{Server: "files", Name: "new"}) // added after it was given
			for _, name := range strings.Fields(x.asks) {
				w.Say(w.Replicas[0], Ana, "use "+name)
				w.Until(name+" asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == name })
				if name != "root" && name != "new" && name != "touch" {
					has(w, "the card of "+name, w.Text(n), text.FactWrites)
				}
				w.Press(w.Replicas[0], Root, chat.Deny, name)
				w.Over(n)
				n++
			}
			equal(w, "ran", w.Tools.Ran(), ran)
		})
	}
}

// What is given for one server is for no other.
// R40 C6
func TestGrantsOfAServerAreItsOwn(t *testing.T) {
	w := classified(t)
	orders(w, "read")
	other := Call("read", `{}`)
	other.Server = "elsewhere"
	w.Model.When("elsewhere", Calls(other))
	w.Say(w.Replicas[0], Ana, "use read")
	w.Press(w.Replicas[0], Ana, chat.AllowServer, "read")
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "elsewhere")
	w.Until("the other server's asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "read" })
	equal(w, "ran", w.Tools.Ran(), "read")
}

// "for 1 hour" ends 3600 s after the click by the log's clock, and is looked at when it is used.
// R118
func TestGrantForAnHour(t *testing.T) {
	w, clock := clocked(t, Options{})
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ana, chat.AllowHour, "write")
	w.Over(0)
	clock(59 * time.Minute)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Over(1)
	equal(w, "runs within the hour", w.Tools.Count("write"), 2)
	clock(time.Hour)
	w.Say(w.Replicas[0], Ana, "write it")
	w.Until("after the hour it asks", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
	equal(w, "runs", w.Tools.Count("write"), 2)
}

// "3 times, this call included": the fourth asks, also where several are called at once.
// R119
func TestGrantForThreeCalls(t *testing.T) {
	for name, calls := range map[string][]int{"one by one": {1, 1, 1}, "at once": {3}} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Model.When("first", Calls(Call("write", `{"n":0}`)))
			w.Say(w.Replicas[0], Ana, "first")
			w.Asks("write")
			has(w, "the card", w.Text(0), "Allow this tool 3 times, this call included")
			w.Press(w.Replicas[0], Ana, chat.AllowUses, "write")
			w.Over(0)
			n := 0
			for i, many := range calls {
				var batch []agent.ReplyCall
				for range many {
					n++
					batch = append(batch, Call("write", `{"n":`+string(rune('0'+n))+`}`))
				}
				w.Model.When("next", Calls(batch...))
				w.Say(w.Replicas[0], Ana, "next")
				w.Until("it is over, or asks", func() bool {
					list := w.Platform.Messages(Room)
					return len(list) == i+2 && (list[i+1].Now().State == render.Done || w.Asked() != "")
				})
			}
			w.Asks("write")
			w.Until("three have run", func() bool { return w.Tools.Count("write") == 3 })
			w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			w.Over(len(calls))
			equal(w, "ran", args(w), `{"n":0}{"n":1}{"n":2}`)
		})
	}
}

// With these values only, or below this directory: what the card proposed is covered, nothing beside it is.
// R154 R155
func TestGrantForTheseValues(t *testing.T) {
	for _, x := range []struct {
		choice     chat.Choice
		first      string
		runs, asks []string
	}{
		{chat.AllowExact, `{"method":"GET","path":"/srv/a/x"}`,
			[]string{`{"method":"GET","path":"/srv/a/x"}`, `{"path":"/srv/a/x","method":"GET"}`},
			[]string{`{"method":"POST","path":"/srv/a/x"}`, `{"method":"GET","path":"/srv/a/y"}`, `{"path":"/srv/a/x"}`, `{"force":true,"method":"GET","path":"/srv/a/x"}`}},
		{chat.AllowPath, `{"path":"/srv/a/x.md"}`, // clearly a file: a path that may itself be a directory is never one of the one above
			[]string{`{"path":"/srv/a/x"}`, `{"path":"/srv/a/y"}`, `{"path":"/srv/a/deep/er"}`},
			[]string{`{"path":"/srv/b/x"}`, `{"path":"/srv/a/../b/x"}`, `{"path":"/srv/ab"}`, `{"path":"/srv"}`, `{"path":"/srv/a/./x"}`, `{"path":"x"}`, `{}`}},
	} {
		t.Run(string(x.choice), func(t *testing.T) {
			w := New(t, Options{})
			vouched(w)
			n := 0
			say := func(args string) {
				w.Model.When("go", Calls(Call("write", args)))
				w.Say(w.Replicas[0], Ana, "go")
			}
			say(x.first)
			w.Press(w.Replicas[0], Ana, x.choice, "write")
			w.Over(0)
			for _, args := range x.runs {
				n++
				say(args)
				w.Over(n)
				equal(w, "runs with "+args, w.Tools.Count("write"), n+1)
			}
			ran := w.Tools.Count("write")
			for _, args := range x.asks {
				n++
				say(args)
				w.Until("it asks for "+args, func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == "write" })
				w.Press(w.Replicas[0], Ana, chat.Deny, "write")
				w.Over(n)
			}
			equal(w, "runs", w.Tools.Count("write"), ran)
		})
	}
}

// "Approve all for this session": what is open runs, and so does what comes, but for what needs an admin; the message says
// so, with the way back; only the person that the chat belongs to, or an admin, can say it.
// R106 R113 R163 C3 C14
func TestApproveAllForThisSession(t *testing.T) {
	w := classified(t)
	w.Model.When("go", Calls(Call("write", `{"n":1}`), Call("send", `{"n":1}`)))
	w.Model.When("more", Calls(Call("drop", `{"n":1}`), Call("root", `{"n":1}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write", "send")
	has(w, "the card", w.Text(0), "Approve all for this session…")
	has(w, "Ben's whisper", w.Press(w.Replicas[0], Ben, chat.AllowSession, "write"), "Only")
	w.Asks("write", "send")
	w.Press(w.Replicas[0], Ana, chat.AllowSession, "write")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write send")
	w.Say(w.Replicas[0], Ana, "more")
	w.Until("what needs an admin still asks", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "root" })
	w.Ran("write send drop")
	has(w, "the banner", w.Text(1), text.NeverAsks, text.LabelAskMore)
	way := w.Await(chat.AskFor, "")
	w.Press(w.Replicas[0], Root, chat.Deny, "root")
	w.Over(1)
	// In another chat nothing changed.
	in := w.SaidBy(Ana, "go")
	in.Chat = Other
	w.Deliver(w.Replicas[0], in)
	w.Until("the other chat asks", func() bool { _, ok := w.Button(Other, chat.AllowOnce, "write"); return ok })
	equal(w, "ran", w.Tools.Ran(), "write send drop")
	// And here it ends as soon as somebody says so: it only adds caution.
	equal(w, "Ben's whisper", w.Deliver(w.Replicas[0], w.Click(Ben, way)), "")
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write send" })
	equal(w, "ran", w.Tools.Ran(), "write send drop")
}

// A choice that was ticked to be remembered holds in a new session of that person, and of nobody else; a denial too, of
// which the model is told and about which nobody is asked.
// R43 R45 R83 R109 R162
func TestRememberThisChoice(t *testing.T) {
	for _, x := range []struct {
		choice chat.Choice
		runs   bool
	}{{chat.AllowOnce, true}, {chat.Deny, false}} {
		t.Run(string(x.choice), func(t *testing.T) {
			w := New(t, Options{Replicas: 2})
			vouched(w)
			w.Model.When("write it", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "write it")
			w.Asks("write")
			has(w, "the card", w.Text(0), "Remember this choice")
			w.Press(w.Replicas[0], Ana, chat.Remember, "write")
			w.Asks("write") // it toggles, and decides nothing
			equal(w, "ran", w.Tools.Ran(), "")
			w.Press(w.Replicas[0], Ana, x.choice, "write")
			w.Over(0)
			before := w.Tools.Count("write")
			in := w.SaidBy(Ana, "write it")
			in.Chat = Other
			w.Deliver(w.Replicas[1], in)
			w.Until("the new session's turn is over", func() bool {
				list := w.Platform.Messages(Other)
				return len(list) == 1 && list[0].Now().State == render.Done
			})
			equal(w, "it ran unasked in the new session", w.Tools.Count("write") == before+1, x.runs)
			if !x.runs {
				r := w.Model.Latest().Results()
				if len(r) != 1 || !r[0].IsError || strings.Contains(r[0].Text, "write ok") {
					t.Errorf("the model is told %+v", r)
				}
			}
			w.Say(w.Replicas[0], Ben, "write it")
			w.Until("Ben is asked", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
		})
	}
}
