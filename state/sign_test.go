package state

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// told writes a turn that somebody decided, and gives the chat back.
func told(t *testing.T, s *Store) {
	t.Helper()
	w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}})
	l := w.Lease
	w = mustAppend(t, s, agent.Write{Known: w.Head, Lease: l, Events: []agent.Keyed{
		{Op: "w:1", Event: turn.Replied{Turn: "t1"}}, {Op: "w:1#1", Event: turn.Ruled{Call: "c", Ask: "a"}},
	}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{{Op: "in:1", Event: turn.Decided{Ask: "a", By: chat.User{Platform: "test", Key: "ana"}}}}})
	w = mustAppend(t, s, agent.Write{Known: w.Head, Events: []agent.Keyed{said("d2")}})
	mustAppend(t, s, agent.Write{Known: w.Head, Lease: l, Release: true})
}

// Whoever can write to Redis, and has no key, changes nothing of a log that verify does not find: not with blanked links, not at the end.
func TestWhatIsNotOursIsFound(t *testing.T) {
	k := keysOf(room)
	set := func(m *miniredis.Miniredis, entries []string) {
		m.Del(k.log)
		_, _ = m.Push(k.log, entries...)
		r, _ := parseRow([]byte(entries[len(entries)-1]))
		m.HSet(k.head, "seq", utoa(r.seq), "tip", r.op, "stamp", strconv.FormatInt(r.stamp, 10))
	}
	blank := func(e string) string {
		r, _ := parseRow([]byte(e))
		r.link, r.code = "-", ""
		return string(r.bytes())
	}
	key := AuditKey{Secret: strings.Repeat("k", 32), Since: time.Now()}
	for name, c := range map[string]struct {
		change func(m *miniredis.Miniredis, entries []string)
		bare   bool // is found without the key, too
		at     string
	}{
		"as it was": {func(*miniredis.Miniredis, []string) {}, false, ""},
		"every link is blank": {func(m *miniredis.Miniredis, e []string) {
			for i := range e {
				e[i] = strings.ReplaceAll(blank(e[i]), "ana", "ben")
			}
			set(m, e)
		}, true, "entry 2"},
		"the links are blank from there on": {func(m *miniredis.Miniredis, e []string) {
			for i := 3; i < len(e); i++ {
				e[i] = strings.ReplaceAll(blank(e[i]), "ana", "ben")
			}
			set(m, e)
		}, true, "entry 4"},
		"a person's words at the end are others": {func(m *miniredis.Miniredis, e []string) {
			e[4] = strings.ReplaceAll(e[4], "hello", "hullo")
			set(m, e)
		}, false, "entry 5"},
		"an entry is added": {func(m *miniredis.Miniredis, e []string) {
			set(m, append(e, "6 "+strings.Fields(e[4])[1]+" d9 -\n"+strings.SplitN(e[4], "\n", 2)[1]))
		}, false, "entry 6"},
		"an entry is added with a made-up signature": {func(m *miniredis.Miniredis, e []string) {
			set(m, append(e, "6 "+strings.Fields(e[4])[1]+" d9 -.AAAAAAAAAAAAAAAAAAAAAAAA\n"+strings.SplitN(e[4], "\n", 2)[1]))
		}, false, "entry 6"},
		"the end is cut off and the head is set": {func(m *miniredis.Miniredis, e []string) { set(m, e[:3]) }, false, "entry 3"},
		"and the head's signature is taken away": {func(m *miniredis.Miniredis, e []string) {
			set(m, e[:3])
			m.HDel(k.head, "sealed")
		}, false, "entry 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := mini(t, Options{Audit: key})
			told(t, s)
			entries, err := m.List(k.log)
			if err != nil || len(entries) != 5 {
				t.Fatal(entries, err)
			}
			c.change(m, slices.Clone(entries))
			for with, o := range map[string]Options{"the key": {Audit: key}, "no key": {}} {
				o.URL = "redis://" + m.Addr()
				_, err := openStore(t, o).Verify(t.Context(), room)
				if c.at == "" || with == "no key" && !c.bare {
					if err != nil {
						t.Errorf("with %s: %v", with, err)
					}
				} else if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), c.at+":") {
					t.Errorf("with %s: %v, want it to be broken at %s", with, err, c.at)
				}
			}
		})
	}
}

// What a head is signed with is only ever about a later place, and is not there where nothing is signed.
func TestAHeadsSealDoesNotGoBack(t *testing.T) {
	s, m := mini(t, Options{Audit: AuditKey{Secret: "k"}})
	first := mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("d0")}})
	second := mustAppend(t, s, agent.Write{Known: first.Head, Events: []agent.Keyed{said("d1")}})
	mustAppend(t, s, agent.Write{Known: second.Head, Events: []agent.Keyed{said("d2")}})
	was := m.HGet(keysOf(room).head, "sealed")
	mustAppend(t, s, agent.Write{Known: first.Head, Events: []agent.Keyed{said("d3")}})
	if now := m.HGet(keysOf(room).head, "sealed"); now != was || !strings.HasPrefix(now, "2.") {
		t.Errorf("sealed with %q, then %q", was, now)
	}
	plain, n := mini(t, Options{})
	told(t, plain)
	if fields, _ := n.HKeys(keysOf(room).head); slices.Contains(fields, "sealed") {
		t.Errorf("without a key: %v", fields)
	}
}

// A log from before there was a key holds; one that is not signed, and should be, does not, nor does one that another key signed.
func TestSignedSince(t *testing.T) {
	secret := strings.Repeat("k", 32)
	for name, c := range map[string]struct {
		wrote AuditKey
		check AuditKey
		holds bool
	}{
		"from before the key": {AuditKey{}, AuditKey{secret, time.Now().Add(time.Hour)}, true},
		"nobody knows when":   {AuditKey{}, AuditKey{Secret: secret}, true},
		"it should be signed": {AuditKey{}, AuditKey{secret, time.Now().Add(-2 * upgrading)}, false},
		"signed":              {AuditKey{Secret: secret}, AuditKey{secret, time.Now().Add(-2 * upgrading)}, true},
		"by another key":      {AuditKey{Secret: "another"}, AuditKey{Secret: secret}, false},
	} {
		s, m := mini(t, Options{Audit: c.wrote})
		told(t, s)
		v := openStore(t, Options{URL: "redis://" + m.Addr(), Audit: c.check})
		if _, err := v.Verify(t.Context(), room); (err == nil) != c.holds {
			t.Errorf("%s: %v", name, err)
		}
	}
}
