package parts

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// bytesPerToken is how many bytes of an answer count as one token: what model services say of English. They count by different
// tables, and not all of them can be told to stop.
const bytesPerToken = 4

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
			role := turn.RoleUser
			if said.Assistant {
				role = turn.RoleAssistant
			}
			talk = append(talk, turn.Utterance{Role: role, Text: said.Text})
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		most := q.MaxTokens * bytesPerToken
		var streamed strings.Builder
		reply, err := m.Reply(ctx, talk, nil, func(d agent.Delta) {
			if streamed.WriteString(d.Text); streamed.Len() > most {
				stop()
			}
		})
		said := streamed.String()
		if len(said) <= most { // it was not ended for its length
			switch {
			case err != nil:
				return mcp.Sampled{}, err
			case reply.Cut:
				return mcp.Sampled{}, errors.New("the answer broke off")
			case strings.TrimSpace(reply.Text) == "":
				return mcp.Sampled{}, errors.New("the answer has no text")
			}
			said = reply.Text // all of it, where it did not stream
		}
		return mcp.Sampled{Text: text.HeadBytes(said, most), Model: m.Name(), Cut: len(said) > most}, nil
	}
}
