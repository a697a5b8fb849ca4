package turn

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

var update = flag.Bool("update", false, "write the expected views anew; never the logs of released versions")

// TestRecordedLogs folds logs as they were stored and compares how the message looks and what is owed (P9).
// A log under testdata is never rewritten once released: it is what lies in somebody's Redis.
func TestRecordedLogs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".log"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := New(chat.ID{Platform: "web", Key: "c1"})
			var out strings.Builder
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
				s = Apply(s, Entry{Seq: uint64(i + 1), At: when, Event: ev})
				fmt.Fprintf(&out, "## %d %s\n", i+1, ev.Kind())
				for _, tn := range []*Turn{s.Last, s.Turn} {
					if tn != nil {
						fmt.Fprintf(&out, "%s\n", strings.TrimSpace(render.PlainText(View(s, tn, Live{}))))
					}
				}
				for _, c := range Next(s, when, Env{}) {
					fmt.Fprintf(&out, "owed: %T %+v\n", c, c)
				}
				out.WriteString("\n")
			}
			golden := strings.TrimSuffix(file, ".log") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, []byte(out.String())) {
				t.Errorf("the fold of %s looks different now; if that is meant: go test ./core/agent/turn -run TestRecordedLogs -update\n%s", file, firstDifference(string(want), out.String()))
			}
		})
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

// script writes a log: the tests' way to make one for testdata, and to tell a story in a few lines.
type script struct {
	t   *testing.T
	at  time.Time
	s   Session
	log []Entry
}

func newScript(t *testing.T) *script {
	return &script{t: t, at: time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC), s: New(chat.ID{Platform: "web", Key: "c1"})}
}

func (x *script) after(d time.Duration) *script { x.at = x.at.Add(d); return x }

func (x *script) put(events ...Event) *script {
	x.t.Helper()
	for _, ev := range events {
		b, err := Encode(ev)
		if err != nil {
			x.t.Fatal(err)
		}
		back, err := Decode(b)
		if err != nil {
			x.t.Fatal(err)
		}
		e := Entry{Seq: uint64(len(x.log) + 1), At: x.at, Event: back}
		x.log = append(x.log, e)
		x.s = Apply(x.s, e)
	}
	return x
}

func (x *script) save(name string) {
	var b strings.Builder
	for _, e := range x.log {
		stored, err := Encode(e.Event)
		if err != nil {
			x.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", e.At.Format(time.RFC3339Nano), stored)
	}
	if err := os.WriteFile(filepath.Join("testdata", name+".log"), []byte(b.String()), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

var (
	ana = chat.User{Platform: "web", Key: "ana"}
	ben = chat.User{Platform: "web", Key: "ben"}
)

func says(id, text string, by chat.User) Said {
	return Said{Delivery: chat.Delivery(id), Message: chat.MessageRef(id), By: by, Name: strings.ToUpper(by.Key[:1]) + by.Key[1:], Text: text}
}

func proposes(id, tool, args string) Proposal {
	tl := permission.Tool{Server: "files", Name: tool, Definition: "d"}
	return Proposal{ID: CallID(id), Tool: tl, Args: json.RawMessage(args), Digest: permission.CallDigest(chat.ID{Platform: "web", Key: "c1"}, tl, []byte(args))}
}

func ruling(v permission.Verdict, a permission.Access) permission.Ruling {
	return permission.Ruling{Verdict: v, Access: a, Timeout: time.Minute, ChatGrant: true, Reasons: []permission.Reason{{Rule: "source", Text: "files asks before every call.", Won: true}}}
}

func rules(call, ask string, v permission.Verdict, a permission.Access) Ruled {
	return Ruled{Call: CallID(call), Ask: AskID(ask), Ruling: ruling(v, a), Card: Card{Describes: "Writes a file.", Server: "Files of the team."}, Say: "not allowed"}
}

func (x *script) call(id string) ToolCall {
	x.t.Helper()
	for _, tn := range []*Turn{x.s.Turn, x.s.Last} {
		if i := tn.find(CallID(id)); i >= 0 {
			return tn.Calls[i]
		}
	}
	x.t.Fatalf("no call %s", id)
	return ToolCall{}
}

func (x *script) starts(call, run string) *script {
	c := x.call(call)
	return x.put(Started{Call: c.ID, Run: RunID(run), Ask: c.Ask, Digest: c.Digest, Token: 1})
}

func (x *script) decides(call string, choice chat.Choice, by chat.User) *script {
	c := x.call(call)
	d := Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: by, Name: strings.ToUpper(by.Key[:1]) + by.Key[1:]}
	if choice == chat.AllowChat {
		d.Grant = &permission.Grant{ID: permission.GrantID("g-" + call), Chat: x.s.Chat, Tool: c.Tool, By: by, Name: d.Name, At: x.at}
	}
	return x.put(d)
}

// begin is a turn up to a reply with calls, shown.
func begin(t *testing.T, calls ...Proposal) *script {
	return newScript(t).put(says("m1", "please", ana), Shown{Turn: "t1", Message: "shown"}).
		after(time.Second).put(Replied{Turn: "t1", Text: "I'll do that.", Calls: calls})
}

// TestWriteLogs makes the recorded logs. It runs only with -update, and only for logs that do not exist: what
// was released stays.
func TestWriteLogs(t *testing.T) {
	for name, x := range map[string]*script{
		"allowed_once": begin(t, proposes("c1", "write_file", `{"path":"notes.txt"}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).
			after(5*time.Second).decides("c1", chat.AllowOnce, ana).starts("c1", "r1").after(200*time.Millisecond).
			put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "wrote 5 bytes"}}, Replied{Turn: "t1", Step: 1, Text: "Done."}, Ended{Turn: "t1", Why: Answered}),
		"mixed_batch": begin(t, proposes("c1", "read_file", `{"path":"a"}`), proposes("c2", "write_file", `{"path":"b"}`), proposes("c3", "write_file", `{"path":"c"}`)).
			put(rules("c1", "a1", permission.Allow, permission.Read), rules("c2", "a2", permission.Ask, permission.Write), rules("c3", "a3", permission.Ask, permission.Write)).
			starts("c1", "r1").put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "a"}}).after(3*time.Second).
			decides("c2", chat.AllowChat, ana).after(time.Second).decides("c3", chat.Deny, ana).starts("c2", "r2").
			put(Finished{Call: "c2", Run: "r2", Result: Result{Text: "disk full", IsError: true}}, Replied{Turn: "t1", Step: 1, Text: "One was denied."}, Ended{Turn: "t1", Why: Answered}),
		"expired_and_asked_again": begin(t, proposes("c1", "write_file", `{"path":"notes.txt"}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).
			after(time.Minute).put(Expired{Ask: "a1"}, Replied{Turn: "t1", Step: 1, Text: "Nobody answered."}, Ended{Turn: "t1", Why: Answered}).
			after(time.Hour).put(Reopened{Ask: "a1", By: ben, Name: "Ben", Next: "a2", NextCall: "c2"}, Shown{Turn: "t8", Message: "shown2"}, rules("c2", "a3", permission.Ask, permission.Write)),
		"unknown_outcome": begin(t, proposes("c1", "write_file", `{"path":"notes.txt"}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).
			decides("c1", chat.AllowOnce, ana).starts("c1", "r1").after(20*time.Second).
			put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute}).after(time.Second).
			put(Resolved{Ask: "a2", Answer: chat.Happened, By: ana, Name: "Ana"}, Replied{Turn: "t1", Step: 1, Text: "It happened, you say."}, Ended{Turn: "t1", Why: Answered}, Finished{Call: "c1", Run: "r1", Result: Result{Text: "late"}}),
		"stopped_with_queue": begin(t, proposes("c1", "write_file", `{"path":"notes.txt"}`)).put(rules("c1", "a1", permission.Ask, permission.Write), says("m2", "and another", ben)).
			put(StopAsked{Turn: "t1", By: ana, Name: "Ana"}, Ended{Turn: "t1", Why: WasStopped}),
	} {
		if _, err := os.Stat(filepath.Join("testdata", name+".log")); *update && os.IsNotExist(err) {
			x.save(name)
		}
		if _, err := os.Stat(filepath.Join("testdata", name+".log")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
