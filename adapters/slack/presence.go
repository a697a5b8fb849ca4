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

	mu   sync.Mutex
	want map[place]string // not told yet
	told map[place]string
	name map[place]string // titles not given yet
	away place            // the status of this one is on its way
	kick chan struct{}
}

// maxTold bounds what is remembered; what is forgotten is told once more.
const maxTold = 4096

func newPresence(a *Adapter) *presence {
	p := &presence{a: a, want: map[place]string{}, told: map[place]string{}, name: map[place]string{}, kick: make(chan struct{}, 1)}
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

// shows notes how a thread's message stands. It never blocks.
func (p *presence) shows(at place, s render.State) {
	status := statusOf(s)
	if status == "" || p.status.off.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[at] == status && p.name[at] == "" {
		delete(p.want, at)
		return
	}
	if len(p.want) >= maxTold && p.want[at] == "" {
		return
	}
	p.want[at] = status
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// begins says that a turn begins in a thread: before, the agent was idle there. A turn that is over before there was room to say
// that it works then needs no call at all.
func (p *presence) begins(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[at] == "" && p.away != at {
		p.heard(at, slack.AgentSessionStatusActive)
	}
}

// Starts shows that the agent works in a chat's thread.
func (a *Adapter) Starts(id chat.ID) bool {
	p, ok := placeOf(id)
	if !ok || a.presence.status.off.Load() {
		return false
	}
	a.presence.begins(p)
	a.presence.shows(p, render.Working)
	return true
}

// heard notes what Slack knows. p.mu is held.
func (p *presence) heard(at place, status string) {
	if len(p.told) >= maxTold {
		clear(p.told)
	}
	p.told[at] = status
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
	places := slices.Collect(maps.Keys(p.want))
	p.mu.Unlock()
	for _, at := range places {
		p.mu.Lock()
		status := p.want[at]
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

func (p *presence) tell(ctx context.Context, at place, status string) (wait time.Duration) {
	c := call{method: methodStatus, team: at.Team}
	err := p.a.afford(ctx, c)
	if err == nil {
		p.mu.Lock()
		p.away = at
		delete(p.told, at) // nobody knows until the answer, and what comes meanwhile must be told after it
		p.mu.Unlock()
		tctx, cancel := context.WithTimeout(ctx, extraTimeout)
		_, err = p.a.api.SetAgentSessionStatusContext(tctx, slack.AgentSessionSetStatusParameters{Status: status, ChannelID: at.Channel, ThreadTS: at.Thread})
		cancel()
		if err != nil {
			err = p.a.failed(ctx, c, err)
		}
	}
	p.mu.Lock()
	p.away = place{}
	if err == nil { // else not worth a second try: the next state comes soon
		p.heard(at, status)
	}
	p.mu.Unlock()
	if pe := new(agent.PlatformError); errors.As(err, &pe) && (pe.Kind == agent.FaultBusy || pe.Kind == agent.FaultLater) {
		return max(pe.RetryAfter, time.Millisecond)
	}
	p.status.refuse(p.a, err)
	if err == nil {
		p.entitle(ctx, at)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want[at] == status { // else a newer one came meanwhile
		delete(p.want, at)
	}
	return 0
}

const (
	extraTimeout = 5 * time.Second
	titleRoom    = 60 // characters; Slack takes 200. https://docs.slack.dev/reference/methods/agents.sessions.rename
	promptsTaken = 4  // https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
)

// title names a thread in the agent view after its first words, once there is a session that can have a title: the first status
// makes it. It never blocks.
func (a *Adapter) title(_ context.Context, at place, text string) {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > titleRoom {
		r = append(r[:titleRoom-1], '…')
	}
	p := a.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(r) > 0 && len(p.name) < maxTold && !p.status.off.Load() && !p.titles.off.Load() {
		p.name[at] = string(r)
	}
}

// entitle gives a thread the title it should have.
func (p *presence) entitle(ctx context.Context, at place) {
	p.mu.Lock()
	title := p.name[at]
	delete(p.name, at)
	p.mu.Unlock()
	if title == "" {
		return
	}
	p.a.extra(ctx, &p.titles, call{method: methodRename, team: at.Team}, func(ctx context.Context) error {
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
	a.extra(ctx, &a.presence.prompt, call{method: methodSuggest, team: me.Team}, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsSuggestedPromptsContext(ctx, slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: channel, Prompts: prompts})
	})
}

// extra makes a call that is left out where there is no room for it.
func (a *Adapter) extra(ctx context.Context, f *feature, c call, do func(context.Context) error) {
	if f.off.Load() || a.afford(ctx, c) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, extraTimeout)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return
	}
	err = a.failed(ctx, c, err)
	f.refuse(a, err)
	a.Logger.Debug("slack: "+f.name+" could not be set", "err", err)
}
