package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state/packed"
)

// The stored form of an entry is "seq stamp op link\n" and the event's bytes, packed where that is shorter. Stamp is Unix time in ms. Link is
// "-", or the roll over all entries before this one as the writer computed it; "." and the entry's code follow where there is an audit key.

// row is one stored entry taken apart.
type row struct {
	seq   uint64
	stamp int64
	op    string // as stored
	link  string // as stored, without the code
	code  string // as stored, "" without
	event []byte
}

func parseRow(b []byte) (row, error) {
	line, event, ok := bytes.Cut(b, []byte{'\n'})
	f := strings.Split(string(line), " ")
	if !ok || len(f) != 4 {
		return row{}, errors.New("it has no readable first line")
	}
	seq, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return row{}, errors.New("its number is not readable")
	}
	stamp, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return row{}, errors.New("its stamp is not readable")
	}
	link, code, _ := strings.Cut(f[3], ".")
	return row{seq, stamp, f[2], link, code, event}, nil
}

func (r row) bytes() []byte {
	b := make([]byte, 0, len(r.event)+len(r.op)+len(r.link)+len(r.code)+40)
	b = fmt.Appendf(b, "%d %d %s %s\n", r.seq, r.stamp, r.op, r.signedLink())
	return append(b, r.event...)
}

// signedLink is the link as stored, with the code behind it.
func (r row) signedLink() string {
	if r.code == "" {
		return r.link
	}
	return r.link + "." + r.code
}

// chain walks a log from a known head and checks every entry against it.
type chain struct {
	chat    chat.ID
	head    agent.Head
	prev    [sha256.Size]byte
	chained bool // prev is known: from the first entry, or from a head that carried its roll
}

// chainFrom starts behind a head. Without a roll the links cannot be checked, and no roll comes out.
func chainFrom(id chat.ID, h agent.Head) chain {
	c := chain{chat: id, head: h, chained: h.Seq == 0}
	if h.Seq > 0 {
		if b, err := hex.DecodeString(h.Roll); err == nil && len(b) == sha256.Size {
			c.prev, c.chained = [sha256.Size]byte(b), true
		}
	}
	return c
}

// next takes the next stored entry. The first one's previous roll is 32 zero bytes.
func (c *chain) next(stored []byte) (row, error) {
	place := c.head.Seq + 1
	r, err := parseRow(stored)
	if err != nil {
		return row{}, c.broken(place, err.Error())
	}
	if r.seq != place {
		return row{}, c.broken(place, fmt.Sprintf("in its place is entry %d", r.seq))
	}
	if c.chained && r.link != "-" && r.link != link(c.prev) {
		return row{}, c.broken(place, "the entries before it are not those that its writer saw")
	}
	if c.chained {
		h := sha256.New()
		h.Write(c.prev[:])
		h.Write(stored)
		h.Sum(c.prev[:0])
		c.head.Roll = hex.EncodeToString(c.prev[:])
	}
	c.head.Seq, c.head.Tip = r.seq, agent.OpID(unescape(r.op))
	return r, nil
}

// each takes several stored entries and gives each, its event decoded, until take fails.
func (c *chain) each(stored []string, take func(row, turn.Entry) error) error {
	for _, s := range stored {
		r, err := c.next([]byte(s))
		if err != nil {
			return err
		}
		b, err := packed.Unpack(beside(c.chat, r.op), r.event)
		var ev turn.Event
		if err == nil {
			ev, err = turn.Decode(b)
		}
		if err != nil {
			return fmt.Errorf("chat %s: entry %d: %w: %w", c.chat, r.seq, unreadable(err), err)
		}
		if err := take(r, r.with(ev)); err != nil {
			return err
		}
	}
	return nil
}

// entries takes several stored entries.
func (c *chain) entries(stored []string) (out []turn.Entry, err error) {
	err = c.each(stored, func(_ row, e turn.Entry) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// beside is what stands beside an event, so that a packed one does not repeat it.
func beside(id chat.ID, op string) string { return op + " " + id.String() }

func (c *chain) broken(seq uint64, why string) error {
	return fmt.Errorf("chat %s: entry %d: %w: %s", c.chat, seq, ErrBroken, why)
}

func (r row) with(ev turn.Event) turn.Entry {
	return turn.Entry{Seq: r.seq, Op: unescape(r.op), At: time.UnixMilli(r.stamp).UTC(), Event: ev}
}

// link is the stored form of a roll: the same 32 bytes in fewer characters.
func link(roll [sha256.Size]byte) string { return base64.RawURLEncoding.EncodeToString(roll[:]) }

// linkOf is link for a head's roll, "-" when there is none.
func linkOf(h agent.Head) string {
	b, err := hex.DecodeString(h.Roll)
	if err != nil || len(b) != sha256.Size {
		return "-"
	}
	return link([sha256.Size]byte(b))
}

// rollOf is the inverse of linkOf.
func rollOf(link string) string {
	b, err := base64.RawURLEncoding.DecodeString(link)
	if err != nil || len(b) != sha256.Size {
		return ""
	}
	return hex.EncodeToString(b)
}

// escape makes an op fit into the first line. Nearly all do as they are.
func escape(op string) string {
	var b strings.Builder
	for i := range len(op) {
		if c := op[i]; c <= ' ' || c == '%' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape. What escape did not write stays as it is.
func unescape(s string) string {
	if op, err := url.PathUnescape(s); err == nil {
		return op
	}
	return s
}
