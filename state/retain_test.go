package state

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
)

// bothStores runs a test on each kind of store.
func bothStores(t *testing.T, o Options, test func(*testing.T, *Store)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, openEmbedded(t, t.TempDir(), o)) })
	t.Run("redis", func(t *testing.T) {
		s, _ := mini(t, o)
		test(t, s)
	})
}

// fading puts a message and a file into a chat that then rests, and gives how the keys of it live on.
func fading(t *testing.T, s *Store, op string) func(want time.Duration) {
	t.Helper()
	ctx := t.Context()
	_, _, head, err := s.Load(ctx, room)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Append(ctx, agent.Write{Chat: room, Known: head, Claim: "me", Events: []agent.Keyed{said(op)}})
	if err == nil {
		_, err = s.Append(ctx, agent.Write{Chat: room, Known: got.Head, Lease: got.Lease, Release: true})
	}
	if err == nil {
		_, err = s.PutBlob(ctx, room, []byte(op))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(want time.Duration) {
		t.Helper()
		k, b := keysOf(room), blobsOf(room)
		for _, key := range []string{k.head, k.log, b.data, b.order} {
			if left := s.rdb.PTTL(ctx, key).Val(); want == 0 != (left < 0) || left > want+time.Minute { // the embedded store's clock may be behind
				t.Errorf("%s lives %s, want %s", key, left, want)
			}
		}
	}
}

// What is retained does not fade, whoever writes to it, until it is let go: then its time begins anew.
func TestRetain(t *testing.T) {
	bothStores(t, Options{Keep: time.Hour, Files: time.Hour}, func(t *testing.T, s *Store) {
		ctx := t.Context()
		if err := s.Retain(ctx, room, true); err != nil { // nothing is there
			t.Fatal(err)
		}
		lives := fading(t, s, "1")
		lives(time.Hour)
		if err := s.Retain(ctx, room, true); err != nil {
			t.Fatal(err)
		}
		lives(0)
		fading(t, s, "2")
		lives(0)
		first, err := s.PutBlob(ctx, room, []byte("1"))
		for i := 0; i < 2 && err == nil; i++ {
			_, err = s.PutBlob(ctx, room, bytes.Repeat([]byte{byte(i)}, blobsMost/2))
		}
		if data, readErr := s.Blob(ctx, room, first); err != nil || readErr != nil || string(data) != "1" {
			t.Errorf("a file that is held went for newer ones: %q, %v, %v", data, err, readErr)
		}
		if err := s.Retain(ctx, room, false); err != nil {
			t.Fatal(err)
		}
		lives(time.Hour)
		if _, err := s.Verify(ctx, room); err != nil {
			t.Error(err)
		}
	})
}

func TestErase(t *testing.T) {
	bothStores(t, Options{Lease: time.Hour}, func(t *testing.T, s *Store) {
		ctx := t.Context()
		fading(t, s, "1")
		is := func(seq uint64, want error) {
			t.Helper()
			if err := s.Erase(ctx, room, seq); !errors.Is(err, want) {
				t.Errorf("read up to %d: %v, want %v", seq, err, want)
			}
		}
		is(2, agent.ErrStale)
		if err := s.Retain(ctx, room, true); err != nil {
			t.Fatal(err)
		}
		is(1, ErrKept)
		if err := s.Retain(ctx, room, false); err != nil {
			t.Fatal(err)
		}
		got, err := s.Append(ctx, agent.Write{Chat: room, Claim: "me"})
		if err != nil {
			t.Fatal(err)
		}
		is(1, ErrBusy)
		_, _, head, err := s.Load(ctx, room)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, agent.Write{Chat: room, Known: head, Lease: got.Lease, Release: true, Wake: time.Now()}); err != nil {
			t.Fatal(err)
		}
		is(1, nil)
		is(1, nil) // again
		for _, key := range allOf(room) {
			if n := s.rdb.Exists(ctx, key).Val(); n != 0 {
				t.Errorf("%s is there", key)
			}
		}

		// Whoever still has the old fold can neither write by it nor bring its snapshot back.
		_, err = s.Append(ctx, agent.Write{Chat: room, Known: head, Events: []agent.Keyed{said("late")}, Snapshot: &agent.Snapshot{Head: head}})
		if n := s.rdb.Exists(ctx, keysOf(room).snap).Val(); err != nil || n != 0 {
			t.Errorf("%v, %d snapshots", err, n)
		}
	})
}
