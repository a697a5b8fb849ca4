package blocks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// asked is a message that asks about calls as the core has it; each changes what is its own.
func asked(n int, each func(i int, c *turn.ToolCall)) render.Message {
	tn := &turn.Turn{ID: "T1", Step: 1, Requester: samples.Ana.User, Replies: []turn.Reply{{Text: "I'll do that."}}}
	for i := range n {
		c := turn.ToolCall{ID: turn.CallID(fmt.Sprintf("c%d", i)), Status: turn.Awaiting, Args: []byte(looks.HelloArgs), Asking: turn.Asking{
			Ask: turn.AskID(fmt.Sprintf("ASK%d", i)), Deadline: looks.TwoPM.Add(time.Minute),
			Ruling: permission.Ruling{Verdict: permission.Ask, Access: permission.Write, Level: permission.LevelUser, Unrated: true, ChatGrant: true, Remember: true}}}
		c.Tool.Server, c.Tool.Name = "files", "write_file"
		each(i, &c)
		tn.Calls = append(tn.Calls, c)
	}
	s := turn.Session{Turn: tn, People: []turn.Person{{User: samples.Ana.User, Name: "Ana"}}}
	return card.View(s, tn, card.Live{})
}

// askedStates are looks that only the core makes: a row for several reads, what it says of a dangerous call, and of one that is masked.
func askedStates() map[string]render.Message {
	return map[string]render.Message{
		"reads": asked(5, func(i int, c *turn.ToolCall) {
			c.Tool.Name, c.Args = "read_file", []byte(fmt.Sprintf(`{"path":"docs/f%d.md"}`, i+1))
			c.Ruling.Access, c.Ruling.SaysReads = permission.Write, true
			c.Ruling.Scopes = []permission.Scope{permission.ScopeReads}
		}),
		"reads_and_write": asked(6, func(i int, c *turn.ToolCall) {
			if i < 5 {
				c.Tool.Name, c.Args = "read_file", []byte(fmt.Sprintf(`{"path":"docs/f%d.md"}`, i+1))
				c.Ruling.Access = permission.Read
			}
		}),
		"dangerous": asked(1, func(_ int, c *turn.ToolCall) {
			c.Tool.Server, c.Tool.Name, c.Args = "shell", "run", []byte(`{"command":"rm -rf build && make release","cwd":"/srv/app"}`)
			c.Ruling.Access, c.Ruling.Unrated, c.Ruling.Risk = permission.All, false, permission.Dangerous
		}),
		"masked": asked(1, func(_ int, c *turn.ToolCall) {
			c.Tool.Server, c.Tool.Name, c.Args = "deploys", "set_variable", []byte(`{"service":"checkout","api_key":"sk-live-0123456789abcdefghij"}`)
			c.Ruling.Masked = true
		}),
	}
}

var dates = regexp.MustCompile(`<!date\^[^|]*\|([^>]*)>`)

// seen is what a person sees of a message without touching anything: its words, how many blocks and how many controls.
func seen(p Message) (words []string, blocks, controls int) {
	visit(decoded(rawJSON(p.Blocks)), "", func(at, kind string, n map[string]any) {
		text, _ := n["text"].(string)
		switch kind {
		case "button", "overflow", "static_select", "checkboxes":
			controls++
		case "plain_text", "mrkdwn", "text":
			if !hidden.MatchString(at) {
				words = append(words, strings.Fields(dates.ReplaceAllString(text, "$1"))...)
			}
		case "user":
			words = append(words, "@")
		case "date":
			words = append(words, n["fallback"].(string))
		}
	})
	return words, len(p.Blocks), controls
}

// hidden is where text stands that is not in sight: the lines of a menu, a dialog.
var hidden = regexp.MustCompile(`/(options/|confirm/)`)

func asksOf(m render.Message) (out []render.Block) {
	return slices.DeleteFunc(slices.Clone(m.Blocks), func(b render.Block) bool { _, ok := b.(render.Ask); return !ok })
}

// A question is read in three seconds: at most six blocks, five controls and ninety words; a row of a list takes two blocks.
func TestACardIsSmall(t *testing.T) {
	cards, rows := 0, 0
	for name, m := range states() {
		if m = render.Fit(m, Limits); name == "hostile" { // its words are anything but short
			continue
		}
		asks := asksOf(m)
		for _, b := range asks {
			a := b.(render.Ask)
			words, blocks, controls := seen(EncodeMessage(render.Message{State: m.State, Token: m.Token, Blocks: []render.Block{a}}))
			most, least := 6, 5
			if a.Brief {
				rows++
				most = 2
				for _, own := range []bool{a.Header != "", len(a.Footer) > 0 || a.Warning != ""} { // of the whole list
					if own {
						most++
					}
				}
			}
			if cards++; name == "big_args" || name == "replaces" { // the words are its arguments'
				words = nil
			}
			if blocks > most || controls > least || len(words) > 90 {
				t.Errorf("%s: %d blocks, %d controls, %d words: %q", name, blocks, controls, len(words), words)
			}
		}
	}
	if cards < 8 || rows < 3 {
		t.Errorf("only %d cards and %d rows were looked at", cards, rows)
	}
}

// With all that can be answered at once, and arguments that are not all shown, five controls are in sight: what is behind the menus else is
// offered in the details.
func TestACardWithEveryAnswer(t *testing.T) {
	m := render.Fit(asked(1, func(_ int, c *turn.ToolCall) {
		c.Tool.Name, c.Args = "read_file", []byte(fmt.Sprintf(`{"path":%q}`, strings.Repeat("docs/", 500)))
		c.Ruling.Access, c.Card.Reads, c.Ruling.Scopes = permission.Read, true, []permission.Scope{permission.ScopeReads, permission.ScopeServer}
	}), Limits)
	p := EncodeMessage(m)
	if _, _, controls := seen(p); controls != 5 || !strings.Contains(dump(p), "[Allow reads from files ?] [Allow for this chat ?] [Allow once] [Deny] [Show arguments]\n") {
		t.Errorf("%d controls in\n%s", controls, dump(p))
	}
	if got, want := reachable(t, m, p), looks.Offered(m); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Reads of one reply are one row, answered together; each stands in it.
func TestReadsAreOneRow(t *testing.T) {
	m := askedStates()["reads"]
	p := EncodeMessage(render.Fit(m, Limits))
	said := dump(p)
	for i := range 5 {
		if want := fmt.Sprintf("%d: path: docs/f%d.md\n", i+1, i+1); !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if !strings.Contains(said, "[Allow these 5] [Deny] [⋯ View details | ") {
		t.Error(said)
	}
	token := asksOf(m)[0].(render.Ask).Choices[0].Token
	if got := pressable(t, p); !strings.HasPrefix(token, "all-") || !slices.Contains(got, "approve_all "+token) || !slices.Contains(got, "deny_all "+token) {
		t.Errorf("%q of %q", got, token)
	}
}

// questions are as many as are asked at once, with asks as they are named.
func questions(content string) render.Message {
	return render.Fit(asked(20, func(i int, c *turn.ToolCall) {
		c.Ask = turn.AskID(fmt.Sprintf("ABCDEFGHIJKLMNOPQRSTUVWX%02d", i))
		c.Args = []byte(fmt.Sprintf(`{"path":"docs/f%d.md","content":%q}`, i, content))
		c.Ruling.Scopes = []permission.Scope{permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer}
	}), Limits)
}

// As many questions as are asked at once stand there with short arguments, each with its buttons; a bar tells arguments from words of ours.
func TestTwentyQuestions(t *testing.T) {
	m := questions("hello\nAllowed by Ana")
	p := EncodeMessage(m)
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	said := dump(p)
	for i := range 20 {
		if row := fmt.Sprintf("  Write file “docs/f%d.md”?\n  │ path: docs/f%d.md\n  │ content: ‹2 lines›\n  │   │ hello\n  │   │ Allowed by Ana\n  [Allow once] [Deny] [Details…]\n", i, i); !strings.Contains(said, row) {
			t.Errorf("%s is missing in\n%s", row, said)
		}
	}
	if strings.Count(said, "Run write_file from files · ⚠️ changes things · not classified yet\n") != 1 || !strings.Contains(said, "[Approve all (20)…") || !strings.Contains(p.Text, "19 more calls wait") {
		t.Error(said)
	}
	if got, want := reachable(t, m, p), looks.Offered(m); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What Slack does not take of them is counted, with where it follows; what is there has its buttons.
func TestMoreQuestionsThanThereIsRoomFor(t *testing.T) {
	p := EncodeMessage(questions(strings.Repeat("hello ", 60)))
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	said := dump(p)
	rows := strings.Count(said, "[Allow once] [Deny] [")
	if rows < 7 || rows == 20 || !strings.Contains(said, fmt.Sprintf("%d more questions follow in this message", 20-rows)) || strings.Contains(said, "[Approve all") || !strings.Contains(said, "[Deny all (20)]") {
		t.Errorf("%d rows in\n%s", rows, said)
	}
}

// What may destroy something is allowed for a chat only after Slack has asked in so many words.
func TestADangerousToolIsConfirmed(t *testing.T) {
	p := EncodeMessage(render.Fit(askedStates()["dangerous"], Limits))
	asks := map[string]string{}
	visit(decoded(rawJSON(p.Blocks)), "", func(_, kind string, n map[string]any) {
		if kind == "button" {
			label, _ := field(n, "text.text")
			words, _ := field(n, "confirm.text.text")
			asks[label.(string)], _ = words.(string)
		}
	})
	if say := asks["Allow for this chat"]; !strings.Contains(say, "run of shell") || !strings.Contains(say, "with any arguments") || asks["Allow once"] != "" || asks["Deny"] != "" {
		t.Errorf("%q", asks)
	}
	if said := dump(p); !strings.Contains(said, "*dangerous*") {
		t.Error(said)
	}
}

// Part of what it asks about is hidden: the button that reveals it stands before those that answer.
func TestAMaskedCallCanBeRevealed(t *testing.T) {
	p := EncodeMessage(render.Fit(askedStates()["masked"], Limits))
	if said := dump(p); !strings.Contains(said, "  [Show what is hidden] [Allow once] [Deny] [⋯") || strings.Contains(said, "sk-live") {
		t.Error(said)
	}
}

// A notification begins with what is asked, and names the tool in plain words.
func TestANotificationNamesTheTool(t *testing.T) {
	for name, want := range map[string]string{
		"reads":     "Read file “docs/f1.md” and 4 more? (Run read_file from files) Allow these 5 or Deny?",
		"dangerous": "Run “rm -rf build &amp;&amp; make release”? (Run run from shell) Allow for this chat, Allow once or Deny?",
	} {
		if got := EncodeMessage(render.Fit(askedStates()[name], Limits)).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
