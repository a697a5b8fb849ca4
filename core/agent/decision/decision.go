// Package decision decides, from values alone, what enters a chat's log: what the policy says of a call, and what a person's choice comes
// to. It is the first of the engine's three steps (decide, record, act); the other two are package agent's.
//
// A [Judge] holds what there is to judge by at one moment: the policy, the clock, the tools as they are now. It is asked with a session,
// and answers with events, or with a [*Refusal] that has a sentence for whoever clicked. Nothing of it is true before the log took it:
// [ReadOutcomes] reads from the session after that what became of a click.
//
// It may import core's pure packages, and no context: what it has to ask of the world (the tools' list, whether arguments fit a schema,
// what people are called) comes in as functions of the Judge.
//
// Where to start reading: [Judge.Answer] (choice.go), through which every choice of a person goes, then grant.go for standing
// permissions and amend.go for arguments that a person changed; [Judge.Rule] and [Judge.Start] (ruling.go), through which every call goes
// before it runs.
//
// Where a line goes: whether somebody may decide at all is core/permission's; what an event does to a session is package turn's; why a
// choice is not taken stands here.
package decision

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Judge is what there is to judge by at one moment.
type Judge struct {
	Policy permission.Policy
	// Settings are what Policy was made with: they know a tool's definition as it was accepted.
	Settings permission.Settings
	Now      time.Time     // by the log's clock
	Mint     func() string // a new identifier
	// NameOf is what people call somebody in a chat.
	NameOf func(turn.Session, chat.User) string
	// Tools are the tools as they are now; none with an error.
	Tools func() ([]Tool, error)
	// Check says why arguments do not fit a tool's input schema, or nil. unchecked: that is not known.
	Check func(permission.Tool, json.RawMessage) (unchecked bool, err error)
}

// Tool is a tool as it is now, as far as anything is decided by it.
type Tool struct {
	Tool       permission.Tool
	Definition permission.Definition // what Tool.Definition is the digest of
	Source     permission.Source
	Hints      permission.Hints
	Metadata   permission.Metadata
	Schema     json.RawMessage // of its input, as its server gave it
	Card       turn.Card       // how it describes itself
	Preview    string          // the tool of its server that reads what it replaces; empty: none
}

// Request is the permission request of a call of the tool.
func (t Tool) Request(s turn.Session, c turn.ToolCall) permission.Request {
	r := turn.Requested(s, c)
	r.Source, r.Hints, r.Metadata = t.Source, t.Hints, t.Metadata
	return r
}

// find finds the tool of that name, which may be another than t by now.
func find(tools []Tool, t permission.Tool) (now Tool, ok bool) {
	i := slices.IndexFunc(tools, func(x Tool) bool { return x.Tool.Server == t.Server && x.Tool.Name == t.Name })
	if i < 0 {
		return Tool{}, false
	}
	return tools[i], true
}
