package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// fitted: whatever Fit gives is taken by the platform as it is drawn first, posted or as an edit, and every button of it stands
// there and carries what it should. A card without its buttons is a turn that waits for ever.
func fitted(p *stage) {
	room := p.chat("begin").Chat
	limits := p.Platform.Limits()
	ref := p.post(room, "first", textMessage("alpha"))
	n := 0
	rapid.Check(p.T, func(t *rapid.T) {
		m := render.Fit(p.anyMessage(t), limits)
		if !render.Within(m, limits) {
			t.Fatalf("the adapter's limits are below render.Floor: %+v", limits)
		}
		refused, failed := len(p.Refusals()), len(p.log.errors())
		var err error
		if n++; rapid.Bool().Draw(t, "edit") {
			err = p.Platform.Edit(p.ctx, room, ref, m, agent.Final)
		} else {
			ref, err = p.Platform.Post(p.ctx, room, chat.PostKey(fmt.Sprint("key ", n)), m)
		}
		if p.note(err) != nil {
			t.Fatalf("not accepted: %v\n%s", err, plainly(m))
		}
		if r := p.Refusals(); len(r) > refused {
			t.Fatalf("refused at first: %q\n%s", r[refused:], plainly(m))
		}
		if e := p.log.errors(); len(e) > failed {
			t.Fatalf("logged as an error: %q\n%s", e[failed:], plainly(m))
		}
		s, ok := p.Look(room, ref)
		if !ok {
			t.Fatalf("no message %q stands there", ref)
		}
		if err := degraded(s, m); err != nil {
			t.Fatalf("%v\n%s\nshown: %.3000q\n%+v", err, plainly(m), s.Text, s.Buttons)
		}
	})
}

func plainly(m render.Message) string {
	return fmt.Sprintf("%d blocks, %d asks: %.3000s", len(m.Blocks), render.Measure(m).Asks, render.PlainText(m))
}

type pressable struct {
	choice chat.Choice
	token  string
}

func pressables(of ...[]render.Choice) (out []pressable) {
	for _, cs := range of {
		for _, c := range cs {
			out = append(out, pressable{c.Choice, c.Token})
		}
	}
	return out
}

// beside are the buttons of steps and notes: those that a platform without room may leave out, if it says so.
func beside(m render.Message) (out []pressable) {
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			out = append(out, pressables(b.Choices)...)
		case render.Note:
			out = append(out, pressables(b.Choices)...)
		default: // an ask's are another matter
		}
	}
	return out
}

func cards(m render.Message) (out []render.Ask) {
	for _, b := range m.Blocks {
		if a, ok := b.(render.Ask); ok {
			out = append(out, a)
		}
	}
	return out
}

// carries reports what is missing among the buttons of a message that needs no cutting, and what nobody put there.
func carries(s Shown, m render.Message) error {
	want := slices.Concat(pressables(m.Choices), beside(m))
	for _, a := range cards(m) {
		want = append(want, pressables(a.Choices, a.More)...)
	}
	var bad []error
	for _, w := range want {
		if !s.has(w) {
			bad = append(bad, fmt.Errorf("%s of %q is lost", w.choice, w.token))
		}
	}
	return errors.Join(append(bad, s.foreign(want, false))...)
}

func (s Shown) has(w pressable) bool {
	if slices.ContainsFunc(s.Buttons, func(b Button) bool { return b.Choice == w.choice && b.Token == w.token }) {
		return true
	}
	of := func(view bool) bool {
		return slices.ContainsFunc(s.Buttons, func(b Button) bool { return b.Token == w.token && (b.Choice == chat.ViewDetail) == view })
	}
	return s.Opened && w.choice != chat.Deny && of(true) && of(false) // a call that is but a line has no card
}

// foreign are buttons that nobody put there. A platform that had to cut may add View details.
func (s Shown) foreign(want []pressable, cut bool) error {
	var bad []error
	for _, b := range s.Buttons {
		if !slices.Contains(want, pressable{b.Choice, b.Token}) && !(cut && b.Choice == chat.ViewDetail) {
			bad = append(bad, fmt.Errorf("a button %+v that nobody put there", b))
		}
		if strings.TrimSpace(b.Label) == "" {
			bad = append(bad, fmt.Errorf("a button without a label: %+v", b))
		}
	}
	return errors.Join(bad...)
}

// degraded is carries for a message that the platform may have had to cut further, because its own markup takes room. A card
// then has all of its choices, or none and View details instead; the first has all. While one is missing nobody can approve
// all. What else is left out is said.
func degraded(s Shown, m render.Message) error {
	var bad []error
	missing := 0
	viewable := slices.ContainsFunc(s.Buttons, func(b Button) bool { return b.Choice == chat.ViewDetail })
	want := slices.Concat(pressables(m.Choices), beside(m))
	for i, a := range cards(m) {
		all := pressables(a.Choices, a.More)
		want = append(want, all...)
		var lost []chat.Choice
		for _, w := range all {
			if w.choice != chat.ViewDetail && !s.has(w) {
				lost = append(lost, w.choice)
			}
		}
		switch decisions := len(slices.DeleteFunc(slices.Clone(all), func(w pressable) bool { return w.choice == chat.ViewDetail })); {
		case len(lost) == 0:
		case i > 0 && len(lost) == decisions:
			if missing++; !viewable || !strings.Contains(s.Text, "follow") { // text.MoreWait
				bad = append(bad, fmt.Errorf("the ask %q is not shown, and nobody says so or can view it", a.Token))
			}
		default:
			bad = append(bad, fmt.Errorf("the ask %q lost %q", a.Token, lost))
		}
	}
	for _, w := range pressables(m.Choices) {
		switch {
		case w.token == "": // View details of a message that says of no turn: nothing would come of it
		case w.choice == chat.ApproveAll && missing > 0:
			if s.has(w) {
				bad = append(bad, fmt.Errorf("%d asks are not shown and can be approved", missing))
			}
		case !s.has(w):
			bad = append(bad, fmt.Errorf("the message lost %s", w.choice))
		}
	}
	for _, w := range beside(m) {
		if w.choice == chat.ViewDetail && viewable { // of a step that became one of several: all of them can be viewed
			continue
		}
		if !s.has(w) && !strings.Contains(s.Text, "not shown here") { // text.ButtonsHidden
			bad = append(bad, fmt.Errorf("%s of %q is lost and nobody says so", w.choice, w.token))
		}
	}
	return errors.Join(append(bad, s.foreign(want, true))...)
}

// decisions are the choices that a click alone makes. The others open a form first.
var decisions = []chat.Choice{
	chat.Deny, chat.AllowOnce, chat.AllowChat, chat.Undo, chat.Extend, chat.AskAgain, chat.Happened, chat.RunAgain, chat.Leave,
	chat.Stop, chat.Revoke, chat.ApproveAll, chat.DenyAll,
}

// tokens: every decision, wherever its button stands, comes back as what it was, from who pressed, where they did.
func tokens(p *stage) {
	room := p.chat("begin").Chat
	choices := func(token string, cs ...chat.Choice) (out []render.Choice) {
		for _, c := range cs {
			out = append(out, render.Choice{Choice: c, Token: token, Label: "do " + string(c)})
		}
		return out
	}
	ask := func(n string, cs, more []chat.Choice) render.Ask {
		a, _ := card("ask" + n).Blocks[1].(render.Ask)
		a.Call, a.Choices, a.More = "call"+n, choices("ask"+n, cs...), choices("ask"+n, more...)
		return a
	}
	m := render.Message{State: render.Waiting, Token: "turn", Choices: choices("all", chat.ApproveAll, chat.DenyAll), Blocks: []render.Block{
		render.Step{Call: "call0", State: render.StepExpired, Title: "write_file", Server: "files", Choices: choices("call0", chat.AskAgain)},
		render.Step{Call: "call9", State: render.StepPending, Title: "write_file", Server: "files", Choices: choices("ask9", chat.Undo)},
		ask("1", []chat.Choice{chat.AllowChat, chat.AllowOnce, chat.Deny}, []chat.Choice{chat.Extend}),
		ask("2", []chat.Choice{chat.AllowChat, chat.AllowOnce, chat.Deny}, nil),
		ask("3", []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave}, nil),
		render.Note{Line: render.Line{render.Plain("allowed here")}, Choices: choices("grant", chat.Revoke)},
	}}
	m.Choices = append(m.Choices, choices("turn", chat.Stop)...)
	first := p.post(room, "k1", m)
	other := p.post(room, "k2", card("elsewhere"))
	for i, b := range p.shown(room, first).Buttons {
		who := Who(i % 2)
		from := len(of[chat.Clicked](p.in.All()))
		p.must(p.Press(who, room, first, b).Taken(p.ctx))
		p.passed(room)
		got := of[chat.Clicked](p.in.All())[from:]
		if len(got) != 1 {
			p.Errorf("%q came as %d clicks", b.Label, len(got))
			continue
		}
		c := got[0]
		if label := strings.Fields(b.Label); len(label) < 2 || string(c.Choice) != label[1] || c.Choice != b.Choice || c.Token != b.Token {
			p.Errorf("the button %q of %q came back as %s of %q", b.Label, b.Token, c.Choice, c.Token)
		}
		if c.User != p.People[who] || c.Chat != room || c.Message != first {
			p.Errorf("%q came back by %v in %v on %q; it was pressed by %v in %v on %q", b.Label, c.User, c.Chat, c.Message, p.People[who], room, first)
		}
	}
	if err := carries(p.shown(room, first), m); err != nil {
		p.Error(err)
	}
	pressed := map[chat.Choice]bool{}
	for _, c := range of[chat.Clicked](p.in.All()) {
		pressed[c.Choice] = true
	}
	for _, c := range decisions {
		if !pressed[c] {
			p.Errorf("%s never came back", c)
		}
	}
	p.must(p.Press(Ben, room, other, p.button(room, other, chat.Deny)).Taken(p.ctx))
	if c := take(p, "a click on another message", func(c chat.Clicked) bool { return c.Token == "elsewhere" }); c.Message != other {
		p.Errorf("a click on %q came from %q", other, c.Message)
	}
}

// anyToken: a token is up to 64 bytes of graphic ASCII and means nothing to the adapter.
func anyToken(p *stage) {
	room := p.chat("begin").Chat
	ref := p.post(room, "k", textMessage("alpha"))
	n := 0
	rapid.Check(p.T, func(t *rapid.T) {
		token := rapid.OneOf(rapid.StringMatching(`[!-~]{1,64}`), rapid.StringMatching(`[:|/"&<>%;{},\\-]{1,64}`)).Draw(t, "token")
		n++
		if err := p.Platform.Edit(p.ctx, room, ref, card(token), agent.Final); p.note(err) != nil {
			t.Fatal(err)
		}
		from := len(p.in.All())
		m, _ := p.Look(room, ref)
		i := slices.IndexFunc(m.Buttons, func(b Button) bool { return b.Label == text.LabelAllowOnce })
		if i < 0 {
			t.Fatalf("the buttons are %+v", m.Buttons)
		}
		if err := p.Press(Ben, room, ref, m.Buttons[i]).Taken(p.ctx); err != nil {
			t.Fatal(err)
		}
		got := of[chat.Clicked](p.in.All()[from:])
		if len(got) != 1 || got[0].Token != token || got[0].Choice != chat.AllowOnce {
			t.Fatalf("%q came back as %+v", token, got)
		}
	})
}
