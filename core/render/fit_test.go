package render_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

func asks(m render.Message) (out []render.Ask) {
	for _, b := range m.Blocks {
		if a, ok := b.(render.Ask); ok {
			out = append(out, a)
		}
	}
	return out
}

func TestFitKeepsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, l := message(t), limits(t)
		before := fmt.Sprintf("%#v", m)
		out := render.Fit(m, l)
		if after := fmt.Sprintf("%#v", m); after != before {
			t.Fatalf("Fit changed its argument:\n%s\n%s", before, after)
		}
		if !render.Within(out, l) {
			t.Fatalf("not within %+v: %+v\n%s", l, render.Measure(out), render.PlainText(out))
		}
		if again := render.Fit(out, l); !reflect.DeepEqual(again, out) {
			t.Fatalf("not idempotent:\n%#v\n%#v", out, again)
		}
		if render.Within(m, l) && !reflect.DeepEqual(out, m) {
			t.Fatal("a message within the limits was changed")
		}
		checkAsks(t, m, out)
		checkNothingLost(t, m, out)
	})
}

// checkAsks: the first asks keep their cards and every choice; those without a card are waiting steps (or are counted as such) and
// in the note, and then nobody can approve all.
func checkAsks(t *rapid.T, m, out render.Message) {
	was, is := asks(m), asks(out)
	if len(was) > 0 && len(is) < min(len(was), 3) {
		t.Fatalf("%d of %d cards left", len(is), len(was))
	}
	for i, a := range is {
		if a.Token != was[i].Token || a.Call != was[i].Call || a.Expires != was[i].Expires {
			t.Fatalf("card %d is another", i)
		}
		key := func(c render.Choice) string { return string(c.Choice) + " " + c.Token }
		have := map[string]int{}
		for _, c := range slices.Concat(a.Choices, a.More) {
			have[key(c)]++
		}
		for _, c := range slices.Concat(was[i].Choices, was[i].More) {
			if c.Choice == chat.ViewDetail {
				if have[key(c)] == 0 {
					t.Fatal("View details is gone")
				}
				continue
			}
			if have[key(c)]--; have[key(c)] < 0 {
				t.Fatalf("choice %s of card %d is gone", c.Choice, i)
			}
		}
		if !slices.ContainsFunc(a.Choices, func(c render.Choice) bool { return c.Choice == chat.Deny }) {
			t.Fatal("no Deny on the card")
		}
	}
	waiting := len(was) - len(is)
	warns := func(asks []render.Ask) bool {
		return slices.ContainsFunc(asks, func(a render.Ask) bool { return a.Warning != "" })
	}
	if warns(was) && !warns(is) {
		t.Fatal("the warning is gone")
	}
	said := render.PlainText(out)
	if waiting > 0 && !strings.Contains(said, text.MoreWait(waiting)) {
		t.Fatalf("%d asks wait and nobody says so:\n%s", waiting, said)
	}
	for _, c := range out.Choices {
		if c.Choice == chat.ApproveAll && waiting > 0 {
			t.Fatal("Approve all covers calls that nobody was shown")
		}
	}
	for _, c := range m.Choices {
		if c.Choice != chat.ApproveAll && !slices.ContainsFunc(out.Choices, func(o render.Choice) bool { return o.Choice == c.Choice }) {
			t.Fatalf("the message lost %s", c.Choice)
		}
	}
}

var more = regexp.MustCompile(`… ([\d,]+) more characters?( …)?`)

// said adds up what the words of cuts speak of, and the characters beside them.
func said(s string) int {
	n := 0
	for _, f := range more.FindAllStringSubmatch(s, -1) {
		k, _ := strconv.Atoi(strings.ReplaceAll(f[1], ",", ""))
		n += k
	}
	return n + utf8.RuneCountInString(more.ReplaceAllString(s, ""))
}

// checkNothingLost: every part that got shorter says by how much, and somebody can look at the whole.
func checkNothingLost(t *rapid.T, m, out render.Message) {
	is := asks(out)
	for i, a := range asks(m)[:len(is)] {
		b := is[i]
		changed := false
		for name, p := range map[string][2]string{
			"header": {a.Header, b.Header}, "run": {a.Run, b.Run}, "question": {a.Question, b.Question}, "the server's words": {a.Says, b.Says},
			"arguments": {a.Args.JSON, b.Args.JSON}, "facts": {render.PlainLine(a.Facts), render.PlainLine(b.Facts)},
			"warning": {a.Warning, b.Warning}, "review": {a.Review, b.Review},
		} {
			if p[0] == p[1] || p[0] == "" { // the warning moves up to the last card that is shown
				continue
			}
			changed = true
			if !more.MatchString(p[1]) {
				t.Fatalf("%s was cut silently: %q → %q", name, p[0], p[1])
			}
			if name != "facts" && said(p[1]) < utf8.RuneCountInString(p[0]) {
				t.Fatalf("%s: %d of %d characters accounted for: %q", name, said(p[1]), utf8.RuneCountInString(p[0]), p[1])
			}
		}
		if a.Args.JSON != b.Args.JSON {
			shown := utf8.RuneCountInString(more.ReplaceAllString(b.Args.JSON, ""))
			if b.Args.Hidden == 0 || b.Args.Hidden+shown < a.Args.Chars {
				t.Fatalf("arguments: %d hidden, %d shown, of %d", b.Args.Hidden, shown, a.Args.Chars)
			}
			if !strings.Contains(b.Args.Say(), "not shown") {
				t.Fatalf("the card says %q", b.Args.Say())
			}
		}
		if !reflect.DeepEqual(a.Args.Rows, b.Args.Rows) {
			changed = true
			if b.Args.Hidden == 0 && rowChars(b.Args.Rows) < rowChars(a.Args.Rows) && len(b.Args.Rows) == len(a.Args.Rows) && !slices.EqualFunc(a.Args.Rows, b.Args.Rows, func(x, y render.Row) bool { return x.Value == y.Value }) {
				t.Fatal("rows were cut and the card says shown in full")
			}
			for j, r := range b.Args.Rows {
				if r.Name == "…" && j == len(b.Args.Rows)-1 {
					if r.Value != text.MoreArguments(len(a.Args.Rows)-j) {
						t.Fatalf("%d rows became %q", len(a.Args.Rows)-j, r.Value)
					}
				} else if v := a.Args.Rows[j].Value; r.Value != v && r.Hidden+utf8.RuneCountInString(more.ReplaceAllString(r.Value, "")) < utf8.RuneCountInString(v) {
					t.Fatalf("row %d: %q → %q, %d hidden", j, v, r.Value, r.Hidden)
				}
			}
		}
		if changed && !slices.ContainsFunc(b.Choices, func(c render.Choice) bool { return c.Choice == chat.ViewDetail }) {
			t.Fatal("the card was cut and has no View details")
		}
	}
	var was, now, shown int
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Text:
			was += utf8.RuneCountInString(b.Markdown)
		case render.Code:
			was += utf8.RuneCountInString(b.Source)
		case render.Step:
			shown++
		}
	}
	folded := 0
	for _, b := range out.Blocks {
		switch b := b.(type) {
		case render.Text:
			now += said(b.Markdown)
		case render.Code:
			now += said(b.Source)
		case render.Step:
			folded--
		case render.Note:
			if f := earlier.FindStringSubmatch(render.PlainLine(b.Line)); f != nil {
				n, _ := strconv.Atoi(f[1])
				folded -= n
			}
		}
	}
	if now < was {
		t.Fatalf("texts: %d of %d characters accounted for", now, was)
	}
	// A question without its card is a line, or it is counted by the words that say where it follows: text.MoreWait, looked at above.
	if waiting := len(asks(m)) - len(is); -folded < shown || -folded > shown+waiting {
		t.Fatalf("%d steps and %d waiting, %d accounted for:\n%s", shown, waiting, -folded, render.PlainText(out))
	}
	if (now != was || folded != 0) && !reflect.DeepEqual(m.Blocks, out.Blocks) && more.MatchString(render.PlainText(withoutAsks(out))) &&
		!strings.Contains(fmt.Sprint(out.Choices, out.Blocks), string(chat.ViewDetail)) {
		t.Fatal("something was cut and nobody can view it")
	}
}

func withoutAsks(m render.Message) render.Message {
	m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b render.Block) bool { _, ok := b.(render.Ask); return ok })
	return m
}

func rowChars(rs []render.Row) (n int) {
	for _, r := range rs {
		n += utf8.RuneCountInString(r.Value)
	}
	return n
}

var earlier = regexp.MustCompile(`^\+(\d+) earlier steps?:`)

// Fitting twice, to ever smaller limits, still accounts for everything.
func TestFitTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message(t)
		out := render.Fit(render.Fit(m, render.Limits{Chars: 6000, Text: 1500, Args: 800}), render.Floor)
		if !render.Within(out, render.Floor) {
			t.Fatalf("%+v", render.Measure(out))
		}
		is := asks(out)
		for i, a := range asks(m)[:len(is)] {
			if n := said(is[i].Args.JSON); n < a.Args.Chars {
				t.Fatalf("%d of %d characters accounted for", n, a.Args.Chars)
			}
		}
	})
}

// Below the floor Fit does what it can, and neither panics nor drops an answer.
func TestFitBelowFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message(t)
		n := rapid.IntRange(1, 200).Draw(t, "chars")
		out := render.Fit(m, render.Limits{Chars: n, Bytes: n, Blocks: 1 + n%5, Text: 1, Args: 1, Label: 1, Asks: 1, Choices: 1})
		if len(asks(m)) > 0 && len(asks(out)) != 1 {
			t.Fatalf("%d cards", len(asks(out)))
		}
	})
}

func card(n int) render.Ask {
	id := strconv.Itoa(n)
	choice := func(c chat.Choice, label string) render.Choice {
		return render.Choice{Choice: c, Token: "ask" + id, Label: label}
	}
	a := render.Ask{
		Call: "call" + id, Token: "ask" + id, Header: text.AllowHeader("files"), Run: text.RunLine("write_file", "files"), Tool: "write_file",
		Server: "files", Args: render.ArgsOf([]byte(`{"path":"notes.txt","content":"hello"}`), strings.Repeat("7f3a", 16)),
		Facts:    render.Line{render.Plain(text.SymbolConfirm + " " + text.FactWrites + " · " + text.FactUnrated)},
		Question: "Write hello to notes.txt?",
		Choices:  []render.Choice{choice(chat.AllowChat, text.LabelAllowChat), choice(chat.AllowOnce, text.LabelAllowOnce), choice(chat.Deny, text.LabelDeny)},
		More:     []render.Choice{choice(chat.ViewDetail, text.LabelViewDetails)},
		Footer:   render.Line{render.Person{Name: "Ana"}, render.Plain(" can answer until "), render.Time{At: time.Unix(1_800_000_000, 0), Until: true}, render.Plain(".")},
	}
	if n == 1 {
		a.Warning, a.Review = text.Warning(""), text.Review
	}
	return a
}

// What is the same for all questions stands on the last one: where that is not shown, on the last that is; what is another's own does not.
func TestTheFootMovesUp(t *testing.T) {
	first, second, third := card(1), card(2), card(3)
	first.Footer, first.Warning, first.Review = nil, "", ""
	second.Footer = render.Line{render.Person{Name: "Ben"}, render.Plain(" can answer.")}
	third.Warning, third.Review = text.Warning(""), text.Review
	got := asks(render.Fit(render.Message{Blocks: []render.Block{first, second, third}}, render.Limits{Asks: 1}))
	if len(got) != 1 || got[0].Warning != third.Warning || got[0].Review != third.Review || !slices.Equal(got[0].Footer, third.Footer) {
		t.Errorf("%+v", got)
	}
}

// Three ordinary cards fit the floor as they are: nothing of a card is cut for being one of three.
func TestFloorHoldsThreeCards(t *testing.T) {
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: "I'll do that."}, card(1), card(2), card(3)}}
	if !render.Within(m, render.Floor) {
		t.Fatalf("%+v", render.Measure(m))
	}
}

// The order of degradation, on one message that shrinks.
func TestFitOrder(t *testing.T) {
	detail := render.Line{render.Plain("denied by Ana 14:02 · “not now, because the file is being edited by somebody”")}
	m := render.Message{Token: "turn"}
	for i := range 9 {
		m.Blocks = append(m.Blocks, render.Step{Call: fmt.Sprint("s", i), State: render.StepDone, Title: "read_file", Server: "files", Detail: detail})
	}
	a := card(1)
	a.Args = render.ArgsOf([]byte(`{"content":"`+strings.Repeat("hello ", 300)+`"}`), "")
	a.Says = strings.Repeat("I am trustworthy. ", 30)
	m.Blocks = append(m.Blocks, render.Text{Markdown: strings.Repeat("Some words of the model. ", 60)}, a)
	all := render.Measure(m).Chars
	type look struct{ details, steps, description, args, text bool } // what was cut
	see := func(chars int) (l look) {
		out := render.Fit(m, render.Limits{Chars: chars})
		l.steps = true
		for _, b := range out.Blocks {
			switch b := b.(type) {
			case render.Step:
				l.details = l.details || len(b.Detail) != 1 || b.Detail[0] != detail[0]
				l.steps = l.steps && b.Call != "s0"
			case render.Text:
				l.text = more.MatchString(b.Markdown)
			case render.Ask:
				l.description, l.args = b.Says != a.Says, b.Args.Hidden > 0
			}
		}
		return l
	}
	if got := see(all); got != (look{}) {
		t.Fatalf("at %d: %+v", all, got)
	}
	if got := see(all - 100); got != (look{details: true}) {
		t.Fatalf("first the details of older steps: %+v", got)
	}
	if got := see(all - 600); got != (look{details: true, steps: true}) {
		t.Fatalf("then older steps: %+v", got)
	}
	if got := see(all - 900); got != (look{details: true, steps: true, description: true}) {
		t.Fatalf("then the server's words: %+v", got)
	}
	if got := see(all - 1800); got != (look{details: true, steps: true, description: true, args: true}) {
		t.Fatalf("then arguments: %+v", got)
	}
	if got := see(all - 3000); !got.text {
		t.Fatalf("then texts: %+v", got)
	}
}

// A talking server or model cannot push arguments out of sight: this call's stay whole.
func TestTalkDoesNotHideArguments(t *testing.T) {
	a := card(1)
	a.Says = strings.Repeat("x", 9000)
	m := render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("words ", 3000)}, a}}
	out := render.Fit(m, render.Limits{Chars: 4000})
	if got := asks(out)[0]; got.Args.Hidden != 0 || got.Args.JSON != a.Args.JSON {
		t.Fatalf("%d characters of the arguments hidden: %s", got.Args.Hidden, got.Args.JSON)
	}
}

// A token at every place of a long argument: the card shows it, or counts it among what it does not show,
// with the digest under which the details show everything.
// R71
func TestEveryOffsetVisibleOrCounted(t *testing.T) {
	const token = "rm -rf /"
	const size = 100_000
	digest := strings.Repeat("7f3a", 16)
	filler := strings.Repeat("abcdefghi ", size/10)
	var offsets []int
	for i := 0; i < size; i += 1973 {
		offsets = append(offsets, i)
	}
	for i := range 20 { // around the places where a cut may fall
		offsets = append(offsets, i, 900+i, 1460+i, 1480+i, 2200+i, size-i, size-500-i)
	}
	for _, at := range offsets {
		arg := filler[:at] + token + filler[at:]
		a := card(1)
		a.Args = render.ArgsOf([]byte(`{"content":"`+arg+`"}`), digest)
		if !a.Args.TooBig || !strings.Contains(a.Args.Say(), text.TooBigToAsk) {
			t.Fatal("100 kB can be allowed")
		}
		out := asks(render.Fit(render.Message{Blocks: []render.Block{a}}, render.Limits{Chars: 4000, Args: 2000}))[0]
		shown := more.ReplaceAllString(out.Args.JSON, "")
		if strings.Contains(shown, token) {
			continue
		}
		if out.Args.Hidden == 0 || out.Args.Hidden+utf8.RuneCountInString(shown)-2 != a.Args.Chars || !strings.Contains(out.Args.JSON, text.MoreCharacters(out.Args.Hidden)) {
			t.Fatalf("token at %d: %d hidden, %d shown of %d", at, out.Args.Hidden, utf8.RuneCountInString(shown), a.Args.Chars)
		}
		if out.Args.Digest != digest || !slices.ContainsFunc(out.Choices, func(c render.Choice) bool { return c.Choice == chat.ViewDetail && c.Token == a.Token }) {
			t.Fatalf("token at %d is out of reach", at)
		}
	}
}
