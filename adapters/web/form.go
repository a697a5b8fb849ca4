package web

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/markdown"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// messageForm is a message as the API shows it; stored types may change without it. It is never changed once others can see it.
type messageForm struct {
	ID   string `json:"id"`
	Chat string `json:"chat_id"`
	// Number orders the messages of a chat: a stream may tell a later one first.
	Number int       `json:"number"`
	Role   string    `json:"role"` // user | assistant
	Turn   string    `json:"turn_id,omitempty"`
	At     time.Time `json:"at"`

	// Of a person:
	User   string     `json:"user,omitempty"`
	Name   string     `json:"name,omitempty"`
	Text   string     `json:"text,omitempty"`
	Files  []fileForm `json:"files,omitempty"`
	Queued bool       `json:"queued,omitempty"` // it waits for its turn
	Taken  bool       `json:"taken_back,omitempty"`

	// Of the bot:
	State       string           `json:"state,omitempty"` // working | waiting | done | failed | stopped
	Blocks      []blockForm      `json:"blocks,omitempty"`
	Choices     []choiceForm     `json:"choices,omitempty"`
	ToolCalls   []callForm       `json:"tool_calls,omitempty"`
	Permissions []permissionForm `json:"permissions,omitempty"`
	End         *endForm         `json:"end,omitempty"`
	Live        bool             `json:"live,omitempty"` // a frame between two entries of the log
}

type endForm struct {
	Why string    `json:"why"`
	Say string    `json:"say,omitempty"`
	At  time.Time `json:"at"`
}

// blockForm is any of the neutral blocks; Type says which.
type blockForm struct {
	Type string `json:"type"` // text | code | step | ask | note

	Markdown string          `json:"markdown,omitempty"` // text: untrusted
	Cut      bool            `json:"cut,omitempty"`
	Nodes    []markdown.Node `json:"nodes,omitempty"` // text, on request: the same parsed

	Language string `json:"language,omitempty"` // code
	Source   string `json:"source,omitempty"`

	ToolCallID string     `json:"tool_call_id,omitempty"` // step, ask
	State      string     `json:"state,omitempty"`        // step
	Mark       string     `json:"mark,omitempty"`         // step: its symbol, and what that means
	MarkWord   string     `json:"mark_word,omitempty"`
	Title      string     `json:"title,omitempty"`
	ServerName string     `json:"server_name,omitempty"`
	Detail     []spanForm `json:"detail,omitempty"`

	RequestID string       `json:"request_id,omitempty"` // ask
	Kind      string       `json:"kind,omitempty"`       // permission | outcome | input
	Header    string       `json:"header,omitempty"`
	Run       string       `json:"run,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"`
	Icon      string       `json:"icon,omitempty"`
	Brief     bool         `json:"brief,omitempty"` // a row of a list
	Question  string       `json:"question,omitempty"`
	Says      string       `json:"says,omitempty"` // what a server writes: untrusted
	Arguments *argsForm    `json:"arguments,omitempty"`
	Facts     []spanForm   `json:"facts,omitempty"`
	Warning   string       `json:"warning,omitempty"`
	Review    string       `json:"review,omitempty"`
	More      []choiceForm `json:"more,omitempty"`
	Footer    []spanForm   `json:"footer,omitempty"`
	ExpiresAt *time.Time   `json:"expires_at,omitempty"`

	Line    []spanForm   `json:"line,omitempty"` // note
	Choices []choiceForm `json:"choices,omitempty"`
}

type argsForm struct {
	JSON     string    `json:"json"`
	Diff     string    `json:"diff,omitempty"` // where a text is replaced: what of it goes ("- ") and comes ("+ "), below the other arguments
	Rows     []rowForm `json:"rows,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Chars    int       `json:"chars"`
	Hidden   int       `json:"hidden,omitempty"`
	Escaped  int       `json:"escaped,omitempty"`
	Redacted int       `json:"redacted,omitempty"`
	Say      string    `json:"say"`            // whether it is all there, and what was made visible or masked
	Edit     string    `json:"edit,omitempty"` // JSON to be changed, where that is offered, with hidden characters as \u{...}
}

type rowForm struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Hidden int    `json:"hidden,omitempty"`
}

// spanForm has exactly one of its groups set.
type spanForm struct {
	Text   string     `json:"text,omitempty"`
	Strong string     `json:"strong,omitempty"`
	Person string     `json:"person,omitempty"` // display name
	User   string     `json:"user,omitempty"`
	Time   *time.Time `json:"time,omitempty"`
	Until  bool       `json:"until,omitempty"` // draw the time left
}

type choiceForm struct {
	Choice string `json:"choice"`
	Token  string `json:"token,omitempty"`
	Label  string `json:"label"`
	Hint   string `json:"hint,omitempty"`
	Style  string `json:"style,omitempty"`
	// Confirm is to be said before the choice is sent, which a person then has to confirm.
	Confirm string `json:"confirm,omitempty"`
	Toggle  string `json:"toggle,omitempty"` // off | on: a checkbox, which decides nothing
}

// draw gives a neutral message its API form.
func draw(m render.Message) (state string, blocks []blockForm, choices []choiceForm) {
	return string(m.State), each(m.Blocks, drawBlock), drawChoices(m.Choices)
}

// each draws a list; nil is drawn as nil.
func each[A, B any](list []A, draw func(A) B) (out []B) {
	for _, x := range list {
		out = append(out, draw(x))
	}
	return out
}

func drawBlock(b render.Block) blockForm {
	switch b := b.(type) {
	case render.Text:
		return blockForm{Type: "text", Markdown: b.Markdown, Cut: b.Cut}
	case render.Code:
		return blockForm{Type: "code", Language: b.Language, Source: b.Source}
	case render.Step:
		return blockForm{Type: "step", ToolCallID: b.Call, State: string(b.State), Mark: render.Mark(b.State), MarkWord: render.MarkWord(b.State), Title: b.Title, ServerName: b.Server,
			Detail: drawLine(b.Detail), Choices: drawChoices(b.Choices)}
	case render.Ask:
		a := b.Args
		rows := each(a.Rows, func(r render.Row) rowForm { return rowForm(r) })
		return blockForm{Type: "ask", ToolCallID: b.Call, RequestID: b.Token, Kind: string(b.Kind), Header: b.Header, Run: b.Run,
			ToolName: b.Tool, ServerName: b.Server, Icon: b.Icon, Brief: b.Brief, Question: b.Question, Says: b.Says,
			Arguments: &argsForm{a.JSON, a.Diff, rows, a.Digest, a.Chars, a.Hidden, a.Escaped, a.Redacted, a.Say(), a.Edit}, Facts: drawLine(b.Facts),
			Choices: drawChoices(b.Choices), More: drawChoices(b.More), Footer: drawLine(b.Footer), Warning: b.Warning, Review: b.Review, ExpiresAt: moment(b.Expires)}
	case render.Note:
		return blockForm{Type: "note", Line: drawLine(b.Line), Choices: drawChoices(b.Choices)}
	}
	// A block that this build cannot draw is said, never dropped.
	return blockForm{Type: "note", Line: []spanForm{{Text: sayUndrawable}}}
}

func drawLine(l render.Line) (out []spanForm) {
	for _, s := range l {
		switch s := s.(type) {
		case render.Plain:
			out = append(out, spanForm{Text: string(s)})
		case render.Strong:
			out = append(out, spanForm{Strong: string(s)})
		case render.Person:
			out = append(out, spanForm{Person: cmp.Or(text.Prose(s.Name), s.User.String()), User: userForm(s.User)})
		case render.Time:
			out = append(out, spanForm{Time: moment(s.At), Until: s.Until})
		case render.Channel:
			out = append(out, spanForm{Text: render.PlainLine(render.Line{s})})
		}
	}
	return out
}

var toggles = map[render.Toggle]string{render.ToggleOff: "off", render.ToggleOn: "on"}

func drawChoices(cs []render.Choice) []choiceForm {
	return each(cs, func(c render.Choice) choiceForm {
		return choiceForm{string(c.Choice), c.Token, c.Label, c.Hint, string(c.Style), c.Confirm, toggles[c.Toggle]}
	})
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func userForm(u chat.User) string {
	if u.IsZero() {
		return ""
	}
	return u.String()
}

// parsed returns m with the Markdown of its texts parsed, for the page.
func (m messageForm) parsed() messageForm {
	m.Blocks = each(m.Blocks, func(b blockForm) blockForm {
		if b.Type == "text" {
			b.Nodes = markdown.Parse(b.Markdown)
		}
		return b
	})
	return m
}

// maxStreamed is how many bytes of a tool's result each message event carries; the chat itself has the result in full.
const maxStreamed = 16 << 10

// brief returns m with long results shortened, saying by how much.
func (m messageForm) brief() messageForm {
	m.ToolCalls = each(m.ToolCalls, func(c callForm) callForm {
		if r, _ := c.Result.(resultForm); len(r.Content)+len(r.Structured) > maxStreamed {
			head := strings.ToValidUTF8(r.Content[:min(len(r.Content), maxStreamed)], "")
			r.Omitted += len(r.Content) - len(head) + len(r.Structured)
			r.Content, r.Structured = head, nil
			c.Result = r
		}
		return c
	})
	return m
}
