package permission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Change is one thing that somebody changed in the settings. The set is closed: Setting, Remembered, Forget, Seen, Accept,
// AcceptReads, Told, Halting, Analysis, Holding, Erased. String is the change for people, without who and when; names inside are untrusted text.
//
//sumtype:decl
type Change interface {
	fmt.Stringer
	// apply is s after the change; moved is false where it has no effect.
	apply(s Settings, by chat.User, name string, at time.Time) (next Settings, moved bool)
	stored() storedChange
}

type (
	// Forget ends what somebody remembered, by its ID.
	Forget string
	// Accept is somebody's word for a definition of a tool.
	Accept Tool
	// AcceptReads is an admin's word for a definition of a tool, and that it reads as its server says: such a tool runs unasked, where it
	// claims nothing else. Off takes that back, whatever the definition is.
	AcceptReads struct {
		Tool
		Off bool `json:"off,omitempty"`
	}
	// Halting is true where nothing may run from now on, and false where it may again.
	Halting bool
	// Seen is what a server says about a tool.
	Seen struct {
		Tool       Tool       `json:"tool"`
		Definition Definition `json:"definition,omitzero"`
		Vouched    bool       `json:"vouched,omitempty"`  // the operator's configuration stands for it
		Stranger   bool       `json:"stranger,omitempty"` // it does not stand for the tool's server
	}
)

func (c Forget) apply(s Settings, _ chat.User, _ string, _ time.Time) (Settings, bool) {
	list := without(s.Remembered, func(r Remembered) bool { return r.ID == string(c) })
	moved := len(list) != len(s.Remembered)
	s.Remembered = list
	return s, moved
}

func (c Halting) apply(s Settings, by chat.User, name string, at time.Time) (Settings, bool) {
	moved := bool(c) == (s.Halted == nil)
	if s.Halted = nil; c {
		s.Halted = &Halt{by, name, at}
	}
	return s, moved
}

// Brief is a change as String says it, but for what somebody put into words of their own, and for the arguments of a call: for a log.
func Brief(c Change) string {
	const left = "…"
	switch x := c.(type) {
	case Setting:
		if x.Value != "" && slices.Contains([]string{"message", "impact", "category"}, x.Field) {
			x.Value = left
		}
		return x.String()
	case Holding:
		x.Why = left
		return x.String()
	case Remembered:
		if x.Pins != nil {
			x.Pins = nil
			return x.String() + " " + left
		}
	default: // names, words of ours and IDs
	}
	return c.String()
}

func (r Remembered) String() string {
	does := map[Standing]string{StandAllow: "allow", StandAsk: "always ask about"}[r.Choice]
	return "remembered: " + cmp.Or(does, "deny") + " " + r.what()
}

func (c Forget) String() string { return "forgot a remembered choice" }

func (c Seen) String() string {
	return called(c.Tool) + ": its server defines it as " + c.Tool.Definition.Short()
}

func (c Accept) String() string {
	return called(Tool(c)) + ": accepted as " + c.Definition.Short()
}

func (c AcceptReads) String() string {
	if c.Off {
		return called(c.Tool) + ": asks again, though it says that it only reads"
	}
	return Accept(c.Tool).String() + ", to run without asking: it says that it only reads"
}

func (t Told) String() string {
	if t.Sent {
		return "admins were told of the tools of " + t.Server
	}
	return "admins are to be told of the tools of " + t.Server
}

func (c Halting) String() string {
	if c {
		return "halted"
	}
	return "resumed"
}

func (a Analysis) String() string {
	return called(a.Tool) + ": analysed as " + a.Access.String() + ", " + a.Risk.String()
}

// Changes are changes in the order they were made, as JSON {"<kind>": …} each.
type Changes []Change

// storedChange is a Change in the settings' log, which every replica folds whole: an old kind keeps its name and is applied as ever. A new
// kind is a new field, and raises the version of the event it stands in: a replica that skipped it would fold on to other settings.
type storedChange struct {
	Set      *Setting     `json:"set,omitempty"`
	Remember *Remembered  `json:"remember,omitempty"`
	Forget   Forget       `json:"forget,omitempty"`
	Seen     *Seen        `json:"seen,omitempty"`
	Accept   *Accept      `json:"accept,omitempty"`
	Told     *Told        `json:"told,omitempty"`
	Halt     *Halting     `json:"halt,omitempty"`
	Analysis *Analysis    `json:"analysis,omitempty"`
	Reads    *AcceptReads `json:"reads,omitempty"` // since version 2
	Holding  *Holding     `json:"hold,omitempty"`  // since version 4, as is Erased
	Erased   *Erased      `json:"erased,omitempty"`
}

func (s Setting) stored() storedChange     { return storedChange{Set: &s} }
func (r Remembered) stored() storedChange  { return storedChange{Remember: &r} }
func (c Forget) stored() storedChange      { return storedChange{Forget: c} }
func (c Seen) stored() storedChange        { return storedChange{Seen: &c} }
func (c Accept) stored() storedChange      { return storedChange{Accept: &c} }
func (c AcceptReads) stored() storedChange { return storedChange{Reads: &c} }
func (t Told) stored() storedChange        { return storedChange{Told: &t} }
func (c Halting) stored() storedChange     { return storedChange{Halt: &c} }
func (a Analysis) stored() storedChange    { return storedChange{Analysis: &a} }

// Version is that of the event that they stand in: what an earlier release could not fold has a later one.
func (cs Changes) Version() int {
	newest := 1
	for _, c := range cs {
		switch c := c.(type) {
		case AcceptReads:
			newest = max(newest, 2)
		case Remembered:
			if !c.plain() {
				newest = max(newest, 3)
			}
		case Holding, Erased:
			newest = max(newest, 4)
		default:
		}
	}
	return newest
}

// MarshalJSON writes them as they are stored.
func (cs Changes) MarshalJSON() ([]byte, error) {
	var out []storedChange
	for _, c := range cs {
		out = append(out, c.stored())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what was stored. A kind that is not known changes nothing, and is left out.
func (cs *Changes) UnmarshalJSON(b []byte) error {
	var in []storedChange
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*cs = nil
	for _, c := range in {
		if c.Forget != "" {
			*cs = append(*cs, c.Forget)
		}
		add(cs, c.Set)
		add(cs, c.Remember)
		add(cs, c.Seen)
		add(cs, c.Accept)
		add(cs, c.Told)
		add(cs, c.Halt)
		add(cs, c.Analysis)
		add(cs, c.Reads)
		add(cs, c.Holding)
		add(cs, c.Erased)
	}
	return nil
}

// add adds a change that there is.
func add[C Change](cs *Changes, c *C) {
	if c != nil {
		*cs = append(*cs, *c)
	}
}
