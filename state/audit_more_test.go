package state

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// grants writes a decision that gives a grant.
func grants(t *testing.T, s *Store, id chat.ID, grant string) {
	t.Helper()
	ana := chat.User{Platform: "test", Key: "ana"}
	w := mustAppend(t, s, agent.Write{Chat: id, Events: []agent.Keyed{said("d" + grant)}})
	mustAppend(t, s, agent.Write{Chat: id, Known: w.Head, Events: []agent.Keyed{{Op: agent.OpID("g" + grant), Event: turn.Decided{
		Ask: "a", Choice: chat.AllowChat, By: ana, Grant: &permission.Grant{ID: permission.GrantID(grant), Chat: id, By: ana},
	}}}})
}

func TestGranting(t *testing.T) {
	homes(t, func(t *testing.T, s *Store) {
		if got, err := s.Granting(t.Context()); err != nil || len(got) != 0 {
			t.Fatalf("an empty store: %v, %v", got, err)
		}
		var want []string
		for i := range 300 {
			id := chat.ID{Platform: "web", Key: fmt.Sprint(i)}
			asks(t, s, id, 2, true)
			if i%3 == 0 {
				load := heads(t, s, id)
				for g := range 2 {
					load = mustAppend(t, s, agent.Write{Chat: id, Known: load, Events: []agent.Keyed{{Op: agent.OpID(fmt.Sprint("g", g)), Event: turn.Decided{
						Ask: "a", Choice: chat.AllowChat, Grant: &permission.Grant{ID: permission.GrantID(fmt.Sprint("g", g, "-", i))},
					}}}}).Head
				}
				want = append(want, id.String())
			}
		}
		gone := chat.ID{Platform: "web", Key: "gone"}
		grants(t, s, gone, "old")
		del(t, s, keysOf(gone).head, keysOf(gone).log)
		slices.Sort(want)
		got, err := s.Granting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, id := range got {
			names = append(names, id.String())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%d chats, want %d: %v", len(names), len(want), names)
		}
		if id, found, err := s.Find(t.Context(), turn.GrantIndex+"g1-3"); err != nil || !found || id.Key != "3" {
			t.Errorf("a grant is found in %v, %v, %v", id, found, err)
		}
	})
}

func heads(t *testing.T, s *Store, id chat.ID) agent.Head {
	t.Helper()
	_, _, head, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func TestGrantingTellsOfWhatItCannotRead(t *testing.T) {
	s, m := mini(t, Options{})
	grants(t, s, room, "g")
	m.HSet(asksKey(3), turn.GrantIndex+"x", "no chat")
	m.HSet(keysNamed("no chat").head, "seq", "1")
	if got, err := s.Granting(t.Context()); !errors.Is(err, ErrBroken) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	m.Del(asksKey(3))
	m.Set(asksKey(3), "another type") //nolint:errcheck // a test's server
	if _, err := s.Granting(t.Context()); err == nil {
		t.Error("no error")
	}
}

// A silent chat's log stays for the audit, long after the conversation is forgotten: 400 days where nothing is said.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		keep, want time.Duration
	}{{0, 400 * 24 * time.Hour}, {48 * time.Hour, 48 * time.Hour}, {-1, 0}} {
		s, m := mini(t, Options{Keep: c.keep})
		logged(t, s, room, 4)
		w := mustAppend(t, s, agent.Write{Claim: "me"})
		mustAppend(t, s, agent.Write{Known: heads(t, s, room), Lease: w.Lease, Release: true})
		k := keysOf(room)
		for _, key := range []string{k.head, k.log, k.snap} {
			if got := m.TTL(key); got != c.want || !m.Exists(key) {
				t.Errorf("keep %s: %s has %s", c.keep, key, got)
			}
		}
	}
}

// The embedded store keeps it over restarts, and drops it as a whole.
func TestKeepEmbedded(t *testing.T) {
	at, dir := noon, t.TempDir()
	opt := Options{now: func() time.Time { return at }}
	s := openEmbedded(t, dir, opt)
	logged(t, s, room, 4)
	w := mustAppend(t, s, agent.Write{Claim: "me"})
	mustAppend(t, s, agent.Write{Known: heads(t, s, room), Lease: w.Lease, Release: true})
	for _, c := range []struct {
		days int
		want uint64
	}{{31, 4}, {368, 4}, {1, 0}} {
		at = at.Add(time.Duration(c.days) * 24 * time.Hour)
		dir = killed(t, dir)
		s = openEmbedded(t, dir, opt)
		if head, err := s.Verify(t.Context(), room); err != nil || head.Seq != c.want {
			t.Errorf("%s later: %+v, %v", at.Sub(noon), head, err)
		}
	}
}

func TestOpenToRead(t *testing.T) {
	t.Parallel()
	url := startRedis(t)
	w := openStore(t, Options{URL: url})
	want := logged(t, w, room, 7)
	for name, c := range map[string]struct {
		dir string
		opt Options
	}{
		"Redis":    {"", Options{URL: url, Log: discard}},
		"embedded": {embeddedDir(t), Options{Log: discard}},
	} {
		t.Run(name, func(t *testing.T) {
			before := sums(t, c.dir)
			s, err := OpenToRead(t.Context(), c.dir, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if after := sums(t, c.dir); after != before {
					t.Errorf("reading changed the directory:\n%s\nto:\n%s", before, after)
				}
			}()
			if got, err := s.Verify(t.Context(), room); err != nil || got.Seq != want.Seq || got.Tip != want.Tip {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := s.Append(t.Context(), agent.Write{Chat: room, Events: []agent.Keyed{said("x")}}); !errors.Is(err, ErrReadOnly) {
				t.Errorf("it was written: %v", err)
			}
			if err := s.KeepSession(t.Context(), "h", nil); !errors.Is(err, ErrReadOnly) {
				t.Errorf("it was written: %v", err)
			}
		})
	}
}

// embeddedDir is what a bot left that was killed: a journal, and leases that nobody gave back.
func embeddedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := openEmbedded(t, dir, Options{})
	logged(t, s, room, 7)
	mustAppend(t, s, agent.Write{Claim: "me"})
	return killed(t, dir)
}

func TestOpenToReadRefuses(t *testing.T) {
	t.Parallel()
	running, empty := t.TempDir(), t.TempDir()
	openEmbedded(t, running, Options{})
	for name, c := range map[string]struct {
		dir  string
		opt  Options
		want string
	}{
		"nothing was kept":      {empty, Options{}, "no nod has kept anything here"},
		"there is no directory": {filepath.Join(empty, "none"), Options{}, "no nod has kept anything here"},
		"no server":             {"", Options{URL: "redis://u:s3cret@127.0.0.1:1"}, "does not answer"},
		"no URL":                {"", Options{URL: "http://u:s3cret@h"}, "redis.url"},
		"a wrong option":        {running, Options{Lease: -1}, "lease"},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.Log = discard
			s, err := OpenToRead(t.Context(), c.dir, c.opt)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, %v, want %q", s, err, c.want)
			}
		})
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("looking made %v, %v", left, err)
	}
	damaged := embeddedDir(t)
	if err := os.Remove(onlySnapshot(t, damaged)); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenToRead(t.Context(), damaged, Options{Log: discard}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("%v, %v", s, err)
	}
}

func onlySnapshot(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "snapshot.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("snapshots: %v, %v", found, err)
	}
	return found[0]
}

// sums names every file below dir with what is in it.
func sums(t *testing.T, dir string) string {
	t.Helper()
	if dir == "" {
		return ""
	}
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a test's own directory
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is written while a log is read is not waited for, and is nothing that is wrong with it.
func TestWalkBesideAWriter(t *testing.T) {
	s, _ := mini(t, Options{})
	want := logged(t, s, room, historyPage+2)
	n := 0
	got, err := s.Walk(t.Context(), room, func(turn.Entry, agent.Head) error {
		if n++; n == 1 {
			mustAppend(t, s, agent.Write{Events: []agent.Keyed{said("meanwhile")}})
		}
		return nil
	})
	if err != nil || got != want || n != historyPage+2 {
		t.Errorf("%d entries, %+v, %v", n, got, err)
	}
	stop := errors.New("enough")
	if got, err := s.Walk(t.Context(), room, func(turn.Entry, agent.Head) error { return stop }); !errors.Is(err, stop) || got.Seq != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
