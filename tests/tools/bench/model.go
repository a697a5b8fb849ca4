package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// pen is a model that writes tokens at a pace and remembers when it wrote each.
type pen struct {
	first, each time.Duration
	tokens      int // of an answer
	tool        bool

	mu   sync.Mutex
	said map[string]*writing // by what was asked
}

// writing is one answer: when each of its tokens was written.
type writing struct{ at []time.Time }

func newPen(first, each time.Duration, tokens int, tool bool) *pen {
	return &pen{first: first, each: each, tokens: tokens, tool: tool, said: map[string]*writing{}}
}

// Name implements [agent.Model].
func (p *pen) Name() string { return "pen" }

// Reply calls the write tool first if it may, then answers in tokens.
func (p *pen) Reply(ctx context.Context, talk []turn.Utterance, tools []agent.ToolSpec, stream func(agent.Delta)) (agent.Reply, error) {
	if err := sleep(ctx, p.first); err != nil {
		return agent.Reply{}, err
	}
	asked, done := question(talk)
	if p.tool && !done {
		for _, t := range tools {
			if t.Tool.Name == "write" {
				args, _ := json.Marshal(map[string]string{"path": "notes.txt", "text": asked})
				if err := sleep(ctx, 20*p.each); err != nil { // a call is text, too
					return agent.Reply{}, err
				}
				return agent.Reply{Calls: []agent.ReplyCall{{ModelID: "c" + asked, Server: t.Tool.Server, Name: t.Tool.Name, Args: args}}}, nil
			}
		}
	}
	w := &writing{}
	p.mu.Lock()
	p.said[asked] = w
	p.mu.Unlock()
	var text strings.Builder
	start := time.Now()
	for i := range p.tokens {
		if err := sleep(ctx, time.Until(start.Add(time.Duration(i+1)*p.each))); err != nil {
			return agent.Reply{Text: text.String(), Cut: true}, nil
		}
		t := token(i)
		text.WriteString(t)
		p.mu.Lock()
		w.at = append(w.at, time.Now())
		p.mu.Unlock()
		stream(agent.Delta{Text: t})
	}
	return agent.Reply{Text: text.String()}, nil
}

// wrote is when the tokens of the answer to a question were written.
func (p *pen) wrote(asked string) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.said[asked]; w != nil {
		return append([]time.Time(nil), w.at...)
	}
	return nil
}

// question is the last question's number, and whether a tool was asked for since.
func question(talk []turn.Utterance) (asked string, done bool) {
	for _, u := range talk {
		switch u.Role {
		case turn.RoleUser:
			_, asked, _ = strings.Cut(u.Text, "question ")
			asked, _, _ = strings.Cut(asked, ".")
			done = false
		case turn.RoleAssistant:
			done = done || len(u.Calls) > 0
		default:
		}
	}
	return asked, done
}

// letters make words that nothing else on a message contains.
const letters = "bcdfghjklmnpqrstvwxz"

// token is the i-th word of any answer: four characters, as tokens have on average, and different from all others.
func token(i int) string {
	n := len(letters)
	return string([]byte{letters[i/n/n%n], letters[i/n%n], letters[i%n], ' '})
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
