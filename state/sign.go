package state

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// AuditKey signs what is written, and checks it. Redis never holds it: whoever can write to Redis cannot make an entry that verify
// takes for one of ours. Without a Secret nothing is signed.
type AuditKey struct {
	Secret string
	Since  time.Time // when it was made: what was written a day later, or more, is signed. Zero: not known
}

// upgrading is how long after the key was made a replica of a build that does not sign may still have written.
const upgrading = 24 * time.Hour

// Every entry carries a code over its chat, its link, its operation and its event; what it cannot cover, its place and its stamp, is in
// the roll that the next link holds. The chat's head carries one over place and roll, moved by every exact write and whenever the chat
// is given back: the end of a log cannot be cut off where nobody kept the head's earlier code.

func (k AuditKey) code(parts ...string) string {
	if k.Secret == "" {
		return ""
	}
	m := hmac.New(sha256.New, []byte(k.Secret))
	for _, p := range parts {
		_, _ = fmt.Fprintf(m, "%d:%s", len(p), p)
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:18])
}

// sign is the code of an entry.
func (k AuditKey) sign(id chat.ID, r row) string {
	return k.code("entry", id.String(), r.link, r.op, string(r.event))
}

// sealHead is what a head carries: its place and its code. Empty where there is nothing to sign with, or about.
func (k AuditKey) sealHead(id chat.ID, h agent.Head) string {
	if h.Seq == 0 || linkOf(h) == "-" || k.Secret == "" {
		return ""
	}
	return utoa(h.Seq) + "." + k.code("head", id.String(), utoa(h.Seq), linkOf(h))
}

// seals follows a log that is verified.
type seals struct {
	key    AuditKey
	chat   chat.ID
	head   string // what the chat's head carries
	at     uint64 // the place that it names
	signed bool   // an entry before was
	exact  bool   // an entry that follows on what its writer had read was
	last   string // the operation of the entry before
}

func (k AuditKey) follow(id chat.ID, head string) seals {
	place, _, _ := strings.Cut(head, ".")
	at, _ := strconv.ParseUint(place, 10, 64)
	return seals{key: k, chat: id, head: head, at: at}
}

// next says what is wrong with an entry, or nothing. h is the head after it.
func (s *seals) next(r row, ev turn.Event, h agent.Head) string {
	before := s.last
	s.last = r.op
	if r.link == "-" && r.seq > 1 && turn.ClassOf(ev) >= turn.Choice && writeOf(r.op) != writeOf(before) {
		return "it does not say what it follows on, which its kind always does"
	}
	if s.key.Secret == "" {
		return ""
	}
	switch {
	case r.code == "" && s.signed:
		return "it is not signed, and what stands before it is"
	case r.code == "" && !s.key.Since.IsZero() && time.UnixMilli(r.stamp).After(s.key.Since.Add(upgrading)):
		return "it is not signed, and everything is since " + s.key.Since.Format(time.RFC3339)
	case r.code != "" && s.key.sign(s.chat, r) != r.code:
		return "its signature is not of this audit key: it was changed, or added by somebody else"
	case h.Seq == s.at && s.key.sealHead(s.chat, h) != s.head:
		return "the chat's head was signed over another log"
	}
	s.signed = s.signed || r.code != ""
	s.exact = s.exact || r.code != "" && r.link != "-"
	return ""
}

// end says what is wrong with where the log ends.
func (s *seals) end(h agent.Head) string {
	switch {
	case s.key.Secret == "":
	case s.at > h.Seq:
		return fmt.Sprintf("the log was signed up to entry %d, and ends before it", s.at)
	case s.exact && s.head == "":
		return "the chat's head is not signed, and its log is"
	}
	return ""
}

// writeOf is what the operations of one write have in common.
func writeOf(op string) string {
	if at := strings.LastIndexByte(op, '#'); at >= 0 {
		return op[:at]
	}
	return op
}
