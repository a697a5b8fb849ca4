package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/nodhq/nod/adapters/web/inbox"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// maxInbox is how many questions the inbox shows; of the others it says how many they are.
const maxInbox = 50

// inboxForm is what waits for a person in all chats.
type inboxForm struct {
	Open int       `json:"open"`
	More int       `json:"more"` // of them, how many are not listed
	Now  time.Time `json:"now"`  // the server's clock, for the time left
	Asks []askForm `json:"asks"` // the oldest deadline first; in an event those that are new or changed
	Gone []string  `json:"gone,omitempty"`
}

// askForm is one question, wherever it waits.
type askForm struct {
	RequestID string     `json:"request_id"`
	Surface   string     `json:"surface"`        // web | slack | discord
	Where     string     `json:"where"`          // the surface, or the chat's title
	Link      string     `json:"link,omitempty"` // to where it waits, for those who may read there
	User      string     `json:"user"`           // who asked
	Name      string     `json:"name"`
	At        time.Time  `json:"asked_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	Card      blockForm  `json:"card"`
}

// looked is what one person sees of the inbox, for one goroutine and not for long: who they are, and what they may, is asked once.
type looked = inbox.Look[askForm]

// inboxChat is where the replicas tell each other which chats moved. It has no log.
func inboxChat() chat.ID { return webChat("~inbox") }

// inboxWanted is what a replica says there that wants to be told.
const inboxWanted = "?"

var (
	surfaceNames = map[string]string{Platform: "This page", "slack": "Slack", "discord": "Discord"}
	nothing      = func(turn.Session, turn.ToolCall) bool { return false }
)

// look begins a person's look at the inbox.
func (s *Server) look(ctx context.Context, p session.Person) (*looked, error) {
	replicas := inbox.Replicas{
		Hear: func(ctx context.Context) (<-chan []byte, error) { return s.Shelf.Live(ctx, inboxChat()) },
		Want: func(ctx context.Context) error { return s.Shelf.PublishLive(ctx, inboxChat(), []byte(inboxWanted)) },
	}
	if err := s.waiting.Keep(ctx, s.life, replicas, s.begin); err != nil {
		return nil, err
	}
	known := map[chat.ID]func(turn.Session, turn.ToolCall) bool{}
	return inbox.NewLook[askForm](s.waiting, func(ctx context.Context, id chat.ID) (func(turn.Session, turn.ToolCall) bool, error) {
		place := chat.ID{Platform: id.Platform, Workspace: id.Workspace}
		if sees, ok := known[place]; ok {
			return sees, nil
		}
		sees, err := s.sees(ctx, p, id)
		if err == nil {
			known[place] = sees
		}
		return sees, err
	}), nil
}

// sees is what a person may be shown of what waits in the chats of a workspace. Whoever is not let in there sees nothing of it.
func (s *Server) sees(ctx context.Context, p session.Person, id chat.ID) (func(turn.Session, turn.ToolCall) bool, error) {
	there, err := s.sessions.In(ctx, id, p)
	if _, no := errors.AsType[session.Refused](err); no {
		return nothing, nil
	}
	return s.Engine.Sees(ctx, there.Envelope(id))
}

// begin runs f until the server ends, unless it has.
func (s *Server) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.streams.Go(f)
	return true
}

// Noticed implements [agent.Noticer]: every replica that keeps the list reads the chat anew.
func (s *Server) Noticed(of turn.Session) {
	s.notice(of.Chat)
	s.push.Noticed(of)
}

func (s *Server) notice(id chat.ID) {
	select {
	case s.noticed <- id:
	default: // the minute's look finds it
	}
}

// tellNoticed passes on what was noticed until ctx ends, as long as somebody looks at an inbox: a turn that nobody follows there costs nothing.
func (s *Server) tellNoticed(ctx context.Context) {
	var wanted time.Time
	heard := s.subscribe(ctx, inboxChat(), "what other replicas want to know cannot be heard; their inboxes are a minute late")
	hear := func(b []byte, ok bool) {
		if !ok {
			heard = nil
		}
		if string(b) == inboxWanted {
			wanted = time.Now().Add(inbox.Wanted)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case b, ok := <-heard:
			hear(b, ok)
		case id := <-s.noticed:
			select {
			case b, ok := <-heard: // what was asked for before counts
				hear(b, ok)
			default:
			}
			if !s.waiting.Kept() && time.Now().After(wanted) {
				continue
			}
			if err := s.Shelf.PublishLive(ctx, inboxChat(), []byte(id.String())); err != nil && ctx.Err() == nil {
				s.Logger.Warn("the other replicas were not told that something waits", "chat", id, "err", err)
			}
		}
	}
}

func (s *Server) getInbox(r *http.Request, p session.Person) (any, error) {
	look, err := s.look(r.Context(), p)
	if err != nil {
		return nil, err
	}
	shown := maxInbox
	if r.URL.Query().Has("count") {
		shown = 0
	}
	return s.drawInbox(r.Context(), p, look, shown)
}

// drawInbox draws the first of what a person sees.
func (s *Server) drawInbox(ctx context.Context, p session.Person, look *looked, shown int) (inboxForm, error) {
	asks, err := look.Asks(ctx)
	f := inboxForm{Open: len(asks), More: max(0, len(asks)-shown), Now: time.Now().UTC(), Asks: []askForm{}}
	for _, x := range asks[:min(len(asks), shown)] {
		if x.Drawn == nil {
			x.Drawn = s.drawAsk(p, x.Chat.Session, x.Call)
		}
		f.Asks = append(f.Asks, *x.Drawn)
	}
	return f, err
}

// drawAsk draws a question, with where it waits. The address of a chat of the page opens it to everybody: it is for those who were in it.
func (s *Server) drawAsk(p session.Person, of turn.Session, c turn.ToolCall) *askForm {
	a, _ := card.Alone(of, c)
	id, by, w := of.Chat, of.Turn.Requester, c.Wait()
	f := &askForm{RequestID: string(w.Ask), Surface: id.Platform, Where: cmp.Or(surfaceNames[id.Platform], id.Platform), User: userForm(by),
		Name: text.Clip(of.NameOf(by), maxName), At: w.Asked.UTC(), ExpiresAt: moment(w.Deadline), Card: drawBlock(a)}
	if id.Platform != Platform {
		if to, can := s.Surfaces[id.Platform].(Linker); can {
			f.Link = to.LinkTo(render.ChatLink{Chat: id.String(), Message: string(of.Turn.Shown)})
		}
	} else if to := questionsAt(p.User, of); to != pathInbox {
		f.Link = to
		if said := of.Turn.Said; len(said) > 0 {
			f.Where = titled(said[0].Text)
		}
	}
	return f
}

// getInboxEvents tells what waits, and what changes of that.
func (s *Server) getInboxEvents(w http.ResponseWriter, r *http.Request, p session.Person) error {
	look, err := s.look(r.Context(), p)
	if err != nil {
		return err
	}
	if err := s.enter(p.Owner()); err != nil {
		return err
	}
	defer s.leave(p.Owner())
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(s.life, stop)()
	moved, told, st := s.waiting.Watch(ctx), inboxTold{count: -1}, s.openStream(w, r)
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		f, err := s.drawInbox(ctx, p, look, maxInbox)
		if err != nil {
			return nil // the reader comes back
		}
		told.tell(st, f)
		if st.flush() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-moved:
		case <-beat.C: // who they are, and what they may, may have changed
			if s.ended(r) {
				return nil
			}
			st.buf.WriteString(": still here\n\n")
			if look, err = s.look(ctx, p); err != nil {
				return nil
			}
		}
	}
}

// inboxTold is what a reader was told of the inbox.
type inboxTold struct {
	asks  map[string][]byte
	count int
}

// tell tells what is other than what was told.
func (t *inboxTold) tell(st *stream, f inboxForm) {
	now, all := map[string][]byte{}, f.Asks
	f.Asks = []askForm{}
	for _, a := range all {
		b, _ := json.Marshal(a)
		if now[a.RequestID] = b; !bytes.Equal(t.asks[a.RequestID], b) {
			f.Asks = append(f.Asks, a)
		}
	}
	for id := range t.asks {
		if now[id] == nil {
			f.Gone = append(f.Gone, id)
		}
	}
	if t.count != f.Open || len(f.Asks)+len(f.Gone) > 0 {
		st.tell("inbox", f, 0)
	}
	t.asks, t.count = now, f.Open
}

// postInboxClick is a button of a card in the inbox.
func (s *Server) postInboxClick(r *http.Request, p session.Person) (any, error) {
	a, check, err := readClick(r)
	if err != nil {
		return nil, err
	}
	p, ask, err := s.findAsk(r.Context(), p, a.Token, "")
	if err != nil {
		return nil, err
	}
	out, err := s.click(r.Context(), p, ask, a, check)
	if err != nil { // what was shown is perhaps no longer so
		s.notice(ask.chat)
	}
	return out, err
}

// getAskDetails is all that is known of a call, for those whom it may be shown away from its chat.
func (s *Server) getAskDetails(r *http.Request, p session.Person) (any, error) {
	p, ask, err := s.findAsk(r.Context(), p, r.PathValue("request"), "")
	if err != nil {
		return nil, err
	}
	sees, of, err := s.seesAsk(r.Context(), p, ask)
	d, found := card.Details(of, ask.token)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, unknownAsk
	case !sees:
		return nil, problem{Status: http.StatusForbidden, Code: string(decision.RefusedNotYours), Message: "Its details are for those who can answer it."}
	}
	return drawDetails(d), nil
}

// seesAsk reports whether a person may be shown this very request away from its chat, also when it is decided by now.
func (s *Server) seesAsk(ctx context.Context, p session.Person, ask asking) (bool, turn.Session, error) {
	v, err := s.chats.get(ctx, ask.chat)
	if err != nil {
		return false, v.session, err
	}
	sees, err := s.sees(ctx, p, ask.chat)
	if err != nil {
		return false, v.session, err
	}
	id := turn.AskID(ask.token)
	c, _, found := v.session.Find(func(c turn.ToolCall) bool { return id != "" && (c.Ask == id || c.Wait().Ask == id) })
	return found && sees(v.session, c), v.session, nil
}
