package replicas

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// storedChat is the beginning of a log that a release wrote: a state in which it may have been left.
type storedChat struct {
	name   string
	in     chat.ID
	events []agent.Keyed
}

// adopted are the bot's messages in the recorded logs.
var adopted = []string{"shown", "shown2", "nudge"}

// storedChats are all beginnings of the recorded logs, each as that of a chat of its own.
func storedChats(t *testing.T, tools []agent.ToolSpec) (all []storedChat) {
	files, err := filepath.Glob("../../../core/agent/turn/testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for end := range bytes.Count(log, []byte("\n")) {
			s := storedChat{name: fmt.Sprintf("%s up to %d", filepath.Base(file), end+1), in: roomOf(len(all))}
			s.take(t, slices.Collect(bytes.Lines(log))[:end+1], tools)
			all = append(all, s)
		}
	}
	return all
}

// take takes what was stored over into this chat and world: the tools' definitions, and what digests are of.
func (s *storedChat) take(t *testing.T, log [][]byte, tools []agent.ToolSpec) {
	become := map[string]string{}
	for _, x := range tools {
		become[fmt.Sprintf(`"name":%q,"def":"d"`, x.Tool.Name)] = fmt.Sprintf(`"name":%q,"def":%q`, x.Tool.Name, x.Tool.Definition)
	}
	for _, ref := range adopted {
		become[fmt.Sprintf(`"message":%q`, ref)] = fmt.Sprintf(`"message":%q`, ref+"-"+s.in.Key)
	}
	read := func(line []byte) turn.Event {
		_, stored, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		for was, is := range become {
			stored = bytes.ReplaceAll(stored, []byte(was), []byte(is))
		}
		ev, err := turn.Decode(stored)
		if err != nil {
			t.Fatal(s.name, err)
		}
		return ev
	}
	for i, line := range log {
		if r, ok := read(line).(turn.Replied); ok {
			for _, c := range r.Calls {
				become[string(c.Digest)] = string(permission.CallDigest(s.in, c.Tool, c.Args))
			}
		}
		e := agent.Keyed{Op: agent.OpID(fmt.Sprint("e", i)), Event: read(line)}
		s.events = append(s.events, e)
	}
}

// Whatever state a release left a chat in, this one goes on with it: what waits for a person is there to be decided, everything else comes to
// an end, a call that had started is not started again, and one that was allowed runs once.
// R138
func TestEveryStoredStateGoesOn(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true, Backend: Lightest, Lease: 10 * time.Second})
	for _, name := range []string{"read_file", "write_file", "delete"} {
		w.Tools.Put(Tool{Server: "files", Name: name})
	}
	specs, _, err := w.Replicas[0].Engine.Tools.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := w.Replicas[0].Gate
	all := storedChats(t, specs)
	for _, s := range all {
		w.Tools.In(s.in)
		for _, ref := range adopted {
			w.Platform.Adopt(s.in, chat.MessageRef(ref+"-"+s.in.Key))
		}
		got, err := store.Append(t.Context(), agent.Write{Chat: s.in, Claim: "before", Events: s.events[:1]})
		if err == nil {
			_, err = store.Append(t.Context(), agent.Write{Chat: s.in, Known: got.Head, Lease: got.Lease, Events: s.events[1:], Release: true, Wake: time.Now()})
		}
		if err != nil {
			t.Fatal(s.name, err)
		}
	}
	for _, s := range all {
		w.Until(s.name+": it is over", func() bool { return overByDenying(w, s.in) })
		begun := map[turn.CallID]bool{}
		for _, ev := range s.events {
			if started, ok := ev.Event.(turn.Started); ok {
				begun[started.Call] = true
			}
		}
		ran := map[turn.CallID]int{}
		for _, e := range w.Tools.Effects() {
			if e.Chat == s.in {
				ran[e.Call]++
			}
		}
		if n := ran["c1"]; s.name == "allowed_once.log up to 5" && n != 1 {
			t.Errorf("%s: what was allowed ran %d times", s.name, n)
		}
		for call, n := range ran {
			if n > 1 || begun[call] {
				t.Errorf("%s: %s ran %d times, and had started before: %v", s.name, call, n, begun[call])
			}
		}
	}
}

// overByDenying denies whatever waits in a chat, and reports whether nothing is left to do in it.
func overByDenying(w *World, id chat.ID) bool {
	s, err := w.Replicas[0].Engine.Session(context.Background(), id)
	if err != nil {
		return false
	}
	for _, wait := range turn.Waits(s) {
		click := chat.Clicked{Envelope: w.Envelope(id, s.Turn.Requester), Token: string(wait.Ask), Choice: chat.Deny, Message: s.Turn.Shown}
		if s.Turn.Call(wait.Call).Status == turn.Unknown {
			click.Choice = chat.Leave
		}
		w.Deliver(w.Replicas[0], click)
	}
	return s.Turn == nil && len(s.Waiting) == 0
}
