package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// maxNoteTries bounds the attempts at what is only a courtesy.
const maxNoteTries = 5

// note begins one message beside the turn's one, or its removal. What it brings are facts to record.
func (d *driver) note(c turn.Command) bool {
	a, can := d.platform().(Annotator)
	_, fact := c.(turn.Escalate) // which holds wherever it can be told
	if !can && !fact || d.postingNote || d.e.isStopping() {
		return false
	}
	s := d.f.s
	// For a turn that this driver opened or ended nobody else has posted anything yet. A look for it is dear where many turns end at once.
	seek := func(id turn.TurnID) bool { return id != d.ended && s.TurnOf(id).Seq() < d.firstOwn }
	posted := func(ev turn.Posted, m render.Message) func(context.Context) []turn.Event {
		seek := seek(ev.Turn)
		return func(ctx context.Context) []turn.Event {
			ref, done := d.annotate(ctx, a, s, ev.Turn, ev.Slot, seek, m, true)
			if !done {
				return nil
			}
			ev.Message = ref
			return []turn.Event{ev}
		}
	}
	removed := func(id turn.TurnID, slot, what string, remove func(context.Context) error) func(context.Context) []turn.Event {
		return func(ctx context.Context) (events []turn.Event) {
			if _, done := d.aside(ctx, what, func(ctx context.Context) (chat.MessageRef, error) { return "", remove(ctx) }); done {
				events = append(events, turn.Removed{Turn: id, Slot: slot})
			}
			return events
		}
	}
	var do func(context.Context) []turn.Event
	switch c := c.(type) {
	case turn.Nudge:
		m, ok := d.nudge(s, c.Ask)
		if !ok {
			return false
		}
		do = posted(turn.Posted{Turn: c.Turn, Slot: c.Slot}, m)
	case turn.Escalate:
		who, m, ok := d.escalation(s, c.Ask)
		ev := turn.Posted{Turn: c.Turn, Slot: c.Slot, Who: who}
		switch {
		case !ok:
			return false
		case can && len(m.Blocks) > 0:
			do = posted(ev, m)
		default:
			do = func(context.Context) []turn.Event { return []turn.Event{ev} }
		}
	case turn.TellEnd:
		t := s.TurnOf(c.Turn)
		do = posted(turn.Posted{Turn: c.Turn, Slot: c.Slot}, card.EndNote(s, t, render.Person{User: t.Requester, Name: d.e.NameOf(s, t.Requester)}))
	case turn.Remove:
		do = removed(c.Turn, c.Slot, "take a note away", func(ctx context.Context) error { return a.Remove(ctx, d.id, c.Message) })
	case turn.Point:
		m := card.Below(card.View(s, s.TurnOf(c.Turn), card.Live{}).State)
		do = removed(c.Turn, c.Slot, "let a message point at the next", func(ctx context.Context) error {
			return d.platform().Edit(ctx, d.id, c.Message, m, Final)
		})
	case turn.Continue:
		seek := seek(c.Turn)
		do = func(ctx context.Context) []turn.Event { return d.continued(ctx, a, s, c.Turn, seek) }
	default:
		return false
	}
	d.postingNote = true
	ctx := d.ctx
	d.begin(func() func() {
		events := do(ctx)
		return func() {
			d.postingNote = false
			d.shown = append(d.shown, events...)
			d.withdraw()
		}
	})
	return true
}

// annotate posts one message beside the turn's one. done is false when the lease or the process ended first: whoever drives
// next looks whether it is there. An empty reference says that the platform does not take it.
func (d *driver) annotate(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID, slot string, seek bool, m render.Message, link bool) (ref chat.MessageRef, done bool) {
	return d.placed(ctx, id, slot, seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return a.Annotate(ctx, d.id, s.TurnOf(id).Shown, key, render.Fit(m, d.platform().Limits()), link)
	})
}

// placed puts one message beside the turn's one, once.
func (d *driver) placed(ctx context.Context, id turn.TurnID, slot string, seek bool, post func(context.Context, chat.PostKey) (chat.MessageRef, error)) (ref chat.MessageRef, done bool) {
	return d.aside(ctx, "post beside a turn's message", func(ctx context.Context) (chat.MessageRef, error) {
		return d.postOnce(ctx, string(id)+"/"+slot, &seek, post)
	})
}

// aside tries for a while what the turn can go on without. done is false when ctx ended before anything was certain.
func (d *driver) aside(ctx context.Context, what string, do func(context.Context) (chat.MessageRef, error)) (ref chat.MessageRef, done bool) {
	ref, err := d.trying(ctx, what, maxNoteTries, do)
	switch {
	case err == nil:
		return ref, true
	case ctx.Err() != nil:
		return "", false
	}
	d.e.Logger.Warn("could not "+what+"; going on without", "chat", d.id, "err", err)
	return "", true
}

// nudge says that an ask waits, and names those who may decide it, or else, where the requester cannot, any of what waits like it.
func (d *driver) nudge(s turn.Session, ask turn.AskID) (m render.Message, ok bool) {
	policy, err := d.e.Policy(d.ctx)
	waits := turn.Waits(s)
	at := slices.IndexFunc(waits, func(w turn.Wait) bool { return w.Ask == ask })
	if err != nil || at < 0 {
		return m, false
	}
	j := d.e.judge(d.ctx, s, d.e.groups().Deciding(d.ctx, d.id, policy, s))
	first := s.Turn.Call(waits[at].Call)
	var people []chat.User
	for i, w := range waits {
		if i == at || w.Others && waits[at].Others {
			people = append(people, j.Announce(s, s.Turn.Call(w.Call))...)
		}
	}
	return card.Announcement(first, len(waits)-1, d.named(s, people)), true
}

// named are people as a message beside names them: each once, and not too many.
func (d *driver) named(s turn.Session, people []chat.User) (named []render.Person) {
	for i, u := range people {
		if slices.Index(people, u) == i && len(named) < decision.MaxNamed {
			named = append(named, render.Person{User: u, Name: d.e.NameOf(s, u)})
		}
	}
	return named
}

// escalation is who may answer an ask from now on, too, and what tells them, where any of them can be told here.
func (d *driver) escalation(s turn.Session, ask turn.AskID) (who []string, m render.Message, ok bool) {
	policy, err := d.e.Policy(d.ctx)
	c, _, found := s.FindAsk(ask)
	if err != nil || !found {
		return nil, m, false
	}
	who, tell := d.e.judge(d.ctx, s, d.e.groups().Deciding(d.ctx, d.id, policy, s)).Escalate(s, c)
	if len(tell) > 0 {
		m = card.Escalation(c, d.e.Escalate, d.named(s, tell))
	}
	return who, m, true
}

// maxParts is how many messages a long answer goes on in where a file can hold the rest: more than that is read nowhere.
const maxParts = 3

// continued posts what of a long answer the turn's message has no room for, part by part; each is recorded with the last.
func (d *driver) continued(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID, seek bool) []turn.Event {
	t := s.TurnOf(id)
	var out []turn.Event
	view := card.View(s, t, card.Live{})
	parts := render.Rest(view, d.platform().Limits())
	files, filed := a.(Attacher)
	for i, part := range parts {
		slot := fmt.Sprintf("%s-%d", turn.RestDone, i)
		var ref chat.MessageRef
		var done bool
		last := filed && i == maxParts && len(parts) > maxParts+1
		if last { // all of it, as a file
			file := File{Name: "answer.md", Type: "text/markdown; charset=utf-8", Data: []byte(t.Answer())}
			ref, done = d.placed(ctx, id, slot, seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
				return files.Attach(ctx, d.id, t.Shown, key, card.Brief(render.Done, render.Plain(text.GoesOnInFile)), file)
			})
		} else {
			ref, done = d.annotate(ctx, a, s, id, slot, seek, card.Part(view, part), false)
		}
		if !done {
			return out
		}
		out = append(out, turn.Posted{Turn: id, Slot: slot, Message: ref})
		if last {
			break
		}
	}
	return append(out, turn.Posted{Turn: id, Slot: turn.RestDone})
}
