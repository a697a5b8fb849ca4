package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// Stats are numbers over records. Each is a count of records, so they equal what an export of the same records shows: asks are
// requests with the outcome asked, approvals are decisions with the outcome approved, and so on. An answer that was taken back is
// counted as given, and in Undone.
type Stats struct {
	Records   int `json:"records"`
	Asked     int `json:"asked"`
	Approvals int `json:"approvals"`
	Denials   int `json:"denials"`
	Expiries  int `json:"expiries"` // of asks; nobody answered
	Cancelled int `json:"cancelled"`
	Undone    int `json:"undone"`
	Forbidden int `json:"forbidden"` // by a rule, unasked
	Invalid   int `json:"invalid"`   // no such tool, or wrong arguments

	AutoRuns     int `json:"auto_runs"`     // started by a rule, unasked
	GrantRuns    int `json:"grant_runs"`    // started by a grant
	ApprovedRuns int `json:"approved_runs"` // started by a click
	Failed       int `json:"failed"`        // runs that answered with an error, late ones included
	Unknown      int `json:"unknown"`       // runs whose end nobody saw

	// Of the asks that were approved, denied or expired; 0 where there are none.
	ApprovalRate float64 `json:"approval_rate"`
	DenialRate   float64 `json:"denial_rate"`
	ExpiryRate   float64 `json:"expiry_rate"`

	// Time from the asking to the answer, over approvals and denials, by nearest rank.
	Median time.Duration `json:"median_ns"`
	P90    time.Duration `json:"p90_ns"`

	Tools       []ToolStats  `json:"tools,omitempty"`       // every tool, the most used first
	Blocked     []ToolStats  `json:"blocked,omitempty"`     // the tools that were stopped most often, at most ten
	Suggestions []Suggestion `json:"suggestions,omitempty"` // never applied by themselves
}

// ToolStats are the counts of one tool.
type ToolStats struct {
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Asked     int    `json:"asked"`
	Approvals int    `json:"approvals"`
	Denials   int    `json:"denials"`
	Expiries  int    `json:"expiries"`
	Forbidden int    `json:"forbidden"`
	Runs      int    `json:"runs"` // starts, however they were allowed

	careful bool // an admin's, or dangerous: nothing is suggested that would lower the care
}

// Blocked is how often the tool did not run because of a rule, a person, or nobody.
func (t ToolStats) Blocked() int { return t.Denials + t.Expiries + t.Forbidden }

// Suggestion is what the numbers speak for. A person may follow it; nothing follows it by itself (R146).
type Suggestion struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Definition is the one that allow rests on: what people allowed of another one speaks for nothing.
	Definition permission.Digest `json:"def,omitempty"`

	Do  string `json:"do"` // allow, disable or reach
	Say string `json:"say"`
}

// What a suggestion takes. Few asks are chance.
const (
	suggestAllow   = 20 // approvals, and no denial
	suggestDisable = 5  // denials, and no approval
	suggestReach   = 5  // expiries, and at least half of the asks
	mostBlocked    = 10
)

// tally counts records by their kind and outcome.
type tally map[[2]string]int

func (n tally) of(kind string, outcomes ...string) (sum int) {
	for _, o := range outcomes {
		sum += n[[2]string{kind, o}]
	}
	return sum
}

// StatsOf counts. The records may be of several chats and in any order; each is counted once for each time it is given.
func StatsOf(records []Record) Stats {
	n, s := tally{}, Stats{Records: len(records)}
	var took []int64
	tools, careful := map[[2]string]tally{}, map[[2]string]bool{}
	newest, approved := map[[2]string]Record{}, map[permission.Tool]int{}
	for _, r := range records {
		what, tool := [2]string{r.Kind, r.Outcome}, [2]string{r.Server, r.Tool}
		n[what]++
		if r.Tool != "" {
			if tools[tool] == nil {
				tools[tool] = tally{}
			}
			tools[tool][what]++
			careful[tool] = careful[tool] || r.Level == permission.LevelAdmin.String() || r.Risk == permission.Dangerous.String()
		}
		if r.Definition != "" && !r.At.Before(newest[tool].At) {
			newest[tool] = r
		}
		if r.Kind == Decision && r.Outcome == Approved {
			approved[permission.Tool{Server: r.Server, Name: r.Tool, Definition: r.Definition}]++
		}
		if r.Kind == Decision && (r.Outcome == Approved || r.Outcome == Denied) {
			took = append(took, r.MS)
		}
	}
	s.Asked, s.Forbidden, s.Invalid = n.of(Request, Asked), n.of(Request, Forbidden), n.of(Request, Invalid)
	s.Approvals, s.Denials, s.Expiries = n.of(Decision, Approved), n.of(Decision, Denied), n.of(Expire, Timeout)
	s.Cancelled, s.Undone = n.of(Cancel, Cancelled), n.of(Undo, Undone)
	s.AutoRuns, s.GrantRuns, s.ApprovedRuns = n.of(Start, Auto), n.of(Start, Granted), n.of(Start, Approved)
	s.Failed, s.Unknown = n.of(Finish, Failed)+n.of(Late, Failed), n.of(Unknown, Lost, Repeated)
	if answered := float64(s.Approvals + s.Denials + s.Expiries); answered > 0 {
		s.ApprovalRate, s.DenialRate, s.ExpiryRate = float64(s.Approvals)/answered, float64(s.Denials)/answered, float64(s.Expiries)/answered
	}
	slices.Sort(took)
	s.Median, s.P90 = rank(took, 50), rank(took, 90)
	for tool, n := range tools {
		s.Tools = append(s.Tools, ToolStats{
			Server: tool[0], Tool: tool[1], Asked: n.of(Request, Asked), Forbidden: n.of(Request, Forbidden),
			Approvals: n.of(Decision, Approved), Denials: n.of(Decision, Denied), Expiries: n.of(Expire, Timeout),
			Runs: n.of(Start, Auto, Granted, Approved), careful: careful[tool],
		})
	}
	s.rankTools(func(t ToolStats) (d permission.Digest, approvals int) {
		d = newest[[2]string{t.Server, t.Tool}].Definition
		return d, approved[permission.Tool{Server: t.Server, Name: t.Tool, Definition: d}]
	})
	return s
}

// rank is the nearest-rank percentile of sorted milliseconds; 0 of none.
func rank(sorted []int64, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := (len(sorted)*percent + 99) / 100
	return time.Duration(sorted[i-1]) * time.Millisecond
}

// rankTools orders the tools, those that were stopped once more, and says what their numbers speak for. newest is the definition of a tool that
// was asked about last, and how often that was approved.
func (s *Stats) rankTools(newest func(ToolStats) (permission.Digest, int)) {
	for _, t := range s.Tools {
		if t.Blocked() > 0 {
			s.Blocked = append(s.Blocked, t)
		}
	}
	by := func(n func(ToolStats) int) func(a, b ToolStats) int {
		return func(a, b ToolStats) int {
			return cmp.Or(cmp.Compare(n(b), n(a)), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
		}
	}
	slices.SortFunc(s.Tools, by(func(t ToolStats) int { return t.Asked + t.Forbidden + t.Runs }))
	slices.SortFunc(s.Blocked, by(ToolStats.Blocked))
	s.Blocked = s.Blocked[:min(len(s.Blocked), mostBlocked)]
	for _, t := range s.Tools {
		if x, ok := t.suggest(newest(t)); ok {
			s.Suggestions = append(s.Suggestions, x)
		}
	}
}

func (t ToolStats) suggest(newest permission.Digest, approved int) (Suggestion, bool) {
	x := Suggestion{Server: t.Server, Tool: t.Tool}
	switch {
	case t.Denials == 0 && approved >= suggestAllow && !t.careful:
		x.Do, x.Say, x.Definition = "allow", sayAllow(approved), newest
	case t.Approvals == 0 && t.Denials >= suggestDisable:
		x.Do, x.Say = "disable", sayDisable(t.Denials)
	case t.Expiries >= suggestReach && 2*t.Expiries >= t.Approvals+t.Denials+t.Expiries:
		x.Do, x.Say = "reach", sayReach(t.Expiries, t.Approvals+t.Denials+t.Expiries)
	default:
		return x, false
	}
	return x, true
}
