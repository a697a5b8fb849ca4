package parts

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// perToken is how many bytes of an answer count as one token: what model services say of English. They count by different
// tables, and not all of them can be told to stop.
const perToken = 4

// openSampling gives the servers that may ask the model somebody to ask. It is nil where none may.
func openSampling(c config.Config, log *slog.Logger) (func(context.Context, mcp.Sampling) (mcp.Sampled, error), error) {
	for _, s := range c.MCP.Servers {
		if s.Sampling {
			m, err := OpenModel(c, log)
			if err != nil {
				return nil, err
			}
			return sampling(m), nil
		}
	}
	return nil, nil
}

// sampling asks a model once what a server wants to know: without tools, and without anything of a chat. The server's
// instructions stand in a person's role, like everything of strangers.
func sampling(m agent.Model) func(context.Context, mcp.Sampling) (mcp.Sampled, error) {
	return func(ctx context.Context, q mcp.Sampling) (mcp.Sampled, error) {
		var talk []turn.Utterance
		if strings.TrimSpace(q.System) != "" {
			talk = append(talk, turn.Utterance{Role: turn.RoleUser, Text: "Instructions for your answer:\n" + q.System})
		}
		for _, said := range q.Messages {
			u := turn.Utterance{Role: turn.RoleUser, Text: said.Text}
			if said.Assistant {
				u.Role = turn.RoleAssistant
			}
			talk = append(talk, u)
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		a := limited{most: q.MaxTokens * perToken, full: stop}
		reply, err := m.Reply(ctx, talk, nil, a.take)
		if text, full := a.said(); full {
			return mcp.Sampled{Text: text, Model: m.Name(), Cut: true}, nil
		}
		switch {
		case err != nil:
			return mcp.Sampled{}, err
		case reply.Cut:
			return mcp.Sampled{}, errors.New("the answer broke off")
		case strings.TrimSpace(reply.Text) == "":
			return mcp.Sampled{}, errors.New("the answer has no text")
		case len(reply.Text) > a.most: // it did not stream
			return mcp.Sampled{Text: strings.ToValidUTF8(reply.Text[:a.most], ""), Model: m.Name(), Cut: true}, nil
		}
		return mcp.Sampled{Text: reply.Text, Model: m.Name()}, nil
	}
}

// limited is an answer that ends where it is long enough.
type limited struct {
	most int    // bytes
	full func() // ends the reply

	mu   sync.Mutex
	text strings.Builder
}

func (l *limited) take(d agent.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.WriteString(d.Text); l.text.Len() > l.most {
		l.full()
	}
}

// said is the answer so far, and whether it was ended for its length.
func (l *limited) said() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() <= l.most {
		return l.text.String(), false
	}
	return strings.ToValidUTF8(l.text.String()[:l.most], ""), true
}
