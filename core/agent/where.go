package agent

import (
	"context"

	"github.com/nodhq/nod/core/chat"
)

type chatKey struct{}

// InChat marks a context as that of a chat's call.
func InChat(ctx context.Context, id chat.ID) context.Context {
	return context.WithValue(ctx, chatKey{}, id)
}

// ChatOf is the chat whose call a context belongs to: for tools in this process that keep chats apart.
func ChatOf(ctx context.Context) (id chat.ID, ok bool) {
	id, ok = ctx.Value(chatKey{}).(chat.ID)
	return id, ok
}
