package permission

import (
	"fmt"
	"slices"
	"strings"
)

// closedSet are the words of one closed set, in the order of its constants. They are what configuration, slash commands, the API and the log
// spell; the numbers never leave this program.
//
// Compatibility: stored words are read for ever. A word may be added at the end of a set, and none is changed or taken away.
type closedSet[E ~uint8] struct {
	field string
	words []string
	also  string // another spelling of the first
}

var (
	verdicts  = closedSet[Verdict]{field: "verdict", words: []string{"ask", "allow", "forbid"}}
	levels    = closedSet[Level]{field: "level", words: []string{"user", "admin"}}
	accesses  = closedSet[Access]{field: "access", words: []string{"unclassified", "read", "write", "all"}}
	risks     = closedSet[Risk]{field: "risk", words: []string{"moderate", "safe", "dangerous"}}
	approvals = closedSet[Approval]{field: "approval", words: []string{"RequireConfirmation", "AutoApprove", "RequireAuth"}}
	prompts   = closedSet[Prompt]{field: "ask", words: []string{"default", "always", "never"}, also: "inherit"}
	modes     = closedSet[Mode]{field: "mode", words: []string{"tool", "always", "never"}}
	repeats   = closedSet[Repeat]{field: "repeat", words: []string{"auto", "always", "never"}}
	approvers = closedSet[ApproverRule]{field: "approvers", words: []string{"requester", "participants", "anyone", "listed"}}
	postures  = closedSet[Posture]{field: "posture", words: []string{"mcp", "all"}}
	scopes    = closedSet[Scope]{field: "scope", words: []string{"tool", "reads", "writes", "server"}}
	standings = closedSet[Standing]{field: "choice", words: []string{"ask", "allow", "deny"}}
)

// ParseError says which word was not understood and which are allowed.
type ParseError struct {
	Field string // "access", "risk", ...
	Got   string
	Want  []string
}

func (e *ParseError) Error() string {
	got := e.Got
	if len(got) > 40 {
		got = strings.ToValidUTF8(got[:40], "") + "…"
	}
	return fmt.Sprintf("%s: %q is not one of %s", e.Field, got, strings.Join(e.Want, ", "))
}

func (s closedSet[E]) parse(text string) (E, error) {
	t := strings.TrimSpace(text)
	i := slices.IndexFunc(s.words, func(w string) bool { return strings.EqualFold(w, t) })
	switch {
	case i >= 0:
		return E(i), nil
	case s.also != "" && strings.EqualFold(s.also, t):
		return 0, nil
	}
	return 0, &ParseError{Field: s.field, Got: text, Want: s.words}
}

func (s closedSet[E]) word(e E) string {
	if int(e) < len(s.words) {
		return s.words[e]
	}
	return fmt.Sprintf("%s(%d)", s.field, uint8(e))
}

// marshal refuses what has no word: a value that nobody can read back must not be stored.
func (s closedSet[E]) marshal(e E) ([]byte, error) {
	if int(e) < len(s.words) {
		return []byte(s.words[e]), nil
	}
	return nil, &ParseError{Field: s.field, Got: s.word(e), Want: s.words}
}

func (s closedSet[E]) unmarshal(into *E, b []byte) error {
	e, err := s.parse(string(b))
	if err == nil {
		*into = e
	}
	return err
}

// ParsePrompt reads always (ask), never (ask) or default; inherit means default.
func ParsePrompt(s string) (Prompt, error) { return prompts.parse(s) }

func ParseMode(s string) (Mode, error)         { return modes.parse(s) }
func ParseStanding(s string) (Standing, error) { return standings.parse(s) }

func (v Verdict) String() string                     { return verdicts.word(v) }
func (v Verdict) MarshalText() ([]byte, error)       { return verdicts.marshal(v) }
func (v *Verdict) UnmarshalText(b []byte) error      { return verdicts.unmarshal(v, b) }
func (l Level) String() string                       { return levels.word(l) }
func (l Level) MarshalText() ([]byte, error)         { return levels.marshal(l) }
func (l *Level) UnmarshalText(b []byte) error        { return levels.unmarshal(l, b) }
func (a Access) String() string                      { return accesses.word(a) }
func (a Access) MarshalText() ([]byte, error)        { return accesses.marshal(a) }
func (a *Access) UnmarshalText(b []byte) error       { return accesses.unmarshal(a, b) }
func (r Risk) String() string                        { return risks.word(r) }
func (r Risk) MarshalText() ([]byte, error)          { return risks.marshal(r) }
func (r *Risk) UnmarshalText(b []byte) error         { return risks.unmarshal(r, b) }
func (a Approval) String() string                    { return approvals.word(a) }
func (a Approval) MarshalText() ([]byte, error)      { return approvals.marshal(a) }
func (a *Approval) UnmarshalText(b []byte) error     { return approvals.unmarshal(a, b) }
func (p Prompt) String() string                      { return prompts.word(p) }
func (p Prompt) MarshalText() ([]byte, error)        { return prompts.marshal(p) }
func (p *Prompt) UnmarshalText(b []byte) error       { return prompts.unmarshal(p, b) }
func (m Mode) String() string                        { return modes.word(m) }
func (m Mode) MarshalText() ([]byte, error)          { return modes.marshal(m) }
func (m *Mode) UnmarshalText(b []byte) error         { return modes.unmarshal(m, b) }
func (r Repeat) String() string                      { return repeats.word(r) }
func (r Repeat) MarshalText() ([]byte, error)        { return repeats.marshal(r) }
func (r *Repeat) UnmarshalText(b []byte) error       { return repeats.unmarshal(r, b) }
func (r ApproverRule) String() string                { return approvers.word(r) }
func (r ApproverRule) MarshalText() ([]byte, error)  { return approvers.marshal(r) }
func (r *ApproverRule) UnmarshalText(b []byte) error { return approvers.unmarshal(r, b) }
func (p Posture) String() string                     { return postures.word(p) }
func (p Posture) MarshalText() ([]byte, error)       { return postures.marshal(p) }
func (p *Posture) UnmarshalText(b []byte) error      { return postures.unmarshal(p, b) }
func (s Scope) String() string                       { return scopes.word(s) }
func (s Scope) MarshalText() ([]byte, error)         { return scopes.marshal(s) }
func (s *Scope) UnmarshalText(b []byte) error        { return scopes.unmarshal(s, b) }
func (s Standing) String() string                    { return standings.word(s) }
func (s Standing) MarshalText() ([]byte, error)      { return standings.marshal(s) }
func (s *Standing) UnmarshalText(b []byte) error     { return standings.unmarshal(s, b) }

// rank is where e stands among members that call for more and more care; what is none of them calls for most.
func rank[E comparable](e E, members ...E) int {
	if i := slices.Index(members, e); i >= 0 {
		return i
	}
	return len(members)
}

func (a Access) rank() int   { return rank(a, Read, Write) }
func (r Risk) rank() int     { return rank(r, Safe, Moderate) }
func (a Approval) rank() int { return rank(a, AutoApprove, RequireConfirmation) }
func (s Standing) rank() int { return rank(s, StandAllow, StandAsk) }
