package slack

import (
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// sampleCard is a message of every shape: an answer, a step, and a question with its buttons, as people get it.
func sampleCard() []slack.Block {
	at := time.Unix(1_900_000_000, 0)
	choice := func(c chat.Choice, label string, style render.Style) render.Choice {
		return render.Choice{Choice: c, Token: "sample", Label: label, Style: style}
	}
	m := render.Message{State: render.Waiting, Token: "sample", Blocks: []render.Block{
		render.Text{Markdown: "I'll read **both** files first, see <notes> & `a.txt`."},
		render.Step{Call: "one", State: render.StepDone, Title: "read_file", Server: "files", Detail: render.Line{render.Plain("0.2 s")}},
		render.Ask{
			Call: "two", Token: "sample", Kind: render.AskPermission, Header: "Allow tool call from files?", Run: "Run write_file from files", Tool: "write_file",
			Server: render.Server{Name: "files", Description: "The team's shared files", Icon: "📁"},
			Facts:  []render.Fact{{Kind: "access", Symbol: "✎", Label: "Write access"}, {Kind: "risk", Symbol: "●", Label: "moderate"}},
			Args:   render.ArgsOf([]byte(`{"content":"hello","path":"notes.txt"}`), "7f3a9c"), Question: "Write hello to notes.txt?",
			Because: render.Line{render.Plain("files asks for writes.")}, Warning: render.Warning(""), Review: render.Review,
			Choices: []render.Choice{choice(chat.AllowChat, "Allow for this chat", ""), choice(chat.AllowOnce, "Allow once", ""), choice(chat.Deny, "Deny", render.Danger)},
			More:    []render.Choice{choice(chat.ViewDetail, "View details", "")},
			Footer:  render.Line{render.Plain("Ana can answer · expires "), render.Time{At: at, Until: true}}, Expires: at,
		},
	}}
	return encode(render.Fit(m, limits)).Blocks
}
