package permission

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// What somebody allowed for a channel counts in its chats exactly where their click would be accepted now, as long as an admin allows such,
// and as somebody looked at the tool. It is a person's own choice in all else.
func TestAllowedForAChannel(t *testing.T) {
	const ops = chat.Channel("slack:T1:C1")
	tool := Tool{Server: "files", Name: "move_thing", Definition: "d1"}
	for name, c := range map[string]struct {
		change func(*Policy, *Request, *Remembered)
		want   Verdict
		says   string
	}{
		"what its giver asks":      {func(*Policy, *Request, *Remembered) {}, Allow, "Ana allowed move_thing of files in this channel until 2026-11-22."},
		"what another asks":        {func(_ *Policy, r *Request, _ *Remembered) { r.Requester = ben }, Ask, "may not decide this call"},
		"where anybody answers":    {func(p *Policy, r *Request, _ *Remembered) { r.Requester, p.Approvers.Rule = ben, ApproversAnyone }, Allow, "Ana allowed"},
		"by an admin, for another": {func(p *Policy, r *Request, _ *Remembered) { r.Requester, p.Admins = ben, []chat.User{ana} }, Allow, "Ana allowed"},
		"for a visitor":            {func(p *Policy, r *Request, _ *Remembered) { r.Standing, p.Admins = chat.Visitor, []chat.User{ana} }, Ask, "may decide nothing here"},
		"of somebody untold":       {func(p *Policy, r *Request, _ *Remembered) { r.Standing, p.Admins = chat.Untold, []chat.User{ana} }, Ask, "may decide nothing here"},
		"in another channel":       {func(_ *Policy, r *Request, _ *Remembered) { r.Channel = "slack:T1:C2" }, Ask, ""},
		"in another workspace":     {func(_ *Policy, r *Request, _ *Remembered) { r.Channel = "slack:T2:C1" }, Ask, ""},
		"on another platform":      {func(_ *Policy, r *Request, _ *Remembered) { r.Channel = "discord:T1:C1" }, Ask, ""},
		"by who was an admin": {func(p *Policy, r *Request, _ *Remembered) {
			r.Requester, p.Admins = ben, []chat.User{boss}
		}, Ask, "may not decide this call"},
		"by who was listed": {func(p *Policy, r *Request, _ *Remembered) {
			r.Requester, p.Approvers = ben, Approvers{Rule: ApproversListed, Users: []chat.User{boss}}
		}, Ask, "may not decide this call"},
		"by who may not allow their own": {func(p *Policy, _ *Request, _ *Remembered) {
			p.Rights.RequesterMayApprove, p.Admins = new(bool), []chat.User{ana}
		}, Ask, "may not decide this call"},
		"what is no allowance": {func(p *Policy, r *Request, k *Remembered) {
			r.Requester, p.Admins, k.Choice = ben, []chat.User{ana}, StandDeny
		}, Ask, ""},
		"of another server": {func(_ *Policy, _ *Request, k *Remembered) { k.Tool.Server = "mail" }, Ask, ""},
		"of all another server": {func(_ *Policy, _ *Request, k *Remembered) {
			k.Tool.Server, k.Scope, k.Tools = "mail", ScopeServer, []Tool{tool}
		}, Ask, ""},
		"of a dangerous tool":      {func(_ *Policy, r *Request, _ *Remembered) { r.Hints = Hints{Destructive: new(true)} }, Allow, "Ana allowed move_thing"},
		"in a chat of no channel":  {func(_ *Policy, r *Request, _ *Remembered) { r.Channel = "" }, Ask, ""},
		"where no admin allows it": {func(p *Policy, _ *Request, _ *Remembered) { p.ChannelGrants = false }, Ask, ""},
		"after its end":            {func(_ *Policy, _ *Request, k *Remembered) { k.Until = noon }, Ask, "it has run out"},
		"of the tool as it was":    {func(_ *Policy, _ *Request, k *Remembered) { k.Tool.Definition = "d0" }, Ask, ""},
		"of another tool":          {func(_ *Policy, _ *Request, k *Remembered) { k.Tool.Name = "copy_thing" }, Ask, ""},
		"where an admin decides": {func(p *Policy, _ *Request, _ *Remembered) {
			tuned(p, func(t *ToolSettings) { t.Approval = new(RequireAuth) })
			p.Admins = []chat.User{ana}
		}, Ask, ""},
		"where an admin says ask": {func(p *Policy, _ *Request, _ *Remembered) { tuned(p, func(t *ToolSettings) { t.Ask = AlwaysAsk }) }, Ask, "always ask"},
		"where it is withheld": {func(p *Policy, _ *Request, _ *Remembered) {
			tuned(p, func(t *ToolSettings) { t.ChatGrant = new(bool) })
		}, Ask, "withheld"},
		"of a tool nobody accepted": {func(p *Policy, _ *Request, _ *Remembered) {
			tuned(p, func(t *ToolSettings) { t.New = true })
			p.Admins = []chat.User{ana}
		}, Ask, "no admin has accepted"},
		"of a tool that changed":   {func(p *Policy, _ *Request, _ *Remembered) { tuned(p, func(t *ToolSettings) { t.Accepted = "d0" }) }, Allow, ""},
		"in a chat that asks":      {func(_ *Policy, r *Request, _ *Remembered) { r.Mode = ModeAlways }, Ask, "asks before every call"},
		"where all chats ask":      {func(p *Policy, _ *Request, _ *Remembered) { p.Mode, p.Strict = ModeAlways, true }, Ask, "asks before every call"},
		"while all is halted":      {func(p *Policy, _ *Request, _ *Remembered) { p.Halted = new(Halt) }, Forbid, ""},
		"unattended":               {func(_ *Policy, r *Request, _ *Remembered) { r.Unattended = true }, Forbid, ""},
		"with something masked":    {func(_ *Policy, r *Request, _ *Remembered) { r.Masked = []byte(`{}`) }, Ask, "hidden"},
		"where several must allow": {func(p *Policy, _ *Request, _ *Remembered) { p.Rights.MinApprovals = new(People(2)) }, Ask, "several people"},
		"of the reads of a server": {func(_ *Policy, _ *Request, k *Remembered) { k.Scope, k.Tools = ScopeReads, []Tool{tool} }, Ask, "only reads"},
		"of all of a server":       {func(_ *Policy, _ *Request, k *Remembered) { k.Scope, k.Tools = ScopeServer, []Tool{tool} }, Allow, "all tools from files"},
		"of all but a later tool": {func(_ *Policy, _ *Request, k *Remembered) {
			k.Scope, k.Tools = ScopeServer, []Tool{{Server: "files", Name: "x"}}
		}, Ask, "added or changed"},
		"of all but what destroys": {func(_ *Policy, r *Request, k *Remembered) {
			k.Scope, k.Tools, r.Hints = ScopeServer, []Tool{tool}, Hints{Destructive: new(true)}
		}, Ask, "dangerous"},
		"against a wish to be asked": {func(p *Policy, _ *Request, _ *Remembered) {
			p.Remembered = append(p.Remembered, Remembered{ID: "r0", By: ana, Tool: tool, Choice: StandAsk})
		}, Ask, "chose to be asked about"},
		"against another's wish to be asked": {func(p *Policy, r *Request, _ *Remembered) {
			r.Requester, p.Admins = ben, []chat.User{ana}
			p.Remembered = append(p.Remembered, Remembered{ID: "r0", By: ben, Tool: tool, Choice: StandAsk})
		}, Ask, "chose to be asked about"},
		"against another's denial": {func(p *Policy, r *Request, _ *Remembered) {
			r.Requester, p.Admins = ben, []chat.User{ana}
			p.Remembered = append(p.Remembered, Remembered{ID: "r0", By: ben, Tool: tool, Choice: StandDeny})
		}, Forbid, "chose to deny"},
	} {
		p := installed()
		p.ChannelGrants = true
		req := Request{Chat: here, Channel: ops, Requester: ana, Tool: tool}
		kept := Remembered{ID: "c1", By: ana, Name: "Ana", Tool: tool, Choice: StandAllow, Channel: ops, Until: noon.Add(24 * time.Hour)}
		c.change(&p, &req, &kept)
		p.Remembered = append(p.Remembered, kept)
		if name == "of a tool that changed" { // it is asked about by the definition, and then nothing that was allowed for the old one counts
			p.Remembered[0].Tool.Definition, c.want = "d0", Ask
		}
		r := Evaluate(p, nil, req, noon)
		said := ""
		for _, why := range r.Reasons {
			said += why.Text + "\n"
		}
		if r.Verdict != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v, want %v and %q, in\n%s", name, r.Verdict, c.want, c.says, said)
		}
		if r.Verdict == Allow && (r.Winner() != RuleChannel || r.Grant != "") {
			t.Errorf("%s: won by %s, grant %q", name, r.Winner(), r.Grant)
		}
		if (kept.Tool != tool || kept.Choice != StandAllow) && strings.Contains(said, "does not satisfy") {
			t.Errorf("%s: what is about something else is worth no word:\n%s", name, said)
		}
	}
}

func tuned(p *Policy, change func(*ToolSettings)) {
	p.editTool(Tool{Server: "files", Name: "move_thing"}, change)
}

// Where it is offered, and for how long. What may not be remembered may not be allowed for a channel either.
func TestAllowForAChannelIsOffered(t *testing.T) {
	offered := func(change func(*Policy, *Request)) time.Duration {
		p := installed()
		p.ChannelGrants = true
		req := Request{Chat: here, Channel: "c", Requester: ana, Tool: Tool{Server: "files", Name: "move_thing", Definition: "d1"}}
		change(&p, &req)
		return Evaluate(p, nil, req, noon).Channel
	}
	for name, c := range map[string]struct {
		change func(*Policy, *Request)
		want   time.Duration
	}{
		"as it is set":      {func(p *Policy, _ *Request) { p.ChannelFor = time.Hour }, time.Hour},
		"as nothing is set": {func(*Policy, *Request) {}, 30 * 24 * time.Hour},
		"not allowed":       {func(p *Policy, _ *Request) { p.ChannelGrants = false }, 0},
		"no channel":        {func(_ *Policy, r *Request) { r.Channel = "" }, 0},
		"new": {func(p *Policy, _ *Request) {
			tuned(p, func(t *ToolSettings) { t.New = true })
			p.Admins = []chat.User{ana}
		}, 0},
		"a visitor":       {func(_ *Policy, r *Request) { r.Standing = chat.Visitor }, 0},
		"always asks":     {func(_ *Policy, r *Request) { r.Mode = ModeAlways }, 0},
		"an admin's ask":  {func(p *Policy, _ *Request) { tuned(p, func(t *ToolSettings) { t.Ask = AlwaysAsk }) }, 0},
		"an admin's tool": {func(p *Policy, _ *Request) { tuned(p, func(t *ToolSettings) { t.Approval = new(RequireAuth) }) }, 0},
	} {
		if got := offered(c.change); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// R44: a person can remember more of a server than a tool, as far as an admin allows that, and as the server was.
func TestMoreOfAServerIsRemembered(t *testing.T) {
	tool := Tool{Server: "files", Name: "look", Definition: "d1"}
	reads := Remembered{ID: "r1", By: ana, Tool: Tool{Server: "files", Name: "other", Definition: "d1"}, Choice: StandAllow, Scope: ScopeReads, Tools: []Tool{tool}}
	for name, c := range map[string]struct {
		upTo     Scope
		by       chat.User
		hints    Hints
		tools    []Tool
		standing chat.Standing
		want     Verdict
	}{
		"a read":                {ScopeReads, ana, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Member, Allow},
		"where more may be":     {ScopeServer, ana, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Member, Allow},
		"not allowed any more":  {ScopeTool, ana, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Member, Ask},
		"of another person":     {ScopeReads, ben, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Member, Ask},
		"a write":               {ScopeReads, ana, Hints{ReadOnly: new(false)}, []Tool{tool}, chat.Member, Ask},
		"a tool of later":       {ScopeReads, ana, Hints{ReadOnly: new(true)}, nil, chat.Member, Ask},
		"of who became a guest": {ScopeReads, ana, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Visitor, Ask},
		"of somebody untold":    {ScopeReads, ana, Hints{ReadOnly: new(true)}, []Tool{tool}, chat.Untold, Ask},
	} {
		p := installed()
		p.RememberUpTo, p.Approvers.Rule = c.upTo, ApproversAnyone
		p.edit("files", func(s *ServerSettings) { s.Trusted = true })
		p.editTool(tool, func(t *ToolSettings) { t.Approval = new(RequireConfirmation) })
		reads.Tools = c.tools
		p.Remembered = []Remembered{reads}
		r := Evaluate(p, nil, Request{Chat: here, Requester: c.by, Standing: c.standing, Tool: tool, Hints: c.hints}, noon)
		if r.Verdict == Allow && !strings.Contains(r.Why(), "chose to allow reads from files (remembered choice)") {
			t.Errorf("%s: %s", name, r.Why())
		}
		if r.Verdict != c.want || r.Verdict == Ask && r.Keeps != c.upTo {
			t.Errorf("%s: %v, keeps %v; %v", name, r.Verdict, r.Keeps, r.Reasons)
		}
	}
}

// An earlier release must not read what it would take for a person's allowance everywhere: what holds these has a version of its own.
func TestWhatIsWiderHasItsVersion(t *testing.T) {
	tool := Tool{"files", "look", Digest(strings.Repeat("a", 64))}
	plain := Remembered{ID: "r1", By: ana, Tool: tool, Choice: StandAllow}
	channel, wide := plain, plain
	channel.ID, channel.Channel, channel.Until = "c1", "slack:T1:C1", noon.Add(time.Hour)
	wide.Scope, wide.Tools = ScopeReads, []Tool{tool}
	for name, c := range map[string]struct {
		r    Remembered
		want int
	}{"plain": {plain, 1}, "for a channel": {channel, 3}, "wide": {wide, 3}} {
		s, moved := Settings{}.Apply(c.r, ana, "Ana", noon)
		if got := (Changes{c.r}).Version(); !moved || got != c.want || s.Version() != c.want {
			t.Errorf("%s: moved %v, versions %d and %d, want %d", name, moved, got, s.Version(), c.want)
		}
		var read Settings
		changes, err := s.Exchange().Changes(Settings{})
		if err != nil || len(changes) != 1 {
			t.Fatalf("%s: %v, %v", name, changes, err)
		}
		if read, _ = read.Apply(changes[0], ana, "Ana", noon); strings.Join(read.Exchange().Lines(), "\n") != strings.Join(s.Exchange().Lines(), "\n") {
			t.Errorf("%s: read back as %v", name, read.Remembered)
		}
	}
	inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: StandAllow, Channel: "c"})      // without an end
	inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: StandAllow, Scope: ScopeReads}) // without tools
	for _, choice := range []Standing{StandAsk, StandDeny} {                                                // only an allowance is widened
		inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: choice, Channel: "c"})
		inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: choice, Channel: "c", Until: noon})
		inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: choice, Scope: ScopeReads})
		inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: choice, Tools: []Tool{files}})
	}
	inert(t, Settings{}, Remembered{ID: "r1", By: ana, Tool: files, Choice: StandAllow, Scope: 9, Tools: []Tool{files}})
	if s := acceptedRead(t, reading); s.Version() != 2 {
		t.Errorf("accepted as a read: version %d", s.Version())
	}
}

// A new choice takes the place of the old for the same channel and as much of the server, and of no other; what is over for a channel goes.
func TestWhatANewChoiceReplaces(t *testing.T) {
	tool, other := Tool{"files", "look", "d1"}, Tool{"files", "copy", "d1"}
	plain := Remembered{ID: "plain", By: ana, Tool: tool, Choice: StandAllow}
	channel := Remembered{ID: "channel", By: ana, Tool: tool, Choice: StandAllow, Channel: "slack:T1:C1", Until: noon.Add(time.Hour)}
	elsewhere := Remembered{ID: "elsewhere", By: ana, Tool: tool, Choice: StandAllow, Channel: "slack:T1:C2", Until: noon.Add(3 * time.Hour)}
	hour := Remembered{ID: "hour", By: ana, Tool: other, Choice: StandAllow, Until: noon.Add(time.Hour)}
	wide := Remembered{ID: "wide", By: ana, Tool: tool, Choice: StandAllow, Scope: ScopeReads, Tools: []Tool{tool}}
	as := func(r Remembered, change func(*Remembered)) Remembered {
		r.ID = "new"
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		r    Remembered
		at   time.Time
		want string
	}{
		"the same again":               {as(channel, func(*Remembered) {}), noon, "plain elsewhere hour wide new"},
		"by another":                   {as(channel, func(r *Remembered) { r.By = ben }), noon, "plain channel elsewhere hour wide new"},
		"a third channel":              {as(channel, func(r *Remembered) { r.Channel = "slack:T1:C3" }), noon, "plain channel elsewhere hour wide new"},
		"as wide, from another tool":   {as(wide, func(r *Remembered) { r.Tool = other }), noon, "plain channel elsewhere hour new"},
		"wider":                        {as(wide, func(r *Remembered) { r.Scope = ScopeServer }), noon, "plain channel elsewhere hour wide new"},
		"when one channel's is over":   {as(plain, func(r *Remembered) { r.Tool.Name = "x" }), noon.Add(time.Hour), "plain elsewhere hour wide new"},
		"right before that":            {as(plain, func(r *Remembered) { r.Tool.Name = "x" }), noon.Add(time.Hour - 1), "plain channel elsewhere hour wide new"},
		"when both channels' are over": {as(plain, func(r *Remembered) { r.Tool.Name = "x" }), noon.Add(3 * time.Hour), "plain hour wide new"},
	} {
		s, moved := after(t, Settings{}, plain, channel, elsewhere, hour, wide).Apply(c.r, ana, "", c.at)
		var ids []string
		for _, r := range s.Remembered {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); !moved || got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
