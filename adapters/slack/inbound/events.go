package inbound

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/chat"
)

// Event is the payload of the Events API. It is not decoded by slack-go's slackevents: that rejects a whole event for one block of a shape
// it does not know. https://docs.slack.dev/apis/events-api/#callback-field
type Event struct {
	Type       string      `json:"type"` // event_callback, url_verification, app_rate_limited
	Challenge  string      `json:"challenge"`
	ID         LooseString `json:"event_id"`
	Team       LooseString `json:"team_id"`
	Enterprise LooseString `json:"enterprise_id"`
	Shared     bool        `json:"is_ext_shared_channel"`
	Installed  []struct {
		Team       LooseString `json:"team_id"`
		Enterprise LooseString `json:"enterprise_id"`
	} `json:"authorizations"`
	Inner inner `json:"event"`
}

type inner struct {
	Message
	Type      LooseString `json:"type"`
	Channel   LooseString `json:"channel"`
	Stamp     LooseString `json:"event_ts"`
	DeletedTS LooseString `json:"deleted_ts"`
	Now       *Message    `json:"message"`          // message_changed: as it is now
	Was       *Message    `json:"previous_message"` // message_changed, message_deleted: as it was
	Tab       LooseString `json:"tab"`              // app_home_opened
	View      struct {
		Hash     LooseString `json:"hash"`
		Metadata LooseString `json:"private_metadata"`
	} `json:"view"` // app_home_opened: what stands on the Home tab, if anything was ever drawn there
	Assistant struct {
		Channel LooseString `json:"channel_id"`
		Thread  LooseString `json:"thread_ts"`
	} `json:"assistant_thread"`
}

// Message is a message. https://docs.slack.dev/reference/events/message
type Message struct {
	Subtype  LooseString `json:"subtype"`
	User     LooseString `json:"user"`
	UserTeam LooseString `json:"user_team"` // whose workspace or organisation the author is of
	Team     LooseString `json:"team"`
	Bot      LooseString `json:"bot_id"`
	App      LooseString `json:"app_id"`
	Text     LooseString `json:"text"`
	TS       LooseString `json:"ts"`
	Thread   LooseString `json:"thread_ts"`
	Edited   *struct {
		User LooseString `json:"user"`
		TS   LooseString `json:"ts"`
	} `json:"edited"`
	Name        LooseString           `json:"username"` // of a bot that chose one
	Blocks      json.RawMessage       `json:"blocks"`
	Attachments LooseList[attachment] `json:"attachments"`
	Files       LooseList[file]       `json:"files"`
}

// file is https://docs.slack.dev/reference/objects/file-object
type file struct {
	ID    LooseString `json:"id"`
	Type  LooseString `json:"mimetype"`
	Name  LooseString `json:"name"`
	Title LooseString `json:"title"`
	Size  int         `json:"size"`
}

func DecodeEvent(payload []byte) (Event, error) { return decode[Event](payload) }

// Meaning is what an event says to this bot. The set is closed; nil is nothing.
//
//sumtype:decl
type Meaning interface{ isMeaning() }

type (
	// MessagePosted: a person wrote a message, or a program one that names the bot.
	MessagePosted struct {
		Thread     blocks.Place
		TS         string
		User, Home string // home as the envelope has it: it may be empty
		Text       string // as Slack has it
		Message    Message
		Program    []string // what a program is called by: its bot, its app, its user; none: a person wrote
		Direct     bool     // in a conversation with the bot alone
		Mentioned  bool
		Others     bool // it names somebody else
		Reply      bool // in a thread that somebody else's message began
		Answerable bool // false where the same message comes as another event too, which is answered
	}
	// MessageEdited: a person changed their message.
	MessageEdited struct {
		Thread     blocks.Place
		TS, Stamp  string // stamp is the edit's own
		User, Home string
		Text       string
	}
	// MessageDeleted: a message was deleted.
	MessageDeleted struct {
		Thread blocks.Place
		TS     string
	}
	// ChannelClosed: nobody can read or answer in a channel any more.
	ChannelClosed struct{ Channel, Event string }
	// StopPressed: a person pressed the agent view's own Stop.
	StopPressed struct {
		Thread      blocks.Place
		User, Stamp string
	}
	// ConversationOpened: a person opened the conversation with the bot.
	ConversationOpened struct{ Channel, Thread string }
	// HomeOpened: a person opened the Home tab. Metadata and Hash are of what stands there.
	HomeOpened struct{ User, Metadata, Hash, Stamp string }
)

func (MessagePosted) isMeaning()      {}
func (MessageEdited) isMeaning()      {}
func (MessageDeleted) isMeaning()     {}
func (ChannelClosed) isMeaning()      {}
func (StopPressed) isMeaning()        {}
func (ConversationOpened) isMeaning() {}
func (HomeOpened) isMeaning()         {}

// Slackbot and SlackSystem are Slack's own voices: bots without a bot_id. Slack says of the second that there is no such user.
const (
	Slackbot    = "USLACKBOT"
	SlackSystem = "USLACK"
)

func MeaningOf(e Event, me Self) Meaning {
	in := e.Inner
	if !e.concerns(me) {
		return nil
	}
	switch in.Type {
	case "app_mention":
		if in.Edited == nil { // else it is an edit, for which Slack sends the mention again. https://github.com/slackapi/bolt-js/issues/960
			return in.posted(me)
		}
	case "message":
		return in.message(e, me)
	case "channel_archive", "group_archive", "channel_deleted", "group_deleted", "channel_left", "group_left":
		return ChannelClosed{string(in.Channel), string(e.ID)}
	case "member_left_channel":
		if string(in.User) == me.User {
			return ChannelClosed{string(in.Channel), string(e.ID)}
		}
	case "agent_session_stopped":
		if in.Channel != "" && blocks.IsTimestamp(string(in.Thread)) {
			return StopPressed{blocks.Place{Team: me.Team, Channel: string(in.Channel), Thread: string(in.Thread)}, string(in.User), string(in.Stamp)}
		}
	case "app_home_opened":
		switch {
		case in.Tab == "messages" && in.Channel != "":
			return ConversationOpened{Channel: string(in.Channel)}
		case in.Tab == HomeView && in.User != "":
			return HomeOpened{string(in.User), string(in.View.Metadata), string(in.View.Hash), string(in.Stamp)}
		}
	case "assistant_thread_started":
		if in.Assistant.Channel != "" {
			return ConversationOpened{string(in.Assistant.Channel), string(in.Assistant.Thread)}
		}
	}
	return nil
}

// concerns reports whether the event is of the bot token's workspace. In a channel shared with another organisation team_id may be theirs.
func (e Event) concerns(me Self) bool {
	for _, i := range e.Installed {
		if me.sameWorkspace(i.Team, i.Enterprise) {
			return true
		}
	}
	return me.sameWorkspace(e.Team, e.Enterprise) || len(e.Installed) == 0 && (e.Team == "" || e.Shared)
}

// ours reports whether the bot wrote it.
func (m Message) ours(me Self) bool {
	return string(m.User) == me.User || (m.Bot != "" && string(m.Bot) == me.Bot)
}

func (m Message) byPerson(me Self) bool {
	return m.User != "" && !m.bySlack() && m.Bot == "" && m.App == "" && !m.ours(me) && m.human()
}

// program is what the program is called by that posted a message: a bot, a workflow, an incoming webhook. https://docs.slack.dev/reference/events/message/bot_message
func (m Message) program(me Self) (ids []string) {
	if m.Bot == "" || m.bySlack() || m.ours(me) || !m.human() && m.Subtype != "bot_message" {
		return nil
	}
	for _, id := range []LooseString{m.Bot, m.App, m.User} {
		if id != "" {
			ids = append(ids, string(id))
		}
	}
	return ids
}

func (m Message) bySlack() bool { return m.User == Slackbot || m.User == SlackSystem }

// human: the subtypes that are a person's message. All others are announcements, or another program's.
func (m Message) human() bool {
	return m.Subtype == "" || m.Subtype == "file_share" || m.Subtype == "thread_broadcast"
}

// root is the message that m's thread hangs on: m itself where it hangs on none.
func (m Message) root() string { return string(cmp.Or(m.Thread, m.TS)) }

func (m Message) home() string { return string(cmp.Or(m.UserTeam, m.Team)) }

func mentions(text, user string) bool {
	return strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|")
}

// calling matches people, and all that stands for several of them.
var calling = regexp.MustCompile(`<(?:@([A-Z0-9]+)|!(?:subteam\^|here|channel|everyone))`)

// namesOthers reports whether a text calls anybody but user.
func namesOthers(text, user string) bool {
	return slices.ContainsFunc(calling.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] != user })
}

func (in inner) direct() bool {
	return strings.HasPrefix(string(in.Channel), "D")
}

func (in inner) at(m Message, me Self) (p blocks.Place, ok bool) {
	p = blocks.Place{Team: me.Team, Channel: string(in.Channel), Thread: m.root()}
	return p, p.Channel != "" && blocks.IsTimestamp(p.Thread) && blocks.IsTimestamp(string(m.TS))
}

func (in inner) posted(me Self) Meaning {
	p, ok := in.at(in.Message, me)
	named := mentions(string(in.Text), me.User)
	program := in.program(me)
	if !ok || !in.byPerson(me) && (program == nil || !named) {
		return nil
	}
	s := MessagePosted{
		Thread: p, TS: string(in.TS), User: string(in.User), Home: in.home(), Text: string(in.Text), Message: in.Message, Program: program,
		Direct: in.direct(), Mentioned: named, Reply: p.Thread != string(in.TS), Others: namesOthers(string(in.Text), me.User),
	}
	// A mention in a channel comes twice. Both are taken, in case one is lost, under one delivery; what is not recorded is answered once.
	s.Answerable = in.Type == "app_mention" || s.Direct || !s.Mentioned
	s.Mentioned = s.Mentioned || in.Type == "app_mention" && !in.quotes(me.User)
	return s
}

func (in inner) message(e Event, me Self) Meaning {
	switch in.Subtype {
	case "message_changed":
		return in.changed(me)
	case "message_deleted":
		var was Message
		if in.Was != nil {
			was = *in.Was
		}
		was.TS = in.DeletedTS
		return in.deleted(was, me)
	case "channel_archive", "group_archive": // for apps that may not subscribe to the event of that name
		return ChannelClosed{string(in.Channel), string(e.ID)}
	}
	return in.posted(me)
}

// changed is an edit of a person's words. Slack sends the same event when a link unfurls and for each of our own edits.
func (in inner) changed(me Self) Meaning {
	now, was := in.Now, in.Was
	if now == nil {
		return nil
	}
	if now.Subtype == "tombstone" { // a deleted message that replies hang on
		if was != nil {
			return in.deleted(*was, me)
		}
		return nil
	}
	p, ok := in.at(*now, me)
	if !ok || !now.byPerson(me) || now.Edited == nil || now.Edited.User != now.User || (was != nil && was.Text == now.Text) {
		return nil
	}
	stamp := cmp.Or(in.Stamp, now.Edited.TS) // edited.ts counts whole seconds: two edits within one would be the same
	return MessageEdited{Thread: p, TS: string(now.TS), Stamp: string(stamp), User: string(now.User), Home: now.home(), Text: string(now.Text)}
}

func (in inner) deleted(was Message, me Self) Meaning {
	p, ok := in.at(was, me)
	if !ok || !(was.ours(me) || was.User == "" || was.byPerson(me)) {
		return nil
	}
	return MessageDeleted{p, string(was.TS)}
}

// Lane: messages of a thread, and what happens to them, keep their order.
func (e Event) Lane() string {
	m := cmp.Or(e.Inner.Now, e.Inner.Was, &e.Inner.Message)
	return "m:" + string(e.Inner.Channel) + "/" + m.root()
}

// Delivery is the same for a message's redeliveries and for its mention: of (team, channel, ts), the team being the chat's.
func (s MessagePosted) Delivery() chat.Delivery {
	return chat.Delivery("m:" + s.Thread.Channel + ":" + s.TS)
}

// PrivateThread is the thread that an answer to one person appears in; none beside a first message in a channel: nobody would open it.
func (s MessagePosted) PrivateThread() string {
	if s.Reply || s.Direct {
		return s.Thread.Thread
	}
	return ""
}

const HomeView = "home" // the type of the view that is a Home tab
