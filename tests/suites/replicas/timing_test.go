package replicas

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// clocked is a world whose log has a clock that the test moves, an hour ahead of everybody's.
func clocked(t *testing.T, o Options) (w *World, clock func(time.Duration)) {
	return clockedAt(t, time.Now().Add(time.Hour), o)
}

func clockedAt(t *testing.T, start time.Time, o Options) (w *World, clock func(time.Duration)) {
	var redis *miniredis.Miniredis
	o.Backend = Backend{Name: "clocked", Start: func(t testing.TB) string {
		redis = miniredis.RunT(t)
		redis.SetTime(start)
		return "redis://" + redis.Addr()
	}}
	return New(t, o), func(d time.Duration) { redis.SetTime(start.Add(d)) }
}

// asking reports whether a card stands in a view.
func asking(m render.Message) bool {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			return true
		}
	}
	return false
}

// F18: a card that appears after its time would have been over has all of its time from then on, a card that nobody can see yet does not
// expire, and one that was seen does.
func TestALateCardHasItsFullTime(t *testing.T) {
	w, clock := clocked(t, Options{})
	free, held := w.Latch(), w.Latch()
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && asking(op.View) {
			held.Open()
			return Trouble{Until: free.C()}
		}
		return Trouble{}
	})
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	<-held.C()
	clock(5 * time.Minute)
	w.Say(w.Replicas[0], Ben, "hello?") // an engine learns the log's time from what is written
	free.Open()
	b := w.Await(chat.AllowOnce, "write")
	seen(w)
	clock(6*time.Minute - time.Second)
	equal(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "")
	w.Ran("write")
}

// A replica that finds an overdue question does not spend an edit on showing it open once more: what people see next says that it is over.
func TestAnOverdueQuestionIsDrawnSettled(t *testing.T) {
	w, clock := clockedAt(t, time.Now().Add(-time.Hour), Options{Sweep: time.Hour}) // a new replica knows its own clock alone: by that, too, it is overdue
	w.Model.When("go", Calls(Call("write", `{}`)), Says("Too bad."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	seen(w)
	idle(w)
	w.Replicas[0].Kill()
	clock(10 * time.Minute)
	var open atomic.Int32
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && asking(op.View) {
			open.Add(1)
		}
		return Trouble{}
	})
	w.Start()
	has(w, "the message", w.Over(0), "nobody answered", "Too bad.")
	equal(w, "edits that showed it open", open.Load(), 0)
}

// setBack are leases of which nothing is claimed until back is there: it is done with the next claim.
type setBack struct {
	*Gate
	back *atomic.Pointer[func()]
}

func (l setBack) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	back := l.back.Load()
	if back == nil {
		return nil, nil
	}
	got, err := l.Gate.ClaimDue(ctx, owner, n)
	if len(got) > 0 {
		(*back)()
	}
	return got, err
}

// Where the log's clock was set back, a question that was planned to be over is still open, and the model hears nothing of it yet.
func TestAQuestionIsStillOpenByTheLogsClock(t *testing.T) {
	var back atomic.Pointer[func()]
	w, clock := clocked(t, Options{Engine: func(c *agent.Config) { c.Leases = setBack{c.Log.(*Gate), &back} }})
	learn := func(words string) { // an engine learns the log's time from what is written
		equal(w, "whisper", w.Deliver(w.Replicas[0], inRoom(w, 1, words)), "")
	}
	var heard atomic.Int32
	w.Model.When("go", Calls(Call("write", `{}`)), func(h Heard) (agent.Reply, error) {
		heard.Add(1)
		return Says("Too bad.")(h)
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	seen(w)
	clock(10 * time.Minute)
	learn("hello?")
	idle(w)
	var once sync.Once
	set := func() { once.Do(func() { clock(10 * time.Second) }) }
	back.Store(&set)
	w.Until("it was planned to be over", func() bool {
		all, err := w.Replicas[0].Gate.History(t.Context(), Room)
		return err == nil && slices.ContainsFunc(all, func(x turn.Entry) bool { _, is := x.Event.(turn.Expired); return is })
	})
	idle(w)
	equal(w, "open", w.Asked(), "write")
	equal(w, "how often the model heard that nobody answered", heard.Load(), 0)
	clock(11 * time.Minute)
	learn("hello again?")
	has(w, "the message", w.Over(0), "nobody answered", "Too bad.")
}

// Who clicks saw the card, also before that is on record.
func TestAClickProvesThatTheCardWasSeen(t *testing.T) {
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.ApproveAll, chat.Extend} {
		t.Run(string(choice), func(t *testing.T) {
			w, clock := clocked(t, Options{})
			free, held := w.Latch(), w.Latch()
			w.Platform.Trouble(func(op Op) Trouble {
				if !op.Post && asking(op.View) {
					held.Open()
					return Trouble{Until: free.C()}
				}
				return Trouble{}
			})
			lately(w, Call("write", `{}`), Call("send", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			<-held.C()
			clock(5 * time.Minute)
			token := string(callOf(w, "write").Ask)
			if choice == chat.ApproveAll {
				token = turn.BatchToken(turn.OpenAsks(session(w)))
			}
			decide(w, api(w, Ana, choice, token))
			if c := callOf(w, "write"); c.Seen == nil {
				t.Errorf("%s: nobody saw %+v", choice, c)
			}
			free.Open()
		})
	}
}

// F30: who may decide where the requester may not is told at once, and nobody else is, however the card came.
func TestThoseWhoMayDecideAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		policy func(*permission.Policy)
		want   string // who is named; "-": nobody is told
	}{
		"listed": {func(p *permission.Policy) {
			p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ben}}
		}, "ben, "},
		"the requester": {func(*permission.Policy) {}, "-"},
		"listed elsewhere": {func(p *permission.Policy) {
			p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{{Platform: "other", Key: "zoe"}}}
		}, "root, "},
		"two of anybody": {func(p *permission.Policy) {
			two := permission.People(2)
			p.Rights.MinApprovals, p.Approvers.Rule = &two, permission.ApproversAnyone
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Hour }})
			w.SetPolicy(func(p *permission.Policy, _ tools) { c.policy(p) })
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			w.Asks("write")
			if c.want == "-" {
				seen(w)
				idle(w)
				equal(w, "notes", len(w.Platform.Notes()), 0)
				return
			}
			w.Until("a nudge", func() bool { return len(w.Platform.Notes()) == 1 })
			has(w, "the nudge", "."+noteText(w.Platform.Notes()[0]), "."+c.want+"a tool call waits for your answer: Run write from files")
		})
	}
}

// A question whose edit would come late is posted anew: that message is the turn's, the one before says so, and its buttons do nothing.
func TestALateQuestionIsPostedAnew(t *testing.T) {
	w := New(t, Options{Beside: true})
	w.Platform.Trouble(func(op Op) Trouble {
		if !op.Post && op.Lane == agent.Question {
			return Busy(time.Hour)
		}
		return Trouble{}
	})
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("the question is posted", func() bool { return len(w.Platform.Messages(Room)) == 2 && w.Asked() == "write" })
	b := w.Await(chat.AllowOnce, "write")
	old := w.Platform.Messages(Room)[0]
	w.Until("the first message says so", func() bool {
		return render.PlainText(w.Platform.Messages(Room)[0].Now()) == text.GoesOnBelow
	})
	in := w.Click(Ana, b)
	in.Message = old.Ref
	if got := w.Deliver(w.Replicas[0], in); got == "" {
		t.Error("a click on the message before was taken")
	}
	equal(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "")
	w.Ran("write")
	w.Over(1)
	equal(w, "messages", len(w.Platform.Messages(Room)), 2)
}

// Somebody clicks on a question that was posted anew before it is on record where it stands now: that counts, whoever was faster.
func TestAQuestionIsAnsweredBeforeItIsOnRecordWhereItStands(t *testing.T) {
	w := New(t, Options{Beside: true})
	held := make(chan struct{})
	w.Platform.Trouble(func(op Op) Trouble {
		asks := slices.ContainsFunc(op.View.Blocks, func(b render.Block) bool { _, is := b.(render.Ask); return is })
		switch {
		case op.Post && asks:
			return Trouble{Late: held}
		case !op.Post && op.Lane == agent.Question:
			return Busy(time.Hour)
		}
		return Trouble{}
	})
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	b := w.Await(chat.AllowOnce, "write")
	if all := w.Platform.Messages(Room); len(all) != 2 || b.Message != all[1].Ref {
		t.Fatalf("%d messages, and the question is on %s", len(all), b.Message)
	}
	equal(w, "whisper", w.Deliver(w.Replicas[0], w.Click(Ana, b)), "")
	w.Ran("write")
	close(held)
	w.Until("it is over, in the message that is left where the turn ended before it was known of the other", func() bool {
		all := w.Platform.Messages(Room)
		return all[len(all)-1].Now().State == render.Done
	})
}

// Somebody answers in the moment in which their question would be posted anew: no second message stays, and the first says what came of it.
func TestAQuestionIsAnsweredBeforeItIsPostedAnew(t *testing.T) {
	for name, post := range map[string]bool{"while it is edited": false, "while it is posted": true} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Beside: true})
			held, asked, taken := make(chan struct{}), make(chan string, 1), w.Latch()
			var taking atomic.Bool
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Note && op.Ref != "" {
					taking.Store(true)
					return Trouble{Until: taken.C()}
				}
				for _, b := range op.View.Blocks {
					a, ok := b.(render.Ask)
					switch {
					case !ok || op.Post != post && op.Lane != agent.Question:
					case op.Post == post:
						select {
						case asked <- a.Token:
						default:
						}
						if post {
							return Trouble{Until: held}
						}
						t := Busy(time.Millisecond)
						t.Until = held
						return t
					default:
						return Busy(time.Millisecond)
					}
				}
				return Trouble{}
			})
			lately(w, Call("write", `{}`))
			w.Say(w.Replicas[0], Ana, "go")
			click := chat.Clicked{Envelope: w.Envelope(Room, Ana), Token: <-asked, Choice: chat.AllowOnce}
			equal(t, "whisper", w.Deliver(w.Replicas[0], click), "")
			w.Ran("write")
			w.Until("the turn is over", func() bool {
				s, err := w.Replicas[0].Engine.Session(context.Background(), Room)
				return err == nil && s.Turn == nil && s.Last != nil
			})
			close(held)
			if post { // whoever takes the second one away keeps the chat that long
				w.Until("it is being taken away", taking.Load)
				gone(w, func(g string) bool {
					return strings.Contains(g, "core/agent.(*driver).run") && !strings.Contains(g, "core/agent.(*driver).wait")
				})
				taken.Open()
			}
			w.Until("the first message says what came of it, alone", func() bool {
				all := w.Platform.Messages(Room)
				return len(all) == 1 && strings.Contains(render.PlainText(all[0].Now()), "All done.")
			})
		})
	}
}

// Nobody answered whether a question was posted anew, and it was drawn where it stood after all, long after its turn was over: what may stand
// below is looked for by whoever knows of it, and taken away.
func TestAQuestionThatMayHaveBeenPostedAnew(t *testing.T) {
	t.Parallel()
	w := New(t, Options{Parallel: true, Beside: true})
	var lost, taken atomic.Bool
	token, once := make(chan string, 1), sync.Once{}
	w.Platform.Trouble(func(op Op) (trouble Trouble) {
		switch {
		case op.Post && asking(op.View):
			lost.Store(true)
			return Transient(true)
		case op.Ref == "m2":
			taken.Store(true)
		case op.Lane == agent.Question && !lost.Load():
			return Busy(time.Millisecond)
		case asking(op.View):
			once.Do(func() {
				token <- op.View.Blocks[slices.IndexFunc(op.View.Blocks, func(b render.Block) bool { _, is := b.(render.Ask); return is })].(render.Ask).Token
				trouble = Trouble{Err: &agent.PlatformError{Kind: agent.FaultLater, RetryAfter: 10 * time.Second, Cause: errUnknown}}
			})
		}
		return trouble
	})
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	decide(w, api(w, Ana, chat.Deny, <-token))
	w.Until("the first message says what came of it, alone", func() bool {
		all := w.Platform.Messages(Room)
		return taken.Load() && len(all) == 1 && strings.Contains(render.PlainText(all[0].Now()), "All done.")
	})
}

// Who posted a question anew died before that was on record: whoever takes over draws it where it stood, and takes away what nobody would draw
// any more, though some of it is answered by then.
func TestAQuestionThatTheDeadPostedAnew(t *testing.T) {
	w := New(t, Options{Beside: true, Lease: time.Second, Drain: brief})
	var dead atomic.Bool
	held := make(chan struct{})
	w.Platform.Trouble(func(op Op) Trouble {
		switch {
		case dead.Load():
		case op.Post && asking(op.View):
			return Trouble{Late: held}
		case !op.Post && op.Lane == agent.Question:
			return Busy(time.Hour)
		}
		return Trouble{}
	})
	lately(w, Call("write", `{}`), Call("send", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	b := w.Await(chat.AllowOnce, "write")
	equal(w, "messages", len(w.Platform.Messages(Room)), 2)
	dead.Store(true)
	w.Replicas[0].Kill()
	close(held)
	w.Start()
	equal(w, "whisper", w.Deliver(w.Replicas[1], w.Click(Ana, b)), "")
	w.Until("what is left of it stands where it stood, alone", func() bool {
		all := w.Platform.Messages(Room)
		return len(all) == 1 && w.Asked() == "send"
	})
	w.Press(w.Replicas[1], Ana, chat.Deny, "send")
	w.Over(0)
	equal(w, "runs", w.Tools.Ran(), "write")
}

// looks counts how often it is looked which chats are due.
type looks struct {
	agent.Leases
	n atomic.Int32
}

func (l *looks) ClaimDue(ctx context.Context, owner string, n int) ([]agent.Lease, error) {
	l.n.Add(1)
	return l.Leases.ClaimDue(ctx, owner, n)
}

// A look for due chats sets when the next one is, also where the one before was meant for a moment that is over: else one would follow the other.
func TestItIsLookedForDueChatsNowAndThen(t *testing.T) {
	l := &looks{}
	w := New(t, Options{Lease: time.Hour, Sweep: time.Hour, Engine: func(c *agent.Config) { l.Leases, c.Leases = c.Leases, l }})
	for turn := range 5 {
		w.Say(w.Replicas[0], Ana, "go")
		w.Over(turn)
	}
	idle(w)
	if n := l.n.Load(); n > 20 {
		t.Errorf("it was looked %d times", n)
	}
}
