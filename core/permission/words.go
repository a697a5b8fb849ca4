package permission

import (
	"fmt"
	"strings"
)

// The words of the documents, in the order of the constants. They are what configuration, slash commands, the
// API and the log spell; the numbers never leave this package.
var (
	verdictWords  = []string{"ask", "allow", "forbid"}
	levelWords    = []string{"user", "admin"}
	accessWords   = []string{"unclassified", "read", "write", "all"}
	riskWords     = []string{"moderate", "safe", "dangerous"}
	approvalWords = []string{"RequireConfirmation", "AutoApprove", "RequireAuth"}
	promptWords   = []string{"default", "always", "never"}
	modeWords     = []string{"tool", "always", "never"}
	sourceWords   = []string{"mcp", "workbench"}
	repeatWords   = []string{"auto", "always", "never"}
	approverWords = []string{"requester", "participants", "anyone", "listed"}
	postureWords  = []string{"mcp", "all"}
	scopeWords    = []string{"tool", "reads", "writes", "server"}
	standingWords = []string{"ask", "allow", "deny"}
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

func parseWord[E ~uint8](field string, words []string, s string) (E, error) {
	t := strings.TrimSpace(s)
	for i, w := range words {
		if strings.EqualFold(w, t) {
			return E(i), nil
		}
	}
	return 0, &ParseError{Field: field, Got: s, Want: words}
}

func word[E ~uint8](field string, words []string, e E) string {
	if int(e) < len(words) {
		return words[e]
	}
	return fmt.Sprintf("%s(%d)", field, uint8(e))
}

// marshalWord refuses what has no word: a value that nobody can read back must not be stored.
func marshalWord[E ~uint8](field string, words []string, e E) ([]byte, error) {
	if int(e) < len(words) {
		return []byte(words[e]), nil
	}
	return nil, &ParseError{Field: field, Got: word(field, words, e), Want: words}
}

func unmarshalWord[E ~uint8](dst *E, field string, words []string, b []byte) error {
	e, err := parseWord[E](field, words, string(b))
	if err != nil {
		return err
	}
	*dst = e
	return nil
}

// String is the verdict's word.
func (v Verdict) String() string { return word("verdict", verdictWords, v) }

// MarshalText gives the verdict's word.
func (v Verdict) MarshalText() ([]byte, error) { return marshalWord("verdict", verdictWords, v) }

// UnmarshalText reads the verdict's word.
func (v *Verdict) UnmarshalText(b []byte) error { return unmarshalWord(v, "verdict", verdictWords, b) }

// String is the level's word.
func (l Level) String() string { return word("level", levelWords, l) }

// MarshalText gives the level's word.
func (l Level) MarshalText() ([]byte, error) { return marshalWord("level", levelWords, l) }

// UnmarshalText reads the level's word.
func (l *Level) UnmarshalText(b []byte) error { return unmarshalWord(l, "level", levelWords, b) }

// ParseAccess reads read, write, all or unclassified. (all is for grants: [Policy.Validate] refuses it on a tool.)
func ParseAccess(s string) (Access, error) { return parseWord[Access]("access", accessWords, s) }

// String is the access type's word.
func (a Access) String() string { return word("access", accessWords, a) }

// MarshalText gives the access type's word.
func (a Access) MarshalText() ([]byte, error) { return marshalWord("access", accessWords, a) }

// UnmarshalText reads the access type's word.
func (a *Access) UnmarshalText(b []byte) error { return unmarshalWord(a, "access", accessWords, b) }

// ParseRisk reads safe, moderate or dangerous.
func ParseRisk(s string) (Risk, error) { return parseWord[Risk]("risk", riskWords, s) }

// String is the risk's word.
func (r Risk) String() string { return word("risk", riskWords, r) }

// MarshalText gives the risk's word.
func (r Risk) MarshalText() ([]byte, error) { return marshalWord("risk", riskWords, r) }

// UnmarshalText reads the risk's word.
func (r *Risk) UnmarshalText(b []byte) error { return unmarshalWord(r, "risk", riskWords, b) }

// ParseApproval reads AutoApprove, RequireConfirmation or RequireAuth.
func ParseApproval(s string) (Approval, error) {
	return parseWord[Approval]("approval", approvalWords, s)
}

// String is the approval's word.
func (a Approval) String() string { return word("approval", approvalWords, a) }

// MarshalText gives the approval's word.
func (a Approval) MarshalText() ([]byte, error) { return marshalWord("approval", approvalWords, a) }

// UnmarshalText reads the approval's word.
func (a *Approval) UnmarshalText(b []byte) error {
	return unmarshalWord(a, "approval", approvalWords, b)
}

// ParsePrompt reads always (ask), never (ask) or default; inherit means default.
func ParsePrompt(s string) (Prompt, error) {
	if strings.EqualFold(strings.TrimSpace(s), "inherit") {
		return Inherit, nil
	}
	return parseWord[Prompt]("ask", promptWords, s)
}

// String is the setting's word in configuration.
func (p Prompt) String() string { return word("ask", promptWords, p) }

// MarshalText gives the setting's word.
func (p Prompt) MarshalText() ([]byte, error) { return marshalWord("ask", promptWords, p) }

// UnmarshalText reads the setting's word.
func (p *Prompt) UnmarshalText(b []byte) (err error) {
	v, err := ParsePrompt(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// ParseMode reads always (ask), never (ask) or tool.
func ParseMode(s string) (Mode, error) { return parseWord[Mode]("mode", modeWords, s) }

// String is the mode's word in configuration.
func (m Mode) String() string { return word("mode", modeWords, m) }

// MarshalText gives the mode's word.
func (m Mode) MarshalText() ([]byte, error) { return marshalWord("mode", modeWords, m) }

// UnmarshalText reads the mode's word.
func (m *Mode) UnmarshalText(b []byte) error { return unmarshalWord(m, "mode", modeWords, b) }

// String is the source's word.
func (s Source) String() string { return word("source", sourceWords, s) }

// MarshalText gives the source's word.
func (s Source) MarshalText() ([]byte, error) { return marshalWord("source", sourceWords, s) }

// UnmarshalText reads the source's word.
func (s *Source) UnmarshalText(b []byte) error { return unmarshalWord(s, "source", sourceWords, b) }

// ParseRepeat reads auto, always or never.
func ParseRepeat(s string) (Repeat, error) { return parseWord[Repeat]("repeat", repeatWords, s) }

// String is the setting's word.
func (r Repeat) String() string { return word("repeat", repeatWords, r) }

// MarshalText gives the setting's word.
func (r Repeat) MarshalText() ([]byte, error) { return marshalWord("repeat", repeatWords, r) }

// UnmarshalText reads the setting's word.
func (r *Repeat) UnmarshalText(b []byte) error { return unmarshalWord(r, "repeat", repeatWords, b) }

// ParseApproverRule reads requester, participants, anyone or listed.
func ParseApproverRule(s string) (ApproverRule, error) {
	return parseWord[ApproverRule]("approvers", approverWords, s)
}

// String is the rule's word.
func (r ApproverRule) String() string { return word("approvers", approverWords, r) }

// MarshalText gives the rule's word.
func (r ApproverRule) MarshalText() ([]byte, error) {
	return marshalWord("approvers", approverWords, r)
}

// UnmarshalText reads the rule's word.
func (r *ApproverRule) UnmarshalText(b []byte) error {
	return unmarshalWord(r, "approvers", approverWords, b)
}

// ParsePosture reads mcp or all.
func ParsePosture(s string) (Posture, error) { return parseWord[Posture]("posture", postureWords, s) }

// String is the posture's word.
func (p Posture) String() string { return word("posture", postureWords, p) }

// MarshalText gives the posture's word.
func (p Posture) MarshalText() ([]byte, error) { return marshalWord("posture", postureWords, p) }

// UnmarshalText reads the posture's word.
func (p *Posture) UnmarshalText(b []byte) error { return unmarshalWord(p, "posture", postureWords, b) }

// String is the scope's word.
func (s Scope) String() string { return word("scope", scopeWords, s) }

// MarshalText gives the scope's word.
func (s Scope) MarshalText() ([]byte, error) { return marshalWord("scope", scopeWords, s) }

// UnmarshalText reads the scope's word.
func (s *Scope) UnmarshalText(b []byte) error { return unmarshalWord(s, "scope", scopeWords, b) }

// ParseStanding reads ask, allow or deny.
func ParseStanding(s string) (Standing, error) {
	return parseWord[Standing]("choice", standingWords, s)
}

// String is the choice's word.
func (s Standing) String() string { return word("choice", standingWords, s) }

// MarshalText gives the choice's word.
func (s Standing) MarshalText() ([]byte, error) { return marshalWord("choice", standingWords, s) }

// UnmarshalText reads the choice's word.
func (s *Standing) UnmarshalText(b []byte) error { return unmarshalWord(s, "choice", standingWords, b) }
