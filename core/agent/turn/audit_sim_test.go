package turn

import (
	"reflect"
	"slices"
	"testing"
)

// audited says which kind of record an entry of a kind is about; the others may only bring what they end.
var audited = map[string][]string{
	"ruled": {AuditRequest}, "decided": {AuditDecision}, "withdrawn": {AuditUndo}, "amended": {AuditEdit}, "extended": {AuditExtend}, "expired": {AuditExpire},
	"reopened": {AuditReopen}, "started": {AuditStart}, "finished": {AuditFinish, AuditLate}, "abandoned": {AuditUnknown}, "resolved": {AuditResolve},
	"revoked": {AuditRevoke}, "mode_set": {AuditMode}, "reset": {AuditReset}, "stopped": {AuditStop},
}

// Audit = effective events = the tool server's ledger: over thousands of logs of stale, doubled and tampered clicks and of crashes,
// every entry that changed something has its record, no other has one, and every run that the tool server saw is there.
func TestAuditIsTheLog(t *testing.T) {
	records := map[string]int{}
	for seed := uint64(1); seed <= uint64(min(*simSeeds, 400)); seed++ { //nolint:gosec // a flag
		w := newWorld(t, seed)
		w.live()
		byEntry := map[uint64][]Record{}
		all := Audit(w.id, w.log)
		for _, r := range all {
			byEntry[r.Seq] = append(byEntry[r.Seq], r)
			records[r.Kind+" "+r.Outcome]++
		}
		s := New(w.id)
		for _, e := range w.log {
			next := Apply(s, e)
			effect := !reflect.DeepEqual(s, next)
			got := byEntry[e.Seq]
			kinds := audited[e.Event.Kind()]
			n := 0
			for _, r := range got {
				if slices.Contains(kinds, r.Kind) {
					n++
				}
			}
			switch {
			case !effect && len(got) > 0:
				t.Errorf("seed %d: entry %d (%s) changed nothing and has records %v", seed, e.Seq, e.Event.Kind(), got)
			case effect && len(kinds) > 0 && n == 0, n > 1 && e.Event.Kind() != "revoked" && e.Event.Kind() != "reset":
				t.Errorf("seed %d: entry %d (%s) has %d records of %v", seed, e.Seq, e.Event.Kind(), n, kinds)
			}
			if open, now := unsettled(s), unsettled(next); len(now) < len(open) { // each call that ended has a record of the entry that ended it
				for _, id := range open {
					if !slices.Contains(now, id) && !slices.ContainsFunc(got, func(r Record) bool { return r.Call == id }) {
						t.Errorf("seed %d: entry %d (%s) ended %s without a record", seed, e.Seq, e.Event.Kind(), id)
					}
				}
			}
			s = next
		}
		for run := range w.ledger {
			n := 0
			for _, r := range all {
				if r.Kind == AuditStart && r.Run == run {
					n++
				}
			}
			if n != 1 {
				t.Errorf("seed %d: the tool server ran %s, and the audit has %d starts of it", seed, run, n)
			}
		}
		if t.Failed() {
			return
		}
	}
	for kind, outcomes := range map[string][]string{
		AuditRequest: {AuditAsked, AuditAllowed, AuditForbidden, AuditInvalid}, AuditDecision: {AuditApproved, AuditDenied}, AuditStart: {AuditAuto, AuditGranted, AuditApproved},
		AuditFinish: {AuditOK, AuditFailed}, AuditLate: {AuditOK, AuditFailed}, AuditUnknown: {AuditLost, AuditRepeated}, AuditExpire: {AuditTimeout, AuditLost},
		AuditRevoke: {AuditRevoked, AuditEnded}, AuditCancel: {AuditCancelled, AuditLost}, AuditResolve: {"happened", "run_again", "leave"},
		AuditUndo: {AuditUndone}, AuditReopen: {AuditAsked}, AuditStop: {AuditStopped}, AuditEdit: {AuditEdited}, AuditExtend: {AuditExtended}, AuditMode: {"always", "never"}, AuditReset: {AuditReset},
	} {
		for _, o := range outcomes {
			if records[kind+" "+o] == 0 {
				t.Errorf("no log of the simulation has %s %s: this test proves nothing of it", kind, o)
			}
		}
	}
}

func unsettled(s Session) (ids []CallID) {
	if s.Turn != nil {
		for _, c := range s.Turn.Calls {
			if !c.Settled() {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}
