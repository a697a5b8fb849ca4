package replicas

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// dim is a replica's log of which the settings cannot be read.
type dim struct {
	*Gate
	dark *atomic.Bool
}

func (d dim) Load(ctx context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	if id == agent.SettingsChat && d.dark.Load() {
		return agent.Snapshot{}, nil, agent.Head{}, ErrLine
	}
	return d.Gate.Load(ctx, id)
}

func (d dim) Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	if id == agent.SettingsChat && d.dark.Load() {
		return nil, agent.Head{}, ErrLine
	}
	return d.Gate.Tail(ctx, id, known)
}

// ChecksSettings: what cannot be read is not checked either.
func (d dim) ChecksSettings() bool { return !d.dark.Load() && d.Gate.ChecksSettings() }

// newDim is a world in which the settings, and the operator's policy, can become unreadable.
func newDim(t *testing.T) (w *World, dark, lost *atomic.Bool) {
	dark, lost = &atomic.Bool{}, &atomic.Bool{}
	w = New(t, Options{Engine: func(c *agent.Config) {
		c.Log, c.Policies = dim{c.Log.(*Gate), dark}, unsure{c.Policies, lost}
	}})
	t.Cleanup(func() { dark.Store(false); lost.Store(false) })
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
	return w, dark, lost
}

// While what people set, or the operator's policy, cannot be read, no call is ruled, nothing starts and no choice is taken: nothing is
// made up instead. It goes on by itself as soon as they can be read.
func TestNothingIsDecidedInTheDark(t *testing.T) {
	for name, dims := range map[string]func(dark, lost *atomic.Bool) (*atomic.Bool, error){
		"the settings": func(dark, _ *atomic.Bool) (*atomic.Bool, error) { return dark, ErrLine },
		"the policy":   func(_, lost *atomic.Bool) (*atomic.Bool, error) { return lost, errPolicy },
	} {
		t.Run(name, func(t *testing.T) {
			w, dark, lost := newDim(t)
			light, want := dims(dark, lost)
			sets(w, "files", "read", "ask", "always") // by itself it would not ask
			w.Model.When("go", func(Heard) (agent.Reply, error) {
				light.Store(true)
				return agent.Reply{Calls: []agent.ReplyCall{Call("read", `{}`)}}, nil
			})
			w.Say(w.Replicas[0], Ana, "go")
			w.Until("a step fails, or something is decided", func() bool {
				return w.Logged("a step of a chat failed") || strings.Contains(kinds(w), "ruled")
			})
			equal(t, "the log in the dark", kinds(w), "said")
			light.Store(false)
			w.Asks("read")
			once := w.Click(Ana, w.Await(chat.AllowOnce, "read"))
			light.Store(true)
			if out, err := w.Replicas[0].Engine.Decide(context.Background(), once); !errors.Is(err, want) {
				t.Errorf("a click in the dark: got %+v, %v, want %v", out, err, want)
			}
			light.Store(false)
			equal(t, "the log", kinds(w), "said replied ruled")
			equal(t, "the same click again", w.Deliver(w.Replicas[0], once), "")
			w.Over(0)
			equal(t, "ran", w.Tools.Ran(), "read")
		})
	}
	t.Run("a turn that begins", func(t *testing.T) {
		w, dark, _ := newDim(t)
		w.Model.When("go", Says("Hello."))
		dark.Store(true)
		w.Say(w.Replicas[0], Ana, "go")
		w.Until("it waits, or the model is asked", func() bool {
			return w.Logged("the settings do not answer; the turn waits for them") || len(w.Model.Heard()) > 0
		})
		w.Until("the operator is told", func() bool { return w.Logged("the settings cannot be read; until they can, nothing is decided") })
		equal(t, "requests to the model in the dark", len(w.Model.Heard()), 0)
		dark.Store(false)
		has(t, "the message", w.Over(0), "Hello.")
	})
}

// behind is a replica whose next answer about the settings arrives when its tools are listed next.
type behind struct {
	*Gate
	agent.Tools
	asked, listed *atomic.Pointer[func()]
}

func (b behind) Tail(ctx context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	entries, head, err := b.Gate.Tail(ctx, id, known)
	if id == agent.SettingsChat {
		if then := b.asked.Swap(nil); then != nil {
			(*then)()
		}
	}
	return entries, head, err
}

func (b behind) List(ctx context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	if then := b.listed.Swap(nil); then != nil {
		(*then)()
	}
	return b.Tools.List(ctx)
}

// What was read of the settings before they changed, and arrives after that, takes the change back for nobody.
func TestAnOldAnswerAboutTheSettings(t *testing.T) {
	b := behind{asked: &atomic.Pointer[func()]{}, listed: &atomic.Pointer[func()]{}}
	w := New(t, Options{Engine: func(c *agent.Config) {
		b.Gate, b.Tools = c.Log.(*Gate), c.Tools
		c.Log, c.Tools = b, b
	}})
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
	read, arrives, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	b.asked.Store(new(func() { close(read); <-arrives }))
	go func() {
		defer close(over)
		_, _ = w.Replicas[0].Engine.Settings(context.Background())
	}()
	<-read
	sets(w, "files", "write", "enabled", "false")
	b.listed.Store(new(func() { close(arrives); <-over }))
	offered := ""
	w.Model.When("go", func(h Heard) (agent.Reply, error) {
		for _, x := range h.Tools {
			offered += x.Tool.Name + " "
		}
		return agent.Reply{Text: "Hello."}, nil
	})
	w.Say(w.Replicas[0], Ana, "go")
	w.Over(0)
	has(t, "what is offered", offered, "read")
	hasNot(t, "what is offered", offered, "write")
}

// changes are what the settings' log says that somebody changed; nod itself is nobody.
func changes(w *World, by chat.User) (out []turn.Changed) {
	w.Helper()
	entries, err := engine(w).Log.History(context.Background(), agent.SettingsChat)
	if err != nil {
		w.Fatal(err)
	}
	for _, x := range entries {
		if c, ok := x.Event.(turn.Changed); ok && c.By == by {
			out = append(out, c)
		}
	}
	return out
}

// A change is recorded as a whole, with who made it and from where, or not at all; whoever asked for one that is refused, fails or
// changes nothing is told which of these it was.
func TestAChangeOfTheSettings(t *testing.T) {
	set := func(value string) permission.Change {
		return permission.Setting{Server: "files", Tool: "write", Field: "ask", Value: value}
	}
	w, dark, lost := newDim(t)
	change := func(u chat.User, changes ...permission.Change) error {
		_, err := engine(w).ChangeAsAdmin(context.Background(), w.Envelope(Room, u), "", changes...)
		return err
	}
	refused := func(what string, err error, code decision.RefusalCode) {
		t.Helper()
		if no := (*decision.Refusal)(nil); !errors.As(err, &no) || no.Code != code {
			t.Errorf("%s: got %v, want a refusal of %v", what, err, code)
		}
	}
	fails := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	refused("somebody who is no admin", change(Ana, set("never")), decision.RefusedNotYours)
	refused("a word that is none", change(Root, set("never"), set("sometimes")), decision.RefusedArguments)
	lost.Store(true)
	fails("without the policy", change(Root, set("never")), errPolicy)
	lost.Store(false)
	dark.Store(true)
	fails("without the settings", change(Root, set("")), ErrLine)
	dark.Store(false)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Timeout = -2 })
	refused("over a policy that is not right", change(Root, set("never")), decision.RefusedArguments)
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Timeout = 0 })
	fails("what is so already", change(Root, set("")), agent.ErrUnchanged)
	fails("nothing", change(Root), agent.ErrUnchanged)
	equal(t, "entries of what was not taken", len(changes(w, Root))+len(changes(w, Ana)), 0)

	if err := change(Root, set(""), set("never"), set("never")); err != nil {
		t.Fatal(err)
	}
	fails("the same again", change(Root, set("never")), agent.ErrUnchanged)
	got := changes(w, Root)
	if len(got) != 1 || !slices.Equal(got[0].Changes, permission.Changes{set("never")}) || got[0].By != Root || got[0].Surface != Root.Platform {
		t.Errorf("recorded is %+v", got)
	}
	for _, c := range changes(w, chat.User{}) {
		equal(t, "the surface of what nod saw itself", c.Surface, agent.Own)
	}
}

// A policy that names its revision is laid out once for each revision of it and of the settings, and what was laid out before never holds
// after either changed.
func TestEachRevisionCounts(t *testing.T) {
	w := New(t, Options{})
	asks := func() string {
		t.Helper()
		p, err := engine(w).Policy(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return p.Servers["files"].Tools["write"].Ask.String() + " " + p.Servers["files"].Tools["send"].Ask.String()
	}
	operator := func(revision string, ask permission.Prompt) {
		w.SetPolicy(func(p *permission.Policy, f tools) {
			p.Revision, f["write"] = revision, permission.ToolSettings{Ask: ask}
		})
	}
	w.Until("the tools are known", func() bool { return len(settingsOf(w).Pins) == 5 })
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"a first revision", func() { operator("r1", permission.AlwaysAsk) }, "always"},
		{"a second one", func() { operator("r2", permission.NeverAsk) }, "never"},
		{"an admin's setting", func() { sets(w, "files", "send", "ask", "always") }, "never always"},
		{"another one of theirs", func() { sets(w, "files", "send", "ask", "never") }, "never never"},
		{"the operator's without a revision", func() { operator("", permission.AlwaysAsk) }, "always never"},
		{"another without one", func() { operator("", permission.NeverAsk) }, "never never"},
	} {
		step.do()
		for range 2 {
			has(t, step.what, asks(), step.want)
		}
	}
}
