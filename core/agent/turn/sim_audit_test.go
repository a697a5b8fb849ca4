package turn_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/nodhq/nod/core/agent/audit"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// audited says which kind of record an entry of a kind is about; the others may only bring what they end.
var audited = map[string][]string{
	"ruled": {audit.Request}, "decided": {audit.Decision}, "withdrawn": {audit.Undo}, "amended": {audit.Edit}, "extended": {audit.Extend}, "expired": {audit.Expire},
	"reopened": {audit.Reopen}, "started": {audit.Start}, "finished": {audit.Finish, audit.Late}, "abandoned": {audit.Unknown}, "resolved": {audit.Resolve},
	"revoked": {audit.Revoke}, "mode_set": {audit.Mode}, "reset": {audit.Reset}, "stopped": {audit.Stop},
}

// Audit = effective events = the tool server's ledger: over thousands of logs of stale, doubled and tampered clicks and of crashes,
// every entry that changed something has its record, no other has one, and every run that the tool server saw is there.
// R142 R143
func TestAuditIsTheLog(t *testing.T) {
	records := map[string]int{}
	for seed := uint64(1); seed <= uint64(min(*simSeeds, 400)); seed++ { //nolint:gosec // a flag
		w := lived(t, seed)
		byEntry := map[uint64][]audit.Record{}
		all := audit.Records(w.id, w.log)
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
					if !slices.Contains(now, id) && !slices.ContainsFunc(got, func(r audit.Record) bool { return r.Call == id }) {
						t.Errorf("seed %d: entry %d (%s) ended %s without a record", seed, e.Seq, e.Event.Kind(), id)
					}
				}
			}
			s = next
		}
		for run := range w.ledger {
			n := 0
			for _, r := range all {
				if r.Kind == audit.Start && r.Run == run {
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
		audit.Request: {audit.Asked, audit.Allowed, audit.Forbidden, audit.Invalid}, audit.Decision: {audit.Approved, audit.Denied}, audit.Start: {audit.Auto, audit.Granted, audit.Approved},
		audit.Finish: {audit.OK, audit.Failed}, audit.Late: {audit.OK, audit.Failed}, audit.Unknown: {audit.Lost, audit.Repeated}, audit.Expire: {audit.Timeout, audit.Lost},
		audit.Revoke: {audit.Revoked, audit.Ended}, audit.Cancel: {audit.Cancelled, audit.Lost}, audit.Resolve: {"happened", "run_again", "leave"},
		audit.Undo: {audit.Undone}, audit.Reopen: {audit.Asked}, audit.Stop: {audit.Stopped}, audit.Edit: {audit.Edited}, audit.Extend: {audit.Extended}, audit.Mode: {"always", "never"}, audit.Reset: {audit.Reset},
	} {
		for _, o := range outcomes {
			if records[kind+" "+o] == 0 {
				t.Errorf("no log of the simulation has %s %s: this test proves nothing of it", kind, o)
			}
		}
	}
}

// The numbers equal the log: they are compared with a count over the events of simulated chats.
// R144 R158
func TestStatsEqualTheLog(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		w := lived(t, seed)
		s, n := New(w.id), map[string]int{}
		for _, e := range w.log {
			next := Apply(s, e)
			if !reflect.DeepEqual(s, next) {
				switch ev := e.Event.(type) {
				case Decided:
					n["denied"]++
					if ev.Choice == chat.AllowOnce || ev.Choice == chat.AllowChat {
						n["denied"]--
						n["approved"]++
					}
				case Started:
					n["runs"]++
				case Withdrawn:
					n["undone"]++
				case Expired:
					if s.Turn.Asking(ev.Ask).Status == Awaiting {
						n["expired"]++
					}
				}
			}
			s = next
		}
		got := audit.StatsOf(audit.Records(w.id, w.log))
		if got.Approvals != n["approved"] || got.Denials != n["denied"] || got.Expiries != n["expired"] || got.Undone != n["undone"] || got.AutoRuns+got.GrantRuns+got.ApprovedRuns != n["runs"] {
			t.Fatalf("seed %d: %+v, the log has %v", seed, got, n)
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
