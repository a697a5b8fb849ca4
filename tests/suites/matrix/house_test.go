package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/standins/stand"
)

// patience bounds every wait. It is only reached by a test that fails.
const patience = 2 * time.Minute

// house is one engine over one store, with a model that does as it is told and a tool server that keeps a ledger.
type house struct {
	testing.TB
	signal    *stand.Signal
	store     *state.Store
	engine    *agent.Engine
	managed   *settings.Settings
	platforms map[string]agent.Platform
	release   *harness.Latch // of every call that holds

	mu     sync.Mutex
	policy permission.Policy
	ledger map[string][]string // by scene: the tools that ran, in order
	broken []string
	n      int
}

// openHouse starts an engine for these platforms, which may be filled in by with, before it runs.
func openHouse(t testing.TB, with func(*house)) *house {
	t.Helper()
	h := &house{TB: t, signal: &stand.Signal{}, release: harness.NewLatch(), ledger: map[string][]string{}, platforms: map[string]agent.Platform{"": nil}}
	log := slog.New(slog.DiscardHandler)
	var err error
	if h.store, err = state.Open(t.Context(), state.Options{URL: harness.Lightest.Start(t), Log: log}); err != nil {
		t.Fatal(err)
	}
	watched := watched{h.store, h.signal}
	h.engine, err = agent.New(agent.Config{
		Log: watched, Index: h.store, Leases: h.store, Model: script{}, Tools: box{h}, Policies: h, Platforms: h.platforms, Known: 100_000, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.managed, err = settings.New(settings.Config{Engine: h.engine, Log: watched, Index: h.store, Tools: box{h}, Platforms: h.platforms, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	with(h)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{h.engine.Run, h.managed.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() {
		h.release.Open()
		stop()
		running.Wait()
		_ = h.store.Close()
		for _, b := range h.broken {
			t.Error(b)
		}
	})
	return h
}

// Policy implements [agent.Policies].
func (h *house) Policy(context.Context) (permission.Policy, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.policy, nil
}

func (h *house) set(p permission.Policy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.policy = p
}

// patient lets brief asks wait from now on.
func (h *house) patient() {
	h.mu.Lock()
	defer h.mu.Unlock()
	box := h.policy.Servers["box"]
	box.Tools = maps.Clone(box.Tools)
	for _, name := range []string{"brief", adminTool + "brief"} {
		s := box.Tools[name]
		s.Timeout = nil
		box.Tools[name] = s
	}
	h.policy.Servers = map[string]permission.ServerSettings{"box": box}
}

// fresh is a number that was not given before.
func (h *house) fresh() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	return h.n
}

// ran is what the tool server did for a scene.
func (h *house) ran(scene string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ledger[scene])
}

func (h *house) session(id chat.ID) turn.Session {
	h.Helper()
	s, err := h.engine.Session(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	return s
}

// until waits for a state of a chat.
func (h *house) until(id chat.ID, what string, is func(turn.Session) bool) turn.Session {
	h.Helper()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		c := h.signal.Changed()
		s := h.session(id)
		if is(s) {
			return s
		}
		select {
		case <-c:
		case <-over.C:
			raw, _ := json.Marshal(s) // what it is, for whoever reads the failure
			h.Fatalf("it never came that %s: %s", what, raw)
		}
	}
}

// watched is the store, which tells when something was written.
type watched struct {
	*state.Store
	signal *stand.Signal
}

func (w watched) Append(ctx context.Context, x agent.Write) (agent.Written, error) {
	got, err := w.Store.Append(ctx, x)
	w.signal.Fire()
	return got, err
}

// script is a model that calls the tools which the newest message names: "#scene tool tool".
type script struct{}

func (script) Name() string { return "script" }

func (script) Reply(_ context.Context, talk []turn.Utterance, _ []agent.ToolSpec, _ func(agent.Delta)) (agent.Reply, error) {
	text, answered := "", false
	for _, u := range talk {
		switch u.Role {
		case turn.RoleUser:
			text, answered = u.Text, false
		case turn.RoleAssistant:
			answered = true
		case turn.RoleNote:
		}
	}
	reply := agent.Reply{Text: "Well."}
	_, order, found := strings.Cut(text, "#")
	words := strings.Fields(order)
	if answered || !found || len(words) < 2 {
		return reply, nil
	}
	for i, name := range words[1:] {
		reply.Calls = append(reply.Calls, agent.ReplyCall{ModelID: fmt.Sprintf("m%d", i), Server: "box", Name: name, Args: argsOf(words[0], name, i)})
	}
	return reply, nil
}

// argsOf are a call's arguments: which scene it is of, and for the tool that takes much, more than can be shown.
func argsOf(scene, tool string, n int) []byte {
	args := map[string]any{"at": scene, "n": n}
	if strings.HasSuffix(tool, "big") {
		args["text"] = strings.Repeat("x", render.MaxArgs+10)
	}
	raw, _ := json.Marshal(args) // of plain values
	return raw
}

// The tools: each also with "admin_" before its name, which only admins decide.
var tools = []string{
	"write", "send", "drop",
	"brief",  // its asks expire at once
	"hold",   // it runs until it is released
	"lost",   // nobody knows what came of it
	"parked", // its asks never expire
	"single", // not to be granted for a chat
	"big",    // called with more than can be shown
}

const adminTool = "admin_"

// box is the tool server.
type box struct{ *house }

func (box) tool(name string) permission.Tool {
	return permission.Tool{Server: "box", Name: name, Definition: permission.Digest(fmt.Sprintf("%064x", len(name)))}
}

func (b box) List(context.Context) (all []agent.ToolSpec, _ []agent.ServerFault, _ error) {
	for _, prefix := range []string{adminTool, ""} {
		for _, name := range tools {
			all = append(all, agent.ToolSpec{Tool: b.tool(prefix + name), InputSchema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	return all, nil, nil
}

func (box) Check(context.Context, permission.Tool, json.RawMessage) error { return nil }

func (b box) Call(ctx context.Context, token agent.RunToken, _ func(turn.Progress)) (turn.Result, error) {
	call, ok := token.Call()
	var args struct {
		At string `json:"at"`
	}
	err := json.Unmarshal(call.Args, &args)
	b.mu.Lock()
	if !ok || err != nil {
		b.broken = append(b.broken, "a tool was called without a token, or with other arguments")
	}
	b.ledger[args.At] = append(b.ledger[args.At], call.Tool.Name)
	b.mu.Unlock()
	b.signal.Fire()
	switch strings.TrimPrefix(call.Tool.Name, adminTool) {
	case "lost":
		return turn.Result{}, errors.New("the server did not answer in time")
	case "hold":
		select {
		case <-ctx.Done():
			return turn.Result{}, errors.New("the call was cancelled; it may have happened")
		case <-b.release.C():
		}
	}
	return turn.Result{Text: "ok"}, nil
}

// paper is a chat platform that keeps what it is told.
type paper struct {
	mu       sync.Mutex
	n        int
	whispers map[string]string // by reply handle
	views    map[chat.MessageRef]render.Message
}

func newPaper() *paper {
	return &paper{whispers: map[string]string{}, views: map[chat.MessageRef]render.Message{}}
}

func (*paper) Limits() render.Limits {
	return render.Limits{Chars: 12000, Bytes: 40000, Blocks: 45, Text: 3000, Args: 2500, Label: 75, Asks: 10, Choices: 60}
}

func (p *paper) Post(_ context.Context, _ chat.ID, _ chat.PostKey, m render.Message) (chat.MessageRef, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	ref := chat.MessageRef(fmt.Sprintf("m%d", p.n))
	p.views[ref] = m
	return ref, nil
}

func (p *paper) Edit(_ context.Context, _ chat.ID, ref chat.MessageRef, m render.Message, _ agent.Urgency) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.views[ref] = m
	return nil
}

func (p *paper) Whisper(_ context.Context, to chat.ReplyHandle, m render.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whispers[to.Key] += render.PlainText(m)
	return nil
}

// Groups implements [groups.Groups].
func (*paper) Groups(_ context.Context, _ chat.ID, u chat.User) ([]chat.User, error) {
	return groupsNow(u), nil
}

func (p *paper) told(key string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.whispers[key]
}
