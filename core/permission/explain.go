package permission

import (
	"fmt"
	"time"
)

// Explanation is the answer to "why was I asked" (R150, R151).
type Explanation struct {
	Effective Effective
	Ruling    Ruling
}

// Explain rules a call and keeps what the ruling alone does not tell: where each value came from.
func Explain(p Policy, grants []Grant, req Request, now time.Time) Explanation {
	return Explanation{
		Effective: p.Get(req.Tool, req.Source, req.Hints, req.Metadata),
		Ruling:    Evaluate(p, grants, req, now),
	}
}

// Lines are the explanation for people: the answer, every rule that was consulted with the winner marked, what
// the tool is, and the timeout with its source. Names inside are untrusted text.
func (x Explanation) Lines() []string {
	e, r := x.Effective, x.Ruling
	answer := map[Verdict]string{Ask: "asks first", Allow: "runs without asking", Forbid: "does not run"}[r.Verdict]
	if r.Verdict == Ask && r.Level == LevelAdmin {
		answer = "asks an admin first"
	}
	lines := []string{called(e.Tool) + " " + answer + "."}
	for i, why := range r.Reasons {
		mark := "  "
		if why.Won {
			mark = "→ "
		}
		lines = append(lines, fmt.Sprintf("%s%d. %s: %s (%s)", mark, i+1, why.Rule, why.Text, why.Said))
	}
	access := e.Access.String()
	if !e.Classified {
		access += ", unclassified"
	}
	timeout := "none: it waits until somebody answers"
	if e.Timeout > 0 {
		timeout = e.Timeout.String()
	}
	return append(lines,
		fmt.Sprintf("access: %s (%s)", access, e.AccessFrom),
		fmt.Sprintf("risk: %s (%s)", e.Risk, e.RiskFrom),
		fmt.Sprintf("approval: %s (%s)", e.Approval, e.ApprovalFrom),
		fmt.Sprintf("timeout: %s (%s)", timeout, e.TimeoutFrom),
	)
}

// Brief is the ruling without the rules that had no opinion: what is worth storing with every call.
func (r Ruling) Brief() Ruling {
	var kept []Reason
	for _, x := range r.Reasons {
		if x.Won || x.Said != SaidNothing {
			kept = append(kept, x)
		}
	}
	r.Reasons = kept
	return r
}
