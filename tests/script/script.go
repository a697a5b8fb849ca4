// Package script tells what happens in a chat, for tests: a log in a few lines, and what is then to be expected of its fold, of what
// is owed, and of how its message looks.
package script

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Script writes a log: the tests' way to make one for testdata, and to tell a story in a few lines.
type Script struct {
	T       *testing.T
	Now     time.Time
	Session turn.Session
	Log     []turn.Entry
}

func New(t *testing.T) *Script {
	return &Script{T: t, Now: time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC), Session: turn.New(chat.ID{Platform: "web", Key: "c1"})}
}

func (x *Script) After(d time.Duration) *Script { x.Now = x.Now.Add(d); return x }

func (x *Script) Put(events ...turn.Event) *Script {
	x.T.Helper()
	for _, ev := range events {
		b, err := turn.Encode(ev)
		if err != nil {
			x.T.Fatal(err)
		}
		back, err := turn.Decode(b)
		if err != nil {
			x.T.Fatal(err)
		}
		e := turn.Entry{Seq: uint64(len(x.Log) + 1), At: x.Now, Event: back}
		x.Log = append(x.Log, e)
		x.Session = turn.Apply(x.Session, e)
	}
	return x
}

func (x *Script) Save(name string) {
	var b strings.Builder
	for _, e := range x.Log {
		stored, err := turn.Encode(e.Event)
		if err != nil {
			x.T.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", e.At.Format(time.RFC3339Nano), stored)
	}
	if err := os.WriteFile(filepath.Join("testdata", name+".log"), []byte(b.String()), 0o644); err != nil {
		x.T.Fatal(err)
	}
}

func (x *Script) Call(id string) turn.ToolCall {
	x.T.Helper()
	for _, tn := range []*turn.Turn{x.Session.Turn, x.Session.Last} {
		if i := tn.Find(turn.CallID(id)); i >= 0 {
			return tn.Calls[i]
		}
	}
	x.T.Fatalf("no call %s", id)
	return turn.ToolCall{}
}

func (x *Script) Starts(call, run string) *Script {
	c := x.Call(call)
	return x.Put(turn.Started{Call: c.ID, Run: turn.RunID(run), Ask: c.Ask, Digest: c.Digest, Token: 1})
}

func (x *Script) Decides(call string, choice chat.Choice, by chat.User) *Script {
	c := x.Call(call)
	d := turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: by, Name: strings.ToUpper(by.Key[:1]) + by.Key[1:]}
	if choice == chat.AllowChat {
		d.Grant = &permission.Grant{ID: permission.GrantID("g-" + call), Chat: x.Session.Chat, Tool: c.Tool, By: by, Name: d.Name, At: x.Now}
	}
	return x.Put(d)
}

// Ignores: the events change nothing, each by itself.
func (x *Script) Ignores(why string, events ...turn.Event) *Script {
	x.T.Helper()
	for _, ev := range events {
		before, log := x.Session, x.Log
		x.Put(ev)
		if !reflect.DeepEqual(before, x.Session) {
			x.T.Errorf("%s: %s took effect:\n%s\n%s", why, ev.Kind(), JSON(x.T, before), JSON(x.T, x.Session))
		}
		x.Session, x.Log = before, log
	}
	return x
}

// Takes: the event does something. It stands after ignores, so that a test of what is refused also shows what is not.
func (x *Script) Takes(ev turn.Event) *Script {
	x.T.Helper()
	before := x.Session
	x.Put(ev)
	if reflect.DeepEqual(before, x.Session) {
		x.T.Errorf("%s changed nothing: %s", ev.Kind(), JSON(x.T, ev))
	}
	return x
}

// Fork is the same story up to here, to be told on in another way.
func (x *Script) Fork() *Script {
	y := *x
	y.Log = slices.Clip(y.Log)
	return &y
}

// Answer ends the open turn with words.
func (x *Script) Answer() *Script {
	x.T.Helper()
	return x.Put(turn.Replied{Turn: x.Session.Turn.ID, Step: x.Session.Turn.Step, Text: "Well."}, turn.Ended{Turn: x.Session.Turn.ID, Why: turn.Answered})
}

// Waiting are the texts that wait, in order.
func (x *Script) Waiting() []string {
	var texts []string
	for _, w := range x.Session.Waiting {
		texts = append(texts, talk.Said(w))
	}
	return texts
}

// Brings puts an event as an operation of that name brought it.
func (x *Script) Brings(op string, ev turn.Event) *Script {
	e := turn.Entry{Seq: uint64(len(x.Log) + 1), Op: op, At: x.Now, Event: ev}
	x.Log = append(x.Log, e)
	x.Session = turn.Apply(x.Session, e)
	return x
}

// Is checks how a call stands and the beginning of its result.
func (x *Script) Is(call string, status turn.Status, result string) *Script {
	x.T.Helper()
	c := x.Call(call)
	if c.Status != status || !strings.HasPrefix(ResultOf(c).Text, result) || (c.Result == nil) != (result == "") {
		x.T.Errorf("%s is %s with %q, want %s with %q", call, c.Status, ResultOf(c).Text, status, result)
	}
	return x
}

// Owes checks what Next says, and OwesIn the same in another environment.
func (x *Script) Owes(why string, want ...turn.Command) *Script {
	x.T.Helper()
	return x.OwesIn(why, turn.Env{}, want...)
}

func (x *Script) OwesIn(why string, env turn.Env, want ...turn.Command) *Script {
	x.T.Helper()
	if got := turn.Next(x.Session, x.Now, env); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		x.T.Errorf("%s: owed %#v, want %#v", why, got, want)
	}
	return x
}

// Forbids: policy rules that the call is forbidden, which settles it.
func (x *Script) Forbids(call string) *Script {
	return x.Put(Rules(call, "f-"+call, permission.Forbid, permission.Write))
}

func (x *Script) Decide(by chat.User, choice chat.Choice) *Script {
	return x.Put(turn.Decided{Ask: x.Call("c1").Ask, Digest: x.Call("c1").Digest, Choice: choice, By: by})
}

// Seen says that the cards of these asks stand in the message: an edit brought them.
func (x *Script) Seen(asks ...turn.AskID) *Script {
	ev := turn.Shown{Turn: x.Session.Turn.ID}
	for _, a := range asks {
		ev.Asks = append(ev.Asks, turn.Appeared{Ask: a})
	}
	return x.Put(ev)
}

var (
	Ana = chat.User{Platform: "web", Key: "ana"}
	Ben = chat.User{Platform: "web", Key: "ben"}
)

func Says(id, text string, by chat.User) turn.Said {
	return turn.Said{Delivery: chat.Delivery(id), Message: chat.MessageRef(id), By: by, Name: strings.ToUpper(by.Key[:1]) + by.Key[1:], Text: text}
}

func Proposes(id, tool, args string) turn.Proposal {
	tl := permission.Tool{Server: "files", Name: tool, Definition: "d"}
	return turn.Proposal{ID: turn.CallID(id), Tool: tl, Args: json.RawMessage(args), Digest: permission.CallDigest(chat.ID{Platform: "web", Key: "c1"}, tl, []byte(args))}
}

func Ruling(v permission.Verdict, a permission.Access) permission.Ruling {
	return permission.Ruling{Verdict: v, Access: a, Timeout: time.Minute, ChatGrant: true, Reasons: []permission.Reason{{Rule: "source", Text: "files asks before every call.", Won: true}}}
}

func Rules(call, ask string, v permission.Verdict, a permission.Access) turn.Ruled {
	return turn.Ruled{Call: turn.CallID(call), Ask: turn.AskID(ask), Ruling: Ruling(v, a), Card: turn.Card{Describes: "Writes a file.", Server: "Files of the team."}, Say: "not allowed"}
}

// Begin is a turn up to a reply with calls, shown.
func Begin(t *testing.T, calls ...turn.Proposal) *Script {
	return New(t).Put(Says("m1", "please", Ana), turn.Shown{Turn: "t1", Message: "shown"}).
		After(time.Second).Put(turn.Replied{Turn: "t1", Text: "I'll do that.", Calls: calls})
}

// Asked is a turn whose one call waits for Ana.
func Asked(t *testing.T) *Script {
	return Begin(t, Proposes("c1", "write_file", `{}`)).Put(Rules("c1", "a1", permission.Ask, permission.Write))
}

// Ran is a turn whose one call was allowed by Ana and runs.
func Ran(t *testing.T) *Script { return Asked(t).Decides("c1", chat.AllowOnce, Ana).Starts("c1", "r1") }

// Lost is a turn of whose one run nobody knows the end; a2 asks until a minute from now.
func Lost(t *testing.T) *Script {
	return Ran(t).Put(turn.Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a2", Wait: time.Minute, Say: "The connection was lost."})
}

// Covered is a batch: c1 waits, c2 has run under Ana's grant g, c3 and c4 may run: under g, and by policy alone. c5 is Ben's once.
func Covered(t *testing.T) *Script {
	var calls []turn.Proposal
	for i := 1; i <= 5; i++ {
		calls = append(calls, Proposes(fmt.Sprintf("c%d", i), "w", fmt.Sprintf(`{"n":%d}`, i)))
	}
	x := Begin(t, calls...)
	x.Session.Grants = []permission.Grant{{ID: "g", Chat: x.Session.Chat, Tool: x.Call("c1").Tool, By: Ana}}
	by := func(call, ask string, a permission.Access, g permission.GrantID) turn.Ruled {
		r := Rules(call, ask, permission.Allow, a)
		r.Ruling.Grant = g
		return r
	}
	x.Put(Rules("c1", "a1", permission.Ask, permission.Write), by("c2", "a2", permission.Read, "g"), by("c3", "a3", permission.Write, "g"), by("c4", "a4", permission.Write, ""), Rules("c5", "a5", permission.Ask, permission.Write))
	return x.Starts("c2", "r2").Put(turn.Finished{Call: "c2", Run: "r2", Result: turn.Result{Text: "two"}}).Decides("c5", chat.AllowOnce, Ben)
}

func Amends(x *Script, ask, args string) turn.Amended {
	c := x.Call("c1")
	return turn.Amended{Ask: turn.AskID(ask), By: Ana, Name: "Ana", Args: []byte(args), Digest: permission.CallDigest(x.Session.Chat, c.Tool, []byte(args))}
}

// Granting is a click on x's one card that gives g as f leaves it.
func Granting(x *Script, choice chat.Choice, f func(*permission.Grant)) turn.Decided {
	c := x.Call("c1")
	g := permission.Grant{ID: "g1", Chat: x.Session.Chat, Tool: c.Tool, By: Ana, Name: "Ana"}
	f(&g)
	return turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: choice, By: Ana, Name: "Ana", Grant: &g}
}

func JSON(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ResultOf is a call's result in words; empty where it has none.
func ResultOf(c turn.ToolCall) turn.Result {
	if c.Result == nil {
		return turn.Result{}
	}
	return talk.Result(*c.Result)
}
