package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// chatForm is a chat as the API shows it.
type chatForm struct {
	ChatID   string             `json:"chat_id"`
	Title    string             `json:"title"`
	Seq      uint64             `json:"seq"`   // the place of a stream that starts here (?after=)
	Now      time.Time          `json:"now"`   // the server's clock, for the time left
	State    string             `json:"state"` // idle | working | waiting
	Messages []messageForm      `json:"messages"`
	Pending  []approvalRequired `json:"pending"` // what waits for a person now
	Grants   []grantForm        `json:"grants"`
	Queued   int                `json:"queued_messages"`
}

type grantForm struct {
	ID         string    `json:"id"`
	ServerName string    `json:"server_name"`
	ToolName   string    `json:"tool_name"`
	By         string    `json:"by"`
	Name       string    `json:"name,omitempty"`
	At         time.Time `json:"at"`
}

func (s *Server) getChats(r *http.Request, p session.Person) (any, error) {
	lines, err := s.chatsOf(r.Context(), p)
	out := make([]foundChat, 0, len(lines))
	words := strings.Fields(strings.ToLower(cut(r.URL.Query().Get("q"), maxQuery)))
	for i, l := range lines {
		f := foundChat{Listed: chat.Listed{Key: l.Key, Title: cmp.Or(l.Title, sayNewChat), At: l.At.UTC()}}
		if len(words) > 0 && !holds(f.Title, words) {
			if i < maxSearch {
				if f.Excerpt, err = s.excerpt(r.Context(), l.Key, words); err != nil {
					return nil, err
				}
			}
			if f.Excerpt == "" {
				continue
			}
		}
		out = append(out, f)
	}
	return map[string]any{"chats": out}, err
}

// foundChat is a chat of the list, with the words of it that were looked for.
type foundChat struct {
	chat.Listed
	Excerpt string `json:"excerpt,omitempty"`
}

// What a search looks at: of so many of a person's newest chats also what was said, which the fold of each tells.
const (
	maxSearch = 100
	maxQuery  = 200 // bytes
)

// holds reports whether a text has all of the words, which are in lower case.
func holds(said string, words []string) bool {
	said = strings.ToLower(said)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(said, w) })
}

// excerpt is what stands around the first of the words in the newest message of a chat that has all of them, or "".
func (s *Server) excerpt(ctx context.Context, key string, words []string) (string, error) {
	v, err := s.chats.get(ctx, webChat(key))
	for _, m := range slices.Backward(v.messages) {
		said := m.form.Text
		for _, b := range m.form.Blocks {
			said += "\n" + b.Markdown
		}
		if !holds(said, words) {
			continue
		}
		at := max(0, strings.Index(strings.ToLower(said), words[0])-30)
		return cut(text.Prose(strings.ToValidUTF8(said[min(at, len(said)):], "")), 100), nil
	}
	return "", err
}

// chatsOf is a person's list of chats, the newest first.
func (s *Server) chatsOf(ctx context.Context, p session.Person) ([]chat.Listed, error) {
	lines, err := s.Shelf.Chats(ctx, p.Owner())
	slices.SortFunc(lines, func(a, b chat.Listed) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Key, b.Key)) })
	return lines, err
}

func (s *Server) postChat(r *http.Request, p session.Person) (any, error) {
	if !s.newChats.Allow() {
		return nil, session.TooFast
	}
	if err := s.roomForChat(r.Context(), p); err != nil {
		return nil, err
	}
	key, now := "c-"+rand.Text(), time.Now()
	// The second line is the chat's own: it is how somebody else who was told the id finds that it exists.
	for _, owner := range []string{p.Owner(), chatMark(key)} {
		if err := s.Shelf.PutChat(r.Context(), owner, key, "", now); err != nil {
			return nil, err
		}
	}
	return withStatus{http.StatusCreated, map[string]string{"chat_id": key}}, nil
}

// roomForChat refuses one more chat to somebody whose list is full of recent ones. Chats that leave it are still there under their address.
func (s *Server) roomForChat(ctx context.Context, p session.Person) error {
	lines, err := s.Shelf.Chats(ctx, p.Owner())
	if len(lines) < maxChats {
		return err
	}
	var old []string
	for _, l := range lines {
		if time.Since(l.At) > session.Idle {
			old = append(old, l.Key)
		}
	}
	if len(old) == 0 {
		return problem{Status: http.StatusTooManyRequests, Code: "too_many_chats",
			Message: fmt.Sprintf("You have %d chats already. Go on in one of them.", maxChats)}
	}
	return s.Shelf.DropChats(ctx, p.Owner(), old...)
}

func chatMark(key string) string { return "chat:" + key }

// chatKey reports whether a key could name a chat here.
var chatKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString

// chat finds the chat that a request's path names, folded.
func (s *Server) chat(r *http.Request, p session.Person) (view, error) {
	return s.chatNamed(r.Context(), p, r.PathValue("chat"))
}

var unknownChat = problem{Status: http.StatusNotFound, Code: "unknown_chat",
	Message: "There is no such chat. Look at its address again, or start a new one."}

// chatNamed finds a chat by its key, as whoever knows it may.
func (s *Server) chatNamed(ctx context.Context, p session.Person, key string) (view, error) {
	if !chatKey(key) {
		return view{}, unknownChat
	}
	v, err := s.chats.get(ctx, webChat(key))
	if err != nil || v.head.Seq > 0 {
		return v, err
	}
	for _, owner := range []string{p.Owner(), chatMark(key)} {
		lines, err := s.Shelf.Chats(ctx, owner)
		if err != nil || slices.ContainsFunc(lines, func(l chat.Listed) bool { return l.Key == key }) {
			return v, err
		}
	}
	return view{}, unknownChat
}

func (s *Server) getChat(r *http.Request, _ session.Person, v view) (any, error) {
	f := chatForm{ChatID: v.session.Chat.Key, Title: cmp.Or(title(v), sayNewChat), Seq: v.head.Seq, Now: time.Now().UTC(), State: "idle",
		Messages: []messageForm{}, Pending: pending(v), Grants: []grantForm{}, Queued: len(v.session.Waiting)}
	nodes := r.URL.Query().Has("nodes")
	for _, m := range v.messages {
		if nodes {
			m.form = m.form.parsed()
		}
		f.Messages = append(f.Messages, m.form)
	}
	if v.session.Turn != nil {
		f.State = "working"
	}
	if len(turn.Waits(v.session)) > 0 { // for an answer, or for word on an unknown outcome
		f.State = "waiting"
	}
	for _, g := range v.session.Grants {
		f.Grants = append(f.Grants, grantForm{string(g.ID), g.Tool.Server, g.Tool.Name, userForm(g.By), g.Name, g.At.UTC()})
	}
	return f, nil
}

func (s *Server) postMessage(r *http.Request, p session.Person, v view) (any, error) {
	id := v.session.Chat
	var body struct {
		Text     string `json:"text"`
		Delivery string `json:"delivery"` // a name of the caller's: with the same again it is taken once
		// Unattended says that nobody can be reached to answer: what would have to be asked is then not offered to the model.
		Unattended bool `json:"unattended"`
		// Files were uploaded before.
		Files []fileForm `json:"files"`
	}
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(body.Text) == "" && len(body.Files) == 0:
		return nil, badRequest("There is nothing in this message. Write something in \"text\".")
	case len(body.Text) > maxText:
		return nil, tooLarge
	case len(body.Delivery) > 128:
		return nil, badRequest("\"delivery\" may have up to 128 bytes.")
	}
	words, isCommand := command(body.Text)
	said, files, err := attached(strings.TrimSpace(body.Text), body.Files)
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0:
		said = body.Text
	}
	if isCommand && len(files) == 0 {
		lines, err := s.command(r.Context(), p, id, words)
		return map[string]any{"chat_id": id.Key, "lines": lines}, err
	}
	body.Delivery = cmp.Or(body.Delivery, rand.Text())
	env := p.Envelope(id)
	env.Delivery = p.Delivery(body.Delivery)
	switch err := s.Engine.Accept(r.Context(), chat.Said{
		Envelope: env, Message: chat.MessageRef(env.Delivery), Text: said, Unattended: body.Unattended, Files: files,
	}); {
	case errors.Is(err, agent.ErrTooLong):
		return nil, tooLarge
	case errors.Is(err, agent.ErrFull):
		return nil, problem{Status: http.StatusTooManyRequests, Code: "too_many_waiting", Message: text.ChatFull(agent.MaxWaiting, agent.MaxWaitingBytes)}
	case err != nil:
		s.Logger.Warn("message not recorded", "err", err)
		return nil, problem{Status: http.StatusServiceUnavailable, Code: "not_recorded",
			Message: "The bot could not record this message, so it was not taken. Send it again with the same \"delivery\"."}
	}
	if err := s.Shelf.PutChat(r.Context(), p.Owner(), id.Key, cmp.Or(title(v), titled(body.Text)), time.Now()); err != nil {
		s.Logger.Warn("chat list not updated", "err", err) // the message is recorded: that is what 202 says
	}
	return withStatus{http.StatusAccepted, map[string]string{"chat_id": id.Key, "delivery": body.Delivery}}, nil
}

func (s *Server) postStop(r *http.Request, p session.Person, v view) (any, error) {
	var body struct {
		Turn string `json:"turn_id"`
	}
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	_, stopped, err := s.stop(r.Context(), p, v, body.Turn)
	answer := map[string]any{"chat_id": v.session.Chat.Key, "stopping": stopped != ""}
	if stopped != "" {
		answer["turn_id"] = stopped
	}
	return withStatus{http.StatusAccepted, answer}, err
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
