package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// post is one of the bot's messages, as what it says. A driver reads it from what the surface shows, independently of the code that
// writes that.
type post struct {
	id      string
	said    []string // the model's words
	steps   []string // "✓ write · box · allowed once by Ana"
	cards   []card
	notes   []string
	buttons []button // those of no card
}

// card is a call that waits for an answer.
type card struct {
	header, run string // how it is asked, and of which call; of several cards, what is the same stands on the first
	question    string
	said        string // by a server, marked as its words
	args        string // JSON, compact
	facts       string
	buttons     []button
	footer      string // who can answer, and until when; of several cards, on the last
	warned      bool   // the warning and the plea to review stand on it, in their words
}

// button is what can be pressed; native is how the driver presses it.
type button struct {
	label  string
	native any
}

// looks are buttons that decide nothing, of which each surface has its own.
var looks = []string{"View details", "Show arguments", "Details", ""}

func labelled(all []button) string {
	var out []string
	for _, b := range all {
		if !slices.Contains(looks, b.label) {
			out = append(out, "["+b.label+"]")
		}
	}
	return strings.Join(out, " ")
}

// lastInSight are the last buttons of a card that stand beside each other. What follows each surface lays out in its own way.
var lastInSight = []string{"Deny", "Decline", "Leave it"}

// offered is what can be pressed on a card: a line of buttons, and a line of what stands behind them.
func offered(all []button) (out []string) {
	n := 1 + slices.IndexFunc(all, func(b button) bool { return slices.Contains(lastInSight, b.label) })
	more := slices.SortedFunc(slices.Values(all[n:]), func(a, b button) int { return strings.Compare(a.label, b.label) })
	if behind := labelled(more); behind != "" {
		behind = "⋯ " + behind
		return []string{labelled(all[:n]), behind}
	}
	return []string{labelled(all[:n])}
}

// ticked is a checkbox's label as it stands.
func ticked(label string, on bool) string {
	if on {
		return "☑ " + label
	}
	return "☐ " + label
}

// pressable is all that can be pressed, in the cards' order.
func (p post) pressable() (all []button) {
	for _, c := range p.cards {
		all = append(all, c.buttons...)
	}
	return append(all, p.buttons...)
}

// cardOf is the card on which something can be pressed.
func (p post) cardOf(b button) card {
	for _, c := range p.cards {
		if slices.ContainsFunc(c.buttons, func(x button) bool { return reflect.DeepEqual(x, b) }) {
			return c
		}
	}
	return card{}
}

func (p post) can(label string) bool {
	return slices.ContainsFunc(p.pressable(), func(b button) bool { return b.label == label })
}

// String is the message in the form of the transcripts.
func (p post) String() string {
	var out []string
	add := func(lines ...string) {
		for _, l := range lines {
			if l = strings.TrimSpace(l); l != "" {
				out = append(out, l)
			}
		}
	}
	add(abridged(strings.Join(p.said, "\n")))
	add(p.steps...)
	for _, c := range p.cards {
		add(stepLine(c.header, c.run), c.question+" "+c.args, c.said, c.facts)
		add(offered(c.buttons)...)
		if c.warned {
			c.footer += " (the warning)"
		}
		add(c.footer)
	}
	add(p.notes...)
	add(labelled(p.buttons))
	return strings.Join(out, "\n")
}

// small takes the line above a question apart. Its sign stands on some surfaces only.
func (c *card) small(line string) {
	c.header, c.run, _ = strings.Cut(strings.TrimPrefix(plainly(line), "⚠️ "), " · ")
	if strings.HasPrefix(c.header, "Run ") {
		c.header, c.run = "", c.header
	}
}

// foot takes the line below the buttons, in which the plea to review is bold.
func (c *card) foot(line, bold string) {
	line = strings.TrimSpace(line)
	c.footer, c.warned = strings.CutSuffix(line, warning+" "+bold+review+bold)
	c.footer = plainly(strings.ReplaceAll(c.footer, bold, ""))
}

// What never compares: moments, and how long things took.
var (
	moments = regexp.MustCompile(`(?: at)? ?(?:` + moment + `)`)
	took    = regexp.MustCompile(`^\d+(?:\.\d+)? (?:s|min) · `)
	untils  = regexp.MustCompile(`until (?:at )?(?:` + moment + `)(?: \((?:` + moment + `)\))?`)
	blanks  = regexp.MustCompile(`[ \t\n]+`)
	atNames = strings.NewReplacer("@Ana", "Ana", "@Ben", "Ben", "@Ada", "Ada")
)

const moment = `<t:\d+(?::\w)?>|\b\d{1,2}:\d\d(?::\d\d)? UTC`

// plainly is a text without what differs each time and everywhere.
func plainly(text string) string {
	text = moments.ReplaceAllString(untils.ReplaceAllString(atNames.Replace(text), "until ‹time›"), "")
	return strings.TrimSpace(took.ReplaceAllString(strings.TrimSpace(blanks.ReplaceAllString(text, " ")), ""))
}

// stepLine is a step: what is known of it, joined.
func stepLine(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = plainly(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " · ")
}

const warning = "Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools."

const review = "Review each action carefully before approving"

// compactly is JSON without blanks. Without anything in it there is nothing to show.
func compactly(raw string) string {
	var out bytes.Buffer
	if raw == "{}" {
		return ""
	}
	if json.Compact(&out, []byte(raw)) != nil {
		return "(no JSON) " + raw
	}
	return out.String()
}

// cutHere stands in a message whose words go on below it; the end of them stands there already.
var cutHere = regexp.MustCompile(`(?s)\s*… [\d,]+ more characters? ….*$`)

// joined are messages with those that only go on with another's words put to it.
func joined(all []post) (out []post) {
	for _, p := range all {
		last := len(out) - 1
		at := slices.Index(append(slices.Clone(p.notes), p.said...), "(continued)")
		if at < 0 || last < 0 {
			out = append(out, p)
			continue
		}
		before := cutHere.ReplaceAllString(strings.Join(out[last].said, "\n"), "")
		out[last].said = append([]string{before}, slices.DeleteFunc(p.said, func(s string) bool { return s == "(continued)" })...)
	}
	return out
}

// Long answers are numbered words. "300 words" in a transcript stands for them all, in their order.
var manyWords = regexp.MustCompile(`^(\d+) words$`)

func spelled(text string) string {
	m := manyWords.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	var out strings.Builder
	n := 0
	if _, err := fmt.Sscan(m[1], &n); err != nil {
		panic(err) // digits, by the form
	}
	for i := range n {
		fmt.Fprintf(&out, "w%04d%c", i, " \n"[i%10/9])
	}
	return strings.TrimSpace(out.String())
}

var numbered = regexp.MustCompile(`w\d{4}(?:\s+w\d{4})*`)

// abridged is the inverse of spelled. Words that are missing or out of order stay as they are.
func abridged(text string) string {
	return numbered.ReplaceAllStringFunc(text, func(run string) string {
		words := strings.Fields(run)
		if len(words) > 20 && slices.Equal(words, strings.Fields(spelled(fmt.Sprint(len(words), " words")))) {
			return fmt.Sprint(len(words), " words")
		}
		return run
	})
}

// argsOf is what stands in a fence: JSON, or an argument a line.
func argsOf(all []string) string {
	if strings.HasPrefix(all[0], "{") {
		return compactly(strings.Join(all, "\n"))
	}
	var out []string
	for _, l := range all {
		name, value, _ := strings.Cut(l, ": ")
		if !json.Valid([]byte(value)) {
			raw, _ := json.Marshal(value) // a string
			value = string(raw)
		}
		out = append(out, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(out, ",") + "}"
}

// marked is a step: a mark, and then what it is about.
var marked = regexp.MustCompile(`^[✓✕⌛⟳❓·] `)

// markWords say what a mark means where nothing else does.
var markWords = []string{"not started", "waits for an answer", "running", "done", "failed", "denied", "cancelled", "expired", "outcome unknown"}

// stepOf is a step's line without the word for its mark and how long it took. The word stands alone, or says that a call failed.
func stepOf(line string) string {
	parts := strings.Split(line, " · ")
	if len(parts) > 2 && (parts[2] == "failed" || len(parts) == 3 && slices.Contains(markWords, parts[2])) {
		parts = slices.Delete(parts, 2, 3)
	}
	return stepLine(parts[0], strings.Join(parts[1:2], ""), strings.Join(parts[2:], " · "))
}
