package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/state"
)

// The engine as a library: a program of its own with a surface, a model and tools of its own. What confirms a call is [agent.Engine.Decide]
// with the token that the card carried; the log keeps what was decided, so that a program that is started again carries on.
func Example() {
	dir, err := os.MkdirTemp("", "nod")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	quiet := slog.New(slog.DiscardHandler)
	store, err := state.OpenEmbedded(dir, state.Options{Log: quiet})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()

	screen := &screen{cards: make(chan render.Ask, 1), over: make(chan string, 1)}
	policy := permission.Policy{Installed: true}
	engine, err := agent.New(agent.Config{
		Log: store, Index: store, Leases: store, Model: eager{}, Tools: garden{}, Policies: fixed(policy), Logger: quiet,
		Platforms: map[string]agent.Platform{"terminal": screen},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{store.Run, engine.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	defer running.Wait()
	defer stop()

	ana := chat.User{Platform: "terminal", Key: "ana"}
	from := chat.Envelope{Delivery: "1", Chat: chat.ID{Platform: "terminal", Key: "room"}, User: ana, Name: "Ana"}
	if err := engine.Accept(ctx, chat.Said{Envelope: from, Text: "Please water the roses"}); err != nil {
		panic(err)
	}
	card := <-screen.cards // what would run, and who may say so
	fmt.Println(render.PlainLine(card.Footer)[:len("Ana can answer")])
	for _, c := range card.Choices {
		if c.Choice == chat.AllowOnce {
			from.Delivery = "2"
			if _, err := engine.Decide(ctx, chat.Clicked{Envelope: from, Token: c.Token, Choice: c.Choice}); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println(<-screen.over)
	// Output:
	// Ana can answer
	// The garden says: roses watered
}

// screen is a surface: it is given each state of a turn's one message.
type screen struct {
	cards chan render.Ask
	over  chan string
	asked sync.Once
}

func (s *screen) Limits() render.Limits { return render.Limits{} }

func (s *screen) Post(_ context.Context, _ chat.ID, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	return chat.MessageRef(key), s.Edit(context.Background(), chat.ID{}, "", m, agent.Progress)
}

func (s *screen) Edit(_ context.Context, _ chat.ID, _ chat.MessageRef, m render.Message, _ agent.Urgency) error {
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Ask:
			s.asked.Do(func() { s.cards <- b })
		case render.Text:
			if m.State == render.Done {
				s.over <- b.Markdown
			}
		}
	}
	return nil
}

// eager is a model: it wants one call, and says what came of it.
type eager struct{}

func (eager) Name() string { return "eager" }

func (eager) Reply(_ context.Context, talk []turn.Utterance, _ []agent.ToolSpec, _ func(agent.Delta)) (agent.Reply, error) {
	if last := talk[len(talk)-1]; len(last.Calls) > 0 {
		return agent.Reply{Text: "The garden says: " + last.Calls[0].Result.Text}, nil
	}
	return agent.Reply{Calls: []agent.ReplyCall{{ModelID: "1", Server: "garden", Name: "water", Args: []byte(`{"what":"roses"}`)}}}, nil
}

// garden has one tool.
type garden struct{}

var water = agent.ToolSpec{Tool: permission.Tool{Server: "garden", Name: "water", Definition: permission.Digest("1")}, Description: "Waters something.", Source: permission.SourceMCP}

func (garden) List(context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	return []agent.ToolSpec{water}, nil, nil
}

func (garden) Check(context.Context, permission.Tool, json.RawMessage) error { return nil }

func (garden) Call(_ context.Context, token agent.RunToken, _ func(turn.Progress)) (turn.Result, error) {
	var args struct{ What string }
	call, ok := token.Call()
	if !ok {
		return turn.Result{}, agent.ErrNotRun
	}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return turn.Result{}, fmt.Errorf("%w: %w", agent.ErrNotRun, err)
	}
	return turn.Result{Text: args.What + " watered"}, nil
}

// fixed is a policy that nobody changes.
type fixed permission.Policy

func (p fixed) Policy(context.Context) (permission.Policy, error) { return permission.Policy(p), nil }
