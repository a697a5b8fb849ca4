package harness

import (
	"context"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// filing is the platform with everything that is optional, and files.
type filing struct{ beside }

var _ agent.Attacher = filing{}

func (f filing) Attach(ctx context.Context, id chat.ID, at chat.MessageRef, key chat.PostKey, m render.Message, file agent.File) (chat.MessageRef, error) {
	ref, err := f.Annotate(ctx, id, at, key, m, false)
	if err != nil {
		return ref, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes[len(f.notes)-1].File = file
	return ref, nil
}
