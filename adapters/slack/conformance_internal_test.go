package slack

import (
	"encoding/json"
	"testing"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What the conformance tests, which look from outside, have to be told: what a button says to the adapter.

// MaxBody is what one request over HTTP may have.
const MaxBody = maxBody

// ReadButton is what the adapter reads in a button or an option.
func ReadButton(kind, action, block, value string) (chat.Choice, string, bool) {
	act := &slack.BlockAction{ActionID: action, BlockID: block, Type: slack.ActionType(kind), Value: value}
	if kind == "overflow" || kind == "static_select" {
		act.Value, act.SelectedOption.Value = "", value
	}
	return parseAction(act)
}

// DrawCard is how a message with one ask looks.
func DrawCard(a render.Ask) (json.RawMessage, error) {
	return json.Marshal(encode(render.Message{State: render.Waiting, Blocks: []render.Block{a}}).Blocks)
}

// What is stored of a chat is read back as the same thread, and nothing else is taken for one.
func FuzzPlace(f *testing.F) {
	f.Add("slack", "T1", "C1/1700000000.000001")
	f.Add("slack", "", "C1/D2/1.1")
	f.Add("web", "T:1", "C%1/1.0\n")
	f.Fuzz(func(t *testing.T, platform, workspace, key string) {
		id := chat.ID{Platform: platform, Workspace: workspace, Key: key}
		p, ok := placeOf(id)
		if !ok {
			return
		}
		if platform != Platform || p.id() != id {
			t.Fatalf("%#v is read as %+v, which is %#v", id, p, p.id())
		}
		if back, err := chat.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%#v is stored as %q and read back as %#v, %v", id, id, back, err)
		}
	})
}
