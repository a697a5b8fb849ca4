package matrix

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// What the documents say, as tables. Nothing here asks the product.

// offers are the choices that an ask takes in a stage, from those who may decide it (DESIGN 3 and 5, UX.md). Choices in
// [besides] are not about the one ask.
var offers = map[stage]string{
	awaiting: "allow_once allow_chat deny deny_reason edit extend allow_exact allow_hour allow_uses allow_server allow_session remember",
	parked:   "allow_once allow_chat deny deny_reason edit", // no deadline, so nothing to extend
	single:   "allow_once deny deny_reason edit extend",     // the operator withholds grants
	tooBig:   "deny deny_reason extend remember",            // SAFETY 4 row 4: what cannot be shown has no Allow
	foreign:  "allow_once allow_chat deny deny_reason edit extend",
	batch:    "allow_once allow_chat deny deny_reason edit extend",
	stale:    "allow_once allow_chat deny deny_reason edit extend",
	allowed:  "undo", // DESIGN 5.5: until it starts
	denied:   "undo",
	expired:  "ask_again",
	lapsed:   "ask_again",
	unknown:  "happened run_again leave extend",
	// The rest takes nothing: what was decided, ran, was cancelled, or is asked for anew under another token.
	reopened: "", edited: "", asked: "", running: "", done: "", resolved: "", cancelled: "", granted: "",
}

// withheld from asks that only an admin decides (REQUIREMENTS C6, SAFETY 4 row 16).
var withheld = []chat.Choice{chat.AllowChat, chat.AllowExact, chat.AllowHour, chat.AllowUses, chat.AllowServer, chat.AllowSession, chat.Remember}

// waiting are the stages in which some call of the open turn waits for a decision, for which the batch's token can be had.
var waiting = []stage{awaiting, parked, single, tooBig, foreign, batch, allowed, denied, expired, reopened, edited}

// open are the stages in which a turn goes on.
var open = append(slices.Clone(waiting), stale, asked, running, unknown)

// mayBe says whether a cell may be accepted; if it may, it has to be.
func mayBe(c cell, r role) bool {
	if takes, known := kinds[c.Door]; !known || takes != nil && !slices.Contains(takes, c.Choice) {
		return false
	}
	switch c.Choice {
	case chat.Stop: // it can only end things, and names its turn: whoever is known may
		return (isPlace(c.Place) || c.Place == otherText) && has(open, c.Stage) && !r.nobody
	case chat.Revoke: // whoever gave the grant, and admins
		return (isPlace(c.Place) || c.Place == otherText) && c.Stage == granted && !r.nobody && !r.barred && (r.granter || isAdmin(c, r))
	case modeNever: // C3: the chat's owner, and admins
		return isPlace(c.Place) && !r.nobody && !r.barred && (r.owner || isAdmin(c, r))
	}
	if !isPlace(c.Place) || !mayDecide(c, r) {
		return false
	}
	switch c.Choice {
	case chat.AllowServer: // a grant that would not cover this very call, from whoever gives it, is none
		if c.Rule == raised {
			return false
		}
	case chat.Remember: // one's own calls are others' to decide there, so nothing could be remembered that counts
		if c.Rule == byOthers {
			return false
		}
	case chat.AllowSession: // C3 again: it turns prompts off
		if !r.owner && !isAdmin(c, r) {
			return false
		}
	case chat.ApproveAll:
		return has(waiting, c.Stage) && c.Stage != tooBig
	case chat.DenyAll:
		return has(waiting, c.Stage)
	}
	return slices.Contains(strings.Fields(offers[c.Stage]), string(c.Choice)) && !(c.Level == admin && slices.Contains(withheld, c.Choice))
}

// isPlace: workspace, channel, thread and message of the record equal the click's (REQUIREMENTS 5.5); an API call has no message.
func isPlace(p place) bool { return p == here || p == noMessage }

// isAdmin: C18's list, as it is now.
func isAdmin(c cell, r role) bool {
	return r.admin && !r.nobody && c.Rule != noAdmins && c.Rule != uninstalled
}

// mayDecide is REQUIREMENTS 5.6, at the moment of the click.
func mayDecide(c cell, r role) bool {
	if r.nobody || r.barred || c.Rule == uninstalled {
		return false
	}
	if isAdmin(c, r) {
		return true
	}
	if c.Level == admin || c.Rule == raised { // R29, and SAFETY 4 row 29
		return false
	}
	asked := r.requester
	if c.Stage == foreign { // Xena of another workspace asks
		asked = r.name == "stranger of another workspace"
	}
	switch c.Rule {
	case byRequester, noAdmins:
		return asked
	case byParticipants: // SAFETY 4 row 9: a rule about everybody does not mean people of elsewhere
		return r.member && r.spoke && (c.Stage != foreign || !r.requester)
	case byAnyone:
		return r.member
	case byOthers:
		return r.member && !asked
	case byListed:
		return r.listed
	}
	return false
}

func has(all []stage, s stage) bool { return slices.Contains(all, s) }
