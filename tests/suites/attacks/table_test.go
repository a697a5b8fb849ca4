package attacks

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/harness"
)

// What a feature that comes adds here, by row:
//
//   - 16 (once becomes session): a grant for an hour, for N uses, for pinned arguments and for a server's reads or writes, each with
//     the next call just outside it; "remember for me" of somebody else; a path that goes through ".." or a link out of its pin.
//   - 20 (who asks approves): min_approvals: two clicks of one person under two keys, a click that is taken back, an approver who lost
//     the role between the first and the second click; requester_may_approve: false with the requester as admin.
//   - 25 (elicitation): a form and an address put before the wrong person, a form of another chat, an address in punycode; sampling that
//     was not configured; an answer of one person to what another was asked.
//   - 29 (stale policy): settings changed from the chat by somebody who is no admin, and by one who no longer is.

// leastCases is what the corpus has to have.
const leastCases = 300

// rows are the attacks of SAFETY.md section 4, by their number. only names the surfaces on which a row can be tried, where it is not all.
var rows = map[int]struct {
	slug string
	only []string
}{
	1: {"dialog-forging", nil}, 2: {"hidden-characters", nil}, 3: {"homoglyphs", nil}, 4: {"hidden-tail", nil}, 5: {"shown-is-not-run", nil},
	6: {"json-ambiguity", nil}, 7: {"strangers", nil}, 8: {"other-entries", nil}, 9: {"identity", nil}, 10: {"forged-requests", nil},
	11: {"moved-buttons", nil}, 12: {"wrong-item", nil}, 13: {"races", nil}, 14: {"late-clicks", nil}, 15: {"approves-itself", nil},
	16: {"once-is-once", nil}, 17: {"rug-pull", nil}, 18: {"lying-annotations", nil}, 19: {"grant-inheritance", nil}, 20: {"who-asks-approves", nil},
	21: {"fatigue", nil}, 22: {"exfiltration", nil}, 23: {"masked-markup", nil}, 24: {"confused-deputy", nil}, 25: {"elicitation", nil},
	26: {"stolen-handles", nil}, 27: {"deny-enforced", nil}, 28: {"call-id-reuse", nil}, 29: {"stale-policy", nil}, 30: {"unattended", nil},
	31: {"exhaustion", nil},
	40: {"doors", []string{"web"}}, 41: {"sessions", []string{"web"}}, 42: {"floods", []string{"web"}},
}

// attack is one case. run gets a world of the kind that in names; empty is the usual one.
type attack struct {
	row     int
	surface string
	name    string
	in      string
	run     func(*testing.T, *world)
}

// known are attacks that pass, as "row-slug/surface/case" or a beginning of that, each with the reason: bugs of the product that are
// reported. They are not counted, and run only with -known, so that whoever repairs one sees it pass and takes its line away.
var known = map[string]string{}

var runKnown = flag.Bool("known", false, "run the attacks that are known to pass, too")

// passes says why an attack is known to pass; empty: it must not.
func (a attack) passes() string {
	for beginning, why := range known {
		if strings.HasPrefix(a.String(), beginning) {
			return why
		}
	}
	return ""
}

// worlds are the kinds of world.
var worlds = map[string]rules{
	"":        nil,
	"listed":  onlyListed,
	"never":   neverAsks,
	"channel": channelsToo,
}

// table is the whole corpus.
func table() (all []attack) {
	for _, part := range [][]attack{
		dialogs(), hiddenCharacters(), homoglyphs(), longArguments(), masks(), swaps(), ambiguous(), strangers(), entries(), identities(), forgeries(), installing(),
		movedButtons(), wrongItems(), races(), lateClicks(), selfApprovals(), onceIsOnce(), ruled(), rugPulls(), lies(), acceptedReads(), inheritance(), channels(), places(), requesters(),
		widened(), words(), owners(), quorums(), wantings(), settingsFromChat(), fatigue(), exfiltration(), markup(), deputies(), elicitation(), handles(), denials(), reusedIDs(), stalePolicy(), unattended(),
		answersAfterwards(), exhaustion(), doors(), signIns(), sessionsThatEnd(), floods(),
	} {
		all = append(all, part...)
	}
	return all
}

// everywhere makes one case for each surface.
func everywhere(row int, name string, run func(k *testing.T, w *world, surface string)) (out []attack) {
	for _, s := range surfaces {
		out = append(out, attack{row: row, surface: s.name, name: name, run: func(t *testing.T, w *world) { run(t, w, s.name) }})
	}
	return out
}

// somewhere makes one case on one surface, always the same: for families in which every member is tried, and every surface, but not each
// on each.
func somewhere(row int, name string, run func(t *testing.T, w *world, surface string)) []attack {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return everywhere(row, name, run)[h.Sum32()%uint32(len(surfaces)):][:1]
}

// on makes one case of one surface.
func on(row int, surface, name string, run func(*testing.T, *world)) attack {
	return attack{row: row, surface: surface, name: name, run: run}
}

// inWorld moves cases to another kind of world.
func inWorld(kind string, cases []attack) []attack {
	for i := range cases {
		cases[i].in = kind
	}
	return cases
}

func (a attack) String() string {
	return fmt.Sprintf("%02d-%s/%s/%s", a.row, rows[a.row].slug, a.surface, a.name)
}

// R154/once-is-once R155/once-is-once R175/unattended C6/once-is-once
func TestAttacks(t *testing.T) {
	open := map[string]*world{}
	byPath := map[string]map[string][]attack{}
	for _, a := range harness.Thinned(table(), attack.String) {
		if a.passes() != "" && !*runKnown {
			continue
		}
		if open[a.in] == nil {
			open[a.in] = openWorld(t, allTools(), worlds[a.in])
		}
		row := fmt.Sprintf("%02d-%s", a.row, rows[a.row].slug)
		if byPath[row] == nil {
			byPath[row] = map[string][]attack{}
		}
		byPath[row][a.surface] = append(byPath[row][a.surface], a)
	}
	for row, of := range byPath {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			for surface, cases := range of {
				t.Run(surface, func(t *testing.T) {
					t.Parallel()
					for _, a := range cases {
						t.Run(a.name, func(t *testing.T) {
							t.Parallel()
							a.run(t, open[a.in])
						})
					}
				})
			}
		})
	}
}

// TestCorpusIsWhole counts what TestAttacks runs.
func TestCorpusIsWhole(t *testing.T) {
	all := table()
	seen, count := map[string]bool{}, map[int]map[string]int{}
	total, passing := 0, map[string]int{}
	for _, a := range all {
		if seen[a.String()] {
			t.Errorf("two cases are called %s", a)
		}
		seen[a.String()] = true
		if why := a.passes(); why != "" {
			passing[why]++
			continue
		}
		total++
		if rows[a.row].slug == "" {
			t.Errorf("there is no row %d", a.row)
		}
		if count[a.row] == nil {
			count[a.row] = map[string]int{}
		}
		count[a.row][a.surface]++
	}
	breaks := must(os.ReadFile("breaks.txt"))(t)
	for row, x := range rows {
		if !strings.Contains("\n"+string(breaks), fmt.Sprintf("\n%02d ", row)) {
			t.Errorf("breaks.txt says nothing of row %d, %s", row, x.slug)
		}
		want := x.only
		if want == nil {
			want = []string{"slack", "discord", "web"}
		}
		for _, s := range want {
			if count[row][s] == 0 {
				t.Errorf("row %d, %s, has no case on %s", row, x.slug, s)
			}
		}
		t.Logf("%02d %-20s slack %3d, discord %3d, web %3d", row, x.slug, count[row]["slack"], count[row]["discord"], count[row]["web"])
	}
	for beginning, why := range known {
		if passing[why] == 0 {
			t.Errorf("no case begins with %s", beginning)
		}
	}
	for why, n := range passing {
		t.Logf("known to pass: %d attacks: %s", n, why)
	}
	t.Logf("%d cases", total)
	if total < leastCases {
		t.Errorf("%d cases, want at least %d", total, leastCases)
	}
}
