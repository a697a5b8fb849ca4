package doctor

import (
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// sampleCard is a message of every shape: an answer, a step, and a question with its buttons, as people get it.
func sampleCard() []slack.Block {
	at := time.Unix(1_900_000_000, 0)
	m := render.Message{State: render.Waiting, Token: "sample", Blocks: []render.Block{
		render.Text{Markdown: "I'll read **both** files first, see <notes> & `a.txt`."},
		render.Step{Call: "one", State: render.StepDone, Title: "read_file", Server: "files", Detail: render.Line{render.Plain("0.2 s")}},
		render.Ask{
			Call: "two", Token: "sample", Kind: render.AskPermission, Header: "Allow tool call from files?", Run: "Run write_file from files", Tool: "write_file",
			Server: render.Server{Name: "files", Description: "The team's shared files", Icon: "📁"},
			Facts:  []render.Fact{{Kind: "access", Symbol: "✎", Label: "Write access"}, {Kind: "risk", Symbol: "●", Label: "moderate"}},
			Args:   render.ArgsOf([]byte(`{"content":"hello","path":"notes.txt"}`), "7f3a9c"), Question: "Write hello to notes.txt?",
			Because: render.Line{render.Plain("files asks for writes.")}, Warning: text.Warning(""), Review: text.Review,
			Choices: []render.Choice{render.NewChoice(chat.AllowChat, "sample"), render.NewChoice(chat.AllowOnce, "sample"), render.NewChoice(chat.Deny, "sample")},
			More:    []render.Choice{render.NewChoice(chat.ViewDetail, "sample")},
			Footer:  render.Line{render.Plain("Ana can answer · expires "), render.Time{At: at, Until: true}}, Expires: at,
		},
	}}
	return blocks.EncodeMessage(render.Fit(m, blocks.Limits)).Blocks
}
