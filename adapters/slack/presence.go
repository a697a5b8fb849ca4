package slack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What the agent view shows beside the message: whether the agent works, a thread's title, prompts to begin with. None of it
// may delay or fail anything, and a workspace whose plan or scopes lack it is told so once, in the log.

// feature is one of them. The zero value is on.
type feature struct {
	name string
	off  atomic.Bool
}

// refuse switches a feature off for this process if err says that the workspace or the app does not have it.
func (f *feature) refuse(a *Adapter, err error) {
	var no slack.SlackErrorResponse
	if errors.As(err, &no) && lacking[no.Err] && f.off.CompareAndSwap(false, true) {
		a.Logger.Info("slack: "+f.name+" is not shown: the workspace or the app does not have it", "code", no.Err, "needs", no.Needed)
	}
}

// lacking are the errors that will be the same tomorrow, as the methods' own pages have them. https://docs.slack.dev/reference/methods/agents.sessions.setStatus
var lacking = map[string]bool{
	"missing_scope":          true,
	"unknown_method":         true,
	"method_deprecated":      true,
	"not_allowed_token_type": true,
	"no_permission":          true,
	"access_denied":          true,
	"feature_disabled":       true, // of the workspace, or of its plan
	"not_authorized":         true,
	"not_agent_app":          true, // of assistant.threads.setSuggestedPrompts
}

// presence tells Slack how the agent stands in each thread. Level-triggered: only the newest status of a thread counts, and it
// is told when the budget has room for it.
type presence struct {
	a      *Adapter
	status feature
	titles feature
	prompt feature

	mu        sync.Mutex
	pending   map[blocks.Place]string // statuses that Slack is to be told
	sent      map[blocks.Place]string // those that it was told last
	newTitles map[blocks.Place]string // titles that threads are to get
	sending   blocks.Place            // the status of this one is on its way
	kick      chan struct{}
}

// maxPlaces bounds what is remembered; what is forgotten is told once more.
const maxPlaces = 4096

func newPresence(a *Adapter) *presence {
	p := &presence{a: a, pending: map[blocks.Place]string{}, sent: map[blocks.Place]string{}, newTitles: map[blocks.Place]string{}, kick: make(chan struct{}, 1)}
	p.status.name, p.titles.name, p.prompt.name = "the agent's status", "a thread's title", "suggested prompts"
	return p
}

// statusOf is the agent's status for a message's state.
func statusOf(s render.State) string {
	switch s {
	case render.Working:
		return slack.AgentSessionStatusProcessing
	case render.Waiting:
		return slack.AgentSessionStatusSuspended
	case render.Done, render.Failed, render.Stopped:
		return slack.AgentSessionStatusActive
	}
	return ""
}

// show notes how a thread's message stands. It never blocks.
func (p *presence) show(at blocks.Place, s render.State) {
	status := statusOf(s)
	if status == "" || p.status.off.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent[at] == status && p.newTitles[at] == "" {
		delete(p.pending, at)
		return
	}
	if len(p.pending) >= maxPlaces && p.pending[at] == "" {
		return
	}
	p.pending[at] = status
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// begin says that a turn begins in a thread: before, the agent was idle there. A turn that is over before there was room to say
// that it works then needs no call at all.
func (p *presence) begin(at blocks.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent[at] == "" && p.sending != at {
		p.remember(at, slack.AgentSessionStatusActive)
	}
}

// Starts shows that the agent works in a chat's thread.
func (a *Adapter) Starts(id chat.ID) bool {
	p, ok := blocks.PlaceOf(id)
	if !ok || a.presence.status.off.Load() {
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

// run tells until ctx ends.
func (p *presence) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		}
		for {
			wait := p.round(ctx)
			if wait <= 0 {
				break
			}
			if p.a.pause(ctx, wait) != nil {
				return
			}
		}
	}
}

// round tells what is wanted; the wait is for what there was no room for.
func (p *presence) round(ctx context.Context) (wait time.Duration) {
	p.mu.Lock()
	places := slices.Collect(maps.Keys(p.pending))
	p.mu.Unlock()
	for _, at := range places {
		p.mu.Lock()
		status := p.pending[at]
		p.mu.Unlock()
		if status == "" || p.status.off.Load() || ctx.Err() != nil {
			continue
		}
		if wait := p.tell(ctx, at, status); wait > 0 {
			return wait
		}
	}
	return 0
}

func (p *presence) tell(ctx context.Context, at blocks.Place, status string) (wait time.Duration) {
	c := call{method: methodStatus, team: at.Team}
	err := p.a.afford(ctx, c)
	if err == nil {
		p.mu.Lock()
		p.sending = at
		delete(p.sent, at) // nobody knows until the answer, and what comes meanwhile must be told after it
		p.mu.Unlock()
		tctx, cancel := context.WithTimeout(ctx, extraTimeout)
		_, err = p.a.api.SetAgentSessionStatusContext(tctx, slack.AgentSessionSetStatusParameters{Status: status, ChannelID: at.Channel, ThreadTS: at.Thread})
		cancel()
		if err != nil {
			err = p.a.reportFault(ctx, c, err)
		}
	}
	p.mu.Lock()
	p.sending = blocks.Place{}
	if err == nil { // else not worth a second try: the next state comes soon
		p.remember(at, status)
	}
	p.mu.Unlock()
	if pe := new(agent.PlatformError); errors.As(err, &pe) && (pe.Kind == agent.FaultBusy || pe.Kind == agent.FaultLater) {
		return max(pe.RetryAfter, time.Millisecond)
	}
	p.status.refuse(p.a, err)
	if err == nil {
		p.giveTitle(ctx, at)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[at] == status { // else a newer one came meanwhile
		delete(p.pending, at)
	}
	return 0
}

const (
	extraTimeout = 5 * time.Second
	titleRoom    = 60 // characters; Slack takes 200. https://docs.slack.dev/reference/methods/agents.sessions.rename
	promptsTaken = 4  // https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
)

// setTitle names a thread in the agent view after its first words, once there is a session that can have a title: the first status
// makes it. It never blocks.
func (a *Adapter) setTitle(_ context.Context, at blocks.Place, text string) {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > titleRoom {
		r = append(r[:titleRoom-1], '…')
	}
	p := a.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(r) > 0 && len(p.newTitles) < maxPlaces && !p.status.off.Load() && !p.titles.off.Load() {
		p.newTitles[at] = string(r)
	}
}

// giveTitle gives a thread the title it should have.
func (p *presence) giveTitle(ctx context.Context, at blocks.Place) {
	p.mu.Lock()
	title := p.newTitles[at]
	delete(p.newTitles, at)
	p.mu.Unlock()
	if title == "" {
		return
	}
	p.a.tryExtra(ctx, &p.titles, call{method: methodRename, team: at.Team}, func(ctx context.Context) error {
		_, err := p.a.api.RenameAgentSessionContext(ctx, slack.AgentSessionRenameParameters{Title: title, ChannelID: at.Channel, ThreadTS: at.Thread})
		return err
	})
}

// suggest offers prompts to whoever opens the agent view. The thread is not sent: for an app with agent_view, and new apps can only
// have that, Slack then drops the call without an error. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
func (a *Adapter) suggest(ctx context.Context, channel, _ string) {
	var prompts []slack.AssistantThreadsPrompt
	for _, s := range a.Suggestions[:min(len(a.Suggestions), promptsTaken)] {
		prompts = append(prompts, slack.AssistantThreadsPrompt{Title: s, Message: s})
	}
	if prompts == nil {
		return
	}
	me, err := a.me(ctx)
	if err != nil {
		return
	}
	a.tryExtra(ctx, &a.presence.prompt, call{method: methodSuggest, team: me.Team}, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsSuggestedPromptsContext(ctx, slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: channel, Prompts: prompts})
	})
}

// tryExtra makes a call that is left out where there is no room for it.
func (a *Adapter) tryExtra(ctx context.Context, f *feature, c call, do func(context.Context) error) {
	if f.off.Load() || a.afford(ctx, c) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, extraTimeout)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return
	}
	err = a.reportFault(ctx, c, err)
	f.refuse(a, err)
	a.Logger.Debug("slack: "+f.name+" could not be set", "err", err)
}
