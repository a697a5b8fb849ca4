// Package pin is what narrows a standing permission to some arguments: a [Pin] holds for a call, or it does not ([Hold]). [Propose] finds the
// pins that a card offers, and [Label] says them to people. What is below a directory is judged as text (under.go).
//
// It imports core/text and core/permission/canonical and is pure. A new way to narrow is a [Match], with its word, its case in Pin.holds and
// its sentence in say.go.
package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission/canonical"
)

// Pin narrows a grant to calls whose argument at Path equals Value (a canonical JSON value), or lies below the directory that Value
// names. It is stored in [Grant] and [Remembered].
type Pin struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
	Match Match           `json:"match,omitempty"`
}

// Match is how a pin's value is compared. Zero: it equals the argument.
type Match uint8

const (
	MatchExact Match = iota
	MatchUnder       // the argument is a path below the directory, compared as text
)

// matches are the words that are stored: see core/permission's words.go.
var matches = []string{"exact", "under"}

// String is the word for it.
func (m Match) String() string {
	if int(m) < len(matches) {
		return matches[m]
	}
	return fmt.Sprintf("match(%d)", uint8(m))
}

// MarshalText refuses what has no word: a value that nobody can read back must not be stored.
func (m Match) MarshalText() ([]byte, error) {
	if int(m) < len(matches) {
		return []byte(m.String()), nil
	}
	return nil, fmt.Errorf("match: %q is not one of %s", m, strings.Join(matches, ", "))
}

// UnmarshalText reads the word.
func (m *Match) UnmarshalText(b []byte) error {
	word := strings.TrimSpace(string(b))
	i := slices.IndexFunc(matches, func(w string) bool { return strings.EqualFold(w, word) })
	if i < 0 {
		return fmt.Errorf("match: %q is not one of %s", canonical.ShortKey(word), strings.Join(matches, ", "))
	}
	*m = Match(i)
	return nil
}

// ArgumentNames is the path of a pin whose value is the sorted list of all the call's argument names. Without such a pin a call that
// brings a new argument ("recursive", or "Path" beside "path") would still be covered, and a grant must not widen.
const ArgumentNames = "."

// Limits of a grant's pins.
const (
	maxGrantPins = 20   // of one grant: more than that nobody reads
	maxPinPath   = 256  // bytes
	maxPinValue  = 4096 // bytes
)

// Check says what is wrong with the pins of a grant that somebody wants to give: of none, nothing. It names a pin by its path and
// never shows a value, which may be a secret.
func Check(pins []Pin) error {
	if len(pins) > maxGrantPins {
		return fmt.Errorf("pins: %d are given and %d are allowed", len(pins), maxGrantPins)
	}
	for i, p := range pins {
		err := p.check()
		if p.Path == ArgumentNames && err == nil {
			err = p.checkNames(pins)
		}
		if err != nil {
			return fmt.Errorf("pin %d (%s): %w", i+1, canonical.ShortKey(p.Path), err)
		}
	}
	return nil
}

func (p Pin) check() error {
	_, ok := steps(p.Path)
	switch {
	case p.Path == "":
		return errors.New("the path of the argument is missing")
	case len(p.Path) > maxPinPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPinPath)
	case len(p.Value) > maxPinValue:
		return fmt.Errorf("the value is longer than %d bytes", maxPinValue)
	case !ok && p.Path != ArgumentNames:
		return errors.New(`the path has an empty step, or a "~" that is neither ~0 nor ~1: write "mail.to", or "/mail/to"`)
	}
	value, err := canonical.Value(p.Value, canonical.MaxDepth)
	switch {
	case err != nil:
		return errors.New("the value is not JSON that can be read in one way only")
	case string(value) != string(p.Value):
		return errors.New("the value is not in canonical form: sorted keys, no spaces, no needless escapes")
	}
	dir, _ := jsonText(p.Value)
	switch _, place := placeOf(dir); {
	case p.Match > MatchUnder:
		return errors.New("its match is not known")
	case p.Match == MatchUnder && !place:
		return errors.New(`the directory is not a plain path below the root, such as "/srv/a" or "docs": no "..", no "/" at the end, no wildcards, no escapes`)
	}
	return nil
}

// checkNames checks the pin of the argument names against the others: one that leaves out a pinned argument covers nothing, and its
// label would look as if it did.
func (p Pin) checkNames(pins []Pin) error {
	names, ok := p.names()
	if !ok {
		return errors.New(`the path "." takes the list of all argument names, sorted, each once, to be matched exactly`)
	}
	for _, other := range pins {
		if first := pinPath(other.Path)[0]; other.Path != ArgumentNames && !slices.Contains(names, first) {
			return fmt.Errorf("it leaves out %s, which another pin needs, so no call would be covered", canonical.ShortKey(first))
		}
	}
	return nil
}

// Hold says whether the arguments hold what every pin says. A pin's path is dotted ("mail.to"), or a JSON pointer
// ("/mail/to") where a key itself holds a dot. Whatever cannot be read is not what it was pinned to.
func Hold(pins []Pin, args json.RawMessage) bool {
	if len(pins) == 0 {
		return true
	}
	sorted, err := canonical.Arguments(args)
	return err == nil && !slices.ContainsFunc(pins, func(p Pin) bool { return !p.holds(sorted) })
}

// holds reports whether canonical arguments are within one pin.
func (p Pin) holds(args json.RawMessage) bool {
	have, ok := held(args, p.Path)
	switch {
	case ok && p.Match == MatchExact:
		want, _ := canonical.Value(p.Value, canonical.MaxDepth) // nil for what cannot be read, which no argument is
		return string(have) == string(want)
	case ok && p.Match == MatchUnder:
		path, _ := jsonText(have) // "" for what is no text: it is under nothing, and nothing is under it
		dir, _ := jsonText(p.Value)
		return under(dir, path)
	}
	return false // also a match that is not known
}

// held is what canonical arguments hold at a pin's path: [canonical.Lookup], which finds nothing where an object has another key that
// differs only in case. Many servers read both as one name and take the last, which need not be the one that was pinned.
func held(v json.RawMessage, path string) (json.RawMessage, bool) {
	switch path {
	case "":
		return nil, false
	case ArgumentNames:
		fields, _ := canonical.Members(v)
		return listOf(slices.Sorted(maps.Keys(fields))), true
	}
	for _, step := range pinPath(path) {
		if fields, _ := canonical.Members(v); twin(fields, step) {
			return nil, false
		}
		v, _ = canonical.Lookup(v, []string{step})
	}
	return v, len(v) > 0
}

// twin reports whether another key than this one is the same but for case, as encoding/json folds it.
func twin(fields map[string]json.RawMessage, key string) bool {
	for k := range fields {
		if k != key && strings.EqualFold(k, key) {
			return true
		}
	}
	return false
}

// listOf is the canonical list of some strings.
func listOf(names []string) json.RawMessage {
	out := []byte{'['}
	for i, n := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = canonical.AppendText(out, n)
	}
	return append(out, ']')
}

// names are the argument names that a pin of [ArgumentNames] lists: texts, sorted, each once.
func (p Pin) names() ([]string, bool) {
	var names []string
	value, err := canonical.Value(p.Value, canonical.MaxDepth)
	if err != nil || p.Match != MatchExact || json.Unmarshal(value, &names) != nil {
		return nil, false
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, string(listOf(names)) == string(value)
}

// jsonText reads a JSON string, and nothing else: not null, which encoding/json would take for one.
func jsonText(v json.RawMessage) (s string, ok bool) {
	sorted, err := canonical.Value(v, 0)
	ok = err == nil && sorted[0] == '"' && json.Unmarshal(sorted, &s) == nil
	return s, ok
}

// pinPath takes a pin's path apart. What is not well formed leads nowhere: see [Check].
func pinPath(path string) []string {
	s, _ := steps(path)
	return s
}

// steps takes a path apart, and reports whether it is written well.
func steps(path string) ([]string, bool) {
	pointer, ok := strings.CutPrefix(path, "/")
	if !ok {
		s := strings.Split(path, ".")
		return s, !slices.Contains(s, "")
	}
	s := strings.Split(pointer, "/")
	ok = true
	for i, x := range s {
		plain := strings.ReplaceAll(strings.ReplaceAll(x, "~1", ""), "~0", "")
		ok = ok && !strings.Contains(plain, "~")
		s[i] = strings.ReplaceAll(strings.ReplaceAll(x, "~1", "/"), "~0", "~")
	}
	return s, ok
}

// pathTo is the path of an argument by its name: the name itself where that is plain, else a JSON pointer.
func pathTo(key string) string {
	if canonical.ShortKey(key) == key {
		return key
	}
	return "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
