package permission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// Setting is one value of a policy in the words of configuration: the policy's own where Server is empty, a server's where Tool is
// empty, else a tool's. It is what people set from a chat, what is exported, and what templates are made of.
type Setting struct {
	Server string `json:"server,omitempty" yaml:"server,omitempty"`
	Tool   string `json:"tool,omitempty" yaml:"tool,omitempty"`
	Field  string `json:"field" yaml:"field"`
	Value  string `json:"value,omitempty" yaml:"value,omitempty"` // empty: not set, so that what stands above it holds
}

// String is the setting as people read it: "files/write_file: ask = always".
func (s Setting) String() string {
	value := s.Value
	if value == "" {
		value = "(not set)"
	}
	return s.Where() + ": " + s.Field + " = " + value
}

// Where is what it is about, in words.
func (s Setting) Where() string {
	switch {
	case s.Server == "":
		return "everything"
	case s.Tool == "":
		return s.Server
	}
	return s.Server + "/" + s.Tool
}

// Field is one thing that can be set.
type Field struct {
	Name  string
	Words []string // what it takes; nil: free text, of which Like is an example
	Like  string
	Says  string // what it does, for people
}

// setter is a field of one kind of settings.
type setter[T any] struct {
	Field
	set func(*T, string) error
	get func(T) string
}

const maxSettingText = 1000 // characters of a free text

var boolWords = []string{"true", "false"}

// parsed sets a field of one of the package's word types.
func parsed[T any, E interface{ String() string }](f Field, parse func(string) (E, error), at func(*T) *E) setter[T] {
	return setter[T]{f, func(t *T, v string) error {
		e, err := parse(v)
		if err == nil {
			*at(t) = e
		}
		return err
	}, func(t T) string { return (*at(&t)).String() }}
}

// optional is parsed for a field that may be not set.
func optional[T any, E interface{ String() string }](f Field, parse func(string) (E, error), at func(*T) **E) setter[T] {
	return setter[T]{f, func(t *T, v string) error {
		e, err := parse(v)
		if err == nil {
			*at(t) = &e
		}
		return err
	}, func(t T) string {
		if e := *at(&t); e != nil {
			return (*e).String()
		}
		return ""
	}}
}

func freeText[T any](f Field, check func(string) error, at func(*T) *string) setter[T] {
	return setter[T]{f, func(t *T, v string) error {
		if n := len([]rune(v)); n > maxSettingText {
			return fmt.Errorf("%s: %d characters, and at most %d are kept", f.Name, n, maxSettingText)
		}
		if check != nil {
			if err := check(v); err != nil {
				return err
			}
		}
		*at(t) = v
		return nil
	}, func(t T) string { return *at(&t) }}
}

func boolean(field, s string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off":
		return false, nil
	}
	return false, &ParseError{Field: field, Got: s, Want: boolWords}
}

// flagged sets a boolean; inverted says that the field holds the contrary of the word.
func flagged[T any](f Field, inverted bool, at func(*T) *bool) setter[T] {
	f.Words = boolWords
	return setter[T]{f, func(t *T, v string) error {
		b, err := boolean(f.Name, v)
		if err == nil {
			*at(t) = b != inverted
		}
		return err
	}, func(t T) string { return strconv.FormatBool(*at(&t) != inverted) }}
}

func maybe[T any](f Field, at func(*T) **bool) setter[T] {
	f.Words = boolWords
	return setter[T]{f, func(t *T, v string) error {
		b, err := boolean(f.Name, v)
		if err == nil {
			*at(t) = &b
		}
		return err
	}, func(t T) string {
		if b := *at(&t); b != nil {
			return strconv.FormatBool(*b)
		}
		return ""
	}}
}

// Park is the word for an ask that never expires.
const Park = "park"

// maxTimeout keeps a typing error from parking an ask for years.
const maxTimeout = 30 * 24 * time.Hour

// ParseTimeout reads a duration with its unit, or park.
func ParseTimeout(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, Park) {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > maxTimeout {
		return 0, &ParseError{Field: "timeout", Got: s, Want: []string{"a duration from 1s to 720h, such as 120s", Park}}
	}
	return d, nil
}

// TimeoutWord is the inverse of [ParseTimeout].
func TimeoutWord(d time.Duration) string {
	if d <= 0 {
		return Park
	}
	s := d.String() // 2m0s reads worse than 2m
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func timeout[T any](f Field, at func(*T) **time.Duration) setter[T] {
	return setter[T]{f, func(t *T, v string) error {
		d, err := ParseTimeout(v)
		if err == nil {
			*at(t) = &d
		}
		return err
	}, func(t T) string {
		if d := *at(&t); d != nil {
			return TimeoutWord(*d)
		}
		return ""
	}}
}

// ParseApprovers reads requester, participants, anyone, or people and groups as platform:workspace:key with commas between them.
func ParseApprovers(s string) (Approvers, error) {
	if r, err := ParseApproverRule(s); err == nil && r != ApproversListed {
		return Approvers{Rule: r}, nil
	}
	a := Approvers{Rule: ApproversListed}
	for part := range strings.SplitSeq(s, ",") {
		u, err := chat.ParseUser(strings.TrimSpace(part))
		if err != nil {
			return Approvers{}, &ParseError{Field: "approvers", Got: s, Want: []string{"requester", "participants", "anyone", "people as platform:workspace:key, with commas"}}
		}
		if !slices.Contains(a.Users, u) {
			a.Users = append(a.Users, u)
		}
	}
	return a, nil
}

// String is the inverse of [ParseApprovers].
func (a Approvers) String() string {
	if a.Rule != ApproversListed {
		return a.Rule.String()
	}
	names := make([]string, len(a.Users))
	for i, u := range a.Users {
		names[i] = u.String()
	}
	return strings.Join(names, ",")
}

// maxApprovals bounds how many people one call may need.
const maxApprovals = 20

func parseApprovals(s string) (People, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 || n > maxApprovals {
		return 0, &ParseError{Field: "min_approvals", Got: s, Want: []string{"a number from 1 to 20"}}
	}
	return People(n), nil
}

// People is a number of people.
type People int

// String is the number.
func (c People) String() string { return strconv.Itoa(int(c)) }

// rights are the fields that say who decides, the same for everything, a server and a tool.
func rights[T any](at func(*T) *Rights) []setter[T] {
	return []setter[T]{
		optional(Field{Name: "approvers", Like: "requester | participants | anyone | slack:T1:U1,discord:G1:&R1", Says: "who may decide, besides admins"},
			ParseApprovers, func(t *T) **Approvers { return &at(t).Approvers }),
		optional(Field{Name: "min_approvals", Like: "2", Says: "how many different people must allow a call"},
			parseApprovals, func(t *T) **People { return &at(t).MinApprovals }),
		maybe(Field{Name: "requester_may_approve", Says: "whether whoever asked may allow it themselves"},
			func(t *T) **bool { return &at(t).RequesterMayApprove }),
	}
}

var toolFields = append([]setter[ToolSettings]{
	parsed(Field{Name: "ask", Words: promptWords, Says: "whether its calls ask: always asks, never runs without asking (dangerous)"},
		ParsePrompt, func(t *ToolSettings) *Prompt { return &t.Ask }),
	flagged(Field{Name: "enabled", Says: "whether the model may use it at all"}, true, func(t *ToolSettings) *bool { return &t.Disabled }),
	optional(Field{Name: "access", Words: accessWords[1:3], Says: "whether it reads or writes"}, parseToolAccess, func(t *ToolSettings) **Access { return &t.Access }),
	optional(Field{Name: "risk", Words: riskWords, Says: "how bad it can be"}, ParseRisk, func(t *ToolSettings) **Risk { return &t.Risk }),
	optional(Field{Name: "approval", Words: approvalWords, Says: "the level it needs: RequireAuth is an admin, for each call"},
		ParseApproval, func(t *ToolSettings) **Approval { return &t.Approval }),
	freeText(Field{Name: "message", Like: "Write to {{.args.path}}?", Says: "the question on the card"}, CheckMessage, func(t *ToolSettings) *string { return &t.Message }),
	freeText(Field{Name: "impact", Like: "Customers get an e-mail.", Says: "what it does to the world, on the card"}, nil, func(t *ToolSettings) *string { return &t.Impact }),
	freeText(Field{Name: "category", Like: "Mail", Says: "the group that it is listed in"}, nil, func(t *ToolSettings) *string { return &t.Category }),
	timeout(Field{Name: "timeout", Like: "120s, or park", Says: "when an ask that nobody answered counts as denied"}, func(t *ToolSettings) **time.Duration { return &t.Timeout }),
	parsed(Field{Name: "repeat", Words: repeatWords, Says: "whether a call whose outcome nobody knows may run again by itself"},
		ParseRepeat, func(t *ToolSettings) *Repeat { return &t.Repeat }),
	maybe(Field{Name: "chat_grant", Says: "whether it can be allowed for more than one call"}, func(t *ToolSettings) **bool { return &t.ChatGrant }),
}, rights(func(t *ToolSettings) *Rights { return &t.Rights })...)

var serverFields = append([]setter[ServerSettings]{
	parsed(Field{Name: "ask", Words: promptWords, Says: "whether calls of its tools ask, where a tool has no setting of its own"},
		ParsePrompt, func(t *ServerSettings) *Prompt { return &t.Ask }),
	flagged(Field{Name: "enabled", Says: "whether the model may use its tools at all"}, true, func(t *ServerSettings) *bool { return &t.Disabled }),
	flagged(Field{Name: "trusted", Says: "whether what it says about its own tools is believed"}, false, func(t *ServerSettings) *bool { return &t.Trusted }),
	timeout(Field{Name: "timeout", Like: "120s, or park", Says: "when an ask that nobody answered counts as denied"}, func(t *ServerSettings) **time.Duration { return &t.Timeout }),
}, rights(func(t *ServerSettings) *Rights { return &t.Rights })...)

var policyFields = append([]setter[Policy]{
	parsed(Field{Name: "mode", Words: modeWords, Says: "whether new chats ask: always before every call, never, or as each tool's setting says"},
		ParseMode, func(t *Policy) *Mode { return &t.Mode }),
	parsed(Field{Name: "posture", Words: postureWords, Says: "what asks by default: MCP servers, or the built-in tools as well"},
		ParsePosture, func(t *Policy) *Posture { return &t.Posture }),
	{Field{Name: "timeout", Like: "120s, or park", Says: "when an ask that nobody answered counts as denied"},
		func(p *Policy, v string) (err error) {
			d, err := ParseTimeout(v)
			if err == nil {
				p.Timeout = d
			}
			return err
		}, func(p Policy) string { return TimeoutWord(p.Timeout) }},
	flagged(Field{Name: "strict", Says: "whether nothing can be allowed for a chat that always asks"}, false, func(t *Policy) *bool { return &t.Strict }),
	{Field{Name: "approvers", Like: "requester | participants | anyone | slack:T1:U1,discord:G1:&R1", Says: "who may decide, besides admins"},
		func(p *Policy, v string) (err error) {
			a, err := ParseApprovers(v)
			if err == nil {
				p.Approvers = a
			}
			return err
		}, func(p Policy) string { return p.Approvers.String() }},
}, rights(func(t *Policy) *Rights { return &t.Rights })[1:]...)

func parseToolAccess(s string) (Access, error) {
	a, err := ParseAccess(s)
	if err != nil || a != Read && a != Write {
		return 0, &ParseError{Field: "access", Got: s, Want: accessWords[1:3]}
	}
	return a, nil
}

func fieldsOf[T any](list []setter[T]) []Field {
	out := make([]Field, len(list))
	for i, f := range list {
		out[i] = f.Field
	}
	return out
}

// Fields are what can be set where s says; its Field and Value do not matter.
func (s Setting) Fields() []Field {
	switch {
	case s.Server == "":
		return fieldsOf(policyFields)
	case s.Tool == "":
		return fieldsOf(serverFields)
	}
	return fieldsOf(toolFields)
}

// fieldError says that there is no such field there.
type fieldError struct {
	where, field string
	want         []Field
}

func (e *fieldError) Error() string {
	names := make([]string, len(e.want))
	for i, f := range e.want {
		names[i] = f.Name
	}
	return fmt.Sprintf("%s: there is no %q to set; there is %s", e.where, e.field, strings.Join(names, ", "))
}

func apply[T any](list []setter[T], t *T, s Setting) error {
	i := slices.IndexFunc(list, func(f setter[T]) bool { return f.Name == s.Field })
	switch {
	case i < 0:
		return &fieldError{s.Where(), s.Field, s.Fields()}
	case s.Value == "":
		return nil
	}
	return list[i].set(t, s.Value)
}

// Check says what is wrong with a setting, or nil. A value in other spelling is still one: see [Setting.Canonical].
func (s Setting) Check() error { _, err := s.Canonical(); return err }

// Canonical is the setting with its value as it is stored: the same words whoever typed them.
func (s Setting) Canonical() (Setting, error) {
	if s.Server == "" && s.Tool != "" {
		return s, fmt.Errorf("the tool %s has no server", s.Tool)
	}
	var p Policy
	if err := s.on(&p); err != nil || s.Value == "" {
		return s, err
	}
	s.Value = p.Setting(s).Value
	return s, nil
}

// on puts the setting into a policy whose maps are its own.
func (s Setting) on(p *Policy) error {
	if s.Server == "" {
		return apply(policyFields, p, s)
	}
	if p.Servers == nil {
		p.Servers = map[string]ServerSettings{}
	}
	server := p.Servers[s.Server]
	if s.Tool == "" {
		err := apply(serverFields, &server, s)
		p.Servers[s.Server] = server
		return err
	}
	tool := server.Tools[s.Tool]
	err := apply(toolFields, &tool, s)
	if server.Tools == nil {
		server.Tools = map[string]ToolSettings{}
	}
	server.Tools[s.Tool] = tool
	p.Servers[s.Server] = server
	return err
}

// Setting reads back what the policy holds where s says; Value is empty where it is not set.
func (p Policy) Setting(s Setting) Setting {
	s.Value = ""
	switch {
	case s.Server == "":
		s.Value = valueOf(policyFields, p, s.Field)
	case s.Tool == "":
		s.Value = valueOf(serverFields, p.Servers[s.Server], s.Field)
	default:
		s.Value = valueOf(toolFields, p.Servers[s.Server].Tools[s.Tool], s.Field)
	}
	return s
}

func valueOf[T any](list []setter[T], t T, field string) string {
	for _, f := range list {
		if f.Name == field {
			return f.get(t)
		}
	}
	return ""
}
