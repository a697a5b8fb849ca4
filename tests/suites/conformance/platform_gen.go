package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Messages as the engine could make them, with whatever models, tools and people may have written in them. Labels are ours and
// never empty; a choice stands once on an ask.

func words(t *rapid.T, name string) string {
	switch rapid.IntRange(0, 11).Draw(t, name+" kind") {
	case 0, 1:
		return ""
	case 2:
		return rapid.SampledFrom(hostile).Draw(t, name)
	case 3:
		one := rapid.StringOfN(rapid.RuneFrom([]rune("ab \n`~#\"{}é中😀\u200b&<>*_|[]()\\")), 1, 60, -1).Draw(t, name)
		return strings.Repeat(one, rapid.IntRange(1, 400).Draw(t, name+" times"))
	case 4:
		return rapid.String().Draw(t, name)
	case 5:
		return rapid.SampledFrom([]string{" ", "\n", "\t\n ", "\u200b", "\u00a0", "\u3164", "\x00", "😀", "`", "```", "#", "- ", "|", "\xff"}).Draw(t, name)
	}
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab \n`é中😀&<>*_")), 0, 60, -1).Draw(t, name)
}

// short is what a name or a label may be: something that can be read.
func short(t *rapid.T, name string) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("abc &<>`*é中😀(…)")), 0, 60, -1).Draw(t, name) + "x"
}

func (p *stage) anyLine(t *rapid.T, name string) render.Line {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) render.Span {
		switch rapid.IntRange(0, 5).Draw(t, "span") {
		case 0:
			return render.Strong(words(t, "strong"))
		case 1:
			who := rapid.SampledFrom([]chat.User{p.People[Ana], p.People[Ben], {Platform: "web", Key: "u"}, {}}).Draw(t, "who")
			return render.Person{User: who, Name: words(t, "name")}
		case 2:
			return render.Time{At: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0), Until: rapid.Bool().Draw(t, "until")}
		}
		return render.Plain(words(t, "plain"))
	}), 0, 5).Draw(t, name)
}

func anyChoices(t *rapid.T, token string, from ...chat.Choice) []render.Choice {
	var out []render.Choice
	for _, c := range from {
		if rapid.Bool().Draw(t, string(c)) {
			style := render.Neutral
			if c == chat.Deny {
				style = render.Danger
			}
			out = append(out, render.Choice{Choice: c, Token: token, Label: short(t, "label"), Hint: words(t, "hint"), Style: style})
		}
	}
	return out
}

func (p *stage) anyMessage(t *rapid.T) render.Message {
	calls := 0
	block := rapid.Custom(func(t *rapid.T) render.Block {
		calls++
		id := fmt.Sprint("c", calls)
		switch rapid.IntRange(0, 7).Draw(t, "block") {
		case 0, 1:
			return render.Text{Markdown: words(t, "text"), Cut: rapid.Bool().Draw(t, "cut")}
		case 2:
			return render.Code{Language: rapid.SampledFrom([]string{"", "go", "a`b\nc"}).Draw(t, "language"), Source: words(t, "code")}
		case 3, 4:
			states := []render.StepState{render.StepPending, render.StepWaiting, render.StepRunning, render.StepDone, render.StepFailed, render.StepDenied, render.StepExpired, render.StepUnknown, "odd"}
			return render.Step{Call: id, State: rapid.SampledFrom(states).Draw(t, "state"), Title: words(t, "title"), Server: words(t, "server"), Detail: p.anyLine(t, "detail"),
				Choices: anyChoices(t, id, chat.AskAgain, chat.Undo)}
		case 5:
			return render.Note{Line: p.anyLine(t, "note"), Choices: anyChoices(t, "grant-"+id, chat.Revoke)}
		}
		return p.anyAsk(t, id)
	})
	states := []render.State{render.Working, render.Waiting, render.Done, render.Failed, render.Stopped}
	m := render.Message{State: rapid.SampledFrom(states).Draw(t, "state"), Token: rapid.SampledFrom([]string{"", "turn"}).Draw(t, "token"), Blocks: rapid.SliceOfN(block, 1, 40).Draw(t, "blocks")}
	m.Choices = anyChoices(t, "batch", chat.ApproveAll, chat.DenyAll, chat.Stop)
	return m
}

func (p *stage) anyAsk(t *rapid.T, id string) render.Ask {
	token := "ask-" + id
	a := render.Ask{Call: id, Token: token, Kind: rapid.SampledFrom([]render.AskKind{render.AskPermission, render.AskOutcome}).Draw(t, "kind"),
		Header: text.AllowHeader(words(t, "header")), Run: words(t, "run"), Tool: words(t, "tool"),
		Server: words(t, "server"), Icon: rapid.SampledFrom([]string{"", "🗂", "https://evil.example/i.png", "x"}).Draw(t, "icon"), Brief: rapid.Bool().Draw(t, "brief"),
		Question: words(t, "question"), Says: words(t, "says"), Facts: p.anyLine(t, "facts"),
		Warning: words(t, "warning"), Review: words(t, "review"), Footer: p.anyLine(t, "footer")}
	args := map[string]string{}
	for i := range rapid.IntRange(0, 6).Draw(t, "members") {
		args[fmt.Sprint("n", i, words(t, "key"))] = words(t, "value")
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	a.Args = render.ArgsOf(raw, strings.Repeat("7f3a", 16))
	if rapid.Bool().Draw(t, "rowless") {
		a.Args.Rows = nil
	}
	if a.Kind == render.AskOutcome {
		a.Choices = append(anyChoices(t, token, chat.Happened, chat.RunAgain), render.Choice{Choice: chat.Leave, Token: token, Label: text.LabelLeave})
	} else {
		a.Choices = append(anyChoices(t, token, chat.AllowChat, chat.AllowOnce), render.Choice{Choice: chat.Deny, Token: token, Label: text.LabelDeny, Style: render.Danger})
	}
	a.More = anyChoices(t, token, chat.ViewDetail, chat.DenyReason, chat.Edit, chat.Extend, chat.Stop)
	return a
}
