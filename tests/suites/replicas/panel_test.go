package replicas

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

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

// The settings as people manage them: every view, act and command through the public methods of package settings.

// settingsWorld is a world whose tools are known before it is given back.
func settingsWorld(t *testing.T) *World {
	t.Helper()
	w := New(t, Options{})
	// The last that changes by itself: afterwards a revision is of what a test does.
	w.Until("the tools are known, and the admins were told of them", func() bool {
		s := settingsOf(w)
		return len(s.Pins) == 5 && len(s.Told) == 1 && s.Told[0].Sent
	})
	return w
}

func engine(w *World) *agent.Engine { return w.Replicas[0].Engine }

func settingsOf(w *World) permission.Settings {
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
	p, err := w.Replicas[0].Settings.Panel(context.Background(), w.Envelope(id, u), view)
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

func act(w *World, u chat.User, view, token, text string) (settings.Done, error) {
	return w.Replicas[0].Settings.Act(context.Background(), w.Envelope(Room, u), view, token, text)
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
	lines, err := w.Replicas[0].Settings.Permissions(context.Background(), w.Envelope(id, u), strings.Fields(words))
	if err != nil {
		w.Fatalf("%s: %v", words, err)
	}
	return strings.Join(lines, "\n")
}

// value is what was set from a chat.
func value(w *World, server, tool, field string) string {
	for _, x := range settingsOf(w).Set {
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
		for _, v := range append(views, "", "nothing of the kind", "server:nobody", "tool:files/nothing", "install:nobody", "template:", "statistics", "minefield") {
			p := panel(w, u, v)
			if p.View == "" || len(p.View) > 200 || p.Title == "" || len(p.Sections) == 0 {
				t.Errorf("%q for %s: view %q, title %q, %d sections", v, u.Key, p.View, p.Title, len(p.Sections))
			}
			if !slices.Contains(views, v) {
				equal(t, "what shows instead of "+v, p.View, "home")
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
	before := settingsOf(w)
	tried := 0
	for _, v := range views {
		for _, o := range offers(panel(w, Root, v)) {
			if slices.ContainsFunc(offers(panel(w, Ben, v)), func(x offered) bool { return x.token == o.token }) {
				continue
			}
			tried++
			_, err := act(w, Ben, v, o.token, "5m")
			if no := (*decision.Refusal)(nil); !errors.As(err, &no) || no.Code != decision.RefusedUnknown {
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
			if !slices.Contains(own, o.label) && !strings.HasPrefix(o.act.Label, text.LabelFilter) {
				t.Errorf("%s offers Ben %q at %q", v, o.label, o.row)
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d acts of an admin were tried", tried)
	}
	if after := settingsOf(w); after.Rev != before.Rev {
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
	all, ok := offerOf(panel(w, Root, "install:files"), text.GroupAsksNote, text.LabelAcceptGroup(4))
	if !ok {
		t.Fatal("nothing to accept")
	}
	w.Tools.Change("write")
	if _, err := act(w, Root, "install:files", all.token, ""); err == nil {
		t.Error("tools were accepted that were not shown")
	}
	for _, p := range settingsOf(w).Pins {
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
		if _, err := w.Replicas[0].Settings.Act(context.Background(), env, "tool:files/write", o.token, ""); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "ask", value(w, "files", "write", "ask"), "always")
	s := settingsOf(w)
	n := 0
	for _, x := range s.Set {
		if x.Tool == "write" {
			n++
		}
	}
	equal(t, "settings of write", n, 1)
}

// Whoever opens the settings outside of a chat, as the Home tab does, reads what nod is, what it has, and what to try.
func TestANewcomerReadsWhatItDoes(t *testing.T) {
	w := settingsWorld(t)
	w.Tools.Put(Tool{Server: "off", Name: "list"})
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Servers["off"], p.Servers["empty"] = permission.ServerSettings{Disabled: true}, permission.ServerSettings{}
	})
	got := panelText(panelIn(w, chat.ID{}, Ben, "home"))
	for _, want := range []string{text.About, text.TryAsking, text.ToolsHere(5, 1), text.PanelPendingNone} {
		has(t, "the panel", got, want)
	}
	if strings.Contains(panelText(panel(w, Ben, "home")), text.About) {
		t.Error("it is said again in every chat")
	}
}

// What is pending for me, over all chats, with the way to its message; nobody else is told of it: who was not in a chat is not told because
// anybody may answer there, and is not given the address of a page's chat, which is all that it takes to read it.
// R66
func TestWhatWaitsForWhom(t *testing.T) {
	page := chat.ID{Platform: "web", Key: "k1"}
	anyone := func(p *permission.Policy, _ tools) { p.Approvers.Rule = permission.ApproversAnyone }
	admins := func(_ *permission.Policy, files tools) {
		auth := permission.RequireAuth
		files["write"] = permission.ToolSettings{Approval: &auth}
	}
	ask := "Run write from files"
	type reads struct{ here, away string } // beside the ask, in its chat and elsewhere
	for name, x := range map[string]struct {
		in     chat.ID
		policy func(*permission.Policy, tools)
		lost   bool // it ran, and nobody knows what came of it
		sees   map[chat.User]reads
		links  []chat.User
	}{
		"who asked":     {Room, nil, false, map[chat.User]reads{Ana: {ask, ask}, Root: {ask, ask}}, []chat.User{Ana, Root}},
		"anyone":        {Room, anyone, false, map[chat.User]reads{Ana: {ask, ask}, Root: {ask, ask}, Ben: {ask, ""}}, []chat.User{Ana, Root, Ben}},
		"admins":        {Room, admins, false, map[chat.User]reads{Ana: {"waits for an admin", "waits for an admin"}, Root: {text.WaitsForAdmin, text.WaitsForAdmin}}, []chat.User{Ana, Root}},
		"an outcome":    {Room, nil, true, map[chat.User]reads{Ana: {text.WaitsForOutcome, text.WaitsForOutcome}, Root: {text.WaitsForOutcome, text.WaitsForOutcome}}, []chat.User{Ana, Root}},
		"a page's chat": {page, anyone, false, map[chat.User]reads{Ana: {ask, ask}, Root: {ask, ask}}, []chat.User{Ana}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Engine: func(c *agent.Config) { c.Platforms[page.Platform] = c.Platforms[Room.Platform] }})
			if x.policy != nil {
				w.SetPolicy(x.policy)
			}
			if x.lost {
				w.Tools.Put(Tool{Server: "files", Name: "write", Run: func(Invocation) (turn.Result, error) { return turn.Result{}, errUnknown }})
			}
			w.Model.When("write it", Calls(Call("write", `{}`)))
			in := w.SaidBy(Ana, "write it")
			in.Chat = x.in
			w.Deliver(w.Replicas[0], in)
			var b Button
			waits := func(choice chat.Choice) {
				w.Until("it waits", func() (waits bool) { b, waits = w.Button(x.in, choice, "write"); return waits })
			}
			waits(chat.Deny)
			if x.lost {
				waits(chat.AllowOnce)
				w.Deliver(w.Replicas[0], w.Click(Ana, b))
				waits(chat.Happened)
			}
			for _, u := range []chat.User{Ana, Ben, Root} {
				for _, id := range []chat.ID{x.in, Other, {}} {
					want := x.sees[u].away
					if id == x.in {
						want = x.sees[u].here
					}
					p := panelIn(w, id, u, "home")
					for where, got := range map[string]string{"the panel": panelText(p), "what is typed": typedIn(w, id, u, "pending")} {
						equal(t, where+" tells "+u.Key+" in "+id.Key, strings.Contains(got, ask), want != "")
						has(t, where+" for "+u.Key+" in "+id.Key, got, want)
					}
					has(t, "the count for "+u.Key, typedIn(w, id, u, "show"), text.PendingCount(map[bool]int{true: 1}[want != ""]))
					linked := false
					for _, r := range p.Sections[0].Rows {
						for _, a := range r.Acts {
							linked = linked || a.Kind == render.ActLink && a.Link == render.ChatLink{Chat: x.in.String(), Message: string(b.Message)}
						}
					}
					equal(t, u.Key+" has the link in "+id.Key, linked, want != "" && slices.Contains(x.links, u))
				}
			}
			w.Deliver(w.Replicas[0], w.Click(Root, b))
			w.Until("it is over", func() bool { return !strings.Contains(typed(w, Ana, "pending"), ask) })
			has(t, "the panel", panelText(panel(w, Ana, "home")), text.PanelPendingNone)
		})
	}
}
