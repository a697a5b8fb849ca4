package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// maxSearched is how many of a person's chats are looked through for a call whose id is the model's.
const maxSearched = 50

// outcomeForm is one recorded answer.
type outcomeForm struct {
	ChatID     string     `json:"chat_id"`
	RequestID  string     `json:"request_id"`
	ToolCallID string     `json:"tool_call_id"`
	Choice     string     `json:"choice"`
	Approved   bool       `json:"approved"`
	Scope      string     `json:"scope,omitempty"`
	By         string     `json:"by"`
	Name       string     `json:"name,omitempty"`
	At         *time.Time `json:"at,omitempty"`
	// Hidden is, with "reveal", what the card masks: for whoever asked to see it, and on record.
	Hidden *detailsForm `json:"hidden,omitempty"`
}

var unknownAsk = problem{Status: http.StatusNotFound, Code: "unknown", Message: "There is no such request in your chats. It may belong to another chat, or be gone."}

// postApprove answers by the call's id, as programs written for that one endpoint do.
func (s *Server) postApprove(w http.ResponseWriter, r *http.Request, p person) error {
	var body struct {
		ToolCallID string `json:"tool_call_id"`
		Approved   *bool  `json:"approved"`
		Scope      string `json:"scope"`
		Uses       int    `json:"uses"`
		Remember   bool   `json:"remember"`
		RequestID  string `json:"request_id"`
		Reason     string `json:"reason"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	a := answer{choice: chat.Deny, reason: body.Reason}
	scope, known := scopeNamed(body.Scope)
	switch {
	case body.ToolCallID == "" && body.RequestID == "":
		return badRequest("Say which call you mean: \"tool_call_id\" is missing.")
	case body.Approved == nil:
		return badRequest("Say \"approved\": true or false.")
	case !known:
		return badRequest("\"scope\" is one of: " + scopeWords() + ".")
	case *body.Approved:
		a.choice, a.uses = scope, body.Uses
	}
	if err := a.check(); err != nil {
		return err
	}
	id, ask, err := s.findAsk(r.Context(), p, body.RequestID, body.ToolCallID)
	if err != nil {
		return err
	}
	if body.Remember {
		if err := s.remember(r.Context(), p, id, ask); err != nil {
			return err
		}
	}
	out, err := s.decide(r.Context(), p, id, ask, a)
	if err != nil {
		return err
	}
	return writeOne(w, out)
}

// postAsk answers one ask with any choice.
func (s *Server) postAsk(w http.ResponseWriter, r *http.Request, p person) error {
	a, err := readAnswer(r, text.ChoicesOf(text.APIAsk))
	if err != nil {
		return err
	}
	id, ask, err := s.findAsk(r.Context(), p, r.PathValue("request"), "")
	if err != nil {
		return err
	}
	out, err := s.decide(r.Context(), p, id, ask, a)
	if err != nil {
		return err
	}
	return writeOne(w, out)
}

// postAsks answers everything that is open in a chat. The engine's token names exactly the asks that this
// replica has seen: one that appears meanwhile is not answered unseen.
func (s *Server) postAsks(w http.ResponseWriter, r *http.Request, p person) error {
	id, v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	a, err := readAnswer(r, []chat.Choice{chat.AllowOnce, chat.Deny})
	if err != nil {
		return err
	}
	if a.choice == chat.AllowOnce {
		a.choice = chat.ApproveAll
	} else {
		a.choice = chat.DenyAll
	}
	tokenOfAll := turn.BatchToken(v.session)
	if tokenOfAll == "" || len(turn.OpenAsks(v.session)) == 0 {
		return problem{Status: http.StatusNotFound, Code: "unknown", Message: "Nothing in this chat waits for an answer."}
	}
	out, err := s.decide(r.Context(), p, id, tokenOfAll, a)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"decisions": out})
	return nil
}

// postClick is a button of the page: whatever token the message gave it, with the choice it stood for. It covers
// what has no ask of its own, such as revoking a grant.
func (s *Server) postClick(w http.ResponseWriter, r *http.Request, p person) error {
	id, _, err := s.chat(r, p)
	if err != nil {
		return err
	}
	var body struct {
		Token  string `json:"token"`
		Choice string `json:"choice"`
		Reason string `json:"reason"`
		Args   string `json:"arguments"`
		Uses   int    `json:"uses"`
		Fields fields `json:"fields"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	kind, _ := text.KindOf(chat.Choice(body.Choice))
	switch {
	case body.Token == "" || len(body.Token) > 64:
		return badRequest("\"token\" is missing or too long.")
	case kind.API == text.APINone:
		return badRequest("There is no such choice.")
	}
	a := answer{kind.Choice, body.Reason, body.Args, body.Uses, body.Fields}
	if err := a.check(); err != nil {
		return err
	}
	out, err := s.decide(r.Context(), p, id, body.Token, a)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"decisions": out})
	return nil
}

func writeOne(w http.ResponseWriter, out []outcomeForm) error {
	if len(out) == 0 {
		writeJSON(w, http.StatusOK, map[string]any{})
		return nil
	}
	writeJSON(w, http.StatusOK, out[0])
	return nil
}

// findAsk finds the chat and the asking that are meant. Ids are random, so whoever knows one has seen its chat; whether
// they may decide is the engine's answer. Another surface's chats are only for administrators: a web key is no proof of being
// anybody there.
func (s *Server) findAsk(ctx context.Context, p person, request, call string) (chat.ID, string, error) {
	if len(request) > 64 || len(call) > 256 {
		return chat.ID{}, "", unknownAsk
	}
	name := request
	if name == "" {
		name = call
	}
	id, found, err := s.Log.Find(ctx, name)
	if err != nil {
		return chat.ID{}, "", err
	}
	if !found {
		if request != "" {
			return chat.ID{}, "", unknownAsk
		}
		return s.search(ctx, p, call)
	}
	if id.Platform != Platform && !p.admin {
		return chat.ID{}, "", problem{Status: http.StatusForbidden, Code: string(decision.RefusedNotYours),
			Message: "This request belongs to another place; only somebody there or an admin can decide it."}
	}
	if call == "" {
		return id, request, nil
	}
	v, err := s.chats.get(ctx, id)
	if err != nil {
		return chat.ID{}, "", err
	}
	var ask string
	for _, c := range callsOf(v.session) {
		if string(c.ID) != call && c.ModelID != call {
			continue
		}
		if request != "" && !slices.Contains(c.Asks, turn.AskID(request)) {
			continue
		}
		ask = string(c.Ask)
	}
	switch {
	case request != "" && ask == "":
		return chat.ID{}, "", problem{Status: http.StatusNotFound, Code: "unknown", Message: "This \"request_id\" does not ask about that \"tool_call_id\"."}
	case request != "":
		return id, request, nil
	case ask == "":
		return chat.ID{}, "", longOver(v, call)
	}
	return id, ask, nil
}

// longOver answers about a call of an earlier turn, which only the log still knows.
func longOver(v view, call string) problem {
	for _, m := range v.messages {
		for _, c := range m.form.ToolCalls {
			switch {
			case c.ToolCallID != call:
			case c.Decision != nil:
				d := c.Decision
				return problem{Status: http.StatusConflict, Code: string(decision.RefusedDecided), By: d.By, Name: d.Name, Choice: d.Choice, At: d.At,
					Message: text.AlreadyDecided(chat.Choice(d.Choice), d.Name, "")}
			case c.Status == string(turn.Lapsed):
				return problem{Status: http.StatusGone, Code: string(decision.RefusedExpired), At: c.EndedAt,
					Message: "This request expired in an earlier turn. Ask the bot again."}
			}
		}
	}
	return unknownAsk
}

// search looks for a call through the caller's own chats: by our id, or by the model's, which is not unique. More than
// one open ask under it is ambiguous: which one is meant must not be guessed.
func (s *Server) search(ctx context.Context, p person, call string) (chat.ID, string, error) {
	lines, err := s.Shelf.Chats(ctx, p.user.Key)
	if err != nil {
		return chat.ID{}, "", err
	}
	slices.SortFunc(lines, func(a, b ChatLine) int { return b.At.Compare(a.At) })
	type hit struct {
		id  chat.ID
		ask string
	}
	var open, over []hit
	for _, l := range lines[:min(len(lines), maxSearched)] {
		v, err := s.chats.get(ctx, webChat(l.Key))
		if err != nil {
			return chat.ID{}, "", err
		}
		for _, c := range callsOf(v.session) {
			if (string(c.ID) != call && c.ModelID != call) || c.Ask == "" {
				continue
			}
			h := hit{webChat(l.Key), string(c.Ask)}
			if c.Status == turn.Awaiting {
				open = append(open, h)
			} else if c.Asked {
				over = append(over, h)
			}
		}
	}
	switch {
	case len(open) > 1, len(open) == 0 && len(over) > 1:
		return chat.ID{}, "", problem{Status: http.StatusConflict, Code: "ambiguous",
			Message: "More than one request has this \"tool_call_id\". Say which with \"request_id\"."}
	case len(open) == 1:
		return open[0].id, open[0].ask, nil
	case len(over) == 1:
		return over[0].id, over[0].ask, nil
	}
	return chat.ID{}, "", unknownAsk
}

func callsOf(s turn.Session) (calls []turn.ToolCall) {
	for _, t := range s.Turns() {
		calls = append(calls, t.Calls...)
	}
	return calls
}

// pending is what waits for a person now.
func pending(v view) []approvalRequired {
	out := []approvalRequired{}
	for _, c := range turn.OpenAsks(v.session) {
		if c.Status == turn.Awaiting {
			out = append(out, required(c))
		}
	}
	return out
}
