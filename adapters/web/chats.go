package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

type chatLine struct {
	ChatID string    `json:"chat_id"`
	Title  string    `json:"title"`
	At     time.Time `json:"at"`
}

// chatForm is a chat as the API shows it.
type chatForm struct {
	ChatID   string             `json:"chat_id"`
	Title    string             `json:"title"`
	Seq      uint64             `json:"seq"`             // the place of a stream that starts here (?after=)
	Now      time.Time          `json:"now"`             // the server's clock, for the time left
	State    string             `json:"state"`           // idle | working | waiting
	Messages []messageForm      `json:"messages"`        //
	Pending  []approvalRequired `json:"pending"`         // what waits for a person now
	Grants   []grantForm        `json:"grants"`          //
	Queued   int                `json:"queued_messages"` //
}

type grantForm struct {
	ID         string    `json:"id"`
	ServerName string    `json:"server_name"`
	ToolName   string    `json:"tool_name"`
	By         string    `json:"by"`
	Name       string    `json:"name,omitempty"`
	At         time.Time `json:"at"`
}

func (s *Server) getChats(w http.ResponseWriter, r *http.Request, p person) error {
	lines, err := s.Shelf.Chats(r.Context(), p.user.Key)
	if err != nil {
		return err
	}
	slices.SortFunc(lines, func(a, b ChatLine) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	out := make([]chatLine, 0, len(lines))
	for _, l := range lines {
		out = append(out, chatLine{l.Key, titleOr(l.Title), l.At.UTC()})
	}
	writeJSON(w, http.StatusOK, map[string]any{"chats": out})
	return nil
}

func (s *Server) postChat(w http.ResponseWriter, r *http.Request, p person) error {
	if !s.begins.Allow() {
		return tooFast
	}
	if err := s.roomForChat(r.Context(), p); err != nil {
		return err
	}
	key, now := "c-"+token(16), time.Now()
	// The second line is the chat's own: it is how somebody else who was told the id finds that it exists.
	for _, owner := range []string{p.user.Key, chatMark(key)} {
		if err := s.Shelf.PutChat(r.Context(), owner, key, "", now); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusCreated, map[string]string{"chat_id": key})
	return nil
}

// roomForChat refuses one more chat to somebody whose list is full. What they did not touch for as long as an idle session lasts leaves the
// list first; such a chat is still there under its address.
func (s *Server) roomForChat(ctx context.Context, p person) error {
	lines, err := s.Shelf.Chats(ctx, p.user.Key)
	if err != nil || len(lines) < maxChats {
		return err
	}
	var old []string
	for _, l := range lines {
		if time.Since(l.At) > sessionIdle {
			old = append(old, l.Key)
		}
	}
	if len(old) == 0 {
		return problem{Status: http.StatusTooManyRequests, Code: "too_many_chats",
			Message: fmt.Sprintf("You have %d chats already. Go on in one of them.", maxChats)}
	}
	return s.Shelf.DropChats(ctx, p.user.Key, old...)
}

func chatMark(key string) string { return "chat:" + key }

// chatKey reports whether key could name a chat here.
func chatKey(key string) bool {
	return key != "" && len(key) <= 64 && !strings.ContainsFunc(key, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// chat finds the chat that a request's path names, folded.
func (s *Server) chat(r *http.Request, p person) (chat.ID, view, error) {
	return s.chatNamed(r.Context(), p, r.PathValue("chat"))
}

// chatNamed finds a chat by its key, as whoever knows it may.
func (s *Server) chatNamed(ctx context.Context, p person, key string) (chat.ID, view, error) {
	missing := problem{Status: http.StatusNotFound, Code: "unknown_chat", Message: "There is no such chat. Look at its address again, or start a new one."}
	if !chatKey(key) {
		return chat.ID{}, view{}, missing
	}
	id := webChat(key)
	v, err := s.chats.get(ctx, id)
	if err != nil {
		return id, view{}, err
	}
	if v.head.Seq > 0 {
		return id, v, nil
	}
	for _, owner := range []string{p.user.Key, chatMark(key)} {
		lines, err := s.Shelf.Chats(ctx, owner)
		if err != nil {
			return id, view{}, err
		}
		if slices.ContainsFunc(lines, func(l ChatLine) bool { return l.Key == key }) {
			return id, v, nil
		}
	}
	return id, view{}, missing
}

func (s *Server) getChat(w http.ResponseWriter, r *http.Request, p person) error {
	id, v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	f := chatForm{ChatID: id.Key, Title: titleOr(title(v)), Seq: v.head.Seq, Now: time.Now().UTC(), State: "idle",
		Messages: []messageForm{}, Pending: []approvalRequired{}, Grants: []grantForm{}, Queued: len(v.session.Waiting)}
	nodes := r.URL.Query().Has("nodes")
	for _, m := range v.messages {
		form := m.form
		if nodes {
			form = form.parsed()
		}
		f.Messages = append(f.Messages, form)
	}
	if v.session.Turn != nil {
		f.State = "working"
	}
	f.Pending = pending(v)
	if len(turn.Waits(v.session)) > 0 { // for an answer, or for word on an unknown outcome
		f.State = "waiting"
	}
	for _, g := range v.session.Grants {
		f.Grants = append(f.Grants, grantForm{string(g.ID), g.Tool.Server, g.Tool.Name, userForm(g.By), g.Name, g.At.UTC()})
	}
	writeJSON(w, http.StatusOK, f)
	return nil
}

func (s *Server) postMessage(w http.ResponseWriter, r *http.Request, p person) error {
	id, v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	var body struct {
		Text     string `json:"text"`
		Delivery string `json:"delivery"`
		// Unattended says that nobody can be reached to answer: what would have to be asked is then not offered to the model.
		Unattended bool `json:"unattended"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(body.Text) == "":
		return badRequest("There is nothing in this message. Write something in \"text\".")
	case len(body.Text) > maxText:
		return tooLarge
	case len(body.Delivery) > 128:
		return badRequest("\"delivery\" may have up to 128 bytes.")
	}
	if words, ok := command(body.Text); ok {
		lines, err := s.command(r.Context(), p, id, words)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, map[string]any{"chat_id": id.Key, "lines": lines})
		return nil
	}
	if body.Delivery == "" {
		body.Delivery = token(16)
	}
	// Two people who choose the same delivery have still sent two messages.
	delivery := chat.Delivery(Platform + "/" + p.user.Key + "/" + body.Delivery)
	if err := s.Engine.Accept(r.Context(), chat.Said{
		Envelope: chat.Envelope{Delivery: delivery, Chat: id, User: p.user, Name: p.name},
		Message:  chat.MessageRef(delivery), Text: body.Text, Unattended: body.Unattended,
	}); errors.Is(err, agent.ErrTooLong) {
		return tooLarge
	} else if errors.Is(err, agent.ErrFull) {
		return problem{Status: http.StatusTooManyRequests, Code: "too_many_waiting", Message: text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)}
	} else if err != nil {
		s.Logger.Warn("message not recorded", "err", err)
		return problem{Status: http.StatusServiceUnavailable, Code: "not_recorded",
			Message: "The bot could not record this message, so it was not taken. Send it again with the same \"delivery\"."}
	}
	name := title(v)
	if name == "" {
		name = titled(body.Text)
	}
	if err := s.Shelf.PutChat(r.Context(), p.user.Key, id.Key, name, time.Now()); err != nil {
		s.Logger.Warn("chat list not updated", "err", err) // the message is recorded: that is what 202 says
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"chat_id": id.Key, "delivery": body.Delivery})
	return nil
}

func (s *Server) postStop(w http.ResponseWriter, r *http.Request, p person) error {
	id, v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	var body struct {
		Turn string `json:"turn_id"`
	}
	if err := readJSON(r, &body, true); err != nil {
		return err
	}
	// A stop names its turn: one that comes late must not end the next.
	if body.Turn == "" && v.session.Turn != nil {
		body.Turn = string(v.session.Turn.ID)
	}
	if body.Turn == "" {
		writeJSON(w, http.StatusAccepted, map[string]any{"chat_id": id.Key, "stopping": false})
		return nil
	}
	// Through Decide, not Accept: the caller is told whether there was anything to stop.
	var over *decision.Refusal
	if _, err := s.decide(r.Context(), p, id, body.Turn, answer{choice: chat.Stop}); errors.As(err, &over) && over.Code == decision.RefusedStopped {
		writeJSON(w, http.StatusAccepted, map[string]any{"chat_id": id.Key, "stopping": false})
		return nil
	} else if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, map[string]any{"chat_id": id.Key, "stopping": true, "turn_id": body.Turn})
	return nil
}

// title is the first thing said, or "".
func title(v view) string {
	for _, m := range v.messages {
		if m.form.Role == "user" {
			return titled(m.form.Text)
		}
	}
	return ""
}

func titled(said string) string { return cut(text.Prose(said), 60) }

func titleOr(t string) string {
	if t == "" {
		return sayNewChat
	}
	return t
}
