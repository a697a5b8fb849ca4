package permission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Settings are what people set, remembered and accepted from a chat, the settings page or the command line: the fold of the settings'
// log. It is a value: Apply returns another one.
type Settings struct {
	Set        []Set        `json:"set,omitempty"` // the latest of each, in the order of Where and Field
	Remembered []Remembered `json:"remembered,omitempty"`
	Pins       []Pinned     `json:"pins,omitempty"`     // what servers' tools are, ordered by server and name
	Told       []Told       `json:"told,omitempty"`     // of which servers the admins were told
	Halted     *Halt        `json:"halted,omitempty"`   //
	Rev        int          `json:"rev,omitempty"`      // how many changes had an effect: it names nothing, for a store that lost one counts it twice
	Analyses   []Analysis   `json:"analyses,omitempty"` // what a model thinks of tools: it may only add caution
	Head       string       `json:"-"`                  // names the log that these come to: other settings have another one. Empty: not known
}

// Set is a setting and who set it.
type Set struct {
	Setting
	By   chat.User `json:"by,omitzero"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

// Told says that the admins are told of a server's tools as they were then: that somebody set about it, and later that each was told who can
// be. Who set about it may have died in between; then it is somebody else's after a while.
type Told struct {
	Server string    `json:"server"`
	Tools  Digest    `json:"tools"` // of all its tools: see [ServerDigest]
	Sent   bool      `json:"sent,omitempty"`
	Tries  int       `json:"tries,omitempty"` // how often somebody set about it, after the first
	At     time.Time `json:"at,omitzero"`     // when somebody did last. In a change it says nothing
}

// Between two tries to tell the admins lies toldAgain, twice as long after each, and at most toldAtLast.
const (
	toldAgain  = 2 * time.Minute
	toldAtLast = 6 * time.Hour
)

func (t Told) due() time.Time { return t.At.Add(min(toldAgain<<min(t.Tries, 10), toldAtLast)) }

// Halt is an admin's word that nothing may run.
type Halt struct {
	By   chat.User `json:"by,omitzero"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

// Analysis is what a model thinks of one definition of a tool. It is advice: it raises caution, and never lowers any (R160).
type Analysis struct {
	Tool   Tool   `json:"tool"`
	Access Access `json:"access,omitempty"`
	Risk   Risk   `json:"risk,omitempty"`
	Level  bool   `json:"admin,omitempty"` // an admin should decide its calls
	Reason string `json:"reason,omitempty"`
}

// Change is one thing that somebody changed in the settings. Exactly one of its fields is set; any other Change changes nothing.
type Change struct {
	Set      *Setting    `json:"set,omitempty"`
	Remember *Remembered `json:"remember,omitempty"`
	Forget   string      `json:"forget,omitempty"` // the ID of something remembered
	Seen     *Seen       `json:"seen,omitempty"`   // a server says something new about a tool
	Accept   *Tool       `json:"accept,omitempty"` // somebody accepted that definition
	Told     *Told       `json:"told,omitempty"`
	Halt     *bool       `json:"halt,omitempty"` // true halts, false resumes
	Analysis *Analysis   `json:"analysis,omitempty"`
}

// Seen is what a server says about a tool.
type Seen struct {
	Tool       Tool       `json:"tool"`
	Definition Definition `json:"definition,omitzero"`
	Vouched    bool       `json:"vouched,omitempty"`  // the operator's configuration stands for it
	Stranger   bool       `json:"stranger,omitempty"` // it does not stand for the tool's server
}

// String is the change for people, without who and when. Names inside are untrusted text.
func (c Change) String() string {
	switch {
	case c.Set != nil:
		return c.Set.String()
	case c.Remember != nil:
		return "remembered: " + sayStanding(c.Remember.Choice) + " " + strings.TrimSpace(called(c.Remember.Tool)+" "+c.Remember.Limits())
	case c.Forget != "":
		return "forgot a remembered choice"
	case c.Seen != nil:
		return called(c.Seen.Tool) + ": its server defines it as " + c.Seen.Tool.Definition.Short()
	case c.Accept != nil:
		return called(*c.Accept) + ": accepted as " + c.Accept.Definition.Short()
	case c.Told != nil && !c.Told.Sent:
		return "admins are to be told of the tools of " + c.Told.Server
	case c.Told != nil:
		return "admins were told of the tools of " + c.Told.Server
	case c.Halt != nil && *c.Halt:
		return "halted"
	case c.Halt != nil:
		return "resumed"
	case c.Analysis != nil:
		return called(c.Analysis.Tool) + ": analysed as " + c.Analysis.Access.String() + ", " + c.Analysis.Risk.String()
	}
	return "nothing"
}

// Short is the beginning of a digest, as people are shown it.
func (d Digest) Short() string {
	if len(d) > 8 {
		return string(d[:8])
	}
	return string(d)
}

// Bounds of what is kept: settings come from people, pins from servers.
const (
	maxRemembered = 2000
	maxPins       = 4000
	maxSets       = 4000
)

// Apply is s after one change by somebody at a moment. moved is false for a change that has no effect. It is total, as every
// fold: what cannot be kept changes nothing.
func (s Settings) Apply(c Change, by chat.User, name string, at time.Time) (next Settings, moved bool) {
	next = s
	switch {
	case c.Set != nil:
		next, moved = s.set(Set{*c.Set, by, name, at})
	case c.Remember != nil:
		next, moved = s.remember(*c.Remember, at)
	case c.Forget != "":
		next.Remembered = slices.DeleteFunc(slices.Clone(s.Remembered), func(r Remembered) bool { return r.ID == c.Forget })
		moved = len(next.Remembered) != len(s.Remembered)
	case c.Seen != nil:
		next, moved = s.see(*c.Seen, at)
	case c.Accept != nil:
		next, moved = s.accept(*c.Accept, by, name, at)
	case c.Told != nil:
		next, moved = s.told(*c.Told, at)
	case c.Halt != nil:
		if moved = *c.Halt == (s.Halted == nil); moved && *c.Halt {
			next.Halted = &Halt{by, name, at}
		} else if moved {
			next.Halted = nil
		}
	case c.Analysis != nil:
		next, moved = s.analysed(*c.Analysis)
	}
	if !moved {
		return s, false
	}
	next.Rev++
	return next, true
}

func (s Settings) set(x Set) (Settings, bool) {
	canonical, err := x.Canonical()
	if err != nil {
		return s, false
	}
	x.Setting = canonical
	at, found := slices.BinarySearchFunc(s.Set, x.Setting, func(have Set, want Setting) int {
		return cmp.Or(cmp.Compare(have.Server, want.Server), cmp.Compare(have.Tool, want.Tool), cmp.Compare(have.Field, want.Field))
	})
	list := slices.Clone(s.Set)
	switch {
	case found && x.Value == list[at].Value, !found && x.Value == "", !found && len(list) >= maxSets:
		return s, false
	case found && x.Value == "":
		list = slices.Delete(list, at, at+1)
	case found:
		list[at] = x
	default:
		list = slices.Insert(list, at, x)
	}
	s.Set = list
	if x.Server != "" && x.Tool == "" && (x.Field == "trusted" && x.Value == "true" || x.Field == "ask" && x.Value == NeverAsk.String()) {
		s = s.vouch(x)
	}
	return s, true
}

// vouch accepts the tools that a server has when somebody trusts it, or lets it never ask: what is there then is what they mean. What
// changed before is not.
func (s Settings) vouch(x Set) Settings {
	s.Pins = slices.Clone(s.Pins)
	for i, p := range s.Pins {
		if p.Tool.Server == x.Server && !p.Accepted && !p.Changed() {
			s.Pins[i] = p.accept(x.By, x.Name, x.At)
		}
	}
	return s
}

// remember keeps one choice of a person for a tool: a new one takes the place of the old.
func (s Settings) remember(r Remembered, at time.Time) (Settings, bool) {
	if r.ID == "" || !acts(r.By) || r.Tool.Server == "" || r.Tool.Name == "" || r.Choice > StandDeny || !r.narrow() {
		return s, false
	}
	r.At = at
	list := slices.DeleteFunc(slices.Clone(s.Remembered), func(have Remembered) bool {
		return have.ID == r.ID || have.By == r.By && have.Tool.Server == r.Tool.Server && have.Tool.Name == r.Tool.Name
	})
	if len(list) >= maxRemembered {
		return s, false
	}
	s.Remembered = append(list, r)
	return s, true
}

func (s Settings) pin(t Tool) (int, bool) {
	return slices.BinarySearchFunc(s.Pins, t, func(have Pinned, want Tool) int {
		return cmp.Or(cmp.Compare(have.Tool.Server, want.Server), cmp.Compare(have.Tool.Name, want.Name))
	})
}

// Pin is what is known of a tool, by server and name.
func (s Settings) Pin(t Tool) (Pinned, bool) {
	at, found := s.pin(t)
	if !found {
		return Pinned{}, false
	}
	return s.Pins[at], true
}

// Knows reports whether any tool of a server was seen before.
func (s Settings) Knows(server string) bool {
	return slices.ContainsFunc(s.Pins, func(p Pinned) bool { return p.Tool.Server == server })
}

func (s Settings) see(x Seen, when time.Time) (Settings, bool) {
	if x.Tool.Server == "" || x.Tool.Name == "" || x.Tool.Definition == "" {
		return s, false
	}
	at, found := s.pin(x.Tool)
	list := slices.Clone(s.Pins)
	switch {
	case found && !list[at].IsNews(x.Tool, x.Vouched), !found && len(list) >= maxPins:
		return s, false
	case found:
		list[at] = list[at].see(x, when)
	default:
		list = slices.Insert(list, at, Pinned{}.see(x, when))
	}
	s.Pins = list
	return s, true
}

// accept takes only what is: a definition that changed again in between was not looked at.
func (s Settings) accept(t Tool, by chat.User, name string, when time.Time) (Settings, bool) {
	at, found := s.pin(t)
	if !found || s.Pins[at].Tool != t || s.Pins[at].Accepted && !s.Pins[at].Changed() {
		return s, false
	}
	s.Pins = slices.Clone(s.Pins)
	s.Pins[at] = s.Pins[at].accept(by, name, when)
	return s, true
}

func (s Settings) told(t Told, at time.Time) (Settings, bool) {
	i := slices.IndexFunc(s.Told, func(x Told) bool { return x.Server == t.Server })
	now := Told{Server: t.Server, Tools: t.Tools, At: at}
	switch known := i >= 0 && s.Told[i].Tools == t.Tools; {
	case t.Server == "", known && s.Told[i].Sent, !known && t.Sent: // who was told of an earlier set knows nothing of this one
		return s, false
	case t.Sent:
		now = s.Told[i]
		now.Sent = true
	case known && at.Before(s.Told[i].due()):
		return s, false
	case known:
		now.Tries = s.Told[i].Tries + 1
	}
	s.Told = append(slices.DeleteFunc(slices.Clone(s.Told), func(x Told) bool { return x.Server == t.Server }), now)
	return s, true
}

func (s Settings) analysed(a Analysis) (Settings, bool) {
	if a.Tool.Definition == "" || slices.Contains(s.Analyses, a) {
		return s, false
	}
	list := slices.DeleteFunc(slices.Clone(s.Analyses), func(x Analysis) bool {
		return x.Tool.Server == a.Tool.Server && x.Tool.Name == a.Tool.Name
	})
	s.Analyses = append(list, a)
	return s, true
}

// Over lays the settings over the operator's policy. p is not changed. A setting that no longer parses is left out: it was checked
// when it was made.
func (s Settings) Over(p Policy) Policy {
	p.Servers = maps.Clone(p.Servers)
	if p.Servers == nil {
		p.Servers = map[string]ServerSettings{}
	}
	for name, server := range p.Servers {
		server.Tools = maps.Clone(server.Tools)
		p.Servers[name] = server
	}
	for _, x := range s.Set {
		_ = x.on(&p)
	}
	for _, pin := range s.Pins {
		server := p.Servers[pin.Tool.Server]
		if server.Tools == nil {
			server.Tools = map[string]ToolSettings{}
		}
		tool := server.Tools[pin.Tool.Name]
		tool.Accepted, tool.New = pin.Counts, !pin.Accepted
		server.Tools[pin.Tool.Name] = tool
		p.Servers[pin.Tool.Server] = server
	}
	for _, a := range s.Analyses {
		advise(&p, a)
	}
	p.Remembered = append(slices.Clone(p.Remembered), s.Remembered...)
	if s.Halted != nil {
		p.Halted = s.Halted
	}
	if s.Head != "" {
		p.Revision += "+" + s.Head
	}
	return p
}

// advise adds a model's word about the very definition that counts.
func advise(p *Policy, a Analysis) {
	server := p.Servers[a.Tool.Server]
	tool := server.Tools[a.Tool.Name]
	if tool.Accepted != "" && tool.Accepted != a.Tool.Definition {
		return
	}
	tool.Advice = &a
	if server.Tools == nil {
		server.Tools = map[string]ToolSettings{}
	}
	server.Tools[a.Tool.Name] = tool
	p.Servers[a.Tool.Server] = server
}

// Of are one person's remembered choices, the newest first.
func (s Settings) Of(u chat.User) []Remembered {
	var out []Remembered
	for _, r := range slices.Backward(s.Remembered) {
		if r.By == u {
			out = append(out, r)
		}
	}
	return out
}

// ServerDigest names all the tools of one server as they are.
func ServerDigest(tools []Tool) Digest {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Definition, b.Definition))
	})
	var fields [][]byte
	for _, t := range tools {
		fields = append(fields, []byte(t.Server), []byte(t.Name), []byte(t.Definition))
	}
	return digest("nod/server/1", fields...)
}
