package turn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Session is the fold of one chat's log. It is a value: Apply returns a new one and leaves its receiver as it
// was, so whoever holds one may keep it. Its JSON is the stored form of a snapshot: here as in an [Event], fields are only ever added, with
// a zero value that means what their absence meant.
type Session struct {
	Chat    chat.ID      `json:"chat"`
	Channel chat.Channel `json:"channel,omitempty"` // that the chat stands in
	// Transcript is what was said in turns that are over.
	Transcript []Utterance        `json:"transcript,omitempty"`
	Dropped    int                `json:"dropped,omitempty"` // utterances that Transcript no longer holds
	Turn       *Turn              `json:"turn,omitempty"`    // the open turn
	Last       *Turn              `json:"last,omitempty"`    // the turn that ended last
	Waiting    []Said             `json:"waiting,omitempty"`
	Grants     []permission.Grant `json:"grants,omitempty"`
	Mode       permission.Mode    `json:"mode,omitempty"` // ModeTool: the policy's
	ModeAt     time.Time          `json:"mode_at,omitzero"`
	ModeRev    int                `json:"mode_rev,omitempty"`
	ResetRev   int                `json:"reset_rev,omitempty"`
	Usage      Usage              `json:"usage,omitzero"`
	People     []Person           `json:"people,omitempty"`  // who spoke or decided here, with the name last seen; the newest so many
	Began      chat.User          `json:"began,omitzero"`    // who the chat belongs to, for ever: whoever spoke here first
	Lapsed     []LapsedCall       `json:"lapsed,omitempty"`  // expired calls that can still be asked for again
	Recent     []chat.Delivery    `json:"recent,omitempty"`  // deliveries already folded
	Clicks     []string           `json:"clicks,omitempty"`  // operations of people's latest choices: one delivered again is no new one
	Notes      []Note             `json:"notes,omitempty"`   // for the model's next request: late results, ignored edits
	Asked      []AskedOf          `json:"asked,omitempty"`   // what people were asked about here, by server
	Ratings    []Rated            `json:"ratings,omitempty"` // what people said of turns: of each person and turn the last; the newest so many
	// At is when somebody last spoke here, or a turn last ended.
	At time.Time `json:"at,omitzero"`
	// Settings is what the settings' own log comes to; nil in every conversation.
	Settings *permission.Settings `json:"settings,omitempty"`
}

// Turns are the turns that the session holds, in order: the one that ended last, and the open one.
func (s Session) Turns() []*Turn {
	return slices.DeleteFunc([]*Turn{s.Last, s.Turn}, func(t *Turn) bool { return t == nil })
}

// Find gives the first call that is meant, wherever the session holds it: in the open turn, in the one that ended last, or among those
// that nobody answered and that can still be asked for. t is its turn, or nil where the session does not hold that any more.
func (s Session) Find(meant func(ToolCall) bool) (c ToolCall, t *Turn, found bool) {
	for _, t := range slices.Backward(s.Turns()) {
		if i := slices.IndexFunc(t.Calls, meant); i >= 0 {
			return t.Calls[i], t, true
		}
	}
	l, found := s.findLapsed(meant)
	return l.Call, nil, found
}

// FindCall finds a call by its ID, wherever the session holds it.
func (s Session) FindCall(id CallID) (c ToolCall, t *Turn, found bool) {
	return s.Find(func(c ToolCall) bool { return c.ID == id })
}

// FindAsk finds the call whose asking in force is id, wherever the session holds it. An older asking of a call is not found: its button
// must never answer a later one.
func (s Session) FindAsk(id AskID) (c ToolCall, t *Turn, found bool) {
	return s.Find(func(c ToolCall) bool { return c.Ask == id && id != "" })
}

// TurnOf is the turn of that ID, or nil where the session does not hold it any more.
func (s Session) TurnOf(id TurnID) *Turn {
	for _, t := range s.Turns() {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// HoldsLapsed reports whether a call of an ended turn can still be asked for again.
func (s Session) HoldsLapsed(id CallID) bool {
	return slices.ContainsFunc(s.Lapsed, func(l LapsedCall) bool { return l.Call.ID == id })
}

// FindLapsed finds the call of an ended turn that can still be asked for again under that ask.
func (s Session) FindLapsed(id AskID) (LapsedCall, bool) {
	return s.findLapsed(func(c ToolCall) bool { return c.Ask == id })
}

func (s Session) findLapsed(meant func(ToolCall) bool) (l LapsedCall, found bool) {
	if i := slices.IndexFunc(s.Lapsed, func(l LapsedCall) bool { return meant(l.Call) }); i >= 0 {
		return s.Lapsed[i], true
	}
	return l, false
}

// FindElicitation finds the running call whose server waits for an answer under that ask. No other call has one: it goes when the run
// ends, and is cancelled when the turn is stopped.
func (s Session) FindElicitation(id AskID) (c ToolCall, found bool) {
	c = s.Turn.first(func(c ToolCall) bool { return c.Elicitation.Open() && c.Elicitation.Ask == id })
	return c, c.ID != ""
}

// RequesterOf is for whom a call is made; nobody where the session does not hold it.
func (s Session) RequesterOf(id CallID) chat.User {
	if _, t, _ := s.FindCall(id); t != nil {
		return t.Requester
	}
	l, _ := s.findLapsed(func(c ToolCall) bool { return c.ID == id })
	return l.Requester
}

// NameOf is what somebody called themselves here last, or what their platform calls them.
func (s Session) NameOf(u chat.User) string { return cmp.Or(s.Participant(u).Name, u.Key) }

// Participant is somebody who took part, with the name seen last; nobody where they did not.
func (s Session) Participant(u chat.User) Person {
	if i := slices.IndexFunc(s.People, func(p Person) bool { return p.User == u }); i >= 0 {
		return s.People[i]
	}
	return Person{}
}

// AskedOf is what people were asked about a server's tools in a chat.
type AskedOf struct {
	Server string `json:"server"`
	New    bool   `json:"new,omitempty"`   // a card was about a tool that no admin had accepted
	Reads  int    `json:"reads,omitempty"` // calls that a grant for reads could have answered
}

// AskedReads is the ask of a server's reads in a chat from which on they are offered to be allowed together.
const AskedReads = 3

// AskedOf is what people were asked here about a server's tools.
func (s Session) AskedOf(server string) AskedOf {
	if i := slices.IndexFunc(s.Asked, func(a AskedOf) bool { return a.Server == server }); i >= 0 {
		return s.Asked[i]
	}
	return AskedOf{Server: server}
}

// asks counts an ask, once for each call.
func (s Session) asks(c ToolCall, r permission.Ruling) Session {
	of := s.AskedOf(c.Tool.Server)
	was := of
	of.New = of.New || r.New
	if len(c.Asks) == 0 && OffersReads(r) {
		of.Reads = min(of.Reads+1, AskedReads)
	}
	if of != was {
		rest := slices.DeleteFunc(slices.Clone(s.Asked), func(a AskedOf) bool { return a.Server == of.Server })
		s.Asked = last(append(rest, of), maxAskedOf)
	}
	return s
}

// OffersReads reports whether a grant for the reads of its server could have answered a call that people are asked about.
func OffersReads(r permission.Ruling) bool {
	return r.Verdict == permission.Ask && r.Level == permission.LevelUser && r.ChatGrant && !r.Masked && r.Access == permission.Read && slices.Contains(r.Scopes, permission.ScopeReads)
}

// LapsedCall is a call nobody answered in time, in a turn that went on without it.
type LapsedCall struct {
	Call      ToolCall  `json:"call"`
	Requester chat.User `json:"requester,omitzero"`
}

// Person is somebody who took part.
type Person struct {
	User chat.User `json:"user,omitzero"`
	Name string    `json:"name,omitempty"`
}

// Turn is everything from a person's message to the end of the bot's one message for it.
type Turn struct {
	ID         TurnID          `json:"id"`
	At         time.Time       `json:"at"`
	Requester  chat.User       `json:"requester,omitzero"`
	Said       []Said          `json:"said"`
	Unattended bool            `json:"unattended,omitempty"`
	Standing   chat.Standing   `json:"standing,omitempty"` // what the requester is here
	Replies    []Reply         `json:"replies,omitempty"`
	Calls      []ToolCall      `json:"calls,omitempty"` // of all steps, in order
	Step       int             `json:"step"`            // replies so far
	Shown      chat.MessageRef `json:"shown,omitempty"`
	ShownAt    time.Time       `json:"shown_at,omitzero"`
	Stopped    *Person         `json:"stopped,omitempty"`
	End        Why             `json:"end,omitempty"`
	EndSay     string          `json:"end_say,omitempty"`
	EndAt      time.Time       `json:"end_at,omitzero"`
	Usage      Usage           `json:"usage,omitzero"`
	Notes      []Note          `json:"notes,omitempty"`     // told to the model with this turn
	Cancelled  int             `json:"cancelled,omitempty"` // waiting messages that Stop took along
	Ignored    int             `json:"ignored,omitempty"`   // edits and deletions that came too late
	Unheard    bool            `json:"unheard,omitempty"`   // some of what was said before could not be read: see [EarlierRead]
	Forget     bool            `json:"forget,omitempty"`    // a reset fell into it: its words do not enter the transcript
	Beside     []Beside        `json:"beside,omitempty"`    // short messages beside the turn's one
	Gone       chat.MessageRef `json:"gone,omitempty"`      // was deleted before the turn's message was known: it may be that one
	Files      []FileRead      `json:"files,omitempty"`     // what came of the files of Said, all or none
}

// Seq is the sequence number of the entry that opened the turn.
func (t *Turn) Seq() uint64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(string(t.ID), "t"), "-") // what follows tells turns of two histories apart
	n, _ := strconv.ParseUint(digits, 10, 64)
	return n
}

// Beside is a short message beside the turn's one: a nudge, or the rest of a long answer.
type Beside struct {
	Slot    string          `json:"slot"`
	Message chat.MessageRef `json:"message,omitempty"` // empty: there is none, and none will be tried
	Gone    bool            `json:"gone,omitempty"`    // taken away again
	Who     []string        `json:"who,omitempty"`
	At      time.Time       `json:"at,omitzero"`
}

// Reply is one answer of the model within a turn.
type Reply struct {
	Text   string          `json:"text,omitempty"`
	Cut    bool            `json:"cut,omitempty"`
	Left   int             `json:"left,omitempty"`
	More   int             `json:"more,omitempty"` // calls that were not taken
	Faults []string        `json:"faults,omitempty"`
	Model  string          `json:"model,omitempty"`
	Extra  json.RawMessage `json:"extra,omitempty"`
}

// Status is how a call stands. The package's comment draws how one becomes another.
type Status string

// The statuses, as the API spells them.
const (
	Proposed  Status = "proposed"
	Awaiting  Status = "awaiting"
	Allowed   Status = "allowed"
	Denied    Status = "denied"
	Lapsed    Status = "expired"
	Cancelled Status = "cancelled"
	Running   Status = "running"
	Unknown   Status = "unknown"
	Done      Status = "done"
	Failed    Status = "failed"
)

// ToolCall is one call of a turn.
type ToolCall struct {
	ID      CallID            `json:"id"`
	ModelID string            `json:"model_id,omitempty"`
	Step    int               `json:"step"` // the reply that proposed it, from 0
	Tool    permission.Tool   `json:"tool"`
	Args    json.RawMessage   `json:"args,omitempty"`
	Digest  permission.Digest `json:"digest,omitempty"`
	Extra   json.RawMessage   `json:"extra,omitempty"`
	Status  Status            `json:"status"`

	Wrote json.RawMessage `json:"wrote,omitempty"` // what the model wrote, where a person changed the arguments
	Edits []Amendment     `json:"edits,omitempty"` // who changed them, in order

	Unchecked bool `json:"unchecked,omitempty"` // nobody knows whether Args fit the tool's input schema

	Preview *Preview `json:"preview,omitempty"` // the look at what it replaces, before people were asked

	Asking
	Decision
	Votes       []Vote            `json:"votes,omitempty"`    // who allowed it so far, where several must
	Ticked      *Person           `json:"ticked,omitempty"`   // who ticked "Remember this choice"
	Revealed    []Reveal          `json:"revealed,omitempty"` // who looked at what the cards mask
	Elicitation *ElicitationState `json:"want,omitempty"`     // what its server wants of the requester, until it is answered
	Execution

	Reasked bool    `json:"reasked,omitempty"` // expired, and asked for again in a turn of its own
	Result  *Result `json:"result,omitempty"`  // set exactly when the call is settled
}

// Asking is what policy said of the call, and how people are asked about it.
type Asking struct {
	Ask      AskID             `json:"ask,omitempty"` // the ruling or asking in force
	Asks     []AskID           `json:"asks,omitempty"`
	Asked    bool              `json:"asked,omitempty"` // Ask was put to a person
	AskedAt  time.Time         `json:"asked_at,omitzero"`
	Deadline time.Time         `json:"deadline,omitzero"` // zero: parked
	Seen     *Showing          `json:"seen,omitempty"`    // nil: nobody has seen the card of Ask yet
	Ruling   permission.Ruling `json:"ruling,omitzero"`
	Card     Card              `json:"card,omitzero"`
}

// Decision is a person's answer that is in force, and the grant that the call runs under. Zero: there is none.
type Decision struct {
	Choice    chat.Choice        `json:"choice,omitempty"`
	By        chat.User          `json:"by,omitzero"`
	Name      string             `json:"name,omitempty"`
	Surface   string             `json:"surface,omitempty"`
	Reason    string             `json:"reason,omitempty"`
	DecidedAt time.Time          `json:"decided_at,omitzero"`
	Grant     permission.GrantID `json:"grant,omitempty"`   // the grant it made or used
	Cover     *permission.Grant  `json:"cover,omitempty"`   // the one it used, as it was then, without its tools
	Channel   chat.Channel       `json:"channel,omitempty"` // for all chats of which its tool was allowed with it
}

// Execution is the call's runs: the current one, and what is known of those before.
type Execution struct {
	Run        RunID     `json:"run,omitempty"`
	Runs       []RunID   `json:"runs,omitempty"`
	Heard      []RunID   `json:"heard,omitempty"` // runs whose outcome is known
	Token      uint64    `json:"token,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	Lost       string    `json:"lost,omitempty"` // what is known of an abandoned run
	Repeats    int       `json:"repeats,omitempty"`
	Late       bool      `json:"late,omitempty"` // a result came after the unknown was settled
	LateFailed bool      `json:"late_failed,omitempty"`
}

// Showing is when and how an ask's card appeared. Its clock runs from then.
type Showing struct {
	At     time.Time `json:"at"`
	Says   time.Time `json:"says,omitzero"`    // until when it says that it can be answered, where that is near the deadline and never later
	Silent bool      `json:"silent,omitempty"` // by an edit, of which platforms notify nobody
}

// Vote is one person's word among several that a call needs.
type Vote struct {
	By      chat.User `json:"by"`
	Name    string    `json:"name,omitempty"`
	Surface string    `json:"surface,omitempty"`
	At      time.Time `json:"at"`
}

// Amendment is one change that a person made to a call's arguments.
type Amendment struct {
	By   chat.User         `json:"by,omitzero"`
	Name string            `json:"name,omitempty"`
	At   time.Time         `json:"at"`
	From permission.Digest `json:"from"` // of the call before
}

// Reveal is that somebody looked at what a card masks. What they saw is in no record.
type Reveal struct {
	Ask  AskID     `json:"ask"`
	By   chat.User `json:"by"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at"`
}

// Settled reports whether the call has its one result.
func (c ToolCall) Settled() bool { return c.Result != nil }

// Role is who an utterance is by.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleNote      Role = "note" // ours, to the model: something it should know
)

// Utterance is one thing said, as a model reads it. An assistant's calls carry their results, so a request can
// never hold a call without exactly one result.
type Utterance struct {
	Role    Role            `json:"role"`
	By      chat.User       `json:"by,omitzero"`
	Name    string          `json:"name,omitempty"`
	Text    string          `json:"text,omitempty"`
	Context []chat.Quote    `json:"context,omitempty"` // untrusted text of its authors
	Files   []FileRead      `json:"files,omitempty"`   // that came with it: untrusted, too
	Calls   []TalkCall      `json:"calls,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`

	// What the fold keeps in place of sentences; package talk puts it into Text.
	Cut   bool             `json:"cut,omitempty"`   // the assistant's reply was cut short
	Note  *Note            `json:"note,omitempty"`  // what a note says
	Again *permission.Tool `json:"again,omitempty"` // the user pressed "Ask again" for a call of it
}

// Size is about how many bytes the utterance takes, without the words of its kinds.
func (u Utterance) Size() int {
	n := len(u.Text) + len(u.Extra)
	for _, q := range u.Context {
		n += len(q.Text)
	}
	for _, f := range u.Files {
		n += len(f.Name) + len(f.Text)
	}
	for _, c := range u.Calls {
		n += len(c.Args) + c.Result.Size()
		if c.Edit != nil {
			n += len(c.Edit.Args)
		}
	}
	if u.Note != nil {
		n += len(u.Note.Text)
	}
	return n
}

// TalkCall is a call and its result as a model reads them.
type TalkCall struct {
	ID      CallID          `json:"id"`
	ModelID string          `json:"model_id,omitempty"` // as the model called it; not always there, not always unique
	Server  string          `json:"server,omitempty"`   // empty: the model invented the name
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`
	Result  Result          `json:"result"`
	Edit    *Edit           `json:"edit,omitempty"` // a person changed the arguments: Args are what the model wrote
}

// Edit is what a person made of a call's arguments.
type Edit struct {
	Name string          `json:"name,omitempty"`
	Args json.RawMessage `json:"args,omitempty"` // as they are in force
}

// Note is something that the model should know, with its next request.
type Note struct {
	Kind NoteKind `json:"kind,omitempty"`
	// Text is the answer of a late result. Without a Kind it is the note itself, as sessions of earlier releases hold it.
	Text   string `json:"text,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Server string `json:"server,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	More   int    `json:"more,omitempty"`  // calls that were not taken
	Taken  int    `json:"taken,omitempty"` // calls that were
}

// NoteKind is what a note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteLate      NoteKind = "late"       // a result came after its call was settled otherwise
	NoteMoreCalls NoteKind = "more_calls" // a reply had more calls than are taken
)

// UnmarshalJSON reads a note, also as earlier releases stored it: a string.
func (n *Note) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &n.Text)
	}
	type plain Note
	return json.Unmarshal(b, (*plain)(n))
}
