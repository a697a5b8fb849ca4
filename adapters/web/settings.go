package web

import (
	"net/http"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Limits of what names something in a panel: render.Panel's and render.Act's, which are shorter.
const (
	maxView  = 200
	maxToken = 64
	maxWords = 200 // of one command
)

// getSettings draws a view. Where a chat is named, it is what "here" means.
func (s *Server) getSettings(w http.ResponseWriter, r *http.Request, p person) error {
	q := r.URL.Query()
	env, err := s.here(r, p, q.Get("chat"))
	if err != nil {
		return err
	}
	if !opaque(q.Get("view"), maxView) {
		return badRequest("There is no such view.")
	}
	panel, err := s.Settings.Panel(r.Context(), env, q.Get("view"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, drawPanel(panel))
	return nil
}

// postSettings does what a person chose in a view, and answers with what to say and to show then.
func (s *Server) postSettings(w http.ResponseWriter, r *http.Request, p person) error {
	var body struct {
		View  string `json:"view"`
		Token string `json:"token"`
		Text  string `json:"text"`
		Chat  string `json:"chat"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	switch {
	case body.Token == "" || !opaque(body.Token, maxToken):
		return badRequest("\"token\" is missing, or is none that a view has.")
	case !opaque(body.View, maxView):
		return badRequest("There is no such view.")
	case len(body.Text) > maxText:
		return tooLarge
	}
	env, err := s.here(r, p, body.Chat)
	if err != nil {
		return err
	}
	env.Delivery = chat.Delivery(Platform + "/" + p.user.Key + "/act/" + token(12))
	done, err := s.Settings.Act(r.Context(), env, body.View, body.Token, body.Text)
	if err != nil {
		return err
	}
	answer := struct {
		Say   string     `json:"say"`
		Panel *panelForm `json:"panel"` // null: it is done, and could not be drawn
	}{Say: text.Prose(done.Say)}
	if panel, err := s.Settings.Panel(r.Context(), env, done.View); err != nil {
		s.Logger.Warn("done, but the view after it could not be drawn", "err", err)
	} else {
		form := drawPanel(panel)
		answer.Panel = &form
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// postPermissions does a command: its words, or its text as somebody typed it.
func (s *Server) postPermissions(w http.ResponseWriter, r *http.Request, p person) error {
	var body struct {
		Words []string `json:"words"`
		Text  string   `json:"text"`
		Chat  string   `json:"chat"`
	}
	if err := readJSON(r, &body, true); err != nil {
		return err
	}
	env, err := s.here(r, p, body.Chat)
	if err != nil {
		return err
	}
	if body.Text != "" {
		words, ok := command(body.Text)
		if !ok {
			return problem{Status: http.StatusBadRequest, Code: "not_a_command", Message: "This is not a command. Send it as a message."}
		}
		lines, err := s.command(r.Context(), p, env.Chat, words)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, map[string]any{"lines": lines})
		return nil
	}
	lines, err := s.permissions(r.Context(), env, body.Words)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"lines": lines})
	return nil
}

// here is who looks, with the chat that they name; an empty one is none.
func (s *Server) here(r *http.Request, p person, key string) (chat.Envelope, error) {
	if key == "" {
		return p.envelope(chat.ID{}), nil
	}
	id, _, err := s.chatNamed(r.Context(), p, key)
	return p.envelope(id), err
}

// opaque reports whether s may be the name of a view or an act: graphic ASCII, not too long.
func opaque(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (s *Server) getSettingsPage(w http.ResponseWriter, r *http.Request) { s.shell(w, r, pageSettings) }
