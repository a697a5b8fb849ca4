package render_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func TestPlainText(t *testing.T) {
	m := render.Message{
		Blocks: []render.Block{
			render.Text{Markdown: "I'll read **both** files.", Cut: true},
			render.Step{State: render.StepDone, Title: "read_file", Server: "files", Detail: render.Line{render.Plain("0.2 s")}},
			card(1),
			render.Note{Line: render.Line{render.Plain("write_file of files is allowed")}, Choices: []render.Choice{{Choice: chat.Revoke, Label: text.LabelRevoke}}},
		},
		Choices: []render.Choice{{Choice: chat.Stop, Label: text.LabelStop}},
	}
	want := `I'll read **both** files.
(the reply was cut here)
✓ read_file · files · done · 0.2 s
⚠️ Allow tool call from files? · Run write_file from files
Write hello to notes.txt?
    path: notes.txt
    content: hello
⚠️ changes things · not classified yet
[Allow for this chat] [Allow once] [Deny]
[View details]
Ana can answer until 08:00 UTC.
Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools.
Review each action carefully before approving
write_file of files is allowed
[Revoke]
[Stop]`
	if got := render.PlainText(m); got != want {
		t.Errorf("%s", got)
	}
	if got := render.Question(m); got != "Write hello to notes.txt? (Run write_file from files) Allow for this chat, Allow once or Deny?" {
		t.Errorf("%s", got)
	}
	if got := render.PlainLine(render.Line{render.Plain("in "), render.Channel("slack:T1:C1")}); got != "in channel C1 on Slack" {
		t.Errorf("%s", got)
	}
	if got := render.Question(render.Message{}); got != "" {
		t.Errorf("%s", got)
	}
}

// Arguments stand there once: what of a text changes, or else row by row, or as they are.
func TestArgumentsInPlainText(t *testing.T) {
	rows := render.ArgsOf([]byte(`{"path":"a","n":1}`), "")
	for _, c := range []struct {
		args render.Args
		want string
	}{
		{render.Args{}, "· y\n"}, {rows, "· y\n    path: a\n    n: 1\n"}, {render.ArgsOf([]byte(`[1]`), ""), "· y\n    [\n      1\n    ]\n"},
		{rows.WithDiff("path", "-a\n+b", "as it is"), "· y\n    n: 1\n    path: ‹1 line goes, 1 line comes, 0 lines stay›\n    - a\n    + b\n    as it is\n"},
		{rows.WithDiff("path", "", "as it is"), "· y\n    n: 1\n    path: ‹0 lines go, 0 lines come, 0 lines stay›\n    as it is\n"},
	} {
		if _, got, _ := strings.Cut(render.PlainText(render.Message{Blocks: []render.Block{render.Ask{Header: "x", Run: "y", Args: c.args, Review: "!"}}}), "x "); got != c.want+"!" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What a server or model wrote can neither steer a terminal nor begin a line that passes for one of ours.
func TestPlainTextIsInert(t *testing.T) {
	forged := "x\nAllow tool call from trusted?\x1b[2J\u202e"
	a := card(1)
	a.Says, a.Question, a.Facts = forged, forged, render.Line{render.Plain(forged)}
	a.Args.Rows = []render.Row{{Name: forged, Value: forged}}
	out := render.PlainText(render.Message{Blocks: []render.Block{
		render.Step{Title: forged, Server: forged, Detail: render.Line{render.Plain(forged), render.Person{Name: forged}}}, a, render.Note{Line: render.Line{render.Plain(forged)}},
	}})
	if strings.Contains(out, "\nAllow tool call from trusted") || strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("%s", out)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range render.PlainText(message(t)) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%U", r)
			}
		}
	})
}

// The golden of a fitted message: what a person reads at the floor.
func TestFitGolden(t *testing.T) {
	m := render.Message{Token: "turn1", Choices: []render.Choice{{Choice: chat.ApproveAll, Label: text.LabelApproveAll(5)}, {Choice: chat.DenyAll, Label: text.LabelDenyAll(5)}}}
	m.Blocks = append(m.Blocks, render.Text{Markdown: "First:\n\n```sh\n" + strings.Repeat("echo hello\n", 100) + "```\nThat is all."})
	for i := range 12 {
		m.Blocks = append(m.Blocks, render.Step{Call: "s", State: []render.StepState{render.StepDone, render.StepDone, render.StepExpired}[i%3], Title: "read_file", Server: "files",
			Detail: render.Line{render.Plain("0.2 s")}})
	}
	for i := range 5 {
		a := card(i + 1)
		a.Args = render.ArgsOf([]byte(`{"path":"notes.txt","content":"`+strings.Repeat("0123456789", 50)+`"}`), "7f3a7f3a7f")
		a.Expires = time.Unix(1_800_000_000, 0)
		m.Blocks = append(m.Blocks, a)
	}
	got := render.PlainText(render.Fit(m, render.Floor))
	for _, part := range []string{
		"```\n\n… 936 more characters …\n\n```\n", "+11 earlier steps: 8 ✓ · 3 ⌛", "of 542 characters not shown", "more characters … ",
		"[Allow for this chat] [Allow once] [Deny] [View details]\nAna can answer", // not behind ⋯ any more
		"2 more questions follow in this message when these are answered · Approve all comes back when every call has its card\n[Deny all (5)] [View details]",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in:\n%s", part, got)
		}
	}
	if n := strings.Count(got, "\n[Allow for this chat] [Allow once] [Deny]"); n != 3 {
		t.Errorf("%d cards:\n%s", n, got)
	}
	if strings.Contains(got, "[Approve all (5)]") {
		t.Error("Approve all is offered while two calls have no card")
	}
	if n := strings.Count(got, "```"); n%2 != 0 {
		t.Errorf("a fence is left open:\n%s", got)
	}
}

// The worst that anybody could write, at the floor.
func TestFloorHoldsTheWorst(t *testing.T) {
	for _, s := range []string{strings.Repeat("😀", 10_000), strings.Repeat("x", 24), strings.Repeat("中", 25), strings.Repeat("😀", 25), strings.Repeat("x", 100_000), strings.Repeat("`", 3000)} {
		var m render.Message
		l := render.Line{render.Plain(s), render.Person{Name: s}, render.Strong(s), render.Time{}}
		for range 8 {
			a := card(1)
			a.Header, a.Run, a.Question, a.Says, a.Facts, a.Footer = s, s, s, s, l, l
			a.Warning, a.Review = text.Warning(s[:min(len(s), 20)]), text.Review
			for range 9 {
				a.Args.Rows = append(a.Args.Rows, render.Row{Name: s, Value: s})
			}
			a.Args.JSON, a.Args.Chars, a.Args.Escaped, a.Args.Redacted, a.Args.TooBig = s, len(s), 1_000_000, 1_000_000, true
			m.Blocks = append(m.Blocks, a, render.Text{Markdown: s}, render.Code{Language: s, Source: s}, render.Note{Line: l}, render.Step{Title: s, Server: s, Detail: l})
			m.Choices = append(m.Choices[:min(len(m.Choices), 5)], render.Choice{Choice: chat.ApproveAll, Label: s})
		}
		out := render.Fit(m, render.Floor)
		if !render.Within(out, render.Floor) {
			t.Errorf("%.20q…: %+v\n%s", s, render.Measure(out), render.PlainText(out))
		}
		if n := len(asks(out)); n != 3 {
			t.Errorf("%.20q…: %d cards", s, n)
		}
	}
}

func TestANotificationNamesTheCall(t *testing.T) {
	t.Parallel()
	ask := render.Ask{Header: "Allow tool call from deploys?", Run: "Run roll\nback from deploys"}
	if got := render.Question(render.Message{Blocks: []render.Block{ask}}); got != "Allow tool call from deploys? (Run roll back from deploys)" {
		t.Errorf("%q", got)
	}
	ask.Question = "Roll checkout back?"
	if got := render.Question(render.Message{Blocks: []render.Block{ask}}); got != "Roll checkout back? (Run roll back from deploys)" {
		t.Errorf("%q", got)
	}
}
