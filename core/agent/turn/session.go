package turn

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Session is the fold of one chat's log. It is a value: Apply returns a new one and leaves its receiver as it
// was, so whoever holds one may keep it. Its JSON is the stored form of a snapshot.
type Session struct {
	Chat chat.ID `json:"chat"`
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
	People     []Person           `json:"people,omitempty"` // who spoke or decided here, with the name last seen; the newest so many
	Began      chat.User          `json:"began,omitzero"`   // who the chat belongs to, for ever: whoever spoke here first
	Lapsed     []LapsedCall       `json:"lapsed,omitempty"` // expired calls that can still be asked for again
	Recent     []chat.Delivery    `json:"recent,omitempty"` // deliveries already folded
	Clicks     []string           `json:"clicks,omitempty"` // operations of people's latest choices: one delivered again is no new one
	Notes      []string           `json:"notes,omitempty"`  // for the model's next request: late results, ignored edits
	// At is when somebody last spoke here, or a turn last ended.
	At time.Time `json:"at,omitzero"`
	// Settings is what the settings' own log comes to; nil in every conversation.
	Settings *permission.Settings `json:"settings,omitempty"`
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
	Notes      []string        `json:"notes,omitempty"`     // told to the model with this turn
	Cancelled  int             `json:"cancelled,omitempty"` // waiting messages that Stop took along
	Ignored    int             `json:"ignored,omitempty"`   // edits and deletions that came too late
	Forget     bool            `json:"forget,omitempty"`    // a reset fell into it: its words do not enter the transcript
	Beside     []Beside        `json:"beside,omitempty"`    // short messages beside the turn's one
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

// Status is how a call stands.
//
//	Proposed → Awaiting | Allowed | Denied
//	Awaiting → Allowed | Denied | Expired | Cancelled
//	Allowed  → Running | Denied | Awaiting | Proposed | Cancelled
//	Running  → Done | Failed | Unknown
//	Unknown  → Done | Failed (a late Finished) | Awaiting (run again); settled in place by happened and leave
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

	Ask      AskID             `json:"ask,omitempty"` // the ruling or asking in force
	Asks     []AskID           `json:"asks,omitempty"`
	Asked    bool              `json:"asked,omitempty"` // Ask was put to a person
	AskedAt  time.Time         `json:"asked_at,omitzero"`
	Deadline time.Time         `json:"deadline,omitzero"` // zero: parked
	Seen     *Showing          `json:"seen,omitempty"`    // nil: nobody has seen the card of Ask yet
	Ruling   permission.Ruling `json:"ruling,omitzero"`
	Card     Card              `json:"card,omitzero"`

	Choice    chat.Choice        `json:"choice,omitempty"` // the decision in force
	By        chat.User          `json:"by,omitzero"`
	Name      string             `json:"name,omitempty"`
	Surface   string             `json:"surface,omitempty"`
	Reason    string             `json:"reason,omitempty"`
	DecidedAt time.Time          `json:"decided_at,omitzero"`
	Votes     []Vote             `json:"votes,omitempty"`    // who allowed it so far, where several must
	Ticked    *Person            `json:"ticked,omitempty"`   // who ticked "Remember this choice"
	Revealed  []Reveal           `json:"revealed,omitempty"` // who looked at what the cards mask
	Want      *Wanting           `json:"want,omitempty"`     // what its server wants of the requester, until it is answered
	Grant     permission.GrantID `json:"grant,omitempty"`    // the grant it made or used
	Cover     *permission.Grant  `json:"cover,omitempty"`    // the one it used, as it was then, without its tools

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
	Reasked    bool      `json:"reasked,omitempty"` // expired, and asked for again in a turn of its own

	Result *Result `json:"result,omitempty"` // set exactly when the call is settled
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
	Calls   []TalkCall      `json:"calls,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`
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
}
