package fakeslack

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxTitle is the length of a session's title. https://docs.slack.dev/reference/methods/agents.sessions.rename
	MaxTitle = 200
	// MaxLoading and MaxLoadingText bound loading_messages. https://docs.slack.dev/reference/methods/assistant.threads.setStatus
	MaxLoading     = 10
	MaxLoadingText = 50
	// TypingFor is how long a status of assistant.threads.setStatus is shown; a message of the app's ends it too. Same page
	TypingFor = 2 * time.Minute
	// MaxPrompts is how many prompts can be suggested. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
	MaxPrompts = 4
)

// session is a thread's session, which is made if it is not there. s.mu is held.
func (s *Server) session(v values, create bool) (*Session, *refusal) {
	c, bad := s.writable(v.Get("channel_id"))
	if bad != nil {
		return nil, bad
	}
	thread := v.Get("thread_ts")
	if m := c.byTS[thread]; thread == "" || m == nil || m.Thread != "" {
		return nil, &refusal{Error: "thread_not_found"}
	}
	key := [2]string{c.ID, thread}
	if s.sessions[key] == nil {
		if !create {
			return nil, &refusal{Error: "session_not_found"}
		}
		s.sessions[key] = &Session{Channel: c.ID, Thread: thread}
	}
	return s.sessions[key], nil
}

func setSession(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := v.Get("status")
	if !slices.Contains([]string{"active", "processing", "suspended", "closed"}, status) {
		return nil, &refusal{Error: "invalid_arguments", Messages: []string{"[ERROR] invalid status [json-pointer:/status]"}}
	}
	if utf8.RuneCountInString(v.Get("title")) > MaxTitle {
		return no("invalid_arguments")
	}
	x, bad := s.session(v, true)
	if bad != nil {
		return nil, bad
	}
	if len(x.History) == 0 { // only the call that creates it
		x.Title = v.Get("title")
	}
	x.Status = status
	x.History = append(x.History, status)
	s.Fire()
	out := map[string]any{"status": status, "agent_status": status, "title": x.Title}
	if status == "processing" && !s.subscribed("agent_session_stopped") {
		out["warning"] = "missing_agent_session_stopped_event_subscription"
	}
	return out, nil
}

func renameSession(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	title := v.Get("title")
	if n := utf8.RuneCountInString(title); n < 1 || n > MaxTitle {
		return no("invalid_arguments")
	}
	x, bad := s.session(v, false)
	if bad != nil {
		return nil, bad
	}
	x.Title = title
	s.Fire()
	return map[string]any{"title": title}, nil
}

func setTyping(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := v["status"]; !ok {
		return no("invalid_arguments")
	}
	if raw := v.Get("loading_messages"); raw != "" {
		var list []string
		if json.Unmarshal([]byte(raw), &list) != nil {
			list = strings.Split(raw, ",") // a form field: a comma in a message splits it
		}
		if len(list) > MaxLoading || slices.ContainsFunc(list, func(m string) bool { return utf8.RuneCountInString(m) > MaxLoadingText }) {
			return no("invalid_arguments")
		}
	}
	x, bad := s.session(v, true)
	if bad != nil {
		return nil, bad
	}
	x.Typing, x.TypingSince = v.Get("status"), s.clock.Now()
	s.Fire()
	return map[string]any{}, nil
}

func setTitle(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, bad := s.agentThread(v)
	if bad != nil {
		return nil, bad
	}
	x.Title = v.Get("title")
	s.Fire()
	return map[string]any{}, nil
}

// agentThread is a session in a direct conversation: the only place that has titles and prompts. s.mu is held.
func (s *Server) agentThread(v values) (*Session, *refusal) {
	if c := s.channels[v.Get("channel_id")]; c != nil && c.Kind != DM {
		return nil, &refusal{Error: "not_allowed"}
	}
	return s.session(v, true)
}

func setPrompts(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var prompts []Prompt
	if json.Unmarshal([]byte(v.Get("prompts")), &prompts) != nil || len(prompts) == 0 || len(prompts) > MaxPrompts {
		return no("invalid_arguments")
	}
	if slices.ContainsFunc(prompts, func(p Prompt) bool { return p.Title == "" || p.Message == "" }) {
		return no("invalid_arguments")
	}
	var x *Session
	if v.Get("thread_ts") == "" { // of the conversation, before there is a thread
		c := s.channels[v.Get("channel_id")]
		if c == nil || c.Kind != DM {
			return no("channel_not_found")
		}
		key := [2]string{c.ID, ""}
		if x = s.sessions[key]; x == nil {
			x = &Session{Channel: c.ID}
			s.sessions[key] = x
		}
	} else {
		var bad *refusal
		if x, bad = s.agentThread(v); bad != nil {
			return nil, bad
		}
	}
	x.Prompts = prompts
	s.Fire()
	return map[string]any{}, nil
}
