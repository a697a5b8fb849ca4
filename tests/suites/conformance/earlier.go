package conformance

import (
	"context"
	"log/slog"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Heard is what the model reads of others with a message, once the engine has asked the platform what was said before it.
func Heard(ctx context.Context, platform any, said chat.Said, log *slog.Logger) []chat.Quote {
	read := attach.Files{Chat: said.Chat, Platform: platform, Survive: func(string, func()) {}, Logger: log}
	asked := turn.Said{Message: said.Message, Context: said.Context, Earlier: said.Earlier}
	opened := turn.Turn{ID: "t1", Said: []turn.Said{asked}}
	s := turn.Session{Turn: &opened}
	for _, ev := range read.Gather(ctx, &opened) {
		s = turn.Apply(s, turn.Entry{Event: ev})
	}
	return s.Turn.Said[0].Context
}
