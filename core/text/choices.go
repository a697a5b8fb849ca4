package text

import (
	"slices"

	"github.com/nodhq/nod/core/chat"
)

// ChoiceKind is what is the same of a choice wherever it is offered, drawn or taken. The choice itself is the word for it on every wire: in
// a custom_id, an action_id and the web API's JSON.
type ChoiceKind struct {
	Choice  chat.Choice
	Label   string // of its button; empty where the card says more than a word
	Decided string // as a past participle; empty: it is taken for a denial
	API     API
	Refuses bool // the only buttons that may stand out are those that refuse
	Aside   bool // a click on it brings a form, or something for one person: the message does not change by it
}

// API is where the web API takes a choice.
type API uint8

// What the API takes it for.
const (
	APINone  API = iota // it is for surfaces with buttons of their own
	APIAsk              // an answer to one ask
	APIClick            // a click on what is no ask: a batch, a grant, a turn
)

// Choices are all that a button may carry. A word that is not here is no choice: it is not taken for a denial either. A new choice is a
// line here, and its case in the engine's Decide.
var Choices = []ChoiceKind{
	{Choice: chat.AllowOnce, Label: LabelAllowOnce, Decided: "allowed once", API: APIAsk},
	{Choice: chat.AllowChat, Label: LabelAllowChat, Decided: "allowed for this chat", API: APIAsk},
	{Choice: chat.Deny, Label: LabelDeny, API: APIAsk, Refuses: true},
	{Choice: chat.Undo, Label: LabelUndo, Decided: "undone", API: APIAsk},
	{Choice: chat.Extend, Label: LabelExtend, Decided: "extended", API: APIAsk},
	{Choice: chat.AskAgain, Label: LabelAskAgain, Decided: "asked again", API: APIAsk},
	{Choice: chat.Happened, Label: LabelHappened, Decided: "answered with “it happened”", API: APIAsk},
	{Choice: chat.RunAgain, Label: LabelRunAgain, Decided: "answered with “run again”", API: APIAsk},
	{Choice: chat.Leave, Label: LabelLeave, Decided: "answered with “leave it”", API: APIAsk},
	{Choice: chat.Edit, Label: LabelEdit, API: APIAsk, Aside: true},
	{Choice: chat.AllowExact, Label: LabelAllowExact, Decided: "allowed for this chat with these values", API: APIAsk},
	{Choice: chat.AllowPath, Label: LabelAllowPath, Decided: "allowed for this chat below one directory", API: APIAsk},
	{Choice: chat.AllowHour, Label: LabelAllowHour, Decided: "allowed for 1 hour", API: APIAsk},
	{Choice: chat.AllowUses, Decided: "allowed for some calls", API: APIAsk},
	{Choice: chat.AllowReads, Decided: "allowed, and all reads of its server", API: APIAsk},
	{Choice: chat.AllowWrites, Decided: "allowed, and all reads and writes of its server", API: APIAsk},
	{Choice: chat.AllowServer, Decided: "allowed, and all tools of its server", API: APIAsk},
	{Choice: chat.AllowChannel, Label: LabelAllowChannel, Decided: "allowed, and its tool in this channel"},
	{Choice: chat.AllowSession, Label: LabelAllowSession, Decided: "allowed, and everything in this session", API: APIAsk},
	{Choice: chat.Remember, Label: LabelRemember, API: APIAsk},
	{Choice: chat.Answer, Label: LabelAnswer, Decided: "answered", API: APIAsk, Aside: true},
	{Choice: chat.Decline, Label: LabelDecline, Decided: "declined", API: APIAsk, Refuses: true},
	{Choice: chat.Reveal, Label: LabelReveal, API: APIAsk, Aside: true},

	{Choice: chat.Revoke, Label: LabelRevoke, Decided: "revoked", API: APIClick},
	{Choice: chat.ApproveAll, Decided: "allowed once", API: APIClick},
	{Choice: chat.DenyAll, API: APIClick, Refuses: true},
	{Choice: chat.AskFor, Label: LabelAskMore, Decided: "asked again from now on", API: APIClick},

	{Choice: chat.Stop, Label: LabelStop, Decided: "stopped"}, // the API has a command for it
	{Choice: chat.ViewDetail, Label: LabelViewDetails, Aside: true},
	{Choice: chat.DenyReason, Label: LabelDenyReason, Refuses: true, Aside: true},
	{Choice: chat.Why, Label: LabelWhy, Aside: true},
	{Choice: chat.Accept, Label: LabelAcceptTools, Decided: "accepted", Aside: true},
	{Choice: chat.Good, Label: LabelGood, Decided: "rated good", Aside: true},
	{Choice: chat.Bad, Label: LabelBad, Decided: "rated bad", Aside: true},
	{Choice: chat.Open, Label: LabelEditTools, Aside: true},
}

func KindOf(c chat.Choice) (k ChoiceKind, ok bool) {
	i := slices.IndexFunc(Choices, func(k ChoiceKind) bool { return k.Choice == c })
	if i < 0 {
		return ChoiceKind{}, false
	}
	return Choices[i], true
}

func IsChoice(c chat.Choice) bool {
	_, ok := KindOf(c)
	return ok
}

// ChoicesOf are the choices that the API takes for something, in the order in which it names them.
func ChoicesOf(a API) (out []chat.Choice) {
	for _, k := range Choices {
		if k.API == a {
			out = append(out, k.Choice)
		}
	}
	return out
}

// Decided is a choice as a past participle: "denied", "allowed once". An unknown choice denies, and reads so.
func Decided(c chat.Choice) string {
	if k, _ := KindOf(c); k.Decided != "" {
		return k.Decided
	}
	return "denied"
}
