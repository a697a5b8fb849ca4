package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What the terminal says beside what the bot does.
const (
	sayNobody     = "nobody is at this terminal: "
	sayStopping   = "Stopping. Ctrl-C again leaves at once."
	sayGone       = "This no longer waits for an answer."
	sayNotAsked   = "Nothing is asked now, so this was not taken."
	sayTooEarly   = "This was typed before the question stood here, so it was not taken."
	sayNotTaken   = "Not taken: "
	sayOnPage     = "The rest can be done on the page: "
	sayTypeYes    = "Type yes to confirm: "
	sayEndedOther = "The turn ended: "
)

// answers are the choices that a terminal offers, with the letter for each. Whatever is typed else is the last one that is offered,
// which lets nothing happen.
var answers = []struct {
	choice chat.Choice
	letter string
	word   string
}{
	{chat.Reveal, "v", "[v]iew what is hidden"},
	{chat.AllowChat, "s", "[s]ession"},
	{chat.AllowOnce, "o", "[o]nce"},
	{chat.Happened, "h", "it [h]appened"},
	{chat.RunAgain, "r", "[r]un again"},
	{chat.Deny, "d", "[d]eny"},
	{chat.Leave, "l", "[l]eave it"},
	{chat.Decline, "d", "[d]ecline"},
}

// talking is one conversation at a terminal. One goroutine does all of it; others only bring what happens.
type talking struct {
	api       *chatAPI
	out, errs io.Writer
	signals   <-chan os.Signal
	keys      *keyboard
	listens   bool // somebody types
	wait      sync.WaitGroup

	chat   string
	events chan heard
	paper  *paper
	lines  <-chan typedLine // nil: nobody types any more

	message  shownMessage    // the newest of the bot
	ask      shownBlock      // the one that is put now; no request: none
	asked    int64           // its number
	confirms chat.Choice     // what a yes would send
	answered map[string]bool // asks that this terminal answered
	ended    map[string]bool // turns
	stopping bool            // Ctrl-C did
}

// begin signs in and opens a chat.
func (t *talking) begin(ctx context.Context, key, name string) error {
	if err := t.api.signIn(ctx, key, name); err != nil {
		return err
	}
	var made struct {
		Chat string `json:"chat_id"`
	}
	if err := t.api.do(ctx, "POST", "/api/v1/chats", nil, &made); err != nil {
		return err
	}
	t.chat, t.events, t.paper, t.answered = made.Chat, make(chan heard), newPaper(t.out), map[string]bool{}
	t.ended = map[string]bool{}
	if t.listens {
		t.lines = t.keys.lines
	}
	t.wait.Go(func() { t.api.events(ctx, t.chat, t.events) })
	return nil
}

func (t *talking) path(rest string) string { return "/api/v1/chats/" + url.PathEscape(t.chat) + rest }

func (t *talking) page() string { return t.api.base.String() + "/c/" + url.PathEscape(t.chat) }

// once is one turn.
func (t *talking) once(ctx context.Context, text string) int { return t.turn(ctx, text) }

// on is turn after turn, until the input ends.
func (t *talking) on(ctx context.Context) int {
	fmt.Fprintln(t.errs, "This chat is also at "+t.page()+" for whoever knows the address. Ctrl-D ends.")
	code := exitOK
	for {
		now := t.keys.put()
		t.paper.endLine()
		fmt.Fprint(t.out, "> ")
		text, end := t.typed(now)
		if end {
			fmt.Fprintln(t.out)
			return code
		}
		if text = strings.TrimSpace(text); text != "" {
			code = t.turn(ctx, text)
			if code == exitFail && t.lines == nil {
				return code
			}
		}
	}
}

// typed waits for a line while nothing goes on.
func (t *talking) typed(now int64) (text string, end bool) {
	for {
		select {
		case l, ok := <-t.lines:
			if !ok {
				return "", true
			}
			if l.at >= now {
				return l.text, false
			}
			t.paper.say(sayTooEarly)
			fmt.Fprint(t.out, "> ")
		case h := <-t.events:
			if h.err == nil {
				t.hear(h)
				continue
			}
			fmt.Fprintln(t.errs, "bot:", h.err)
			return "", true
		case <-t.signals:
			return "", true
		}
	}
}

// turn says something and goes on until its turn is over.
func (t *talking) turn(ctx context.Context, text string) int {
	var took struct{ Lines []string }
	if err := t.api.do(ctx, "POST", t.path("/messages"), map[string]string{"text": text}, &took); err != nil {
		fmt.Fprintln(t.errs, "bot:", err)
		return exitFail
	}
	if took.Lines != nil { // it was a command, which opens no turn
		for _, l := range took.Lines {
			t.paper.say(render.Prose(l))
		}
		return exitOK
	}
	t.stopping = false
	for {
		if t.put(ctx); t.ask.Request != "" && t.lines == nil {
			t.answer(ctx, t.safe())
			continue
		}
		select {
		case h := <-t.events:
			if h.err != nil {
				fmt.Fprintln(t.errs, "bot:", h.err)
				return exitFail
			}
			if why, over := t.hear(h); over {
				return t.over(why)
			}
			if t.ask.Request != "" && !t.paper.open { // something was said below the question
				t.prompt()
			}
		case l, ok := <-t.lines:
			if !ok {
				t.lines = nil // from here on everything that asks is denied
				continue
			}
			t.take(ctx, l)
		case <-t.signals:
			if t.stopping {
				return exitInterrupted
			}
			t.stopping = true
			t.paper.say(sayStopping)
			t.stop(ctx)
		}
	}
}

// hear takes one event. over says that a turn ended, and why.
func (t *talking) hear(h heard) (why string, over bool) {
	switch h.name {
	case "message":
		var m shownMessage
		if json.Unmarshal(h.data, &m) == nil && m.Role == "assistant" {
			t.message = m
			t.paper.message(m)
		}
	case "turn_done":
		var d struct {
			Turn     string `json:"turn_id"`
			Why, Say string
		}
		if json.Unmarshal(h.data, &d) == nil && !t.ended[d.Turn] { // a stream that broke may tell it twice
			t.ended[d.Turn] = true
			if d.Why != string(turn.Answered) {
				t.paper.once("end/"+d.Why+"/"+t.message.ID, sayEndedOther+render.Prose(cmp.Or(d.Say, d.Why)))
			}
			return d.Why, true
		}
	}
	return "", false
}

func (t *talking) over(why string) int {
	t.paper.endLine()
	t.ask, t.confirms = shownBlock{}, ""
	switch {
	case why == string(turn.Answered):
		return exitOK
	case t.stopping:
		return exitInterrupted
	}
	return exitFail
}

// put puts the first ask that waits and was not answered here, unless it stands there already.
func (t *talking) put(ctx context.Context) {
	var next shownBlock
	for _, b := range t.message.Blocks {
		if b.Type == "ask" && !t.answered[b.Request] {
			next = b
			break
		}
	}
	if next.Request == t.ask.Request {
		return
	}
	if t.ask.Request != "" && !t.answered[t.ask.Request] {
		t.paper.say(sayGone)
	}
	t.ask, t.confirms = next, ""
	if next.Request == "" {
		return
	}
	t.paper.say("")
	t.paper.say(next.ask())
	if c, ok := next.offers(chat.AllowChat); ok {
		t.paper.say("session: " + render.Prose(c.Label) + hint(c))
	}
	if _, ok := next.offers(chat.Answer); ok && t.safe() != "" {
		t.paper.say(sayOnPage + t.page())
	}
	if t.safe() == "" { // nothing that a terminal has a letter for
		t.answered[next.Request], t.ask = true, shownBlock{}
		t.paper.say(sayOnPage + t.page())
		if t.lines == nil {
			t.stop(ctx)
		}
		return
	}
	t.asked = t.keys.put()
	t.prompt()
}

func hint(c shownChoice) string {
	if c.Hint == "" || c.Hint == c.Label {
		return ""
	}
	return " (" + render.Prose(c.Hint) + ")"
}

// prompt is the question's last line.
func (t *talking) prompt() {
	t.paper.endLine()
	if t.confirms != "" {
		fmt.Fprint(t.out, sayTypeYes)
		t.paper.open = true
		return
	}
	var words []string
	letter := ""
	for _, a := range answers {
		if _, ok := t.ask.offers(a.choice); ok {
			words, letter = append(words, a.word), a.letter
		}
	}
	fmt.Fprintf(t.out, "%s (%s): ", strings.Join(words, "  "), letter)
	t.paper.open = true
}

// safe is the choice that lets nothing happen: the last one that is offered.
func (t *talking) safe() (c chat.Choice) {
	for _, a := range answers {
		if _, ok := t.ask.offers(a.choice); ok {
			c = a.choice
		}
	}
	return c
}

// take is a typed line while a turn goes on.
func (t *talking) take(ctx context.Context, l typedLine) {
	t.paper.open = false // who typed it ended the line
	switch {
	case t.ask.Request == "":
		t.paper.say(sayNotAsked)
		return
	case l.at < t.asked:
		t.paper.say(sayTooEarly)
		t.prompt()
		return
	}
	word := strings.ToLower(strings.TrimSpace(l.text))
	if t.confirms != "" {
		choice := t.confirms
		if word != "yes" {
			choice = t.safe()
		}
		t.answer(ctx, choice)
		return
	}
	for _, a := range answers {
		c, ok := t.ask.offers(a.choice)
		if !ok || word != a.letter {
			continue
		}
		if a.choice == chat.Reveal {
			t.look(ctx)
			return
		}
		if c.Confirm != "" {
			t.confirms = a.choice
			t.paper.say(render.Prose(c.Confirm))
			t.asked = t.keys.put()
			t.prompt()
			return
		}
		t.answer(ctx, a.choice)
		return
	}
	t.answer(ctx, t.safe())
}

// look shows what the card masks, and asks again.
func (t *talking) look(ctx context.Context) {
	var out struct {
		Hidden struct {
			Parts []struct{ Text string }
		}
	}
	if err := t.api.do(ctx, "POST", "/api/v1/asks/"+url.PathEscape(t.ask.Request), map[string]string{"choice": string(chat.Reveal)}, &out); err != nil {
		t.paper.say(sayNotTaken + err.Error())
	}
	for _, p := range out.Hidden.Parts {
		t.paper.say(render.Prose(p.Text))
	}
	t.asked = t.keys.put()
	t.prompt()
}

// answer sends a choice. One that is not taken is told, and the ask is left to others; where nobody types, the turn is stopped then,
// because it would wait for nobody.
func (t *talking) answer(ctx context.Context, c chat.Choice) {
	request := t.ask.Request
	t.answered[request] = true
	t.ask, t.confirms = shownBlock{}, ""
	if t.lines == nil {
		t.paper.open = false
		fmt.Fprintln(t.out, sayNobody+string(c))
	}
	err := t.api.do(ctx, "POST", "/api/v1/asks/"+url.PathEscape(request), map[string]string{"choice": string(c)}, nil)
	if err == nil {
		return
	}
	t.paper.say(sayNotTaken + err.Error())
	if t.lines == nil {
		t.stop(ctx)
	}
}

// stop stops the turn.
func (t *talking) stop(ctx context.Context) {
	if err := t.api.do(ctx, "POST", t.path("/stop"), nil, nil); err != nil {
		t.paper.say(sayNotTaken + err.Error())
	}
}
