package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// person is a session of the API. They may turn to another replica with at.
type person struct {
	t    testing.TB
	b    *bot
	key  string
	user string
}

// problem is an error of the API.
type problem struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	By      string     `json:"by"`
	Name    string     `json:"name"`
	Choice  string     `json:"choice"`
	At      *time.Time `json:"at"`
}

// The API's forms, read independently of the code that writes them.
type (
	chatForm struct {
		ChatID   string        `json:"chat_id"`
		Title    string        `json:"title"`
		Seq      uint64        `json:"seq"`
		State    string        `json:"state"`
		Messages []messageForm `json:"messages"`
		Pending  []pendingForm `json:"pending"`
		Queued   int           `json:"queued_messages"`
	}
	messageForm struct {
		ID        string       `json:"id"`
		Role      string       `json:"role"`
		Turn      string       `json:"turn_id"`
		Text      string       `json:"text"`
		State     string       `json:"state"`
		Live      bool         `json:"live"`
		Blocks    []blockForm  `json:"blocks"`
		Choices   []choiceForm `json:"choices"`
		ToolCalls []callForm   `json:"tool_calls"`
		Allowed   []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
			Reason string `json:"reason"`
		} `json:"permissions"`
		End *struct {
			Why string `json:"why"`
			Say string `json:"say"`
		} `json:"end"`
	}
	blockForm struct {
		Type       string       `json:"type"`
		Markdown   string       `json:"markdown"`
		ToolCallID string       `json:"tool_call_id"`
		RequestID  string       `json:"request_id"`
		State      string       `json:"state"`
		Title      string       `json:"title"`
		ServerName string       `json:"server_name"`
		Kind       string       `json:"kind"`
		Header     string       `json:"header"`
		Run        string       `json:"run"`
		Question   string       `json:"question"`
		Warning    string       `json:"warning"`
		Review     string       `json:"review"`
		Detail     []spanForm   `json:"detail"`
		Line       []spanForm   `json:"line"`
		Facts      []spanForm   `json:"facts"`
		Choices    []choiceForm `json:"choices"`
	}
	spanForm struct {
		Text   string    `json:"text"`
		Strong string    `json:"strong"`
		Person string    `json:"person"`
		Time   time.Time `json:"time"`
	}
	choiceForm struct {
		Choice string `json:"choice"`
		Token  string `json:"token"`
		Label  string `json:"label"`
		Toggle string `json:"toggle"`
	}
	callForm struct {
		ID        string          `json:"tool_call_id"`
		Server    string          `json:"server_name"`
		Tool      string          `json:"tool_name"`
		Arguments json.RawMessage `json:"arguments"`
		Status    string          `json:"status"`
		RequestID string          `json:"request_id"`
		Result    struct {
			Content    string          `json:"content"`
			Structured json.RawMessage `json:"structured"`
			IsError    bool            `json:"isError"`
			Omitted    int             `json:"omitted_bytes"`
			Requires   bool            `json:"requiresPermission"`
			Pictures   []struct {
				File string
				Type string
				Size int
			} `json:"pictures"`
		} `json:"result"`
	}
	pendingForm struct {
		Type       string          `json:"type"`
		ToolCallID string          `json:"tool_call_id"`
		ToolName   string          `json:"tool_name"`
		ServerName string          `json:"server_name"`
		RequestID  string          `json:"request_id"`
		Message    string          `json:"message"`
		Arguments  json.RawMessage `json:"arguments"`
		ExpiresAt  *time.Time      `json:"expires_at"`
	}
	decisionForm struct {
		ChatID     string    `json:"chat_id"`
		RequestID  string    `json:"request_id"`
		ToolCallID string    `json:"tool_call_id"`
		Choice     string    `json:"choice"`
		Approved   bool      `json:"approved"`
		Scope      string    `json:"scope"`
		By         string    `json:"by"`
		Name       string    `json:"name"`
		At         time.Time `json:"at"`
	}
)

// session opens a session as somebody of that name.
func (b *bot) session(name string) *person {
	b.t.Helper()
	p := &person{t: b.t, b: b}
	var out struct{ Key, User string }
	if status, no := p.call("POST", "/api/v1/sessions", map[string]string{"name": name}, &out); status != http.StatusCreated || out.Key == "" || out.User == "" {
		b.t.Fatalf("POST /sessions: %d %+v %+v", status, no, out)
	}
	p.key, p.user = out.Key, out.User
	return p
}

// sessionBy opens a session with the configured key of a person.
func (b *bot) sessionBy(key string) *person {
	b.t.Helper()
	p := &person{t: b.t, b: b, key: key}
	var out struct{ Key, User string }
	if status, no := p.call("POST", "/api/v1/sessions", nil, &out); status != http.StatusCreated || out.Key == "" || out.User == "" {
		b.t.Fatalf("POST /sessions: %d %+v %+v", status, no, out)
	}
	p.key, p.user = out.Key, out.User
	return p
}

// at is the same person at another replica.
func (p *person) at(b *bot) *person { q := *p; q.b = b; return &q }

// call makes one request. A body that is a []byte goes as it stands. A connection that breaks gives status 0.
func (p *person) call(method, path string, body, out any) (status int, no problem) {
	p.t.Helper()
	var send io.Reader
	if raw, ok := body.([]byte); ok {
		send = bytes.NewReader(raw)
	} else if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		send = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.b.addr+path, send)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	res, err := p.b.client().Do(r)
	if err != nil {
		return 0, problem{Message: err.Error()}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, problem{Message: err.Error()}
	}
	if res.StatusCode >= 400 {
		var e struct{ Error problem }
		if err := json.Unmarshal(b, &e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
			p.t.Errorf("%s %s: an error without code and message: %d %s", method, path, res.StatusCode, b)
		}
		return res.StatusCode, e.Error
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			p.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
	return res.StatusCode, problem{}
}

// room is a chat as one person has it.
type room struct {
	*person
	id string
}

// room opens a chat.
func (p *person) room() *room {
	p.t.Helper()
	var out struct {
		ChatID string `json:"chat_id"`
	}
	if status, no := p.call("POST", "/api/v1/chats", nil, &out); status != http.StatusCreated || out.ChatID == "" {
		p.t.Fatalf("POST /chats: %d %+v", status, no)
	}
	return &room{p, out.ChatID}
}

// as is the same chat for somebody else, or at another replica.
func (r *room) as(p *person) *room { return &room{p, r.id} }

func (r *room) path(rest string) string { return "/api/v1/chats/" + r.id + rest }

func (r *room) say(text string) {
	r.t.Helper()
	if status, no := r.call("POST", r.path("/messages"), map[string]string{"text": text}, nil); status != http.StatusAccepted {
		r.t.Fatalf("saying %.60q: %d %+v", text, status, no)
	}
}

func (r *room) get() chatForm {
	r.t.Helper()
	c, status, no := r.look()
	if status != http.StatusOK {
		r.t.Fatalf("GET %s: %d %+v", r.path(""), status, no)
	}
	return c
}

func (r *room) look() (c chatForm, status int, no problem) {
	r.t.Helper()
	status, no = r.call("GET", r.path(""), nil, &c)
	return c, status, no
}

// until waits for a state of the chat and returns it.
func (r *room) until(what string, yes func(chatForm) bool) (c chatForm) {
	r.t.Helper()
	defer func() {
		if r.t.Failed() {
			r.t.Logf("the chat: %s", c)
		}
	}()
	until(r.t, what, func() bool {
		c, _, _ = r.look()
		return c.ChatID != "" && yes(c)
	})
	return c
}

// waiting waits until so many asks are open.
func (r *room) waiting(n int) chatForm {
	r.t.Helper()
	return r.until(fmt.Sprintf("%d asks are open", n), func(c chatForm) bool { return len(c.Pending) == n })
}

// idle waits until everything said has its finished turn.
func (r *room) idle() chatForm {
	r.t.Helper()
	return r.until("the chat is idle", func(c chatForm) bool {
		return c.State == "idle" && c.Queued == 0 && c.last().End != nil
	})
}

// ask says something that needs one approval, and returns the ask.
func (r *room) ask(text string) pendingForm {
	r.t.Helper()
	r.say(text)
	return r.waiting(1).Pending[0]
}

// click answers an ask through the full endpoint.
func (r *room) click(request, choice string, reason ...string) (decisionForm, int, problem) {
	r.t.Helper()
	var d decisionForm
	status, no := r.call("POST", "/api/v1/asks/"+request, map[string]string{"choice": choice, "reason": strings.Join(reason, "")}, &d)
	return d, status, no
}

// mustClick answers an ask that has to take the answer.
func (r *room) mustClick(request, choice string, reason ...string) decisionForm {
	r.t.Helper()
	d, status, no := r.click(request, choice, reason...)
	if status != http.StatusOK {
		r.t.Fatalf("%s: %d %+v", choice, status, no)
	}
	return d
}

// last is the newest of the bot's messages.
func (c chatForm) last() messageForm {
	for _, m := range slices.Backward(c.Messages) {
		if m.Role == "assistant" {
			return m
		}
	}
	return messageForm{}
}

// bots are the bot's messages.
func (c chatForm) bots() (out []messageForm) {
	for _, m := range c.Messages {
		if m.Role == "assistant" {
			out = append(out, m)
		}
	}
	return out
}

// text is what the model said in a message.
func (m messageForm) text() string {
	var out []string
	for _, b := range m.Blocks {
		if b.Type == "text" {
			out = append(out, b.Markdown)
		}
	}
	return strings.Join(out, "\n")
}

// notes are the quiet lines of a message.
func (m messageForm) notes() string {
	var out []string
	for _, b := range m.Blocks {
		if b.Type == "note" {
			out = append(out, words(b.Line))
		}
	}
	return strings.Join(out, "\n")
}

// block is the first of that type for a call, or for any if call is empty.
func (m messageForm) block(kind, call string) blockForm {
	for _, b := range m.Blocks {
		if b.Type == kind && (call == "" || b.ToolCallID == call) {
			return b
		}
	}
	return blockForm{}
}

// statuses are the calls and how they stand, in order: "read_file done".
func (m messageForm) statuses() string {
	var out []string
	for _, c := range m.ToolCalls {
		out = append(out, c.Tool+" "+c.Status)
	}
	return strings.Join(out, ", ")
}

func words(line []spanForm) string {
	var out strings.Builder
	for _, s := range line {
		out.WriteString(s.Text + s.Strong + s.Person)
	}
	return out.String()
}

func labels(cs []choiceForm) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Label)
	}
	return strings.Join(out, "|")
}

// String is for failures: the chat as a person would tell it.
func (c chatForm) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %d pending, %d queued\n", c.State, len(c.Pending), c.Queued)
	for _, m := range c.Messages {
		fmt.Fprintf(&out, "%s %s %q [%s] %q notes %q\n", m.Role, m.State, m.Text, m.statuses(), m.text(), m.notes())
		for _, b := range m.Blocks {
			if b.Type == "step" || b.Type == "ask" {
				fmt.Fprintf(&out, "  %s %s%s %s · %s\n", b.Type, b.State, b.Kind, b.Title+b.Header, words(b.Detail))
			}
		}
	}
	return out.String()
}
