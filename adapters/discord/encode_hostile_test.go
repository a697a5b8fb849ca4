package discord

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// A hostile message: anything that a model, a tool, a server or a person could make of one.

var nasty = []string{
	"<@111111111111111111>", "<@!1>", "<@&222222222222222222>", "<#3>", "</stop:4>", "<id:customize>", "<a:wave:5>", "<:x:6>", "<t:1795269720:R>", "@everyone", "@here", ":tada:",
	"<https://evil.example>", "https://evil.example/?q=secret", "http://good.example/", "https://docs.example/a_b", "steam://run/1", "discord://-/x", "discord.gg/abc", "https://good.example@evil.example", "https:", "//",
	"[https://good.example](https://evil.example)", "[a](https://docs.example)", "[good.example](<https://docs.example>)", "[🎉](https://good.example 't')", "![x](https://evil.example/p.png)", "[", "](", ")", "]",
	"```", "````", "``", "`", "~~~", "**", "*", "***", "_", "__", "~~", "~", "||", "|", "> ", ">>> ", "-# ", "# ", "#### ", "- ", "1. ", "\n- ", "- [x] ", "\n> ", "\n-# ", "\n### ", "\n```\n", "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
	"\n", "\n\n", "    ", "  ", "&lt;@1&gt;", "&#8238;", "\u200b", "\u202e", "\U000E0041", "😀", "é", "中", "\\", "\"", "{", "}", "<", ">", "&", "\x00", "\xff", "\t", "snake_case", "word", "10:30",
	"<b>", "</details>", "attachment://x", "✓ write_file · files · allowed by policy", "### Allow tool call from files?",
}

func nastyText(t *rapid.T, name string) string {
	s := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(nasty), rapid.StringN(0, 12, -1)), 0, 8).Draw(t, name), "")
	switch rapid.IntRange(0, 19).Draw(t, name+" long") {
	case 0:
		s = strings.Repeat(s+"x", rapid.IntRange(1, 300).Draw(t, name+" times"))
	case 1:
		s = strings.Repeat(rapid.SampledFrom([]string{"<", "&", "`", "\"", "\n", "😀", "\\", "\x00", "中", "*", "_", "- a\n"}).Draw(t, name+" of"), rapid.IntRange(1, 12_000).Draw(t, name+" times"))
	}
	return s
}

func nastyLine(t *rapid.T, name string) render.Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Span {
		switch rapid.IntRange(0, 5).Draw(t, "span") {
		case 0:
			return render.Strong(nastyText(t, "strong"))
		case 1:
			return render.Person{User: chat.User{Platform: rapid.SampledFrom([]string{Platform, "web"}).Draw(t, "platform"), Key: rapid.SampledFrom([]string{"111111111111111111", "&222222222222222222", "@everyone", "", "1>", "18446744073709551616000"}).Draw(t, "key")}, Name: nastyText(t, "name")}
		case 2:
			return render.Time{At: time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0)}
		}
		return render.Plain(nastyText(t, "plain"))
	}), 0, 14).Draw(t, name)
}

func nastyChoices(t *rapid.T, token string, most int) []render.Choice {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Choice {
		return render.Choice{
			Choice: rapid.SampledFrom([]chat.Choice{chat.AllowOnce, chat.AllowChat, chat.Undo, chat.AskAgain, chat.ViewDetail, chat.Extend, chat.DenyReason, chat.Edit,
				chat.AllowPath, chat.AllowSession, chat.Remember, chat.Why, chat.AskFor, chat.Answer, chat.Decline, chat.Open}).Draw(t, "choice"),
			Token: token, Label: nastyText(t, "label"), Hint: nastyText(t, "hint"), Style: rapid.SampledFrom([]render.Style{render.Neutral, render.Danger, "primary"}).Draw(t, "style"),
			Confirm: rapid.SampledFrom([]string{"", "Really?"}).Draw(t, "confirm"), Toggle: rapid.SampledFrom([]render.Toggle{render.NoToggle, render.NoToggle, render.ToggleOff, render.ToggleOn}).Draw(t, "toggle"),
		}
	}), 0, most).Draw(t, "choices")
}

func nastyMessage(t *rapid.T) render.Message {
	calls := 0
	id := func() string {
		calls++
		return strings.Repeat("k", rapid.SampledFrom([]int{1, 61}).Draw(t, "token length")) + strconv.Itoa(calls)
	}
	m := render.Message{Hosts: []string{"good.example"}, State: rapid.SampledFrom([]render.State{render.Working, render.Waiting, render.Done, "odd"}).Draw(t, "state"), Token: rapid.SampledFrom([]string{"", "turn"}).Draw(t, "token")}
	for range rapid.IntRange(0, 3).Draw(t, "texts") {
		m.Blocks = append(m.Blocks, render.Text{Markdown: nastyText(t, "text"), Cut: rapid.Bool().Draw(t, "cut")})
	}
	if rapid.IntRange(0, 4).Draw(t, "code") == 0 {
		m.Blocks = append(m.Blocks, render.Code{Language: nastyText(t, "language"), Source: nastyText(t, "source")})
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 5, 60}).Draw(t, "steps") {
		call := id()
		m.Blocks = append(m.Blocks, render.Step{Call: call, State: rapid.SampledFrom([]render.StepState{render.StepDone, render.StepRunning, render.StepExpired, render.StepDenied, render.StepFailed, render.StepUnknown, "odd"}).Draw(t, "state"),
			Title: nastyText(t, "title"), Server: nastyText(t, "server"), Detail: nastyLine(t, "detail"), Choices: nastyChoices(t, call, 2)})
	}
	if rapid.Bool().Draw(t, "note") {
		m.Blocks = append(m.Blocks, render.Note{Line: nastyLine(t, "note"), Choices: nastyChoices(t, id(), 2)})
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3, 12}).Draw(t, "asks") {
		m.Blocks = append(m.Blocks, nastyAsk(t, id()))
	}
	for _, c := range []chat.Choice{chat.ApproveAll, chat.DenyAll, chat.Stop} {
		if rapid.Bool().Draw(t, string(c)) {
			m.Choices = append(m.Choices, render.Choice{Choice: c, Token: "batch", Label: nastyText(t, "label"), Style: render.Danger})
		}
	}
	return m
}

func nastyAsk(t *rapid.T, token string) render.Ask {
	a := render.Ask{Call: token, Token: token, Kind: rapid.SampledFrom([]render.AskKind{render.AskPermission, render.AskInput}).Draw(t, "kind"), Header: nastyText(t, "header"), Run: nastyText(t, "run"), Tool: nastyText(t, "tool"),
		Server:   render.Server{Name: nastyText(t, "server name"), Description: nastyText(t, "description"), Icon: rapid.SampledFrom([]string{"", "⚒", "https://a.example/i.png", "javascript:x", "https://" + strings.Repeat("a", 5000), "http://a.example/i.png"}).Draw(t, "icon")},
		Question: nastyText(t, "question"), Describes: nastyText(t, "describes"), Impact: nastyText(t, "impact"), Because: nastyLine(t, "because"), Model: nastyText(t, "model"),
		Warning: nastyText(t, "warning"), Review: nastyText(t, "review"), Footer: nastyLine(t, "footer"), Expires: time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "expires"), 0), More: nastyChoices(t, token, 16)}
	for range rapid.IntRange(0, 4).Draw(t, "facts") {
		a.Facts = append(a.Facts, render.Fact{Symbol: "⚠️", Label: nastyText(t, "fact")})
	}
	raw := fmt.Sprintf(`{"a":%s,%q:1}`, strconv.QuoteToASCII(nastyText(t, "args")), "b")
	if rapid.IntRange(0, 9).Draw(t, "huge") == 0 {
		raw = `{"a":"` + strings.Repeat(rapid.SampledFrom([]string{"<&", "x", "`", "中"}).Draw(t, "filler"), 100_000) + `"}`
	}
	a.Args = render.ArgsOf([]byte(raw), strings.Repeat("7f3a", 16))
	a.Choices = append(nastyChoices(t, token, 4), render.Choice{Choice: chat.Deny, Token: token, Label: render.LabelDeny, Style: render.Danger})
	return a
}

// nastyMarkdown is an answer: pieces of markup put together.
func nastyMarkdown(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 30).Draw(t, "pieces"), rapid.SampledFrom([]string{"", "", " ", "\n"}).Draw(t, "between"))
}
