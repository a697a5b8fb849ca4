package permission

import (
	"cmp"
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
	return s.Where() + ": " + s.Field + " = " + cmp.Or(s.Value, "(not set)")
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

// setter is a field of one kind of settings. get gives "" where it is not set.
type setter[T any] struct {
	Field
	set func(*T, string) error
	get func(T) string
}

// value is a field that always has a value.
func value[T, E any](f Field, parse func(string) (E, error), spell func(E) string, at func(*T) *E) setter[T] {
	set := func(t *T, v string) error {
		e, err := parse(v)
		if err == nil {
			*at(t) = e
		}
		return err
	}
	return setter[T]{f, set, func(t T) string { return spell(*at(&t)) }}
}

// optional is a field that may be not set.
func optional[T, E any](f Field, parse func(string) (E, error), spell func(E) string, at func(*T) **E) setter[T] {
	parsed := func(v string) (*E, error) {
		e, err := parse(v)
		return &e, err
	}
	spelt := func(e *E) string {
		if e == nil {
			return ""
		}
		return spell(*e)
	}
	return value(f, parsed, spelt, at)
}

const maxSettingText = 1000 // characters of a free text

func freeText[T any](f Field, check func(string) error, at func(*T) *string) setter[T] {
	parse := func(v string) (string, error) {
		if n := len([]rune(v)); n > maxSettingText {
			return "", fmt.Errorf("%s: %d characters, and at most %d are kept", f.Name, n, maxSettingText)
		}
		return v, check(v)
	}
	return value(f, parse, func(v string) string { return v }, at)
}

func anyText(string) error { return nil }

var boolWords = []string{"true", "false"}

// boolean reads the words for yes and no of a field; where inverted, it keeps the contrary.
func boolean(field string, inverted bool) (parse func(string) (bool, error), spell func(bool) string) {
	parse = func(s string) (bool, error) {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true", "yes", "on":
			return !inverted, nil
		case "false", "no", "off":
			return inverted, nil
		}
		return false, &ParseError{Field: field, Got: s, Want: boolWords}
	}
	return parse, func(b bool) string { return strconv.FormatBool(b != inverted) }
}

func flag[T any](name, says string, inverted bool, at func(*T) *bool) setter[T] {
	parse, spell := boolean(name, inverted)
	return value(Field{Name: name, Words: boolWords, Says: says}, parse, spell, at)
}

func optionalFlag[T any](name, says string, at func(*T) **bool) setter[T] {
	parse, spell := boolean(name, false)
	return optional(Field{Name: name, Words: boolWords, Says: says}, parse, spell, at)
}

// Park is the word for an ask that never expires.
const Park = "park"

// maxTimeout keeps a typing error from parking an ask for years.
const maxTimeout = 30 * 24 * time.Hour

var timeoutField = Field{Name: "timeout", Like: "120s, or park", Says: "when an ask that nobody answered counts as denied"}

// parseTimeout reads a duration with its unit, or park.
func parseTimeout(s string) (time.Duration, error) {
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

var wholeUnits = strings.NewReplacer("h0m0s", "h", "m0s", "m") // 2m0s reads worse than 2m

func spellTimeout(d time.Duration) string {
	switch {
	case d == TimeoutUnset:
		return ""
	case d <= 0:
		return Park
	}
	return wholeUnits.Replace(d.String())
}

var approversField = Field{Name: "approvers", Like: "requester | participants | anyone | slack:T1:U1,discord:G1:&R1", Says: "who may decide, besides admins"}

// parseApprovers reads requester, participants, anyone, or people and groups as platform:workspace:key with commas between them.
func parseApprovers(s string) (Approvers, error) {
	if r, err := approvers.parse(s); err == nil && r != ApproversListed {
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

// String is what [Setting] spells: the rule, or who is listed, with commas.
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
		optional(approversField, parseApprovers, Approvers.String, func(t *T) **Approvers { return &at(t).Approvers }),
		optional(Field{Name: "min_approvals", Like: "2", Says: "how many different people must allow a call"},
			parseApprovals, People.String, func(t *T) **People { return &at(t).MinApprovals }),
		optionalFlag("requester_may_approve", "whether whoever asked may allow it themselves", func(t *T) **bool { return &at(t).RequesterMayApprove }),
	}
}

var toolFields = append([]setter[ToolSettings]{
	value(Field{Name: "ask", Words: prompts.words, Says: "whether its calls ask: always asks, never runs without asking (dangerous)"},
		ParsePrompt, Prompt.String, func(t *ToolSettings) *Prompt { return &t.Ask }),
	flag("enabled", "whether the model may use it at all", true, func(t *ToolSettings) *bool { return &t.Disabled }),
	optional(Field{Name: "access", Words: accesses.words[1:3], Says: "whether it reads or writes"},
		parseToolAccess, Access.String, func(t *ToolSettings) **Access { return &t.Access }),
	optional(Field{Name: "risk", Words: risks.words, Says: "how bad it can be"}, risks.parse, Risk.String, func(t *ToolSettings) **Risk { return &t.Risk }),
	optional(Field{Name: "approval", Words: approvals.words, Says: "the level it needs: RequireAuth is an admin, for each call"},
		approvals.parse, Approval.String, func(t *ToolSettings) **Approval { return &t.Approval }),
	freeText(Field{Name: "message", Like: "Write to {{.args.path}}?", Says: "the question on the card"}, CheckMessage, func(t *ToolSettings) *string { return &t.Message }),
	freeText(Field{Name: "impact", Like: "Customers get an e-mail.", Says: "what it does to the world, on the card"}, anyText, func(t *ToolSettings) *string { return &t.Impact }),
	freeText(Field{Name: "category", Like: "Mail", Says: "the group that it is listed in"}, anyText, func(t *ToolSettings) *string { return &t.Category }),
	optional(timeoutField, parseTimeout, spellTimeout, func(t *ToolSettings) **time.Duration { return &t.Timeout }),
	value(Field{Name: "repeat", Words: repeats.words, Says: "whether a call whose outcome nobody knows may run again by itself"},
		repeats.parse, Repeat.String, func(t *ToolSettings) *Repeat { return &t.Repeat }),
	optionalFlag("chat_grant", "whether it can be allowed for more than one call", func(t *ToolSettings) **bool { return &t.ChatGrant }),
}, rights(func(t *ToolSettings) *Rights { return &t.Rights })...)

var serverFields = append([]setter[ServerSettings]{
	value(Field{Name: "ask", Words: prompts.words, Says: "whether calls of its tools ask, where a tool has no setting of its own"},
		ParsePrompt, Prompt.String, func(t *ServerSettings) *Prompt { return &t.Ask }),
	flag("enabled", "whether the model may use its tools at all", true, func(t *ServerSettings) *bool { return &t.Disabled }),
	flag("trusted", "whether what it says about its own tools is believed", false, func(t *ServerSettings) *bool { return &t.Trusted }),
	optional(timeoutField, parseTimeout, spellTimeout, func(t *ServerSettings) **time.Duration { return &t.Timeout }),
}, rights(func(t *ServerSettings) *Rights { return &t.Rights })...)

var policyFields = append([]setter[Policy]{
	value(Field{Name: "mode", Words: modes.words, Says: "whether new chats ask: always before every call, never, or as each tool's setting says"},
		ParseMode, Mode.String, func(t *Policy) *Mode { return &t.Mode }),
	value(Field{Name: "posture", Words: postures.words, Says: "what asks by default: MCP servers, or the built-in tools as well"},
		postures.parse, Posture.String, func(t *Policy) *Posture { return &t.Posture }),
	value(timeoutField, parseTimeout, spellTimeout, func(p *Policy) *time.Duration { return &p.Timeout }),
	flag("strict", "whether nothing can be allowed for a chat that always asks", false, func(t *Policy) *bool { return &t.Strict }),
	flag("reads_only", "whether everything is disabled that does not surely read", false, func(t *Policy) *bool { return &t.ReadsOnly }),
	flag("channel_grants", "whether a tool can be allowed for all chats of a channel", false, func(t *Policy) *bool { return &t.ChannelGrants }),
	value(Field{Name: "remember", Words: scopes.words, Says: "how much people can remember to allow for themselves: one tool, or a server's reads, reads and writes, or all"},
		scopes.parse, Scope.String, func(t *Policy) *Scope { return &t.RememberUpTo }),
	value(approversField, parseApprovers, Approvers.String, func(p *Policy) *Approvers { return &p.Approvers }),
}, rights(func(t *Policy) *Rights { return &t.Rights })[1:]...)

func parseToolAccess(s string) (Access, error) {
	a, err := accesses.parse(s)
	if err != nil || a != Read && a != Write {
		return 0, &ParseError{Field: "access", Got: s, Want: accesses.words[1:3]}
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

func apply[T any](list []setter[T], t *T, s Setting) error {
	i := slices.IndexFunc(list, func(f setter[T]) bool { return f.Name == s.Field })
	switch {
	case i < 0:
		names := make([]string, len(list))
		for i, f := range list {
			names[i] = f.Name
		}
		return fmt.Errorf("%s: there is no %q to set; there is %s", s.Where(), s.Field, strings.Join(names, ", "))
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
func (s Setting) on(p *Policy) (err error) {
	switch {
	case s.Server == "":
		err = apply(policyFields, p, s)
	case s.Tool == "":
		p.edit(s.Server, func(server *ServerSettings) { err = apply(serverFields, server, s) })
	default:
		p.editTool(Tool{Server: s.Server, Name: s.Tool}, func(tool *ToolSettings) { err = apply(toolFields, tool, s) })
	}
	return err
}

// edit changes what a policy whose maps are its own says about a server.
func (p *Policy) edit(server string, change func(*ServerSettings)) {
	set := p.Servers[server]
	change(&set)
	if p.Servers == nil {
		p.Servers = map[string]ServerSettings{}
	}
	p.Servers[server] = set
}

// editTool is edit for a tool.
func (p *Policy) editTool(t Tool, change func(*ToolSettings)) {
	p.edit(t.Server, func(server *ServerSettings) {
		set := server.Tools[t.Name]
		change(&set)
		if server.Tools == nil {
			server.Tools = map[string]ToolSettings{}
		}
		server.Tools[t.Name] = set
	})
}

// Setting reads back what the policy holds where s says; Value is empty where it is not set.
func (p Policy) Setting(s Setting) Setting {
	server := p.Servers[s.Server]
	switch {
	case s.Server == "":
		s.Value = valueOf(policyFields, p, s.Field)
	case s.Tool == "":
		s.Value = valueOf(serverFields, server, s.Field)
	default:
		s.Value = valueOf(toolFields, server.Tools[s.Tool], s.Field)
	}
	return s
}

func valueOf[T any](list []setter[T], t T, field string) string {
	i := slices.IndexFunc(list, func(f setter[T]) bool { return f.Name == field })
	if i < 0 {
		return ""
	}
	return list[i].get(t)
}
