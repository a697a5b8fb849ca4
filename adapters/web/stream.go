package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/nodhq/nod/adapters/web/frames"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// A stream is one reader's place in the log: everything after it is derived again from the fold, so a reconnect needs no memory of ours.
// The id of an event is the log's sequence number. It stands on the last event of each entry, so that a connection that breaks between two
// of them gets both again.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	buf     bytes.Buffer
	cursor  uint64
	parse   bool   // the reader wants Markdown parsed
	patches bool   // and of a message that was told last what changed
	told    []byte // that message
	of      string // and its ID
	head    bool   // only whether there is one is asked: net/http would drop what is written, and the connection be busy for ever
	timeout time.Duration
}

func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, p session.Person) error {
	v, err := s.chat(r, p)
	if err != nil {
		return err
	}
	id := v.session.Chat
	if err := s.enter(p.Owner()); err != nil {
		return err
	}
	defer s.leave(p.Owner())
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(s.life, stop)()
	// Both subscriptions stand before the first look, so nothing falls between.
	moved, err := s.Log.Watch(ctx, id)
	if err != nil {
		return err
	}
	live, err := s.frames.Follow(ctx, id)
	if err != nil {
		return err
	}
	if v, err = s.chats.get(ctx, id); err != nil {
		return err
	}
	st := s.openStream(w, r)
	st.begin(v, cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")))
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for st.flush() == nil { // a reader that does not take its bytes in time is dropped: it may come back, and nobody waits for it
		open := true
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if s.ended(r) {
				return nil
			}
			st.buf.WriteString(": still here\n\n")
			v, err = s.catchUp(ctx, st, v) // a signal may be lost; a heartbeat that also looks is the backstop
		case _, open = <-moved:
			v, err = s.catchUp(ctx, st, v)
		case b := <-live.Own:
			st.live(b, v)
		case b, ok := <-live.Heard:
			open = ok
			st.live(live.Read(ctx, b), v)
		}
		if !open || err != nil { // the subscription broke: the reader comes back with its place
			return nil
		}
	}
	return nil
}

func (s *Server) openStream(w http.ResponseWriter, r *http.Request) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that collects would hold an ask back
	w.WriteHeader(http.StatusOK)
	st := &stream{w: w, head: r.Method == http.MethodHead, rc: http.NewResponseController(w), parse: r.URL.Query().Has("nodes"), patches: r.URL.Query().Has("patches"), timeout: s.Patience}
	st.buf.WriteString("retry: 1000\n\n")
	return st
}

func (s *Server) catchUp(ctx context.Context, st *stream, old view) (view, error) {
	v, err := s.chats.get(ctx, old.session.Chat)
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.Warn("stream lost its log", "err", err)
		}
		return old, err
	}
	st.after(v)
	return v, nil
}

// begin tells a reader how things stand. last is where it was, or not a number for one that comes fresh.
func (st *stream) begin(v view, last string) {
	at, err := strconv.ParseUint(last, 10, 64)
	known := err == nil && at <= v.head.Seq
	for _, m := range slices.Backward(v.messages) {
		if m.form.Role != "assistant" {
			continue
		}
		id := v.head.Seq
		if known {
			id = 0 // its place is not yet here
		}
		st.message(m.form, id)
		break
	}
	if known {
		st.cursor = at
		st.after(v)
		return
	}
	st.cursor = v.head.Seq
	for _, ask := range pending(v) { // a program that connects late must hear of what already waits
		st.tell("approval_required", ask, 0)
	}
}

// after tells what came after the reader's place, entry by entry: first the messages as they now stand, then what happened.
func (st *stream) after(v view) {
	if v.head.Seq < st.cursor { // another history after a failover
		st.begin(v, "")
		return
	}
	type line struct {
		seq  uint64
		tell func(id uint64)
	}
	var lines []line
	for _, m := range v.messages {
		if m.rev > st.cursor {
			lines = append(lines, line{m.rev, func(id uint64) { st.message(m.form, id) }})
		}
	}
	for _, e := range v.events {
		if e.seq > st.cursor {
			lines = append(lines, line{e.seq, func(id uint64) { st.event(e.name, e.data, id) }})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.seq, b.seq) })
	for i, l := range lines {
		id := l.seq
		if i+1 < len(lines) && lines[i+1].seq == l.seq {
			id = 0
		}
		l.tell(id)
	}
	st.cursor = v.head.Seq
}

// live tells a frame, where it fits what the reader was told.
func (st *stream) live(b []byte, v view) {
	var f frame
	if json.Unmarshal(b, &f) == nil {
		if m, fits := f.over(v); fits {
			st.message(m, 0)
		}
	}
}

// patchForm makes of the JSON of the message that was told last the one of the same message as it now stands. It counts in UTF-16, as
// JavaScript does.
type patchForm struct {
	Head int    `json:"head"` // how much of it stays at the beginning
	Tail int    `json:"tail"` // and at the end
	Part string `json:"part"` // what comes between
}

func (st *stream) message(m messageForm, id uint64) {
	if st.parse {
		m = m.parsed()
	}
	b, _ := json.Marshal(m.brief()) // what is stored broken, draw has left out
	told, again := st.told, st.of == m.ID
	if st.told, st.of = b, m.ID; st.patches && again {
		head, tail := frames.Same(told, b)
		st.tell("patch", patchForm{units(b[:head]), units(b[len(b)-tail:]), string(b[head : len(b)-tail])}, id)
		return
	}
	st.event("message", b, id)
}

// units is how long a text is in UTF-16.
func units(b []byte) (n int) {
	for _, r := range string(b) {
		n += utf16.RuneLen(r)
	}
	return n
}

func (st *stream) tell(name string, v any, id uint64) {
	b, _ := json.Marshal(v) // arguments lets nothing through that is broken
	st.event(name, b, id)
}

// event writes one event; data is JSON and so has no line break. An id of 0 writes none.
func (st *stream) event(name string, data []byte, id uint64) {
	if id > 0 {
		fmt.Fprintf(&st.buf, "id: %d\n", id)
	}
	fmt.Fprintf(&st.buf, "event: %s\ndata: %s\n\n", name, data)
}

func (st *stream) flush() error {
	if st.head {
		return http.ErrBodyNotAllowed
	}
	defer st.buf.Reset()
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.timeout)) // what stands before us may not let it through
	_, _ = st.w.Write(st.buf.Bytes())                      // what fails here fails below
	return st.rc.Flush()
}

// enter counts a stream in, unless its person has too many or the server is ending.
func (s *Server) enter(user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.life.Err() != nil:
		return problem{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "This replica is about to stop. Connect again in a moment."}
	case s.open[user] >= s.Streams:
		return problem{Status: http.StatusTooManyRequests, Code: "too_many_streams",
			Message: fmt.Sprintf("You have %d chats open already. Close one of those pages and try again.", s.Streams)}
	}
	s.open[user]++
	s.streams.Add(1)
	return nil
}

func (s *Server) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] == 0 {
		delete(s.open, user)
	}
	s.streams.Done()
}

// approvalRequired is the event of that name: R127's fields, then ours. Deployments read these names.
type approvalRequired struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Message    string          `json:"message"`    // the question
	Permission string          `json:"permission"` // RequireConfirmation, or RequireAuth: an admin has to answer
	Arguments  json.RawMessage `json:"arguments"`  // parsed; what is masked on cards is masked
	ServerName string          `json:"server_name"`
	RequestID  string          `json:"request_id"` // a call that is asked anew, after an edit or an undo, has another
	Access     string          `json:"access"`     // read | write | all
	Risk       string          `json:"risk"`       // safe | moderate | dangerous
	ExpiresAt  *time.Time      `json:"expires_at"` // when it is denied by itself; null: never
	Scopes     []string        `json:"scopes"`     // what an approval of it may say, none for what cannot be allowed here
}

// permissionEnded is permission_granted, _denied, _expired and _cancelled.
type permissionEnded struct {
	Type       string     `json:"type"`
	ChatID     string     `json:"chat_id"`
	MessageID  string     `json:"message_id"` // of the turn
	ToolCallID string     `json:"tool_call_id"`
	ToolName   string     `json:"tool_name"`
	ServerName string     `json:"server_name"`
	RequestID  string     `json:"request_id"`
	Scope      string     `json:"scope,omitempty"` // of a grant: how far it reaches
	By         string     `json:"by,omitempty"`    // who decided, or stopped the turn
	Name       string     `json:"name,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	At         *time.Time `json:"at,omitempty"`
}

type turnDone struct {
	Type      string     `json:"type"`
	ChatID    string     `json:"chat_id"`
	MessageID string     `json:"message_id"`
	TurnID    string     `json:"turn_id"`
	Why       string     `json:"why"`             // how it ended
	Say       string     `json:"say,omitempty"`   // what people are told of that
	Usage     *usageForm `json:"usage,omitempty"` // where the model's service told it
}

type usageForm struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Cached int `json:"cached_tokens,omitempty"`
}

// eventsOf derives the named events from what an entry changed: one that came too late changed nothing and is not told.
func eventsOf(id chat.ID, before, after turn.Session, e turn.Entry) (out []event) {
	was := map[turn.CallID]turn.ToolCall{}
	for _, c := range callsOf(before) {
		was[c.ID] = c
	}
	tell := func(name string, v any) {
		if b, err := json.Marshal(v); err == nil {
			out = append(out, event{e.Seq, name, b})
		}
	}
	for _, t := range after.Turns() {
		for _, c := range t.Calls {
			switch name := change(was[c.ID], c); name {
			case "":
			case "approval_required":
				tell(name, required(c))
			default:
				tell(name, ended(name, id, t, c, e.At))
			}
		}
	}
	if t := after.Last; t != nil && (before.Last == nil || before.Last.ID != t.ID) {
		d := turnDone{Type: "turn_done", ChatID: id.Key, MessageID: string(t.ID), TurnID: string(t.ID), Why: string(t.End), Say: t.EndSay}
		if t.Usage != (turn.Usage{}) {
			d.Usage = &usageForm{t.Usage.Input, t.Usage.Output, t.Usage.Cached}
		}
		tell(d.Type, d)
	}
	return out
}

// changes names what became of an asked call.
var changes = map[turn.Status]string{
	turn.Allowed: "permission_granted", turn.Denied: "permission_denied", turn.Lapsed: "permission_expired", turn.Cancelled: "permission_cancelled",
}

// change names what happened to an asked call, or "".
func change(was, is turn.ToolCall) string {
	switch asked := was.Status == turn.Awaiting; {
	case is.Status == turn.Awaiting && was.Ask != is.Ask: // each time under another one
		return "approval_required"
	case is.Status == was.Status || !was.Asked || !asked && was.Status != turn.Allowed:
		return ""
	}
	return changes[is.Status]
}

func required(c turn.ToolCall) approvalRequired {
	return approvalRequired{Type: "approval_required", ToolCallID: string(c.ID), ToolName: c.Tool.Name, Message: describe(c),
		Permission: levelName(c.Ruling), Arguments: arguments(c), ServerName: c.Tool.Server, RequestID: string(c.Ask),
		Access: accessName(c.Ruling.Access), Risk: riskName(c.Ruling.Risk), ExpiresAt: moment(c.Deadline), Scopes: scopesOf(c)}
}

func ended(name string, id chat.ID, t *turn.Turn, c turn.ToolCall, at time.Time) permissionEnded {
	p := permissionEnded{Type: name, ChatID: id.Key, MessageID: string(t.ID), ToolCallID: string(c.ID), ToolName: c.Tool.Name,
		ServerName: c.Tool.Server, RequestID: string(c.Ask), At: moment(at)}
	switch name {
	case "permission_granted":
		p.Scope = scopeName(c.Choice)
		p.By, p.Name = userForm(c.By), c.Name
	case "permission_denied":
		p.By, p.Name, p.Reason = userForm(c.By), c.Name, c.Reason
	case "permission_cancelled":
		if t.Stopped != nil {
			p.By, p.Name = userForm(t.Stopped.User), t.Stopped.Name
		}
	}
	return p
}
