package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

type replyInput struct {
	turn    turn.TurnID
	step    int
	reply   Reply
	err     error
	shown   string // what had streamed when it failed
	offered []ToolSpec
	faults  []string
	left    int
}

type modelRun struct {
	cancel context.CancelFunc
}

type toolRun struct {
	run    turn.RunID
	cancel context.CancelFunc
}

type postResult struct {
	turn turn.TurnID
	ref  chat.MessageRef
	err  error
	view render.Message
}

// act starts what a recorded plan asks for. It reports whether anything was begun.
func (d *driver) act(p plan) bool {
	begun := false
	for _, c := range p.acts {
		switch c := c.(type) {
		case turn.Show:
			begun = d.post(c.Turn) || begun
		case turn.AskModel:
			begun = d.askModel(c.Step) || begun
		case turn.RunTool:
			begun = d.runTool(c.Call, p.wait) || begun
		case turn.Nudge, turn.Remove, turn.Continue, turn.Point:
			begun = d.note(c) || begun
		case turn.Cancel:
			if d.running != nil && d.running.run == c.Run {
				d.running.cancel()
			}
		default: // decisions: they were recorded with the plan
		}
	}
	return begun
}

// post makes the turn's one message, trying until it is there, the platform says that it cannot be, or the lease is over.
func (d *driver) post(id turn.TurnID) bool {
	if d.posting != "" || d.refused == id || d.e.isStopping() || turnID(d.f.s) != id {
		return false
	}
	if d.holding() {
		return false
	}
	platform := d.e.Platforms[d.id.Platform]
	d.posting = id
	ctx := d.ctx
	seek := d.f.s.Turn.Seq() < d.firstOwn // an earlier driver may have posted it and died before it said so
	go func() {
		r := postResult{turn: id}
		if platform == nil {
			r.err = &PlatformError{Kind: FaultGone, Cause: errors.New("this replica does not serve " + d.id.Platform)}
			d.posted <- r
			return
		}
		for wait := 250 * time.Millisecond; ; wait = min(2*wait, 8*time.Second) {
			pctx, cancel := context.WithTimeout(ctx, d.e.Lease/2)
			r.ref, r.err = postOnce(pctx, platform, d.id, PostKey(d.id, string(id)), seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
				m := render.Fit(d.viewOf(id), platform.Limits())
				ref, err := platform.Post(ctx, d.id, key, m)
				if err == nil {
					d.drew(m)
					r.view = m
				}
				return ref, err
			})
			cancel()
			seek = true
			var pe *PlatformError
			if r.err == nil || ctx.Err() != nil {
				break
			}
			if errors.As(r.err, &pe) {
				if pe.Refuses() {
					break
				}
				if pe.RetryAfter > 0 {
					wait = pe.RetryAfter
				}
			}
			d.e.Logger.Warn("could not post a turn's message; trying again", "chat", d.id, "err", r.err)
			if !pause(ctx, wait) {
				break
			}
		}
		d.posted <- r
	}()
	return true
}

// holding reports whether the turn's message is held back: something else says that the turn is under way.
func (d *driver) holding() bool {
	t := d.f.s.Turn
	if d.e.Hold <= 0 || t == nil || t.Shown != "" || d.posting != "" || d.reply != nil || d.refused == t.ID || turn.Pressing(d.f.s) || d.e.isStopping() {
		return false
	}
	if !d.e.Now().Before(t.At.Add(d.e.Hold)) {
		return false
	}
	if d.started != t.ID {
		d.started = t.ID
		s, can := d.e.Platforms[d.id.Platform].(Starter)
		d.signed = can && s.Starts(d.id)
	}
	return d.signed
}

// postOnce posts, after a look for what an earlier attempt may have made.
func postOnce(ctx context.Context, p Platform, id chat.ID, key chat.PostKey, seek bool, post func(context.Context, chat.PostKey) (chat.MessageRef, error)) (chat.MessageRef, error) {
	if s, can := p.(Seeker); can && seek {
		if ref, found, err := s.Seek(ctx, id, key); err != nil || found {
			return ref, err
		}
	}
	return post(ctx, key)
}

// PostKey is the same for every attempt at one message of a turn, on every replica, and at most 25 characters.
func PostKey(id chat.ID, of string) chat.PostKey {
	h := sha256.Sum256([]byte(id.String() + "\x00" + of))
	return chat.PostKey(hex.EncodeToString(h[:12]))
}

func pause(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (d *driver) tookPost(p postResult) {
	switch {
	case p.err == nil:
		shown := turn.Shown{Turn: p.turn, Message: p.ref}
		if turnID(d.f.s) == p.turn {
			ev, _ := d.showing(d.f.s)
			shown.Asks = ev.Asks
		}
		d.shown = append(d.shown, shown)
		if card.Blank(p.view) {
			d.blank = p.turn
		}
	case d.ctx.Err() == nil:
		d.refused = p.turn
		d.tookGone(goneMessage{p.turn, p.err})
		if t := d.f.s.TurnOf(p.turn); t != nil {
			d.e.excuse(d.id, t.ID, t.Requester, p.err)
		}
	}
}

// excuse tells whoever asked, alone, why nothing can be posted where they did: silence is no answer, and in the chat nobody can be told.
func (e *Engine) excuse(id chat.ID, of turn.TurnID, to chat.User, err error) {
	pe, ok := errors.AsType[*PlatformError](err)
	if !ok || pe.Advice == "" {
		return
	}
	p := e.Platforms[to.Platform]
	t, can := p.(Teller)
	if !can {
		return
	}
	e.wg.Go(func() {
		ctx, cancel := context.WithTimeout(e.work, TellWithin)
		defer cancel()
		m := render.Message{State: render.Failed, Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(text.CannotPost + pe.Advice)}}}}
		if _, err := t.Tell(ctx, to, PostKey(id, string(of)+"/refused"), render.Fit(m, p.Limits())); err != nil {
			e.Logger.Warn("whoever asked could not be told that nothing can be posted there", "chat", id, "turn", of, "err", err)
		}
	})
}

// askModel begins the reply of one step.
func (d *driver) askModel(step int) bool {
	t := d.f.s.Turn
	if d.model != nil || d.reply != nil || d.e.isStopping() || t == nil || t.Step != step || d.e.halted.Load() != nil {
		return false
	}
	ctx, cancel := context.WithCancel(d.ctx)
	d.model = &modelRun{cancel}
	s := d.f.s
	go func() {
		defer cancel()
		d.replies <- d.compose(ctx, s, step)
	}()
	return true
}

func (d *driver) compose(ctx context.Context, s turn.Session, step int) (in replyInput) {
	in = replyInput{turn: s.Turn.ID, step: step}
	defer func() {
		if r := recover(); r != nil { // one broken reply must not take every other chat along
			d.e.Logger.Error("the model's adapter panicked", "chat", d.id, "panic", r, "stack", string(debug.Stack()))
			in.err = fmt.Errorf("the model's adapter panicked")
		}
	}()
	specs, faults, err := d.e.Tools.List(ctx)
	if err != nil {
		d.e.Logger.Warn("could not list the tools", "err", err)
	} else {
		d.e.seen.Store(&specs)
	}
	policy, err := d.ground(ctx, specs)
	if err != nil {
		in.err = err
		return in
	}
	if h := policy.Halted; h != nil {
		in.err = &ModelError{Say: text.HaltedBy(h.Name)}
		return in
	}
	j := d.e.judge(ctx, policy)
	for i, t := range judged(specs) {
		if j.Offers(s, t) {
			in.offered = append(in.offered, specs[i])
		}
	}
	var notes []turn.Utterance
	for _, f := range faults {
		in.faults = append(in.faults, f.Say)
		notes = append(notes, turn.Utterance{Role: turn.RoleNote, Text: text.NoteFault(f.Say)})
	}
	var shown strings.Builder
	for try := 0; ; try++ {
		said, left := talk.Trim(talk.Of(s), d.e.room())
		size := talk.Tokens(said)
		said = talk.BeforeQuestion(said, notes)
		if in.left = left + s.Dropped; in.left > 0 {
			said = slices.Concat([]turn.Utterance{{Role: turn.RoleNote, Text: text.NoteLeftOut(in.left)}}, said)
		}
		in.reply, in.err = d.e.Model.Reply(ctx, said, in.offered, func(x Delta) {
			shown.WriteString(x.Text)
			d.live.mu.Lock()
			d.live.text, d.live.note = shown.String(), x.Note
			d.live.mu.Unlock()
			d.touchLive()
		})
		var me *ModelError
		if !errors.As(in.err, &me) || !me.TooLong || try == maxShorter || !d.e.tooLong(size) {
			in.shown = shown.String()
			return in
		}
	}
}

// maxShorter is how often a talk that was too long for the model is halved. What is left after that is a sixteenth.
const maxShorter = 4

// room is about how many tokens of a chat the model takes; 0: all that is kept. It is what the operator says, or less where the model's
// service refused as much since this process began.
func (e *Engine) room() int {
	if n := int(e.learned.Load()); n > 0 && (e.ContextTokens <= 0 || n < e.ContextTokens) {
		return n
	}
	return e.ContextTokens
}

// tooLong remembers that a talk of so many tokens was refused, and reports whether a shorter one is worth trying.
func (e *Engine) tooLong(tokens int) bool {
	const least = 500
	half := tokens / 2
	if half < least {
		return false
	}
	for {
		now := e.learned.Load()
		if now > 0 && int(now) <= half {
			return true // somebody else found less
		}
		if e.learned.CompareAndSwap(now, int64(half)) {
			return true
		}
	}
}

// ground records what servers say and reads the policy, as often as it takes: while the state does not answer, nothing can go on anyway.
func (d *driver) ground(ctx context.Context, specs []ToolSpec) (permission.Policy, error) {
	for try := 1; ; try++ {
		policy, _, err := d.e.policyFor(ctx, specs)
		if err == nil {
			return policy, nil
		}
		if try == 1 {
			d.e.Logger.Warn("the settings do not answer; the turn waits for them", "chat", d.id, "err", err)
		}
		if !pause(ctx, min(time.Duration(try)*100*time.Millisecond, 2*time.Second)) {
			return permission.Policy{}, err
		}
	}
}

func (d *driver) touchLive() {
	signal(d.dirty)
}

// runTool runs a call whose start is durable and ours.
func (d *driver) runTool(id turn.CallID, wait time.Duration) bool {
	t := d.f.s.Turn
	if d.running != nil || t == nil {
		return false
	}
	c := t.Call(id)
	token, err := Consume(d.f.s, id, c.Run)
	if err != nil || c.Token != d.lease.Load().Token {
		return false // somebody was first, or it was sent back
	}
	if !d.held() {
		return false // a later holder recovers it
	}
	d.e.ran.Add(c.ID, c.Run)
	ctx, cancel := context.WithCancel(d.ctx)
	d.running = &toolRun{c.Run, cancel}
	go func() {
		defer cancel()
		d.ran <- d.call(ctx, token, c, wait)
	}()
	return true
}

// call runs one call and says what is known of its outcome.
func (d *driver) call(ctx context.Context, token RunToken, c turn.ToolCall, wait time.Duration) (ev turn.Event) {
	lost := func(say string) turn.Event {
		return turn.Abandoned{Call: c.ID, Run: c.Run, Token: c.Token, Own: true, Say: say, Ask: turn.AskID(mint()), Wait: wait}
	}
	defer func() {
		if r := recover(); r != nil {
			d.e.Logger.Error("the tools' adapter panicked", "chat", d.id, "panic", r, "stack", string(debug.Stack()))
			ev = lost(text.ToolBroke())
		}
	}()
	var once sync.Mutex
	last := time.Time{}
	token.want = func(ctx context.Context, w turn.Want) (turn.Fill, error) { return d.want(ctx, c, w, wait) }
	res, err := d.e.Tools.Call(InChat(ctx, d.id), token, func(p turn.Progress) {
		d.live.mu.Lock()
		if d.live.progress == nil {
			d.live.progress = map[turn.CallID]turn.Progress{}
		}
		d.live.progress[c.ID] = p
		d.live.mu.Unlock()
		once.Lock()
		defer once.Unlock()
		if now := time.Now(); now.Sub(last) > 50*time.Millisecond {
			last = now
			d.touchLive()
		}
	})
	d.live.mu.Lock()
	delete(d.live.progress, c.ID)
	d.live.mu.Unlock()
	switch {
	case err == nil:
		return turn.Finished{Call: c.ID, Run: c.Run, Result: res}
	case errors.Is(err, ErrNotRun):
		return turn.Finished{Call: c.ID, Run: c.Run, Result: turn.Result{Text: sentence(err), IsError: true}}
	}
	return lost(sentence(err))
}

// sentence is an error's own words: tool adapters write them for people and models.
func sentence(err error) string { return strings.TrimSpace(err.Error()) }

// undurable settles a start that is on record but not sure to survive: it certainly did not run.
func (d *driver) undurable(p plan) {
	for _, k := range p.events {
		if ev, ok := k.Event.(turn.Started); ok {
			d.results = append(d.results, turn.Finished{Call: ev.Call, Run: ev.Run, Result: turn.Result{Text: text.ResultNotDurable(), IsError: true}})
		}
	}
}
