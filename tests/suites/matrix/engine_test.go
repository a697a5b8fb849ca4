package matrix

import (
	"slices"
	"testing"
)

// rules are the policy axis.
var rules = []rule{byRequester, byParticipants, byAnyone, byListed, byOthers, raised, lowered, noAdmins, uninstalled}

// stages are how asks stand, in the order of a call's life.
var stages = []stage{
	awaiting, parked, single, tooBig, foreign, batch, stale, allowed, denied, expired, lapsed, asked, reopened, edited,
	running, done, unknown, resolved, cancelled, granted,
}

// Every click that the engine can be given, through its own doors.
func TestEngine(t *testing.T) {
	t.Parallel()
	n := &count{}
	t.Run("cells", func(t *testing.T) {
		for _, r := range rules {
			t.Run(string(r), func(t *testing.T) {
				t.Parallel()
				paper := newPaper()
				h := openHouse(t, func(h *house) { h.platforms["paper"] = paper })
				m := openMatrix(h, n, r, paperTown, paperRoles(), engineDoors{h, paper})
				for _, l := range []level{user, admin} {
					for _, st := range stages {
						if exists(r, l, st) {
							m.stage(l, st, m.engineCells(l, st))
							if st == awaiting && (r == byRequester || r == byListed) {
								m.prose(l, st, textDoor)
							}
						}
					}
				}
				m.quiet()
			})
		}
	})
	n.report(t, 15_000, 800)
}

// exists: some stages cannot come about at a level or under a rule, and others say nothing there that they do not say elsewhere.
func exists(r rule, l level, st stage) bool {
	switch {
	case r == lowered && l == user:
		return false
	case l == admin && r == byRequester:
		return slices.Contains([]stage{awaiting, batch, allowed, lapsed, reopened, unknown}, st)
	case l == admin:
		return st == awaiting || st == unknown
	case r == byRequester:
		return true
	case r == byOthers:
		return st == awaiting || st == batch
	case r == raised, r == noAdmins, r == uninstalled:
		return slices.Contains([]stage{awaiting, allowed, unknown, granted}, st)
	}
	return slices.Contains([]stage{awaiting, foreign, batch, allowed, lapsed, granted}, st)
}
