package permission

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/canonical"
)

// Definition is what a server says about a tool: what [DefinitionDigest] is of. It is untrusted text.
type Definition struct {
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Cut         bool            `json:"cut,omitempty"` // it was too long to be kept: only that it changed is known
}

// MaxDefinition is how much of a definition is kept to tell what changed, in bytes.
const MaxDefinition = 16 << 10

// Kept is the definition as it is kept: nothing of it where it is too long, or where a part is no JSON.
func (d Definition) Kept() Definition {
	unfit := func(part json.RawMessage) bool { return len(part) > 0 && !json.Valid(part) }
	n := len(d.Title) + len(d.Description) + len(d.Input) + len(d.Output) + len(d.Annotations)
	if n > MaxDefinition || unfit(d.Input) || unfit(d.Output) || unfit(d.Annotations) {
		return Definition{Cut: true}
	}
	return d
}

// Pinned is a tool as the bot knows it: what its server says now, and the definition that counts, which somebody accepted or which was
// seen first. It is stored in [Settings].
type Pinned struct {
	Tool     Tool       `json:"tool"` // as it is now
	Now      Definition `json:"now,omitzero"`
	Counts   Digest     `json:"counts"`          // the definition that counts
	Was      Definition `json:"was,omitzero"`    // that one, where it is not Now
	Accepted bool       `json:"ok,omitempty"`    // somebody accepted what counts
	Reads    bool       `json:"reads,omitempty"` // and an admin as the read that its server says it is
	By       chat.User  `json:"by,omitzero"`     // who; nobody where the operator's configuration did
	Name     string     `json:"name,omitempty"`  // and what they are called
	At       time.Time  `json:"at,omitzero"`     // when it became what it is now
	// Stranger says that the operator's configuration did not stand for its server when the tool was seen first. Should it do so later,
	// that accepts the tool; what a server adds once it is trusted has to be looked at.
	Stranger bool `json:"stranger,omitempty"`
}

// Changed reports whether the tool is not what counts.
func (p Pinned) Changed() bool { return p.Tool.Definition != p.Counts }

// IsNews reports whether the pin becomes another one once its tool is t, and the operator's configuration stands for its server or not.
func (p Pinned) IsNews(t Tool, vouched bool) bool {
	return p.Tool != t || vouched && p.Stranger && !p.Accepted
}

// see is the pin once the server says something else, or what it said before. A tool nobody knew is accepted where the operator's
// configuration stands for it.
func (p Pinned) see(x Seen, at time.Time) Pinned {
	t, d := x.Tool, x.Definition.Kept()
	switch {
	case p.Counts == "":
		return Pinned{Tool: t, Now: d, Counts: t.Definition, Accepted: x.Vouched, Stranger: x.Stranger, At: at}
	case t.Definition == p.Tool.Definition && x.Vouched && p.Stranger && !p.Accepted:
		p.Accepted, p.Stranger = true, false
		return p
	case t.Definition == p.Tool.Definition:
		return p
	case !p.Changed():
		p.Was = p.Now
	}
	p.Tool, p.Now, p.At = t, d, at
	if !p.Changed() {
		p.Was = Definition{}
	}
	return p
}

// accept makes what the server says now what counts.
func (p Pinned) accept(by chat.User, name string, at time.Time) Pinned {
	p.Counts, p.Was, p.Accepted, p.Reads, p.By, p.Name, p.At = p.Tool.Definition, Definition{}, true, false, by, name, at
	return p
}

// Difference is one part of a definition that changed. It is stored with a card, under these names.
type Difference struct {
	Part     string // "description", "input schema", ...
	Was, Now string // untrusted
}

// maxDifference is how much of each side is kept with a card, in characters.
const maxDifference = 2000

// Clipped is the difference as it is kept with a card: the beginning of each side, which says so where there is more.
func (d Difference) Clipped() Difference {
	cut := func(s string) string {
		if r := []rune(s); len(r) > maxDifference {
			return string(r[:maxDifference]) + " … (" + strconv.Itoa(len(r)-maxDifference) + " more characters)"
		}
		return s
	}
	return Difference{d.Part, cut(d.Was), cut(d.Now)}
}

// Differences tell what changed since what counts; none where nothing did, or where it is not known.
func (p Pinned) Differences() []Difference {
	if !p.Changed() {
		return nil
	}
	if p.Was.Cut || p.Now.Cut {
		return []Difference{{Part: "definition", Was: string(p.Counts), Now: string(p.Tool.Definition)}}
	}
	out := slices.DeleteFunc([]Difference{
		{"title", p.Was.Title, p.Now.Title},
		{"description", p.Was.Description, p.Now.Description},
		{"input schema", readable(p.Was.Input), readable(p.Now.Input)},
		{"output schema", readable(p.Was.Output), readable(p.Now.Output)},
		{"annotations", readable(p.Was.Annotations), readable(p.Now.Annotations)},
	}, func(d Difference) bool { return d.Was == d.Now })
	if len(out) == 0 { // the same words from elsewhere: a definition is bound to where the operator says that its server is
		out = []Difference{{Part: PartOrigin}}
	}
	return out
}

// PartOrigin is what changed where all that a server says is as before. Neither address nor command is told: they may hold secrets.
const PartOrigin = "command or address of its server"

// readable is a JSON part in one form, with lines.
func readable(raw json.RawMessage) string {
	if c, err := canonical.Value(raw, definitionDepth); err == nil {
		raw = c
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
