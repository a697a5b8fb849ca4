package turn_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/script"
)

var update = flag.Bool("update", false, "write the expected views anew; never the logs of released versions")

// TestRecordedLogs folds logs as they were stored and compares, after each entry, how the message looks and what is owed (.txt), what
// the model reads (.talk) and what the audit tells (.audit). A log under testdata is never rewritten once released: it is what lies in
// somebody's Redis.
// R138
func TestRecordedLogs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".log"), func(t *testing.T) {
			s := New(chat.ID{Platform: "web", Key: "c1"})
			auditor := audit.NewAuditor(s.Chat)
			var views, talks, audits strings.Builder
			var talked []string
			for _, e := range readLog(t, file) {
				s = Apply(s, e)
				fmt.Fprintf(&views, "## %d %s\n", e.Seq, e.Event.Kind())
				for _, tn := range []*Turn{s.Last, s.Turn} {
					if tn != nil {
						fmt.Fprintf(&views, "%s\n", strings.TrimSpace(render.PlainText(card.View(s, tn, card.Live{}))))
					}
				}
				for _, c := range Next(s, e.At, Env{}) {
					fmt.Fprintf(&views, "owed: %T %+v\n", c, c)
				}
				views.WriteString("\n")
				var said []string
				for _, u := range talk.Of(s) {
					said = append(said, string(script.JSON(t, u)))
				}
				same := 0
				for same < min(len(said), len(talked)) && said[same] == talked[same] {
					same++
				}
				fmt.Fprintf(&talks, "## %d %s: %d and\n%s\n", e.Seq, e.Event.Kind(), same, strings.Join(said[same:], "\n"))
				talked = said
				for _, r := range auditor.Take(e) {
					audits.Write(append(script.JSON(t, r), '\n'))
				}
			}
			base := strings.TrimSuffix(file, ".log")
			compare(t, base+".txt", views.String())
			compare(t, base+".talk", talks.String())
			compare(t, base+".audit", audits.String())
		})
	}
}

// Snapshots that a release wrote which still kept words where kinds stand now, one after every eighth entry, go on to the same talk.
func TestSnapshotsOfVersion1(t *testing.T) {
	log := readLog(t, "testdata/every_kind.log")
	stored, err := os.ReadFile("testdata/every_kind.sessions.v1")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(stored)), "\n") {
		old, err := DecodeSession([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		at := 8 * (i + 1)
		whole := Fold(New(old.Chat), log[:at])
		for _, e := range log[at:] {
			if got, want := script.JSON(t, talk.Of(old)), script.JSON(t, talk.Of(whole)); !bytes.Equal(got, want) {
				t.Fatalf("snapshot of entry %d, before entry %d: the model reads\n%s, want\n%s", at, e.Seq, got, want)
			}
			old, whole = Apply(old, e), Apply(whole, e)
		}
	}
}

// readLog reads the entries of a recorded log.
func readLog(t *testing.T, file string) (log []Entry) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		at, stored, ok := strings.Cut(line, " ")
		when, err := time.Parse(time.RFC3339Nano, at)
		if !ok || err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		ev, err := Decode([]byte(stored))
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		log = append(log, Entry{Seq: uint64(i + 1), At: when, Event: ev})
	}
	return log
}

// compare compares with a golden file, or writes it.
func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s is another now; if that is meant: go test ./core/agent/turn -run TestRecordedLogs -update\n%s", golden, firstDifference(string(want), got))
	}
}

// Every kind of event is in a recorded log.
func TestEveryKindIsRecorded(t *testing.T) {
	left := maps.Clone(Decoders)
	for _, log := range []string{"testdata/every_kind.log", "testdata/rated.log", "testdata/replaced.log", "testdata/earlier.log"} {
		for _, e := range readLog(t, log) {
			delete(left, e.Event.Kind())
		}
	}
	for kind := range left {
		t.Errorf("no %s", kind)
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n want %q\n got  %q", i+1, a, b)
		}
	}
	return ""
}

// TestWriteLogs makes the recorded logs. It runs only with -update, and only for logs that do not exist: what
// was released stays.
func TestWriteLogs(t *testing.T) {
	for name, x := range map[string]*script.Script{
		"allowed_once": script.Begin(t, script.Proposes("c1", "write_file", `{"path":"notes.txt"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).
			After(5*time.Second).Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r1").After(200*time.Millisecond).
			Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote 5 bytes"}}, Replied{Turn: "t1", Step: 1, Text: "Done."}, Ended{Turn: "t1", Why: Answered}),
		"mixed_batch": script.Begin(t, script.Proposes("c1", "read_file", `{"path":"a"}`), script.Proposes("c2", "write_file", `{"path":"b"}`), script.Proposes("c3", "write_file", `{"path":"c"}`)).
			Put(script.Rules("c1", "a1", permission.Allow, permission.Read), script.Rules("c2", "a2", permission.Ask, permission.Write), script.Rules("c3", "a3", permission.Ask, permission.Write)).
			Starts("c1", "r1").Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "a"}}).After(3*time.Second).
			Decides("c2", chat.AllowChat, script.Ana).After(time.Second).Decides("c3", chat.Deny, script.Ana).Starts("c2", "r2").
			Put(Finished{Call: "c2", Run: "r2", Result: Result{Text: "disk full", IsError: true}}, Replied{Turn: "t1", Step: 1, Text: "One was denied."}, Ended{Turn: "t1", Why: Answered}),
		"expired_and_asked_again": script.Begin(t, script.Proposes("c1", "write_file", `{"path":"notes.txt"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).
			After(time.Minute).Put(Expired{Ask: "a1"}, Replied{Turn: "t1", Step: 1, Text: "Nobody answered."}, Ended{Turn: "t1", Why: Answered}).
			After(time.Hour).Put(Reopened{Ask: "a1", By: script.Ben, Name: "Ben", Next: "a2", NextCall: "c2"}, Shown{Turn: "t8", Message: "shown2"}, script.Rules("c2", "a3", permission.Ask, permission.Write)),
		"unknown_outcome": script.Begin(t, script.Proposes("c1", "write_file", `{"path":"notes.txt"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).
			Decides("c1", chat.AllowOnce, script.Ana).Starts("c1", "r1").After(20*time.Second).
			Put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}).After(time.Second).
			Put(Resolved{Ask: "a2", Answer: chat.Happened, By: script.Ana, Name: "Ana"}, Replied{Turn: "t1", Step: 1, Text: "It happened, you say."}, Ended{Turn: "t1", Why: Answered}, Finished{Call: "c1", Run: "r1", Result: Result{Text: "late"}}),
		"stopped_with_queue": script.Begin(t, script.Proposes("c1", "write_file", `{"path":"notes.txt"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Says("m2", "and another", script.Ben)).
			Put(StopAsked{Turn: "t1", By: script.Ana, Name: "Ana"}, Ended{Turn: "t1", Why: WasStopped}),
		"replaced": script.Begin(t, script.Proposes("c1", "write_file", `{"path":"notes.txt","content":"a\nc\n"}`), script.Proposes("c2", "write_file", `{"path":"b","content":""}`)).
			Put(looksAt("c1", "p1"), looksAt("c2", "p2"), looksAt("c1", "p3")).After(100*time.Millisecond).
			Put(Previewed{Call: "c1", Run: "p1", Diff: " a\n-b\n+c\n@3"}, Previewed{Call: "c2", Run: "p2", Why: NoDiffFailed}, Previewed{Call: "c1", Run: "p1", Diff: "+no"}, Previewed{Call: "c1", Run: "p3", Diff: "+no"}).
			Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Ask, permission.Write), looksAt("c1", "p4")).After(time.Second).
			Decides("c1", chat.AllowOnce, script.Ana).Decides("c2", chat.Deny, script.Ana).Starts("c1", "r1").After(time.Second).
			Put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a1b", Wait: time.Minute}, Resolved{Ask: "a1b", Answer: chat.RunAgain, By: script.Ana, Name: "Ana", Next: "a1c"}),
		"rated": script.Begin(t).Put(Ended{Turn: "t1", Why: Answered}).After(time.Second).
			Put(Rated{Turn: "t1", By: script.Ben, Name: "Ben"}, Rated{Turn: "t1", Good: true, By: script.Ben, Name: "Ben"}, Rated{Turn: "t1", Good: true, By: script.Ben, Name: "Ben"}, Rated{Turn: "t1", By: script.Ana, Name: "Ana"}),
		"every_kind": everyKind(t),
	} {
		if _, err := os.Stat(filepath.Join("testdata", name+".log")); *update && os.IsNotExist(err) {
			x.Save(name)
		}
		if _, err := os.Stat(filepath.Join("testdata", name+".log")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// looksAt is the beginning of a look at what a call of [script.Proposes] replaces.
func looksAt(call, run string) PreviewStarted {
	p := map[string]Proposal{"c1": script.Proposes("c1", "write_file", `{"path":"notes.txt","content":"a\nc\n"}`), "c2": script.Proposes("c2", "write_file", `{"path":"b","content":""}`)}[call]
	return PreviewStarted{Call: p.ID, Run: RunID(run), Of: p.Digest, Tool: permission.Tool{Server: "files", Name: "read_file"}, Args: []byte(`{"path":"notes.txt"}`), Token: 1}
}

// everyKind is a log with every kind of event, and with every result that a call can have.
func everyKind(t *testing.T) *script.Script {
	ask := func(call, ask string) Ruled { return script.Rules(call, ask, permission.Ask, permission.Write) }
	again := script.Rules("c2", "a2b", permission.Ask, permission.Write)
	again.Ruling.Remember = true
	bad := script.Proposes("c0", "write_fil", `{}`)
	bad.Problem = "There is no tool named \"write_fil\". Nothing was run."
	x := script.New(t).Put(script.Says("m1", "please write https://example.com/notes", script.Ana), Shown{Turn: "t1", Message: "shown"},
		script.Says("m2", "and another", script.Ben), Edited{Delivery: "d1", Message: "m2", By: script.Ben, Text: "and two others"}, script.Says("m3", "never mind", script.Ben),
		Deleted{Delivery: "d2", Message: "m3", By: script.Ben}).After(time.Second)
	x.Put(Replied{Turn: "t1", Text: "I'll do that.", More: 2, Cut: true, Left: 3, Faults: []string{"git cannot be reached."}, Model: "m", Usage: Usage{Input: 10, Output: 5},
		Calls: []Proposal{bad, script.Proposes("c1", "delete", `{}`), script.Proposes("c2", "write_file", `{"path":"notes.txt","password":"hunter2"}`), script.Proposes("c4", "write_file", `{"path":"c"}`), script.Proposes("c5", "write_file", `{"path":"d"}`)}})
	x.Put(script.Rules("c1", "a1", permission.Forbid, permission.All), ask("c2", "a2"), ask("c4", "a4"), ask("c5", "a5")).After(time.Second)
	x.Put(Shown{Turn: "t1", Asks: []Appeared{{Ask: "a2"}, {Ask: "a4"}, {Ask: "a5"}}}).After(20*time.Second).
		Put(Posted{Turn: "t1", Slot: "nudge-a2", Message: "nudge"}, Revealed{Ask: "a2", By: script.Ana, Name: "Ana"}, script.Amends(x, "a2", `{"path":"other.txt"}`), again,
			Ticked{Ask: "a2b", On: true, By: script.Ana, Name: "Ana"}, Extended{Ask: "a5", By: script.Ben, Name: "Ben", Until: x.Now.Add(3 * time.Minute)})
	x.Decides("c2", chat.Deny, script.Ana).Put(Withdrawn{Ask: "a2b", By: script.Ana, Name: "Ana", Next: "a2c"}).Decides("c2", chat.AllowOnce, script.Ana)
	x.Decides("c4", chat.AllowChat, script.Ana).After(4*time.Minute).Put(Expired{Ask: "a5"}, Removed{Turn: "t1", Slot: "nudge-a2"}).Starts("c2", "r2")
	x.Put(Elicited{Call: "c2", Run: "r2", Ask: "w2", Request: Elicitation{Kind: ElicitationForm, Message: "Which branch?", Fields: []FormField{{Name: "branch", Type: "string"}}}, Wait: time.Minute},
		Filled{Ask: "w2", Fill: Fill{Action: FillAccept, Content: []byte(`{"branch":"main"}`)}, By: script.Ana, Name: "Ana"}).After(time.Second)
	x.Put(Finished{Call: "c2", Run: "r2", Result: Result{Text: "wrote 5 bytes", Structured: []byte(`{"bytes":5}`)}}).Starts("c4", "r4").After(20*time.Second).
		Put(Abandoned{Call: "c4", Run: "r4", Token: 2, Ask: "a4b", Wait: time.Minute}, Resolved{Ask: "a4b", Answer: chat.RunAgain, By: script.Ana, Name: "Ana", Next: "a4c"})
	x.Put(Decided{Ask: "a4c", Digest: x.Call("c4").Digest, Choice: chat.Deny, By: script.Ana, Name: "Ana"}, Finished{Call: "c4", Run: "r4", Result: Result{Text: "it was there", IsError: true}})
	x.After(time.Second).Put(Replied{Turn: "t1", Step: 1, Text: "More.", Calls: []Proposal{script.Proposes("c7", "write_file", `{"path":"f"}`), script.Proposes("c8", "write_file", `{"path":"g"}`), script.Proposes("c9", "write_file", `{"path":"h"}`), script.Proposes("c3", "write_file", `{"path":"b"}`)}})
	x.Put(ask("c7", "a7"), script.Rules("c8", "a8", permission.Allow, permission.Write), ask("c3", "a3"), script.Rules("c9", "a9", permission.Allow, permission.Read)).Decides("c7", chat.AllowOnce, script.Ana).
		Put(Decided{Ask: "a3", Digest: x.Call("c3").Digest, Choice: chat.Deny, By: script.Ben, Name: "Ben", Reason: "not today"})
	x.Starts("c7", "r7").Put(Abandoned{Call: "c7", Run: "r7", Token: 1, Own: true, Say: "files did not answer in 20 s.", Ask: "a7b"}, Resolved{Ask: "a7b", Answer: chat.Leave, By: script.Ana, Name: "Ana"})
	x.Starts("c8", "r8").Put(Abandoned{Call: "c8", Run: "r8", Token: 2, Ask: "a8b"}, Resolved{Ask: "a8b", Answer: chat.Happened, By: script.Ana, Name: "Ana"})
	x.Starts("c9", "r9").Put(Finished{Call: "c9", Run: "r9", Result: Result{Text: "disk full", IsError: true}}).
		Put(Replied{Turn: "t1", Step: 2, Calls: []Proposal{script.Proposes("c10", "write_file", `{"path":"i"}`), script.Proposes("c11", "write_file", `{"path":"j"}`)}})
	x.Put(script.Rules("c10", "a10", permission.Allow, permission.Write), ask("c11", "a11")).Starts("c10", "r10").Put(Abandoned{Call: "c10", Run: "r10", Token: 2, Ask: "a10b"}).
		Put(StopAsked{Turn: "t1", By: script.Ana, Name: "Ana"}, Ended{Turn: "t1", Why: WasStopped}, Finished{Call: "c10", Run: "r10", Result: Result{Text: "late"}}).After(time.Minute)
	x.Put(Reopened{Ask: "a5", By: script.Ben, Name: "Ben", Next: "a12", NextCall: "c12"})
	again12 := x.Session.Turn.ID
	x.Put(Shown{Turn: again12, Message: "shown2"}, ask("c12", "a12b")).After(time.Second).Decides("c12", chat.AllowOnce, script.Ana).Starts("c12", "r12").Put(Finished{Call: "c12", Run: "r12", Result: Result{Text: "ok"}}).
		Put(Replied{Turn: again12, Step: 1, Text: "Now it is done."}, Ended{Turn: again12, Why: Answered}).After(time.Minute)
	x.Put(Revoked{Grants: []permission.GrantID{"g-c4"}, By: script.Ana, Name: "Ana"}, ModeSet{Mode: permission.ModeAlways, Rev: 1, By: script.Ana, Name: "Ana"}, script.Says("m4", "start over", script.Ana), script.Says("m5", "and this", script.Ana))
	x.Put(Changed{Changes: []permission.Change{permission.Setting{Server: "files", Tool: "write_file", Field: "ask", Value: "always"}}, By: script.Ana, Name: "Ana", Surface: "web"})
	last := x.Session.Turn.ID
	return x.Put(Replied{Turn: last, Calls: []Proposal{script.Proposes("c13", "write_file", `{"path":"k"}`)}}, ask("c13", "a13"), Reset{Rev: 1, By: script.Ana, Name: "Ana"}, Ended{Turn: last, Why: WasStopped}, script.Says("m6", "hello again", script.Ana))
}
