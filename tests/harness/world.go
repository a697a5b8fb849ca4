// Package harness is a small world for tests of the engine: several replicas over one store, a fake chat platform, a
// scripted model and fake tool servers, each with a memory of its own. Tests act through [agent.Engine.Accept] only and look
// at what a person, a model and a tool server saw.
//
// Its words. A [World] holds one of everything. A [Replica] is one engine behind a [Gate]; Kill is kill -9: nothing of it
// gets through any more, its leases have to run out. A test waits with [World.Until] for a condition; a [stand.Signal] fires
// whenever anything changed.
//
// Invariants that every world checks by itself when its test ends: no tool without the engine's token, no run twice at
// its server, arguments as their digest says, every call that a model reads has one result, one message within the
// platform's limits, one edit at a time, no goroutine left.
package harness

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/standins/stand"
)

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

// Where and who.
var (
	Room  = chat.ID{Platform: "fake", Workspace: "T1", Key: "room"}
	Other = chat.ID{Platform: "fake", Workspace: "T1", Key: "other"}
	Ana   = chat.User{Platform: "fake", Workspace: "T1", Key: "ana"}
	Ben   = chat.User{Platform: "fake", Workspace: "T1", Key: "ben"}
	Root  = chat.User{Platform: "fake", Workspace: "T1", Key: "root"} // an admin
)

// Options of a world. The zero Options are one replica on miniredis.
type Options struct {
	Backend  Backend // zero: Mini
	Replicas int
	Lease    time.Duration // 0: 2 s, far longer than a test's steps take; tests that kill want it short
	Sweep    time.Duration // 0: 50 ms
	Drain    time.Duration // 0: 10 s
	Engine   func(*agent.Config)
	Settings func(*settings.Config) // after Engine, with what it made
	// Faults decides the fault of the n-th log call of replica 0.
	Faults func(n int, what string) Fault
	// Beside: the platform takes messages beside a turn's one, and cannot post at most once by itself.
	Beside bool
	// Files: it takes files as well; with Beside.
	Files bool
	// Teller: it can write to one person; without Beside.
	Teller bool
	// Durability is the store's; its own where empty.
	Durability string
	// Parallel: other worlds exist at the same time, so the test's parent looks for leaked goroutines.
	Parallel bool
	// Bubble: the world lives in a bubble of testing/synctest, whose hours pass at once and which sees by itself that nothing goes on.
	Bubble bool
}

// World is one of everything.
type World struct {
	testing.TB
	Platform *Platform
	Model    *Model
	Tools    *Tools
	Replicas []*Replica
	URL      string
	Signal   *stand.Signal

	options Options
	logMu   sync.Mutex
	logged  []string
	mu      sync.Mutex
	policy  permission.Policy
	n       int
	latches []*Latch
}

// Replica is one engine with its settings.
type Replica struct {
	Name     string
	Engine   *agent.Engine
	Settings *settings.Settings
	Gate     *Gate

	store *state.Store
	stop  context.CancelFunc
	done  chan struct{}
	died  chan struct{}
	once  sync.Once
}

// New makes a world and starts its replicas. Tools of server "files": read (reads, never asks), touch (writes, never
// asks), write, send and drop (ask).
func New(t testing.TB, o Options) *World {
	t.Helper()
	if !o.Parallel {
		t.Cleanup(func() { goleak.VerifyNone(t) })
	}
	if o.Backend.Start == nil {
		o.Backend = Mini
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Lease == 0 {
		o.Lease = 2 * time.Second
	}
	if o.Sweep == 0 {
		o.Sweep = 50 * time.Millisecond
	}
	w := &World{TB: t, Signal: &stand.Signal{}, options: o, URL: o.Backend.Start(t)}
	w.Platform, w.Model = newPlatform(w.Signal), newModel(w.Signal)
	w.Tools = &Tools{sig: w.Signal, chats: []chat.ID{Room, Other}}
	for _, name := range []string{"read", "touch", "write", "send", "drop"} {
		w.Tools.Put(Tool{Server: "files", Name: name})
	}
	read := permission.Read
	w.policy = permission.Policy{
		Installed: true, Timeout: time.Minute, SurviveRestart: true, Admins: []chat.User{Root},
		Servers: map[string]permission.ServerSettings{"files": {Tools: map[string]permission.ToolSettings{
			"read": {Ask: permission.NeverAsk, Access: &read}, "touch": {Ask: permission.NeverAsk},
		}}},
	}
	t.Cleanup(w.end)
	t.Cleanup(w.open)
	if !o.Bubble {
		w.bound()
	}
	for range o.Replicas {
		w.Start()
	}
	return w
}

// bound fails a test that takes far longer than any, and opens what it waits for: a bare wait for a latch would not end.
func (w *World) bound() {
	over := make(chan struct{})
	timer := time.AfterFunc(2*deadline, func() {
		defer close(over)
		w.Errorf("the test goes on after %v: every latch is open now\n%s", 2*deadline, w.Story())
		w.open()
	})
	w.Cleanup(func() {
		if !timer.Stop() {
			<-over
		}
	})
}

// end stops every replica and looks whether the world kept its rules.
func (w *World) end() {
	for _, r := range w.Replicas {
		r.Stop()
	}
	w.Tools.busy.Wait()
	for _, broken := range [][]string{w.Platform.broken, w.Model.broken, w.Tools.broken} {
		for _, b := range broken {
			w.Error(b)
		}
	}
	if w.Failed() {
		w.Log(w.Story())
	}
}

// Start adds a replica.
func (w *World) Start() *Replica {
	w.Helper()
	r := &Replica{Name: fmt.Sprintf("r%d", len(w.Replicas)), done: make(chan struct{}), died: make(chan struct{})}
	var err error
	r.store, err = state.Open(context.Background(), w.storeOptions(r.Name))
	if err != nil {
		w.Fatal(err)
	}
	r.Gate = &Gate{store: r.store, sig: w.Signal, kill: r.Kill, heard: make(chan struct{})}
	if len(w.Replicas) == 0 {
		r.Gate.at = w.options.Faults
	}
	c := agent.Config{
		Log: r.Gate, Index: r.Gate, Leases: r.Gate, Model: mouth{w.Model, r.Gate}, Tools: hands{w.Tools, r.Name, r.Gate, r.died}, Policies: w,
		Platforms: map[string]agent.Platform{Room.Platform: surface{w.Platform, r.Name, r.Gate}},
		Owner:     r.Name, Lease: w.options.Lease, Sweep: w.options.Sweep, Drain: w.options.Drain, Logger: logger(w, r.Name),
	}
	if w.options.Teller {
		c.Platforms[Room.Platform] = telling{surface{w.Platform, r.Name, r.Gate}}
	}
	if w.options.Beside {
		w.Platform.forgetful = true
		c.Platforms[Room.Platform] = beside{surface{w.Platform, r.Name, r.Gate}}
		if w.options.Files {
			c.Platforms[Room.Platform] = filing{beside{surface{w.Platform, r.Name, r.Gate}}}
		}
	}
	if w.options.Engine != nil {
		w.options.Engine(&c)
	}
	if r.Engine, err = agent.New(c); err != nil {
		w.Fatal(err)
	}
	managed := settings.Config{Engine: r.Engine, Log: c.Log, Index: c.Index, Tools: c.Tools, Platforms: c.Platforms, Logger: c.Logger}
	if w.options.Settings != nil {
		w.options.Settings(&managed)
	}
	if r.Settings, err = settings.New(managed); err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{r.Engine.Run, r.Settings.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	go func() {
		defer close(r.done)
		running.Wait()
	}()
	w.Replicas = append(w.Replicas, r)
	<-r.Gate.heard // a wake is sent once: what a test writes before would wake nobody
	return r
}

func (w *World) storeOptions(replica string) state.Options {
	o := state.Options{URL: w.URL, Lease: w.options.Lease, Replica: replica, Durability: w.options.Durability, Log: discard}
	if dial := w.options.Backend.Dial; dial != nil {
		o.Dialer = dial(replica)
	}
	return o
}

// Kill is kill -9: from now on nothing of the replica gets through. It does not wait.
func (r *Replica) Kill() {
	r.once.Do(func() {
		r.Gate.set(func() { r.Gate.dead = true })
		r.Gate.Resume()
		close(r.died)
		r.stop()
	})
}

// Store is its own, without the gate: for surfaces that the world does not know.
func (r *Replica) Store() *state.Store { return r.store }

// Dead reports whether it was killed. While it is paused, nobody can tell.
func (r *Replica) Dead() bool { return r.Gate.isDead() }

// Stop is SIGTERM: it waits until the replica has drained.
func (r *Replica) Stop() {
	r.stop()
	<-r.done
	_ = r.store.Close()
}

// Soft begins to stop the replica and does not wait; Stopped is closed at its end.
func (r *Replica) Soft() (stopped <-chan struct{}) { r.stop(); return r.done }

// Policy implements [agent.Policies].
func (w *World) Policy(context.Context) (permission.Policy, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policy, nil
}

// SetPolicy changes the policy in force. change gets a copy whose tools it may write.
func (w *World) SetPolicy(change func(p *permission.Policy, files map[string]permission.ToolSettings)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.policy
	p.Servers = maps.Clone(p.Servers)
	files := maps.Clone(p.Servers["files"].Tools)
	change(&p, files)
	s := p.Servers["files"]
	s.Tools = files
	p.Servers["files"] = s
	w.policy = p
}

// Until waits for a condition.
func (w *World) Until(what string, cond func() bool) {
	w.Helper()
	over := time.NewTimer(deadline)
	defer over.Stop()
	for {
		c := w.Signal.Changed()
		if cond() {
			return
		}
		select {
		case <-c:
		case <-over.C:
			w.Fatalf("waited in vain until %s", what)
		}
	}
}

// Story tells everything that can be seen, for a test that failed.
func (w *World) Story() string {
	var b strings.Builder
	for _, id := range w.Tools.chats {
		for _, m := range w.Platform.Messages(id) {
			fmt.Fprintf(&b, "--- %s %s, %d versions, %s\n%s\n", id.Key, m.Ref, len(m.Versions), m.Now().State, render.PlainText(m.Now()))
		}
		if len(w.Replicas) > 0 {
			s, err := state.Open(context.Background(), w.storeOptions(""))
			if err != nil {
				continue
			}
			entries, _ := s.History(context.Background(), id)
			for _, e := range entries {
				fmt.Fprintf(&b, "  %d %s %s\n", e.Seq, e.At.Format("05.000"), e.Event.Kind())
			}
			_ = s.Close()
		}
	}
	for _, e := range w.Tools.Effects() {
		fmt.Fprintf(&b, "ledger: %s(%s) call %s run %s by %s\n", e.Name, e.Args, e.Call, e.Run, e.Replica)
	}
	fmt.Fprintf(&b, "the model was asked %d times", len(w.Model.Heard()))
	return b.String()
}

// logger writes an engine's log into the test's.
func logger(w *World, who string) *slog.Logger {
	return slog.New(slog.NewTextHandler(sink{w, who}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type sink struct {
	w   *World
	who string
}

func (s sink) Write(b []byte) (int, error) {
	line := s.who + ": " + strings.TrimSpace(string(b))
	s.w.Log(line)
	s.w.logMu.Lock()
	s.w.logged = append(s.w.logged, line)
	s.w.logMu.Unlock()
	s.w.Signal.Fire()
	return len(b), nil
}

// Logged reports whether an engine warned in these words.
func (w *World) Logged(words string) bool { return w.Lines(words) > 0 }

// Lines is how many lines of the replicas' logs have these words.
func (w *World) Lines(words string) (n int) {
	w.logMu.Lock()
	defer w.logMu.Unlock()
	for _, line := range w.logged {
		if strings.Contains(line, words) {
			n++
		}
	}
	return n
}
