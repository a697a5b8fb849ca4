package components

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

// A button of the settings has the custom_id "nodp:<what>:<page>:<server> <token> <view>". The server stands there only in direct messages,
// the view is "=<view>", or "#<name>" of one that is too long for a custom_id. After it there may stand a number, as in
// actions.go. Nothing of it has any authority: it is done as whoever clicked, and only what the engine offers them.

// What a [PanelAction] does.
const (
	PanelDo       = "d" // an act
	PanelSure     = "y" // the same, after the person confirmed it
	PanelPick     = "p" // an option of an act; which one is the select's value
	PanelFill     = "f" // opens the form of an act
	PanelFillSure = "k" // the same, after the person confirmed it
	PanelForm     = "m" // that form
	PanelGo       = "g" // opens another view
	PanelTab      = "t" // opens the view that is the select's value
	PanelTurn     = "n" // shows a page
)

// PanelAction is what a button of a panel does.
type PanelAction struct {
	What, Token string
	View        string // as it stands in a custom_id
	Page        int
	Guild       string
}

var panelActionForm = regexp.MustCompile(`^nodp:([dypfkmgtn]):([0-9]{1,3}):([1-9][0-9]{0,19})? ([!-~]{1,40}) ([=#][!-~]{0,80})(?: [0-9]{1,14})?$`)

// ParsePanelAction reads a custom_id. ok is false for anything that [Panel] and its questions and forms do not write.
func ParsePanelAction(customID string) (d PanelAction, ok bool) {
	m := panelActionForm.FindStringSubmatch(customID)
	if m == nil {
		return PanelAction{}, false
	}
	page, err := strconv.Atoi(m[2])
	return PanelAction{What: m[1], Page: page, Guild: m[3], Token: m[4], View: m[5]}, err == nil
}

var (
	actToken  = regexp.MustCompile(`^[!-~]{1,40}$`)
	inlineRef = regexp.MustCompile(`^=[!-~]{0,80}$`)
)

// noToken stands in a custom_id where there is no token.
const noToken = "-"

// PanelPage is what is drawn of the settings.
type PanelPage struct {
	Guild string // of direct messages about a server
	View  string
	Page  int
	Say   string // what came of the last click
}

// LongViews are views whose names are too long for a custom_id, by the short ones that stand there: whoever reads them back has to know.
type LongViews map[string]string

// customID is the custom_id of an action on a page.
func (v LongViews) customID(at PanelPage, what, token, view string) string {
	head := "nodp:" + what + ":" + strconv.Itoa(at.Page) + ":" + at.Guild + " " + token + " "
	if ref := "=" + view; inlineRef.MatchString(ref) && len(head)+len(ref) <= maxCustomID-len(" 99") {
		return head + ref
	}
	return head + v.ref(view)
}

// ref is a view by its short name.
func (v LongViews) ref(view string) string {
	sum := sha256.Sum256([]byte(view))
	name := hex.EncodeToString(sum[:8])
	v[name] = view
	return "#" + name
}

// ReadView reads how a view stands in a custom_id or in an option: as itself, or by the short name of one that is too long.
func ReadView(ref string) (view, name string, ok bool) {
	if name, short := strings.CutPrefix(ref, "#"); short {
		return "", name, name != ""
	}
	view, ok = strings.CutPrefix(ref, "=")
	return view, "", ok
}

// OptionValue is a select's value without what makes it different from the others.
func OptionValue(v string) string {
	v, _, _ = strings.Cut(v, " ")
	return v
}
