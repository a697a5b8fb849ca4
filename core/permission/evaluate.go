package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// The names of the rules, as [Reason.Rule] carries them, in the order in which they are consulted.
const (
	RulePlace       = "place" // it decides nothing: it says that the policy is that of a place
	RulePolicy      = "policy"
	RuleHalted      = "halted"
	RuleDisabled    = "disabled"
	RuleRemembered  = "remembered" // the requester's own choice
	RuleRequireAuth = "require_auth"
	RuleAllowAll    = "allow_all"
	RuleDefinition  = "definition"
	RuleVisitor     = "visitor"
	RuleArguments   = "arguments" // the operator's word about calls with such arguments
	RuleMode        = "mode"
	RuleTool        = "tool"
	RuleServer      = "server"
	RuleApproval    = "approval"
	RuleNamed       = "named"
	RuleSource      = "source"
	RuleGrant       = "grant"
	RuleChannel     = "channel" // somebody allowed it for all chats of the channel
	RuleUnattended  = "unattended"
	RuleEdited      = "edited"    // a person changed the arguments: somebody has to look at the new ones
	RuleUnchecked   = "unchecked" // nobody knows whether the arguments fit the tool's input schema: somebody has to look at them
)

// What a rule can say, as [Reason.Said] carries it: a [Verdict]'s word, or one of these.
const (
	SaidAsk         = "ask"
	SaidRequired    = "required"
	SaidNotRequired = "not required"
	SaidNothing     = "no opinion"
	SaidTooLittle   = "too little" // of a grant whose access is lower than what the call needs: the card says so
)

// maxGrantReasons bounds how many grants that do not cover a call are named in its ruling, which is stored.
const maxGrantReasons = 4

// Evaluate rules one call. It is total, and the order of the rules is the package comment's. Ruling.Reasons holds
// every rule that was consulted, in order, exactly one of them with Won set.
func Evaluate(p Policy, grants []Grant, req Request, now time.Time) Ruling {
	p = p.In(req.Chat, req.Channel)
	r := Weigh(p, grants, req, now)
	if r.ChatGrant {
		r.Scopes = wider(p, req, now)
	}
	return r
}

// Weigh is Evaluate without the scopes of the card: for whoever draws none, and asks about many tools.
func Weigh(p Policy, grants []Grant, req Request, now time.Time) Ruling {
	p, e := p.at(req)
	r := begin(p, e, req)
	if no, forbidden := r.forbids(p, e, req); forbidden {
		return no
	}
	own, chose := p.standing(req)
	if chose && own.Choice != StandAsk { // also what is no choice at all
		return r.end(Forbid, RuleRemembered, sayRemembered(own), own.ID)
	}

	if e.Approval == RequireAuth {
		r.note(RuleRequireAuth, fmt.Sprintf(sayRequireAuth, called(e.Tool), e.ApprovalFrom), string(e.ApprovalFrom), SaidAsk)
		r.Level = LevelAdmin
		return r.ask(req, false)
	}
	r.pass(RuleRequireAuth, sayNoAuth)

	if p.AllowAll {
		return r.end(Allow, RuleAllowAll, sayAllowAll, "")
	}
	if !r.required(p, e, req) {
		return r.answer(Allow)
	}
	// What required asking gives the answer, unless something satisfies it.
	if g, ok := r.covering(p, grants, req, e, now); ok {
		r.Grant = g.ID
		return r.end(Allow, RuleGrant, sayGranted(g), string(g.ID))
	}
	if !chose { // who wants to be asked is
		if kept, ok := r.kept(p, req, e, now); ok {
			return r.end(Allow, kept.rule(), sayRemembered(kept), kept.ID)
		}
	}
	return r.offer(p, e, req)
}

// Offered reports whether a model hears of the tool. It does not where every call would be forbidden, whatever its arguments; of what a person
// denied for themselves it is told when it tries (R109), unless there is nobody.
func Offered(p Policy, grants []Grant, req Request, now time.Time) bool {
	req.Unwritten = true
	if req.Unattended {
		return Weigh(p, grants, req, now).Verdict != Forbid
	}
	// Each tool is looked at before each reply. What asks, and why, is not written down for that.
	p, e := p.at(req)
	_, forbidden := new(ruling).forbids(p, e, req)
	return !forbidden
}

// begin is the ruling before any rule has spoken.
func begin(p Policy, e Effective, req Request) ruling {
	shown := req.Args
	if req.Masked != nil {
		shown = req.Masked
	}
	r := ruling{Ruling: Ruling{
		Access: e.Access, Risk: e.Risk, Unrated: e.RiskFrom == FromDefault, SaysReads: req.Hints.reads() && e.Access != Read, Approval: e.Approval, Timeout: e.Timeout,
		Message: Message(e.Message, shown), Impact: e.Impact, Category: e.Category, Trusted: e.Trusted,
		Masked: req.Masked != nil, Changed: e.Changed, New: p.unseen(e),
		Reasons: make([]Reason, 0, 12), // most rulings pass that many rules, and every tool is weighed each time the model is asked
	}}
	if e.Approvals > 1 {
		r.Approvals = e.Approvals
	}
	if len(p.Here) > 0 {
		r.pass(RulePlace, fmt.Sprintf(sayHere, strings.Join(p.Here, ", ")))
	}
	return r
}

// forbids asks the rules that forbid, whoever asks: the first that does gives the answer.
func (r *ruling) forbids(p Policy, e Effective, req Request) (Ruling, bool) {
	if !p.Installed && !p.AllowAll {
		return r.end(Forbid, RulePolicy, sayNoPolicy, ""), true
	}
	if p.Halted != nil {
		return r.end(Forbid, RuleHalted, fmt.Sprintf(sayHalted, cmp.Or(p.Halted.Name, "An admin")), ""), true
	}
	if e.Disabled != "" {
		return r.end(Forbid, RuleDisabled, sayDisabled(e), string(e.Disabled)), true
	}
	r.pass(RuleDisabled, sayNotDisabled)
	r.rule, r.ruleSays, r.ruled = p.ruled(req)
	if r.ruled && !r.rule.Enabled {
		return r.end(Forbid, RuleArguments, r.ruleSays, string(FromTool)), true
	}
	return Ruling{}, false
}

// offer asks, with what a person may give besides this one call.
func (r *ruling) offer(p Policy, e Effective, req Request) Ruling {
	mode, _ := p.mode(req)
	offers := e.ChatGrant && e.Approvals <= 1 && req.Masked == nil && (!r.ruled || r.rule.lets())
	if beyond := offers && !r.New && !p.adminAsks(req.Tool); beyond { // else an allowance would count for nothing (keptUncovered)
		if r.Remember = !e.OthersOnly; r.Remember { // for oneself, and of one's own calls others decide there
			r.Keeps = p.RememberUpTo
		}
		if p.ChannelGrants && req.Channel != "" && req.Standing == chat.Member && mode != ModeAlways {
			r.Channel = cmp.Or(p.ChannelFor, ChannelGrantFor)
		}
	}
	return r.ask(req, offers && !(p.Strict && mode == ModeAlways))
}

// wider are the scopes beyond the tool itself that somebody who may decide could grant: the card is the same for all of them.
func wider(p Policy, req Request, now time.Time) []Scope {
	people := []chat.User{req.Requester}
	if who := p.Get(req.Tool, req.Source, req.Hints, req.Metadata).Approvers; who.Rule == ApproversListed {
		people = append(people, who.Users...)
	}
	var out []Scope
	for _, u := range slices.Concat(people, p.Admins) {
		if u.IsGroup() { // whoever belongs to it may: as one of them
			p, u = p.Knowing(anyone(req, u), []chat.User{u}), anyone(req, u)
		}
		out = append(out, Scopes(p, req, u, now)...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s Scope) bool { return s == ScopeTool })
}

// anyone stands for somebody who belongs to a group.
func anyone(req Request, group chat.User) chat.User {
	return chat.User{Platform: group.Platform, Workspace: group.Workspace, Key: "anyone in " + req.Tool.Server}
}

// ruling is a Ruling in the making.
type ruling struct {
	Ruling
	winner int  // index of the reason that gives the answer
	mayRun bool // what is no call yet may come to run unasked, by a rule on its arguments

	rule     Rule // on its arguments, the strictest
	ruleSays string
	ruled    bool // there is one
}

// note records the rule that gives the answer, unless a later one does.
func (r *ruling) note(rule, text, ref, said string) {
	r.winner = len(r.Reasons)
	r.Reasons = append(r.Reasons, Reason{Rule: rule, Text: text, Ref: ref, Said: said})
}

// pass records a rule that has no opinion.
func (r *ruling) pass(rule, text string) {
	r.Reasons = append(r.Reasons, Reason{Rule: rule, Text: text, Said: SaidNothing})
}

// require notes a rule that says whether permission is needed.
func (r *ruling) require(rule string, must bool, from Origin, text string) bool {
	said := SaidNotRequired
	if must {
		said = SaidRequired
	}
	r.note(rule, text, string(from), said)
	return must
}

// end gives the answer by one more rule.
func (r *ruling) end(v Verdict, rule, text, ref string) Ruling {
	r.note(rule, text, ref, v.String())
	return r.answer(v)
}

// answer gives it by the rule that was noted last.
func (r *ruling) answer(v Verdict) Ruling {
	r.Verdict = v
	r.Reasons[r.winner].Won = true
	return r.Ruling
}

// ask asks by the rule that was noted last, unless nobody is there to be asked.
func (r *ruling) ask(req Request, chatGrant bool) Ruling {
	if req.Unattended && !r.mayRun {
		return r.end(Forbid, RuleUnattended, sayUnattended, "")
	}
	r.ChatGrant = chatGrant
	if r.Approval == AutoApprove {
		r.Approval = RequireConfirmation // a setting asks although the tool itself would not
	}
	return r.answer(Ask)
}

// required says whether permission is needed, and notes the rule that said so.
func (r *ruling) required(p Policy, e Effective, req Request) bool {
	if e.Changed {
		return r.require(RuleDefinition, true, FromTool, fmt.Sprintf(sayChanged, called(e.Tool)))
	}
	switch req.Standing {
	case chat.Member:
	case chat.Visitor:
		return r.require(RuleVisitor, true, "", sayVisitor)
	default:
		return r.require(RuleVisitor, true, "", sayUntold)
	}
	if r.ruled && !r.rule.lets() {
		return r.require(RuleArguments, true, FromTool, r.ruleSays)
	}
	mode, from := p.mode(req)
	says := sayAsks("This chat", mode == ModeNever, cmp.Or(from, "the default mode"))
	switch {
	case mode == ModeNever:
		why := p.beyondNever(e, req)
		if why == "" {
			return r.require(RuleMode, false, from, says)
		}
		at := len(r.Reasons)
		r.Reasons = append(r.Reasons, Reason{Rule: RuleMode, Text: why, Ref: string(from), Said: SaidNothing})
		must := r.requiredByTool(p, e, req)
		if must { // the sentence that people need: the chat is said to never ask
			r.winner, r.Reasons[at].Said = at, SaidRequired
		}
		return must
	case mode != ModeTool:
		return r.require(RuleMode, true, from, says)
	case req.Mode == ModeNever: // and does not count, as mode says
		r.pass(RuleMode, sayModeMasked)
	default:
		r.pass(RuleMode, sayModeTool)
	}
	return r.requiredByTool(p, e, req)
}

// requiredByTool is what holds where no mode says otherwise: the first rule that speaks.
func (r *ruling) requiredByTool(p Policy, e Effective, req Request) bool {
	server := p.Servers[req.Tool.Server]
	set := server.Tools[req.Tool.Name]
	if own, ok := p.standing(req); ok && !set.Ask.always() { // a denial was ruled before
		return r.require(RuleRemembered, true, "", sayRemembered(own))
	}
	if r.ruled { // one that asks was noted before
		return r.require(RuleArguments, false, FromTool, r.ruleSays)
	} else if n := len(set.Rules); n > 0 && !req.Unwritten {
		r.pass(RuleArguments, fmt.Sprintf(sayNoRule, n))
	} else {
		for i, rule := range set.Rules {
			r.mayRun = r.mayRun || rule.lets()
			r.pass(RuleArguments, fmt.Sprintf(sayRule, called(req.Tool), rule.Says(), i+1))
		}
	}
	must, tool := e.ConfirmationRequired(), called(e.Tool)
	for _, x := range []struct {
		rule         string
		speaks, must bool
		from         Origin
		says, silent string
	}{
		{RuleTool, set.Ask != Inherit, set.Ask != NeverAsk, FromTool, sayAsks(tool, set.Ask == NeverAsk, FromTool), sayToolInherits},
		{RuleServer, server.Ask != Inherit, server.Ask != NeverAsk, FromServer, sayAsks(e.Tool.Server, server.Ask == NeverAsk, FromServer), sayServerInherits},
		{RuleApproval, e.ApprovalFrom == FromTool, must, FromTool, sayConfirms(tool, must, FromTool), sayNoApproval},
		{RuleNamed, e.ApprovalFrom == FromNamed, must, FromNamed, sayNamed(e), sayNotNamed},
	} {
		if x.speaks {
			return r.require(x.rule, x.must, x.from, x.says)
		}
		r.pass(x.rule, x.silent)
	}
	return r.require(RuleSource, must, e.ApprovalFrom, saySource(e, req.Hints, server.Trusted))
}

// beyondNever is why a call is none that "never ask" is about, or "". The mode spares people questions to themselves: it never takes the
// place of others who have to look, of an admin's word about the tool, or of a first look at it.
func (p Policy) beyondNever(e Effective, req Request) string {
	but := ""
	switch {
	case e.Approvals > 1:
		but = saySeveralLook
	case MayDecide(p, req, LevelUser, req.Requester) != nil:
		but = sayOthersLook
	case p.adminAsks(req.Tool) && !p.IsAdmin(req.Requester):
		but = sayAdminAsks
	case p.unseen(e):
		but = sayUnseen
	default:
		return ""
	}
	return fmt.Sprintf(but, called(e.Tool))
}

// unseen reports whether nobody looked at the tool yet who could have. Where there is no admin, that it is new is no news.
func (p Policy) unseen(e Effective) bool { return e.New && len(p.Admins) > 0 }

// mode is the session's mode, or the policy's where the session has none, or what people set there does not count.
func (p Policy) mode(req Request) (m Mode, from Origin) {
	m, from = req.Mode, FromSession
	if m == ModeTool || m == ModeNever && req.Masked != nil {
		m, from = p.Mode, ""
	}
	if m > ModeNever {
		m = ModeAlways // not a mode: careful
	}
	return m, from
}

// kept finds what satisfies the call of all that is remembered: by whoever asks, or by anybody for the channel.
func (r *ruling) kept(p Policy, req Request, e Effective, now time.Time) (found Remembered, ok bool) {
	for _, x := range p.Remembered {
		if x.Choice != StandAllow || x.Tool.Server != req.Tool.Server || x.Scope == ScopeTool && x.Tool != req.Tool {
			continue
		}
		if x.Channel == "" && x.By != req.Requester || x.Channel != "" && (!p.ChannelGrants || x.Channel != req.Channel) {
			continue
		}
		why := keptUncovered(p, x, req, e, now)
		if why == "" {
			return x, true
		}
		r.pass(x.rule(), fmt.Sprintf(sayNotRemembered, x.What(), why))
	}
	return found, false
}

// covering finds the grant that satisfies the call: an unlimited one before one whose uses are counted.
func (r *ruling) covering(p Policy, grants []Grant, req Request, e Effective, now time.Time) (found Grant, ok bool) {
	var misses []Reason
	more := 0
	for _, g := range grants {
		if g.Chat != req.Chat || g.Tool.Server != req.Tool.Server {
			continue // about something else: not worth a word
		}
		why := uncovered(p, g, req, e, now)
		covers := why == ""
		switch {
		case covers && (!ok || found.limited() && !g.limited()):
			found, ok = g, true
		case covers, g.Scope == ScopeTool && g.Tool.Name != req.Tool.Name:
		case len(misses) < maxGrantReasons:
			miss := Reason{Rule: RuleGrant, Text: sayNotCovered(g, why), Ref: string(g.ID), Said: SaidNothing}
			if why == sayLowerAccess {
				miss.Said = SaidTooLittle
			}
			misses = append(misses, miss)
		default:
			more++
		}
	}
	r.Reasons = append(r.Reasons, misses...)
	switch {
	case more > 0:
		r.pass(RuleGrant, fmt.Sprintf(sayMoreGrants, more))
	case !ok && len(misses) == 0:
		r.pass(RuleGrant, sayNoGrant)
	}
	return found, ok
}
