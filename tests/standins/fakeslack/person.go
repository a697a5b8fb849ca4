package fakeslack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// What people do. Each makes the change and sends the events that the app would get for it.

// Say writes a message as a person; with a thread, a reply there. It returns the message's timestamp. A message that names
// the bot (<@U0BOT>) in a channel makes two events with IDs of their own, message and app_mention. It panics on a person or
// channel that does not exist.
func (s *Server) Say(user, channel, thread, text string) (ts string) {
	return s.SayWith(user, channel, thread, text, Beside{})
}

// Beside is what a message has beside its text, as Slack gives it out, in events and in history alike.
type Beside struct {
	Blocks      []any // instead of the rich text that Slack makes of what a person typed
	Attachments []any // https://docs.slack.dev/messaging/formatting-message-text/#attachments
	Files       []any // https://docs.slack.dev/reference/objects/file-object; a person's message with some has the subtype file_share
}

// SayWith is Say with blocks and attachments: an alert of another program, a forward, a pasted table.
func (s *Server) SayWith(user, channel, thread, text string, more Beside) (ts string) {
	s.mu.Lock()
	c := s.place(user, channel)
	if c.Archived {
		s.mu.Unlock()
		panic("fakeslack: " + channel + " is archived")
	}
	if !slices.Contains(c.Members, user) {
		c.Members = append(c.Members, user)
	}
	root, bad := c.thread(thread)
	if bad != nil {
		s.mu.Unlock()
		panic("fakeslack: " + bad.Error + ": " + thread)
	}
	m := s.put(c, root, Version{Text: text, Via: "person"}, user)
	m.beside = more
	events := s.said(c, m)
	s.Fire()
	s.mu.Unlock()
	s.emit(events...)
	return m.TS
}

// place is the channel that a person acts in. s.mu is held; it is not when this panics.
func (s *Server) place(user, channel string) *channel {
	c := s.channels[channel]
	if c == nil || s.users[user] == nil {
		s.mu.Unlock()
		panic("fakeslack: no channel " + channel + " or no person " + user)
	}
	return c
}

// said are the events of a new message. s.mu is held.
func (s *Server) said(c *channel, m *Message) []map[string]any {
	return append(s.inChannel(c, s.wire(m, m.Version)), s.mentioned(c, m)...)
}

// mentioned is the event of a message that mentions the bot: it comes again with each edit, under another ID and with "edited", which the
// documentation does not say. https://github.com/slackapi/bolt-js/issues/960 s.mu is held.
func (s *Server) mentioned(c *channel, m *Message) (events []map[string]any) {
	mention := "<@" + s.opt.BotUser
	if c.Kind != DM && s.member(c) && m.User != s.opt.BotUser && s.subscribed("app_mention") && (strings.Contains(m.Text, mention+">") || strings.Contains(m.Text, mention+"|")) {
		a := s.wire(m, m.Version)
		a["type"], a["channel"], a["event_ts"] = "app_mention", c.ID, m.TS
		s.foreign(a, m.User)
		events = append(events, a)
	}
	return events
}

// inChannel makes a message event of what happened in a channel, if the app gets to know of it. s.mu is held.
func (s *Server) inChannel(c *channel, e map[string]any) []map[string]any {
	kind := map[Kind]string{Public: "channel", Private: "group", DM: "im", Group: "mpim"}[c.Kind]
	if !s.member(c) || !s.subscribed("message."+kind+map[bool]string{true: "s"}[kind == "channel" || kind == "group"]) {
		return nil
	}
	e["channel"], e["channel_type"] = c.ID, kind
	ts, ok := e["ts"].(string)
	if !ok {
		ts = s.stamp()
		e["ts"] = ts
	}
	e["event_ts"] = ts
	if user, ok := e["user"].(string); ok {
		s.foreign(e, user)
	}
	return []map[string]any{e}
}

// foreign adds what an event tells of somebody from another organisation.
func (s *Server) foreign(e map[string]any, user string) {
	if u := s.users[user]; u != nil && u.Team != s.opt.Team {
		e["user_team"], e["source_team"], e["team"] = u.Team, u.Team, u.Team
	}
}

func (s *Server) subscribed(event string) bool {
	return s.opt.Events == nil || slices.Contains(s.opt.Events, event)
}

// emit sends events to the app.
func (s *Server) emit(events ...map[string]any) {
	for _, e := range events {
		s.Send(e)
	}
}

// Send delivers an event of the test's own making, for kinds that nothing here makes.
func (s *Server) Send(event map[string]any) *Delivery {
	s.mu.Lock()
	id := s.id("Ev")
	shared := false
	if name, ok := event["channel"].(string); ok && s.channels[name] != nil {
		shared = s.channels[name].Shared
	}
	body := map[string]any{
		"token": "verification", "team_id": s.opt.Team, "context_team_id": s.opt.Team, "api_app_id": s.opt.AppID, "event": event,
		"type": "event_callback", "event_id": id, "event_time": s.clock.Now().Unix(), "is_ext_shared_channel": shared,
	}
	if s.token != "" { // an event that the app was removed comes without
		body["authorizations"] = []any{map[string]any{"enterprise_id": orNull(s.opt.Enterprise), "team_id": s.opt.Team, "user_id": s.opt.BotUser, "is_bot": true, "is_enterprise_install": false}}
	}
	if s.opt.Enterprise != "" {
		body["enterprise_id"], body["context_enterprise_id"] = s.opt.Enterprise, s.opt.Enterprise
	}
	s.mu.Unlock()
	raw, err := json.Marshal(body)
	if err != nil {
		panic("fakeslack: " + err.Error())
	}
	kind, _ := event["type"].(string)
	return s.deliver(&Delivery{Type: "events_api", EventID: id, Event: kind, Payload: raw})
}

func orNull(v string) any {
	if v == "" {
		return nil
	}
	return v
}

// EditMessage changes what a person said.
func (s *Server) EditMessage(channel, ts, text string) {
	s.mu.Lock()
	c := s.channels[channel]
	m := c.byTS[ts]
	before := s.wire(m, m.Version)
	m.Edited = true
	s.change(m, Version{Text: text, Via: "person"})
	events := append(s.mentioned(c, m), s.edited(c, m, before)...)
	s.Fire()
	s.mu.Unlock()
	s.emit(events...)
}

// edited is the event of an edit. s.mu is held.
func (s *Server) edited(c *channel, m *Message, before map[string]any) []map[string]any {
	return s.inChannel(c, map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "message": s.wire(m, m.Version), "previous_message": before})
}

// DeleteMessage deletes any message, the bot's too.
func (s *Server) DeleteMessage(channel, ts string) {
	s.mu.Lock()
	c := s.channels[channel]
	events := s.remove(c, c.byTS[ts])
	s.mu.Unlock()
	s.emit(events...)
}

// Archive archives a channel: nothing can be written to it any more.
func (s *Server) Archive(user, channel string) {
	s.mu.Lock()
	c := s.place(user, channel)
	c.Archived = true
	member, ts, kind := s.member(c), s.stamp(), "channel_archive"
	if c.Kind == Private {
		kind = "group_archive"
	}
	s.Fire()
	s.mu.Unlock()
	if member && s.subscribed(kind) {
		s.emit(map[string]any{"type": kind, "channel": channel, "user": user, "event_ts": ts})
	}
}

// OpenAgentView opens the conversation with the bot (app_home_opened, tab messages) and returns its channel.
func (s *Server) OpenAgentView(user string) (channel string) {
	s.mu.Lock()
	c, ts := s.dm(user), s.stamp()
	s.mu.Unlock()
	s.emit(map[string]any{"type": "app_home_opened", "user": user, "channel": c.ID, "tab": "messages", "event_ts": ts})
	return c.ID
}

// OpenHome opens the bot's Home tab. The event says what stands there, if anything was ever published.
// https://docs.slack.dev/reference/events/app_home_opened
func (s *Server) OpenHome(user string) {
	s.mu.Lock()
	c, ts := s.dm(user), s.stamp()
	e := map[string]any{"type": "app_home_opened", "user": user, "channel": c.ID, "tab": "home", "event_ts": ts}
	if v := s.homes[user]; v != nil {
		e["view"] = s.wireView(v)
	}
	s.mu.Unlock()
	s.emit(e)
}

// StopAgent presses the stop button of a thread's agent session. Slack shows one only while the session is processing; a
// press that crossed a change of it arrives all the same.
func (s *Server) StopAgent(user, channel, thread string) {
	s.mu.Lock()
	ts := s.stamp()
	s.mu.Unlock()
	s.emit(map[string]any{"type": "agent_session_stopped", "user": user, "channel": channel, "thread_ts": thread, "streaming_message_ts": []string{}, "event_ts": ts})
}

// Slash runs a slash command such as "/nod" with a text. What comes back with the acknowledgement is shown to the person.
func (s *Server) Slash(user, channel, command, text string) *Delivery {
	return s.SlashAs(user, channel, command, text, nil)
}

// SlashAs is Slash with other members of the payload: one that another workspace's people, or another app's, sent.
func (s *Server) SlashAs(user, channel, command, text string, other map[string]string) *Delivery {
	s.mu.Lock()
	c := s.place(user, channel)
	name := map[Kind]string{DM: "directmessage", Private: "privategroup", Group: "privategroup"}[c.Kind]
	u := s.users[user]
	body := map[string]any{
		"token": "verification", "team_id": u.Team, "team_domain": strings.ToLower(s.opt.TeamName), "channel_id": c.ID, "channel_name": cmp.Or(name, c.Name),
		"user_id": user, "user_name": u.Name, "command": command, "text": text, "api_app_id": s.opt.AppID, "is_enterprise_install": "false",
		"trigger_id": s.trigger(user, ""), "response_url": s.link(&responseLink{channel: c.ID, user: user, slash: true}),
	}
	if u.EnterpriseID != "" {
		body["enterprise_id"], body["enterprise_name"] = u.EnterpriseID, u.EnterpriseID
	}
	for k, v := range other {
		body[k] = v
	}
	s.mu.Unlock()
	raw, _ := json.Marshal(body) // maps of plain values
	return s.deliver(&Delivery{Type: "slash_commands", Event: command, Payload: raw, onAck: func(answer json.RawMessage) {
		s.replied(c.ID, user, answer)
	}})
}

// replied shows what a slash command's acknowledgement says.
func (s *Server) replied(channel, user string, answer json.RawMessage) {
	var text string
	if json.Unmarshal(answer, &text) == nil && text != "" {
		answer, _ = json.Marshal(map[string]string{"text": text})
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(answer, &obj) != nil || len(obj) == 0 {
		return
	}
	v := values{}
	for k, raw := range obj {
		v.Set(k, plain(raw))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.respond(&responseLink{channel: channel, user: user, slash: true}, v) // what it refuses is not shown
}
