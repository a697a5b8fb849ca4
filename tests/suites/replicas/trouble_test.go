package replicas

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// shaky is a log whose reads can fail.
type shaky struct {
	agent.Log
	load, tail *atomic.Bool
}

func (s shaky) Load(ctx context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	if s.load.Load() {
		return agent.Snapshot{}, nil, agent.Head{}, ErrLine
	}
	return s.Log.Load(ctx, id)
}

func (s shaky) Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	if s.tail.Load() {
		return nil, agent.Head{}, ErrLine
	}
	return s.Log.Tail(ctx, id, known)
}

// unsure is a policy that cannot be read.
type unsure struct {
	agent.Policies
	lost *atomic.Bool
}

var errPolicy = errors.New("the policy cannot be read")

func (u unsure) Policy(ctx context.Context) (permission.Policy, error) {
	if u.lost.Load() {
		return permission.Policy{Installed: true, Approvers: permission.Approvers{Rule: permission.ApproversAnyone}}, errPolicy
	}
	return u.Policies.Policy(ctx)
}

// trouble is a world whose log and policy can fail, over a Redis that can lose everything.
type trouble struct {
	*World
	load, tail, lost atomic.Bool
	redis            *miniredis.Miniredis
}

func newTrouble(t *testing.T, replicas int) *trouble {
	x := &trouble{}
	x.World = New(t, Options{
		Replicas: replicas, Sweep: time.Hour,
		Backend: Backend{Name: "mini", Start: func(t testing.TB) string { x.redis = miniredis.RunT(t); return "redis://" + x.redis.Addr() }},
		Engine: func(c *agent.Config) {
			c.Log, c.Policies = shaky{c.Log, &x.load, &x.tail}, unsure{c.Policies, &x.lost}
		},
	})
	t.Cleanup(func() { x.load.Store(false); x.tail.Store(false); x.lost.Store(false) })
	return x
}

// fails hands over an inbound that must come back as an error, so that the platform delivers it again, with nothing whispered.
func (x *trouble) fails(in chat.Inbound, want error) {
	x.Helper()
	if err := x.Replicas[0].Engine.Accept(context.Background(), in); !errors.Is(err, want) {
		x.Errorf("%T: got %v, want %v", in, err, want)
	}
	equal(x, "whisper", x.Platform.Whispered(in.From().Reply.Key), "")
}

func TestErrorsAreNotSwallowed(t *testing.T) {
	t.Run("the policy", func(t *testing.T) {
		x := newTrouble(t, 1)
		twoAsks(x.World)
		click, mode := x.Click(Ana, x.Await(chat.AllowOnce, "write")), command(x.World, Ana, "mode", "always")
		x.lost.Store(true)
		x.fails(click, errPolicy)
		x.fails(mode, errPolicy)
		equal(x, "recorded", recorded(x.World), "said")
		x.lost.Store(false)
		equal(x, "delivered again", x.Deliver(x.Replicas[0], click)+x.Deliver(x.Replicas[0], mode), "")
		equal(x, "recorded", recorded(x.World), "said decided mode_set")
	})
	t.Run("a store that is gone", func(t *testing.T) {
		x := newTrouble(t, 1)
		twoAsks(x.World)
		click := x.Click(Ana, x.Await(chat.AllowOnce, "write"))
		x.Replicas[0].Gate.Cut()
		x.fails(click, ErrLine)
		x.fails(x.Click(Ana, Button{Chat: Room, Token: "made-up"}), ErrLine)
		x.fails(x.SaidBy(Ana, "hello"), ErrLine)
		x.fails(chat.Edited{Envelope: x.Envelope(Room, Ana), Text: "x"}, ErrLine)
		x.fails(chat.Deleted{Envelope: x.Envelope(Room, Ana)}, ErrLine)
		x.fails(chat.Clicked{Envelope: x.Envelope(Room, Ana), Choice: chat.Stop}, ErrLine)
		x.fails(chat.Clicked{Envelope: x.Envelope(Room, Ana), Token: click.Token}, ErrLine)
		for _, verb := range []string{"stop", "reset"} {
			x.fails(command(x.World, Ana, verb), ErrLine)
		}
		x.Replicas[0].Gate.Heal()
		equal(x, "recorded", recorded(x.World), "said")
		equal(x, "delivered again", x.Deliver(x.Replicas[0], click), "")
	})
	t.Run("the first read of a chat", func(t *testing.T) {
		x := newTrouble(t, 1)
		x.load.Store(true)
		x.fails(command(x.World, Ana, "mode", "always"), ErrLine)
		x.load.Store(false)
		equal(x, "recorded", recorded(x.World), "")
	})
	t.Run("the second look before a refusal", func(t *testing.T) {
		x := newTrouble(t, 1)
		twoAsks(x.World)
		x.tail.Store(true)
		x.fails(api(x.World, Ana, chat.AllowOnce, "made-up"), ErrLine)
	})
}

// What a replica remembers of a chat is only a guess.
func TestClickOnAStaleReplica(t *testing.T) {
	x := newTrouble(t, 2)
	x.Say(x.Replicas[0], Ana, "hello")
	x.Over(0)
	has(x, "an early click", x.Deliver(x.Replicas[1], api(x.World, Ana, chat.Deny, "made-up")), "not (or no longer) open")
	twoAsks(x.World) // replica 1 hears nothing of this
	equal(x, "it looks before it refuses", x.Press(x.Replicas[1], Ana, chat.Deny, "write"), "")
	x.Say(x.Replicas[0], Ben, "and this") // nor of this
	equal(x, "it tries again on what is new", x.Press(x.Replicas[1], Ana, chat.Deny, "send"), "")
	equal(x, "recorded", recorded(x.World), "said said decided said decided")
}

// Redis lost what it had: a choice is then made on what there is, or refused, and never on what is remembered.
func TestChoicesAfterAFailover(t *testing.T) {
	lost := func(t *testing.T) *trouble {
		x := newTrouble(t, 1)
		x.Say(x.Replicas[0], Ana, "hello")
		x.Over(0)
		x.Until("nothing is owed", func() bool { return session(x.World).Turn == nil })
		x.redis.FlushAll()
		return x
	}
	t.Run("made on what there is", func(t *testing.T) {
		x := lost(t)
		equal(x, "whisper", x.Deliver(x.Replicas[0], command(x.World, Ana, "mode", "always")), "")
		equal(x, "recorded", recorded(x.World), "mode_set")
	})
	t.Run("and that cannot be read", func(t *testing.T) {
		x := lost(t)
		x.load.Store(true)
		x.fails(command(x.World, Ana, "mode", "always"), ErrLine)
		x.load.Store(false)
		equal(x, "recorded", recorded(x.World), "")
	})
}

// The deadline of the log's clock decides, whatever ours says: the click is too late, and its person is told.
func TestChoicesOvertakenByTheDeadline(t *testing.T) {
	minute := func(w *World, names ...string) {
		w.SetPolicy(func(p *permission.Policy, files tools) {
			p.Timeout = time.Hour
			for _, n := range names {
				d := time.Minute
				files[n] = permission.ToolSettings{Timeout: &d}
			}
		})
	}
	late := func(x *trouble, in chat.Clicked, by time.Duration) ([]decision.Outcome, error) {
		seen(x.World)
		x.redis.SetTime(time.Now().Add(by))
		return x.Replicas[0].Engine.Decide(context.Background(), in)
	}
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Extend} {
		t.Run(string(choice), func(t *testing.T) {
			x := newTrouble(t, 1)
			minute(x.World, "write")
			twoAsks(x.World)
			c := callOf(x.World, "write")
			out, err := late(x, api(x.World, Ana, choice, string(c.Ask)), 5*time.Minute)
			no := (*decision.Refusal)(nil)
			if !errors.As(err, &no) {
				t.Fatalf("got %+v, %v", out, err)
			}
			if choice != chat.Extend {
				equal(t, "code", no.Code, decision.RefusedExpired)
				has(t, "it", no.Say, "expired")
			}
			equal(t, "ran", x.Tools.Ran(), "")
		})
	}
	for _, choice := range []chat.Choice{chat.Happened, chat.RunAgain, chat.Leave} {
		t.Run(string(choice), func(t *testing.T) {
			x := newTrouble(t, 1)
			minute(x.World, "write")
			unknownOutcome(x.World)
			out, err := late(x, api(x.World, Ana, choice, string(callOf(x.World, "write").Ask)), 2*time.Hour)
			if no := (*decision.Refusal)(nil); !errors.As(err, &no) {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
	t.Run("one of two", func(t *testing.T) {
		x := newTrouble(t, 1)
		minute(x.World, "write")
		twoAsks(x.World)
		send := callOf(x.World, "send")
		out, err := late(x, api(x.World, Ana, chat.ApproveAll, turn.BatchToken(turn.OpenAsks(session(x.World)))), 5*time.Minute)
		if err != nil || len(out) != 1 || out[0].Call != send.ID || out[0].Choice != chat.AllowOnce {
			t.Errorf("got %+v, %v, want what was taken", out, err)
		}
	})
}
