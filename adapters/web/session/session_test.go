package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// shelf keeps what it is given, as a store does whose writes may come twice.
type shelf struct {
	kept   map[string][]byte
	writes []func()
}

func (s *shelf) OpenSession(_ context.Context, hash string, session []byte, most int) (bool, error) {
	open := func() bool {
		_, there := s.kept[hash]
		if !there && len(s.kept) < most {
			s.kept[hash] = session
			return true
		}
		return there
	}
	s.writes = append(s.writes, func() { open() })
	return open(), nil
}

func (s *shelf) KeepSession(_ context.Context, hash string, session []byte) error {
	keep := func() {
		if _, there := s.kept[hash]; there {
			s.kept[hash] = session
		}
	}
	s.writes = append(s.writes, keep)
	keep()
	return nil
}

func (s *shelf) Session(_ context.Context, hash string) ([]byte, bool, error) {
	b, there := s.kept[hash]
	return b, there, nil
}

func (s *shelf) Sessions(context.Context) (map[string][]byte, error) { return maps.Clone(s.kept), nil }

func (s *shelf) EndSessions(_ context.Context, _ bool, hashes ...string) error {
	for _, hash := range hashes {
		delete(s.kept, hash)
	}
	return nil
}

func (s *shelf) PutPerson(context.Context, string, []byte) error { return nil }

func (s *shelf) Person(context.Context, string) ([]byte, error) { return nil, nil }

func at(t *testing.T, now *time.Time) (*shelf, *Sessions) {
	t.Helper()
	s := &shelf{kept: map[string][]byte{}}
	of, err := New(Config{Shelf: s, Loopback: true, Now: func() time.Time { return *now }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, of
}

// A write that went out twice, on two connections, may come when somebody has signed out meanwhile, or while they are there.
func TestALateWriteBringsNoSessionBack(t *testing.T) {
	now := time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	kept, s := at(t, &now)
	key, ana, err := s.Open(t.Context(), Presented{}, "Ana")
	if err != nil {
		t.Fatal(err)
	}
	is := func(want error) {
		t.Helper()
		p, err := s.Who(t.Context(), Presented{key: key})
		if !errors.Is(err, want) || want == nil && (p.User != ana.User || p.Name != "Ana") {
			t.Errorf("%+v, %v, want %v", p, err, want)
		}
	}
	is(nil)
	kept.writes[0]()
	is(nil)
	now = now.Add(2 * time.Hour)
	is(nil) // which keeps it anew
	if err := s.SignOut(t.Context(), ana); err != nil {
		t.Fatal(err)
	}
	is(Unauthorized)
	for _, again := range kept.writes {
		again()
		if list, err := s.List(t.Context(), Person{Admin: true}); len(list) != 0 || err != nil {
			t.Errorf("%v, %v", list, err)
		}
		is(Unauthorized) // which clears its place
	}
}

// Where there are too many, a place that is just being taken is left to whoever takes it, for a minute.
func TestAPlaceIsNotSweptWhileItIsTaken(t *testing.T) {
	now := time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	kept, s := at(t, &now)
	for n := range maxSessions - 1 {
		kept.kept[fmt.Sprint(n)] = []byte(`{"user":"u-x"}`)
	}
	kept.kept["place"] = stored{Opened: now}.json()
	for _, want := range []string{"too_many_sessions", ""} {
		_, _, err := s.Open(t.Context(), Presented{}, "Ana")
		if no, _ := errors.AsType[Refused](err); no.Code != want {
			t.Errorf("%v, want %q", err, want)
		}
		now = now.Add(opening)
	}
}

// Whose session it is can be asked without keeping it alive.
func TestOfKeepsNothing(t *testing.T) {
	now := time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	kept, s := at(t, &now)
	_, ana, err := s.Open(t.Context(), Presented{}, "Ana")
	if err != nil {
		t.Fatal(err)
	}
	n := len(kept.writes)
	for _, x := range []struct {
		after time.Duration
		want  chat.User
	}{{Idle - time.Second, ana.User}, {time.Second, chat.User{}}} {
		now = now.Add(x.after)
		if p, err := s.Of(t.Context(), ana.Session); p.User != x.want || err != nil {
			t.Errorf("%v, %v, want %v", p.User, err, x.want)
		}
	}
	if len(kept.writes) != n || len(kept.kept) != 1 {
		t.Errorf("%d writes, %d sessions", len(kept.writes)-n, len(kept.kept))
	}
}
