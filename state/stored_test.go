package state

import (
	"bytes"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

var record = goflag.String("record", "", "write testdata/NAME.backup, once, before a release stores in another form than the ones before")

var (
	storedKey   = AuditKey{Secret: "of the stored chats"}
	storedAsk   = chat.ID{Platform: "slack", Workspace: "T0FAKE", Key: "C031/1795709882.172398"}
	storedKinds = chat.ID{Platform: "web", Key: "c1"}
)

// storedEvents are what the stored chats hold: one question that waits, and every kind of event.
func storedEvents(t *testing.T) map[chat.ID][]turn.Event {
	all := map[chat.ID][]turn.Event{}
	for id, file := range map[chat.ID]string{storedAsk: "testdata/ask.log", storedKinds: "../core/agent/turn/testdata/every_kind.log"} {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			_, stored, _ := bytes.Cut(line, []byte(" "))
			ev, err := turn.Decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			all[id] = append(all[id], ev)
		}
	}
	return all
}

// store writes a chat as a driver does, and gives it back.
func store(t *testing.T, s *Store, id chat.ID, events []turn.Event) {
	w := mustAppend(t, s, agent.Write{Chat: id, Claim: "me", Events: []agent.Keyed{{Op: "in:slack:T0FAKE:UANA:m:C031:1795709882.172398", Event: events[0]}}})
	for i, ev := range events[1:] {
		lease := agent.Lease{Chat: id, Owner: "me", Token: w.Lease.Token}
		w = mustAppend(t, s, agent.Write{Chat: id, Known: w.Head, Lease: lease, Claim: "me", Events: []agent.Keyed{{Op: agent.OpID(fmt.Sprintf("w:%d", i)), Event: ev}}})
	}
	mustAppend(t, s, agent.Write{Chat: id, Known: w.Head, Lease: w.Lease, Release: true, Wake: time.Now()})
}

// What any release stored is read for ever, holds, and goes on.
func TestEveryStoredForm(t *testing.T) {
	want := storedEvents(t)
	if *record != "" {
		s, _ := mini(t, Options{Audit: storedKey})
		for id, events := range want {
			store(t, s, id, events)
		}
		f, err := os.OpenFile(filepath.Join("testdata", *record+".backup"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Backup(t.Context(), f, *record); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/*.backup")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, _ := mini(t, Options{Audit: storedKey})
			if _, err := s.Restore(t.Context(), func() (io.ReadCloser, error) { return os.Open(file) }); err != nil {
				t.Fatal(err)
			}
			for id, events := range want {
				log, err := s.History(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				var got []turn.Event
				for _, e := range log {
					got = append(got, e.Event)
				}
				if d := cmp.Diff(events, got); d != "" {
					t.Error(d)
				}
				head, err := s.Verify(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				w := mustAppend(t, s, agent.Write{Chat: id, Known: head, Events: []agent.Keyed{{Op: "later", Event: turn.Decided{Ask: "a", Choice: chat.Deny}}}})
				if after, err := s.Verify(t.Context(), id); err != nil || after != w.Head {
					t.Errorf("%+v, want %+v: %v", after, w.Head, err)
				}
			}
		})
	}
}

// A release before this one reads an event as JSON of a kind, and each entry from the first tells it that a newer one wrote here.
func TestPackedEventsAreOfANewerVersion(t *testing.T) {
	s, m := mini(t, Options{Audit: storedKey})
	for id, events := range storedEvents(t) {
		store(t, s, id, events)
		log, err := m.List(keysOf(id).log)
		if err != nil || len(log) != len(events) {
			t.Fatal(len(log), err)
		}
		for _, e := range log {
			r, err := parseRow([]byte(e))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Decode(r.event); !errors.Is(err, turn.ErrVersion) {
				t.Errorf("%q: %v", e, err)
			}
		}
	}
	// What cannot be unpacked is broken, and nothing else.
	k := keysOf(storedAsk)
	if _, err := m.RPush(k.log, "5 1 w:5 -\n"+`{"":"`+"\xfd\xff\xff"+`"}`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Tail(t.Context(), storedAsk, agent.Head{Seq: 4, Tip: "w:2"}); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}
