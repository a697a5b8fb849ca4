package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
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
}

// choices are what the API takes for one ask, in the words of [chat.Choice].
var choices = []chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Undo, chat.Extend, chat.AskAgain, chat.Happened, chat.RunAgain, chat.Leave, chat.Edit}

var unknownAsk = problem{Status: http.StatusNotFound, Code: "unknown", Message: "There is no such request in your chats. It may belong to another chat, or be gone."}

// postApprove answers by the call's id, as programs written for that one endpoint do.
func (s *Server) postApprove(w http.ResponseWriter, r *http.Request, p person) error {
	var body struct {
		ToolCallID string `json:"tool_call_id"`
		Approved   *bool  `json:"approved"`
		Scope      string `json:"scope"`
		RequestID  string `json:"request_id"`
		Reason     string `json:"reason"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	choice := chat.Deny
	switch {
	case body.ToolCallID == "" && body.RequestID == "":
		return badRequest("Say which call you mean: \"tool_call_id\" is missing.")
	case body.Approved == nil:
		return badRequest("Say \"approved\": true or false.")
	case body.Scope != "" && body.Scope != "once" && body.Scope != "chat":
		return badRequest("\"scope\" is \"once\" or \"chat\".")
	case *body.Approved && body.Scope == "chat":
		choice = chat.AllowChat
	case *body.Approved:
		choice = chat.AllowOnce
	}
	id, ask, err := s.findAsk(r.Context(), p, body.RequestID, body.ToolCallID)
	if err != nil {
		return err
	}
	out, err := s.decide(r.Context(), p, id, ask, answer{choice: choice, reason: body.Reason})
	if err != nil {
		return err
	}
	return writeOne(w, out)
}

// postAsk answers one ask with any choice.
func (s *Server) postAsk(w http.ResponseWriter, r *http.Request, p person) error {
	a, err := readAnswer(r, choices)
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
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	more := []chat.Choice{chat.Revoke, chat.ApproveAll, chat.DenyAll}
	switch {
	case body.Token == "" || len(body.Token) > 64:
		return badRequest("\"token\" is missing or too long.")
	case !slices.Contains(choices, chat.Choice(body.Choice)) && !slices.Contains(more, chat.Choice(body.Choice)):
		return badRequest("There is no such choice.")
	}
	out, err := s.decide(r.Context(), p, id, body.Token, answer{chat.Choice(body.Choice), body.Reason, body.Args})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"decisions": out})
	return nil
}

// answer is what a person picked, with the words that some choices take.
type answer struct {
	choice chat.Choice
	reason string
	args   string // JSON, with Edit
}

// decide is the only way from this surface to a decision.
func (s *Server) decide(ctx context.Context, p person, id chat.ID, ask string, a answer) ([]outcomeForm, error) {
	outs, err := s.Engine.Decide(ctx, chat.Clicked{
		Envelope: chat.Envelope{Delivery: chat.Delivery(Platform + "/" + p.user.Key + "/click/" + token(12)), Chat: id, User: p.user, Name: p.name},
		Token:    ask, Choice: a.choice, Reason: cut(a.reason, maxReason), Args: a.args,
	})
	if err != nil {
		return nil, err
	}
	forms := make([]outcomeForm, 0, len(outs))
	for _, o := range outs {
		forms = append(forms, outcomeForm{ChatID: o.Chat.Key, RequestID: string(o.Ask), ToolCallID: string(o.Call), Choice: string(o.Choice),
			Approved: o.Choice == chat.AllowOnce || o.Choice == chat.AllowChat, Scope: scopeName(o.Choice),
			By: userForm(o.By), Name: o.Name, At: moment(o.At)})
	}
	return forms, nil
}

func writeOne(w http.ResponseWriter, out []outcomeForm) error {
	if len(out) == 0 {
		writeJSON(w, http.StatusOK, map[string]any{})
		return nil
	}
	writeJSON(w, http.StatusOK, out[0])
	return nil
}

// readAnswer reads an answer that is one of those offered. Edited arguments come as JSON, in their own field and not in a string.
func readAnswer(r *http.Request, offered []chat.Choice) (a answer, err error) {
	var body struct {
		Choice string          `json:"choice"`
		Reason string          `json:"reason"`
		Args   json.RawMessage `json:"arguments"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return a, err
	}
	if !slices.Contains(offered, chat.Choice(body.Choice)) {
		words := make([]string, len(offered))
		for i, c := range offered {
			words[i] = string(c)
		}
		return a, badRequest("\"choice\" is one of: " + strings.Join(words, ", ") + ".")
	}
	return answer{chat.Choice(body.Choice), body.Reason, string(body.Args)}, nil
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
		return chat.ID{}, "", problem{Status: http.StatusForbidden, Code: string(agent.RefusedNotYours),
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
				return problem{Status: http.StatusConflict, Code: string(agent.RefusedDecided), By: d.By, Name: d.Name, Choice: d.Choice, At: d.At,
					Message: render.AlreadyDecided(chat.Choice(d.Choice), d.Name, "")}
			case c.Status == string(turn.Lapsed):
				return problem{Status: http.StatusGone, Code: string(agent.RefusedExpired), At: c.EndedAt,
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
	for _, t := range []*turn.Turn{s.Last, s.Turn} {
		if t != nil {
			calls = append(calls, t.Calls...)
		}
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
