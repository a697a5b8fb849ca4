package looks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Hostile makes messages of anything that a model, a tool, a server or a person could make of one, for a platform.
type Hostile struct {
	Platform string
	Pieces   []string // of the platform's markup, and of what surrounds it
	Repeated []string // beside what is repeated for every platform
	People   []string // keys of users
	Hosts    []string
	Choices  []chat.Choice // beside those of every platform
	Confirm  []string      // beside none
	Toggles  []render.Toggle
	Kinds    []render.AskKind // beside the permission
	More     int              // choices behind ⋯ at most
}

// Text is words, with pieces of markup in them, and now and then far too many.
func (h Hostile) Text(t *rapid.T, name string) string {
	s := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(h.Pieces), rapid.StringN(0, 12, -1)), 0, 8).Draw(t, name), "")
	switch rapid.IntRange(0, 19).Draw(t, name+" long") {
	case 0:
		s = strings.Repeat(s+"x", rapid.IntRange(1, 300).Draw(t, name+" times"))
	case 1:
		s = strings.Repeat(rapid.SampledFrom(append([]string{"<", "&", "`", "\"", "\n", "😀", "\\", "\x00"}, h.Repeated...)).Draw(t, name+" of"), rapid.IntRange(1, 12_000).Draw(t, name+" times"))
	}
	return s
}

// Line is a line of any spans.
func (h Hostile) Line(t *rapid.T, name string) render.Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Span {
		switch rapid.IntRange(0, 5).Draw(t, "span") {
		case 0:
			return render.Strong(h.Text(t, "strong"))
		case 1:
			return render.Person{User: chat.User{Platform: rapid.SampledFrom([]string{h.Platform, "web"}).Draw(t, "platform"), Key: rapid.SampledFrom(h.People).Draw(t, "key")}, Name: h.Text(t, "name")}
		case 2:
			return render.Time{At: time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0)}
		}
		return render.Plain(h.Text(t, "plain"))
	}), 0, 14).Draw(t, name)
}

func (h Hostile) choices(t *rapid.T, token string, most int) []render.Choice {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Choice {
		return render.Choice{
			Choice: rapid.SampledFrom(append([]chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Undo, chat.AskAgain, chat.ViewDetail, chat.Extend, chat.DenyReason, chat.Edit}, h.Choices...)).Draw(t, "choice"),
			Token:  token, Label: h.Text(t, "label"), Hint: h.Text(t, "hint"), Style: rapid.SampledFrom([]render.Style{render.Neutral, render.Danger, "primary"}).Draw(t, "style"),
			Confirm: rapid.SampledFrom(append([]string{""}, h.Confirm...)).Draw(t, "confirm"), Toggle: rapid.SampledFrom(append([]render.Toggle{render.NoToggle}, h.Toggles...)).Draw(t, "toggle"),
		}
	}), 0, most).Draw(t, "choices")
}

// Message is any message.
func (h Hostile) Message(t *rapid.T) render.Message {
	calls := 0
	id := func() string {
		calls++
		return strings.Repeat("k", rapid.SampledFrom([]int{1, 61}).Draw(t, "token length")) + strconv.Itoa(calls)
	}
	m := render.Message{Hosts: h.Hosts, State: rapid.SampledFrom([]render.State{render.Working, render.Waiting, render.Done, "odd"}).Draw(t, "state"), Token: rapid.SampledFrom([]string{"", "turn"}).Draw(t, "token")}
	for range rapid.IntRange(0, 3).Draw(t, "texts") {
		m.Blocks = append(m.Blocks, render.Text{Markdown: h.Text(t, "text"), Cut: rapid.Bool().Draw(t, "cut")})
	}
	if rapid.IntRange(0, 4).Draw(t, "code") == 0 {
		m.Blocks = append(m.Blocks, render.Code{Language: h.Text(t, "language"), Source: h.Text(t, "source")})
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 5, 60}).Draw(t, "steps") {
		call := id()
		m.Blocks = append(m.Blocks, render.Step{Call: call, State: rapid.SampledFrom([]render.StepState{render.StepDone, render.StepRunning, render.StepExpired, render.StepDenied, render.StepFailed, render.StepUnknown, "odd"}).Draw(t, "state"),
			Title: h.Text(t, "title"), Server: h.Text(t, "server"), Detail: h.Line(t, "detail"), Choices: h.choices(t, call, 2)})
	}
	if rapid.Bool().Draw(t, "note") {
		m.Blocks = append(m.Blocks, render.Note{Line: append(render.Line{render.Plain("-")}, h.Line(t, "note")...), Choices: h.choices(t, id(), 2)})
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3, 12}).Draw(t, "asks") {
		m.Blocks = append(m.Blocks, h.ask(t, id()))
	}
	if len(m.Blocks) == 0 { // where there is nothing to say nothing is sent
		m.Blocks = append(m.Blocks, render.Text{Markdown: "-"})
	}
	for _, c := range []chat.Choice{chat.ApproveAll, chat.DenyAll, chat.Stop} {
		if rapid.Bool().Draw(t, string(c)) {
			m.Choices = append(m.Choices, render.Choice{Choice: c, Token: "batch", Label: h.Text(t, "label"), Style: render.Danger})
		}
	}
	return m
}

func (h Hostile) ask(t *rapid.T, token string) render.Ask {
	a := render.Ask{Call: token, Token: token, Kind: rapid.SampledFrom(append([]render.AskKind{render.AskPermission}, h.Kinds...)).Draw(t, "kind"), Header: h.Text(t, "header"), Run: h.Text(t, "run"), Tool: h.Text(t, "tool"),
		Brief: rapid.Bool().Draw(t, "brief"), Server: h.Text(t, "server name"), Icon: rapid.SampledFrom([]string{"", "⚒", "https://a.example/i.png", "javascript:x", "https://" + strings.Repeat("a", 5000), "http://a.example/i.png"}).Draw(t, "icon"),
		Question: h.Text(t, "question"), Says: h.Text(t, "says"), Facts: h.Line(t, "facts"),
		Warning: h.Text(t, "warning"), Review: h.Text(t, "review"), Footer: h.Line(t, "footer"), Expires: time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "expires"), 0), More: h.choices(t, token, h.More)}
	raw := fmt.Sprintf(`{"a":%s,%q:1}`, strconv.QuoteToASCII(h.Text(t, "args")), "b")
	if rapid.IntRange(0, 9).Draw(t, "huge") == 0 {
		raw = `{"a":"` + strings.Repeat(rapid.SampledFrom([]string{"<&", "x", "`", "中"}).Draw(t, "filler"), 100_000) + `"}`
	}
	a.Args = render.ArgsOf([]byte(raw), strings.Repeat("7f3a", 16))
	a.Choices = append(h.choices(t, token, 4), render.Choice{Choice: chat.Deny, Token: token, Label: text.LabelDeny, Style: render.Danger})
	return a
}
