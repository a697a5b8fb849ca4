package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// InputOfForm names the block that a form's errors are shown beside: its only input, or the first. Empty: the view is no form.
func InputOfForm(callback string) string {
	switch callback {
	case CallbackDeny:
		return blockReason
	case CallbackEdit:
		return blockArgs
	case CallbackAnswer:
		return FieldBlock(0)
	case CallbackFill:
		return blockFill
	}
	return ""
}

// Form is what a modal remembers between its opening and its answer. It says which ask is meant, and has no authority: who sends
// it is in the envelope, and whether they may is the engine's.
type Form struct {
	Place   Place
	Message chat.MessageRef // the one whose button opened it; empty: none
	Token   string
	Choice  chat.Choice
	Page    int // of the details, from 0
}

// storedForm is a form in private_metadata.
type storedForm struct {
	Version int             `json:"v"`
	Team    string          `json:"team"`
	Channel string          `json:"channel"`
	Thread  string          `json:"thread"`
	Message chat.MessageRef `json:"message,omitempty"`
	Token   string          `json:"token"`
	Choice  chat.Choice     `json:"choice"`
	Page    int             `json:"page,omitempty"`
}

const formVersion = 1

// maxPage bounds what a form may claim; the details are cut to their last page anyway.
const maxPage = 100_000

// Metadata is the form as private_metadata, or as the value of a button.
func (f Form) Metadata() string {
	return encodeStored(storedForm{formVersion, f.Place.Team, f.Place.Channel, f.Place.Thread, f.Message, f.Token, f.Choice, f.Page})
}

func encodeStored(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxMeta {
		return "" // which is refused: better a form that cannot be sent than one that means something else
	}
	return string(b)
}

func decodeStored[T any](s string) (in T, err error) {
	if len(s) > maxMeta {
		return in, fmt.Errorf("%w: %d bytes", errForm, len(s))
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return in, errForm
	}
	return in, nil
}

var errForm = errors.New("slack: this is not a form of nod's")

// ParseForm reads what Metadata wrote, and nothing else.
func ParseForm(s string) (Form, error) {
	in, err := decodeStored[storedForm](s)
	if err != nil {
		return Form{}, err
	}
	f := Form{Place{in.Team, in.Channel, in.Thread}, in.Message, in.Token, in.Choice, in.Page}
	switch {
	case in.Version != formVersion:
		return Form{}, fmt.Errorf("%w: version %d", errForm, in.Version)
	case in.Team == "" || in.Channel == "" || !IsTimestamp(in.Thread):
		return Form{}, fmt.Errorf("%w: it names no thread", errForm)
	case in.Message != "" && !IsTimestamp(string(in.Message)):
		return Form{}, fmt.Errorf("%w: it names no message", errForm)
	case !tokenForm.MatchString(in.Token) || !text.IsChoice(in.Choice):
		return Form{}, fmt.Errorf("%w: it names no choice", errForm)
	case in.Page < 0 || in.Page > maxPage:
		return Form{}, fmt.Errorf("%w: page %d", errForm, in.Page)
	}
	return f, nil
}

// The names of our own views, and of their inputs.
const (
	ActionPage     = "nod:page"
	CallbackDeny   = "nod:deny"
	CallbackEdit   = "nod:edit"
	CallbackAnswer = "nod:answer"
	callbackPanel  = "nod:panel"
	CallbackFill   = "nod:fill"
	blockReason    = "reason"
	blockArgs      = "args"
	blockFill      = "text"
)
