package state

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state/embedded"
)

func opened(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

// everything is what a store holds, without how long it has left.
func everything(t *testing.T, s *Store) map[string]embedded.Key {
	t.Helper()
	slots, err := s.keysBySlot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]embedded.Key{}
	for _, keys := range slots {
		got, err := s.dump(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range got {
			if k.TTL > 0 {
				k.TTL = 1
			}
			all[string(k.Key)] = k
		}
	}
	return all
}

func TestABackupIsAllThatIsKept(t *testing.T) {
	for name, url := range servers(t) {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{URL: url(t)})
			w := mustAppend(t, s, agent.Write{Claim: "me", Events: []agent.Keyed{said("d1")}, Snapshot: &agent.Snapshot{}})
			mustAppend(t, s, agent.Write{Known: w.Head, Lease: w.Lease, Release: true}) // it fades
			for i := range restoreAtOnce + 1 {                                          // more than one script puts
				mustAppend(t, s, agent.Write{Chat: chat.ID{Platform: "test", Key: "long"}, Events: []agent.Keyed{said(strconv.Itoa(i))}})
			}
			if err := s.KeepSession(t.Context(), "h", []byte("\xff\x00 no UTF-8")); err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if _, err := s.Backup(t.Context(), &file, "a test"); err != nil {
				t.Fatal(err)
			}
			to := openStore(t, Options{URL: url(t)})
			if _, err := to.Restore(t.Context(), opened(file.Bytes())); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(everything(t, s), everything(t, to)); diff != "" {
				t.Error(diff)
			}
			if to.learnRestored(t.Context()) != nil || !to.Restarted().After(w.Entries[0].At) {
				t.Errorf("restored at %v, and said at %v", to.Restarted(), w.Entries[0].At)
			}
		})
	}
}

// A bot writes while its backup is made: each chat is in it as it was between two writes.
func TestABackupOfABusyStore(t *testing.T) {
	s := openStore(t, Options{URL: startRedis(t)})
	stop, began := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := 0; ; i++ {
			_, err := s.Append(t.Context(), agent.Write{Chat: chat.ID{Platform: "test", Key: strconv.Itoa(i % 50)}, Events: []agent.Keyed{said(strconv.Itoa(i))}})
			if err != nil {
				t.Error(err)
			}
			if i == 100 {
				close(began)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-began
	var file bytes.Buffer
	_, err := s.Backup(t.Context(), &file, "a test")
	close(stop)
	writers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	to := openEmbedded(t, t.TempDir(), Options{})
	if _, err := to.Restore(t.Context(), opened(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := to.EachChat(t.Context(), func(id chat.ID) error { n++; _, err := to.Verify(t.Context(), id); return err }); err != nil || n != 50 {
		t.Errorf("%d chats, %v", n, err)
	}
}

// What is no backup, or one of something else, puts nothing anywhere.
func TestRestoreRefuses(t *testing.T) {
	for want, k := range map[string]embedded.Key{
		"none of nod's": {Key: []byte("other"), Type: "string", Value: [][]byte{nil}},
		"does not fit":  {Key: []byte("nod:x"), Type: "hash", Value: [][]byte{nil}},
	} {
		s := openEmbedded(t, t.TempDir(), Options{})
		var file bytes.Buffer
		out, err := embedded.NewDumpWriter(&file, backupHead{Backup: 1})
		if err == nil {
			err = out.Put(embedded.Key{Key: []byte("nod:good"), Type: "string", Value: [][]byte{nil}})
		}
		if err == nil {
			err = out.Put(k)
		}
		if err == nil {
			_, err = out.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context(), opened(file.Bytes())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if left := slices.Sorted(maps.Keys(everything(t, s))); !slices.Equal(left, []string{runEpoch}) {
			t.Errorf("it left %v", left)
		}
	}
}

// A restore that broke off has left a part behind, and what was decided in that does not count either.
func TestAPartIsKnownToBeRestored(t *testing.T) {
	from, to := openEmbedded(t, t.TempDir(), Options{}), openEmbedded(t, t.TempDir(), Options{})
	if _, err := from.write(t.Context(), putScript.on([]string{prefix + "x"}, "a", "b")); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := from.Backup(t.Context(), &file, "a test"); err != nil {
		t.Fatal(err)
	}
	whole := true
	breaks := func() (io.ReadCloser, error) {
		b := file.Bytes()
		if !whole {
			b = b[:len(b)-10]
		}
		whole = false
		return opened(b)()
	}
	if _, err := to.Restore(t.Context(), breaks); err == nil || !strings.Contains(err.Error(), "only a part") {
		t.Error(err)
	}
	if err := to.learnRestored(t.Context()); err != nil || to.Restarted().IsZero() || everything(t, to)[prefix+"x"].Key == nil {
		t.Errorf("%v, %v", to.Restarted(), err)
	}
}
