package slack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// panelForm is what a view of the settings remembers between two clicks: which view it is, and what "here" means. Like a form it has no
// authority.
type panelForm struct {
	At    place // the thread that "here" is; zero: none
	View  string
	Page  int    // of that view, from 0
	Token string // of the act that a text is filled in for
}

// panelFormForm is a panelForm in private_metadata, or in the value of a button.
type panelFormForm struct {
	Version int    `json:"v"`
	Team    string `json:"team,omitempty"`
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"`
	View    string `json:"view"`
	Page    int    `json:"page,omitempty"`
	Token   string `json:"token,omitempty"`
}

var actForm = regexp.MustCompile(`^[!-~]{1,40}$`) // of [render.Act.Token]

func (f panelForm) meta() string {
	b, err := json.Marshal(panelFormForm{formVersion, f.At.Team, f.At.Channel, f.At.Thread, f.View, f.Page, f.Token})
	if err != nil || len(b) > maxMeta {
		return "" // parsePanel refuses it
	}
	return string(b)
}

// parsePanel reads what meta wrote, and nothing else.
func parsePanel(s string) (panelForm, error) {
	if len(s) > maxMeta {
		return panelForm{}, fmt.Errorf("%w: %d bytes", errForm, len(s))
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	var in panelFormForm
	if err := d.Decode(&in); err != nil || d.More() {
		return panelForm{}, errForm
	}
	f := panelForm{place{in.Team, in.Channel, in.Thread}, in.View, in.Page, in.Token}
	switch {
	case in.Version != formVersion:
		return panelForm{}, fmt.Errorf("%w: version %d", errForm, in.Version)
	case f.At != place{} && (in.Team == "" || in.Channel == "" || !timestamp.MatchString(in.Thread)):
		return panelForm{}, fmt.Errorf("%w: it names no thread", errForm)
	case in.View != "" && !viewForm.MatchString(in.View):
		return panelForm{}, fmt.Errorf("%w: it names no view", errForm)
	case in.Token != "" && !actForm.MatchString(in.Token):
		return panelForm{}, fmt.Errorf("%w: it names no act", errForm)
	case in.Page < 0 || in.Page > maxPage:
		return panelForm{}, fmt.Errorf("%w: page %d", errForm, in.Page)
	}
	return f, nil
}

// chat is what "here" means; zero: nothing.
func (f panelForm) chat() chat.ID {
	if f.At == (place{}) {
		return chat.ID{}
	}
	return f.At.id()
}
