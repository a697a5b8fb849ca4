package audit_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

// ofTool makes records of one tool: n of a kind and outcome, deciding in 1, 2, ... seconds.
func ofTool(tool, kind, outcome string, n int) (out []Record) {
	for i := range n {
		out = append(out, Record{Server: "files", Tool: tool, Kind: kind, Outcome: outcome, MS: int64(i+1) * 1000, At: time.Unix(int64(i), 0).UTC()})
	}
	return out
}

// R144 R145 R147 R158
func TestStats(t *testing.T) {
	if s := StatsOf(nil); !reflect.DeepEqual(s, Stats{}) {
		t.Errorf("of nothing: %+v", s)
	}
	all := slices.Concat(
		ofTool("write", Request, Asked, 12), ofTool("write", Decision, Approved, 6), ofTool("write", Decision, Denied, 2), ofTool("write", Expire, Timeout, 2),
		ofTool("write", Decision, Voted, 5), ofTool("write", Expire, Lost, 4), ofTool("write", Cancel, Cancelled, 1), ofTool("write", Undo, Undone, 1),
		ofTool("write", Start, Approved, 5), ofTool("write", Start, Granted, 3), ofTool("read", Start, Auto, 30), ofTool("read", Request, Allowed, 30),
		ofTool("write", Finish, Failed, 1), ofTool("write", Late, Failed, 1), ofTool("write", Finish, OK, 3), ofTool("write", Unknown, Lost, 1), ofTool("write", Unknown, Repeated, 1),
		ofTool("drop", Request, Forbidden, 3), ofTool("", Request, Invalid, 2), ofTool("", Stop, Stopped, 1),
	)
	s := StatsOf(all)
	want := Stats{
		Records: len(all), Asked: 12, Approvals: 6, Denials: 2, Expiries: 2, Cancelled: 1, Undone: 1, Forbidden: 3, Invalid: 2,
		AutoRuns: 30, GrantRuns: 3, ApprovedRuns: 5, Failed: 2, Unknown: 2, ApprovalRate: 0.6, DenialRate: 0.2, ExpiryRate: 0.2, Median: 2 * time.Second, P90: 6 * time.Second,
		Tools: []ToolStats{
			{Server: "files", Tool: "read", Runs: 30},
			{Server: "files", Tool: "write", Asked: 12, Approvals: 6, Denials: 2, Expiries: 2, Runs: 8},
			{Server: "files", Tool: "drop", Forbidden: 3},
		},
		Blocked: []ToolStats{
			{Server: "files", Tool: "write", Asked: 12, Approvals: 6, Denials: 2, Expiries: 2, Runs: 8},
			{Server: "files", Tool: "drop", Forbidden: 3},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	var many []Record
	for i := range 15 {
		many = append(many, ofTool(fmt.Sprintf("t%02d", i), Request, Forbidden, i+1)...)
	}
	if s = StatsOf(many); len(s.Blocked) != 10 || s.Blocked[0].Tool != "t14" || len(s.Tools) != 15 {
		t.Errorf("%d blocked of %d, the first %+v", len(s.Blocked), len(s.Tools), s.Blocked[0])
	}
}

// R146
func TestSuggestions(t *testing.T) {
	careful := func(r []Record, f func(*Record)) []Record { f(&r[0]); return r }
	yes := func(n int) []Record { return ofTool("t", Decision, Approved, n) }
	no := func(n int) []Record { return ofTool("t", Decision, Denied, n) }
	late := func(n int) []Record { return ofTool("t", Expire, Timeout, n) }
	of := func(def permission.Digest, at int64, r []Record) []Record {
		for i := range r {
			r[i].Definition, r[i].At = def, time.Unix(at, 0)
		}
		return r
	}
	for _, c := range []struct {
		records []Record
		want    string
	}{
		{yes(20), "allow: denied 0 of 20: consider allowing it without asking"},
		{yes(19), ""},
		{slices.Concat(yes(40), no(1)), ""},
		{slices.Concat(yes(19), ofTool("t", Start, Approved, 1), ofTool("t", Decision, Voted, 1)), ""},
		{slices.Concat(of("new", 2, ofTool("t", Request, Asked, 1)), of("old", 1, yes(20))), ""},                                                         // of another tool than the one that asks now
		{slices.Concat(of("d", 1, yes(20)), of("", 2, ofTool("t", Cancel, Cancelled, 1))), "allow: denied 0 of 20: consider allowing it without asking"}, // of no definition
		{careful(yes(20), func(r *Record) { r.Level = "admin" }), ""},
		{careful(yes(20), func(r *Record) { r.Risk = "dangerous" }), ""},
		{no(5), "disable: denied 5 of 5: consider disabling it"},
		{no(4), ""},
		{slices.Concat(no(5), yes(1)), ""},
		{slices.Concat(late(5), yes(5)), "reach: nobody answered 5 of 10: consider more approvers, or a longer timeout"},
		{slices.Concat(late(5), yes(6)), ""},
		{late(4), ""},
	} {
		var got []string
		for _, x := range StatsOf(c.records).Suggestions {
			got = append(got, x.Do+": "+x.Say)
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%d records: %q, want %q", len(c.records), g, c.want)
		}
	}
}

// R142
func TestFilter(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	r := Record{Chat: "web::c1", At: at, By: script.Ana, Name: "Ana", Server: "files", Tool: "write", Kind: Decision, Outcome: Denied}
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Since: at}, true}, {Filter{Since: at.Add(1)}, false}, {Filter{Until: at}, false}, {Filter{Until: at.Add(1)}, true},
		{Filter{Actor: "web::ana"}, true}, {Filter{Actor: "ana"}, true}, {Filter{Actor: "ANA"}, true}, {Filter{Actor: "ben"}, false}, {Filter{Actor: "web::ben"}, false},
		{Filter{Chat: "web::c1"}, true}, {Filter{Chat: "web::c2"}, false},
		{Filter{Server: "Files"}, true}, {Filter{Server: "git"}, false}, {Filter{Tool: "WRITE"}, true}, {Filter{Tool: "read"}, false},
		{Filter{Kind: "decision"}, true}, {Filter{Kind: "denied"}, true}, {Filter{Kind: "approved"}, false},
		{Filter{Actor: "ana", Server: "files", Tool: "write", Kind: "denied", Chat: "web::c1", Since: at, Until: at.Add(1)}, true},
	} {
		if got := c.f.Match(r); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	if !(Filter{Actor: "nod"}).Match(Record{Name: "nod"}) || (Filter{Actor: "x"}).Match(Record{By: chat.User{}}) {
		t.Error("nod itself")
	}
	all := ofTool("t", Request, Asked, 5)
	if got := (Filter{Since: all[1].At}).Pick(all); len(got) != 4 || got[3].At != all[4].At {
		t.Errorf("%+v", got)
	}
	if got := (Filter{Tool: "t"}).Pick(all); len(got) != 5 {
		t.Errorf("%d", len(got))
	}
}
