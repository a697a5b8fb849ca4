package matrix

import (
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Choices that are none of the product's own.
const (
	invented  chat.Choice = "approve"
	modeNever chat.Choice = "mode never" // the command that turns prompts off
)

// pick is one choice: what its button carries, and what has to be left behind where it is accepted.
type pick struct {
	choice chat.Choice
	token  func(*scene) string // nil: the ask's
	event  string              // the kind of the one event it brings
	leaves turn.Status         // of the call in question, once everything else is settled too; empty: see check
	runs   bool                // the call in question runs
	check  func(*scene, turn.Session) string
	rare   bool // tried in the stages of [rarely] only
}

// grants are choices that allow the call and leave a grant.
func grants(c chat.Choice) pick {
	return pick{choice: c, event: "decided", leaves: turn.Done, runs: true, rare: true, check: func(_ *scene, x turn.Session) string {
		return unless(len(x.Grants) == 1, "there is no grant")
	}}
}

// rarely are the stages in which choices are tried that do not differ from others in the rest.
var rarely = []stage{awaiting, single, tooBig, done, unknown}

// picks are the choice axis: a new choice is a line here, and a word in the oracle's tables.
var picks = []pick{
	{choice: chat.AllowOnce, event: "decided", leaves: turn.Done, runs: true},
	{choice: chat.AllowChat, event: "decided", leaves: turn.Done, runs: true, check: func(_ *scene, x turn.Session) string {
		return unless(len(x.Grants) == 1, "there is no grant")
	}},
	{choice: chat.Deny, event: "decided", leaves: turn.Denied},
	{choice: chat.DenyReason, event: "decided", leaves: turn.Denied},
	{choice: chat.Edit, event: "amended", check: anew},
	{choice: chat.Undo, event: "withdrawn", check: anew},
	{choice: chat.Extend, event: "extended", check: func(s *scene, x turn.Session) string {
		return unless(x.Turn.Calls[0].Deadline.After(time.Now().Add(time.Hour)) && string(x.Turn.Calls[0].Ask) == s.token, "there is no more time")
	}},
	{choice: chat.AskAgain, event: "reopened"},
	{choice: chat.Happened, event: "resolved", leaves: turn.Unknown},
	{choice: chat.RunAgain, event: "resolved", check: anew},
	{choice: chat.Leave, event: "resolved", leaves: turn.Unknown},
	{choice: chat.Revoke, token: func(s *scene) string { return s.grant }, event: "revoked", check: func(_ *scene, x turn.Session) string {
		return unless(len(x.Grants) == 0, "the grant is still there")
	}},
	{choice: chat.ApproveAll, token: func(s *scene) string { return s.all }, event: "decided"},
	{choice: chat.DenyAll, token: func(s *scene) string { return s.all }, event: "decided"},
	{choice: chat.Stop, token: func(s *scene) string { return s.turn }, event: "stopped"},
	{choice: chat.ViewDetail}, // shows, decides nothing
	{choice: invented},
	{choice: ""}, // the zero choice: it denies nothing that was not asked so
	{choice: modeNever, event: "mode_set"},
	grants(chat.AllowExact), grants(chat.AllowHour), grants(chat.AllowUses), grants(chat.AllowServer),
	{choice: chat.AllowPath, rare: true},   // nothing here is a path
	{choice: chat.AllowReads, rare: true},  // nobody who is believed says that the tools only read
	{choice: chat.AllowWrites, rare: true}, // or that they write
	{choice: chat.AllowSession, event: "", leaves: turn.Done, runs: true, rare: true, check: func(_ *scene, x turn.Session) string {
		return unless(x.Mode == permission.ModeNever, "the session still asks")
	}},
	{choice: chat.AskFor, rare: true}, // no session here is approved
	{choice: chat.Remember, event: "ticked", rare: true},
	{choice: chat.Why, rare: true},
	{choice: chat.Answer, rare: true}, // no tool here wants anything of anybody
	{choice: chat.Decline, rare: true},
	{choice: chat.Accept, rare: true}, // the token names no tools that were shown
	{choice: chat.Open, rare: true},
}

func pickOf(c chat.Choice) pick {
	return picks[slices.IndexFunc(picks, func(p pick) bool { return p.choice == c })]
}

func (p pick) tokenIn(s *scene) string {
	if p.token != nil {
		return p.token(s)
	}
	return s.token
}

func unless(ok bool, say string) string {
	if ok {
		return ""
	}
	return say
}

// anew: the call is asked for under another token, and nothing is allowed.
func anew(s *scene, _ turn.Session) string {
	s.h.Helper()
	s.anew()
	return ""
}

// effects are the runs that an accepted cell brings, the scene's open calls all settled afterwards: those that were allowed before,
// and what the choice allows. It is nil where the turn goes on.
func effects(c cell, s *scene) (runs []string, settles bool) {
	names := strings.Fields(plans[c.Stage].tools)
	waits := has(waiting, c.Stage) || c.Stage == stale
	switch {
	case !waits:
		return nil, false
	case c.Choice == chat.ApproveAll:
		if c.Stage == denied || c.Stage == expired || c.Stage == allowed && c.Rule == raised { // whoever allowed it may not any more
			names = names[1:]
		}
		return s.named(names), true
	case pickOf(c.Choice).runs:
		return s.named(names[:1]), true
	case c.Choice == chat.DenyAll && c.Stage == allowed && c.Rule != raised:
		return s.named(names[:1]), true
	case c.Choice == chat.Deny, c.Choice == chat.DenyReason, c.Choice == chat.DenyAll:
		return nil, true
	}
	return nil, false
}

func (s *scene) named(names []string) (out []string) {
	for _, n := range names {
		out = append(out, s.prefix+n)
	}
	return out
}
