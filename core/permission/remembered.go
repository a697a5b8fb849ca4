package permission

import (
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Standing is what a remembered choice does. Zero asks.
type Standing uint8

// The standings.
const (
	StandAsk Standing = iota // always ask me
	StandAllow
	StandDeny
)

// Remembered is a person's own choice about a tool, for what they ask themselves, in every chat (R43, R45, R109). An allowance is for
// one definition of the tool; a denial, and the wish to be asked, hold whatever becomes of it.
type Remembered struct {
	ID     string    `json:"id"`
	By     chat.User `json:"by"`
	Name   string    `json:"name,omitempty"` // display name of By when it was chosen
	Tool   Tool      `json:"tool"`
	Choice Standing  `json:"choice"`
	At     time.Time `json:"at,omitzero"`
	// What an allowance is narrowed to: the arguments of the answer it was remembered with, and its end. Neither: any arguments, for good.
	Pins  []Pin     `json:"pins,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// narrow reports whether what narrows the choice can be kept: only an allowance is narrowed, and by what people can read.
func (r Remembered) narrow() bool {
	return (r.Choice == StandAllow || len(r.Pins) == 0 && r.Until.IsZero()) && CheckPins(r.Pins) == nil
}

// standing is the requester's own choice for a tool. An allowance counts only for the definition it was made for.
func (p Policy) standing(req Request) (found Remembered, ok bool) {
	for _, r := range p.Remembered {
		if r.By != req.Requester || !acts(r.By) || r.Tool.Server != req.Tool.Server || r.Tool.Name != req.Tool.Name {
			continue
		}
		if r.Choice == StandAllow && r.Tool != req.Tool {
			continue
		}
		if !ok || caring(r.Choice) > caring(found.Choice) {
			found, ok = r, true
		}
	}
	return found, ok
}

// caring orders standings by care; what is none is the most careful.
func caring(s Standing) int {
	switch s {
	case StandAllow:
		return 0
	case StandAsk:
		return 1
	}
	return 2
}

// rememberedUncovered is why a remembered allowance does not satisfy a call, or "".
func rememberedUncovered(p Policy, r Remembered, req Request, e Effective, now time.Time) string {
	mode, _ := p.mode(req)
	switch {
	case !r.Until.IsZero() && !now.Before(r.Until):
		return "it has run out"
	case !holdAll(r.Pins, req.Args):
		return "the arguments are not the ones it is limited to"
	case req.Unattended:
		return "unattended runs use no remembered choices"
	case req.Masked != nil:
		return sayMaskedUncovered
	case mode == ModeAlways:
		return "this chat asks before every call"
	case e.Approvals > 1:
		return "several people must allow each call"
	case !e.ChatGrant:
		return "standing permissions for this tool are withheld (tool setting)"
	case p.adminAsks(req.Tool):
		return "an admin set it to always ask"
	case p.unseen(e):
		return "no admin has accepted the tool yet"
	case MayDecide(p, req, LevelUser, r.By) != nil:
		return "the person who chose it may not decide this call"
	}
	return ""
}

// adminAsks reports whether the operator or an admin said that the tool, or its server, always asks. No person's setting undoes that.
func (p Policy) adminAsks(t Tool) bool {
	server := p.Servers[t.Server]
	set := server.Tools[t.Name].Ask
	return set != Inherit && set != NeverAsk || set == Inherit && server.Ask != Inherit && server.Ask != NeverAsk
}
