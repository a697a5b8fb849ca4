package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// homes are all that a store may live on.
func homes(t *testing.T, test func(t *testing.T, s *Store)) {
	for name, open := range map[string]func(*testing.T) *Store{
		"Redis":    func(t *testing.T) *Store { return openStore(t, Options{URL: startRedis(t)}) },
		"mini":     func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s },
		"embedded": func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) },
		"Cluster":  func(t *testing.T) *Store { return openStore(t, Options{URL: cluster(t)}) },
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func mode(op string, rev int) agent.Keyed {
	return agent.Keyed{Op: agent.OpID(op), Event: turn.ModeSet{Mode: permission.ModeAlways, Rev: rev, By: chat.User{Platform: "test", Key: "ana"}}}
}

// logged writes n entries in turn: what somebody says, and a choice that is chained to it. A snapshot lies in the middle.
func logged(t *testing.T, s *Store, id chat.ID, n int) agent.Head {
	t.Helper()
	var head agent.Head
	fold := turn.New(id)
	for i := range n {
		e := said(fmt.Sprint("s", i))
		if i%2 == 1 {
			e = mode(fmt.Sprint("m", i), i/2+1)
		}
		w := agent.Write{Chat: id, Known: head, Events: []agent.Keyed{e}}
		if i == n/2 && i > 0 {
			w.Snapshot = &agent.Snapshot{Head: head, Session: fold}
		}
		got := mustAppend(t, s, w)
		fold, head = turn.Fold(fold, got.Entries), got.Head
	}
	if head.Seq != uint64(n) || head.Roll == "" { //nolint:gosec // a test's small number
		t.Fatalf("%+v", head)
	}
	return head
}

func TestEachChat(t *testing.T) {
	homes(t, func(t *testing.T, s *Store) {
		var want []string
		for i := range 150 {
			id := chat.ID{Platform: "slack", Workspace: "T:1", Key: fmt.Sprintf("C1/17%d.%%{b00}:log:", i)}
			mustAppend(t, s, agent.Write{Chat: id, Events: []agent.Keyed{said("d")}})
			want = append(want, id.String())
		}
		lost := chat.ID{Platform: "web", Key: "headless"} // somebody dropped its head: its log is still something to look at
		mustAppend(t, s, agent.Write{Chat: lost, Events: []agent.Keyed{said("d")}})
		if err := s.rdb.Del(t.Context(), keysOf(lost).head).Err(); err != nil {
			t.Fatal(err)
		}
		want = append(want, lost.String())
		slices.Sort(want)
		if _, err := s.Spend(t.Context(), Spend{Pool: "p", Limit: 1, Per: time.Second}); err != nil { // what is no chat's is left out
			t.Fatal(err)
		}
		astray := strings.Replace(keysNamed("web::astray").log, keysNamed("web::astray").tag, tag(63), 1) // nobody would look for it there
		if err := s.rdb.RPush(t.Context(), astray, "x").Err(); err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := s.EachChat(t.Context(), func(id chat.ID) error { got = append(got, id.String()); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d chats, want %d", len(got), len(want))
		}
		stop, n := errors.New("enough"), 0
		if err := s.EachChat(t.Context(), func(chat.ID) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.EachChat(gone, func(chat.ID) error { return nil }); err == nil {
			t.Error("a walk that was called off says that it saw all")
		}
	})
}

// One unreadable name hides no chat.
func TestEachChatTellsOfWhatItCannotRead(t *testing.T) {
	s, m := mini(t, Options{})
	logged(t, s, room, 2)
	m.HSet(keysNamed("no chat").head, "seq", "1")
	n := 0
	err := s.EachChat(t.Context(), func(chat.ID) error { n++; return nil })
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "no chat") || n != 1 {
		t.Errorf("%d chats, %v", n, err)
	}
	if all, err := s.Stands(t.Context()); !errors.Is(err, ErrBroken) || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestStands(t *testing.T) {
	t.Parallel()
	at := noon
	s := openEmbedded(t, t.TempDir(), Options{now: func() time.Time { return at }})
	for i := range 300 {
		at = at.Add(time.Second)
		logged(t, s, chat.ID{Platform: "web", Key: fmt.Sprint(i)}, 1+i%3)
	}
	all, err := s.Stands(t.Context())
	if err != nil || len(all) != 300 {
		t.Fatalf("%d, %v", len(all), err)
	}
	for i, x := range all {
		n := 299 - i
		if x.Chat.Key != fmt.Sprint(n) || x.Seq != uint64(1+n%3) || !x.At.Equal(noon.Add(time.Duration(n+1)*time.Second)) { //nolint:gosec // a test's small number
			t.Fatalf("place %d: %+v", i, x)
		}
	}
}

// A log that is as it was written verifies, whatever its length, and gives the head that its writers saw.
func TestVerify(t *testing.T) {
	homes(t, func(t *testing.T, s *Store) {
		for i, n := range []int{1, 7, historyPage, historyPage + 1} {
			id := chat.ID{Platform: "web", Key: fmt.Sprint(i)}
			want := logged(t, s, id, n)
			if got, err := s.Verify(t.Context(), id); err != nil || got != want {
				t.Errorf("%d entries: %+v, %v, want %+v", n, got, err, want)
			}
		}
		if got, err := s.Verify(t.Context(), chat.ID{Platform: "web", Key: "none"}); err != nil || got != (agent.Head{}) {
			t.Errorf("nothing: %+v, %v", got, err)
		}
	})
}

// tamperings are what somebody with the store's password can do, with what must be said of it. Each works on a log of seven.
var tamperings = map[string]struct {
	do   func(t *testing.T, s *Store, k chatKeys)
	want string
}{
	"a byte is changed":                     {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 4, "hello", "jello") }, "entry 6: "},
	"a byte is changed before the snapshot": {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 2, "hello", "jello") }, "entry 3: "},
	"a byte is changed, and the snapshot dropped": {func(t *testing.T, s *Store, k chatKeys) {
		rewrite(t, s, k, 2, "hello", "jello")
		del(t, s, k.snap)
	}, "entry 4: "},
	"a stamp is changed": {func(t *testing.T, s *Store, k chatKeys) { restamp(t, s, k, 1, +1) }, "entry 2: "},
	"an entry is dropped": {func(t *testing.T, s *Store, k chatKeys) {
		relist(t, s, k, func(l []string) []string { return slices.Delete(l, 2, 3) })
	}, "entry 3: "},
	"two are swapped": {func(t *testing.T, s *Store, k chatKeys) {
		relist(t, s, k, func(l []string) []string { l[1], l[2] = l[2], l[1]; return l })
	}, "entry 2: "},
	"the first ones are missing": {func(t *testing.T, s *Store, k chatKeys) { relist(t, s, k, func(l []string) []string { return l[2:] }) }, "entry 1: "},
	"the last one is missing":    {func(t *testing.T, s *Store, k chatKeys) { relist(t, s, k, func(l []string) []string { return l[:6] }) }, "entry 7: "},
	"one is added": {func(t *testing.T, s *Store, k chatKeys) {
		relist(t, s, k, func(l []string) []string { return append(l, "8 99999999999999 x -\n"+`{"v":1,"k":"removed","e":{}}`) })
	}, "entry 8: "},
	"one is added, and the head says so": {func(t *testing.T, s *Store, k chatKeys) {
		relist(t, s, k, func(l []string) []string { return append(l, "8 1 x -\n"+`{"v":1,"k":"removed","e":{}}`) })
		hset(t, s, k, "seq", 8, "tip", "x", "stamp", 1)
	}, "entry 8: "}, // older than what is before it
	"the log is gone":         {func(t *testing.T, s *Store, k chatKeys) { del(t, s, k.log) }, "entry 1: "},
	"the head is gone":        {func(t *testing.T, s *Store, k chatKeys) { del(t, s, k.head) }, "entry 1: "},
	"the head is behind":      {func(t *testing.T, s *Store, k chatKeys) { hset(t, s, k, "seq", 6) }, "entry 7: "},
	"the head is ahead":       {func(t *testing.T, s *Store, k chatKeys) { hset(t, s, k, "seq", 9) }, "entry 8: "},
	"the head names another":  {func(t *testing.T, s *Store, k chatKeys) { hset(t, s, k, "tip", "m1") }, "entry 7: "},
	"the head's time differs": {func(t *testing.T, s *Store, k chatKeys) { hset(t, s, k, "stamp", 1) }, "entry 7: "},
	"an event is garbage":     {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 6, `{"":`, `["":`) }, "entry 7: "},
	"an event is not packed":  {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 6, `{"":"`, "{\"\":\"\xfd") }, "entry 7: "},
	"an entry is garbage": {func(t *testing.T, s *Store, k chatKeys) {
		relist(t, s, k, func(l []string) []string { l[3] = "x"; return l })
	}, "entry 4: "},
	"the snapshot has a grant": {func(t *testing.T, s *Store, k chatKeys) {
		resnap(t, s, k, `"people":`, `"grants":[{"id":"g","chat":{"p":"web","k":"t"},"tool":{"server":"files","name":"write"},"by":"web::eve","at":"2026-11-21T14:00:00Z"}],"people":`)
	}, "entry 3: "},
	"the snapshot has another mode": {func(t *testing.T, s *Store, k chatKeys) { resnap(t, s, k, `"mode":"always"`, `"mode":"never"`) }, "entry 3: "},
	"the snapshot has settings": {func(t *testing.T, s *Store, k chatKeys) {
		resnap(t, s, k, `"people":`, `"settings":{"set":[{"field":"mode","value":"never","at":"2026-11-21T14:00:00Z"}],"rev":1},"people":`)
	}, "entry 3: "},
	"the snapshot has a call that is allowed": {func(t *testing.T, s *Store, k chatKeys) {
		resnap(t, s, k, `"step":0`, `"step":0,"calls":[{"id":"c","tool":{"server":"files","name":"write"},"status":"allowed"}]`)
	}, "entry 3: "},
	"the snapshot is of another history": {func(t *testing.T, s *Store, k chatKeys) { resnap(t, s, k, "3 3 ", "3 2 ") }, "entry 2: "},
	"the snapshot names another entry":   {func(t *testing.T, s *Store, k chatKeys) { resnap(t, s, k, " s2\n", " s1\n") }, "entry 3: "},
	"the snapshot is ahead of the log":   {func(t *testing.T, s *Store, k chatKeys) { resnap(t, s, k, "3 3 ", "9 9 ") }, "entry 8: "},
	"the snapshot is garbage":            {func(t *testing.T, s *Store, k chatKeys) { resnap(t, s, k, "{", "[") }, "snapshot: "},
}

func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	stores := map[string]*Store{"embedded": openEmbedded(t, t.TempDir(), Options{}), "Redis": openStore(t, Options{URL: startRedis(t)})}
	stores["mini"], _ = mini(t, Options{})
	n := 0
	for name, c := range tamperings {
		n++
		for home, s := range stores {
			t.Run(home+"/"+name, func(t *testing.T) {
				id := chat.ID{Platform: "web", Key: fmt.Sprint("t", n)}
				logged(t, s, id, 7)
				if _, err := s.Verify(t.Context(), id); err != nil {
					t.Fatal("before: ", err)
				}
				c.do(t, s, keysOf(id))
				_, err := s.Verify(t.Context(), id)
				if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), id.String()) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want ErrBroken with %q", err, c.want)
				}
			})
		}
	}
}

// What the log alone cannot show, an anchor does.
func TestVerifyAnchored(t *testing.T) {
	t.Parallel()
	now := noon.Add(time.Hour)
	forged := func(t *testing.T, s *Store, k chatKeys) { // the whole log anew, with a chain that agrees with itself
		id := chat.ID{Platform: "web", Key: "t"}
		del(t, s, k.head, k.log, k.snap)
		other := turn.Said{Delivery: "x", By: chat.User{Platform: "test", Key: "eve"}, Text: "I never asked"}
		var head agent.Head
		for i := range 7 {
			head = mustAppend(t, s, agent.Write{Chat: id, Known: head, Events: []agent.Keyed{{Op: agent.OpID(fmt.Sprint("f", i)), Event: other}}}).Head
		}
	}
	for name, c := range map[string]struct {
		do              func(t *testing.T, s *Store, k chatKeys)
		alone, anchored string
	}{
		"nothing":                           {func(*testing.T, *Store, chatKeys) {}, "", ""},
		"the end is cut off, with its head": {func(t *testing.T, s *Store, k chatKeys) { cutTo(t, s, k, 6) }, "", "entry 7: "},
		"rolled back to before the anchors": {func(t *testing.T, s *Store, k chatKeys) { cutTo(t, s, k, 2) }, "", "entry 3: "},
		"the last entry is changed":         {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 6, "hello", "jello") }, "", "entry 7: "},
		"written anew":                      {forged, "", "entry 3: "},
		"deleted":                           {func(t *testing.T, s *Store, k chatKeys) { del(t, s, k.head, k.log, k.snap) }, "", "entry 1: "},
		"a byte in the middle":              {func(t *testing.T, s *Store, k chatKeys) { rewrite(t, s, k, 4, "hello", "jello") }, "entry 6: ", "entry 6: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{URL: startRedis(t)})
			id := chat.ID{Platform: "web", Key: "t"}
			var anchors []Anchor
			head := agent.Head{}
			for i, e := range []agent.Keyed{said("s0"), mode("m1", 1), said("s2"), mode("m3", 2), said("s4"), mode("m5", 3), said("s6")} {
				head = mustAppend(t, s, agent.Write{Chat: id, Known: head, Events: []agent.Keyed{e}}).Head
				if i == 2 || i == 6 {
					a, err := s.Anchor(t.Context(), id, anchors, now)
					if err != nil || a.Seq != head.Seq || a.Roll != head.Roll || a.Chat != id.String() || !a.At.Equal(now) || a.Last.IsZero() {
						t.Fatalf("%+v, %v", a, err)
					}
					anchors = append(anchors, a)
				}
			}
			c.do(t, s, keysOf(id))
			_, alone := s.Verify(t.Context(), id)
			_, anchored := s.Verify(t.Context(), id, anchors...)
			for _, x := range []struct {
				err  error
				want string
			}{{alone, c.alone}, {anchored, c.anchored}} {
				if x.want == "" && x.err != nil || x.want != "" && (!errors.Is(x.err, ErrBroken) || !strings.Contains(x.err.Error(), x.want)) {
					t.Errorf("%v, want %q", x.err, x.want)
				}
			}
			head, err := s.Verify(t.Context(), id, append(anchors, Anchor{Chat: id.String(), Seq: 3, Roll: "other"})...)
			if err == nil || !strings.Contains(err.Error(), "the anchors differ") {
				t.Errorf("anchors that differ: %+v, %v", head, err)
			}
		})
	}
}

func TestReadAnchors(t *testing.T) {
	a, err := ReadAnchors(strings.NewReader("{\"chat\":\"web::c\",\"seq\":2,\"roll\":\"r\"}\n\n{\"chat\":\"web::d\",\"seq\":1,\"roll\":\"q\",\"more\":1}"))
	if err != nil || len(a) != 2 || a[0].Seq != 2 || a[1].Chat != "web::d" {
		t.Errorf("%+v, %v", a, err)
	}
	for _, bad := range []string{"x", `{"chat":"web::c","seq":2}`, `{"chat":"web::c","roll":"r"}`, `{"seq":2,"roll":"r"}`, `{"chat":"web::c","se`} {
		if _, err := ReadAnchors(strings.NewReader("\n" + bad + "\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	day := 24 * time.Hour
	old := Anchor{Last: noon}
	if old.Expired(0, noon.Add(399*day)) || !old.Expired(0, noon.Add(400*day)) || old.Expired(-1, noon.Add(9999*day)) || !old.Expired(day, noon.Add(day)) {
		t.Error("what may be gone by itself")
	}
}

func rewrite(t *testing.T, s *Store, k chatKeys, at int, old, other string) {
	t.Helper()
	relist(t, s, k, func(l []string) []string {
		changed := strings.Replace(l[at], old, other, 1)
		if changed == l[at] {
			t.Fatalf("no %q in %q", old, l[at])
		}
		l[at] = changed
		return l
	})
}

func restamp(t *testing.T, s *Store, k chatKeys, at int, by int64) {
	t.Helper()
	relist(t, s, k, func(l []string) []string {
		r, err := parseRow([]byte(l[at-1]))
		if err != nil {
			t.Fatal(err)
		}
		r.stamp -= by
		l[at-1] = string(r.bytes())
		return l
	})
}

func relist(t *testing.T, s *Store, k chatKeys, f func([]string) []string) {
	t.Helper()
	l, err := s.rdb.LRange(t.Context(), k.log, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	del(t, s, k.log)
	for _, e := range f(l) {
		if err := s.rdb.RPush(t.Context(), k.log, e).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func resnap(t *testing.T, s *Store, k chatKeys, old, other string) {
	t.Helper()
	v, err := s.rdb.Get(t.Context(), k.snap).Result()
	if err != nil || !strings.Contains(v, old) {
		t.Fatalf("no %q in %q, %v", old, v, err)
	}
	if err := s.rdb.Set(t.Context(), k.snap, strings.Replace(v, old, other, 1), 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func hset(t *testing.T, s *Store, k chatKeys, fields ...any) {
	t.Helper()
	if err := s.rdb.HSet(t.Context(), k.head, fields...).Err(); err != nil {
		t.Fatal(err)
	}
}

func del(t *testing.T, s *Store, keys ...string) {
	t.Helper()
	if err := s.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
}

// cutTo is a rollback that forgets nothing: the log, its head and its snapshot.
func cutTo(t *testing.T, s *Store, k chatKeys, n int) {
	t.Helper()
	relist(t, s, k, func(l []string) []string { return l[:n] })
	last, err := s.rdb.LIndex(t.Context(), k.log, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRow([]byte(last))
	if err != nil {
		t.Fatal(err)
	}
	hset(t, s, k, "seq", n, "tip", r.op, "stamp", r.stamp)
	del(t, s, k.snap)
}
