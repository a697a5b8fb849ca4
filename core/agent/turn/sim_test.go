package turn_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/harness/machine"
	"github.com/nodhq/nod/tests/script"
)

var (
	simSeeds = flag.Int("sim.seeds", 2000, "how many seeds the simulation runs")
	simSeed  = flag.Uint64("sim.seed", 0, "replay this one seed, with its log printed")
)

func TestMain(m *testing.M) {
	machine.SpendMemory()
	m.Run()
}

// The simulation runs the pure core as several replicas would: stale folds, lost leases, crashes in every place,
// duplicated and tampered clicks. The oracle is the tool's own ledger, never the log.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		w := newWorld(t, *simSeed)
		w.verbose = true
		w.live()
		return
	}
	for seed := uint64(1); seed <= uint64(*simSeeds); seed++ {
		lived(t, seed)
		if t.Failed() {
			t.Fatalf("replay: go test ./core/agent/turn -run TestSimulation -sim.seed=%d -v", seed)
		}
	}
}

// told are the first worlds after their lives, for every test that looks at them.
var told [401]*world

// lived is the world of a seed after its life.
func lived(t *testing.T, seed uint64) *world {
	keep := seed < uint64(len(told))
	if keep && told[seed] != nil {
		return told[seed]
	}
	w := newWorld(t, seed)
	w.live()
	if keep {
		told[seed] = w
	}
	return w
}

type world struct {
	t       *testing.T
	r       *rand.Rand
	verbose bool
	id      chat.ID
	now     time.Time
	log     []Entry
	fence   uint64
	holder  int // index of the replica that holds the lease, or -1
	reps    []*replica
	people  []chat.User
	n       int

	ledger    map[RunID]permission.Digest // what the tool server did
	approved  map[AskID]permission.Digest // what a person allowed, by asking
	lateRuns  []Finished                  // results that are still on their way
	whole     Session                     // the fold of all of log
	runsOfAsk map[AskID]int
}

type replica struct {
	s     Session
	seq   int // entries folded
	token uint64
	live  RunID
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)), id: chat.ID{Platform: "web", Key: "c"},
		now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), holder: -1,
		ledger: map[RunID]permission.Digest{}, approved: map[AskID]permission.Digest{}, runsOfAsk: map[AskID]int{},
	}
	w.whole = New(w.id)
	for range 3 {
		w.reps = append(w.reps, &replica{s: New(w.id)})
	}
	for _, k := range []string{"ana", "ben"} {
		w.people = append(w.people, chat.User{Platform: "web", Key: k})
	}
	return w
}

func (w *world) mint(p string) string     { w.n++; return fmt.Sprintf("%s%d", p, w.n) }
func (w *world) chance(pct int) bool      { return w.r.IntN(100) < pct }
func pickOne[T any](w *world, list []T) T { return list[w.r.IntN(len(list))] }

// append is the log: blind facts, exact choices, exact and fenced work.
func (w *world) append(rep *replica, ev Event) bool {
	switch ClassOf(ev) {
	case Choice:
		if rep.seq != len(w.log) {
			return false
		}
	case Work:
		if rep.seq != len(w.log) || w.holder < 0 || w.reps[w.holder] != rep || rep.token != w.fence {
			return false
		}
	}
	w.put(ev)
	return true
}

func (w *world) put(ev Event) {
	b, err := Encode(ev)
	if err != nil {
		w.t.Fatalf("encode %s: %v", ev.Kind(), err)
	}
	back, err := Decode(b)
	if err != nil {
		w.t.Fatalf("decode %s: %v", ev.Kind(), err)
	}
	e := Entry{Seq: uint64(len(w.log) + 1), Op: fmt.Sprint(len(w.log)), At: w.now, Event: back}
	w.log = append(w.log, e)
	if w.verbose {
		w.t.Logf("%3d +%s %s %s", e.Seq, w.now.Sub(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)), ev.Kind(), b)
	}
	before := w.whole
	check := w.chance(20)
	var bytesBefore []byte
	if check {
		bytesBefore = script.JSON(w.t, before)
	}
	w.whole = Apply(before, e)
	if check {
		if !bytes.Equal(bytesBefore, script.JSON(w.t, before)) { // P2
			w.t.Errorf("Apply(%s) changed its receiver", ev.Kind())
		}
		again := Apply(w.whole, Entry{Seq: e.Seq + 1, At: w.now.Add(time.Millisecond), Event: back}) // P3
		if !reflect.DeepEqual(again, w.whole) {
			w.t.Errorf("%s repeated changed something:\n%s\n%s", ev.Kind(), script.JSON(w.t, w.whole), script.JSON(w.t, again))
		}
		old := pickOne(w, w.log)
		if _, repeatable := old.Event.(Expired); !repeatable {
			if again := Apply(w.whole, Entry{Seq: e.Seq + 1, At: w.now, Event: old.Event}); !reflect.DeepEqual(again, w.whole) && w.tookEffect(old) {
				w.t.Errorf("%s of entry %d repeated at %d changed something:\n%s\n%s", old.Event.Kind(), old.Seq, e.Seq, script.JSON(w.t, w.whole), script.JSON(w.t, again))
			}
		}
	}
	if d, ok := ev.(Decided); ok && (d.Choice == chat.AllowOnce || d.Choice == chat.AllowChat) {
		if c := before.Turn.Asking(d.Ask); c.Status == Awaiting && c.Digest == d.Digest && !c.Overdue(w.now) {
			w.approved[d.Ask] = d.Digest
		}
	}
}

// tookEffect: an entry that changed nothing where it stood (a stale or tampered one) may fit later; one that
// did something must never do it twice.
func (w *world) tookEffect(e Entry) bool {
	s := Fold(New(w.id), w.log[:e.Seq-1])
	return !reflect.DeepEqual(s, Apply(s, e))
}

func (w *world) live() {
	for range 120 {
		w.tick()
		w.check()
		if w.t.Failed() {
			return
		}
	}
	w.drain()
}

func (w *world) tick() {
	rep := pickOne(w, w.reps)
	switch p := w.r.IntN(100); {
	case p < 6:
		u := pickOne(w, w.people)
		w.put(Said{Delivery: chat.Delivery(w.mint("d")), Message: chat.MessageRef(w.mint("m")), By: u, Name: u.Key, Text: "please"})
	case p < 22:
		w.catchUp(rep)
	case p < 30: // the lease moves: the old holder does not know
		w.holder = slices.Index(w.reps, rep)
		w.fence++
		rep.token = w.fence
		w.catchUp(rep)
	case p < 34: // crash: what ran is forgotten, or its result comes late
		rep.live, rep.token = "", 0
		rep.s, rep.seq = New(w.id), 0
		if w.holder >= 0 && w.reps[w.holder] == rep {
			w.holder = -1
		}
	case p < 40:
		w.now = w.now.Add(time.Duration(w.r.IntN(40)) * time.Second)
	case p < 44 && len(w.lateRuns) > 0:
		i := w.r.IntN(len(w.lateRuns))
		w.put(w.lateRuns[i])
		if w.chance(70) {
			w.lateRuns = slices.Delete(w.lateRuns, i, i+1)
		}
	case p < 47 && len(w.log) > 0: // a redelivery that slipped through
		if e := pickOne(w, w.log); ClassOf(e.Event) == Fact {
			w.put(e.Event)
		}
	case p < 68:
		w.click(rep)
	default:
		if w.holder >= 0 && w.chance(80) {
			rep = w.reps[w.holder]
		}
		w.work(rep)
	}
}

func (w *world) catchUp(rep *replica) {
	rep.s = Fold(rep.s, w.log[rep.seq:])
	rep.seq = len(w.log)
}

// click: anybody presses anything, on a fold that may be stale, sometimes tampered with.
func (w *world) click(rep *replica) {
	if w.chance(60) {
		w.catchUp(rep)
	}
	var calls []ToolCall
	for _, t := range []*Turn{rep.s.Turn, rep.s.Last} {
		if t != nil {
			calls = append(calls, t.Calls...)
		}
	}
	u := pickOne(w, w.people)
	if rep.s.Turn != nil && w.chance(4) {
		w.append(rep, StopAsked{Turn: rep.s.Turn.ID, By: u, Name: u.Key})
		return
	}
	if w.chance(3) {
		w.append(rep, ModeSet{Mode: permission.Mode(w.r.IntN(3)), Rev: rep.s.ModeRev + w.r.IntN(3), By: u})
		return
	}
	if w.chance(1) {
		w.append(rep, Reset{Rev: rep.s.ResetRev + 1, By: u})
		return
	}
	if len(rep.s.Grants) > 0 && w.chance(10) {
		w.append(rep, Revoked{Grants: []permission.GrantID{pickOne(w, rep.s.Grants).ID}, By: u})
		return
	}
	if len(calls) == 0 {
		return
	}
	c := pickOne(w, calls)
	ask := c.Ask
	if w.chance(15) && len(c.Asks) > 0 {
		ask = pickOne(w, c.Asks) // an old button
	}
	digest := c.Digest
	if w.chance(10) {
		digest = "tampered"
	}
	var ev Event
	switch w.r.IntN(13) {
	case 12:
		args := json.RawMessage(fmt.Sprintf(`{"edited":%d}`, w.r.IntN(3)))
		ev = Amended{Ask: ask, By: u, Name: u.Key, Args: args, Digest: permission.CallDigest(w.id, c.Tool, args)}
	case 0, 1, 2:
		ev = Decided{Ask: ask, Digest: digest, Choice: chat.AllowOnce, By: u, Name: u.Key}
	case 3, 4:
		g := permission.Grant{ID: permission.GrantID(w.mint("g")), Chat: w.id, Tool: c.Tool, By: u, At: w.now}
		if w.chance(15) {
			g.Tool.Name = "other"
		}
		ev = Decided{Ask: ask, Digest: digest, Choice: chat.AllowChat, By: u, Grant: &g}
	case 5, 6:
		ev = Decided{Ask: ask, Digest: digest, Choice: chat.Choice(pickOne(w, []string{"deny", "", "garbage"})), By: u, Reason: "no"}
	case 7:
		ev = Withdrawn{Ask: ask, By: u, Next: AskID(w.mint("ask"))}
	case 8:
		ev = Extended{Ask: ask, By: u, Until: c.Deadline.Add(5 * time.Minute)}
	case 9:
		ev = Reopened{Ask: ask, By: u, Next: AskID(w.mint("ask")), NextCall: CallID(w.mint("call"))}
	default:
		ev = Resolved{Ask: ask, Answer: pickOne(w, []chat.Choice{chat.Happened, chat.Leave, chat.RunAgain}), By: u, Next: AskID(w.mint("ask"))}
	}
	w.append(rep, ev)
	if w.chance(20) {
		w.catchUp(rep)
		w.append(rep, ev) // double click
	}
}

// work does one thing that Next says, the way a driver does; the replica may be stale or fenced off.
func (w *world) work(rep *replica) {
	if w.chance(70) {
		w.catchUp(rep)
	}
	for _, x := range Waits(rep.s) {
		if x.Seen == nil && w.chance(70) {
			w.put(Shown{Turn: rep.s.Turn.ID, Asks: []Appeared{{Ask: x.Ask}}})
		}
	}
	cmds := Next(rep.s, w.now, Env{Live: rep.live, MaxSteps: 6, MaxDenials: 3, Nudge: 20 * time.Second, Escalate: 30 * time.Second, Room: 5, Long: 20 * time.Second})
	if len(cmds) == 0 {
		if rep.live != "" {
			w.finish(rep)
		}
		return
	}
	t := rep.s.Turn
	switch c := pickOne(w, cmds).(type) {
	case Nudge:
		w.put(Posted{Turn: c.Turn, Slot: c.Slot, Message: chat.MessageRef(w.mint("note"))})
	case Escalate:
		w.put(Posted{Turn: c.Turn, Slot: c.Slot, Who: []string{"somebody"}})
	case TellEnd:
		w.put(Posted{Turn: c.Turn, Slot: c.Slot, Message: chat.MessageRef(w.mint("note"))})
	case Remove:
		w.put(Removed{Turn: c.Turn, Slot: c.Slot})
	case Continue:
		w.put(Posted{Turn: c.Turn, Slot: RestDone})
	case Show:
		w.put(Shown{Turn: c.Turn, Message: chat.MessageRef(w.mint("shown"))})
	case AskModel:
		rep := rep
		ev := Replied{Turn: t.ID, Step: c.Step, Text: "I will see.", Usage: Usage{Input: 1, Output: 1}}
		for range max(0, w.r.IntN(5)-1-c.Step) {
			tool := permission.Tool{Server: "files", Name: pickOne(w, []string{"read", "write"}), Definition: "d"}
			args := json.RawMessage(fmt.Sprintf(`{"n":%d}`, w.r.IntN(3)))
			p := Proposal{ID: CallID(w.mint("call")), Tool: tool, Args: args, Digest: permission.CallDigest(w.id, tool, args)}
			if w.chance(5) {
				p.Problem = "no such tool"
			}
			ev.Calls = append(ev.Calls, p)
		}
		w.append(rep, ev)
	case Rule:
		i := t.Find(c.Call)
		w.append(rep, Ruled{Call: c.Call, Ask: AskID(w.mint("ask")), Ruling: w.rule(rep.s, t.Calls[i]), Say: "no"})
	case RunTool:
		i := t.Find(c.Call)
		call := t.Calls[i]
		if w.chance(8) { // the policy tightened meanwhile
			w.append(rep, Ruled{Call: c.Call, Ask: AskID(w.mint("ask")), Ruling: permission.Ruling{Verdict: pickOne(w, []permission.Verdict{permission.Ask, permission.Forbid}), Timeout: time.Minute}, Say: "no"})
			return
		}
		run := RunID(w.mint("run"))
		if !w.append(rep, Started{Call: c.Call, Run: run, Ask: call.Ask, Digest: call.Digest, Grant: call.Ruling.Grant, Token: rep.token}) {
			return
		}
		w.catchUp(rep)
		j := rep.s.Turn.Find(c.Call)
		if j < 0 || rep.s.Turn.Calls[j].Run != run || rep.s.Turn.Calls[j].Status != Running {
			return
		}
		if w.chance(10) {
			return // crashed between the start and the call: it may not have run
		}
		w.execute(call, run)
		rep.live = run
		if w.chance(70) {
			w.finish(rep)
		}
	case Recover:
		call := t.Calls[t.Find(c.Call)]
		ev := Abandoned{Call: c.Call, Run: c.Run, Token: rep.token, Own: rep.token == call.Token, Ask: AskID(w.mint("ask")), Wait: time.Minute}
		if call.Ruling.Access == permission.Read && w.chance(50) {
			ev.Repeat = "read_only"
		}
		w.append(rep, ev)
	case Cancel:
		w.finish(rep)
	case Expire:
		w.append(rep, Expired{Ask: c.Ask})
	case End:
		w.append(rep, Ended{Turn: t.ID, Why: c.Why})
	}
}

// execute is the tool server: its ledger is the oracle.
func (w *world) execute(c ToolCall, run RunID) {
	if _, twice := w.ledger[run]; twice {
		w.t.Errorf("run %s executed twice", run) // P5
	}
	w.ledger[run] = c.Digest
	if c.Asked {
		w.runsOfAsk[c.Ask]++
		if w.approved[c.Ask] != c.Digest || c.Digest == "" { // P4
			w.t.Errorf("%s ran with digest %s, approved was %q", c.ID, c.Digest, w.approved[c.Ask])
		}
		if w.runsOfAsk[c.Ask] > 1 && c.Repeats == 0 {
			w.t.Errorf("approval %s was used %d times", c.Ask, w.runsOfAsk[c.Ask])
		}
	} else if c.Ruling.Verdict != permission.Allow {
		w.t.Errorf("%s ran without an allowing ruling", c.ID)
	}
}

func (w *world) finish(rep *replica) {
	if rep.live == "" {
		return
	}
	ev := Finished{Run: rep.live, Result: Result{Text: "ok", IsError: w.chance(20)}}
	for _, s := range []*Turn{rep.s.Turn, rep.s.Last} {
		if s == nil {
			continue
		}
		for _, c := range s.Calls {
			if slices.Contains(c.Runs, rep.live) {
				ev.Call = c.ID
			}
		}
	}
	rep.live = ""
	if ev.Call == "" {
		return
	}
	if w.chance(15) {
		w.lateRuns = append(w.lateRuns, ev)
		return
	}
	w.put(ev)
}

func (w *world) rule(s Session, c ToolCall) permission.Ruling {
	r := permission.Ruling{ChatGrant: true, Timeout: time.Minute, Access: permission.Write}
	if c.Tool.Name == "read" {
		r.Access = permission.Read
	}
	for _, g := range s.Grants {
		if g.Tool == c.Tool && g.Chat == w.id {
			r.Verdict, r.Grant = permission.Allow, g.ID
			return r
		}
	}
	switch {
	case r.Access == permission.Read && w.chance(50):
		r.Verdict = permission.Allow
	case w.chance(5):
		r.Verdict = permission.Forbid
	}
	if w.chance(10) {
		r.Timeout = 0
	}
	return r
}

// check holds after every step.
func (w *world) check() {
	s := w.whole
	if w.chance(5) { // P1: snapshot and tail fold to the same
		cut := w.r.IntN(len(w.log) + 1)
		b, err := EncodeSession(Fold(New(w.id), w.log[:cut]))
		if err != nil {
			w.t.Fatal(err)
		}
		half, err := DecodeSession(b)
		if err != nil {
			w.t.Fatal(err)
		}
		if got := Fold(half, w.log[cut:]); !bytes.Equal(script.JSON(w.t, got), script.JSON(w.t, s)) {
			w.t.Errorf("snapshot at %d and tail differ from the whole:\n%s\n%s", cut, script.JSON(w.t, got), script.JSON(w.t, s))
		}
	}
	if s.Turn != nil {
		// P6: something is owed, or a named person is waited for, or a run is live.
		if len(Next(s, w.now, Env{})) == 0 && len(Waits(s)) == 0 {
			w.t.Errorf("the session is stuck: %s", script.JSON(w.t, s))
		}
		if len(Waits(s)) > 0 && s.Turn.Requester.IsZero() {
			w.t.Error("it waits for nobody")
		}
		running := 0
		for _, c := range s.Turn.Calls {
			if c.Status == Running {
				running++
			}
			if (c.Status == Awaiting) == c.Settled() && c.Status == Awaiting {
				w.t.Errorf("%s waits and is settled", c.ID)
			}
		}
		if running > 1 {
			w.t.Errorf("%d calls run at once", running)
		}
	}
	for _, u := range talk.Of(s) {
		for _, c := range u.Calls {
			if c.Result.Text == "No result yet." && s.Turn == nil {
				w.t.Errorf("call %s has no result in the transcript", c.ID)
			}
		}
	}
	for _, g := range s.Grants {
		if g.Tool.Name == "other" || g.Chat != w.id {
			w.t.Errorf("a forged grant was taken: %+v", g)
		}
	}
	if w.chance(10) {
		checkView(w.t, s)
	}
}

// checkView is P7.
func checkView(t *testing.T, s Session) {
	for _, tn := range []*Turn{s.Turn, s.Last} {
		if tn == nil {
			continue
		}
		m := card.View(s, tn, card.Live{})
		if len(m.Blocks) == 0 {
			t.Error("an empty message")
		}
		fitted := render.Fit(m, render.Floor)
		if !render.Within(fitted, render.Floor) {
			t.Errorf("the view does not fit the floor: %+v", render.Measure(fitted))
		}
		open := 0
		for _, c := range tn.Calls {
			if c.Status == Awaiting && tn.End == "" {
				open++
			}
		}
		deny, allow := 0, 0
		for _, b := range m.Blocks {
			if a, ok := b.(render.Ask); ok {
				for _, c := range a.Choices {
					switch c.Choice {
					case chat.Deny:
						deny++
					case chat.DenyAll: // of reads that are asked together
						deny += len(Batch(s, c.Token))
					case chat.AllowOnce, chat.AllowChat:
						allow++
						if a.Args.TooBig {
							t.Error("Allow on a call that cannot be shown in full")
						}
					}
				}
			}
		}
		if deny != open {
			t.Errorf("%d asks open, %d Deny buttons", open, deny)
		}
	}
}

// drain: nothing fails any more, people deny whatever is asked: the session must come to its end.
func (w *world) drain() {
	w.holder, w.fence = 0, w.fence+1
	rep := w.reps[0]
	rep.token, rep.live = w.fence, ""
	for range 800 {
		w.catchUp(rep)
		if rep.s.Turn == nil && len(rep.s.Waiting) == 0 {
			return
		}
		if ws := Waits(rep.s); len(ws) > 0 && len(Next(rep.s, w.now, Env{Live: rep.live, MaxSteps: 6})) == 0 {
			for _, x := range ws {
				if i := rep.s.Turn.Find(x.Call); rep.s.Turn.Calls[i].Status == Unknown {
					w.append(rep, Resolved{Ask: x.Ask, Answer: chat.Leave, By: w.people[0]})
				} else {
					w.append(rep, Decided{Ask: x.Ask, Digest: rep.s.Turn.Calls[i].Digest, By: w.people[0]})
				}
				w.catchUp(rep)
			}
			w.now = w.now.Add(time.Second)
			continue
		}
		w.work(rep)
		w.check()
		if w.t.Failed() {
			return
		}
	}
	w.t.Errorf("the session does not come to its end: %s", script.JSON(w.t, w.whole))
}
