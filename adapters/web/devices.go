package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/nodhq/nod/adapters/web/push"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// pushForm is what a browser needs to be notified while no page is open, and what there is.
type pushForm struct {
	Key     string `json:"key"`     // that the browser subscribes with: applicationServerKey
	User    string `json:"user"`    // whose questions this browser is then told of
	Devices int    `json:"devices"` // that this person has
}

func (s *Server) getPush(r *http.Request, p session.Person) (any, error) {
	key, err := s.push.Key(r.Context())
	if err != nil {
		return nil, err
	}
	n, err := s.push.Devices(r.Context(), p.User)
	return pushForm{key, userForm(p.User), n}, err
}

// postPush keeps where the browser of this session is notified.
func (s *Server) postPush(r *http.Request, p session.Person) (any, error) {
	var from push.Subscription
	if err := readJSON(r, &from); err != nil {
		return nil, err
	}
	if p.Session == "" {
		return nil, badRequest("Notifications go to the browser of a session, and an admin's key is none. Sign in on the page.")
	}
	err := s.push.Put(r.Context(), p.Session, p.User, r.Header.Get("Origin"), from)
	if no, is := errors.AsType[push.Invalid](err); is {
		return nil, badRequest(string(no))
	}
	if err != nil {
		return nil, err
	}
	return s.getPush(r, p)
}

func (s *Server) deletePush(r *http.Request, p session.Person) (any, error) {
	if err := s.push.Drop(r.Context(), p.Session); err != nil {
		return nil, err
	}
	return s.getPush(r, p)
}

// deviceOf is [push.Config.Who]. It keeps no session alive.
func (s *Server) deviceOf(ctx context.Context, hash string, id chat.ID) (chat.User, push.Sees, error) {
	p, err := s.sessions.Of(ctx, hash)
	if err != nil || p.User.IsZero() {
		return chat.User{}, nil, err
	}
	sees, err := s.sees(ctx, p, id)
	return p.User, sees, err
}

// load is [push.Config.Load].
func (s *Server) load(ctx context.Context, id chat.ID) (turn.Session, error) {
	v, err := s.chats.get(ctx, id)
	return v.session, err
}

const pathInbox = "/inbox"

// questionsAt is where on the page somebody finds a chat's questions. The address of a chat opens it: it is for those who were in it.
func questionsAt(u chat.User, of turn.Session) string {
	if of.Chat.Platform == Platform && !u.IsZero() && of.Participant(u).User == u {
		return "/c/" + of.Chat.Key
	}
	return pathInbox
}
