// Package matrix is the click matrix: who clicks × which policy × where the click says it comes from × how the ask stands ×
// what is chosen × through which door, thousands of cells, each of them tried. SAFETY.md section 4, rows 7, 8 and 11, asks for it:
// no cell may be accepted that the documents deny, and none refused that they allow.
//
// # Its words
//
// A [cell] is one click with everything that matters about it. A [role] is a person with what the documents know of them. A
// [rule] is a policy, with what changed in it since the ask. A place is what a click says of where it comes from. A [stage] is how
// an ask stands; a scene is a chat that was brought there, through the public ways in. A [pick] is one choice, with what it has to
// leave behind. A door is a way in: the engine's own (doors_test.go), and those of Slack, Discord and the web.
//
// # The oracle
//
// oracle_test.go says of every cell whether it may be accepted. It is written from REQUIREMENTS 5.4–5.6, C3 and C18, and DESIGN 5
// and 7, as tables, and asks neither core/permission nor core/agent. Where they disagree, the cell is printed.
//
// # How a cell is tried
//
// A cell that must be refused: nothing of the chat's session may change (it is compared as its bytes), the tool servers' ledger does
// not grow, and the person is told. As that leaves no trace, one scene serves hundreds of them; at the end of each scene somebody who
// may decides it, which shows that the card was alive all the time. A cell that must be accepted gets a scene of its own: just one
// event of its kind, by that person, is new in the log, the call stands as it should, and the ledger holds exactly what was allowed.
//
// A new choice is a line in [picks] and a word in the tables of oracle_test.go. Run with -v for the count of cells by axis.
package matrix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/harness/machine"
)

// atOnce is how many rules are tried at once: a platform takes its time between two posts.
const atOnce = 6

func TestMain(m *testing.M) {
	machine.AtOnce(atOnce)
	machine.SpendMemory()
	goleak.VerifyTestMain(m)
}
