package blocks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
)

// PanelForm is what a view of the settings remembers between two clicks: which view it is, and what "here" means. Like a form it has no
// authority.
type PanelForm struct {
	At    Place // the thread that "here" is; zero: none
	View  string
	Page  int    // of that view, from 0
	Token string // of the act that a text is filled in for
}

// storedPanelForm is a PanelForm in private_metadata, or in the value of a button.
type storedPanelForm struct {
	Version int    `json:"v"`
	Team    string `json:"team,omitempty"`
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"`
	View    string `json:"view"`
	Page    int    `json:"page,omitempty"`
	Token   string `json:"token,omitempty"`
}

var actForm = regexp.MustCompile(`^[!-~]{1,40}$`) // of [render.Act.Token]

// Metadata is the form as private_metadata, or as the value of a button.
func (f PanelForm) Metadata() string {
	return encodeStored(storedPanelForm{formVersion, f.At.Team, f.At.Channel, f.At.Thread, f.View, f.Page, f.Token})
}

// ParsePanelForm reads what Metadata wrote, and nothing else.
func ParsePanelForm(s string) (PanelForm, error) {
	in, err := decodeStored[storedPanelForm](s)
	if err != nil {
		return PanelForm{}, err
	}
	f := PanelForm{Place{in.Team, in.Channel, in.Thread}, in.View, in.Page, in.Token}
	switch {
	case in.Version != formVersion:
		return PanelForm{}, fmt.Errorf("%w: version %d", errForm, in.Version)
	case f.At != Place{} && (in.Team == "" || in.Channel == "" || !IsTimestamp(in.Thread)):
		return PanelForm{}, fmt.Errorf("%w: it names no thread", errForm)
	case in.View != "" && !viewForm.MatchString(in.View):
		return PanelForm{}, fmt.Errorf("%w: it names no view", errForm)
	case in.Token != "" && !actForm.MatchString(in.Token):
		return PanelForm{}, fmt.Errorf("%w: it names no act", errForm)
	case in.Page < 0 || in.Page > maxPage:
		return PanelForm{}, fmt.Errorf("%w: page %d", errForm, in.Page)
	}
	return f, nil
}

// IsView reports whether the name of a view can be remembered; a view without a name is the first.
func IsView(name string) bool { return viewForm.MatchString(name) }

// ParsePanelAction reads what a click in a panel carries, as [EncodePanel] writes it: what is to be done, and the token, view, page or PanelForm
// that it is done with. Neither has any authority.
func ParsePanelAction(a *slack.BlockAction) (verb, value string, ok bool) {
	id, ours := strings.CutPrefix(a.ActionID, PanelPrefix)
	verb, n, _ := strings.Cut(id, ":")
	if _, err := strconv.ParseUint(n, 10, 16); err != nil || !ours {
		return "", "", false
	}
	value = a.Value
	switch verb {
	case VerbLink, VerbShow, VerbFill:
		ok = true
	case VerbGo:
		ok = value == "" || IsView(value)
	case VerbPage:
		page, err := strconv.Atoi(value)
		ok = err == nil && page >= 0 && page <= maxPage
	case VerbPick:
		value = a.SelectedOption.Value
		ok = actForm.MatchString(value)
	case VerbDo:
		ok = actForm.MatchString(value)
	}
	return verb, value, ok
}

// After is where somebody stands when something is done that leads to a view: on the same page, if it is still the same view.
func (f PanelForm) After(view string) PanelForm {
	f.Token = ""
	if view != f.View {
		f.Page = 0
	}
	f.View = ""
	if IsView(view) {
		f.View = view
	}
	return f
}

// Chat is what "here" means; zero: nothing.
func (f PanelForm) Chat() chat.ID {
	if f.At == (Place{}) {
		return chat.ID{}
	}
	return f.At.Chat()
}
