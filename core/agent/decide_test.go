package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

var (
	here = chat.ID{Platform: "test", Key: "room"}
	ana  = chat.User{Platform: "test", Key: "ana"}
	ben  = chat.User{Platform: "test", Key: "ben"}
	boss = chat.User{Platform: "test", Key: "boss"}
	noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
)

// board is a session with three calls that Ana allowed.
func board() turn.Session {
	call := func(id string, status turn.Status) turn.ToolCall {
		return turn.ToolCall{
			ID: turn.CallID(id), Asking: turn.Asking{Ask: turn.AskID("a-" + id)}, Status: status, Tool: permission.Tool{Server: "files", Name: "move"},
			Decision: turn.Decision{Choice: chat.AllowOnce, By: ana, Name: "Ana", DecidedAt: noon},
		}
	}
	return turn.Session{
		Chat: here,
		Turn: &turn.Turn{ID: "t1", Requester: ana, Calls: []turn.ToolCall{call("done", turn.Done), call("allowed", turn.Allowed), call("running", turn.Running)}},
	}
}

func ruled() permission.Policy {
	return permission.Policy{Installed: true, Admins: []chat.User{boss}}
}

// The small ones that Decide rests on.
func TestPartsOfADecision(t *testing.T) {
	if at := entryOf([]turn.Entry{{Op: "x", At: noon}, {Op: "y", At: noon.Add(1)}}, "y").At; !at.Equal(noon.Add(1)) {
		t.Error(at)
	}
	if !entryOf([]turn.Entry{{Op: "x", At: noon}}, "z").At.IsZero() {
		t.Error("a stamp of nothing")
	}
	for text, want := range map[string]error{
		"hi": nil, "": ErrEmpty, " \n": ErrEmpty, "\xff": ErrNotText, strings.Repeat("x", MaxText): nil, strings.Repeat("x", MaxText+1): ErrTooLong,
	} {
		if err := checkText(text); !errors.Is(err, want) {
			t.Errorf("%.9q: %v", text, err)
		}
	}
	a, b := chat.Envelope{User: ana, Delivery: "d"}, chat.Envelope{User: ben, Delivery: "d"}
	same, unnamed := a, chat.Envelope{User: ana}
	first, second := opOf(unnamed), opOf(unnamed)
	if opOf(a) != opOf(same) || opOf(a) == opOf(b) || first == second {
		t.Error("operations")
	}
	one, other := deliveryOf(unnamed), deliveryOf(unnamed)
	if deliveryOf(a) != deliveryOf(same) || deliveryOf(a) == deliveryOf(b) || one == other {
		t.Error("deliveries")
	}
	if opPart("o", 0) != "o" || opPart("o", 1) == "o" || opPart("o", 1) == opPart("o", 2) {
		t.Error("parts")
	}
}
