package slack

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
)

// rate is how often a method may be called.
type rate struct {
	limit int
	per   time.Duration
}

// The tiers are floors that Slack promises, per method, workspace and app: https://docs.slack.dev/apis/web-api/rate-limits
var (
	tier2 = rate{20, time.Minute}
	tier3 = rate{50, time.Minute}
	tier4 = rate{100, time.Minute}
	// "special": about one message a second in a channel, short bursts aside. https://docs.slack.dev/reference/methods/chat.postMessage
	perChannel = rate{1, time.Second}
)

// The methods that this adapter calls by itself, each with the tier on its page, https://docs.slack.dev/reference/methods/<method>.
const (
	methodPost     = "chat.postMessage"
	methodUpdate   = "chat.update"
	methodDelete   = "chat.delete"
	methodWhisper  = "chat.postEphemeral"
	methodReplies  = "conversations.replies"
	methodStatus   = "agents.sessions.setStatus"
	methodRename   = "agents.sessions.rename"
	methodSuggest  = "assistant.threads.setSuggestedPrompts"
	busyForUnknown = time.Second // what a caller waits when nobody knows how long
	spendTimeout   = time.Second // for asking the budget: what is left of an edit's time is for the edit
)

var rates = map[string]rate{
	methodPost:    perChannel,
	methodUpdate:  tier3,
	methodDelete:  tier3,
	methodWhisper: tier4,
	methodReplies: tier3, // 1 a minute for commercially distributed apps outside the Marketplace; a bot of one's own is exempt
	methodStatus:  tier3,
	methodRename:  tier3,
	methodSuggest: tier4,
}

// call is one call about to be made.
type call struct {
	method  string
	team    string
	channel string
	ts      string // of the live message it is for, if any
	lane    agent.Urgency
	rate    float64
	ends    bool
}

func (c call) pool() string {
	p := c.team + "/" + c.method
	if rates[c.method] == perChannel {
		p += "/" + c.channel
	}
	return p
}

func (c call) spend() Spend {
	r, ok := rates[c.method]
	if !ok {
		r = tier2
	}
	s := Spend{Pool: c.pool(), Limit: r.limit, Per: r.per, Lane: c.lane, Rate: c.rate, Ends: c.ends}
	if c.ts != "" {
		s.Message = c.channel + "/" + c.ts
	}
	return s
}

// afford asks the budget for one call. Progress never waits: the caller comes again with a newer view. What a person waits
// for, a decision or a final, waits here, as long as ctx lasts. It is made without the budget where that cannot be asked:
// one call too many is answered by Slack with a time to wait, one too few leaves a person before a card that is not true.
func (a *Adapter) afford(ctx context.Context, c call) error {
	if a.Budget == nil {
		return nil
	}
	for {
		sctx, cancel := context.WithTimeout(ctx, a.patience)
		wait, err := a.Budget.Spend(sctx, c.spend())
		cancel()
		if (err != nil) != a.blind.Swap(err != nil) { // once, not with every call
			a.Logger.Warn("slack: the shared budget: progress is shown only while it can be asked", "asked", err == nil, "err", err)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return faultOf(ctx.Err())
		case err != nil && c.lane == agent.Progress:
			return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: busyForUnknown, Cause: fmt.Errorf("%s: the shared budget cannot be asked", c.method)}
		case err != nil:
			return nil
		case wait <= 0:
			return nil
		}
		if c.lane == agent.Progress {
			return &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: wait, Cause: fmt.Errorf("%s: the workspace's share is used up", c.method)}
		}
		until, bounded := ctx.Deadline()
		if bounded && time.Until(until) < wait || a.pause(ctx, wait) != nil {
			return &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: wait, Cause: fmt.Errorf("%s: the workspace's share is used up", c.method)}
		}
	}
}

// spared tells the budget that a message ended without a call that is counted, so that nothing is kept in reserve for it.
func (a *Adapter) spared(ctx context.Context, c call) {
	if a.Budget == nil || !c.ends {
		return
	}
	s := c.spend()
	s.Limit = 0
	if _, err := a.Budget.Spend(ctx, s); err != nil {
		a.Logger.Debug("slack: could not tell the budget that a message ended", "pool", s.Pool, "err", err)
	}
}

// failed turns what came of a call into a fault. All replicas learn of a 429, so that none of them asks again too early.
func (a *Adapter) failed(ctx context.Context, c call, err error) error {
	pe := new(agent.PlatformError)
	errors.As(faultOf(err), &pe)
	if pe.Kind == agent.FaultBusy && a.Budget != nil {
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := a.Budget.CoolOff(cctx, c.pool(), pe.RetryAfter); err != nil {
			a.Logger.Warn("slack: could not tell the other replicas of a 429", "pool", c.pool(), "err", err)
		}
	}
	return &agent.PlatformError{Kind: pe.Kind, RetryAfter: pe.RetryAfter, Cause: fmt.Errorf("%s: %w", c.method, pe.Cause)}
}

// ends reports whether a message needs nothing after it is drawn so.
func ends(m render.Message) bool {
	return m.State == render.Done || m.State == render.Failed || m.State == render.Stopped
}

const (
	maxSent = 4096
	// believed is how long what this process sent last is taken for what stands there. Another replica may have drawn the
	// message since; within a lease's time it has not.
	believed = 10 * time.Second
)

// sent remembers what was last sent for each message.
type sent struct {
	mu    sync.Mutex
	byRef map[messageAt]*list.Element
	order *list.List // of sentMessage, least recently sent first
}

type sentMessage struct {
	ref   messageAt
	sum   [32]byte // zero: not known
	chars int
	at    time.Time
	level int // the shape that Slack took
}

func newSent() *sent { return &sent{byRef: map[messageAt]*list.Element{}, order: list.New()} }

func (s *sent) put(ref messageAt, m sentMessage) {
	m.ref = ref
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byRef[ref]; e != nil {
		e.Value = m
		s.order.MoveToBack(e)
		return
	}
	if s.order.Len() >= maxSent {
		delete(s.byRef, s.order.Remove(s.order.Front()).(sentMessage).ref)
	}
	s.byRef[ref] = s.order.PushBack(m)
}

func (s *sent) get(ref messageAt) (sentMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byRef[ref]; e != nil {
		return e.Value.(sentMessage), true
	}
	return sentMessage{}, false
}

// level is the shape to begin with: Slack has refused those before it.
func (s *sent) level(ref messageAt) int {
	m, _ := s.get(ref)
	return m.level
}

// same reports whether exactly this stands there already.
func (s *sent) same(ref messageAt, sum [32]byte, now time.Time) bool {
	m, ok := s.get(ref)
	return ok && m.sum == sum && now.Sub(m.at) < believed
}

// growth is how fast a message grew since it was last sent, in characters a second. What changed without growing counts as one:
// it must not wait for ever.
func (s *sent) growth(ref messageAt, chars int, now time.Time) float64 {
	m, ok := s.get(ref)
	if !ok {
		return 1
	}
	return max(1, float64(chars-m.chars)/max(now.Sub(m.at).Seconds(), 0.1))
}
