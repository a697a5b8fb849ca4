package permission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/pin"
)

// ExchangeVersion is the version of [Exchange] that this program writes, and the only one that it reads.
const ExchangeVersion = 1

// Exchange is what people set, remembered and accepted, as a file says it (R8): the same settings give the same Exchange, and reading it
// into empty settings gives the same decisions. Who set what and when, whom nod told of what, and a halt are not in it.
type Exchange struct {
	Version    int               `json:"version" yaml:"version"`
	Settings   []Setting         `json:"settings,omitempty" yaml:"settings,omitempty"`
	Remembered []RememberedEntry `json:"remembered,omitempty" yaml:"remembered,omitempty"`
	Tools      []ToolEntry       `json:"tools,omitempty" yaml:"tools,omitempty"`
	Advice     []AdviceEntry     `json:"advice,omitempty" yaml:"advice,omitempty"`
}

// RememberedEntry is one person's own choice about a tool.
type RememberedEntry struct {
	ID         string `json:"id" yaml:"id"`
	By         string `json:"by" yaml:"by"` // [chat.User.String]
	Name       string `json:"name,omitempty" yaml:"name,omitempty"`
	Server     string `json:"server" yaml:"server"`
	Tool       string `json:"tool" yaml:"tool"`
	Definition Digest `json:"definition,omitempty" yaml:"definition,omitempty"`
	Choice     string `json:"choice" yaml:"choice"` // ask, allow or deny
	// What an allowance is narrowed to.
	Pins  []PinEntry `json:"pins,omitempty" yaml:"pins,omitempty"`
	Until string     `json:"until,omitempty" yaml:"until,omitempty"` // RFC 3339
	// What it is wider by.
	Channel chat.Channel      `json:"channel,omitempty" yaml:"channel,omitempty"`
	Scope   string            `json:"scope,omitempty" yaml:"scope,omitempty"` // reads, writes or server; empty: the tool
	Tools   map[string]Digest `json:"tools,omitempty" yaml:"tools,omitempty"` // of the server, as they were
}

// PinEntry is a [Pin].
type PinEntry struct {
	Path  string `json:"path" yaml:"path"`
	Value string `json:"value" yaml:"value"`                     // canonical JSON
	Under bool   `json:"under,omitempty" yaml:"under,omitempty"` // the value is a directory: what is below it
}

// ToolEntry is the definition of a tool that counts.
type ToolEntry struct {
	Server   string `json:"server" yaml:"server"`
	Tool     string `json:"tool" yaml:"tool"`
	Counts   Digest `json:"counts" yaml:"counts"`
	Accepted bool   `json:"accepted,omitempty" yaml:"accepted,omitempty"` // somebody accepted it; else it was only seen first
	Reads    bool   `json:"reads,omitempty" yaml:"reads,omitempty"`       // an admin accepted it as the read that its server says it is
	Stranger bool   `json:"stranger,omitempty" yaml:"stranger,omitempty"` // and then the operator's configuration did not stand for its server
}

// AdviceEntry is what a model thought of one definition of a tool: it only adds caution.
type AdviceEntry struct {
	Server     string `json:"server" yaml:"server"`
	Tool       string `json:"tool" yaml:"tool"`
	Definition Digest `json:"definition" yaml:"definition"`
	Access     string `json:"access,omitempty" yaml:"access,omitempty"`
	Risk       string `json:"risk,omitempty" yaml:"risk,omitempty"`
	Admin      bool   `json:"admin,omitempty" yaml:"admin,omitempty"`
	Reason     string `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// Exchange is the settings as a file says them.
func (s Settings) Exchange() Exchange {
	x := Exchange{Version: ExchangeVersion}
	for _, set := range s.Set {
		x.Settings = append(x.Settings, set.Setting)
	}
	for _, r := range s.Remembered {
		e := RememberedEntry{
			ID: r.ID, By: r.By.String(), Name: r.Name, Server: r.Tool.Server, Tool: r.Tool.Name, Definition: r.Tool.Definition, Choice: r.Choice.String(),
			Channel: r.Channel,
		}
		for _, p := range r.Pins {
			e.Pins = append(e.Pins, PinEntry{p.Path, string(p.Value), p.Match == pin.MatchUnder})
		}
		if !r.Until.IsZero() {
			e.Until = r.Until.UTC().Format(time.RFC3339Nano)
		}
		if r.Scope != ScopeTool {
			e.Scope, e.Tools = r.Scope.String(), map[string]Digest{}
			for _, t := range r.Tools {
				e.Tools[t.Name] = t.Definition
			}
		}
		x.Remembered = append(x.Remembered, e)
	}
	for _, p := range s.Pins {
		x.Tools = append(x.Tools, ToolEntry{Server: p.Tool.Server, Tool: p.Tool.Name, Counts: p.Counts, Accepted: p.Accepted, Reads: p.Reads, Stranger: p.Stranger && !p.Accepted})
	}
	for _, a := range s.Analyses {
		x.Advice = append(x.Advice, AdviceEntry{
			Server: a.Tool.Server, Tool: a.Tool.Name, Definition: a.Tool.Definition,
			Access: a.Access.String(), Risk: a.Risk.String(), Admin: a.Level, Reason: a.Reason,
		})
	}
	return x
}

// Changes are what reading the file into the settings as they are would change: it adds to them and replaces what is there otherwise,
// and takes nothing away; its version was looked at. It errs on the first entry that cannot be taken, and then nothing of the file is.
//
// A definition that the file calls accepted is never taken for what a server says now: where that is something else, the tool counts
// as changed, and asks, until somebody looks at it. What people here accepted stays.
func (x Exchange) Changes(now Settings) ([]Change, error) {
	set, inSettings := entries("settings", x.Settings, func(s Setting) ([]Change, error) {
		c, err := s.Canonical()
		if err == nil && c.Value == "" {
			err = fmt.Errorf("%s has no value", s.Field)
		}
		return []Change{c}, err
	})
	remembered, inRemembered := entries("remembered", x.Remembered, RememberedEntry.changes)
	tools, inTools := entries("tools", x.Tools, func(t ToolEntry) ([]Change, error) { return t.changes(now) })
	advice, inAdvice := entries("advice", x.Advice, AdviceEntry.changes)
	if err := cmp.Or(inSettings, inRemembered, inTools, inAdvice); err != nil {
		return nil, err
	}
	return news(now, slices.Concat(unvouched(now, news(now, set)), remembered, tools, advice)), nil
}

// entries are what the entries of one list change. The error names the first that cannot be taken.
func entries[E any](list string, all []E, changes func(E) ([]Change, error)) (out []Change, err error) {
	for i, e := range all {
		c, err := changes(e)
		if err != nil {
			return nil, fmt.Errorf("%s, entry %d: %w", list, i+1, err)
		}
		out = append(out, c...)
	}
	return out, nil
}

// unvouched are the settings with changes around them that keep a word for a whole server from accepting its tools: such a word, said
// by a person, means the tools that they see, and a file sees none.
func unvouched(now Settings, set []Change) []Change {
	var before, after []Change
	for _, p := range now.Pins {
		vouches := slices.ContainsFunc(set, func(c Change) bool {
			x, _ := c.(Setting)
			return x.Server == p.Tool.Server && x.Tool == "" && (x.Field == "trusted" || x.Field == "ask")
		})
		if !vouches || p.Accepted || p.Changed() {
			continue
		}
		other := p.Tool
		other.Definition = digest("nod/nobody looked/1", string(p.Tool.Definition)) // as long as it changed, nobody vouches for it
		before = append(before, Seen{Tool: other, Definition: Definition{Cut: true}})
		after = append(after, Seen{Tool: p.Tool, Definition: p.Now})
	}
	return slices.Concat(before, set, after)
}

// news leaves out what is so already.
func news(now Settings, all []Change) []Change {
	return slices.DeleteFunc(all, func(c Change) bool {
		switch c := c.(type) {
		case Setting:
			return slices.ContainsFunc(now.Set, func(s Set) bool { return s.Setting == c })
		case Remembered:
			return slices.ContainsFunc(now.Remembered, func(r Remembered) bool { r.At = c.At; return reflect.DeepEqual(r, c) })
		case Analysis:
			return slices.Contains(now.Analyses, c)
		default:
			return false
		}
	})
}

func (r RememberedEntry) changes() ([]Change, error) {
	by, err := chat.ParseUser(r.By)
	if err != nil {
		return nil, fmt.Errorf("by: %w", err)
	}
	choice, err := ParseStanding(r.Choice)
	switch {
	case err != nil:
		return nil, err
	case r.ID == "" || !acts(by) || r.Server == "" || r.Tool == "":
		return nil, fmt.Errorf("it needs an id, a person, a server and a tool")
	case choice == StandAllow && !r.Definition.valid():
		return nil, fmt.Errorf("definition: an allowance is for one definition of the tool, by its digest")
	}
	out := Remembered{ID: r.ID, By: by, Name: r.Name, Tool: Tool{r.Server, r.Tool, r.Definition}, Choice: choice, Channel: r.Channel}
	if r.Scope != "" {
		if out.Scope, err = scopes.parse(r.Scope); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		out.Tools = append(out.Tools, Tool{r.Server, name, r.Tools[name]})
	}
	for _, p := range r.Pins {
		one := pin.Pin{Path: p.Path, Value: json.RawMessage(p.Value)}
		if p.Under {
			one.Match = pin.MatchUnder
		}
		out.Pins = append(out.Pins, one)
	}
	if r.Until != "" {
		if out.Until, err = time.Parse(time.RFC3339Nano, r.Until); err != nil {
			return nil, fmt.Errorf("until: want a time such as 2026-01-31T15:04:05Z")
		}
	}
	if err := pin.Check(out.Pins); err != nil {
		return nil, err
	}
	if !out.fits() {
		return nil, fmt.Errorf("only an allowance has pins, until, a channel or a scope; one for a channel has an end, one with a scope its tools")
	}
	return []Change{out}, nil
}

// valid reports whether a digest is one: 64 lower-case hexadecimal digits.
func (d Digest) valid() bool {
	return len(d) == 64 && strings.Trim(string(d), "0123456789abcdef") == ""
}

// changes make the definition count without ever saying that it is what the server says now.
func (t ToolEntry) changes(now Settings) ([]Change, error) {
	switch {
	case t.Server == "" || t.Tool == "":
		return nil, fmt.Errorf("it needs a server and a tool")
	case !t.Counts.valid():
		return nil, fmt.Errorf("counts: %q is no digest", t.Counts.Short())
	case t.Reads && !t.Accepted:
		return nil, fmt.Errorf("reads: only what is accepted is accepted as a read")
	}
	old := Tool{t.Server, t.Tool, t.Counts}
	seen := Seen{Tool: old, Definition: Definition{Cut: true}, Vouched: t.Accepted, Stranger: t.Stranger && !t.Accepted}
	accept := Change(Accept(old))
	if t.Reads {
		accept = AcceptReads{Tool: old}
	}
	pin, known := now.Pin(old)
	switch {
	case !known && t.Reads:
		return []Change{seen, accept}, nil
	case !known:
		return []Change{seen}, nil // until the server is heard: if it says something else, that is a change
	case pin.Accepted && !(t.Reads && !pin.Reads && pin.Tool == old && !pin.Changed()), !t.Accepted: // what people here accepted stays
		return nil, nil
	case pin.Tool == old:
		return []Change{accept}, nil
	}
	// The server says something else now, and nobody accepted that. What counts is the old one: the tool changed since.
	return []Change{seen, accept, Seen{Tool: pin.Tool, Definition: pin.Now}}, nil
}

func (a AdviceEntry) changes() ([]Change, error) {
	access, noAccess := accesses.parse(a.Access)
	risk, noRisk := risks.parse(a.Risk)
	switch err := cmp.Or(noAccess, noRisk); {
	case err != nil:
		return nil, err
	case a.Server == "" || a.Tool == "" || !a.Definition.valid():
		return nil, fmt.Errorf("it needs a server, a tool and the digest of its definition")
	}
	return []Change{Analysis{Tool: Tool{a.Server, a.Tool, a.Definition}, Access: access, Risk: risk, Level: a.Admin, Reason: a.Reason}}, nil
}

// Lines are the file as YAML, an entry on each line. An entry is written as JSON, which is YAML as well.
func (x Exchange) Lines() []string {
	return slices.Concat([]string{fmt.Sprintf("version: %d", x.Version)},
		section("settings", x.Settings), section("remembered", x.Remembered), section("tools", x.Tools), section("advice", x.Advice))
}

func section[E any](name string, entries []E) (out []string) {
	if len(entries) > 0 {
		out = append(out, name+":")
	}
	for _, e := range entries {
		out = append(out, "  - "+flow(e))
	}
	return out
}

// flow is one entry in JSON, on one line. Entries hold strings and booleans only, so there is nothing that cannot be written.
func flow(entry any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entry); err != nil {
		return "{}"
	}
	return pin.Escape(strings.TrimSpace(b.String()), func(r rune) string { // what YAML does not take as it is, and what nobody could see
		if r < 0x10000 {
			return fmt.Sprintf(`\u%04X`, r)
		}
		return fmt.Sprintf(`\U%08X`, r)
	})
}
