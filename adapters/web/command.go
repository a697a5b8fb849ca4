package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// bareCommands are the words that make a message a command by themselves, after a "/". After "/nod" every word does.
var bareCommands = map[string]func(words []string) bool{
	"permissions": func([]string) bool { return true },
	"tools": func(w []string) bool {
		return len(w) == 1 || slices.Contains([]string{"enable", "disable"}, strings.ToLower(w[1]))
	},
	"why":     func(w []string) bool { return len(w) == 3 }, // "/why not?" is a question
	"history": func([]string) bool { return true },
	"stats":   func([]string) bool { return true },
	"pending": alone, "whoami": alone, "halt": alone, "resume": alone, "stop": alone, "reset": alone,
}

func alone(words []string) bool { return len(words) == 1 }

// command reads a message that is a command: one line, a "/" and a word of ours. words stand after "/nod" and after "permissions".
func command(text string) (words []string, ok bool) {
	rest, slash := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !slash || rest == "" || strings.ContainsAny(rest, "\r\n") || strings.HasPrefix(rest, " ") {
		return nil, false
	}
	words = strings.Fields(rest)
	switch first := strings.ToLower(words[0]); {
	case first == "nod":
		words = words[1:]
	case bareCommands[first] == nil || !bareCommands[first](words):
		return nil, false
	}
	if len(words) > 0 && strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	return words, true
}

// command does one and returns what to tell the person who typed it.
func (s *Server) command(ctx context.Context, p session.Person, id chat.ID, words []string) ([]string, error) {
	verb := ""
	if len(words) == 1 {
		verb = strings.ToLower(words[0])
	}
	env := p.Envelope(id)
	switch {
	case verb != "stop" && verb != "reset":
		return s.permissions(ctx, p, env, words)
	case id.IsZero():
		return nil, badRequest("There is no chat here yet.")
	case verb == "stop":
		v, err := s.chats.get(ctx, id)
		if err != nil {
			return nil, err
		}
		say, _, err := s.stop(ctx, p, v, "")
		return []string{say}, err
	}
	env.Delivery = p.Delivery("reset/" + rand.Text())
	if err := s.Engine.Accept(ctx, chat.Commanded{Envelope: env, Verb: verb}); err != nil {
		s.Logger.Warn("reset not recorded", "err", err)
		return nil, problem{Status: http.StatusServiceUnavailable, Code: "not_recorded", Message: "The bot could not record this, so it was not done. Try again."}
	}
	return []string{surface.SayReset}, nil
}

// stop stops a turn, or the open one, and says how that went. id is empty where there was nothing to stop.
func (s *Server) stop(ctx context.Context, p session.Person, v view, id string) (say, stopped string, err error) {
	if id == "" && v.session.Turn != nil {
		id = string(v.session.Turn.ID) // a stop names its turn: one that comes late must not end the next
	}
	if id == "" {
		return text.NothingToStop, "", nil
	}
	// Not Accept: Decide says whether there was anything to stop.
	_, err = s.decide(ctx, p, asking{v.session.Chat, id}, chat.Clicked{Choice: chat.Stop})
	if over := surface.Refusal(err); over != nil && over.Code == decision.RefusedStopped {
		return over.Say, "", nil
	}
	return text.Stopping, id, err
}

// permissions asks the engine; its lines are plain text of whoever wrote it.
func (s *Server) permissions(ctx context.Context, p session.Person, env chat.Envelope, words []string) ([]string, error) {
	if len(words) > maxWords {
		return nil, badRequest("This command has too many words.")
	}
	env.Delivery = p.Delivery("command/" + rand.Text())
	lines, err := s.Settings.Permissions(ctx, env, words)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, text.Prose(l))
	}
	return out, nil
}
