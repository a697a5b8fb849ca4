// Package render is the neutral message: which shapes a turn's one message is made of, before any platform
// gives them its own. It may import core/chat and core/text; core/agent/card fills its shapes and adapters draw them.
//
// Start at [Message] in this file, then read [Fit]. A new shape of a message goes into this file, of the settings
// into panel.go, of details into details.go; how a call's arguments are drawn is args.go, which values in them are
// secrets secret.go; what a surface needs to draw a stranger's Markdown safely is markdown.go and inert.go,
// and to warn of a link host.go. A sentence or a label goes into core/text.
//
// Its words. A [Message] is a list of blocks. A [Line] is one line of spans. A [Choice] is a button. [Fit]
// brings a message within a platform's [Limits]; [Measure] counts it; [PlainText] says it without any markup.
// [ArgsOf] draws a call's arguments where a card is made, once, and not in each surface. [Fence3], [InertMarkdown] and
// [HostWarning] are for whoever draws.
//
// Invariants. Fit is total: it degrades, never fails and never hides; what does not fit is said, with its
// size, and reachable in full from a button. Text that a model, a tool or a person wrote is marked by where
// it stands (Text, Args, Plain spans) and is escaped by whoever draws it.
package render

import (
	"cmp"
	"slices"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// State is how the whole turn stands: the accent colour on platforms that have one.
type State string

// The states of a turn's message.
const (
	Working State = "working"
	Waiting State = "waiting" // for a person
	Done    State = "done"
	Failed  State = "failed"
	Stopped State = "stopped"
)

// Message is a turn's one message.
type Message struct {
	State State
	// Token names the turn: what View details carries when Fit cut something that is not one ask's. Empty:
	// the first call or ask of the message.
	Token  string
	Blocks []Block
	// Hosts are those of addresses that people brought into the chat. Where looking at a message fetches what it links to, an
	// address of any other host must not be alive.
	Hosts []string
	// Choices of the whole message: Stop while it works, Approve all and Deny all over a batch.
	Choices []Choice
}

// Block is one part of a message. The set is closed: Text, Code, Step, Ask, Note.
//
//sumtype:decl
type Block interface{ isBlock() }

// Text is Markdown that the model wrote. Untrusted.
type Text struct {
	Markdown string
	Cut      bool // the stream ended early: what stands here is not all the model meant to say
}

// Code is preformatted text.
type Code struct{ Language, Source string }

// StepState is how one tool call stands.
type StepState string

// The step states, each with its [Mark].
const (
	StepPending   StepState = "pending"   // not started, nothing asked of a person
	StepWaiting   StepState = "waiting"   // a person is asked
	StepRunning   StepState = "running"   //
	StepDone      StepState = "done"      //
	StepFailed    StepState = "failed"    // a known failure
	StepDenied    StepState = "denied"    //
	StepExpired   StepState = "expired"   //
	StepCancelled StepState = "cancelled" //
	StepUnknown   StepState = "unknown"   // nobody knows whether it happened
)

// marks are the symbol of each state, and its meaning.
var marks = map[StepState][2]string{
	StepPending: {"·", "not started"}, StepWaiting: {"⚠️", "waits for an answer"}, StepRunning: {"⟳", "running"}, StepDone: {"✓", "done"},
	StepFailed: {"✕", "failed"}, StepDenied: {"✕", "denied"}, StepCancelled: {"✕", "cancelled"}, StepExpired: {"⌛", "expired"},
}

// Mark is the symbol of a step's state. An unknown state is drawn as one that nobody knows.
func Mark(s StepState) string { return cmp.Or(marks[s][0], "❓") }

// MarkWord is what a mark means, for screen readers: colour and shape never carry meaning alone.
func MarkWord(s StepState) string { return cmp.Or(marks[s][1], "outcome unknown") }

// Step is one tool call's line: the same shape whether it asked or not.
type Step struct {
	Call   string // CallID, for surfaces that address calls
	State  StepState
	Title  string // what it does, and to what
	Tool   string
	Server string
	Detail Line
	// Choices that still mean something for it: Ask again, Undo.
	Choices []Choice

	follows bool // it stands for an ask whose card follows
}

// Ask is the card of one call that waits for a person. It is drawn in this order, each part once: the small line, the question,
// what a server writes, the arguments, the facts, the buttons, and small below them the footer with the warning.
type Ask struct {
	Call, Token string // CallID; AskID
	Kind        AskKind
	// Brief makes it a row of a list: several calls are asked about at once. What is the same for all of them stands on the last.
	Brief    bool
	Header   string // "Allow tool call from files?"
	Run      string // "Run write_file from files"
	Tool     string
	Server   string
	Icon     string // of the server: a symbol, or the address of a picture
	Question string // what it is about, as a sentence; untrusted values inside
	Says     string // what a running tool's server writes: untrusted
	Args     Args
	Facts    Line // what whoever answers should know: whether it reads or changes things, its risk, what is not as usual
	Choices  []Choice
	More     []Choice // behind ⋯
	Footer   Line     // who can answer, until when
	Warning  string   // R72, or what nobody should give away
	Review   string   // R73, bold
	Expires  time.Time
}

// Opens reports whether a choice opens the details of this very call.
func (a Ask) Opens(c Choice) bool { return c.Choice == chat.ViewDetail && c.Token == a.Token }

// AskKind distinguishes a permission ask from the question after an interruption.
type AskKind string

// The ask kinds.
const (
	AskPermission AskKind = "permission"
	AskOutcome    AskKind = "outcome" // It happened · Run again · Leave it
	AskInput      AskKind = "input"   // a running tool's server wants something of the requester
)

// Server is what people are told about a server.
type Server struct {
	Name, Description, Icon string
	Trusted                 bool
}

// Small is the line above the question: R69 and R70.
func (a Ask) Small() string {
	if a.Header == "" || a.Run == "" {
		return a.Header + a.Run
	}
	return a.Header + " · " + a.Run
}

// Args are a call's arguments as they will run.
type Args struct {
	JSON     string // indented, text of several lines as lines, hidden characters made visible, secrets masked
	Diff     string // where a text is replaced: each argument but for that, and what of the text goes and comes; it stands for Rows and JSON
	Against  string // what Diff was made against, in words
	Rows     []Row  // the top-level members, in the schema's order, or else as they were written
	Edit     string // JSON for somebody to change, where they may, with hidden characters made visible
	Digest   string // the first characters are shown, all of it in the details
	Chars    int    // characters of JSON
	Hidden   int    // characters of it that this message does not show; the details do
	Escaped  int    // characters that were made visible as \u{...}
	Redacted int    // values whose key or shape says secret
	TooBig   bool   // more than MaxArgs (see the function TooBig): it cannot be shown in full, so it must not be offered to be allowed
}

// Row is one argument. A string that could be mistaken for something else stands in quotes, as JSON. Where Hidden
// is not zero, Value says so in words.
type Row struct {
	Name, Value string
	Hidden      int // characters of Value not shown
}

// Style is how much a button stands out. None is ever focused by default, Allow least of all.
type Style string

// The styles.
const (
	Neutral Style = ""
	Danger  Style = "danger"
)

// Choice is a button.
type Choice struct {
	Choice chat.Choice
	Token  string
	Label  string // says exactly what it grants
	Hint   string // accessible name or tooltip; empty: the label
	Style  Style
	// Confirm, if not empty, is said before the choice is taken, which a person then has to confirm. Text inside may be untrusted.
	Confirm string
	// Toggle makes it a checkbox, which decides nothing by itself.
	Toggle Toggle
	// Fills is how many UTF-16 units the form that it opens begins with. Where a form holds fewer, it is not offered.
	Fills int
}

// NewChoice is a choice as its line of the table says. What the card says further is the caller's to add.
func NewChoice(c chat.Choice, token string) Choice {
	k, _ := text.KindOf(c)
	out := Choice{Choice: c, Token: token, Label: k.Label}
	if k.Refuses && c != chat.DenyReason { // that one stands behind ⋯, where nothing stands out
		out.Style = Danger
	}
	return out
}

// StandsOut reports whether a button is drawn as dangerous: only where it refuses. Allow is never the button that stands out.
func StandsOut(c Choice) bool {
	k, _ := text.KindOf(c.Choice)
	return c.Style == Danger && k.Refuses
}

// Toggle is how a checkbox stands. Zero: the choice is none.
type Toggle uint8

// The toggles.
const (
	NoToggle Toggle = iota
	ToggleOff
	ToggleOn
)

// Note is a quiet line.
type Note struct {
	Line    Line
	Choices []Choice
}

// Find is a choice of the message, wherever it stands in it. ok is false where it is not offered.
func (m Message) Find(choice chat.Choice, token string) (c Choice, ok bool) {
	all := slices.Clone(m.Choices)
	for _, b := range m.Blocks {
		shown, behind := choicesOf(b)
		all = append(append(all, shown...), behind...)
	}
	i := slices.IndexFunc(all, func(c Choice) bool { return c.Choice == choice && c.Token == token })
	if i < 0 {
		return c, false
	}
	return all[i], true
}

// choicesOf are the buttons of a block, and of an ask those behind ⋯.
func choicesOf(b Block) (shown, behind []Choice) {
	switch b := b.(type) {
	case Step:
		return b.Choices, nil
	case Note:
		return b.Choices, nil
	case Ask:
		return b.Choices, b.More
	default: // nothing to be chosen
		return nil, nil
	}
}

// withChoices is a block with other buttons.
func withChoices(b Block, shown, behind []Choice) Block {
	switch b := b.(type) {
	case Step:
		b.Choices = shown
		return b
	case Note:
		b.Choices = shown
		return b
	case Ask:
		b.Choices, b.More = shown, behind
		return b
	default:
		return b
	}
}

func (Text) isBlock() {}
func (Code) isBlock() {}
func (Step) isBlock() {}
func (Ask) isBlock()  {}
func (Note) isBlock() {}

// Line is one line of spans.
type Line []Span

// Span is part of a line. The set is closed: Plain, Strong, Person, Time.
//
//sumtype:decl
type Span interface{ isSpan() }

// Plain is text without any markup; it may hold untrusted words.
type Plain string

// Strong is bold text of ours.
type Strong string

// Person is somebody, drawn as the platform names people, without notifying them.
type Person struct {
	User chat.User
	Name string
}

// Time is a moment. Until draws it as the time left while that is short.
type Time struct {
	At    time.Time
	Until bool
}

// Channel is a place that several chats stand in, drawn as its own platform names it, and elsewhere by its ID.
type Channel chat.Channel

func (Plain) isSpan()   {}
func (Strong) isSpan()  {}
func (Person) isSpan()  {}
func (Time) isSpan()    {}
func (Channel) isSpan() {}

// Limits are what a platform takes. Zero means no limit. Counts are Unicode code points unless said. [Measure]
// says what is counted; an adapter that adds markup of its own leaves room for it here.
type Limits struct {
	Chars  int // over the whole message, markup not counted
	Bytes  int // UTF-8, over the whole message
	Blocks int // steps, asks, texts, notes together
	Text   int // one Text or Code block
	Args   int // one Ask's shown arguments
	Label  int // one button's label
	Asks   int // asks with their own buttons
	// Choices are buttons over the whole message, those behind ⋯ not counted. Message.Choices are ours and
	// few (at most six); Fit never takes one of them away for room.
	Choices int
}

// Floor is the least that any platform must give: Fit is total at or above it.
var Floor = Limits{Chars: 1800, Bytes: 5400, Blocks: 10, Text: 600, Args: 200, Label: 40, Asks: 3, Choices: 20}
