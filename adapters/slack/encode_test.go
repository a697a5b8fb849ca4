package slack

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// clicksOn are what Slack would send for a click on each button and option.
func clicksOn(p payload) (out []slack.BlockAction) {
	visit(decoded(rawJSON(p.Blocks)), "", func(_, kind string, n map[string]any) {
		id, _ := n["action_id"].(string)
		switch kind {
		case "button":
			v, _ := n["value"].(string)
			out = append(out, slack.BlockAction{ActionID: id, Type: "button", Value: v})
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

// offered are the choices of a message, in the form of pressable.
func offered(m render.Message) (out []string) {
	add := func(cs []render.Choice) {
		for _, c := range cs {
			out = append(out, string(c.Choice)+" "+c.Token)
		}
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			add(b.Choices)
		case render.Note:
			add(b.Choices)
		case render.Ask:
			add(b.Choices)
			add(b.More)
		default: // no buttons
		}
	}
	add(m.Choices)
	slices.Sort(out)
	return out
}

// Whatever a turn holds: after Fit it is a payload that Slack takes, and every choice of every ask that is shown is in it.
func TestEveryMessageIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(nastyMessage(t), limits)
		p := encode(m)
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		if again := encode(m); string(rawJSON(again)) != string(rawJSON(p)) {
			t.Fatal("the same message gave other bytes")
		}
		kept(t, m, p)
	})
}

// kept: the asks that a payload shows have every choice they had, and the first always is one of these; the choices of the
// message itself are there, Approve all only while every ask is.
func kept(t *rapid.T, m render.Message, p payload) {
	is := map[string]int{}
	for _, s := range pressable(t, p) {
		is[s]++
	}
	cards := 0
	for _, b := range m.Blocks {
		a, ok := b.(render.Ask)
		if !ok {
			continue
		}
		if is["deny "+a.Token] == 0 {
			if cards == 0 {
				t.Fatal("the first ask lost its buttons")
			}
			break // the later ones follow in another message
		}
		cards++
		want := map[string]int{}
		for _, c := range slices.Concat(a.Choices, a.More) {
			key := string(c.Choice) + " " + c.Token
			if want[key]++; want[key] > is[key] && c.Choice != chat.ViewDetail {
				t.Fatalf("card %d lost %s", cards, key)
			}
		}
	}
	for _, c := range m.Choices {
		if c.Token != "" && c.Choice != chat.ApproveAll && is[string(c.Choice)+" "+c.Token] == 0 {
			t.Fatalf("the message lost %s", c.Choice)
		}
	}
	if asks := askCount(m); cards < asks && is["approve_all batch"] > 0 {
		t.Fatal("Approve all covers calls that nobody is shown")
	}
}

func askCount(m render.Message) (n int) {
	for _, b := range m.Blocks {
		if _, ok := b.(render.Ask); ok {
			n++
		}
	}
	return n
}

// A message that keeps the floor has each of its choices in the payload.
func TestEveryChoiceIsDrawn(t *testing.T) {
	for name, m := range states() {
		m = render.Fit(m, limits)
		if got, want := pressable(t, encode(m)), offered(m); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", name, got, want)
		}
	}
}

// Deny alone stands out, and the order is the documents' (R74, R89).
func TestButtonsOfAnAsk(t *testing.T) {
	p := encode(states()["asking"])
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
	if want := []string{"Allow for this chat", "Allow once", "Deny", "Stop"}; !slices.Equal(labels, want) {
		t.Errorf("%q", labels)
	}
	if want := []string{"<nil>", "<nil>", "danger", "<nil>"}; !slices.Equal(styles, want) {
		t.Errorf("%q", styles)
	}
	if names[0] != render.HintAllowChat {
		t.Errorf("accessible name %q", names[0])
	}
	loud := states()["asking"]
	loud.Choices = []render.Choice{{Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: render.Danger}, {Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: "primary"}}
	if s := string(rawJSON(encode(loud).Blocks)); strings.Count(s, `"style"`) != 1 || strings.Contains(s, "primary") {
		t.Error("something but Deny stands out")
	}
}

// The words of R69, R70, R72 and R73 are in the card, and two cards can be told apart by ear.
func TestWordsOfAnAsk(t *testing.T) {
	text := dump(encode(states()["asking"]))
	for _, want := range []string{"# Allow tool call from files?\n", "Run write_file from files\n", "✎ Write access · ◑ moderate · ⚠️ confirmation\n", render.Warning("nod"), "*" + render.Review + "*",
		"▸ Arguments (2) · ", "shown in full · digest 7f3a7f3a…", "path: notes.txt\n", "\"content\": \"hello\""} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if s := string(rawJSON(encode(states()["several"]).Blocks)); strings.Count(s, "Deny: Run write_file from files") != 3 {
		t.Error("the three Deny sound alike")
	}
	for _, done := range []string{"decided", "denied", "expired"} {
		if s := dump(encode(states()[done])); strings.Contains(s, "Allow tool call") || strings.Contains(s, render.Review) || strings.Contains(s, "▸") {
			t.Errorf("%s still shows a card", done)
		}
	}
}

// A new revision has new block ids where it says something else, and the same where it is the same.
func TestBlockIDs(t *testing.T) {
	ids := func(p payload) (out []string) {
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
	was, is := ids(encode(one)), ids(encode(two))
	if slices.Equal(was, is) || was[0] != is[0] {
		t.Errorf("%v\n%v", was, is)
	}
	if !slices.Equal(was, ids(encode(one))) {
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
		m := render.Fit(nastyMessage(t), limits)
		p := encode(m)
		inert(t, p)
		allowed := map[string]bool{}
		for _, s := range offered(m) {
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

func inert(t interface{ Fatalf(string, ...any) }, p payload) {
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
			if n["emoji"] != false {
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
		if got := answer(in); got != want {
			t.Errorf("answer(%q) = %q, want %q", in, got, want)
		}
	}
}

// The fallback states the question, or how the answer begins; it is never empty.
func TestFallback(t *testing.T) {
	for name, want := range map[string]string{
		"asking":   "Allow tool call from files? Write hello to notes.txt? Allow for this chat, Allow once or Deny?",
		"several":  "Allow tool call from files? Write hello to notes.txt? Allow for this chat, Allow once or Deny? (2 more calls wait)",
		"unknown":  render.OutcomeHeader + " (Run write_file from files) It happened, Run again or Leave it?",
		"decided":  "Done: notes.txt says hello.",
		"thinking": render.Thinking,
	} {
		if got := encode(states()[name]).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := encode(render.Message{}).Text; got == "" {
		t.Error("empty")
	}
	long := encode(states()["long"]).Text
	if surface.Width(long) > 400 || !strings.HasSuffix(long, "…") {
		t.Errorf("%q", long)
	}
}

// What real sessions look like passes as well, at every step of their recorded logs.
func TestRecordedSessions(t *testing.T) {
	files, err := filepath.Glob("../../core/agent/turn/testdata/*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded logs", err)
	}
	drawn := 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		s := turn.New(chat.ID{Platform: "web", Key: "c1"})
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for seq := uint64(1); lines.Scan(); seq++ {
			at, stored, _ := strings.Cut(lines.Text(), " ")
			when, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatal(err)
			}
			ev, err := turn.Decode([]byte(stored))
			if err != nil {
				t.Fatal(err)
			}
			s = turn.Apply(s, turn.Entry{Seq: seq, At: when, Event: ev})
			for _, tn := range []*turn.Turn{s.Last, s.Turn} {
				if tn == nil {
					continue
				}
				drawn++
				m := render.Fit(turn.View(s, tn, turn.Live{}), limits)
				p := encode(m)
				if err := check(p); err != nil {
					t.Fatalf("%s, entry %d: %v", file, seq, err)
				}
				if got, want := pressable(t, p), offered(m); !slices.Equal(got, want) {
					t.Fatalf("%s, entry %d: %v, want %v", file, seq, got, want)
				}
				inert(t, p)
			}
		}
		f.Close()
	}
	if drawn < 20 {
		t.Fatalf("only %d views", drawn)
	}
}

// A message beside the turn's notifies those that it names and nobody else, and leads to the question.
func TestNotes(t *testing.T) {
	m := render.Message{Blocks: []render.Block{render.Note{Line: render.Line{anaPerson, render.Plain(", a call of <!channel> waits for your answer")}}}}
	p := encodeNote(m, "https://team.slack.example/archives/C1/p1")
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	if want := "<@UANA>, a call of &lt;!channel&gt; waits for your answer"; p.Text != want {
		t.Errorf("%q", p.Text)
	}
	inert(t, p)
	golden(t, "note_nudge.json", pretty(t, p))
	if s := string(rawJSON(encodeNote(m, "javascript:alert(1)").Blocks)); strings.Contains(s, "javascript") {
		t.Error("a link that is none")
	}
	if err := check(encodeNote(render.Message{}, "")); err != nil {
		t.Error("an empty note:", err)
	}
}

func BenchmarkEncodeAsk(b *testing.B) {
	m := render.Fit(states()["asking"], limits)
	b.ReportAllocs()
	for b.Loop() {
		encode(m)
	}
}

// 2,000 tokens are about 8,000 characters.
func BenchmarkEncodeAnswer(b *testing.B) {
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("Forty characters of an answer, with `c`. ", 200)}}}
	b.ReportAllocs()
	for b.Loop() {
		encode(m)
	}
}

func BenchmarkCheckAsk(b *testing.B) {
	p := encode(render.Fit(states()["asking"], limits))
	b.ReportAllocs()
	for b.Loop() {
		if err := check(p); err != nil {
			b.Fatal(err)
		}
	}
}
