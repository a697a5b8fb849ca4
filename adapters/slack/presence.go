package slack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What the agent view shows beside the message: whether the agent works, a thread's title, prompts to begin with. None of it
// may delay or fail anything, and a workspace whose plan or scopes lack it is told so once, in the log.

type feature struct {
	name string
	off  atomic.Bool
}

// refuse switches a feature off for this process if err says that the workspace or the app does not have it.
func (f *feature) refuse(a *Adapter, err error) {
	no, _ := errors.AsType[slack.SlackErrorResponse](err)
	if slices.Contains(lacking, no.Err) && f.off.CompareAndSwap(false, true) {
		a.Logger.Info("slack: "+f.name+" is not shown: the workspace or the app does not have it", "code", no.Err, "needs", no.Needed)
	}
}

// lacking are the errors that will be the same tomorrow. https://docs.slack.dev/reference/methods/agents.sessions.setStatus
var lacking = []string{
	"missing_scope", "unknown_method", "method_deprecated", "not_allowed_token_type", "no_permission", "access_denied", "feature_disabled",
	"not_authorized", "not_agent_app",
}

// presence tells Slack how the agent stands in each thread: only the newest status counts, and it is told when the budget has room for it.
type presence struct {
	a      *Adapter
	status feature
	titles feature
	prompt feature

	mu        sync.Mutex
	pending   map[blocks.Place]untold // statuses that Slack is to be told
	sent      map[blocks.Place]string // those that it was told last
	newTitles map[blocks.Place]string // titles that threads are to get
	sending   map[blocks.Place]bool   // whose statuses are on their way
	kick      chan struct{}
}

// untold is a status that Slack is to be told; waited: there was no room for it.
type untold struct {
	status string
	waited bool
}

const maxPlaces = 4096 // bounds what is remembered; what is forgotten is told once more

func newPresence(a *Adapter) *presence {
	p := &presence{a: a, pending: map[blocks.Place]untold{}, sent: map[blocks.Place]string{}, newTitles: map[blocks.Place]string{}, sending: map[blocks.Place]bool{}, kick: make(chan struct{}, 1)}
	p.status.name, p.titles.name, p.prompt.name = "the agent's status", "a thread's title", "suggested prompts"
	return p
}

func (p *presence) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// statuses are the agent's by a message's state.
var statuses = map[render.State]string{
	render.Working: slack.AgentSessionStatusProcessing, render.Waiting: slack.AgentSessionStatusSuspended,
	render.Done: slack.AgentSessionStatusActive, render.Failed: slack.AgentSessionStatusActive, render.Stopped: slack.AgentSessionStatusActive,
}

// show notes how a thread's message stands. It never blocks.
func (p *presence) show(at blocks.Place, s render.State) {
	status := statuses[s]
	if status == "" || p.status.off.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sent[at] == status && p.newTitles[at] == "":
		delete(p.pending, at)
	case len(p.pending) < maxPlaces || p.pending[at].status != "":
		p.pending[at] = untold{status: status}
		kick(p.kick)
	}
}

// begin says that a turn begins in a thread, where the agent was idle: if it is over before there was room to say so, that needs no call.
func (p *presence) begin(at blocks.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent[at] == "" && !p.sending[at] {
		p.remember(at, slack.AgentSessionStatusActive)
	}
}

func (a *Adapter) Starts(id chat.ID) bool {
	p, ok := blocks.PlaceOf(id)
	if a = a.known(p.Team); !ok || a == nil || a.presence.status.off.Load() {
		return false
	}
	a.presence.begin(p)
	a.presence.show(p, render.Working)
	return true
}

// remember notes what Slack knows. p.mu is held.
func (p *presence) remember(at blocks.Place, status string) {
	if len(p.sent) >= maxPlaces {
		clear(p.sent)
	}
	p.sent[at] = status
}

func (p *presence) run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	var resting atomic.Bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		}
		if resting.Load() {
			continue
		}
		rounds.Go(func() {
			if wait := p.round(ctx); wait > 0 && resting.CompareAndSwap(false, true) {
				_ = p.a.pause(ctx, wait)
				resting.Store(false)
				kick(p.kick)
			}
		})
	}
}

// atOnce is how many threads' statuses are told at the same time: they are the first that people see of their turns.
const atOnce = 8

// round tells what is pending and not on its way; the wait is for what there was no room for.
func (p *presence) round(ctx context.Context) (wait time.Duration) {
	now := map[blocks.Place]untold{}
	p.locked(func() {
		for at, status := range p.pending {
			if len(p.sending) < atOnce && !p.sending[at] {
				p.sending[at], now[at] = true, status
			}
		}
	})
	var calls sync.WaitGroup
	for at, status := range now {
		calls.Go(func() {
			later := p.tell(ctx, at, status)
			p.locked(func() {
				delete(p.sending, at)
				wait = max(wait, later)
			})
		})
	}
	calls.Wait()
	p.locked(func() {
		if wait == 0 && len(now) > 0 && len(p.pending) > 0 { // what came meanwhile
			kick(p.kick)
		}
	})
	return wait
}

func (p *presence) tell(ctx context.Context, at blocks.Place, u untold) (wait time.Duration) {
	status := u.status
	if u.waited && status != slack.AgentSessionStatusActive && !p.stands(ctx, at, status) {
		p.locked(func() { p.told(at, status) })
		return 0
	}
	err := p.a.makeCall(ctx, calls.New(calls.Status, at.Team, "", agent.Progress), func() error {
		p.locked(func() { delete(p.sent, at) }) // nobody knows until the answer, and what comes meanwhile must be told after it
		ctx, cancel := context.WithTimeout(ctx, extraTimeout)
		defer cancel()
		_, err := p.a.api.SetAgentSessionStatusContext(ctx, slack.AgentSessionSetStatusParameters{Status: status, ChannelID: at.Channel, ThreadTS: at.Thread})
		return err
	})
	if pe, ok := errors.AsType[*agent.PlatformError](err); ok && (pe.Kind == agent.FaultBusy || pe.Kind == agent.FaultLater) {
		p.locked(func() {
			if p.pending[at].status == status {
				p.pending[at] = untold{status, true}
			}
		})
		return max(pe.RetryAfter, time.Millisecond)
	}
	p.status.refuse(p.a, err)
	p.locked(func() {
		if err == nil { // else not worth a second try: the next state comes soon
			p.remember(at, status)
		}
		p.told(at, status)
	})
	if err == nil {
		p.giveTitle(ctx, at)
	}
	return 0
}

// told notes that a status needs no telling any more, unless a newer one came meanwhile. p.mu is held.
func (p *presence) told(at blocks.Place, status string) {
	if p.pending[at].status == status {
		delete(p.pending, at)
	}
}

// stands reports whether a status that waited is still the thread's: another replica may have gone on with it, and said so before this one had room.
func (p *presence) stands(ctx context.Context, at blocks.Place, status string) bool {
	s, _ := p.a.Engine.Session(ctx, at.Chat()) // of none nothing is known
	t := cmp.Or(s.Turn, s.Last)
	return t == nil || statuses[card.View(s, t, card.Live{}).State] == status
}

const (
	extraTimeout = 5 * time.Second
	titleRoom    = 60 // characters; Slack takes 200. https://docs.slack.dev/reference/methods/agents.sessions.rename
	promptsTaken = 4  // https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
)

// setTitle names a thread in the agent view after its first words, once its first status has made a session there.
func (a *Adapter) setTitle(at blocks.Place, words string) {
	title := text.Cut(strings.Join(strings.Fields(words), " "), titleRoom)
	p := a.presence
	p.locked(func() {
		if len(p.newTitles) < maxPlaces && !p.titles.off.Load() {
			p.newTitles[at] = title
		}
	})
}

func (p *presence) giveTitle(ctx context.Context, at blocks.Place) {
	var title string
	p.locked(func() {
		title = p.newTitles[at]
		delete(p.newTitles, at)
	})
	if title == "" {
		return
	}
	p.a.tryExtra(ctx, &p.titles, calls.Rename, at.Team, func(ctx context.Context) error {
		_, err := p.a.api.RenameAgentSessionContext(ctx, slack.AgentSessionRenameParameters{Title: title, ChannelID: at.Channel, ThreadTS: at.Thread})
		return err
	})
}

// suggest offers prompts to whoever opens the agent view. With a thread Slack drops the call of an app with agent_view without an error.
// https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
func (a *Adapter) suggest(ctx context.Context, channel string) {
	var prompts []slack.AssistantThreadsPrompt
	for _, s := range a.Suggestions[:min(len(a.Suggestions), promptsTaken)] {
		prompts = append(prompts, slack.AssistantThreadsPrompt{Title: s, Message: s})
	}
	if prompts == nil {
		return
	}
	a.tryExtra(ctx, &a.presence.prompt, calls.Suggest, a.self.Team, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsSuggestedPromptsContext(ctx, slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: channel, Prompts: prompts})
	})
}

// tryExtra makes a call that is left out where there is no room for it.
func (a *Adapter) tryExtra(ctx context.Context, f *feature, method, team string, do func(context.Context) error) {
	if f.off.Load() {
		return
	}
	failed := false
	err := a.makeCall(ctx, calls.New(method, team, "", agent.Progress), func() error {
		ctx, cancel := context.WithTimeout(ctx, extraTimeout)
		defer cancel()
		err := do(ctx)
		failed = err != nil
		return err
	})
	if failed {
		f.refuse(a, err)
		a.Logger.Debug("slack: "+f.name+" could not be set", "err", err)
	}
}
