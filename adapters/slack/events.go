package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Events are decoded here and not by slack-go's slackevents: that rejects a whole event for one block of a shape it does not
// know, and everything but the few fields below would be thrown away anyway.

// event is the payload of the Events API, over HTTP and in a Socket Mode envelope alike.
// https://docs.slack.dev/apis/events-api/#callback-field
type event struct {
	Type       string `json:"type"` // event_callback, url_verification, app_rate_limited
	Challenge  string `json:"challenge"`
	ID         loose  `json:"event_id"`
	Team       loose  `json:"team_id"`
	Enterprise loose  `json:"enterprise_id"`
	Shared     bool   `json:"is_ext_shared_channel"`
	Installed  []struct {
		Team       loose `json:"team_id"`
		Enterprise loose `json:"enterprise_id"`
	} `json:"authorizations"`
	Inner inner `json:"event"`
}

// inner is what happened.
type inner struct {
	said
	Type        loose `json:"type"`
	Channel     loose `json:"channel"`
	ChannelType loose `json:"channel_type"`
	Stamp       loose `json:"event_ts"`
	DeletedTS   loose `json:"deleted_ts"`
	Message     *said `json:"message"`          // message_changed: as it is now
	Previous    *said `json:"previous_message"` // message_changed, message_deleted: as it was
	Tab         loose `json:"tab"`              // app_home_opened
	View        struct {
		Hash     loose `json:"hash"`
		Metadata loose `json:"private_metadata"`
	} `json:"view"` // app_home_opened: what stands on the Home tab, if anything was ever drawn there
	Assistant struct {
		Channel loose `json:"channel_id"`
		Thread  loose `json:"thread_ts"`
	} `json:"assistant_thread"`
}

// said is a message. https://docs.slack.dev/reference/events/message
type said struct {
	Subtype  loose `json:"subtype"`
	User     loose `json:"user"`
	UserTeam loose `json:"user_team"` // whose workspace or organisation the author is of
	Team     loose `json:"team"`
	Bot      loose `json:"bot_id"`
	App      loose `json:"app_id"`
	Text     loose `json:"text"`
	TS       loose `json:"ts"`
	Thread   loose `json:"thread_ts"`
	Edited   *struct {
		User loose `json:"user"`
		TS   loose `json:"ts"`
	} `json:"edited"`
	Name        loose           `json:"username"` // of a bot that chose one
	Blocks      json.RawMessage `json:"blocks"`
	Attachments lax[attachment] `json:"attachments"`
	Files       lax[file]       `json:"files"`
}

type file struct {
	Name loose `json:"name"`
}

// lax is a list whose odd items are read as far as they can be, and that is empty where there is no list. Decoding it never fails.
type lax[T any] []T

func (l *lax[T]) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	_ = json.Unmarshal(b, &raw)
	*l = make([]T, len(raw))
	for i, r := range raw {
		_ = json.Unmarshal(r, &(*l)[i])
	}
	return nil
}

// loose is a string where Slack sometimes has another type: a number, or an object with an id (a channel in channel_rename).
// Decoding it never fails.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	*l = ""
	switch b[0] {
	case '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*l = loose(s)
	case '{':
		var o struct {
			ID loose `json:"id"`
		}
		if json.Unmarshal(b, &o) == nil {
			*l = o.ID
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*l = loose(b)
	}
	return nil
}

func decodeEvent(payload []byte) (event, error) {
	var e event
	if err := decode(payload, &e); err != nil {
		return event{}, err
	}
	return e, nil
}

var errNotObject = errors.New("the payload is not a JSON object")

// decode reads a JSON object. Its error quotes nothing of it: messages do not belong in a log.
func decode(payload []byte, into any) error {
	if b := bytes.TrimSpace(payload); len(b) == 0 || b[0] != '{' {
		return errNotObject
	}
	err := json.Unmarshal(payload, into)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("the payload's %s is a %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("the payload is not JSON from byte %d on", syntax.Offset)
	}
	return err
}

// meaning is what an event says to this bot. The set is closed; nil is nothing.
//
//sumtype:decl
type meaning interface{ isMeaning() }

type (
	// spoken: a person wrote a message.
	spoken struct {
		at         place
		ts         string
		user, home string // home as the envelope has it: it may be empty
		text       string // as Slack has it
		said       said
		direct     bool // in a conversation with the bot alone
		mentioned  bool
		others     bool // it names somebody else
		reply      bool // in a thread that somebody else's message began
		answerable bool // false where the same message comes as another event too, which is answered
	}
	// reworded: a person changed their message.
	reworded struct {
		at         place
		ts, stamp  string // stamp is the edit's own
		user, home string
		text       string
	}
	// removed: a message was deleted.
	removed struct {
		at place
		ts string
	}
	// closed: nobody can read or answer in a channel any more.
	closed struct{ channel, event string }
	// halted: a person pressed the agent view's own Stop.
	halted struct {
		at          place
		user, stamp string
	}
	// greeted: a person opened the conversation with the bot.
	greeted struct{ channel, thread string }
	// visited: a person opened the Home tab. meta and hash are of what stands there.
	visited struct{ user, meta, hash, stamp string }
)

func (spoken) isMeaning()   {}
func (reworded) isMeaning() {}
func (removed) isMeaning()  {}
func (closed) isMeaning()   {}
func (halted) isMeaning()   {}
func (greeted) isMeaning()  {}
func (visited) isMeaning()  {}

// slackbot and slackSystem are Slack's own voices: bots without a bot_id. Slack says of the second that there is no such user.
const (
	slackbot    = "USLACKBOT"
	slackSystem = "USLACK"
)

// meaningOf reads an event. It is pure.
func meaningOf(e event, me self) meaning {
	in := e.Inner
	if !e.concerns(me) {
		return nil
	}
	switch in.Type {
	case "app_mention":
		return in.spoken(me)
	case "message":
		return in.message(e, me)
	case "channel_archive", "group_archive", "channel_deleted", "group_deleted", "channel_left", "group_left":
		return closed{string(in.Channel), string(e.ID)}
	case "member_left_channel":
		if string(in.User) == me.User {
			return closed{string(in.Channel), string(e.ID)}
		}
	case "agent_session_stopped":
		if in.Channel != "" && timestamp.MatchString(string(in.Thread)) {
			return halted{place{me.Team, string(in.Channel), string(in.Thread)}, string(in.User), string(in.Stamp)}
		}
	case "app_home_opened":
		switch {
		case in.Tab == "messages" && in.Channel != "":
			return greeted{channel: string(in.Channel)}
		case in.Tab == slackHome && in.User != "":
			return visited{string(in.User), string(in.View.Metadata), string(in.View.Hash), string(in.Stamp)}
		}
	case "assistant_thread_started":
		if in.Assistant.Channel != "" {
			return greeted{string(in.Assistant.Channel), string(in.Assistant.Thread)}
		}
	}
	return nil
}

// concerns reports whether the event is of the workspace that the bot token belongs to. One app token brings the events of every
// workspace the app is installed in. In a channel shared with another organisation team_id may be theirs.
func (e event) concerns(me self) bool {
	if e.Type != "event_callback" {
		return false
	}
	if len(e.Installed) == 0 {
		return e.Team == "" || e.Shared || me.home(e.Team, e.Enterprise)
	}
	for _, i := range e.Installed {
		if me.home(i.Team, i.Enterprise) {
			return true
		}
	}
	return me.home(e.Team, e.Enterprise)
}

// ours reports whether the bot wrote it; others, whether another program did.
func (m said) ours(me self) bool {
	return string(m.User) == me.User || (m.Bot != "" && string(m.Bot) == me.Bot)
}

func (m said) byPerson(me self) bool {
	return m.User != "" && !m.bySlack() && m.Bot == "" && m.App == "" && !m.ours(me) && m.human()
}

func (m said) bySlack() bool { return m.User == slackbot || m.User == slackSystem }

// human: the subtypes that are a person's message. All others are announcements, or another program's.
func (m said) human() bool {
	return m.Subtype == "" || m.Subtype == "file_share" || m.Subtype == "thread_broadcast"
}

// root is the message that m's thread hangs on: m itself where it hangs on none.
func (m said) root() string {
	if m.Thread != "" {
		return string(m.Thread)
	}
	return string(m.TS)
}

func (m said) home() string {
	if m.UserTeam != "" {
		return string(m.UserTeam)
	}
	return string(m.Team)
}

func mentions(text, user string) bool {
	return strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|")
}

// called are people, and all that stands for several of them.
var called = regexp.MustCompile(`<(?:@([A-Z0-9]+)|!(?:subteam\^|here|channel|everyone))`)

// namesOthers reports whether a text calls anybody but user.
func namesOthers(text, user string) bool {
	return slices.ContainsFunc(called.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] != user })
}

func (in inner) direct() bool {
	return in.ChannelType == "im" || strings.HasPrefix(string(in.Channel), "D")
}

func (in inner) at(m said, me self) (p place, ok bool) {
	p = place{me.Team, string(in.Channel), m.root()}
	return p, p.Channel != "" && timestamp.MatchString(p.Thread) && timestamp.MatchString(string(m.TS))
}

func (in inner) spoken(me self) meaning {
	p, ok := in.at(in.said, me)
	if !ok || !in.byPerson(me) {
		return nil
	}
	s := spoken{
		at: p, ts: string(in.TS), user: string(in.User), home: in.home(), text: string(in.Text), said: in.said,
		direct: in.direct(), mentioned: mentions(string(in.Text), me.User), reply: p.Thread != string(in.TS), others: namesOthers(string(in.Text), me.User),
	}
	// A mention in a channel comes twice: as app_mention and as message. Both are taken, in case one is lost, under one
	// delivery; what is answered without being recorded is answered once.
	s.answerable = in.Type == "app_mention" || s.direct || !s.mentioned
	s.mentioned = s.mentioned || in.Type == "app_mention" && !in.quotes(me.User)
	return s
}

func (in inner) message(e event, me self) meaning {
	switch in.Subtype {
	case "message_changed":
		return in.changed(me)
	case "message_deleted":
		was := said{TS: in.DeletedTS}
		if in.Previous != nil {
			was = *in.Previous
			was.TS = in.DeletedTS
		}
		return in.gone(was, me)
	case "channel_archive", "group_archive": // for apps that may not subscribe to the event of that name
		return closed{string(in.Channel), string(e.ID)}
	}
	return in.spoken(me)
}

// changed is an edit of a person's words. Slack sends the same event when a link unfurls and for each of our own edits.
func (in inner) changed(me self) meaning {
	now, was := in.Message, in.Previous
	if now == nil {
		return nil
	}
	if now.Subtype == "tombstone" { // a deleted message that replies hang on
		if was != nil && (was.ours(me) || was.byPerson(me)) {
			return in.gone(*was, me)
		}
		return nil
	}
	p, ok := in.at(*now, me)
	if !ok || !now.byPerson(me) || now.Edited == nil || now.Edited.User != now.User || (was != nil && was.Text == now.Text) {
		return nil
	}
	stamp := in.Stamp // edited.ts counts whole seconds: two edits within one would be the same
	if stamp == "" {
		stamp = now.Edited.TS
	}
	return reworded{at: p, ts: string(now.TS), stamp: string(stamp), user: string(now.User), home: now.home(), text: string(now.Text)}
}

// gone is a deleted message, ours included: what people cannot see they cannot answer.
func (in inner) gone(was said, me self) meaning {
	p, ok := in.at(was, me)
	if !ok || !(was.ours(me) || was.User == "" || was.byPerson(me)) {
		return nil
	}
	return removed{p, string(was.TS)}
}
