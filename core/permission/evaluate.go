package permission

import (
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// The names of the rules, as [Reason.Rule] carries them, in the order in which they are consulted.
const (
	RulePolicy      = "policy"
	RuleHalted      = "halted"
	RuleDisabled    = "disabled"
	RuleRemembered  = "remembered" // the requester's own choice
	RuleRequireAuth = "require_auth"
	RuleAllowAll    = "allow_all"
	RuleDefinition  = "definition"
	RuleVisitor     = "visitor"
	RuleMode        = "mode"
	RuleTool        = "tool"
	RuleServer      = "server"
	RuleApproval    = "approval"
	RuleNamed       = "named"
	RuleSource      = "source"
	RuleGrant       = "grant"
	RuleUnattended  = "unattended"
	RuleEdited      = "edited"    // a person changed the arguments: somebody has to look at the new ones
	RuleUnchecked   = "unchecked" // nobody knows whether the arguments fit the tool's input schema: somebody has to look at them
)

// What a rule can say, as [Reason.Said] carries it.
const (
	SaidAsk         = "ask"
	SaidAllow       = "allow"
	SaidForbid      = "forbid"
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
	r := Weigh(p, grants, req, now)
	if r.ChatGrant {
		r.Scopes = wider(p, req, now)
	}
	return r
}

// Weigh is Evaluate without the scopes of the card: for whoever draws none, and asks about many tools.
func Weigh(p Policy, grants []Grant, req Request, now time.Time) Ruling {
	e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
	shown := req.Args
	if req.Masked != nil {
		shown = req.Masked
	}
	r := ruling{Ruling: Ruling{
		Access: e.Access, Risk: e.Risk, Approval: e.Approval, Timeout: e.Timeout,
		Message: Message(e.Message, shown), Impact: e.Impact, Category: e.Category, Trusted: e.Trusted,
		Masked: req.Masked != nil, Changed: e.Changed, New: p.unseen(e),
	}}
	if e.Approvals > 1 {
		r.Approvals = e.Approvals
	}
	r.Reasons = make([]Reason, 0, 10)

	if !p.Installed && !p.AllowAll {
		return r.forbid(Reason{Rule: RulePolicy, Text: sayNoPolicy})
	}
	if p.Halted != nil {
		return r.forbid(Reason{Rule: RuleHalted, Text: sayHalted(*p.Halted)})
	}
	if e.Disabled != "" {
		return r.forbid(Reason{Rule: RuleDisabled, Text: sayDisabled(e), Ref: string(e.Disabled)})
	}
	r.pass(RuleDisabled, sayNotDisabled)
	own, chose := p.standing(req)
	if chose && own.Choice != StandAsk && own.Choice != StandAllow { // also what is no choice at all
		return r.forbid(Reason{Rule: RuleRemembered, Text: sayRemembered(own), Ref: own.ID})
	}

	if e.Approval == RequireAuth {
		r.note(Reason{Rule: RuleRequireAuth, Text: sayRequireAuth(e), Ref: string(e.ApprovalFrom), Said: SaidAsk})
		r.Level = LevelAdmin
		return r.ask(req, false)
	}
	r.pass(RuleRequireAuth, sayNoAuth)

	if p.AllowAll {
		return r.allow(Reason{Rule: RuleAllowAll, Text: sayAllowAll})
	}
	if !r.required(p, e, req) {
		return r.allow(Reason{})
	}
	must := r.winner // what required asking gives the answer, unless something satisfies it
	if g, ok := r.covering(p, grants, req, e, now); ok {
		r.Grant = g.ID
		return r.allow(Reason{Rule: RuleGrant, Text: sayGranted(g), Ref: string(g.ID)})
	}
	if chose && own.Choice == StandAllow {
		why := rememberedUncovered(p, own, req, e, now)
		if why == "" {
			return r.allow(Reason{Rule: RuleRemembered, Text: sayRemembered(own), Ref: own.ID})
		}
		r.pass(RuleRemembered, sayNotRemembered(own, why))
	}
	r.winner = must
	mode, _ := p.mode(req)
	offers := e.ChatGrant && e.Approvals <= 1 && req.Masked == nil
	r.Remember = offers && !r.New
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
		for _, s := range Scopes(p, req, u, now) {
			if s != ScopeTool && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return out
}

// anyone stands for somebody who belongs to a group.
func anyone(req Request, group chat.User) chat.User {
	return chat.User{Platform: group.Platform, Workspace: group.Workspace, Key: "anyone in " + req.Tool.Server}
}

// ruling is a Ruling in the making.
type ruling struct {
	Ruling
	winner int // index of the reason that required asking, or allowed
}

func (r *ruling) note(x Reason) {
	r.winner = len(r.Reasons)
	r.Reasons = append(r.Reasons, x)
}

// pass records a rule that has no opinion.
func (r *ruling) pass(rule, text string) {
	r.Reasons = append(r.Reasons, Reason{Rule: rule, Text: text, Said: SaidNothing})
}

func (r *ruling) forbid(x Reason) Ruling {
	x.Said = SaidForbid
	r.note(x)
	return r.end(Forbid)
}

// allow ends with x, or with the rule that was noted last.
func (r *ruling) allow(x Reason) Ruling {
	if x.Rule != "" {
		x.Said = SaidAllow
		r.note(x)
	}
	return r.end(Allow)
}

// ask ends with the rule that was noted last, unless nobody is there to be asked.
func (r *ruling) ask(req Request, chatGrant bool) Ruling {
	if req.Unattended {
		return r.forbid(Reason{Rule: RuleUnattended, Text: sayUnattended})
	}
	r.ChatGrant = chatGrant
	if r.Approval == AutoApprove {
		r.Approval = RequireConfirmation // a setting asks although the tool itself would not
	}
	return r.end(Ask)
}

func (r *ruling) end(v Verdict) Ruling {
	r.Verdict = v
	r.Reasons[r.winner].Won = true
	return r.Ruling
}

// required says whether permission is needed, and notes the rule that said so.
func (r *ruling) required(p Policy, e Effective, req Request) bool {
	say := func(rule string, must bool, from Origin, text string) bool {
		said := SaidNotRequired
		if must {
			said = SaidRequired
		}
		r.note(Reason{Rule: rule, Text: text, Ref: string(from), Said: said})
		return must
	}
	if e.Changed {
		return say(RuleDefinition, true, FromTool, sayChanged(e))
	}
	switch req.Standing {
	case chat.Member:
	case chat.Visitor:
		return say(RuleVisitor, true, "", sayVisitor)
	default:
		return say(RuleVisitor, true, "", sayUntold)
	}
	mode, ofSession := p.mode(req)
	from := Origin("")
	if ofSession {
		from = FromSession
	}
	if mode == ModeNever {
		why := p.beyondNever(e, req)
		if why == "" {
			return say(RuleMode, false, from, sayMode(mode, ofSession))
		}
		at := len(r.Reasons)
		r.Reasons = append(r.Reasons, Reason{Rule: RuleMode, Text: why, Ref: string(from), Said: SaidNothing})
		must := r.requiredByTool(p, e, req, say)
		if must { // the sentence that people need: the chat is said to never ask
			r.winner, r.Reasons[at].Said = at, SaidRequired
		}
		return must
	}
	if mode != ModeTool {
		return say(RuleMode, true, from, sayMode(mode, ofSession))
	}
	if req.Mode == ModeNever { // and does not count, as mode says
		r.pass(RuleMode, sayModeMasked)
	} else {
		r.pass(RuleMode, sayModeTool)
	}
	return r.requiredByTool(p, e, req, say)
}

// requiredByTool is what holds where no mode says otherwise.
func (r *ruling) requiredByTool(p Policy, e Effective, req Request, say func(string, bool, Origin, string) bool) bool {
	server := p.Servers[req.Tool.Server]
	set := server.Tools[req.Tool.Name]
	if own, ok := p.standing(req); ok && own.Choice == StandAsk && !(set.Ask != Inherit && set.Ask != NeverAsk) {
		return say(RuleRemembered, true, "", sayRemembered(own))
	}
	if set.Ask != Inherit {
		return say(RuleTool, set.Ask != NeverAsk, FromTool, sayAskTool(e, set.Ask))
	}
	r.pass(RuleTool, sayToolInherits)
	if server.Ask != Inherit {
		return say(RuleServer, server.Ask != NeverAsk, FromServer, sayAskServer(e, server.Ask))
	}
	r.pass(RuleServer, sayServerInherits)

	must := e.ConfirmationRequired()
	if e.ApprovalFrom == FromTool {
		return say(RuleApproval, must, FromTool, sayApproval(e))
	}
	r.pass(RuleApproval, sayNoApproval)
	if e.ApprovalFrom == FromNamed {
		return say(RuleNamed, must, FromNamed, sayNamed(e))
	}
	r.pass(RuleNamed, sayNotNamed)
	return say(RuleSource, must, e.ApprovalFrom, saySource(e, req.Hints, server.Trusted))
}

// beyondNever is why a call is none that "never ask" is about, or "". The mode spares people questions to themselves: it never takes the
// place of others who have to look, of an admin's word about the tool, or of a first look at it.
func (p Policy) beyondNever(e Effective, req Request) string {
	switch {
	case e.Approvals > 1:
		return saySeveralLook(e)
	case MayDecide(p, req, LevelUser, req.Requester) != nil:
		return sayOthersLook(e)
	case p.adminAsks(req.Tool) && !p.IsAdmin(req.Requester):
		return sayAdminAsks(e)
	case p.unseen(e):
		return sayUnseen(e)
	}
	return ""
}

// unseen reports whether nobody looked at the tool yet who could have. Where there is no admin, that it is new is no news.
func (p Policy) unseen(e Effective) bool { return e.New && len(p.Admins) > 0 }

// mode is the session's mode, or the policy's where the session has none, or what people set there does not count.
func (p Policy) mode(req Request) (m Mode, ofSession bool) {
	m, ofSession = req.Mode, true
	if m == ModeTool || m == ModeNever && req.Masked != nil {
		m, ofSession = p.Mode, false
	}
	if m > ModeNever {
		m = ModeAlways // not a mode: careful
	}
	return m, ofSession
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
		r.pass(RuleGrant, sayMoreGrants(more))
	case !ok && len(misses) == 0:
		r.pass(RuleGrant, sayNoGrant)
	}
	return found, ok
}
