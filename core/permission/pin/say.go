package pin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission/canonical"
)

// What people read about pins.
const (
	sayAsText    = " (as text; the server follows links)" // see [under]: a pin promises text
	sayNoMore    = "no other arguments"
	sayNothing   = "with no arguments"
	saySecret    = "a value that is not shown"
	sayUnknownTo = "something that is not understood"
)

// proposalLabel is what a proposal grants.
func proposalLabel(pins []Pin) string {
	label := "Only " + Label(pins)
	if slices.ContainsFunc(pins, func(p Pin) bool { return p.Match == MatchUnder }) {
		label += sayAsText
	}
	return label
}

// Label says what a grant is limited to, for lists of grants: when path is under "/srv/a/**" and method is "GET", with any
// content and no other arguments. Values are canonical JSON with hidden characters as \u{200B}, so that two lists of pins that
// [Check] passes read alike only if they say the same. The value of an argument with a secret's name is not shown. Nothing is
// cut. No pins: "".
func Label(pins []Pin) string {
	var when, open []string
	for i := 0; i < len(pins); i++ {
		p := pins[i]
		switch {
		case p.Path == ArgumentNames:
			open = append(open, sayOpen(p, pins))
		case p.Match == MatchUnder:
			names, verb := []string{shown(p.Path)}, " is under "
			for ; i+1 < len(pins) && pins[i+1].Match == MatchUnder && string(pins[i+1].Value) == string(p.Value); i++ {
				names, verb = append(names, shown(pins[i+1].Path)), " are under "
			}
			when = append(when, strings.Join(names, " and ")+verb+sayBelow(p))
		default:
			when = append(when, shown(p.Path)+" is "+sayValue(p))
		}
	}
	label := strings.Join(open, " and ")
	if len(when) > 0 {
		label = strings.TrimSuffix("when "+strings.Join(when, " and ")+", "+label, ", ")
	}
	return label
}

// sayOpen says what a list of argument names leaves open: "with any content and no other arguments".
func sayOpen(p Pin, pins []Pin) string {
	names, ok := p.names()
	if !ok {
		return "with arguments that are " + sayUnknownTo
	}
	if len(names) == 0 {
		return sayNothing
	}
	var open []string
	for _, n := range names {
		within, whole := false, false
		for _, other := range pins {
			path := pinPath(other.Path)
			mine := other.Path != ArgumentNames && path[0] == n
			within, whole = within || mine, whole || mine && len(path) == 1
		}
		switch {
		case whole:
		case within:
			open = append(open, "any other "+shown(pathTo(n)))
		default:
			open = append(open, "any "+shown(pathTo(n)))
		}
	}
	if len(open) == 0 {
		return "with " + sayNoMore
	}
	return "with " + strings.Join(open, ", ") + " and " + sayNoMore
}

func sayValue(p Pin) string {
	value, err := canonical.Value(p.Value, canonical.MaxDepth)
	switch {
	case err != nil || p.Match != MatchExact:
		return sayUnknownTo
	case slices.ContainsFunc(pinPath(p.Path), func(step string) bool { return namesSecret(step, nil) }) || namesSecret("", value):
		return saySecret
	}
	return visible(string(value))
}

func sayBelow(p Pin) string {
	dir, ok := jsonText(p.Value)
	if !ok {
		return sayUnknownTo
	}
	sep := "/"
	if at, ok := placeOf(dir); ok {
		sep = at.sep
	}
	return visible(string(textOf(dir + sep + "**")))
}

// shown is how the path of an argument reads: as it is where it is plain, else in quotes with hidden characters visible.
func shown(path string) string {
	for step := range strings.SplitSeq(path, ".") {
		if canonical.ShortKey(step) != step {
			return visible(string(textOf(path)))
		}
	}
	return path
}

// visible makes hidden characters of canonical JSON readable as \u{200B}, a form that JSON itself cannot hold.
func visible(canonical string) string {
	return Escape(canonical, func(r rune) string { return fmt.Sprintf(`\u{%X}`, r) })
}

// escape writes hidden characters another way.
func Escape(s string, as func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(as(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// textOf is the canonical JSON of a string.
func textOf(s string) json.RawMessage { return canonical.AppendText(nil, s) }
