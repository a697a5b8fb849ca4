package state

import (
	"fmt"
	"maps"
	"testing"
)

// A device is a session's, and goes with it. All replicas have the key of whoever was first.
func TestPushes(t *testing.T) {
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
