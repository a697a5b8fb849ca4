// Package chat is the leaf of the house: who speaks, where, and what reached us.
//
// A chat is one conversation: a Slack thread, a Discord channel or thread, a web chat. An inbound is one thing that a platform delivered: a
// message, an edit, a click. All identifiers are opaque: they are minted and parsed only by the adapter that [ID.Platform] names, and
// compared as a whole by everyone else. A [User] in an inbound comes from the platform's signed envelope, never from a field that the
// sender could fill in.
//
// It imports nothing of ours. Start with [ID], [User] and [Inbound]. A new thing that platforms deliver is a type here, and a case in
// package agent's Accept; a new button is a [Choice].
package chat

import (
	"fmt"
	"strings"
	"time"
)

// ID names one chat.
type ID struct {
	Platform  string `json:"p"`           // "slack", "discord", "web"
	Workspace string `json:"w,omitempty"` // team, guild; empty on the web
	Key       string `json:"k"`
}

// String is the stored form: three escaped fields joined by ":". [ParseID] reads it back.
func (id ID) String() string {
	return escaper.Replace(id.Platform) + ":" + escaper.Replace(id.Workspace) + ":" + escaper.Replace(id.Key)
}

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads what [ID.String] wrote.
func ParseID(s string) (ID, error) {
	f := strings.Split(s, ":")
	if len(f) != 3 || f[0] == "" || f[2] == "" {
		return ID{}, fmt.Errorf("want platform:workspace:key, got %q", s)
	}
	return ID{unescaper.Replace(f[0]), unescaper.Replace(f[1]), unescaper.Replace(f[2])}, nil
}

// Listed is one line of a person's list of chats.
type Listed struct {
	Key   string    `json:"chat_id"`
	Title string    `json:"title"`
	At    time.Time `json:"at"`
}

var escaper = strings.NewReplacer("%", "%25", ":", "%3A")
var unescaper = strings.NewReplacer("%3A", ":", "%25", "%")

// GroupPrefix begins the Key of a [User] that stands for a group (a Discord role), in settings and [Envelope.Groups]: it never acts.
const GroupPrefix = "&"

// SelfNamedPrefix begins the Key of a [User] who gave themselves a name: they may be anybody, also twice.
const SelfNamedPrefix = "u-"

// VouchedPrefix begins the Key of a [User] of the page whom an OpenID provider vouches for.
const VouchedPrefix = "oidc-"

// Channel names the place that several chats stand in: a Slack channel, or the Discord channel that threads hang in. Adapters mint it, it is
// as opaque as an [ID], and no two platforms have the same one. Empty: the chat stands alone.
type Channel string

// User is a person (never a bot) as the platform vouches for them.
type User struct {
	Platform  string `json:"p"`
	Workspace string `json:"w,omitempty"`
	Key       string `json:"k"`
}

// String is the form used in configuration ("slack:T1:U1") and in storage.
func (u User) String() string { return ID(u).String() }

// IsGroup reports whether u stands for a group of people.
func (u User) IsGroup() bool { return strings.HasPrefix(u.Key, GroupPrefix) }

// SelfNamed reports whether u is somebody who only says who they are.
func (u User) SelfNamed() bool { return strings.HasPrefix(u.Key, SelfNamedPrefix) }

// Vouched reports whether an OpenID provider vouches for u.
func (u User) Vouched() bool { return u.Platform == "web" && strings.HasPrefix(u.Key, VouchedPrefix) }

// Person is u as far as people have to be different from each other: the same for all who are [User.SelfNamed] on a platform.
func (u User) Person() User {
	if u.SelfNamed() {
		u.Key = SelfNamedPrefix
	}
	return u
}

// SameAccount reports whether u and v reach the same person or group, wherever each is listed: of a server, or of direct messages.
func (u User) SameAccount(v User) bool { return u.Platform == v.Platform && u.Key == v.Key }

// IsZero reports whether the user is unknown. An unknown user may decide nothing.
func (u User) IsZero() bool { return u == User{} }

// ParseUser reads what [User.String] wrote.
func ParseUser(s string) (User, error) {
	id, err := ParseID(s)
	return User(id), err
}

// MarshalText makes User usable as a JSON object key.
func (u User) MarshalText() ([]byte, error) {
	if u.IsZero() {
		return []byte{}, nil // nobody
	}
	return []byte(u.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (u *User) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*u = User{}
		return nil
	}
	*u, err = ParseUser(string(b))
	return err
}

// MessageRef names a message on its platform: the bot's own, or the one a person wrote.
type MessageRef string

// PostKey identifies one intended post.
type PostKey string

// ReplyHandle answers one interaction privately (a trigger, a response URL). It is never stored and expires within minutes.
type ReplyHandle struct {
	Platform string
	Key      string
}

// Delivery is the platform's stable name for one delivered event: the same for every redelivery of it.
type Delivery string

// Choice is what a person picked. The zero Choice denies.
type Choice string

// The choices. Each counts only where it was offered for that ask.
const (
	Deny       Choice = "deny"
	AllowOnce  Choice = "allow_once"
	AllowChat  Choice = "allow_chat"
	Undo       Choice = "undo"
	Extend     Choice = "extend"
	AskAgain   Choice = "ask_again"
	Happened   Choice = "happened"
	RunAgain   Choice = "run_again"
	Leave      Choice = "leave"
	ViewDetail Choice = "view"        // shows, decides nothing
	DenyReason Choice = "deny_reason" // asks for a reason, then denies
	Edit       Choice = "edit"        // changes the arguments: the call is asked for anew, and nothing is allowed by it
	Stop       Choice = "stop"        // stops the turn the button belongs to
	Revoke     Choice = "revoke"      // revokes the grant the token names
	ApproveAll Choice = "approve_all"
	DenyAll    Choice = "deny_all"

	// Wider and narrower standing clicks than AllowChat; each makes a grant of this chat.
	AllowExact  Choice = "allow_exact"  // only with the arguments that the card proposes to pin
	AllowPath   Choice = "allow_path"   // only below the directory that the card proposes
	AllowHour   Choice = "allow_hour"   // this tool, for an hour
	AllowUses   Choice = "allow_uses"   // this tool, for a number of calls
	AllowReads  Choice = "allow_reads"  // all that the server's tools read
	AllowWrites Choice = "allow_writes" // all that they read and write
	AllowServer Choice = "allow_server" // all tools of the server

	AllowChannel Choice = "allow_channel" // this tool, in all chats of the channel; makes no grant of this chat

	AllowSession Choice = "allow_session" // approves what is open and asks no more in this session (R106)
	AskFor       Choice = "ask_more"      // ends AllowSession: asks again as each tool's setting says
	Remember     Choice = "remember"      // ticks or unticks "Remember this choice"; decides nothing (R83)
	Why          Choice = "why"           // shows why it is asked; decides nothing

	Answer  Choice = "answer"  // opens the form that a server's tool asks to be filled in, or sends it
	Decline Choice = "decline" // refuses to fill it in
	Accept  Choice = "accept"  // accepts a server's tools as they are; the token names what was shown
	Reveal  Choice = "reveal"  // shows one who may decide what a card masks, on record; decides nothing
	Good    Choice = "good"    // says of a turn that is over that it was of use, Bad that it was not; the token names it, and nothing else comes of it
	Bad     Choice = "bad"     //
	Open    Choice = "open"    // opens the settings at what the token names; decides nothing
)

// Inbound is one thing that reached us. The set is closed.
//
//sumtype:decl
type Inbound interface {
	isInbound()
	// From returns what every inbound carries.
	From() Envelope
}

// Envelope is what every inbound carries.
type Envelope struct {
	Delivery Delivery
	Chat     ID
	User     User
	Name     string // display name; untrusted text, may be empty
	Groups   []User // groups that User belongs to, as the platform vouches for them
	Surface  string // where they do it; empty: on User's own platform
	Reply    ReplyHandle
}

// On is the surface where it is done.
func (e Envelope) On() string {
	if e.Surface != "" {
		return e.Surface
	}
	return e.User.Platform
}

// From returns e itself; embedding an Envelope satisfies [Inbound].
func (e Envelope) From() Envelope { return e }

// Standing is what a person may do where they wrote.
type Standing string

const (
	Member  Standing = ""        // what the policy lets them
	Visitor Standing = "visitor" // decide nothing: a guest, somebody of another organisation, a program
	Untold  Standing = "untold"  // the platform did not tell just now
)

// Said: a person wrote a message to the bot.
type Said struct {
	Envelope
	Message MessageRef
	Text    string
	// Context is what the message itself shows of others: untrusted text of its authors.
	Context []Quote
	// Earlier says that people may have said more to each other before it; nil: they have not. It is read before the model is asked, not
	// before the message is recorded.
	Earlier *Earlier
	// Unattended marks a run nobody waits for (a schedule, a webhook): nothing in it may ask.
	Unattended bool
	// Standing is what whoever wrote is here: nothing runs unasked for anybody but a member.
	Standing Standing
	Channel  Channel
	// Files came with the message. They are read before the model is asked, not before the message is recorded.
	Files []File
}

// File is something that came with a message: what its platform says of it, and how the platform's adapter finds it. All of it is untrusted.
type File struct {
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"` // a media type; what is in it may be something else
	Size   int    `json:"size,omitempty"` // bytes, where the platform says
	Handle string `json:"handle"`         // minted and read by the adapter alone; no address, and no secret
}

// Earlier is what people said in a chat before a message.
type Earlier struct {
	Since MessageRef `json:"since,omitempty"` // the newest message before that the chat has taken; empty: none
}

// Quote is a message by somebody else, shown to the model as untrusted text.
type Quote struct {
	By   User   `json:"by"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// Edited: a person changed a message they wrote. It is honoured while that message still waits for its turn.
type Edited struct {
	Envelope
	Message MessageRef
	Text    string
}

// Deleted: a message is no more: a person took theirs back, or somebody removed the bot's own.
type Deleted struct {
	Envelope
	Message MessageRef
	// All says instead that the whole place is gone (an archived channel): nothing in it can be answered any more.
	All bool
}

// Clicked: a person pressed a button, or sent the form that it opened.
type Clicked struct {
	Envelope
	Token   string            // what the button carried: opaque, ≤ 64 graphic ASCII bytes, no authority
	Choice  Choice            // counts only if it was offered
	Message MessageRef        // the message the button stood on; empty where the surface has none (an API call)
	Reason  string            // optional words of a person who denies
	Args    string            // with Edit: the new arguments, as JSON that a person wrote
	Uses    int               // with AllowUses: how many calls, this one included; 0: as the card says
	Fields  map[string]string // with Answer: what was filled in, by the form's names
}

// Commanded: a person gave a command ("/nod stop", "@nod permissions").
type Commanded struct {
	Envelope
	Verb string
	Args []string
}

func (Said) isInbound()      {}
func (Edited) isInbound()    {}
func (Deleted) isInbound()   {}
func (Clicked) isInbound()   {}
func (Commanded) isInbound() {}

var _ = []Inbound{Said{}, Edited{}, Deleted{}, Clicked{}, Commanded{}}
