package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// form is what a modal remembers between its opening and its answer. It says which ask is meant, and has no authority: who sends
// it is in the envelope, and whether they may is the engine's.
type form struct {
	Place   place
	Message chat.MessageRef // the one whose button opened it; empty: none
	Token   string
	Choice  chat.Choice
	Page    int // of the details, from 0
}

// formForm is a form in private_metadata.
type formForm struct {
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

func (f form) meta() string {
	b, err := json.Marshal(formForm{formVersion, f.Place.Team, f.Place.Channel, f.Place.Thread, f.Message, f.Token, f.Choice, f.Page})
	if err != nil || len(b) > maxMeta {
		return "" // parseForm refuses it: better a form that cannot be sent than one that means something else
	}
	return string(b)
}

var errForm = errors.New("slack: this is not a form of nod's")

// parseForm reads what meta wrote, and nothing else.
func parseForm(s string) (form, error) {
	if len(s) > maxMeta {
		return form{}, fmt.Errorf("%w: %d bytes", errForm, len(s))
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	var in formForm
	if err := d.Decode(&in); err != nil || d.More() {
		return form{}, errForm
	}
	f := form{place{in.Team, in.Channel, in.Thread}, in.Message, in.Token, in.Choice, in.Page}
	switch {
	case in.Version != formVersion:
		return form{}, fmt.Errorf("%w: version %d", errForm, in.Version)
	case in.Team == "" || in.Channel == "" || !timestamp.MatchString(in.Thread):
		return form{}, fmt.Errorf("%w: it names no thread", errForm)
	case in.Message != "" && !timestamp.MatchString(string(in.Message)):
		return form{}, fmt.Errorf("%w: it names no message", errForm)
	case !tokenForm.MatchString(in.Token) || !choices[in.Choice]:
		return form{}, fmt.Errorf("%w: it names no choice", errForm)
	case in.Page < 0 || in.Page > maxPage:
		return form{}, fmt.Errorf("%w: page %d", errForm, in.Page)
	}
	return f, nil
}
