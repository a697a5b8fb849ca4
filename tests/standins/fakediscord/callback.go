package fakediscord

import (
	"slices"
)

func callback(s *Server, q *request) (int, any, *refusal) {
	in := s.interactions[q.path("interaction")]
	if in == nil || in.token != q.path("token") {
		return no(404, 10062, "Unknown interaction")
	}
	bad := s.answer(in, q.body(), q.files, false)
	if bad != nil {
		return 0, nil, bad
	}
	if q.http.URL.Query().Get("with_response") != "true" {
		return 204, nil, nil
	}
	return 200, s.wireCallback(in), nil
}

// answer takes a callback. https://docs.discord.com/developers/interactions/receiving-and-responding#create-interaction-response
// s.mu is held.
func (s *Server) answer(in *interaction, body obj, files map[string]upload, direct bool) *refusal {
	late := s.clock.Now().Sub(in.at) > AnswerWithin || in.d.err != nil
	switch {
	case in.answered != 0:
		return &refusal{status: 400, code: 40060, message: "Interaction has already been acknowledged."}
	case late:
		return &refusal{status: 404, code: 10062, message: "Unknown interaction"}
	}
	c := &checker{ids: map[string]bool{}}
	kind, _ := c.num(body, "type", 1, 12, true)
	if bad := c.refusal(); bad != nil {
		return bad
	}
	if !slices.Contains(possible(in), kind) {
		c.in("type", func() { c.no("BASE_TYPE_CHOICES", "A callback of type %d does not answer this interaction.", kind) })
		return c.refusal()
	}
	data, _ := body["data"].(obj)
	bad := s.respondWith(in, kind, data, files)
	if bad != nil {
		return bad
	}
	in.answered = kind
	in.d.answer = &Answer{Type: kind, At: s.clock.Now(), Data: data, Direct: direct}
	in.d.disarm()
	close(in.d.over)
	s.Fire()
	return nil
}

// possible are the callbacks that may answer an interaction.
func possible(in *interaction) []int {
	switch {
	case in.kind == kindCommand:
		return []int{CallbackMessage, CallbackDefer, CallbackModal}
	case in.kind == kindComponent:
		return []int{CallbackMessage, CallbackDefer, CallbackDeferUpdate, CallbackUpdate, CallbackModal}
	case in.kind == kindModal && in.source != nil:
		return []int{CallbackMessage, CallbackDefer, CallbackDeferUpdate, CallbackUpdate}
	}
	return []int{CallbackMessage, CallbackDefer}
}

func (s *Server) respondWith(in *interaction, kind int, data obj, files map[string]upload) *refusal {
	c := s.channels[in.channel]
	switch kind {
	case CallbackMessage:
		return s.reply(in, data, files)
	case CallbackDefer:
		// https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type:
		// EPHEMERAL is the only flag for it
		flags := integer(data["flags"])
		if flags&^FlagEphemeral != 0 {
			return &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"data": obj{"flags": leaf("BASE_TYPE_CHOICES", "Only EPHEMERAL can be set for a deferred message.")}}}
		}
		m := s.made(in)
		if flags != 0 {
			m.Ephemeral = in.user
		}
		in.original = s.put(c, m, Version{Flags: flags | FlagLoading, Via: fromCallback})
		s.messageEvent("MESSAGE_CREATE", m)
	case CallbackDeferUpdate:
		in.original = in.source
	case CallbackUpdate:
		in.original = in.source
		return s.update(in, data, files)
	case CallbackModal:
		return s.open(in, data)
	}
	s.closeModal(in)
	return nil
}

// made is a message that comes of an interaction, without anything to say yet.
func (s *Server) made(in *interaction) *Message {
	m := &Message{Author: s.opt.BotUser, Webhook: s.opt.AppID, kind: in.kind, by: in.user, cause: in.id}
	if in.kind == kindCommand {
		m.Type = TypeCommand
	}
	if in.source != nil {
		m.on = in.source.ID
		m.Type, m.Reference = TypeReply, &Reference{Message: in.source.ID, Channel: in.source.Channel, Guild: in.source.Guild}
	}
	return m
}

// reply answers with a message. s.mu is held.
func (s *Server) reply(in *interaction, data obj, files map[string]upload) *refusal {
	c := s.channels[in.channel]
	if c.deleted {
		return &refusal{status: 404, code: 10003, message: "Unknown Channel"}
	}
	d, bad := checkMessage(data, where{callback: true, files: files})
	if bad != nil {
		return nest(bad)
	}
	if c.Archived && c.Locked && !d.ephemeral { // https://github.com/discord/discord-api-docs/issues/6884
		return &refusal{status: 403, code: 50083, message: "Thread is archived"}
	}
	s.closeModal(in)
	m := s.made(in)
	if d.ephemeral {
		m.Ephemeral = in.user
		d.Flags |= FlagEphemeral
	}
	s.publish(c, m, d, &request{files: files}, fromCallback)
	if in.original == nil {
		in.original = m
	}
	return nil
}

// update changes the message of the component. s.mu is held.
func (s *Server) update(in *interaction, data obj, files map[string]upload) *refusal {
	if in.source.Deleted {
		return &refusal{status: 404, code: 10008, message: "Unknown Message"}
	}
	if bad := s.editBody(s.channels[in.channel], in.source, data, files, fromCallback); bad != nil {
		return nest(bad)
	}
	s.closeModal(in)
	return nil
}

// nest puts the errors of a message where it stands in a callback.
func nest(bad *refusal) *refusal {
	if bad.errors != nil {
		bad.errors = obj{"data": bad.errors}
	}
	return bad
}

// wireCallback is the answer with with_response=true.
func (s *Server) wireCallback(in *interaction) obj {
	told := obj{"id": in.id, "type": in.kind, "channel_id": in.channel}
	out := obj{"interaction": told}
	if g := s.channels[in.channel].Guild; g != "" {
		told["guild_id"] = g
	}
	if m := in.original; m != nil {
		told["response_message_id"] = m.ID
		told["response_message_loading"] = m.Flags&FlagLoading != 0
		told["response_message_ephemeral"] = m.Ephemeral != ""
		if in.answered == CallbackMessage || in.answered == CallbackUpdate {
			out["resource"] = obj{"type": in.answered, "message": s.wireMessage(m)}
		}
	}
	return out
}
