package blocks

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

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

// InputOfForm names the block that a form's errors are shown beside: its only input, or the first. Empty: the view is no form.
func InputOfForm(callback string) string {
	return map[string]string{CallbackDeny: blockReason, CallbackEdit: blockArgs, CallbackAnswer: FieldBlock(0), CallbackFill: blockFill}[callback]
}

// Form is what a modal remembers between its opening and its answer. It says which ask is meant, and has no authority.
type Form struct {
	Place
	Message chat.MessageRef `json:"message,omitempty"` // the one whose button opened it; empty: none
	Token   string          `json:"token"`
	Choice  chat.Choice     `json:"choice"`
	Page    int             `json:"page,omitempty"` // of the details, from 0
}

type storedForm struct {
	Version int `json:"v"`
	Form
}

const formVersion = 1

const maxPage = 100_000 // bounds what a form may claim; the details are cut to their last page anyway

// Metadata is the form as private_metadata, or as the value of a button.
func (f Form) Metadata() string { return encodeStored(storedForm{formVersion, f}) }

func encodeStored(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxMeta {
		return "" // which is refused: better a form that cannot be sent than one that means something else
	}
	return string(b)
}

// decodeStored reads what encodeStored wrote, and nothing else.
func decodeStored(s string, into any) (ok bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	return len(s) <= maxMeta && d.Decode(into) == nil && !d.More()
}

// ParseForm reads what Metadata wrote. ok is false for everything else.
func ParseForm(s string) (f Form, ok bool) {
	var in storedForm
	ok = decodeStored(s, &in) && in.Version == formVersion && in.Place.isThread() && in.Page >= 0 && in.Page <= maxPage &&
		(in.Message == "" || IsTimestamp(string(in.Message))) && tokenForm.MatchString(in.Token) && text.IsChoice(in.Choice)
	if ok {
		f = in.Form
	}
	return f, ok
}

const Platform = "slack" // the value of [chat.ID.Platform] and [chat.User.Platform] that Slack's chats and people have

// Place is a thread: where a chat's messages go.
type Place struct {
	Team    string `json:"team,omitempty"` // workspace that the bot is installed in
	Channel string `json:"channel,omitempty"`
	Thread  string `json:"thread,omitempty"` // timestamp of the message that the thread hangs on
}

func (p Place) Chat() chat.ID {
	return chat.ID{Platform: Platform, Workspace: p.Team, Key: p.Channel + "/" + p.Thread}
}

// Shared is the channel that this and other chats stand in.
func (p Place) Shared() chat.Channel {
	return chat.Channel(chat.ID{Platform: Platform, Workspace: p.Team, Key: p.Channel}.String())
}

var timestampForm = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)

func (p Place) isThread() bool { return p.Team != "" && p.Channel != "" && IsTimestamp(p.Thread) }

// IsTimestamp reports whether s can be what Slack calls a message by.
func IsTimestamp(s string) bool { return timestampForm.MatchString(s) }

// PlaceOf reads back what Chat wrote. ok is false for an ID of another platform, or one that was never ours.
func PlaceOf(id chat.ID) (p Place, ok bool) {
	channel, thread, found := strings.Cut(id.Key, "/")
	if id.Platform != Platform || !found || channel == "" || !IsTimestamp(thread) {
		return Place{}, false
	}
	return Place{id.Workspace, channel, thread}, true
}

// PanelForm is what a view of the settings remembers between two clicks. Like a form it has no authority.
type PanelForm struct {
	Place        // the thread that "here" is; zero: none
	View  string `json:"view"`
	Page  int    `json:"page,omitempty"`  // of that view, from 0
	Token string `json:"token,omitempty"` // of the act that a text is filled in for
}

type storedPanelForm struct {
	Version int `json:"v"`
	PanelForm
}

var actForm = regexp.MustCompile(`^[!-~]{1,40}$`) // of [render.Act.Token]

// Metadata is the form as private_metadata, or as the value of a button.
func (f PanelForm) Metadata() string { return encodeStored(storedPanelForm{formVersion, f}) }

func ParsePanelForm(s string) (f PanelForm, ok bool) {
	var in storedPanelForm
	ok = decodeStored(s, &in) && in.Version == formVersion && (in.Place == Place{} || in.Place.isThread()) && in.Page >= 0 && in.Page <= maxPage &&
		(in.View == "" || IsView(in.View)) && (in.Token == "" || actForm.MatchString(in.Token))
	if ok {
		f = in.PanelForm
	}
	return f, ok
}

// IsView reports whether the name of a view can be remembered; a view without a name is the first.
func IsView(name string) bool { return viewForm.MatchString(name) }

// ParsePanelAction reads what a click in a panel says: what is to be done, and the token, view, page or PanelForm that it is done with.
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
	after := PanelForm{Place: f.Place}
	if view == f.View {
		after.Page = f.Page
	}
	if IsView(view) {
		after.View = view
	}
	return after
}

// Chat is what "here" means; zero: nothing.
func (f PanelForm) Chat() chat.ID {
	if f.Place == (Place{}) {
		return chat.ID{}
	}
	return f.Place.Chat()
}
