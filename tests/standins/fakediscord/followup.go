package fakediscord

import (
	"slices"
)

// What an interaction's token is good for after the callback.
// https://docs.discord.com/developers/interactions/receiving-and-responding#followup-messages

// holder is the interaction of a token that can still be used. s.mu is held.
func (s *Server) holder(q *request) (*interaction, *refusal) {
	in := s.tokens[q.path("token")]
	switch {
	case in == nil || q.path("app") != s.opt.AppID || in.answered == 0:
		return nil, &refusal{status: 404, code: 10015, message: "Unknown Webhook"}
	case s.clock.Now().Sub(in.at) > TokenFor:
		return nil, &refusal{status: 401, code: 50027, message: "Invalid Webhook Token"}
	}
	return in, nil
}

// ofToken is the message that a request means: @original, or a later one of the same token.
func (s *Server) ofToken(q *request) (*interaction, *Message, *refusal) {
	in, bad := s.holder(q)
	if bad != nil {
		return nil, nil, bad
	}
	m := in.original
	if id := q.path("message"); id != "" && (m == nil || id != m.ID) {
		m = nil
		all := slices.Clone(s.hidden)
		if c := s.channels[in.channel]; c != nil {
			all = append(all, c.messages...)
		}
		for _, x := range all {
			if x.ID == id && x.cause == in.id {
				m = x
			}
		}
	}
	if m == nil || m.Deleted {
		r := unknownMessage
		return nil, nil, &r
	}
	return in, m, nil
}

func createFollowup(s *Server, q *request) (int, any, *refusal) {
	in, bad := s.holder(q)
	if bad != nil {
		return 0, nil, bad
	}
	if m := in.original; m != nil && m.Flags&FlagLoading != 0 { // documented: it works as an edit of @original then
		if bad := s.finish(in, m, q); bad != nil {
			return 0, nil, bad
		}
		return 200, s.wireMessage(m), nil
	}
	c := s.channels[in.channel]
	d, bad := checkMessage(q.body(), where{callback: true, files: q.files})
	switch {
	case bad != nil:
		return 0, nil, bad
	case c.deleted:
		return unknownChannel.answer()
	}
	m := s.made(in)
	if in.original != nil {
		m.Type, m.Reference = TypeReply, &Reference{Message: in.original.ID, Channel: c.ID, Guild: c.Guild}
	}
	if d.ephemeral {
		m.Ephemeral = in.user
		d.Flags |= FlagEphemeral
	}
	s.publish(c, m, d, q, CreateFollowup)
	return 200, s.wireMessage(m), nil
}

func getFollowup(s *Server, q *request) (int, any, *refusal) {
	_, m, bad := s.ofToken(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireMessage(m), nil
}

func editFollowup(s *Server, q *request) (int, any, *refusal) {
	in, m, bad := s.ofToken(q)
	if bad != nil {
		return 0, nil, bad
	}
	if bad := s.finish(in, m, q); bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireMessage(m), nil
}

// finish edits a message by its token; one that was deferred is no longer loading then. s.mu is held.
func (s *Server) finish(in *interaction, m *Message, q *request) *refusal {
	c := s.channels[in.channel]
	switch {
	case c.deleted:
		r := unknownChannel
		return &r
	case c.Archived && m.Ephemeral == "":
		r := archived
		return &r
	}
	flags := m.Flags
	m.Version.Flags &^= FlagLoading
	if bad := s.edit(c, m, q, q.call.Method); bad != nil {
		m.Version.Flags = flags
		return bad
	}
	return nil
}

func deleteFollowup(s *Server, q *request) (int, any, *refusal) {
	_, m, bad := s.ofToken(q)
	if bad != nil {
		return 0, nil, bad
	}
	s.remove(m)
	return 204, nil, nil
}
