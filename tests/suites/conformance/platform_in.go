package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

var errRecord = errors.New("the store is not there")

func saidArrives(p *stage) {
	const first, second = `hello <b> & "co" &lt; ünï *x*`, "and a second thing"
	one := p.chat(first)
	d := p.Say(Ben, one.Chat, second)
	p.must(d.Taken(p.ctx))
	two := take(p, "a reply", func(s chat.Said) bool { return s.Message == d.Message })
	for _, c := range []struct {
		got  chat.Said
		by   Who
		text string
	}{{one, Ana, first}, {two, Ben, second}} {
		if c.got.User != p.People[c.by] {
			p.Errorf("%q is by %v, want %v", c.text, c.got.User, p.People[c.by])
		}
		if c.got.Text != c.text {
			p.Errorf("%q came as %q", c.text, c.got.Text)
		}
		if c.got.Chat.IsZero() || c.got.Chat != one.Chat {
			p.Errorf("%q came from chat %v, the first from %v", c.text, c.got.Chat, one.Chat)
		}
		if c.got.Delivery == "" {
			p.Errorf("%q has no delivery", c.text)
		}
	}
	if other := p.chat("elsewhere"); other.Chat == one.Chat {
		p.Errorf("two chats are one: %v", other.Chat)
	}
}

// stableDeliveries: whatever is delivered again has its first name, and nothing else has it. Equal words and equal clicks are
// still several.
func stableDeliveries(p *stage) {
	first := p.chat("begin")
	ref := p.post(first.Chat, "k", card("ask"))
	allow := p.button(first.Chat, ref, chat.AllowOnce)
	seen := map[chat.Delivery]string{first.Delivery: "the first message"}
	act := func(what string, do func() *Delivered) {
		p.Helper()
		from := len(p.in.All())
		names := func() []chat.Delivery {
			p.passed(first.Chat)
			set := map[chat.Delivery]bool{}
			for _, t := range p.in.All()[from:] {
				set[t.Inbound.From().Delivery] = true
			}
			return slices.Collect(maps.Keys(set))
		}
		d := do()
		p.must(d.Taken(p.ctx))
		got := names()
		if len(got) != 1 || got[0] == "" {
			p.Errorf("%s came as the deliveries %q, want one", what, got)
			return
		}
		if other := seen[got[0]]; other != "" {
			p.Errorf("%s has the delivery of %s: %q", what, other, got[0])
		}
		seen[got[0]] = what
		d.Again()
		if again := names(); !slices.Equal(again, got) {
			p.Errorf("%s, delivered again, came as %q, and before as %q", what, again, got)
		}
	}
	var ana chat.MessageRef
	say := func(by Who) func() *Delivered {
		return func() *Delivered {
			d := p.Say(by, first.Chat, "the same words")
			ana = d.Message
			return d
		}
	}
	act("a reply", say(Ana))
	act("the same reply again", say(Ana))
	act("the same reply of another person", say(Ben))
	act("the same reply a third time", say(Ana))
	if p.Edit != nil {
		for i := range 2 {
			act(fmt.Sprint("edit ", i), func() *Delivered { return p.Edit(first.Chat, ana, fmt.Sprint("other words ", i)) })
		}
		act("the edit back", func() *Delivered { return p.Edit(first.Chat, ana, "other words 0") })
	}
	if p.Delete != nil {
		act("a deletion", func() *Delivered { return p.Delete(first.Chat, ana) })
	}
	act("a click", func() *Delivered { return p.Press(Ana, first.Chat, ref, allow) })
	act("the same click again", func() *Delivered { return p.Press(Ana, first.Chat, ref, allow) })
	act("the same click of another person", func() *Delivered { return p.Press(Ben, first.Chat, ref, allow) })
}

// ackAfterAccept: while the engine is at it, the platform has no acknowledgement.
func ackAfterAccept(p *stage) {
	held := func(what string, do func() *Delivered) {
		p.Helper()
		from, hold := len(p.in.All()), make(chan struct{})
		p.in.Hold(hold)
		d := do()
		if !p.in.wait(p.ctx, func(all []Taking) bool { return len(all) > from }) {
			p.Fatalf("%s does not reach the engine", what)
		}
		p.passed(chat.ID{}) // what was sent before is there now
		if d.Acked() {
			p.Errorf("%s is acknowledged while it is being recorded", what)
		}
		p.in.Hold(nil)
		close(hold)
		p.must(d.Taken(p.ctx))
	}
	held("a message", func() *Delivered { return p.Say(Ana, chat.ID{}, "hello") })
	first := p.chat("begin")
	ref := p.post(first.Chat, "k", card("ask"))
	allow := p.button(first.Chat, ref, chat.AllowOnce)
	held("a click", func() *Delivered { return p.Press(Ben, first.Chat, ref, allow) })
}

// insideBudget: what is recorded too late would be acknowledged too late, and come again for nothing.
func insideBudget(p *stage) {
	first := p.chat("begin")
	ref := p.post(first.Chat, "k", card("ask"))
	d := p.Press(Ben, first.Chat, ref, p.button(first.Chat, ref, chat.Deny))
	p.must(d.Taken(p.ctx))
	for _, t := range p.in.All() {
		if _, click := t.Inbound.(chat.Clicked); t.Left <= 0 || t.Left >= p.Budget && (click || !p.Unhurried) {
			p.Errorf("%T has %v to be recorded in; the platform waits for %v", t.Inbound, t.Left, p.Budget)
		}
	}
}

func comesAgain(p *stage) {
	if !p.needs("Retry", p.Retry != nil) {
		return
	}
	p.in.Refuse(errRecord)
	d := p.Say(Ana, chat.ID{}, "remember this")
	failed := func(all []Taking) bool { return len(all) > 0 && all[0].Done }
	if !p.in.wait(p.ctx, failed) {
		p.Fatal("nothing reaches the engine")
	}
	first := p.in.All()[0].Inbound.From()
	p.passed(first.Chat)
	if d.Acked() {
		p.Error("a message is acknowledged that was not recorded")
	}
	p.in.Refuse(nil)
	p.Retry()
	again := take(p, "the message, once it can be recorded", func(s chat.Said) bool { return s.Message == d.Message })
	if again.Delivery != first.Delivery {
		p.Errorf("it comes again as %q, and came as %q", again.Delivery, first.Delivery)
	}
	p.must(d.Taken(p.ctx))
}

// clickNotRecorded: where the platform does not send a click again, the person must hear of it.
func clickNotRecorded(p *stage) {
	first := p.chat("begin")
	ref := p.post(first.Chat, "k", card("ask"))
	allow := p.button(first.Chat, ref, chat.AllowOnce)
	p.in.Refuse(errRecord)
	d := p.Press(Ben, first.Chat, ref, allow)
	told := func() bool { return len(p.Seen(Ben, first.Chat)) > 0 }
	refused := func() bool {
		all := p.in.All()
		return all[len(all)-1].Done && all[len(all)-1].Err != nil && !d.Acked()
	}
	p.must(p.Wait(p.ctx, func() bool { return told() || d.Acked() || refused() }))
	if !d.Acked() && !told() {
		p.passed(first.Chat)
	}
	if d.Acked() || p.Once {
		if err := p.Wait(p.ctx, told); err != nil {
			p.Error("the click was not recorded and will not come again, and nobody was told")
		}
	}
	if n := len(p.Seen(Ana, first.Chat)); n > 0 {
		p.Errorf("Ana was told %d things about Ben's click", n)
	}
	if got := of[chat.Clicked](p.in.All()); len(got) == 0 || got[0].User != p.People[Ben] {
		p.Errorf("the clicks are %+v", got)
	}
}

func forged(p *stage) {
	if !p.needs("Forgeries", p.Forgeries != nil) {
		return
	}
	genuine := 0
	for i, f := range p.Forgeries(Ana, "forged words") {
		from := len(p.in.All())
		refused, err := f.Send(p.ctx)
		p.must(err)
		p.passed(chat.ID{})
		switch got := p.in.All()[from:]; {
		case f.Genuine && (refused || len(got) == 0):
			p.Errorf("%d %s: refused=%v, %d recorded: then the others prove nothing", i, f.Name, refused, len(got))
		case f.Genuine:
			genuine++
		case !refused:
			p.Errorf("%d %s: not refused", i, f.Name)
		}
		if got := p.in.All()[from:]; !f.Genuine && len(got) > 0 {
			p.Errorf("%d %s: reached the engine: %+v", i, f.Name, got)
		}
	}
	if genuine == 0 {
		p.Error("no genuine request among the forgeries: nothing shows that the others fail for the right reason")
	}
}

func forgedUser(p *stage) {
	if !p.needs("SayAs", p.SayAs != nil) {
		return
	}
	p.needs("PressAs", p.PressAs != nil)
	d := p.SayAs(Ben, Ana, chat.ID{}, "I am Ana")
	p.must(d.Taken(p.ctx))
	said := take(p, "the message", func(s chat.Said) bool { return s.Message == d.Message })
	if said.User != p.People[Ben] {
		p.Errorf("Ben speaks as %v", said.User)
	}
	ref := p.post(said.Chat, "k", card("ask"))
	d = p.PressAs(Ben, Ana, said.Chat, ref, p.button(said.Chat, ref, chat.AllowOnce))
	p.must(d.Taken(p.ctx))
	c := take(p, "the click", func(c chat.Clicked) bool { return c.Token == "ask" })
	if c.User != p.People[Ben] || c.Chat != said.Chat || c.Message != ref {
		p.Errorf("Ben's click came as %+v", c)
	}
}

func botsStayOut(p *stage) {
	first := p.chat("begin")
	ref := p.post(first.Chat, "k", textMessage("a message of the bot's own"))
	p.must(p.Platform.Edit(p.ctx, first.Chat, ref, textMessage("and an edit of it"), agent.Final))
	if p.SayBot != nil {
		p.must(p.SayBot(first.Chat, "another bot, in the chat").Taken(p.ctx))
		p.must(p.SayBot(chat.ID{}, "another bot, elsewhere").Taken(p.ctx))
	} else {
		p.Logf("declared: without SayBot: %s", p.Without["SayBot"])
	}
	p.passed(first.Chat)
	p.passed(chat.ID{})
	for _, t := range p.in.All() {
		if s, ok := t.Inbound.(chat.Said); !ok || s.Message != first.Message {
			p.Errorf("a bot's message arrived: %+v", t.Inbound)
		}
	}
}

func editIsNoMessage(p *stage) {
	if !p.needs("Edit", p.Edit != nil) {
		return
	}
	first := p.chat("begin")
	d := p.Edit(first.Chat, first.Message, "begin otherwise")
	p.must(d.Taken(p.ctx))
	p.passed(first.Chat)
	all := p.in.All()
	for _, s := range of[chat.Said](all) {
		if s.Delivery != first.Delivery {
			p.Errorf("an edit arrived as a message: %+v", s)
		}
	}
	if e := of[chat.Edited](all); len(e) == 0 {
		p.Error("the edit did not arrive")
	} else if e[0].Message != first.Message || e[0].Text != "begin otherwise" || e[0].Chat != first.Chat || e[0].User != p.People[Ana] {
		p.Errorf("the edit arrived as %+v", e[0])
	}
	if p.Delete == nil {
		return
	}
	p.must(p.Delete(first.Chat, first.Message).Taken(p.ctx))
	p.passed(first.Chat)
	if e := of[chat.Deleted](p.in.All()); len(e) == 0 || e[0].Message != first.Message || e[0].Chat != first.Chat || e[0].All {
		p.Errorf("the deletion arrived as %+v", e)
	}
}

// identifiers: what an adapter mints is stored as text and read back by another process.
func identifiers(p *stage) {
	said := p.chat("begin")
	id, err := chat.ParseID(said.Chat.String())
	p.must(err)
	user, err := chat.ParseUser(said.User.String())
	p.must(err)
	if id != said.Chat || user != said.User {
		p.Errorf("%v and %v are read back as %v and %v", said.Chat, said.User, id, user)
	}
	ref := p.post(id, "k", card("ask"))
	d := p.Press(Ben, id, ref, p.button(id, ref, chat.Deny))
	p.must(d.Taken(p.ctx))
	click := take(p, "the click", func(chat.Clicked) bool { return true })
	if click.Chat != id || click.Message != ref {
		p.Errorf("a click on %q in %v came from %q in %v", ref, id, click.Message, click.Chat)
	}
	if click.User == user {
		p.Errorf("Ana and Ben are both %v", user)
	}
}

// endWaits: what was taken is recorded and acknowledged, also while the program stops.
func endWaits(p *stage) {
	room := p.chat("begin").Chat
	ref := p.post(room, "k", card("ask"))
	allow, hold := p.button(room, ref, chat.AllowOnce), make(chan struct{})
	p.in.Hold(hold)
	d := p.Press(Ben, room, ref, allow)
	if !p.in.wait(p.ctx, func(all []Taking) bool { return len(of[chat.Clicked](all)) > 0 }) {
		p.Fatal("nothing reaches the engine")
	}
	ended := make(chan error, 1)
	go func() { ended <- p.end() }()
	p.begun = false
	if p.Closing != nil {
		p.must(p.Closing(p.ctx))
	}
	for range 100 { // not a wait, for recording has an end, too: an adapter that does not wait gets the chance to show it
		runtime.Gosched()
	}
	var err error
	select {
	case err = <-ended: // too early, or as late as recording may be
	default:
		p.in.Hold(nil)
		close(hold)
		err = <-ended
	}
	p.must(err)
	late := false // the time that recording may take was over, on a busy machine: it was waited for to its end, which is what this is about
	for _, t := range p.in.All() {
		late = late || errors.Is(t.Err, context.DeadlineExceeded)
		if !t.Done || t.Err != nil && !late {
			p.Errorf("what was taken before the end: done=%v, %v", t.Done, t.Err)
		}
	}
	if late {
		return
	}
	p.must(p.Wait(p.ctx, d.Acked))
}

// lockout: an operator must see why.
func lockout(p *stage) {
	if !p.needs("Lockout", p.Lockout != nil) {
		return
	}
	p.Lockout()
	ended := make(chan error, 1)
	go func() { ended <- p.Surface.Run(p.ctx) }()
	select {
	case err := <-ended:
		if p.note(err) == nil {
			p.Error("Run ended without an error")
		}
	case <-p.ctx.Done():
		p.Error("Run goes on with refused credentials")
		<-ended
	}
}

func textMessage(s string) render.Message {
	return render.Message{State: render.Working, Blocks: []render.Block{render.Text{Markdown: s}}}
}

// card is a message that asks.
func card(token string) render.Message {
	choice := func(c chat.Choice, label string) render.Choice {
		return render.Choice{Choice: c, Token: token, Label: label}
	}
	return render.Message{State: render.Waiting, Token: "turn", Blocks: []render.Block{
		render.Text{Markdown: "I'll write it."},
		render.Ask{
			Call: "call", Token: token, Kind: render.AskPermission, Header: text.AllowHeader("files"), Run: text.RunLine("write_file", "files"), Tool: "write_file",
			Server: "files", Args: render.ArgsOf([]byte(`{"path":"notes.txt"}`), "7f3a7f3a7f3a"),
			Choices: []render.Choice{choice(chat.AllowChat, text.LabelAllowChat), choice(chat.AllowOnce, text.LabelAllowOnce), choice(chat.Deny, text.LabelDeny)},
		},
	}}
}

// button is the one on a message that carries a choice.
func (p *stage) button(in chat.ID, ref chat.MessageRef, c chat.Choice) Button {
	p.Helper()
	m := p.shown(in, ref)
	for _, b := range m.Buttons {
		if b.Choice == c {
			return b
		}
	}
	p.Fatalf("no button for %s on %q; there are %+v", c, ref, m.Buttons)
	panic("unreachable")
}
