package discord

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

var updateShapes = flag.Bool("update-shapes", false, "write testdata/shapes anew")

var (
	anaPerson = render.Person{User: chat.User{Platform: Platform, Workspace: "900000000000000001", Key: "111111111111111111"}, Name: "Ana"}
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
		More:    []render.Choice{button(chat.DenyReason, token, "Deny with a reason…"), button(chat.Edit, token, "Edit arguments…"), button(chat.ViewDetail, token, render.LabelViewDetails), button(chat.Extend, token, render.LabelExtend)},
		Footer:  render.Line{anaPerson, render.Plain(render.CanAnswer + " · expires "), render.Time{At: twoPM.Add(time.Minute), Until: true}},
		Expires: twoPM.Add(time.Minute),
	}
	if n == 1 {
		a.Warning, a.Review = render.Warning(""), render.Review
	}
	return a
}

const helloArgs = `{"path":"notes.txt","content":"hello"}`

func stepOf(state render.StepState, title string, detail ...render.Span) render.Step {
	return render.Step{Call: "c-" + title, State: state, Title: title, Server: "files", Detail: detail}
}

// manyArgs are 62 lines.
func manyArgs() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func stopButton() render.Choice { return button(chat.Stop, "T1", render.LabelStop) }

func shown(say string) render.Note { return render.Note{Line: render.Line{render.Plain(say)}} }

// states are every look that UX.md sketches.
func states() map[string]render.Message {
	read := stepOf(render.StepDone, "read_file", render.Plain("0.2 s · allowed by policy"))
	allowed := stepOf(render.StepDone, "write_file", render.Plain("0.1 s · allowed once by "), anaPerson, render.Plain(" "), render.Time{At: twoPM})
	long := strings.Repeat("A sentence of an answer that goes on for quite a while, with `code` and a [page](https://docs.example/page?a=1&b=2).\n\n", 60)
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
		"failed":  {State: render.Failed, Blocks: []render.Block{stepOf(render.StepFailed, "write_file", render.Plain("1.2 s · allowed by policy · no such directory")), render.Text{Markdown: "I tried to", Cut: true}, shown(render.EndModel())}},
		"long":    {State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: long}, read}},
		"many":    many,
		"big_args": {State: render.Waiting, Blocks: []render.Block{cardOf(1, `{"path":"notes.txt","content":"`+strings.Repeat("hello <b>you</b> & me ", 900)+`"}`)},
			Choices: []render.Choice{stopButton()}},
		"hostile": hostileMessage(),
		"stopped": {State: render.Stopped, Blocks: []render.Block{render.Text{Markdown: "I'll read"}, stepOf(render.StepCancelled, "read_file", render.Plain("cancelled · not run")), shown(render.StoppedBy("Ana", 1))}},
		"answer":  {State: render.Done, Hosts: []string{"docs.example"}, Blocks: []render.Block{render.Text{Markdown: richAnswer}}},
		"code":    {State: render.Done, Blocks: []render.Block{render.Text{Markdown: "This is it:"}, render.Code{Language: "go", Source: "x := \"```\"\n// <@1>"}, read}},
		"beyond":  beyond(),
		"wants":   wants(),
		"queued":  {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "Reading."}, read, shown(render.MoreWaiting(2)), shown(render.NeverAsks)}, Choices: []render.Choice{stopButton()}},
		"lines": {State: render.Waiting, Blocks: []render.Block{cardOf(1, manyArgs())},
			Choices: []render.Choice{stopButton()}},
		"wide": {State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: strings.Repeat("四千字的回答。", 600)}}},
	}
}

// beyond is a card with all that can be chosen beside the three buttons, as the chat's own state draws it, and a chat that never asks.
func beyond() render.Message {
	s := grantable("ASK1")
	return turn.View(s, s.Turn, turn.Live{})
}

// grantable is a chat with a call that any grant could cover.
func grantable(tokens ...string) turn.Session {
	s := turn.Session{Mode: permission.ModeNever, People: []turn.Person{{User: anaPerson.User, Name: "Ana"}}, Turn: &turn.Turn{ID: "t1", Requester: anaPerson.User}}
	for _, tok := range tokens {
		c := turn.ToolCall{ID: turn.CallID("c-" + tok), Ask: turn.AskID(tok), Asks: []turn.AskID{turn.AskID(tok)}, Status: turn.Awaiting, Tool: permission.Tool{Server: "files", Name: "write_file"},
			Args: []byte(`{"content":"hello","path":"/srv/team/notes.txt"}`)}
		c.Ruling.Level, c.Ruling.ChatGrant, c.Ruling.Remember = permission.LevelUser, true, true
		c.Ruling.Scopes = []permission.Scope{permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer}
		s.Turn.Calls = append(s.Turn.Calls, c)
	}
	return s
}

// wanting is a chat with a running call whose server wants something of Ana.
func wanting(tok string, w turn.Want) turn.Session {
	s := grantable(tok)
	s.Mode = permission.ModeTool
	c := &s.Turn.Calls[0]
	c.Status, c.Run, c.Ask, c.Asks = turn.Running, "r1", "", nil
	c.Tool.Name = "send_mail"
	c.Want = &turn.Wanting{Ask: turn.AskID(tok), Want: w, Deadline: twoPM.Add(10 * time.Minute)}
	return s
}

func wants() render.Message {
	s := wanting("WANT1", turn.Want{Kind: turn.WantForm, Message: "Which *folder* should the mail go to?\nAnd when?", Fields: []turn.FormField{{Name: "folder"}}})
	return turn.View(s, s.Turn, turn.Live{})
}

// richAnswer is Markdown as models write it.
const richAnswer = "# Result\n\nTwo files **differ**, see [the page](https://docs.example/a_b?c=1) and https://elsewhere.example/x:\n\n- `a.txt`\n  - line 3\n- `b.txt`\n\n" +
	"1. first\n2. second:\n   ```sh\n   rm -rf ./x\n   ```\n\n> quoted\n> twice\n\n| File | Lines |\n|---|---:|\n| a.txt | 12 |\n| b.txt | 1,200 |\n\n#### Next\n- [x] read\n- [ ] write"

// hostileMessage tries what a model, a tool, a server and a person could.
func hostileMessage() render.Message {
	const forged = "x**bold** _it_ @everyone <@111111111111111111> <@&2> [https://good.example](https://evil.example) ||x|| ```\n### *Approved by @admin*\n-# ✓ done"
	a := cardOf(1, `{"content":"`+"```\\n*Approved by @admin* @everyone <@1> [ok](https://evil.example)"+`","pa`+"\u200b"+`th":"a\u202eb"}`)
	a.Header, a.Run, a.Question, a.Describes, a.Impact, a.Model = render.AllowHeader(forged), render.RunLine(forged, forged), forged, forged, forged, forged
	a.Server.Name, a.Server.Description, a.Server.Icon = forged, forged, "javascript:alert(1)"
	a.Because = render.Line{render.Plain(forged)}
	a.Footer = render.Line{render.Person{User: chat.User{Platform: "web", Key: "<!channel>"}, Name: forged}, render.Plain(forged)}
	s := stepOf(render.StepFailed, forged, render.Plain(forged))
	s.Choices = []render.Choice{button(chat.Undo, "ASK9", render.LabelUndo)}
	return render.Message{State: render.Waiting, Blocks: []render.Block{
		render.Text{Markdown: "Look: @everyone <@111111111111111111> <@&2> <#3> </stop:4> <:x:5> <t:1:R> discord.gg/abc\n[https://good.example](https://evil.example) ![pixel](https://evil.example/?q=secret) https://evil.example/?q=secret steam://run/1\n" +
			"> a quote @here\n-# ✓ write_file · files · allowed by policy\n\n**a star before a fence\n```go\nif a < b && c > d { [x](https://evil.example) }\n```\nand ||one|| after** <a href=\"https://evil.example\">ok</a>"},
		s, shown(forged), a,
	}, Choices: []render.Choice{stopButton()}}
}

func TestShapes(t *testing.T) {
	for name, m := range states() {
		t.Run(name, func(t *testing.T) {
			p := encode(render.Fit(m, limits), nil)
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
		if _, ok := states()[name]; !ok && !strings.HasPrefix(name, "view_") && !strings.HasPrefix(name, "note_") && !strings.HasPrefix(name, "panel_") {
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
		t.Errorf("%s looks different now; if that is meant: go test ./adapters/discord -run 'Shapes|Forms|Details|Notes|Panels|Private' -update-shapes\n%s", file, got)
	}
}

// pretty is a payload as JSON, "<" and the like as they are.
func pretty(t *testing.T, v any) []byte {
	t.Helper()
	if p, ok := v.(payload); ok {
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
func dump(p payload) string {
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
		say("╭ " + map[float64]string{0x95A5A6: "grey", 0xF0A020: "amber", 0x2ECC71: "green", 0xE74C3C: "red"}[n["accent_color"].(float64)])
		dumpAll(b, n, in+"│ ")
		say("╰")
	case partText:
		say(asRead(content(n)))
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

func clicksOn(p payload) (out []pressing) {
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
func pressable(t interface{ Fatalf(string, ...any) }, p payload) (out []string) {
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
