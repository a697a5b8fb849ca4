// Package packed writes the events of a log in fewer bytes. Most of an event's JSON are names and sentences of ours, and much of the rest
// stands beside it: in its entry's operation, or in the name of its chat.
//
// A packed event is {"":"…"}: JSON, and of no kind, so that a release which cannot unpack it says that a newer one wrote it. In the string
// stand, in any order:
//
//	0x20 to 0x7F, but no quote and no backslash: itself
//	0x80 to 0xF9: a word, by its line in words.txt
//	0xFA and 15 bytes: an identifier, 20 digits of 5 bits
//	0xFB and 37 bytes: a digest, 64 digits of 4 bits
//	0xFC and a byte: one of the words after those
//	0xFD, two bytes, a byte: from where, and for how long, what stands beside or was unpacked before is repeated
//	0xFF … 0xFF: itself, where it is not all ASCII
//
// What follows 0xFA to 0xFD has the high bit set and carries 7 bits a byte. All this lies in people's Redis, so it never changes, and neither
// do the words: others would be another form, which begins otherwise.
package packed

import (
	_ "embed"
	"errors"
	"slices"
	"strings"
)

const (
	first, last = `{"":"`, `"}`

	high     = 0x80
	further  = 0xfc
	repeated = 0xfd
	foreign  = 0xff
	near     = 0xfa - high // how many words take one byte

	shortest = 6                   // what is worth repeating
	longest  = shortest + high - 1 // what one repeat can be
	most     = 4 << 10             // what is longer are words of people, models and tools: it stays as it is, and costs nothing
)

// random is what nothing shortens but fewer bits for a digit.
type random struct {
	code   byte
	n      int
	bits   int
	digits string
}

var randoms = [...]random{{0xfa, 20, 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"}, {0xfb, 64, 4, "0123456789abcdef"}}

var errForm = errors.New("packed event: not readable")

//go:embed words.txt
var text string

var words = strings.Split(strings.TrimSuffix(text, "\n"), "\n")

// starting are the words that start with the same two bytes, the longest first; startOf says where they are by these bytes, of 7 bits each.
var (
	starting = [][]int{nil}
	startOf  = func() (of [high * high]byte) {
		for i, w := range words {
			p := pair(w)
			if of[p] == 0 {
				of[p] = byte(len(starting))
				starting = append(starting, nil)
			}
			starting[of[p]] = append(starting[of[p]], i)
		}
		for _, same := range starting {
			slices.SortFunc(same, func(a, b int) int { return len(words[b]) - len(words[a]) })
		}
		return of
	}()
)

// pair are the two bytes that s starts with; 0 is the second one where there is none, or it is not ASCII.
func pair(s string) int {
	if len(s) == 1 || s[1] >= high {
		return int(s[0]) << 7
	}
	return int(s[0])<<7 | int(s[1])
}

// Pack gives an event in fewer bytes, or as it is. Unpack has to know what stands beside it.
func Pack(beside string, event []byte) []byte {
	if len(event) > most {
		return event
	}
	whole, out := beside+string(event), []byte(first)
	for i, n := len(beside), 0; i < len(whole); i += n {
		out, n = pack(out, whole, i)
	}
	out = append(out, last...)
	// What comes back as another has a byte 0xFF, which no UTF-8 has.
	if back, err := Unpack(beside, out); err != nil || len(out) >= len(event) || string(back) != string(event) {
		return event
	}
	return out
}

// pack packs what stands at i, and gives how much that was.
func pack(out []byte, whole string, i int) ([]byte, int) {
	left := whole[i:]
	word, n := wordOf(left)
	if n < shortest && (i == 0 || !isWord(whole[i-1])) { // within a word it would cost more than it finds
		if at, n := before(whole, i); n > 0 {
			return append(out, repeated, high|byte(at>>7), high|byte(at), high|byte(n-shortest)), n
		}
		for _, r := range randoms {
			if r.starts(left) {
				return r.pack(out, left[:r.n]), r.n
			}
		}
	}
	switch {
	case n > 0 && word < near:
		return append(out, high|byte(word)), n
	case n > 0:
		return append(out, further, high|byte(word-near)), n
	case left[0] < high:
		return append(out, left[0]), 1
	}
	if n = strings.IndexAny(left, `"\`); n < 0 {
		n = len(left)
	}
	return append(append(append(out, foreign), left[:n]...), foreign), n
}

// wordOf is the longest word that s starts with, and its length; 0 where there is none.
func wordOf(s string) (word, n int) {
	if s[0] >= high {
		return 0, 0
	}
	for _, p := range [2]int{pair(s), pair(s[:1])} {
		for _, w := range starting[startOf[p]] {
			if strings.HasPrefix(s, words[w]) {
				return w, len(words[w])
			}
		}
	}
	return 0, 0
}

func isWord(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// before finds what stands at i further ahead, and for how long; 0 where it does not.
func before(whole string, i int) (at, n int) {
	if len(whole)-i < shortest {
		return 0, 0
	}
	if at = strings.Index(whole[:i], whole[i:i+shortest]); at < 0 {
		return 0, 0
	}
	for n = shortest; n < longest && at+n < i && i+n < len(whole) && whole[at+n] == whole[i+n]; {
		n++
	}
	return at, n
}

// starts reports whether s starts with as many digits.
func (r random) starts(s string) bool {
	n := 0
	for n < min(r.n, len(s)) && strings.IndexByte(r.digits, s[n]) >= 0 {
		n++
	}
	return n == r.n
}

func (r random) pack(out []byte, s string) []byte {
	out = append(out, r.code)
	bits, n := 0, 0
	for i := range len(s) {
		bits, n = bits<<r.bits|strings.IndexByte(r.digits, s[i]), n+r.bits
		if n >= 7 {
			n -= 7
			out = append(out, high|byte(bits>>n))
		}
	}
	if n > 0 {
		out = append(out, high|byte(bits<<(7-n)))
	}
	return out
}

// Unpack gives the event that Pack was given. What is not packed stays as it is.
func Unpack(beside string, stored []byte) ([]byte, error) {
	b, ok := strings.CutPrefix(string(stored), first)
	if !ok {
		return stored, nil
	}
	b, ok = strings.CutSuffix(b, last)
	r := reader{b, !ok}
	whole := append(make([]byte, 0, len(beside)+4*len(b)), beside...)
	for len(r.left) > 0 && !r.broken {
		whole = r.unpack(whole)
	}
	if r.broken {
		return nil, errForm
	}
	return whole[len(beside):], nil
}

type reader struct {
	left   string
	broken bool
}

// unpack unpacks what is next.
func (r *reader) unpack(whole []byte) []byte {
	c := r.left[0]
	r.left = r.left[1:]
	switch {
	case c < high:
		return append(whole, c)
	case c < high+near:
		return append(whole, words[c-high]...)
	case c == further:
		return append(whole, words[near+r.number(1)]...)
	case c == repeated:
		at, n := r.number(2), shortest+r.number(1)
		if at+n > len(whole) {
			r.broken = true
			return whole
		}
		return append(whole, whole[at:at+n]...)
	case c == foreign:
		text, left, ok := strings.Cut(r.left, "\xff")
		r.left, r.broken = left, !ok
		return append(whole, text...)
	}
	for _, x := range randoms {
		if x.code == c {
			return r.random(x, whole)
		}
	}
	r.broken = true
	return whole
}

func (r *reader) random(x random, whole []byte) []byte {
	bits, n := 0, 0
	for range x.n {
		if n < x.bits {
			bits, n = bits<<7|r.number(1), n+7
		}
		n -= x.bits
		whole = append(whole, x.digits[bits>>n&(1<<x.bits-1)])
	}
	return whole
}

// number reads so many bytes; 0 where there are fewer.
func (r *reader) number(bytes int) (n int) {
	if len(r.left) < bytes {
		r.broken = true
		return 0
	}
	for i := range bytes {
		n = n<<7 | int(r.left[i]&^high)
	}
	r.left = r.left[bytes:]
	return n
}
