package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// noteResult is what came of one message beside the turn's one: facts to record.
type noteResult struct{ events []turn.Event }

func (d *driver) tookNote(n noteResult) {
	d.postingNote = false
	d.shown = append(d.shown, n.events...)
}

// maxNoteTries bounds the attempts at what is only a courtesy.
const maxNoteTries = 5

// note begins one message beside the turn's one, or its removal.
func (d *driver) note(c turn.Command) bool {
	a, can := d.e.Platforms[d.id.Platform].(Annotator)
	if !can || d.postingNote || d.e.isStopping() {
		return false
	}
	s := d.f.s
	var do func(context.Context) []turn.Event
	switch c := c.(type) {
	case turn.Nudge:
		m, ok := d.nudge(s, c.Ask)
		if !ok {
			return false
		}
		do = func(ctx context.Context) []turn.Event {
			ref, done := d.annotate(ctx, a, s, c.Turn, c.Slot, m, true)
			if !done {
				return nil
			}
			return []turn.Event{turn.Posted{Turn: c.Turn, Slot: c.Slot, Message: ref}}
		}
	case turn.Remove:
		do = func(ctx context.Context) []turn.Event {
			_, done := d.trying(ctx, "take a note away", func(ctx context.Context) (chat.MessageRef, error) { return "", a.Remove(ctx, d.id, c.Message) })
			if !done {
				return nil
			}
			return []turn.Event{turn.Removed{Turn: c.Turn, Slot: c.Slot}}
		}
	case turn.Point:
		do = func(ctx context.Context) []turn.Event {
			_, done := d.trying(ctx, "let a message point at the next", func(ctx context.Context) (chat.MessageRef, error) {
				m := render.Message{State: card.View(s, s.TurnOf(c.Turn), card.Live{}).State, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text.GoesOnBelow)}}}}
				return "", d.e.Platforms[d.id.Platform].Edit(ctx, d.id, c.Message, m, Final)
			})
			if !done {
				return nil
			}
			return []turn.Event{turn.Removed{Turn: c.Turn, Slot: c.Slot}}
		}
	case turn.Continue:
		do = func(ctx context.Context) []turn.Event { return d.continued(ctx, a, s, c.Turn) }
	default:
		return false
	}
	d.postingNote = true
	ctx := d.ctx
	go func() { d.noted <- noteResult{do(ctx)} }()
	return true
}

// annotate posts one message beside the turn's one. done is false when the lease or the process ended first: whoever drives
// next looks whether it is there. An empty reference says that the platform does not take it.
func (d *driver) annotate(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID, slot string, m render.Message, link bool) (ref chat.MessageRef, done bool) {
	t, p := s.TurnOf(id), d.e.Platforms[d.id.Platform]
	return d.placed(ctx, p, id, slot, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return a.Annotate(ctx, d.id, t.Shown, key, render.Fit(m, p.Limits()), link)
	})
}

// placed puts one message beside the turn's one, once.
func (d *driver) placed(ctx context.Context, p Platform, id turn.TurnID, slot string, post func(context.Context, chat.PostKey) (chat.MessageRef, error)) (ref chat.MessageRef, done bool) {
	const seek = true // these are rare, and a second copy would be noise
	return d.trying(ctx, "post beside a turn's message", func(ctx context.Context) (chat.MessageRef, error) {
		return postOnce(ctx, p, d.id, PostKey(d.id, string(id)+"/"+slot), seek, post)
	})
}

// trying repeats what may fail for a while. done is false when ctx ended before anything was certain.
func (d *driver) trying(ctx context.Context, what string, do func(context.Context) (chat.MessageRef, error)) (ref chat.MessageRef, done bool) {
	wait := 250 * time.Millisecond
	for try := 1; ; try++ {
		tctx, cancel := context.WithTimeout(ctx, d.e.Lease/2)
		ref, err := do(tctx)
		cancel()
		if err == nil {
			return ref, true
		}
		if ctx.Err() != nil {
			return "", false
		}
		var pe *PlatformError
		if errors.As(err, &pe); pe.Refuses() || try >= maxNoteTries {
			d.e.Logger.Warn("could not "+what+"; going on without", "chat", d.id, "err", err)
			return "", true
		}
		next := wait
		if pe != nil && pe.Kind == FaultBusy && pe.RetryAfter > 0 {
			next = pe.RetryAfter
		}
		wait *= 2
		if !pause(ctx, next) {
			return "", false
		}
	}
}

// nudge says that an ask waits, and names those who may decide it, or else, where the requester cannot, any of what waits like it.
func (d *driver) nudge(s turn.Session, ask turn.AskID) (m render.Message, ok bool) {
	policy, err := d.e.Policy(d.ctx)
	waits := turn.Waits(s)
	at := slices.IndexFunc(waits, func(w turn.Wait) bool { return w.Ask == ask })
	if err != nil || at < 0 {
		return m, false
	}
	j := d.e.judge(d.ctx, d.withDecidersGroups(policy, s))
	first := s.Turn.Call(waits[at].Call)
	var people []chat.User
	for i, w := range waits {
		if i == at || w.Others && waits[at].Others {
			people = append(people, j.Announce(s, s.Turn.Call(w.Call))...)
		}
	}
	var line render.Line
	for i, u := range people {
		if slices.Index(people, u) == i && len(line) < 2*decision.MaxNamed {
			line = append(line, render.Person{User: u, Name: d.e.NameOf(s, u)}, render.Plain(", "))
		}
	}
	tool, _ := text.Visible(first.Tool.Name)
	server, _ := text.Visible(first.Tool.Server)
	line = append(line, render.Plain(text.NudgeLine(tool, server, len(waits)-1)))
	return render.Message{State: render.Waiting, Blocks: []render.Block{render.Note{Line: line}}}, true
}

// maxParts is how many messages a long answer goes on in where a file can hold the rest: more than that is read nowhere.
const maxParts = 3

// continued posts what of a long answer the turn's message has no room for, part by part; each is recorded with the last.
func (d *driver) continued(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID) []turn.Event {
	t := s.TurnOf(id)
	limits := d.e.Platforms[d.id.Platform].Limits()
	var out []turn.Event
	view := card.View(s, t, card.Live{})
	parts := render.Rest(view, limits)
	files, filed := a.(Attacher)
	for i, part := range parts {
		slot := fmt.Sprintf("%s-%d", turn.RestDone, i)
		if filed && i == maxParts && len(parts) > maxParts+1 {
			ref, done := d.attached(ctx, files, s, id, slot)
			if !done {
				return out
			}
			out = append(out, turn.Posted{Turn: id, Slot: slot, Message: ref})
			break
		}
		m := render.Message{State: render.Done, Hosts: view.Hosts, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text.Continued)}}, render.Text{Markdown: part}}}
		ref, done := d.annotate(ctx, a, s, id, slot, m, false)
		if !done {
			return out
		}
		out = append(out, turn.Posted{Turn: id, Slot: slot, Message: ref})
	}
	return append(out, turn.Posted{Turn: id, Slot: turn.RestDone})
}

// attached posts all of a long answer as a file.
func (d *driver) attached(ctx context.Context, a Attacher, s turn.Session, id turn.TurnID, slot string) (ref chat.MessageRef, done bool) {
	t, p := s.TurnOf(id), d.e.Platforms[d.id.Platform]
	file := File{Name: "answer.md", Type: "text/markdown; charset=utf-8", Data: []byte(t.Answer())}
	m := render.Message{State: render.Done, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text.GoesOnInFile)}}}}
	return d.placed(ctx, p, id, slot, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return a.Attach(ctx, d.id, t.Shown, key, m, file)
	})
}
