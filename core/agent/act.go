package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/elicit"
	"github.com/nodhq/nod/core/agent/standing"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

type replyInput struct {
	turn     turn.TurnID
	step     int
	reply    Reply
	err      error
	streamed string // what had streamed when it failed
	offered  []ToolSpec
	faults   []string
	left     int
}

type toolRun struct {
	run    turn.RunID
	cancel context.CancelFunc
}

type postResult struct {
	turn turn.TurnID
	ref  chat.MessageRef
	err  error
	view render.Message // as it was posted, of this session
	sure bool           // no earlier attempt may have posted it otherwise
	of   turn.Session
}

// act starts what a recorded plan asks for. It reports whether anything was begun.
func (d *driver) act(p plan) bool {
	begun := false
	for _, c := range p.acts {
		switch c := c.(type) {
		case turn.Show:
			begun = d.post(c.Turn) || begun
		case turn.Gather:
			begun = d.gather(c.Turn) || begun
		case turn.Rule: // it waits for a look at what the call replaces
			begun = d.preview() || begun
		case turn.AskModel:
			s := d.f.s
			if p.carried {
				s = p.s
			}
			begun = d.askModel(s, c.Step) || begun
		case turn.RunTool:
			begun = d.runTool(c.Call, p.wait) || begun
		case turn.Nudge, turn.Escalate, turn.Remove, turn.Continue, turn.Point, turn.TellEnd:
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
	if d.posting != "" || d.refused == id || d.e.isStopping() || turnID(d.f.s) != id || d.holding() {
		return false
	}
	d.posting = id
	ctx, seek := d.ctx, d.f.s.Turn.Seq() < d.firstOwn // an earlier driver may have posted it and died before it said so
	d.begin(func() func() {
		p := d.posted(ctx, id, seek)
		return func() {
			d.posting = ""
			d.tookPost(p)
		}
	})
	return true
}

// posted posts until it is certain what came of it.
func (d *driver) posted(ctx context.Context, id turn.TurnID, seek bool) postResult {
	r, platform, began := postResult{turn: id}, d.platform(), time.Now()
	if platform == nil {
		r.err = &PlatformError{Kind: FaultGone, Cause: errors.New("this replica does not serve " + d.id.Platform)}
		return r
	}
	landed := false
	r.ref, r.err = d.trying(ctx, "post a turn's message", math.MaxInt, func(ctx context.Context) (chat.MessageRef, error) {
		return d.postOnce(ctx, string(id), &seek, func(ctx context.Context, key chat.PostKey) (chat.MessageRef, error) {
			r.of = *d.session.Load()
			r.view, r.sure = render.Fit(d.viewOf(r.of, id), platform.Limits()), !seek
			ref, err := platform.Post(ctx, d.id, key, r.view)
			landed = err == nil
			return ref, err
		})
	})
	if landed || r.sure && r.err == nil { // what is found again is the one that can be
		d.live.Drew(r.view)
	} else {
		r.view = render.Message{}
	}
	d.e.did(ActionPost, d.id, id, began, r.err)
	return r
}

// sendAgain is the wait before something is posted or edited again.
var sendAgain = backoff.Exponential{First: 250 * time.Millisecond, Most: 8 * time.Second}

// trying repeats what may fail, most times at most, until the platform refuses it or ctx ends. The error is that of the last attempt.
func (d *driver) trying(ctx context.Context, what string, most int, do func(context.Context) (chat.MessageRef, error)) (chat.MessageRef, error) {
	again := sendAgain
	for try, failures := 1, 0; ; try, failures = try+1, failures+1 {
		tctx, cancel := context.WithTimeout(ctx, d.e.Lease/2)
		ref, err := do(tctx)
		cancel()
		pe, _ := errors.AsType[*PlatformError](err)
		if err == nil || ctx.Err() != nil || pe.Refuses() || try >= most {
			return ref, err
		}
		wait := again.Base(failures)
		if pe != nil && pe.RetryAfter > 0 { // later waits grow from it
			wait, again.First, failures = pe.RetryAfter, pe.RetryAfter, 0
		}
		d.e.Logger.Warn("could not "+what+"; trying again", "chat", d.id, "err", err)
		if backoff.Wait(ctx, wait) != nil {
			return "", err
		}
	}
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
	if d.indicatedTurn != t.ID {
		d.indicatedTurn = t.ID
		s, can := d.platform().(Starter)
		d.indicated = can && s.Starts(d.id)
	}
	return d.indicated
}

// postOnce makes one message of a turn, after a look for what an earlier attempt may have made, where there may be one; seek says so, also of this one.
func (d *driver) postOnce(ctx context.Context, of string, seek *bool, post func(context.Context, chat.PostKey) (chat.MessageRef, error)) (chat.MessageRef, error) {
	key := PostKey(d.id, of)
	if s, can := d.platform().(Seeker); can && *seek {
		if ref, found, err := s.Seek(ctx, d.id, key); err != nil || found {
			return ref, err
		}
	}
	ref, err := post(ctx, key)
	pe, _ := errors.AsType[*PlatformError](err)
	*seek = *seek || pe == nil || pe.Kind != FaultBusy && pe.Kind != FaultLater // what was not let out made nothing
	return ref, err
}

// PostKey is the same for every attempt at one message of a turn, on every replica, and at most 25 characters.
func PostKey(id chat.ID, of string) chat.PostKey {
	h := sha256.Sum256([]byte(id.String() + "\x00" + of))
	return chat.PostKey(hex.EncodeToString(h[:12]))
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
		d.last = p
		d.withdraw()
	case d.ctx.Err() == nil:
		d.refused = p.turn
		d.tookGone(p.turn, p.err)
		if t := d.f.s.TurnOf(p.turn); t != nil {
			d.e.excuse(d.id, t.ID, t.Requester, p.err)
		}
	}
}

// excuse tells whoever asked, alone, why nothing can be posted where they did: silence is no answer, and in the chat nobody can be told.
func (e *Engine) excuse(id chat.ID, of turn.TurnID, to chat.User, err error) {
	p := e.Platforms[to.Platform]
	pe, _ := errors.AsType[*PlatformError](err)
	t, can := p.(Teller)
	if pe == nil || pe.Advice == "" || !can {
		return
	}
	e.wg.Go(func() {
		ctx, cancel := context.WithTimeout(e.work, TellWithin)
		defer cancel()
		m := card.Brief(render.Failed, render.Plain(text.CannotPost+pe.Advice))
		if _, err := t.Tell(ctx, to, PostKey(id, string(of)+"/refused"), render.Fit(m, p.Limits())); err != nil {
			e.Logger.Warn("whoever asked could not be told that nothing can be posted there", "chat", id, "turn", of, "err", err)
		}
	})
}

// files are what people attach in this chat, and the pictures that tools return there.
func (d *driver) files() attach.Files {
	return attach.Files{Chat: d.id, Platform: d.platform(), Reader: d.e.Reader, Blobs: d.e.Blobs, Seen: d.e.ModelSees, Survive: d.survive, Logger: d.e.Logger}
}

// gather begins to read what the turn's messages came with. It counts as the model's work: what stops that stops it.
func (d *driver) gather(id turn.TurnID) bool {
	t := d.f.s.Turn
	if d.model != nil || d.reply != nil || d.e.isStopping() || t == nil || t.ID != id || d.e.halted.Load() != nil {
		return false
	}
	ctx, cancel := context.WithCancel(d.ctx)
	d.model = cancel
	d.begin(func() func() {
		defer cancel()
		came := d.files().Gather(ctx, t)
		lost := d.ctx.Err() != nil // nobody may say that nothing could be read when nobody looked
		return func() {
			d.model = nil
			if !lost {
				d.results = append(d.results, came...)
			}
		}
	})
	return true
}

// askModel begins the reply of one step.
func (d *driver) askModel(s turn.Session, step int) bool {
	t := s.Turn
	if d.model != nil || d.reply != nil || d.e.isStopping() || t == nil || t.Step != step || d.e.halted.Load() != nil {
		return false
	}
	// By the log's clock an ask may still be open that was planned to have expired.
	if !slices.Contains(turn.Next(s, d.e.Now(), d.env()), turn.Command(turn.AskModel{Step: step})) {
		return false
	}
	ctx, cancel := context.WithCancel(d.ctx)
	d.model = cancel
	d.begin(func() func() {
		defer cancel()
		r := d.compose(ctx, s, step)
		return func() { d.model, d.reply = nil, &r }
	})
	return true
}

func (d *driver) compose(ctx context.Context, s turn.Session, step int) (in replyInput) {
	in = replyInput{turn: s.Turn.ID, step: step}
	defer d.survive("the model's adapter", func() { in.err = errors.New("the model's adapter panicked") })
	if say := d.e.prompts.Over(ctx, s); say != "" {
		in.err = &ModelError{Say: say, Why: turn.OverLimit}
		return in
	}
	specs, faults := d.e.list(ctx)
	policy, err := d.ground(ctx, specs)
	if err != nil {
		in.err = err
		return in
	}
	if h := policy.Halted; h != nil {
		in.err = &ModelError{Say: text.HaltedBy(h.Name)}
		return in
	}
	j := d.e.judge(ctx, s, policy)
	in.offered = make([]ToolSpec, 0, len(specs))
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
	waited := false
	leave, err := d.e.prompts.Enter(ctx, s.Turn.Requester, func() {
		waited = true
		d.live.Note(text.WaitsForYours(d.e.Replying))
		signal(d.dirty)
	})
	defer leave()
	if err != nil {
		in.err = err
		return in
	}
	d.live.Note("")
	if waited {
		signal(d.dirty)
	}
	if d.e.Tracer != nil {
		ctx = InTurn(ctx, d.id, in.turn)
	}
	var streamed strings.Builder
	in.left = d.e.prompts.Ask(s, notes, func(said []turn.Utterance) (tooLong bool) {
		in.reply, in.err = d.e.Model.Reply(ctx, d.files().WithPictures(ctx, said), in.offered, func(x Delta) {
			streamed.WriteString(x.Text)
			d.live.Say(streamed.String(), x.Note)
			signal(d.dirty)
		})
		me, _ := errors.AsType[*ModelError](in.err)
		return me != nil && me.TooLong
	})
	in.streamed = streamed.String()
	d.e.prompts.Used(ctx, s, in.reply.Usage)
	return in
}

// survive, deferred, keeps a panic to itself, and says what comes of it: one broken answer must not take every other chat along.
func (d *driver) survive(what string, then func()) {
	if r := recover(); r != nil {
		d.e.Logger.Error(what+" panicked", "chat", d.id, "panic", r, "stack", string(debug.Stack()))
		then()
	}
}

// ground records what servers say and reads the policy, as often as it takes: while the state does not answer, nothing can go on anyway.
func (d *driver) ground(ctx context.Context, specs []ToolSpec) (permission.Policy, error) {
	for try := 1; ; try++ {
		rules, err := d.e.knownRules(ctx, specs)
		if err == nil {
			return rules.Policy, nil
		}
		if try == 1 {
			d.e.Logger.Warn("the settings do not answer; the turn waits for them", "chat", d.id, "err", err)
		}
		if backoff.Wait(ctx, min(time.Duration(try)*100*time.Millisecond, 2*time.Second)) != nil {
			return permission.Policy{}, err
		}
	}
}

// list asks for the tools, and remembers them. Where that fails there are none.
func (e *Engine) list(ctx context.Context) ([]ToolSpec, []ServerFault) {
	specs, faults, err := e.Tools.List(ctx)
	if err != nil {
		e.Logger.Warn("could not list the tools", "err", err)
	} else {
		e.listed.Store(&specs)
	}
	return specs, faults
}

// runTool runs a call whose start is durable and ours.
func (d *driver) runTool(id turn.CallID, wait time.Duration) bool {
	t := d.f.s.Turn
	if d.running != nil || t == nil {
		return false
	}
	c := t.Call(id)
	token, err := Consume(d.f.s, id, c.Run)
	if err != nil || c.Token != d.lease.Load().Token || !d.held() {
		return false // somebody was first, or it was sent back, or a later holder recovers it
	}
	d.e.ran.Add(c.ID, c.Run)
	ctx, cancel := context.WithCancel(InTurn(d.ctx, d.id, t.ID))
	d.running = &toolRun{c.Run, cancel}
	s := d.f.s
	d.begin(func() func() {
		defer cancel()
		if err := standing.KeepAgain(ctx, d.e, s, c); err != nil {
			d.e.Logger.Warn("a choice could not be remembered", "chat", d.id, "err", err)
		}
		ev := d.call(ctx, token, c, wait)
		return func() {
			d.running = nil
			d.results = append(d.results, ev)
		}
	})
	return true
}

// call runs one call and says what is known of its outcome.
func (d *driver) call(ctx context.Context, token RunToken, c turn.ToolCall, wait time.Duration) (ev turn.Event) {
	lost := func(say string) turn.Event {
		return turn.Abandoned{Call: c.ID, Run: c.Run, Token: c.Token, Own: true, Say: say, Ask: turn.AskID(mint()), Wait: wait}
	}
	defer d.survive("the tools' adapter", func() { ev = lost(text.ToolBroke) })
	var oneByOne sync.Mutex
	token.elicit = func(ctx context.Context, w turn.Elicitation) (turn.Fill, error) {
		oneByOne.Lock()
		defer oneByOne.Unlock()
		return d.elicit(ctx, c, w, wait)
	}
	res, err := d.e.Tools.Call(ctx, token, func(p turn.Progress) {
		if d.live.Progress(c.ID, p) {
			signal(d.dirty)
		}
	})
	d.live.Over(c.ID)
	if err == nil {
		res.Pictures = d.files().Keep(d.ctx, res.Pictures) // not the call's context: a stop comes after the result
		return turn.Finished{Call: c.ID, Run: c.Run, Result: res}
	}
	say := strings.TrimSpace(err.Error()) // tool adapters write errors for people and models
	if errors.Is(err, ErrNotRun) {
		return turn.Finished{Call: c.ID, Run: c.Run, Result: turn.Result{Text: say, IsError: true}}
	}
	return lost(say)
}

// elicit puts what a server asks for to the requester, and waits. It is called from the run's own goroutines.
func (d *driver) elicit(ctx context.Context, c turn.ToolCall, w turn.Elicitation, wait time.Duration) (turn.Fill, error) {
	if s := d.session.Load(); s == nil || s.Turn == nil || s.Turn.Unattended || s.Turn.Requester.IsZero() {
		return turn.Fill{}, ErrNobody
	}
	q := elicit.New(turn.Elicited{Call: c.ID, Run: c.Run, Ask: turn.AskID(mint()), Request: w, Wait: wait})
	put := func() {
		if d.ctx.Err() == nil { // it is recorded with the next step
			d.waiting[q.Event.Ask] = q
			d.results = append(d.results, q.Event)
		}
	}
	select {
	case d.came <- put:
		return q.Wait(ctx)
	case <-ctx.Done():
		return turn.Fill{}, ctx.Err()
	}
}

type turnKey struct{}

type inTurn struct {
	chat chat.ID
	turn turn.TurnID
}

// InTurn marks a context as that of a call for a chat's turn.
func InTurn(ctx context.Context, id chat.ID, of turn.TurnID) context.Context {
	return context.WithValue(ctx, turnKey{}, inTurn{id, of})
}

// TurnOf is the chat and the turn whose call a context belongs to: for tools in this process that keep chats apart, and for a [Tracer].
func TurnOf(ctx context.Context) (id chat.ID, of turn.TurnID, ok bool) {
	in, ok := ctx.Value(turnKey{}).(inTurn)
	return in.chat, in.turn, ok
}
