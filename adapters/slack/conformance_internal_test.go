package slack

import (
	"encoding/json"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
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
	return blocks.ParseAction(act)
}

// DrawCard is how a message with one ask looks.
func DrawCard(a render.Ask) (json.RawMessage, error) {
	return json.Marshal(blocks.EncodeMessage(render.Message{State: render.Waiting, Blocks: []render.Block{a}}).Blocks)
}
