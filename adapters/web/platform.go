package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Server is a platform: its messages are what the log says, and an edit carries only what is not in the log (streaming text, progress).
var (
	_ agent.Platform = (*Server)(nil)
	_ agent.Noticer  = (*Server)(nil)
	_ agent.Pacer    = (*Server)(nil)
)

// pace is how often an answer that is being written is drawn: faster nobody reads, and each time is the whole message's work.
const pace = 100 * time.Millisecond

// Pace implements [agent.Pacer].
func (s *Server) Pace() time.Duration { return pace }

// framesChat is where the replicas tell each other which chats they show. It has no log.
func framesChat() chat.ID { return webChat("~frames") }

// frame is one live state of a message on its way between replicas.
type frame struct {
	Ref     string       `json:"ref"`
	State   string       `json:"state"`
	Blocks  []blockForm  `json:"blocks"`
	Choices []choiceForm `json:"choices"`
}

// Limits: a page scrolls.
func (s *Server) Limits() render.Limits { return render.Limits{} }

// Post stores nothing. The same key names the same message.
func (s *Server) Post(_ context.Context, _ chat.ID, key chat.PostKey, _ render.Message) (chat.MessageRef, error) {
	return chat.MessageRef(key), nil
}

// Edit shows the message as it stands to every open stream of the chat. Frames may be lost; the log's next entry repairs that. Of a turn that is over
// the log says all.
func (s *Server) Edit(ctx context.Context, id chat.ID, ref chat.MessageRef, m render.Message, _ agent.Urgency) error {
	if m.State != render.Working && m.State != render.Waiting {
		s.frames.Forget(id)
		return nil
	}
	f := frame{Ref: string(ref)}
	f.State, f.Blocks, f.Choices = draw(m)
	b, _ := json.Marshal(f) // texts, numbers and times always marshal
	if err := s.frames.Show(ctx, id, b); err != nil {
		return &agent.PlatformError{Kind: agent.FaultTransient, Cause: err}
	}
	return nil
}

// over lays a live frame over the recorded message of the turn it belongs to, if it is as old: which calls there are, how they stand and
// what is asked must be the log's word.
func (f frame) over(v view) (messageForm, bool) {
	t := v.session.Turn
	if t == nil || t.Shown == "" || string(t.Shown) != f.Ref {
		return messageForm{}, false
	}
	for _, shown := range slices.Backward(v.messages) {
		m := shown.form
		if m.Turn != string(t.ID) || m.Role != "assistant" {
			continue
		}
		fits := skeleton(m.State, m.Blocks) == skeleton(f.State, f.Blocks)
		m.Blocks, m.Choices, m.Live = f.Blocks, f.Choices, true
		return m, fits
	}
	return messageForm{}, false
}

// skeleton is what a live frame may not change.
func skeleton(state string, blocks []blockForm) string {
	var b strings.Builder
	b.WriteString(state)
	for _, x := range blocks {
		switch x.Type {
		case "step":
			b.WriteString("\x00step\x00" + x.ToolCallID + "\x00" + x.State)
		case "ask":
			b.WriteString("\x00ask\x00" + x.ToolCallID + "\x00" + x.RequestID)
		}
	}
	return b.String()
}
