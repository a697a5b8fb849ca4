package permission

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Settings are what people set, remembered and accepted from a chat, the settings page or the command line: the fold of the settings'
// log, stored in its snapshots (see the package comment). It is a value: Apply returns another one.
type Settings struct {
	Set        []Set        `json:"set,omitempty"` // the latest of each, in the order of Where and Field
	Remembered []Remembered `json:"remembered,omitempty"`
	Pins       []Pinned     `json:"pins,omitempty"` // what servers' tools are, ordered by server and name
	Told       []Told       `json:"told,omitempty"` // of which servers the admins were told
	Halted     *Halt        `json:"halted,omitempty"`
	Rev        int          `json:"rev,omitempty"` // how many changes had an effect: it names nothing, for a store that lost one counts it twice
	Analyses   []Analysis   `json:"analyses,omitempty"`
	Holds      []Hold       `json:"holds,omitempty"`
	Head       string       `json:"-"` // names the log that these come to: other settings have another one. Empty: not known
}

// Set is a setting and who set it.
type Set struct {
	Setting
	By   chat.User `json:"by,omitzero"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

// Told says that a replica set about telling the admins of a server's tools as they were then, and later that each who can be told was.
// That replica may have died in between: after a while another one tries again.
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

// Analysis is what a model thinks of one definition of a tool. It may only raise caution (R160).
type Analysis struct {
	Tool   Tool   `json:"tool"`
	Access Access `json:"access,omitempty"`
	Risk   Risk   `json:"risk,omitempty"`
	Level  bool   `json:"admin,omitempty"` // an admin should decide its calls
	Reason string `json:"reason,omitempty"`
}

// Short is the beginning of a digest, as people are shown it.
func (d Digest) Short() string {
	return string(d[:min(len(d), 8)])
}

// Bounds of what is kept: settings come from people, pins from servers.
const (
	maxRemembered = 2000
	maxPins       = 4000
	maxSets       = 4000
)

// Apply is s after one change by somebody at a moment. moved is false for a change that has no effect: also for what cannot be kept.
func (s Settings) Apply(c Change, by chat.User, name string, at time.Time) (next Settings, moved bool) {
	if c != nil {
		next, moved = c.apply(s, by, name, at)
	}
	if !moved {
		return s, false
	}
	next.Rev++
	return next, true
}

// Version is that of the changes which they come from, as [Changes.Version] has it.
func (s Settings) Version() int {
	switch {
	case len(s.Holds) > 0:
		return 4
	case slices.ContainsFunc(s.Remembered, func(r Remembered) bool { return !r.plain() }):
		return 3
	case slices.ContainsFunc(s.Pins, func(p Pinned) bool { return p.Reads }):
		return 2
	}
	return 1
}

// compare orders settings by where they are, and tools by their names.
func (s Setting) compare(other Setting) int {
	return cmp.Or(cmp.Compare(s.Server, other.Server), cmp.Compare(s.Tool, other.Tool), cmp.Compare(s.Field, other.Field))
}

func (t Tool) compare(other Tool) int {
	return cmp.Or(cmp.Compare(t.Server, other.Server), cmp.Compare(t.Name, other.Name))
}

func (s Setting) apply(old Settings, by chat.User, name string, at time.Time) (Settings, bool) {
	canonical, err := s.Canonical()
	if err != nil {
		return old, false
	}
	x := Set{canonical, by, name, at}
	i, found := slices.BinarySearchFunc(old.Set, x.Setting, func(have Set, want Setting) int { return have.compare(want) })
	list := slices.Clone(old.Set)
	switch {
	case found && x.Value == list[i].Value, !found && x.Value == "", !found && len(list) >= maxSets:
		return old, false
	case found && x.Value == "":
		list = slices.Delete(list, i, i+1)
	case found:
		list[i] = x
	default:
		list = slices.Insert(list, i, x)
	}
	old.Set = list
	if x.Server != "" && x.Tool == "" && (x.Field == "trusted" && x.Value == "true" || x.Field == "ask" && x.Value == NeverAsk.String()) {
		old = old.vouch(x)
	}
	return old, true
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

// A person has one choice for a tool: a new one takes the place of the old. What is over for a channel goes.
func (r Remembered) apply(s Settings, _ chat.User, _ string, at time.Time) (Settings, bool) {
	if r.ID == "" || !acts(r.By) || r.Tool.Server == "" || r.Tool.Name == "" || r.Choice > StandDeny || !r.fits() {
		return s, false
	}
	r.At, r.Tools = at, slices.SortedFunc(slices.Values(r.Tools), Tool.compare)
	list := without(s.Remembered, func(have Remembered) bool {
		same := have.By == r.By && have.Channel == r.Channel && have.Scope == r.Scope && have.Tool.Server == r.Tool.Server
		return have.ID == r.ID || same && (r.Scope != ScopeTool || have.Tool.Name == r.Tool.Name) || have.Channel != "" && !at.Before(have.Until)
	})
	if len(list) >= maxRemembered {
		return s, false
	}
	s.Remembered = append(list, r)
	return s, true
}

// without is a list of its own, less what is left out.
func without[E any](list []E, out func(E) bool) []E {
	return slices.DeleteFunc(slices.Clone(list), out)
}

func (s Settings) pin(t Tool) (int, bool) {
	return slices.BinarySearchFunc(s.Pins, t, func(have Pinned, want Tool) int { return have.Tool.compare(want) })
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
func (s Settings) Knows(server string) bool { return len(s.ToolsOf(server)) > 0 }

// Servers are the servers of which tools were seen, each once, in order.
func (s Settings) Servers() []string {
	var out []string
	for _, p := range s.Pins {
		out = append(out, p.Tool.Server)
	}
	return slices.Compact(out)
}

// ToolsOf are a server's tools as they were seen last.
func (s Settings) ToolsOf(server string) []Tool {
	var out []Tool
	for _, p := range s.Pins {
		if p.Tool.Server == server {
			out = append(out, p.Tool)
		}
	}
	return out
}

// InstallToken names a server's tools as they were seen last: what the button of its installation card accepts.
func (s Settings) InstallToken(server string) string {
	return "i-" + string(ServerDigest(s.ToolsOf(server)))[:32]
}

func (c Seen) apply(s Settings, _ chat.User, _ string, at time.Time) (Settings, bool) {
	if c.Tool.Server == "" || c.Tool.Name == "" || c.Tool.Definition == "" {
		return s, false
	}
	i, found := s.pin(c.Tool)
	list := slices.Clone(s.Pins)
	switch {
	case found && !list[i].IsNews(c.Tool, c.Vouched), !found && len(list) >= maxPins:
		return s, false
	case found:
		list[i] = list[i].see(c, at)
	default:
		list = slices.Insert(list, i, Pinned{}.see(c, at))
	}
	s.Pins = list
	return s, true
}

// What is accepted is what is: a definition that changed again in between was not looked at.
func (c Accept) apply(s Settings, by chat.User, name string, at time.Time) (Settings, bool) {
	i, found := s.pin(Tool(c))
	if !found || s.Pins[i].Tool != Tool(c) || s.Pins[i].Accepted && !s.Pins[i].Changed() {
		return s, false
	}
	s.Pins = slices.Clone(s.Pins)
	s.Pins[i] = s.Pins[i].accept(by, name, at)
	return s, true
}

// To take back the word that a tool reads says nothing about the definition.
func (c AcceptReads) apply(s Settings, by chat.User, name string, at time.Time) (Settings, bool) {
	i, found := s.pin(c.Tool)
	if !found || c.Off && !s.Pins[i].Reads || !c.Off && (s.Pins[i].Tool != c.Tool || s.Pins[i].Reads && !s.Pins[i].Changed()) {
		return s, false
	}
	s.Pins = slices.Clone(s.Pins)
	if !c.Off {
		s.Pins[i] = s.Pins[i].accept(by, name, at)
	}
	s.Pins[i].Reads = !c.Off
	return s, true
}

func (t Told) apply(s Settings, _ chat.User, _ string, at time.Time) (Settings, bool) {
	same := func(x Told) bool { return x.Server == t.Server }
	i := slices.IndexFunc(s.Told, same)
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
	s.Told = append(without(s.Told, same), now)
	return s, true
}

func (a Analysis) apply(s Settings, _ chat.User, _ string, _ time.Time) (Settings, bool) {
	if a.Tool.Definition == "" || slices.Contains(s.Analyses, a) {
		return s, false
	}
	s.Analyses = append(without(s.Analyses, func(x Analysis) bool { return x.Tool.compare(a.Tool) == 0 }), a)
	return s, true
}

// Over lays the settings over the operator's policy, which is not changed. A setting that no longer parses is left out.
func (s Settings) Over(p Policy) Policy {
	p.own()
	p.ByAdmins = s.Set
	for _, x := range s.Set {
		_ = x.on(&p)
		if slices.Contains(whetherItAsks, x.Field) {
			p.withoutLets(x.Server, x.Tool)
		}
	}
	for _, pin := range s.Pins {
		p.editTool(pin.Tool, func(t *ToolSettings) {
			t.Accepted, t.New, t.Reads = pin.Counts, !pin.Accepted, pin.Reads
		})
	}
	for _, a := range s.Analyses {
		p.editTool(a.Tool, func(t *ToolSettings) {
			if t.Accepted == "" || t.Accepted == a.Tool.Definition { // of the very definition that counts
				t.Advice = &a
			}
		})
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

// own gives a policy maps of its own.
func (p *Policy) own() {
	p.Servers = maps.Clone(p.Servers)
	for name, server := range p.Servers {
		server.Tools = maps.Clone(server.Tools)
		p.Servers[name] = server
	}
}

// Of are one person's remembered choices, the newest first.
func (s Settings) Of(u chat.User) []Remembered {
	mine := without(s.Remembered, func(r Remembered) bool { return r.By != u })
	slices.Reverse(mine)
	return mine
}

// ServerDigest names all the tools of one server as they are.
func ServerDigest(tools []Tool) Digest {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Definition, b.Definition))
	})
	var fields []string
	for _, t := range tools {
		fields = append(fields, t.Server, t.Name, string(t.Definition))
	}
	return digest("nod/server/1", fields...)
}
