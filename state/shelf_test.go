package state

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

func TestShelf(t *testing.T) {
	embedded := func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) }
	redis := func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s }
	for name, open := range map[string]func(*testing.T) *Store{"embedded": embedded, "redis": redis} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t)
			at := time.UnixMilli(1_800_000_000_000).UTC()
			for _, p := range []chat.Listed{{Key: "a", Title: "first: a", At: at}, {Key: "b", At: at.Add(time.Minute)}, {Key: "a", At: at.Add(time.Hour)}} {
				if err := s.PutChat(ctx, "u1", p.Key, p.Title, p.At); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Chats(ctx, "u1")
			if err != nil || len(got) != 2 || got[0] != (chat.Listed{Key: "a", Title: "first: a", At: at.Add(time.Hour)}) || got[1].Key != "b" {
				t.Error(got, err)
			}
			if err := s.DropChats(ctx, "u1", "b", "none"); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Chats(ctx, "u1"); err != nil || len(got) != 1 || got[0].Key != "a" {
				t.Error(got, err)
			}
			if got, err := s.Chats(ctx, "u2"); err != nil || len(got) != 0 {
				t.Error(got, err)
			}
			if b, err := s.Person(ctx, "u1"); b != nil || err != nil {
				t.Errorf("of somebody new there is %q, %v", b, err)
			}
			for _, what := range []string{"one", "two"} {
				if err := s.PutPerson(ctx, "u1", []byte(what)); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := s.Person(ctx, "u1"); string(b) != "two" || err != nil {
				t.Errorf("the person is %q, %v", b, err)
			}
			if got, err := s.Chats(ctx, "u1"); err != nil || len(got) != 1 {
				t.Error("with a person beside them the chats are", got, err)
			}
			for i, want := range []bool{true, false, true, false} { // the first two of one name
				if got, err := s.Once(ctx, "name"+itoa(i/2), time.Minute); got != want || err != nil {
					t.Errorf("use %d: %v, %v", i, got, err)
				}
			}
			live, err := s.Live(ctx, room)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.PublishLive(ctx, room, []byte("\x00frame")); err != nil {
				t.Fatal(err)
			}
			if got := <-live; string(got) != "\x00frame" {
				t.Errorf("%q", got)
			}
			if err := s.Ping(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestASlowReaderLosesTheOldestFrames(t *testing.T) {
	s := openEmbedded(t, t.TempDir(), Options{})
	live, err := s.Live(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Live(t.Context(), chat.ID{Platform: "test", Key: "marker"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.PublishLive(t.Context(), room, []byte(itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PublishLive(t.Context(), chat.ID{Platform: "test", Key: "marker"}, nil); err != nil {
		t.Fatal(err)
	}
	<-other
	var last string
	for range len(live) {
		last = string(<-live)
	}
	if last != "199" {
		t.Errorf("the newest frame read is %q", last)
	}
}
