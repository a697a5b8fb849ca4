package turn

import (
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// Preview is a look at what a call would replace, taken before people are asked about it: a read by a tool of the same server that needed no
// question. It says what the read was, and what came of it.
type Preview struct {
	Run   RunID             `json:"run"`
	Of    permission.Digest `json:"of"` // the call as it was then: with other arguments the look says nothing
	Tool  permission.Tool   `json:"tool"`
	Args  json.RawMessage   `json:"args"`
	Token uint64            `json:"token"` // of the lease under which it began
	Done  bool              `json:"done,omitempty"`
	At    time.Time         `json:"at,omitzero"` // when it was done
	Diff  string            `json:"diff,omitempty"`
}

// The arguments of a call that replaces a text: where it is, and what it becomes.
const (
	Replaces = "path"
	Becomes  = "content"
)

// WhyNoDiff is why a look gave nothing to show.
type WhyNoDiff string

// The reasons.
const (
	NoDiffFailed WhyNoDiff = "failed"  // the read gave no text, or not in time
	NoDiffPart   WhyNoDiff = "part"    // not all of the text is known
	NoDiffBinary WhyNoDiff = "binary"  // it is no text
	NoDiffSecret WhyNoDiff = "secret"  // cards would mask some of it
	NoDiffLong   WhyNoDiff = "long"    // too much of it, or too much changes
	NoDiffSame   WhyNoDiff = "no_diff" // nothing changes
)

// Shows is the look whose diff a card shows: one at what the call replaces as it is now, and which no run of it can have changed since.
func (c ToolCall) Shows() *Preview {
	if p := c.Preview; p != nil && p.Diff != "" && p.Of == c.Digest && len(c.Runs) == 0 {
		return p
	}
	return nil
}

// Looks reports whether a look at what the call replaces is under way, of whoever holds that lease.
func (c ToolCall) Looks(token uint64) bool {
	p := c.Preview
	return c.Status == Proposed && p != nil && p.Of == c.Digest && !p.Done && p.Token == token
}

func (ev PreviewStarted) apply(s Session, _ Entry) Session {
	c := s.Turn.Call(ev.Call)
	if c.Status != Proposed || ev.Run == "" || ev.Of != c.Digest || c.Preview != nil && c.Preview.Of == ev.Of {
		return s
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		c.Preview = &Preview{Run: ev.Run, Of: ev.Of, Tool: ev.Tool, Args: ev.Args, Token: ev.Token}
	})
}

func (ev Previewed) apply(s Session, e Entry) Session {
	c := s.Turn.Call(ev.Call)
	if c.Preview == nil || c.Preview.Run != ev.Run || c.Preview.Done {
		return s
	}
	return s.editCall(c.ID, func(c *ToolCall) {
		p := *c.Preview
		p.Done, p.At, p.Diff = true, e.At, ev.Diff
		c.Preview = &p
	})
}
