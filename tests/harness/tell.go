package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Telling is a message to one person, where nobody else reads it.
type Telling struct {
	To      chat.User
	Ref     chat.MessageRef
	Key     chat.PostKey
	View    render.Message // as it was told
	Now     render.Message // as it stands
	Replica string
	At      time.Time
}

// DM is the direct conversation with somebody.
func DM(u chat.User) chat.ID {
	return chat.ID{Platform: u.Platform, Workspace: u.Workspace, Key: "dm-" + u.Key}
}

// Tellings are all that somebody was told, oldest first.
func (p *Platform) Tellings(u chat.User) []Telling {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Telling
	for _, t := range p.told {
		if t.To == u {
			out = append(out, t)
		}
	}
	return out
}

// PressTold is somebody's click on a message that somebody was told, with the token that stands on it.
func (w *World) PressTold(u chat.User, t Telling, choice chat.Choice) chat.Clicked {
	w.Helper()
	for _, c := range t.View.Choices {
		if c.Choice == choice {
			return chat.Clicked{Envelope: w.Envelope(DM(t.To), u), Token: c.Token, Choice: choice, Message: t.Ref}
		}
	}
	w.Fatalf("no button %q on\n%s", choice, render.PlainText(t.View))
	return chat.Clicked{}
}

// telling is the platform with a way to write to one person.
type telling struct{ surface }

var _ agent.Teller = telling{}

// Tell makes one message of a key, as [agent.Platform.Post] does.
func (s telling) Tell(ctx context.Context, to chat.User, key chat.PostKey, m render.Message) (chat.MessageRef, error) {
	if s.gate.isDead() {
		return "", errDead
	}
	t := s.befall(ctx, Op{Chat: DM(to), Post: true, View: m, Replica: s.who})
	if t.Err != nil && !t.Commit {
		return "", t.Err
	}
	s.mu.Lock()
	k := DM(to).String() + "/" + string(key)
	ref, there := s.keys[k]
	if !there {
		ref = chat.MessageRef(fmt.Sprintf("t%d", len(s.told)+1))
		s.keys[k] = ref
		s.told = append(s.told, Telling{To: to, Ref: ref, Key: key, View: m, Now: m, Replica: s.who, At: time.Now()})
	}
	s.mu.Unlock()
	s.sig.Fire()
	return ref, t.Err
}
