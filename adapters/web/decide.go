package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
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
func (s *Server) postApprove(r *http.Request, p session.Person) (any, error) {
	var body struct {
		ToolCallID string `json:"tool_call_id"`
		Approved   *bool  `json:"approved"`
		Scope      string `json:"scope"`
		Uses       int    `json:"uses"`
		Remember   bool   `json:"remember"`
		RequestID  string `json:"request_id"`
		Reason     string `json:"reason"`
	}
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	a := chat.Clicked{Choice: chat.Deny, Reason: body.Reason}
	scope, known := scopeNamed(body.Scope)
	switch {
	case body.ToolCallID == "" && body.RequestID == "":
		return nil, badRequest("Say which call you mean: \"tool_call_id\" is missing.")
	case body.Approved == nil:
		return nil, badRequest("Say \"approved\": true or false.")
	case !known:
		return nil, badRequest("\"scope\" is one of: " + joined(scopes, func(x namedScope) string { return x.name }) + ".")
	case *body.Approved:
		a.Choice, a.Uses = scope, body.Uses
	}
	if err := checkAnswer(a); err != nil {
		return nil, err
	}
	p, ask, err := s.findAsk(r.Context(), p, body.RequestID, body.ToolCallID)
	if err != nil {
		return nil, err
	}
	if body.Remember {
		if err := s.remember(r.Context(), p, ask); err != nil {
			return nil, err
		}
	}
	return s.decideOne(r.Context(), p, ask, a)
}

// postAsk answers one ask with any choice.
func (s *Server) postAsk(r *http.Request, p session.Person) (any, error) {
	a, err := readAnswer(r, text.ChoicesOf(text.APIAsk))
	if err != nil {
		return nil, err
	}
	p, ask, err := s.findAsk(r.Context(), p, r.PathValue("request"), "")
	if err != nil {
		return nil, err
	}
	return s.decideOne(r.Context(), p, ask, a)
}

// postAsks answers what is open in a chat. The token names the asks that this replica has seen: one that comes meanwhile is not answered
// unseen.
func (s *Server) postAsks(r *http.Request, p session.Person, v view) (any, error) {
	a, err := readAnswer(r, []chat.Choice{chat.AllowOnce, chat.Deny})
	if err != nil {
		return nil, err
	}
	a.Choice = map[chat.Choice]chat.Choice{chat.AllowOnce: chat.ApproveAll, chat.Deny: chat.DenyAll}[a.Choice]
	open := turn.OpenAsks(v.session)
	if len(open) == 0 {
		return nil, problem{Status: http.StatusNotFound, Code: "unknown", Message: "Nothing in this chat waits for an answer."}
	}
	out, err := s.decide(r.Context(), p, asking{v.session.Chat, turn.BatchToken(open)}, a)
	return map[string]any{"decisions": out}, err
}

// postClick is a button of the page: its token and choice. It covers what has no ask of its own, such as revoking a grant.
func (s *Server) postClick(r *http.Request, p session.Person, v view) (any, error) {
	a, check, err := readClick(r)
	if err != nil {
		return nil, err
	}
	return s.click(r.Context(), p, asking{v.session.Chat, a.Token}, a, check)
}

// readClick reads a button of the page. With check nothing is to be recorded: the answer is only whether the choice would be refused.
func readClick(r *http.Request) (a chat.Clicked, check bool, err error) {
	var body struct {
		Token  string `json:"token"`
		Choice string `json:"choice"`
		Reason string `json:"reason"`
		Args   string `json:"arguments"`
		Uses   int    `json:"uses"`
		Fields fields `json:"fields"`
		Check  bool   `json:"check"`
	}
	if err := readJSON(r, &body); err != nil {
		return a, false, err
	}
	kind, _ := text.KindOf(chat.Choice(body.Choice))
	switch {
	case body.Token == "" || len(body.Token) > 64:
		return a, false, badRequest("\"token\" is missing or too long.")
	case kind.API == text.APINone:
		return a, false, badRequest("There is no such choice.")
	}
	a = chat.Clicked{Token: body.Token, Choice: kind.Choice, Reason: body.Reason, Args: body.Args, Uses: body.Uses, Fields: body.Fields}
	return a, body.Check, checkAnswer(a)
}

func (s *Server) click(ctx context.Context, p session.Person, ask asking, a chat.Clicked, check bool) (any, error) {
	if check {
		a.Envelope = p.Envelope(ask.chat)
		if no := s.Engine.Refuses(ctx, a); no != nil {
			return nil, no
		}
		return map[string]any{"decisions": []outcomeForm{}}, nil
	}
	out, err := s.decide(ctx, p, ask, a)
	return map[string]any{"decisions": out}, err
}

// decideOne decides, and answers with the one thing that came of it.
func (s *Server) decideOne(ctx context.Context, p session.Person, ask asking, a chat.Clicked) (any, error) {
	out, err := s.decide(ctx, p, ask, a)
	if len(out) == 0 {
		return map[string]any{}, err
	}
	return out[0], err
}

// asking is what a decision is about, and the chat that holds it.
type asking struct {
	chat  chat.ID
	token string
}

// findAsk finds the chat and the asking that are meant, and who p is there.
func (s *Server) findAsk(ctx context.Context, p session.Person, request, call string) (session.Person, asking, error) {
	ask, err := s.lookForAsk(ctx, p, request, call)
	if ask.chat.Platform == p.User.Platform {
		p, err = s.sessions.In(ctx, ask.chat, p)
	}
	return p, ask, err
}

// lookForAsk: whoever knows a random id has seen its chat; whether they may decide is the engine's answer. Another surface's chats are only for
// those who signed in by it, for administrators, and for those to whom it is shown: a web key is no proof of being anybody there.
func (s *Server) lookForAsk(ctx context.Context, p session.Person, request, call string) (asking, error) {
	if len(request) > 64 || len(call) > 256 {
		return asking{}, unknownAsk
	}
	id, found, err := s.Log.Find(ctx, cmp.Or(request, call))
	switch {
	case err != nil:
		return asking{}, err
	case !found && request != "":
		return asking{}, unknownAsk
	case !found:
		return s.search(ctx, p, call)
	case id.Platform != Platform && id.Platform != p.User.Platform && !p.Admin:
		if sees, _, err := s.seesAsk(ctx, p, asking{id, request}); !sees {
			return asking{}, cmp.Or[error](err, problem{Status: http.StatusForbidden, Code: string(decision.RefusedNotYours),
				Message: "This request belongs to another place; only somebody there or an admin can decide it."})
		}
	}
	if call == "" {
		return asking{id, request}, nil
	}
	v, err := s.chats.get(ctx, id)
	if err != nil {
		return asking{}, err
	}
	var ask string
	for _, c := range callsOf(v.session) {
		if isCall(c, call) && (request == "" || slices.Contains(c.Asks, turn.AskID(request))) {
			ask = string(c.Ask)
		}
	}
	switch {
	case request != "" && ask == "":
		return asking{}, problem{Status: http.StatusNotFound, Code: "unknown", Message: "This \"request_id\" does not ask about that \"tool_call_id\"."}
	case request != "":
		return asking{id, request}, nil
	case ask == "":
		return asking{}, longOver(v, call)
	}
	return asking{id, ask}, nil
}

// isCall reports whether a program means c: by our id, or by the model's.
func isCall(c turn.ToolCall, id string) bool { return string(c.ID) == id || c.ModelID == id }

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

// search looks for a call through the caller's own chats. More than one open ask under the id is ambiguous: which is meant must not be
// guessed.
func (s *Server) search(ctx context.Context, p session.Person, call string) (asking, error) {
	lines, err := s.chatsOf(ctx, p)
	if err != nil {
		return asking{}, err
	}
	var open, over []asking
	for _, l := range lines[:min(len(lines), maxSearched)] {
		v, err := s.chats.get(ctx, webChat(l.Key))
		if err != nil {
			return asking{}, err
		}
		for _, c := range callsOf(v.session) {
			switch h := (asking{webChat(l.Key), string(c.Ask)}); {
			case !isCall(c, call):
			case c.Status == turn.Awaiting:
				open = append(open, h)
			case c.Asked:
				over = append(over, h)
			}
		}
	}
	if len(open) == 0 {
		open = over
	}
	switch len(open) {
	case 0:
		return asking{}, unknownAsk
	case 1:
		return open[0], nil
	}
	return asking{}, problem{Status: http.StatusConflict, Code: "ambiguous",
		Message: "More than one request has this \"tool_call_id\". Say which with \"request_id\"."}
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
