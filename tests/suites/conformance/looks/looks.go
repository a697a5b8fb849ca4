// Package looks has the messages that the encoder of every surface is tested with: one of each look that a turn has, and what a model, a tool,
// a server or a person could make of one at worst. A platform's own tests add what only it has to fear.
package looks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// TwoPM is when all of it happens.
var TwoPM = time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)

// HelloArgs are the arguments of a usual call.
const HelloArgs = `{"path":"notes.txt","content":"hello"}`

// Button is a choice as a card has it.
func Button(c chat.Choice, token, label string) render.Choice {
	b := render.Choice{Choice: c, Token: token, Label: label}
	switch c {
	case chat.Deny, chat.DenyAll:
		b.Style = render.Danger
	case chat.AllowChat:
		b.Hint = text.HintAllowChat
	}
	return b
}

// Card is the n-th of some cards, which ana can answer. What stands behind ⋯ is the caller's.
func Card(ana render.Person, n int, args string) render.Ask {
	token := fmt.Sprintf("ASK%d", n)
	a := render.Ask{
		Call: fmt.Sprintf("c%d", n), Token: token, Kind: render.AskPermission, Header: text.AllowHeader("files"), Run: text.RunLine("write_file", "files"), Tool: "write_file",
		Server: "files", Icon: "https://files.example/icon.png", Question: "Write hello to notes.txt?",
		Args:    render.ArgsOf([]byte(args), strings.Repeat("7f3a", 16)),
		Facts:   render.Line{render.Plain(text.SymbolConfirm + " " + text.FactWrites + " · " + text.FactUnrated)},
		Choices: []render.Choice{Button(chat.AllowChat, token, text.LabelAllowChat), Button(chat.AllowOnce, token, text.LabelAllowOnce), Button(chat.Deny, token, text.LabelDeny)},
		Footer:  render.Line{ana, render.Plain(text.CanAnswer + text.Until), render.Time{At: TwoPM.Add(time.Minute), Until: true}, render.Plain(".")},
		Warning: text.Warning(""), Review: text.Review,
	}
	return a
}

// Step is a call's line.
func Step(state render.StepState, title string, detail ...render.Span) render.Step {
	return render.Step{Call: "c-" + title, State: state, Title: title, Server: "files", Detail: detail}
}

// Stop is the button of a turn that runs.
func Stop() render.Choice { return Button(chat.Stop, "T1", text.LabelStop) }

// Note is a quiet line.
func Note(say string) render.Note { return render.Note{Line: render.Line{render.Plain(say)}} }

// States are the looks that a message has on every platform; card draws the n-th card. The answer of "long" has so many paragraphs.
func States(ana render.Person, long int, card func(n int, args string) render.Ask) map[string]render.Message {
	read := Step(render.StepDone, "Read file “notes.txt”", render.Plain("0.2 s · needs no question"))
	allowed := Step(render.StepDone, "Write file “notes.txt”", render.Plain("0.1 s · allowed once by "), ana, render.Plain(" "), render.Time{At: TwoPM})
	answer := strings.Repeat("A sentence of an answer that goes on for quite a while, with `code` and a [page](https://docs.example/page?a=1&b=2).\n\n", long)
	expired := Step(render.StepExpired, "Write file “notes.txt”", render.Plain("nobody answered in 60 s · not run"))
	expired.Choices = []render.Choice{Button(chat.AskAgain, "ASK1", text.LabelAskAgain)}
	undo := Step(render.StepPending, "Write file “notes.txt”", render.Plain("allowed once by "), ana, render.Plain(" "), render.Time{At: TwoPM}, render.Plain(" · comes next"))
	undo.Choices = []render.Choice{Button(chat.Undo, "ASK1", text.LabelUndo)}
	outcome := render.Ask{
		Call: "c1", Token: "ASK2", Kind: render.AskOutcome, Question: text.OutcomeHeader, Run: text.RunLine("write_file", "files"), Tool: "write_file",
		Server: "files", Args: render.ArgsOf([]byte(HelloArgs), strings.Repeat("7f3a", 16)),
		Choices: []render.Choice{Button(chat.Happened, "ASK2", text.LabelHappened), Button(chat.RunAgain, "ASK2", text.LabelRunAgain), Button(chat.Leave, "ASK2", text.LabelLeave)},
		More:    []render.Choice{Button(chat.ViewDetail, "ASK2", text.LabelViewDetails)},
		Footer:  render.Line{render.Plain(text.OutcomeFooter + " "), ana, render.Plain(text.CanAnswer + ".")},
	}
	several := render.Message{State: render.Waiting, Token: "T1", Blocks: []render.Block{render.Text{Markdown: "I'll write both."}, read, Note(text.BatchHeader(3, 4))},
		Choices: []render.Choice{Button(chat.ApproveAll, "all-1", text.LabelApproveAll(3)), Button(chat.DenyAll, "all-1", text.LabelDenyAll(3)), Stop()}}
	for i := range 3 {
		row := card(i+1, HelloArgs)
		row.Brief = true
		if i > 0 {
			row.Header = ""
		}
		if i < 2 {
			row.Warning, row.Review, row.Footer = "", "", nil
		}
		row.More = append(row.More, row.Choices[0])
		row.Choices = row.Choices[1:]
		several.Blocks = append(several.Blocks, row)
	}
	many := render.Message{State: render.Working, Token: "T1", Blocks: []render.Block{render.Text{Markdown: "Reading all of them."}}, Choices: []render.Choice{Stop()}}
	for i := range 60 {
		many.Blocks = append(many.Blocks, Step(render.StepDone, fmt.Sprintf("Read file “%d.txt”", i), render.Plain("0.2 s · needs no question")))
	}
	many.Blocks = append(many.Blocks, Step(render.StepRunning, "List directory “docs”", render.Plain("started "), render.Time{At: TwoPM}, render.Plain(" · 40 %")))
	one := card(1, HelloArgs)
	one.More = append(one.More, Button(chat.Stop, one.Token, text.LabelStop))
	big := card(1, `{"path":"notes.txt","content":"`+strings.Repeat("hello <b>you</b> & me ", 900)+`"}`)
	was, becomes := "# Standup\n\nEvery day at 9:30, in the kitchen.\nNew people say hello first.\n", "# Standup\n\nEvery day at 10:00, in the kitchen.\nNew people say hello first.\n\nOn Fridays somebody shows something.\n"
	replaces := card(1, `{"path":"docs/standup.md","content":`+strconv.Quote(becomes)+`}`)
	replaces.Question = "Write docs/standup.md?"
	replaces.Args = replaces.Args.WithDiff("content", render.DiffLines(was, becomes), text.DiffAgainst("read_text_file", "files", text.ClockSeconds(TwoPM)))
	for _, a := range []*render.Ask{&big, &replaces} {
		a.More = append(a.More, Button(chat.Stop, a.Token, text.LabelStop))
	}
	outcome.More = append(outcome.More, Button(chat.Stop, "ASK2", text.LabelStop))
	return map[string]render.Message{
		"thinking": {State: render.Working, Blocks: []render.Block{Note(text.Thinking)}, Choices: []render.Choice{Stop()}},
		"working": {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "I'll read both files first."}, read,
			Step(render.StepRunning, "List directory “docs”", render.Plain("started "), render.Time{At: TwoPM}, render.Plain(" · 40 %"))}, Choices: []render.Choice{Stop()}},
		"asking":  {State: render.Waiting, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, one}},
		"several": several,
		"allowed": {State: render.Working, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, undo}, Choices: []render.Choice{Stop()}},
		"decided": {State: render.Done, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, read, allowed, render.Text{Markdown: "**Done**: `notes.txt` says hello."},
			render.Note{Line: render.Line{render.Plain(text.GrantLine("write_file of files", "Ana"))}, Choices: []render.Choice{Button(chat.Revoke, "G1", text.LabelRevoke)}}}},
		"denied": {State: render.Done, Blocks: []render.Block{Step(render.StepDenied, "Write file “notes.txt”", render.Plain("denied by "), ana, render.Plain(" "), render.Time{At: TwoPM}, render.Plain(" · “not now”")),
			render.Text{Markdown: "Then I leave the file as it is."}}},
		"expired":  {State: render.Done, Blocks: []render.Block{expired, render.Text{Markdown: "Nobody answered, so I did not write it."}}},
		"unknown":  {State: render.Waiting, Blocks: []render.Block{render.Text{Markdown: "I'll write the greeting."}, outcome}},
		"failed":   {State: render.Failed, Blocks: []render.Block{Step(render.StepFailed, "Write file “notes.txt”", render.Plain("1.2 s · needs no question · no such directory")), render.Text{Markdown: "I tried to", Cut: true}, Note(text.EndModel)}},
		"long":     {State: render.Done, Token: "T1", Blocks: []render.Block{render.Text{Markdown: answer}, read}},
		"many":     many,
		"replaces": {State: render.Waiting, Blocks: []render.Block{replaces}},
		"big_args": {State: render.Waiting, Blocks: []render.Block{big}},
	}
}

// Offered are the choices of a message: "deny ASK1".
func Offered(m render.Message) (out []string) {
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

// KeepsAsks: the asks that a drawing shows have every choice they had, and the first always is one of these; the choices of the
// message itself are there, Approve all only while every ask is.
func KeepsAsks(t *rapid.T, m render.Message, pressable []string) {
	is := map[string]int{}
	for _, s := range pressable {
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
	if asks := surface.CountAsks(m); cards < asks && is["approve_all batch"] > 0 {
		t.Fatal("Approve all covers calls that nobody is shown")
	}
}
