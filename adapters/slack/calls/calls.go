// Package calls is what every call of Slack's Web API has in common, whatever is said in it: what it may cost (here), what a refusal of it
// means (fault.go), and what people can do about that (advice.go). It calls nobody: the adapter and the doctor do.
//
// It may import core/agent for its faults, core/text and adapters/surface. A new method of Slack's is a constant here with its tier; a new
// code of an error is a line in fault.go, and its advice, if there is any, one in advice.go.
package calls

import (
	"cmp"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

type rate struct {
	limit  int
	per    time.Duration
	evenly bool // short bursts are borne, see [surface.Spend]
}

// The tiers are floors that Slack promises, per method, workspace and app: https://docs.slack.dev/apis/web-api/rate-limits
var (
	tier2 = rate{limit: 20, per: time.Minute}
	tier3 = rate{limit: 50, per: time.Minute}
	tier4 = rate{limit: 100, per: time.Minute}
	// "special": one message a second in a channel, "short bursts >1 allowed", without a number: people who ask at once see an answer at once.
	// A little slower than that, because it counts when a call arrives.
	perChannel = rate{limit: 6, per: 6500 * time.Millisecond, evenly: true}
)

// The methods that this adapter calls by itself, each with the tier on its page, https://docs.slack.dev/reference/methods/<method>.
const (
	Post     = "chat.postMessage"
	Update   = "chat.update"
	Delete   = "chat.delete"
	Whisper  = "chat.postEphemeral"
	Replies  = "conversations.replies"
	History  = "conversations.history"
	Converse = "conversations.open"
	Status   = "agents.sessions.setStatus"
	Rename   = "agents.sessions.rename"
	File     = "files.info"
	Suggest  = "assistant.threads.setSuggestedPrompts"
)

// Of replies and history, commercially distributed apps outside the Marketplace get 1 a minute; a bot of one's own is exempt.
var rates = map[string]rate{
	Post: perChannel, Whisper: tier4, Suggest: tier4, File: tier4,
	Update: tier3, Delete: tier3, Replies: tier3, History: tier3, Converse: tier3, Status: tier3, Rename: tier3,
}

// Call is one call, and what it costs.
type Call struct {
	Method string
	surface.Spend
}

// New is one in a workspace; channel matters for what is counted by channel.
func New(method, team, channel string, urgency agent.Urgency) Call {
	r, pool := cmp.Or(rates[method], tier2), team+"/"+method
	if r == perChannel {
		pool += "/" + channel
	}
	// Decisions may go beyond a tier: "Sporadic bursts are welcome", says the page on rate limits, and a 429 says when they are not. A
	// question that waits for the next minute is no question; it may go somewhat beyond, for it can be posted anew.
	hard := r.limit + r.limit/2
	if urgency == agent.Decision {
		hard = surface.Overdraw
	}
	return Call{method, surface.Spend{Pool: pool, Limit: r.limit, Hard: hard, Per: r.per, Evenly: r.evenly, Lane: urgency}}
}
