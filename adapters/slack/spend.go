package slack

import (
	"context"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
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
	methodHistory  = "conversations.history"
	methodConverse = "conversations.open"
	methodStatus   = "agents.sessions.setStatus"
	methodRename   = "agents.sessions.rename"
	methodSuggest  = "assistant.threads.setSuggestedPrompts"
)

var rates = map[string]rate{
	methodPost:     perChannel,
	methodUpdate:   tier3,
	methodDelete:   tier3,
	methodWhisper:  tier4,
	methodReplies:  tier3, // 1 a minute for commercially distributed apps outside the Marketplace; a bot of one's own is exempt
	methodHistory:  tier3, // as replies
	methodConverse: tier3,
	methodStatus:   tier3,
	methodRename:   tier3,
	methodSuggest:  tier4,
}

// hard is how far decisions may go beyond a tier: "Sporadic bursts are welcome", says the page on rate limits, and a 429 says when they are
// not. A question that waits for the next minute is no question.
func (r rate) hard() int { return r.limit + r.limit/2 }

// call is one call about to be made.
type call struct {
	method  string
	team    string
	channel string
	ts      string // of the live message it is for, if any
	urgency agent.Urgency
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

func (c call) spend() surface.Spend {
	r, ok := rates[c.method]
	if !ok {
		r = tier2
	}
	s := surface.Spend{Pool: c.pool(), Limit: r.limit, Hard: r.hard(), Per: r.per, Lane: c.urgency, Rate: c.rate, Ends: c.ends}
	if c.ts != "" {
		s.Message = c.channel + "/" + c.ts
	}
	return s
}

// afford asks the budget for one call.
func (a *Adapter) afford(ctx context.Context, c call) error {
	return a.purse.Afford(ctx, c.method, c.spend())
}

// reportFault turns what came of a call into a fault. All replicas learn of a 429.
func (a *Adapter) reportFault(ctx context.Context, c call, err error) error {
	return a.purse.Failed(ctx, c.method, c.pool(), faultOf(a.doubt(err)))
}
