// Package canonical reads a call's arguments, which a model wrote, and gives them one form: what is digested and compared, so that
// what was shown is what runs. It imports nothing of ours.
//
// Start at [Arguments], the form that is digested, and [Written], the one that is stored, shown and sent. [Value] is the same for any
// JSON value. canonical.go has objects, lists and their limits; literal.go strings and numbers. A new reason to refuse arguments goes
// where they are read, as an [*Error] that tells the model what to send instead. Whether a call with them may run is core/permission's.
//
// Invariants. What two readers could read differently is refused and never mended. A canonical form never changes between releases:
// the digests of calls that wait for a person depend on its bytes.
package canonical

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a call's arguments.
const (
	maxArgs  = 1 << 20 // bytes
	MaxDepth = 64      // nested objects and lists, the outermost one included
)

// Error says why arguments were refused. Its text is written for the model that wrote them; people are told its Problem.
type Error struct {
	Offset  int    // byte
	Path    string // "$.mail.to[0]"
	Problem string
}

func (e *Error) Error() string {
	return fmt.Sprintf("The arguments were refused: %s (at byte %d, %s). Send one JSON object in which every key occurs once.", e.Problem, e.Offset, e.Path)
}

// Arguments gives the one form of a call's arguments: what is digested and compared. Keys are sorted by
// their bytes, no space is left, strings are escaped only where JSON demands it, numbers keep the text they were written
// in. Nothing at all means {}. Whatever two readers could read differently is refused with an [*Error]: anything but one
// object, a repeated key, invalid UTF-8, half a surrogate pair, something after the end; and what nobody can review:
// more than 1 MiB, more than 64 levels.
func Arguments(raw []byte) ([]byte, error) { return readArgs(raw, scanner{}) }

// Written is [Arguments] with the keys in the order they were written in: what is stored, shown and sent, because some servers read a
// meaning out of it. The arguments themselves, the outermost keys, come first as order names them: as the tool's schema does.
func Written(raw []byte, order []string) ([]byte, error) {
	return readArgs(raw, scanner{written: true, order: order})
}

func readArgs(raw []byte, s scanner) ([]byte, error) {
	if len(raw) > maxArgs {
		return nil, &Error{Offset: maxArgs, Path: "$", Problem: fmt.Sprintf("they are %d bytes long, and %d are allowed", len(raw), maxArgs)}
	}
	s.in, s.max = raw, MaxDepth
	s.space()
	if s.pos == len(raw) {
		return []byte("{}"), nil
	}
	if raw[s.pos] != '{' {
		return nil, s.fail("they are not a JSON object")
	}
	return s.whole()
}

// Value is [Arguments] for any JSON value of any size.
func Value(raw []byte, depth int) ([]byte, error) {
	s := scanner{in: raw, max: depth}
	s.space()
	return s.whole()
}

// scanner reads JSON and writes its canonical form as it goes. encoding/json accepts what must be refused here: repeated keys, invalid
// UTF-8, lone surrogates.
type scanner struct {
	in   []byte
	pos  int
	out  []byte
	max  int
	path []step // for messages only

	written bool     // keys keep the order they were written in
	order   []string // but for these outermost ones, which come first
}

type step struct {
	key   string
	index int // of a list; -1 for a key
}

// member is one key of an object and where its canonical text stands in out.
type member struct {
	key        string
	at         int // byte of the input
	start, end int
}

func (s *scanner) whole() ([]byte, error) {
	s.out = make([]byte, 0, len(s.in))
	if err := s.value(); err != nil {
		return nil, err
	}
	s.space()
	if s.pos < len(s.in) {
		return nil, s.fail("something follows the end of the value")
	}
	return s.out, nil
}

func (s *scanner) fail(problem string) error { return s.failAt(s.pos, problem) }

func (s *scanner) failAt(at int, problem string) error {
	var p strings.Builder
	p.WriteByte('$')
	for i, x := range s.path {
		if i > 8 {
			p.WriteString("…")
			break
		}
		if x.index >= 0 {
			p.WriteString("[" + strconv.Itoa(x.index) + "]")
		} else {
			p.WriteString("." + ShortKey(x.key))
		}
	}
	return &Error{Offset: at, Path: p.String(), Problem: problem}
}

// ShortKey makes a key fit for a message: short, and quoted unless it is a plain word.
func ShortKey(k string) string {
	plain := k != ""
	for _, c := range k {
		plain = plain && (c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	if r := []rune(k); len(r) > 40 {
		k = string(r[:40]) + "…"
	}
	if plain {
		return k
	}
	return strconv.Quote(k)
}

func (s *scanner) space() {
	for strings.IndexByte(" \t\n\r", s.next()) >= 0 {
		s.pos++
	}
}

// next is the byte at the position, or 0 at the end. (A zero byte is valid nowhere outside a string, nor raw in one.)
func (s *scanner) next() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) value() error {
	switch c := s.next(); {
	case c == '{':
		return s.nested(s.object)
	case c == '[':
		return s.nested(s.list)
	case c == '"':
		str, err := s.text()
		if err != nil {
			return err
		}
		s.out = AppendText(s.out, str)
		return nil
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.in[s.pos:], []byte(word)) {
			s.pos += len(word)
			s.out = append(s.out, word...)
			return nil
		}
	}
	if s.pos == len(s.in) {
		return s.fail("they end too early")
	}
	return s.fail("a JSON value should stand here")
}

func (s *scanner) nested(read func() error) error {
	if s.max == 0 {
		return s.fail("they are nested too deeply")
	}
	s.max--
	err := read()
	s.max++
	return err
}

func (s *scanner) object() error {
	s.pos++
	open := len(s.out)
	s.out = append(s.out, '{')
	var members []member
	for s.space(); s.next() != '}' || len(members) > 0; {
		if s.next() != '"' {
			return s.unexpected("a key in double quotes")
		}
		at := s.pos
		key, err := s.text()
		if err != nil {
			return err
		}
		s.space()
		if s.next() != ':' {
			return s.unexpected("a colon")
		}
		s.pos++
		s.space()
		m := member{key: key, at: at, start: len(s.out)}
		s.out = append(AppendText(s.out, key), ':')
		s.path = append(s.path, step{key, -1})
		if err := s.value(); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		m.end = len(s.out)
		members = append(members, m)
		s.space()
		if s.next() != ',' {
			break
		}
		s.pos++
		s.space()
	}
	if s.next() != '}' {
		return s.unexpected("a comma or the end of the object")
	}
	s.pos++
	return s.sorted(open, members)
}

// sorted puts the members of the object that begins at open into their order.
func (s *scanner) sorted(open int, members []member) error {
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	for i := 1; i < len(members); i++ {
		if m := members[i]; m.key == members[i-1].key {
			s.path = append(s.path, step{m.key, -1})
			return s.failAt(m.at, "the key "+ShortKey(m.key)+" occurs twice")
		}
	}
	if s.written {
		rank := func(m member) int {
			if i := slices.Index(s.order, m.key); open == 0 && i >= 0 {
				return i
			}
			return len(s.order)
		}
		slices.SortFunc(members, func(a, b member) int { return cmp.Or(rank(a)-rank(b), a.at-b.at) })
	}
	body := make([]byte, 0, len(s.out)-open+len(members))
	for i, m := range members {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, s.out[m.start:m.end]...)
	}
	s.out = append(append(s.out[:open+1], body...), '}')
	return nil
}

func (s *scanner) list() error {
	s.pos++
	s.out = append(s.out, '[')
	s.path = append(s.path, step{"", 0})
	top := len(s.path) - 1
	for s.space(); s.next() != ']' || s.path[top].index > 0; {
		if err := s.value(); err != nil {
			return err
		}
		s.path[top].index++
		s.space()
		if s.next() != ',' {
			break
		}
		s.out = append(s.out, ',')
		s.pos++
		s.space()
	}
	if s.next() != ']' {
		return s.unexpected("a comma or the end of the list")
	}
	s.path = s.path[:top]
	s.pos++
	s.out = append(s.out, ']')
	return nil
}

func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.in) {
		return s.fail("they end too early: " + want + " should follow")
	}
	return s.fail(want + " should stand here")
}
