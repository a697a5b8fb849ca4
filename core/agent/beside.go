package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// noteResult is what came of one message beside the turn's one: facts to record.
type noteResult struct{ events []turn.Event }

func (d *driver) tookNote(n noteResult) {
	d.noting = false
	d.shown = append(d.shown, n.events...)
}

// maxNoteTries bounds the attempts at what is only a courtesy.
const maxNoteTries = 5

// note begins one message beside the turn's one, or its removal.
func (d *driver) note(c turn.Command) bool {
	a, can := d.e.Platforms[d.id.Platform].(Annotator)
	if !can || d.noting || d.e.isStopping() {
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
				m := render.Message{State: turn.View(s, turnOf(s, c.Turn), turn.Live{}).State, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(render.GoesOnBelow)}}}}
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
	d.noting = true
	ctx := d.ctx
	go func() { d.noted <- noteResult{do(ctx)} }()
	return true
}

// annotate posts one message beside the turn's one. done is false when the lease or the process ended first: whoever drives
// next looks whether it is there. An empty reference says that the platform does not take it.
func (d *driver) annotate(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID, slot string, m render.Message, link bool) (ref chat.MessageRef, done bool) {
	t, p := turnOf(s, id), d.e.Platforms[d.id.Platform]
	return d.placed(ctx, p, id, slot, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return a.Annotate(ctx, d.id, t.Shown, key, render.Fit(m, p.Limits()), link)
	})
}

// placed puts one message beside the turn's one, once.
func (d *driver) placed(ctx context.Context, p Platform, id turn.TurnID, slot string, post func(context.Context, chat.PostKey) (chat.MessageRef, error)) (ref chat.MessageRef, done bool) {
	const seek = true // these are rare, and a second copy would be noise
	return d.trying(ctx, "post beside a turn's message", func(ctx context.Context) (chat.MessageRef, error) {
		return postOnce(ctx, p, d.id, postKey(d.id, string(id)+"/"+slot), seek, post)
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
		if errors.As(err, &pe); pe.refuses() || try >= maxNoteTries {
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
	policy, err := d.e.policy(d.ctx)
	waits := turn.Waits(s)
	at := slices.IndexFunc(waits, func(w turn.Wait) bool { return w.Ask == ask })
	if err != nil || at < 0 {
		return m, false
	}
	policy = d.knowing(policy, s)
	first := callOf(s, waits[at].Call)
	var people []chat.User
	for i, w := range waits {
		if i == at || w.Others && waits[at].Others {
			people = append(people, d.deciders(policy, s, callOf(s, w.Call))...)
		}
	}
	var line render.Line
	for i, u := range people {
		if slices.Index(people, u) == i && len(line) < 2*maxNamed {
			line = append(line, render.Person{User: u, Name: d.e.nameOf(s, u)}, render.Plain(", "))
		}
	}
	tool, _ := render.Visible(first.Tool.Name)
	server, _ := render.Visible(first.Tool.Server)
	line = append(line, render.Plain(render.NudgeLine(tool, server, len(waits)-1)))
	return render.Message{State: render.Waiting, Blocks: []render.Block{render.Note{Line: line}}}, true
}

// maxNamed is how many people one nudge names.
const maxNamed = 5

// deciders are those whom a waiting call has to be told to: its requester, or, where their word does not do, the others that may decide,
// as far as this chat's platform knows them. A group is named as one; where anybody may, nobody is.
func (d *driver) deciders(policy permission.Policy, s turn.Session, c turn.ToolCall) []chat.User {
	req, level := turn.Requested(s, c), c.Ruling.Level
	if c.Want.Open() || c.Ruling.Approvals <= 1 && permission.MayDecide(policy, req, level, s.Turn.Requester) == nil {
		return []chat.User{s.Turn.Requester}
	}
	who := policy.Get(req.Tool, req.Source, req.Hints, req.Metadata).Approvers
	here := func(users []chat.User) (out []chat.User) {
		for _, u := range users {
			ours := u.Platform == d.id.Platform && (!u.IsGroup() || u.Workspace == d.id.Workspace) && u != s.Turn.Requester
			if ours && len(out) < maxNamed && !slices.Contains(out, u) && (u.IsGroup() || permission.MayDecide(policy, req, level, u) == nil) {
				out = append(out, u)
			}
		}
		return out
	}
	switch {
	case level == permission.LevelUser && who.Rule == permission.ApproversAnyone:
		return nil
	case level == permission.LevelUser && who.Rule == permission.ApproversParticipants:
		var took []chat.User
		for _, p := range s.People {
			took = append(took, p.User)
		}
		return here(took)
	case level == permission.LevelUser && len(here(who.Users)) > 0: // admins may, too: where nobody of these is
		return here(who.Users)
	}
	return here(policy.Admins)
}

// maxParts is how many messages a long answer goes on in where a file can hold the rest: more than that is read nowhere.
const maxParts = 3

// continued posts what of a long answer the turn's message has no room for, part by part; each is recorded with the last.
func (d *driver) continued(ctx context.Context, a Annotator, s turn.Session, id turn.TurnID) []turn.Event {
	t := turnOf(s, id)
	limits := d.e.Platforms[d.id.Platform].Limits()
	var out []turn.Event
	view := turn.View(s, t, turn.Live{})
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
		m := render.Message{State: render.Done, Hosts: view.Hosts, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(render.Continued)}}, render.Text{Markdown: part}}}
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
	t, p := turnOf(s, id), d.e.Platforms[d.id.Platform]
	file := File{Name: "answer.md", Type: "text/markdown; charset=utf-8", Data: []byte(t.Answer())}
	m := render.Message{State: render.Done, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(render.GoesOnInFile)}}}}
	return d.placed(ctx, p, id, slot, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
		return a.Attach(ctx, d.id, t.Shown, key, m, file)
	})
}
