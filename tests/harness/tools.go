package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Invocation is one run as its server sees it.
type Invocation struct {
	Ctx      context.Context // ends when the caller cancels
	Name     string
	Args     string
	Progress func(turn.Progress)
	Ask      func(turn.Elicitation) (turn.Fill, error) // asks the person who asked, while it runs
}

// Tool is one tool of a fake server. The zero Run answers "<name> ok".
type Tool struct {
	Server, Name string
	Version      int
	Moved        bool // the operator says that its server is elsewhere: another definition, in the same words
	Hints        permission.Hints
	Preview      string // the tool of its server that reads what its calls replace
	Check        func(args string) error
	Run          func(Invocation) (turn.Result, error)
	// Stubborn: the answer reaches the caller even after it cancelled, as one that was already on its way does.
	Stubborn bool
}

// Spec is the tool as its server lists it.
func (t Tool) Spec() agent.ToolSpec {
	says := "It does " + t.Name + "."
	if t.Version > 0 {
		says = fmt.Sprintf("It does %s, in version %d.", t.Name, t.Version)
	}
	digest := len(t.Name)*1000 + t.Version
	if t.Moved {
		digest += 500
	}
	return agent.ToolSpec{
		Tool:        permission.Tool{Server: t.Server, Name: t.Name, Definition: permission.Digest(fmt.Sprintf("%064x", digest))},
		Description: says, InputSchema: json.RawMessage(`{"type":"object"}`), Hints: t.Hints, Preview: t.Preview,
		Definition: permission.Definition{Description: says, Input: json.RawMessage(`{"type":"object"}`)},
	}
}

// Effect is one run that reached its server: the ledger's line.
type Effect struct {
	Server, Name, Args string
	Call               turn.CallID
	Run                turn.RunID
	Digest             permission.Digest
	Chat               chat.ID
	Replica            string
}

// Tools are the fake servers with their ledger. They outlive every replica.
type Tools struct {
	sig   *stand.Signal
	chats []chat.ID // in which calls may run

	mu      sync.Mutex
	list    []Tool
	faults  []agent.ServerFault
	effects []Effect
	broken  []string
	busy    sync.WaitGroup
}

// Put adds a tool, or replaces the one of the same server and name.
func (t *Tools) Put(x Tool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(t.list, func(y Tool) bool { return y.Server == x.Server && y.Name == x.Name })
	t.list = append(t.list, x)
}

// Change gives a tool another definition.
func (t *Tools) Change(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.list {
		if t.list[i].Name == name {
			t.list[i].Version++
		}
	}
}

// Remove takes a tool away.
func (t *Tools) Remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(slices.Clone(t.list), func(y Tool) bool { return y.Name == name })
}

// Down makes a server fail with words for people.
func (t *Tools) Down(server, say string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(slices.Clone(t.list), func(y Tool) bool { return y.Server == server })
	t.faults = append(t.faults, agent.ServerFault{Server: server, Say: say})
}

// Effects is the ledger.
func (t *Tools) Effects() []Effect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.effects)
}

// Ran is the names of the runs, in order.
func (t *Tools) Ran() string {
	var names []string
	for _, e := range t.Effects() {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// Count is how often a tool ran.
func (t *Tools) Count(name string) int {
	n := 0
	for _, e := range t.Effects() {
		if e.Name == name {
			n++
		}
	}
	return n
}

func (t *Tools) find(server, name string) (Tool, bool) {
	i := slices.IndexFunc(t.list, func(x Tool) bool { return x.Server == server && x.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return t.list[i], true
}

// hands are the tools as one replica reaches them.
type hands struct {
	*Tools
	who  string
	gate *Gate
	died <-chan struct{}
}

func (h hands) List(context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []agent.ToolSpec
	for _, x := range h.list {
		out = append(out, x.Spec())
	}
	slices.SortFunc(out, func(a, b agent.ToolSpec) int {
		return strings.Compare(a.Tool.Server+"/"+a.Tool.Name, b.Tool.Server+"/"+b.Tool.Name)
	})
	return out, slices.Clone(h.faults), nil
}

func (h hands) Check(_ context.Context, tool permission.Tool, args json.RawMessage) error {
	h.mu.Lock()
	x, ok := h.find(tool.Server, tool.Name)
	h.mu.Unlock()
	if !ok || x.Check == nil {
		return nil
	}
	return x.Check(string(args))
}

type answer struct {
	res turn.Result
	err error
}

func (h hands) Call(ctx context.Context, token agent.RunToken, progress func(turn.Progress)) (turn.Result, error) {
	if h.gate.isDead() {
		return turn.Result{}, errDead
	}
	call, ok := token.Call()
	h.mu.Lock()
	if !ok {
		h.broken = append(h.broken, "a tool was called without a token")
	}
	x, there := h.find(call.Tool.Server, call.Tool.Name)
	if !there || x.Spec().Tool != call.Tool {
		h.mu.Unlock()
		return turn.Result{}, fmt.Errorf("%w: %s changed", agent.ErrNotRun, call.Tool.Name)
	}
	e := Effect{
		Server: call.Tool.Server, Name: call.Tool.Name, Args: string(call.Args), Call: call.ID, Run: call.Run,
		Digest: call.Digest, Replica: h.who,
	}
	for _, id := range h.chats {
		if permission.CallDigest(id, call.Tool, call.Args) == call.Digest {
			e.Chat = id
		}
	}
	if e.Chat.IsZero() {
		h.broken = append(h.broken, "what runs is not what its digest covers")
	}
	for _, old := range h.effects {
		if old.Run == e.Run {
			h.broken = append(h.broken, "one run reached its server twice")
		}
	}
	h.effects = append(h.effects, e)
	h.mu.Unlock()
	h.sig.Fire()
	if x.Run == nil {
		return turn.Result{Text: x.Name + " ok"}, nil
	}
	done := make(chan answer, 1)
	h.busy.Go(func() { // the server's own process: it goes on whatever becomes of the caller
		res, err := x.Run(Invocation{ctx, x.Name, string(call.Args), progress, func(w turn.Elicitation) (turn.Fill, error) { return token.Ask(ctx, w) }})
		done <- answer{res, err}
	})
	gone := ctx.Done()
	if x.Stubborn {
		gone = nil
	}
	select {
	case a := <-done:
		if h.gate.isDead() {
			return turn.Result{}, errDead
		}
		return a.res, a.err
	case <-gone:
		return turn.Result{}, errors.New("the call was cancelled; it may have happened")
	case <-h.died:
		return turn.Result{}, errDead
	}
}

// In lets calls run in a further chat.
func (t *Tools) In(id chat.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chats = append(t.chats, id)
}
