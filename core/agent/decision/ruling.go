package decision

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/text"
)

// Offers reports whether the model may use a tool in the open turn: nothing disabled, and where nobody can be asked only what needs no asking.
func (j Judge) Offers(s turn.Session, t Tool) bool {
	return permission.Offered(j.Policy, s.Grants, t.Request(s, turn.ToolCall{Tool: t.Tool, Args: json.RawMessage("{}")}), j.Now)
}

// namesBut are the names of tools that can be offered beside the one that cannot.
func namesBut(tools []Tool, not string) []string {
	var names []string
	for _, t := range tools {
		if t.Tool.Name != not {
			names = append(names, t.Tool.Name+" ("+t.Tool.Server+")")
		}
	}
	return names
}

// Rule puts one call to the policy.
func (j Judge) Rule(s turn.Session, id turn.CallID) turn.Ruled {
	c := s.Turn.Call(id)
	forbid := func(rule, why, say string) turn.Ruled {
		return turn.Ruled{Call: id, Ask: turn.AskID(j.Mint()), Say: say, Ruling: permission.Ruling{
			Verdict: permission.Forbid, Reasons: []permission.Reason{{Rule: rule, Text: why, Won: true, Said: "forbid"}},
		}}
	}
	tools, _ := j.Tools() // what cannot be listed is not available
	t, ok := find(tools, c.Tool)
	switch {
	case !ok:
		offered := slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return !j.Offers(s, t) })
		return forbid("unavailable", "The tool is not available now.", text.ResultUnavailable(c.Tool.Name, c.Tool.Server, namesBut(offered, c.Tool.Name)))
	case t.Tool != c.Tool:
		return forbid("changed", "The tool changed after it was offered.", text.ResultChanged(c.Tool.Name, c.Tool.Server))
	case turn.DeniedBefore(s.Turn, c.Digest):
		return forbid("denied_before", "A person denied this very call in this turn.", text.ResultDeniedBefore)
	}
	r := onlyAsk(c, permission.Evaluate(j.Policy, s.Grants, t.Request(s, c), j.Now))
	if r.Verdict == permission.Ask && turn.AskedWith(s.Turn, c) >= turn.MaxAsks {
		return forbid("too_many", text.TooManyAsks(turn.MaxAsks), text.ResultTooManyAsks(turn.MaxAsks))
	}
	return j.ruled(s, c, t, r)
}

// ruled is a ruling as it is recorded, with what its card says where people are asked.
func (j Judge) ruled(s turn.Session, c turn.ToolCall, t Tool, r permission.Ruling) turn.Ruled {
	// What had no opinion is not recorded: it can be worked out again, and the log is kept for long.
	ev := turn.Ruled{Call: c.ID, Ask: turn.AskID(j.Mint()), Ruling: r.Brief()}
	switch r.Verdict {
	case permission.Forbid:
		ev.Say = text.ResultNotAllowed(r.Why())
	case permission.Ask:
		req := t.Request(s, c)
		ev.Card = t.Card
		ev.Card.Others = r.Approvals > 1 || permission.MayDecide(j.Policy, req, r.Level, req.Requester) != nil
		ev.Card.Who = permission.Deciders(j.Policy, req, r.Level, j.called(s, req.Requester))
		of := s.AskedOf(c.Tool.Server)
		ev.Card.First = r.New && (c.Card.First || !of.New)
		ev.Card.Reads = turn.OffersReads(r) && (c.Card.Reads || of.Reads+1 >= turn.AskedReads)
		if r.Level == permission.LevelAdmin && len(j.Policy.Admins) == 0 {
			ev.Card.Notice = permission.NoAdminsNotice
		}
		pin, _ := j.Settings.Pin(c.Tool)      // of no tool where it is not known
		for _, x := range pin.Differences() { // none unless the ruling says that it changed
			ev.Card.Changes = append(ev.Card.Changes, x.Clipped())
		}
	}
	return ev
}

// called gives people's names for a card.
func (j Judge) called(s turn.Session, requester chat.User) func(chat.User) string {
	return func(u chat.User) string {
		name := j.NameOf(s, u)
		if _, err := chat.ParseUser(name); err == nil || name == u.Key && u != requester {
			return "" // nobody called them anything here yet, or they call themselves what would be drawn as somebody else
		}
		return name
	}
}

// Start evaluates the policy again, which may only tighten, and gives the call's start or the ruling that sends it back.
func (j Judge) Start(s turn.Session, id turn.CallID, token uint64) turn.Event {
	c := s.Turn.Call(id)
	tools, _ := j.Tools()
	t, _ := find(tools, c.Tool)
	if t.Tool != c.Tool { // it is another now, or gone
		return j.Rule(s, id)
	}
	req := t.Request(s, c)
	r := permission.Evaluate(j.Policy, s.Grants, req, j.Now)
	if c.Asked {
		level := max(r.Level, c.Ruling.Level)
		switch {
		case r.Verdict == permission.Forbid:
			return j.ruled(s, c, t, r)
		case !stillAllowed(j.Policy, req, level, c):
			r.Verdict, r.Level = permission.Ask, level // who allowed it may not any more, or more people have to
			return j.ruled(s, c, t, r)
		}
		r.Grant = ""
	} else if r.Verdict != permission.Allow {
		return j.ruled(s, c, t, r)
	}
	return turn.Started{Call: c.ID, Run: turn.RunID(j.Mint()), Ask: c.Ask, Digest: c.Digest, Grant: r.Grant, Token: token}
}

// Recover settles a run that this driver did not start: by the recovery rule, or by asking what happened.
func (j Judge) Recover(s turn.Session, c turn.Recover, token uint64) turn.Event {
	call := s.Turn.Call(c.Call)
	ev := turn.Abandoned{Call: c.Call, Run: c.Run, Token: token, Own: token == call.Token, Ask: turn.AskID(j.Mint()), Wait: j.Policy.Timeout}
	tools, _ := j.Tools()
	if t, ok := find(tools, call.Tool); ok && t.Tool == call.Tool {
		if rule, may := permission.MayRepeat(j.Policy, t.Request(s, call), call.Tool.Definition); may {
			ev.Repeat = rule
		}
	}
	return ev
}

// AskAnew sends an allowed call back to be asked, because the store may have forgotten that it ran. It does not (ok is false) where the
// call may be repeated without harm, or is ruled anew before it starts anyway.
func (j Judge) AskAnew(s turn.Session, c turn.ToolCall) (ev turn.Ruled, ok bool) {
	tools, _ := j.Tools()
	t, _ := find(tools, c.Tool)
	if t.Tool != c.Tool {
		return ev, false
	}
	req := t.Request(s, c)
	if _, may := permission.MayRepeat(j.Policy, req, c.Tool.Definition); may {
		return ev, false
	}
	r := permission.Evaluate(j.Policy, s.Grants, req, j.Now)
	if r.Verdict == permission.Forbid {
		return j.ruled(s, c, t, r), true
	}
	r.Level, r.Grant = max(r.Level, c.Ruling.Level), ""
	if r.Verdict == permission.Allow {
		for i := range r.Reasons {
			r.Reasons[i].Won = false
		}
		r.Reasons = append(r.Reasons, permission.Reason{Rule: "store", Text: text.StoreForgot, Won: true, Said: permission.SaidAsk})
	}
	if r.Verdict = permission.Ask; s.Turn.Unattended { // nobody could be asked
		r.Verdict = permission.Forbid
	}
	ev = j.ruled(s, c, t, r)
	if ev.Card.Notice != "" {
		ev.Card.Notice = " " + ev.Card.Notice
	}
	ev.Card.Notice = text.StoreForgot + ev.Card.Notice
	return ev, true
}

// Propose checks a call as the model wrote it: p has its names, tools are those that were offered. What fails is settled unasked.
func (j Judge) Propose(in chat.ID, p turn.Proposal, wrote []byte, tools []Tool) turn.Proposal {
	t, ok := find(tools, p.Tool)
	args, err := canonical.Written(wrote, properties(t.Schema))
	if p.Args = args; err != nil {
		p.Args = quoted(wrote)
	}
	switch {
	case !ok || p.Tool.Server == "":
		p.Tool.Name = text.ShortName(p.Tool.Name)
		p.Problem = text.ResultNoSuchTool(p.Tool.Name, namesBut(tools, ""))
	case err != nil:
		p.Problem = text.ResultBadArguments(err.Error())
	default:
		p.Tool, p.Digest = t.Tool, permission.CallDigest(in, t.Tool, args)
		if p.Unchecked, err = j.Check(t.Tool, args); err != nil {
			p.Problem = text.ResultBadArguments(err.Error())
		}
	}
	return p
}

// MaxNamed is how many people one call is announced to.
const MaxNamed = 5

// Announce gives those whom a waiting call has to be told to: its requester, or, where their word does not do, the others that may decide,
// as far as this chat's platform knows them. A group is named as one; where anybody may, nobody is.
func (j Judge) Announce(s turn.Session, c turn.ToolCall) []chat.User {
	req, level := turn.Requested(s, c), c.Ruling.Level
	if c.Elicitation.Open() || c.Ruling.Approvals <= 1 && permission.MayDecide(j.Policy, req, level, s.Turn.Requester) == nil {
		return []chat.User{s.Turn.Requester}
	}
	who := j.Policy.Get(req.Tool, req.Source, req.Hints, req.Metadata).Approvers
	here := func(users []chat.User) []chat.User { return j.here(s, req, level, users) }
	switch {
	case level == permission.LevelUser && who.Rule == permission.ApproversAnyone:
		return nil
	case level == permission.LevelUser && who.Rule == permission.ApproversParticipants:
		var took []chat.User
		for _, p := range s.People {
			took = append(took, p.User)
		}
		return here(took)
	case level == permission.LevelUser && len(here(who.Users)) > 0: // admins may, too: where nobody of these is
		return here(who.Users)
	}
	return here(j.Policy.Admins)
}

// here are those of some people who may decide and can be told in a chat, as far as its platform knows them; a group is named as one.
func (j Judge) here(s turn.Session, req permission.Request, level permission.Level, users []chat.User) (out []chat.User) {
	for _, u := range users {
		ours := u.Platform == s.Chat.Platform && (!u.IsGroup() || u.Workspace == s.Chat.Workspace) && u != s.Turn.Requester
		if ours && len(out) < MaxNamed && !slices.ContainsFunc(out, u.SameAccount) && (u.IsGroup() || permission.MayDecide(j.Policy, req, level, u) == nil) {
			out = append(out, u)
		}
	}
	return out
}

// Escalate gives those who may answer a call that nobody answered in time: all of them, as the card names them, and whom of them to tell here.
func (j Judge) Escalate(s turn.Session, c turn.ToolCall) (who []string, tell []chat.User) {
	req := turn.Requested(s, c)
	req.Escalated = true
	listed := permission.Policy{Approvers: permission.Approvers{Rule: permission.ApproversListed, Users: j.Policy.Escalate}}
	who = permission.Deciders(listed, req, permission.LevelUser, j.called(s, req.Requester))
	return who, j.here(s, req, c.Ruling.Level, j.Policy.Escalate)
}

// stillAllowed reports whether those who allowed a call may still, and are as many as it needs now.
func stillAllowed(p permission.Policy, req permission.Request, level permission.Level, c turn.ToolCall) bool {
	if permission.MayDecide(p, req, level, c.By) != nil {
		return false
	}
	people := map[chat.User]bool{c.By.Person(): true}
	for _, v := range c.Votes {
		if permission.MayDecide(p, req, level, v.By) == nil {
			people[v.By.Person()] = true
		}
	}
	return len(people) >= p.Get(req.Tool, req.Source, req.Hints, req.Metadata).Approvals
}

// maxQuoted is how much is kept of arguments that are no JSON, in bytes.
const maxQuoted = 64 << 10

// quoted is what the model wrote in place of arguments, as a JSON string.
func quoted(raw []byte) json.RawMessage {
	b, err := json.Marshal(strings.ToValidUTF8(string(raw), "\uFFFD"))
	if err != nil || len(b) > maxQuoted {
		return json.RawMessage(`"(too long to keep)"`)
	}
	return b
}

// Deciding gives the people whose decisions may count for a call that is to run: who gave a grant, here or for the channel, who allowed a
// call, and who asks.
func Deciding(p permission.Policy, s turn.Session) []chat.User {
	var out []chat.User
	for _, r := range p.Remembered {
		if r.Channel != "" && r.Channel == s.Channel {
			out = append(out, r.By)
		}
	}
	for _, g := range s.Grants {
		out = append(out, g.By)
	}
	if s.Turn == nil {
		return out
	}
	for _, c := range s.Turn.Calls {
		if !c.Settled() {
			out = append(out, c.By)
			for _, v := range c.Votes {
				out = append(out, v.By)
			}
		}
	}
	return append(out, s.Turn.Requester)
}
