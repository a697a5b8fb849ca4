package state

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// What cannot be read is an error, and not a shelf with nothing on it.
func TestAShelfThatCannotBeRead(t *testing.T) {
	s, redis := mini(t, Options{})
	ctx := t.Context()
	for _, err := range []error{s.DropChats(ctx, "u1"), s.EndSessions(ctx, false)} { // of nothing
		if err != nil {
			t.Error(err)
		}
	}
	redis.SetError("ERR gone")
	for name, ask := range map[string]func() (any, error){
		"chats": func() (any, error) { return s.Chats(ctx, "u1") }, "a person": func() (any, error) { return s.Person(ctx, "u1") },
		"a session": func() (any, error) { x, _, err := s.Session(ctx, "one"); return x, err }, "sessions": func() (any, error) { return s.Sessions(ctx) },
		"installs": func() (any, error) { return s.Installs(ctx) }, "devices": func() (any, error) { return s.Pushes(ctx) },
		"the key": func() (any, error) { return s.PushKey(ctx, "fresh") }, "a name": func() (any, error) { return s.Once(ctx, "x", time.Minute) },
		"an end": func() (any, error) { return nil, s.EndSessions(ctx, true, "one") },
	} {
		if got, err := ask(); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A device is a session's, and goes with it. All replicas have the key of whoever was first.
func TestPushes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, a, b *Store) {
		ctx := t.Context()
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(want map[string]string) {
			t.Helper()
			all, err := b.Pushes(ctx)
			got := map[string]string{}
			for hash, device := range all {
				got[hash] = string(device)
			}
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%v, %v; want %v", got, err, want)
			}
		}
		want(map[string]string{})
		do(a.PutPush(ctx, "one", []byte("phone")))
		do(b.PutPush(ctx, "two", []byte("desk")))
		do(b.PutPush(ctx, "one", []byte("tablet")))
		do(a.DropPush(ctx, "one", []byte("phone"))) // another by now
		want(map[string]string{"one": "tablet", "two": "desk"})
		do(a.DropPush(ctx, "two", []byte("desk")))
		do(a.DropPush(ctx, "none", []byte("")))
		want(map[string]string{"one": "tablet"})
		do(b.EndSessions(ctx, false, "one"))
		want(map[string]string{})
		for i, s := range []*Store{a, b, a} {
			if got, err := s.PushKey(ctx, fmt.Sprint("key ", i)); got != "key 0" || err != nil {
				t.Errorf("the key is %q, %v", got, err)
			}
		}
	})
}
