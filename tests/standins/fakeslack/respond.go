package fakeslack

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// trigger is what lets the app open a modal.
type trigger struct {
	user, view string // view: the modal that it was made in
	until      time.Time
	used       bool
}

// trigger makes a trigger_id. s.mu is held.
func (s *Server) trigger(user, view string) string {
	id := strings.ToLower(s.id("")) + "." + strings.ToLower(s.opt.Team) + "." + made(user+view)
	s.triggers[id] = &trigger{user: user, view: view, until: s.after(TriggerFor)}
	return id
}

// redeem uses a trigger_id up. s.mu is held.
func (s *Server) redeem(id string) (*trigger, *refusal) {
	t := s.triggers[id]
	switch {
	case id == "":
		return nil, &refusal{Error: "invalid_arguments", Messages: []string{"[ERROR] missing required field: trigger_id"}}
	case t == nil:
		return nil, &refusal{Error: "invalid_trigger_id"}
	case t.used:
		return nil, &refusal{Error: "exchanged_trigger_id"}
	case s.clock.Now().After(t.until):
		return nil, &refusal{Error: "expired_trigger_id"}
	}
	t.used = true
	return t, nil
}

// responseLink is a response_url.
type responseLink struct {
	channel, thread, user string
	ts                    string // the message it came from
	ephemeral             string // or the private one
	slash                 bool
	secret                string
	uses                  int
	until                 time.Time
}

// link makes a response_url. s.mu is held.
func (s *Server) link(l *responseLink) string {
	id := s.id("R")
	l.secret, l.until = fmt.Sprintf("%x", made(id+l.user+l.ts)), s.after(ResponseFor)
	s.links[id] = l
	return s.base + "/actions/" + id + "/" + l.secret
}

func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	v, size, err := readValues(w, r)
	call := Call{Method: "response_url", Bytes: size, Values: v}
	s.serve(w, call, func() (map[string]any, *refusal) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l := s.links[r.PathValue("id")]
		switch {
		case l == nil || l.secret != r.PathValue("secret"):
			return nil, &refusal{Error: "invalid_url", status: http.StatusNotFound}
		case l.uses >= ResponseUses:
			return nil, &refusal{Error: "used_url", status: http.StatusNotFound}
		case s.clock.Now().After(l.until):
			return nil, &refusal{Error: "expired_url", status: http.StatusNotFound}
		case err != nil:
			return nil, &refusal{Error: "invalid_payload", status: http.StatusBadRequest}
		}
		l.uses++
		if bad := s.respond(l, v); bad != nil {
			return nil, bad
		}
		return map[string]any{}, nil
	})
}

// respond does what a post to a response_url says. s.mu is held.
func (s *Server) respond(l *responseLink, v values) *refusal {
	what, bad := contentOf(v)
	if bad != nil {
		return bad
	}
	if utf8.RuneCountInString(what.text) > MaxPostText {
		return &refusal{Error: "msg_too_long"}
	}
	c := s.channels[l.channel]
	next := Version{Text: what.text, Blocks: what.blocks, Metadata: what.metadata, Via: "response_url"}
	replace, remove := v.Get("replace_original") == "true", v.Get("delete_original") == "true"
	switch {
	case (replace || remove) && l.ephemeral != "":
		return s.replaceEphemeral(l, next, remove)
	case (replace || remove) && l.ts != "":
		m := c.byTS[l.ts]
		if m == nil || m.Deleted {
			return &refusal{Error: "message_not_found", status: http.StatusNotFound}
		}
		if remove {
			s.outbox = append(s.outbox, s.remove(c, m)...)
			return nil
		}
		if what.empty() {
			return &refusal{Error: "no_text"}
		}
		s.swap(c, m, next)
		return nil
	case what.empty():
		return &refusal{Error: "no_text"}
	}
	thread, bad := c.thread(v.Get("thread_ts"))
	if bad != nil {
		return bad
	}
	if v.Get("response_type") == "in_channel" {
		m := s.put(c, thread, next, s.opt.BotUser)
		if !s.opt.NoEcho {
			s.outbox = append(s.outbox, s.said(c, m)...)
		}
		s.Fire()
		return nil
	}
	s.whisper(l.channel, thread, l.user, next)
	return nil
}

func (s *Server) replaceEphemeral(l *responseLink, next Version, remove bool) *refusal {
	for _, e := range s.ephs[l.user] {
		if e.TS != l.ephemeral {
			continue
		}
		next.At = s.clock.Now()
		e.Deleted, e.Version = remove, next
		s.Fire()
		return nil
	}
	return &refusal{Error: "message_not_found", status: http.StatusNotFound}
}
