package pin

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/text"
)

// Condition names values of arguments by their paths, as an operator writes them: the very text, "/srv/a/**" for that directory and what is
// below it, or "rm *" for a beginning. It is about a call of which every argument that it names has one of its values.
type Condition map[string]Values

// Values are one or several.
type Values []string

// Surely reports whether it is about a call, whoever reads the arguments: to let a call run takes that. Texts have to be equal, and paths
// within the directory for [under]. Nothing is sure of a beginning, and of what is read in two ways.
func (c Condition) Surely(args json.RawMessage) bool {
	return len(c) > 0 && c.every(args, false, func(is, value string) bool {
		dir, below := strings.CutSuffix(value, "/**")
		if below {
			return readOneWay(is) && under(dir, is)
		}
		return readOneWay(is) && is == value && !strings.HasSuffix(value, "*")
	})
}

// Perhaps reports whether somebody could read a call as one that it is about: to ask about a call, or to refuse it, takes no more. Only a plain
// text that is another for everybody is none.
func (c Condition) Perhaps(args json.RawMessage) bool {
	return c.every(args, true, func(is, value string) bool { return !differs(is, value) })
}

// every reports whether each argument is like one of its values, or is no text at all, where that counts for like.
func (c Condition) every(args json.RawMessage, otherwise bool, like func(is, value string) bool) bool {
	sorted, _ := canonical.Arguments(args) // what is not read holds nothing
	for path, values := range c {
		have, _ := held(sorted, path)
		alike := otherwise
		if is, ok := jsonText(have); ok {
			alike = slices.ContainsFunc(values, func(v string) bool { return like(is, v) })
		}
		if !alike {
			return false
		}
	}
	return true
}

// differs reports whether everybody takes a text for another than the value says, also who folds case, trims, or expands what a shell would.
func differs(is, value string) bool {
	dir, below := strings.CutSuffix(value, "/**")
	begin, begins := strings.CutSuffix(value, "*")
	switch {
	case below, !begins && strings.Contains(is+value, "/"):
		return elsewhere(is, dir, below)
	case begins:
		all := is + " " // "rm" is a beginning of "rm *", too
		return plain(is) && !strings.EqualFold(all[:min(len(begin), len(all))], begin)
	}
	return plain(is) && !strings.EqualFold(is, value)
}

// elsewhere reports whether a path is neither the other one nor above it, nor, where that counts, below it. What [under] does not read, or
// has another root, may be anywhere.
func elsewhere(is, other string, below bool) bool {
	a, _ := placeOf(is) // what is no path has no elements: it is above all
	b, ok := placeOf(other)
	if !ok || a.root != b.root {
		return false
	}
	for i, e := range a.elems[:min(len(a.elems), len(b.elems))] {
		if plain(e) && plain(b.elems[i]) && !strings.EqualFold(e, b.elems[i]) {
			return true
		}
	}
	return len(a.elems) > len(b.elems) && !below
}

// readOneWay reports whether a text has nothing that some read as something else: what is hidden, a backslash, the way up.
func readOneWay(s string) bool {
	return !strings.ContainsFunc(s, hidden) && !strings.Contains(s, `\`) && !strings.Contains(s, "..")
}

// plain reports whether a text is words of ASCII, and signs that mean nothing to a shell or a decoder.
func plain(s string) bool {
	return s != "" && strings.Trim(s, " .") == s && !strings.Contains(s, "  ") && readOneWay(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !plainRune(r, true) && !strings.ContainsRune("/:#", r) || r > 127 })
}

// Check says what is wrong with the values of one argument, or nil. It shows none, for one may be a secret. asks: they are to ask about a call,
// or to refuse it.
func (v Values) Check(path string, asks bool) error {
	if err := (Pin{Path: path, Value: textOf("")}).check(); err != nil || path == ArgumentNames {
		return errors.New(`want the name of an argument, or "mail.to" for one inside another`)
	}
	if len(v) == 0 || len(v) > maxGrantPins {
		return errors.New("want one value, or a list of at most 20")
	}
	for _, value := range v {
		dir, below := strings.CutSuffix(value, "/**")
		begin, begins := strings.CutSuffix(value, "*")
		_, place := placeOf(dir)
		switch {
		case below && !(place && readOneWay(dir)):
			return errors.New("want a plain path before the /**, below the root, such as /srv/docs/**")
		case !below && begins && !asks:
			return errors.New("a beginning says too little to let a call run: want the whole text, or a directory such as /srv/docs/**")
		case !below && begins && !plain(strings.TrimSuffix(begin, " ")):
			return errors.New("want a beginning of plain letters, digits and signs before the *, such as rm *")
		case !below && strings.Contains(begin, "*"), value == "", len(value) > maxPinPath, !readOneWay(value), strings.TrimSpace(value) != value:
			return errors.New("want a plain text of at most 256 bytes, a directory such as /srv/docs/**, or a beginning such as rm *")
		}
	}
	return nil
}

// String is what it says, for people: method is "GET" or "HEAD" and path is "/srv/a/**". The value of an argument with a secret's name is not
// shown, and a long one is cut.
func (c Condition) String() string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(c)) {
		var values []string
		for _, v := range c[path] {
			values = append(values, sayValue(Pin{Path: path, Value: textOf(v)}))
		}
		parts = append(parts, shown(path)+" is "+strings.Join(values, " or "))
	}
	return text.Cut(strings.Join(parts, " and "), maxProposal)
}
