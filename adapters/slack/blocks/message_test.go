package blocks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// clicksOn are what Slack would send for a click on each button and option.
func clicksOn(p Message) (out []slack.BlockAction) {
	var block string
	visit(decoded(rawJSON(p.Blocks)), "", func(_, kind string, n map[string]any) {
		id, _ := n["action_id"].(string)
		if at, ok := n["block_id"].(string); ok {
			block = at
		}
		switch kind {
		case "button":
			v, _ := n["value"].(string)
			out = append(out, slack.BlockAction{ActionID: id, Type: "button", Value: v, BlockID: block})
		case "feedback_buttons":
			for _, k := range []string{"positive_button", "negative_button"} {
				v, _ := field(n, k+".value")
				out = append(out, slack.BlockAction{ActionID: id, Type: "feedback_buttons", Value: v.(string)})
			}
		case "checkboxes": // an empty list when it is unticked
			out = append(out, slack.BlockAction{ActionID: id, Type: "checkboxes"})
		case "overflow", "static_select":
			for _, o := range n["options"].([]any) {
				v, _ := o.(map[string]any)["value"].(string)
				out = append(out, slack.BlockAction{ActionID: id, Type: slack.ActionType(kind), SelectedOption: slack.OptionBlockObject{Value: v}})
			}
		}
	})
	return out
}

// Whatever a turn holds: after Fit it is a payload that Slack takes, and every choice of every ask that is shown is in it.
func TestEveryMessageIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(hostile.Message(t), Limits)
		p := EncodeMessage(m)
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		if again := EncodeMessage(m); string(rawJSON(again)) != string(rawJSON(p)) {
			t.Fatal("the same message gave other bytes")
		}
		looks.KeepsAsks(t, m, reachable(t, m, p))
	})
}

// A message that keeps the floor has each of its choices in the payload.
func TestEveryChoiceIsDrawn(t *testing.T) {
	for name, m := range states() {
		m = render.Fit(m, Limits)
		if got, want := reachable(t, m, EncodeMessage(m)), looks.Offered(m); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", name, got, want)
		}
	}
}

// Deny alone stands out, and the order is the documents' (R74, R89).
// R74 R89
func TestButtonsOfAnAsk(t *testing.T) {
	p := EncodeMessage(states()["asking"])
	var labels, styles, names []string
	visit(decoded(rawJSON(p.Blocks)), "", func(_, kind string, n map[string]any) {
		if kind != "button" {
			return
		}
		l, _ := field(n, "text.text")
		labels = append(labels, l.(string))
		styles = append(styles, fmt.Sprint(n["style"]))
		names = append(names, fmt.Sprint(n["accessibility_label"]))
	})
	if want := []string{"Allow for this chat", "Allow once", "Deny"}; !slices.Equal(labels, want) {
		t.Errorf("%q", labels)
	}
	if want := []string{"<nil>", "<nil>", "danger"}; !slices.Equal(styles, want) {
		t.Errorf("%q", styles)
	}
	if names[0] != text.HintAllowChat {
		t.Errorf("accessible name %q", names[0])
	}
	loud := states()["asking"]
	loud.Choices = []render.Choice{{Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: render.Danger}, {Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: "primary"}}
	if s := string(rawJSON(EncodeMessage(loud).Blocks)); strings.Count(s, `"style"`) != 1 || strings.Contains(s, "primary") {
		t.Error("something but Deny stands out")
	}
}

// The words of R69, R70, R72 and R73 are in the card, and two cards can be told apart by ear.
// R69 R70 R72 R73 R78 R93
func TestWordsOfAnAsk(t *testing.T) {
	said := dump(EncodeMessage(states()["asking"]))
	for _, want := range []string{"⚠️ Allow tool call from files? · Run write_file from files\n", "# Write hello to notes.txt?\n", "⚠️ changes things · not classified yet\n", text.Warning("nod") + " *" + text.Review + "*",
		"path: notes.txt\n", "content: hello\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if s := string(rawJSON(EncodeMessage(states()["several"]).Blocks)); strings.Count(s, "Deny: Write hello to notes.txt?") != 3 {
		t.Error("the three Deny sound alike")
	}
	for _, done := range []string{"decided", "denied", "expired"} {
		if s := dump(EncodeMessage(states()[done])); strings.Contains(s, "Allow tool call") || strings.Contains(s, text.Review) {
			t.Errorf("%s still shows a card", done)
		}
	}
}

// A new revision has new block ids where it says something else, and the same where it is the same.
func TestBlockIDs(t *testing.T) {
	ids := func(p Message) (out []string) {
		for _, b := range p.Blocks {
			if b.ID() == "" {
				t.Fatalf("%T has no id", b)
			}
			out = append(out, b.ID())
		}
		return out
	}
	one, two := states()["asking"], states()["asking"]
	a := cardOf(1, `{"path":"other.txt"}`)
	two.Blocks = append(slices.Clone(two.Blocks[:2]), a)
	was, is := ids(EncodeMessage(one)), ids(EncodeMessage(two))
	if slices.Equal(was, is) || was[0] != is[0] {
		t.Errorf("%v\n%v", was, is)
	}
	if !slices.Equal(was, ids(EncodeMessage(one))) {
		t.Error("not the same twice")
	}
}

var (
	liveToken = regexp.MustCompile(`<[^>]*>`)
	ourToken  = regexp.MustCompile(`^<(@[UW][A-Z0-9]+|!date\^\d+\^\{time\}\|\d\d:\d\d UTC)>$`)
)

// Nothing that people, models, servers or tools wrote becomes a mention, a disguised link or a button.
func TestWordsStayWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(hostile.Message(t), Limits)
		p := EncodeMessage(m)
		inert(t, p)
		allowed := map[string]bool{}
		for _, s := range looks.Offered(m) {
			allowed[s] = true
		}
		for _, s := range pressable(t, p) {
			if c, _, _ := strings.Cut(s, " "); !allowed[s] && c != string(chat.ViewDetail) {
				t.Fatalf("a button from nowhere: %s", s)
			}
		}
		if strings.ContainsAny(p.Text, "<>") {
			t.Fatalf("the fallback is alive: %q", p.Text)
		}
		note := encodeNote(m, "https://team.slack.example/archives/C1/p1")
		if err := check(note); err != nil {
			t.Fatal(err)
		}
		inert(t, note)
		for _, tok := range liveToken.FindAllString(note.Text, -1) {
			if !ourToken.MatchString(tok) {
				t.Fatalf("the note's fallback is alive: %q", tok)
			}
		}
	})
}

func inert(t interface{ Fatalf(string, ...any) }, p Message) {
	visit(decoded(rawJSON(p.Blocks)), "", func(at, kind string, n map[string]any) {
		text, _ := n["text"].(string)
		switch kind {
		case "mrkdwn":
			if n["verbatim"] != true {
				t.Fatalf("%s: Slack would look for names and links in %q", at, text)
			}
			for _, tok := range liveToken.FindAllString(text, -1) {
				if !ourToken.MatchString(tok) {
					t.Fatalf("%s: %q is alive in %q", at, tok, text)
				}
			}
			if n := strings.Count(text, "```"); n != 0 && (n != 2 || !strings.HasPrefix(text, "```\n") || !strings.HasSuffix(text, "\n```")) {
				t.Fatalf("%s: something closes the fence: %q", at, text)
			}
		case "markdown":
			if strings.Contains(text, "<") {
				t.Fatalf("%s: a token in %q", at, text)
			}
			if loudName.MatchString(text) {
				t.Fatalf("%s: everybody is called by %q", at, text)
			}
		case "plain_text":
			if n["emoji"] != false && strings.Contains(text, ":") || n["emoji"] == true {
				t.Fatalf("%s: emoji codes would be drawn", at)
			}
		case "link":
			if n["url"] != "https://team.slack.example/archives/C1/p1" || n["text"] != surface.SayOpenQuestion {
				t.Fatalf("%s: a link to %v called %v", at, n["url"], n["text"])
			}
		case "broadcast", "usergroup", "channel", "emoji":
			t.Fatalf("%s: a %s", at, kind)
		case "user":
			if n["user_id"] != "U1ANA" && n["user_id"] != "UANA" {
				t.Fatalf("%s: %v is mentioned", at, n["user_id"])
			}
		case "image":
			if u, _ := n["image_url"].(string); !strings.HasPrefix(u, "https://") {
				t.Fatalf("%s: an image from %q", at, u)
			}
		}
	})
}

var loudName = regexp.MustCompile(`(?i)(^|[^\\])(\\\\)*@(here|channel|everyone|group)\b`)

// A link in an answer says where it goes, whatever its label says.
func TestLinksSayTheirHost(t *testing.T) {
	for in, want := range map[string]string{
		"[https://good.example](https://evil.example/x)": `[https:\/\/good.example (evil.example)](https://evil.example/x)`,
		"[docs](https://docs.example/a?b=1)":             "[docs (docs.example)](https://docs.example/a?b=1)",
		"see https://docs.example/a?b=1&c=2":             "see https://docs.example/a?b=1&c=2",
		"<https://evil.example|https://good.example>":    "&lt;https://evil.example|https://good.example&gt;",
		"> quoted <!here>":                               "> quoted &lt;!here&gt;",
		"a > b":                                          "a &gt; b",
		"@here \\@channel \\\\@everyone a@groupon.com":   `\@here \@channel \\\@everyone a@groupon.com`,
		"    > code":                                     "    &gt; code",
	} {
		if got := inertMarkdown(in); got != want {
			t.Errorf("answer(%q) = %q, want %q", in, got, want)
		}
	}
}

// The fallback states the question, or how the answer begins; it is never empty.
func TestFallback(t *testing.T) {
	for name, want := range map[string]string{
		"asking":   "Write hello to notes.txt? (Run write_file from files) Allow for this chat, Allow once or Deny?",
		"several":  "Write hello to notes.txt? (Run write_file from files) Allow once or Deny? (2 more calls wait)",
		"unknown":  text.OutcomeHeader + " (Run write_file from files) It happened, Run again or Leave it?",
		"decided":  "Done: notes.txt says hello.",
		"thinking": text.Thinking,
	} {
		if got := EncodeMessage(states()[name]).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := EncodeMessage(render.Message{}).Text; got == "" {
		t.Error("empty")
	}
	long := EncodeMessage(states()["long"]).Text
	if surface.Width(long) > 400 || !strings.HasSuffix(long, "…") {
		t.Errorf("%q", long)
	}
}

// What real sessions look like passes as well, at every step of their recorded logs.
func TestRecordedSessions(t *testing.T) {
	looks.Recorded(t, "../../../core/agent/turn/testdata", func(where string, m render.Message) {
		m = render.Fit(m, Limits)
		p := EncodeMessage(m)
		if err := check(p); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got, want := reachable(t, m, p), looks.Offered(m); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", where, got, want)
		}
		inert(t, p)
	})
}

// A message beside the turn's notifies those that it names and nobody else, and leads to the question.
func TestNotes(t *testing.T) {
	m := render.Message{Blocks: []render.Block{render.Note{Line: render.Line{samples.Ana, render.Plain(", a call of <!channel> waits for your answer")}}}}
	p := encodeNote(m, "https://team.slack.example/archives/C1/p1")
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	if want := "<@UANA>, a call of &lt;!channel&gt; waits for your answer"; p.Text != want {
		t.Errorf("%q", p.Text)
	}
	inert(t, p)
	looks.Golden(t, "note_nudge.json", pretty(t, p))
	if s := string(rawJSON(encodeNote(m, "javascript:alert(1)").Blocks)); strings.Contains(s, "javascript") {
		t.Error("a link that is none")
	}
	if err := check(encodeNote(render.Message{}, "")); err != nil {
		t.Error("an empty note:", err)
	}
}

func BenchmarkEncodeAsk(b *testing.B) {
	m := render.Fit(states()["asking"], Limits)
	b.ReportAllocs()
	for b.Loop() {
		EncodeMessage(m)
	}
}

// 2,000 tokens are about 8,000 characters.
func BenchmarkEncodeAnswer(b *testing.B) {
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("Forty characters of an answer, with `c`. ", 200)}}}
	b.ReportAllocs()
	for b.Loop() {
		EncodeMessage(m)
	}
}
