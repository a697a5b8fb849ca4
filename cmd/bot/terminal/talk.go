package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// What the terminal says in more than one place.
const (
	sayTooEarly = "This was typed before the question stood here, so it was not taken."
	sayNotTaken = "Not taken: "
	sayOnPage   = "The rest can be done on the page: "
)

// answer is a choice that a terminal offers, with its letter. Whatever is typed else is the last one that is offered, which lets nothing happen.
type answer struct {
	choice       chat.Choice
	letter, word string
}

var answers = []answer{
	{chat.Reveal, "v", "[v]iew what is hidden"},
	{chat.AllowChat, "s", "[s]ession"},
	{chat.AllowOnce, "o", "[o]nce"},
	{chat.Happened, "h", "it [h]appened"},
	{chat.RunAgain, "r", "[r]un again"},
	{chat.ApproveAll, "o", "these [o]nce"},
	{chat.DenyAll, "d", "[d]eny these"},
	{chat.Deny, "d", "[d]eny"},
	{chat.Leave, "l", "[l]eave it"},
	{chat.Decline, "d", "[d]ecline"},
}

// talk is one conversation at a terminal. One goroutine does all of it; others only bring what happens.
type talk struct {
	command.Process
	api    *api
	screen *screen
	keys   *keyboard
	lines  <-chan typedLine // nil: nobody types, or nobody does any more
	wait   sync.WaitGroup

	chat     string // the path of its requests
	page     string
	events   chan event
	message  message         // the newest of the bot
	asking   block           // the ask that is put now; without a request: none
	number   int64           // the question's that stands there
	confirms chat.Choice     // what a yes would send
	answered map[string]bool // asks that this terminal answered
	ended    map[string]bool // turns
	stopping bool            // Ctrl-C did
}

// begin signs in and opens a chat.
func (t *talk) begin(ctx context.Context, key string) error {
	if err := t.api.signIn(ctx, key, t.Operator().Name); err != nil {
		return err
	}
	var made struct {
		ID string `json:"chat_id"`
	}
	if err := t.api.do(ctx, "POST", "/api/v1/chats", nil, &made); err != nil {
		return err
	}
	id := url.PathEscape(made.ID)
	t.chat, t.page, t.events = "/api/v1/chats/"+id, t.api.base.String()+"/c/"+id, make(chan event)
	t.wait.Go(func() { t.api.events(ctx, made.ID, t.events) })
	return nil
}

// turns is turn after turn, until the input ends.
func (t *talk) turns(ctx context.Context) (code int) {
	fmt.Fprintln(t.Stderr, "This chat is also at "+t.page+" for whoever knows the address. Ctrl-D ends.")
	for {
		text, err := t.next()
		if err != nil {
			fmt.Fprintln(t.Stdout)
			if !errors.Is(err, io.EOF) {
				code = t.Refuse(command.Fail, err)
			}
			return code
		}
		if text != "" {
			if code = t.turn(ctx, text); t.lines == nil { // the input ended meanwhile
				return code
			}
		}
	}
}

// next waits for a line while nothing goes on. io.EOF: there is none any more.
func (t *talk) next() (text string, err error) {
	t.number = t.keys.put()
	t.screen.ask("> ")
	t.screen.open = false // what is typed ends this line
	for {
		select {
		case l, more := <-t.lines:
			switch {
			case !more:
				return "", io.EOF
			case l.at >= t.number:
				return strings.TrimSpace(l.text), nil
			}
			t.screen.say(sayTooEarly)
			fmt.Fprint(t.Stdout, "> ")
		case e := <-t.events:
			if e.err != nil {
				return "", e.err
			}
			t.hear(e)
		case <-t.Signals:
			return "", io.EOF
		}
	}
}

// turn says something and goes on until its turn is over.
func (t *talk) turn(ctx context.Context, say string) int {
	var took struct{ Lines []string }
	if err := t.api.do(ctx, "POST", t.chat+"/messages", map[string]string{"text": say}, &took); err != nil {
		return t.Refuse(command.Fail, err)
	}
	if took.Lines != nil { // it was a command, which opens no turn
		for _, l := range took.Lines {
			t.screen.say(text.Prose(l))
		}
		return command.OK
	}
	for t.stopping = false; ; {
		if t.put(ctx); t.asking.RequestID != "" && t.lines == nil {
			t.answer(ctx, t.asking.safe())
			continue
		}
		select {
		case e := <-t.events:
			if e.err != nil {
				return t.Refuse(command.Fail, e.err)
			}
			if why, over := t.hear(e); over {
				return t.over(why)
			}
			if t.asking.RequestID != "" && !t.screen.open { // something was said below the question
				t.prompt()
			}
		case l, ok := <-t.lines:
			if !ok {
				t.lines = nil // from here on everything that asks is denied
				continue
			}
			t.screen.open = false // who typed it ended the line
			t.take(ctx, l)
		case <-t.Signals:
			if t.stopping {
				return interrupted
			}
			t.stopping = true
			t.screen.say("Stopping. Ctrl-C again leaves at once.")
			t.stop(ctx)
		}
	}
}

// hear takes one event. over says that a turn ended, and why.
func (t *talk) hear(e event) (why string, over bool) {
	switch e.name {
	case "message":
		var m message
		if json.Unmarshal([]byte(e.data), &m) == nil && m.Role == "assistant" {
			t.message = m
			t.screen.show(m)
		}
	case "turn_done":
		var d struct {
			Turn     string `json:"turn_id"`
			Why, Say string
		}
		if json.Unmarshal([]byte(e.data), &d) == nil && !t.ended[d.Turn] { // a stream that broke may tell it twice
			t.ended[d.Turn] = true
			if d.Why != string(turn.Answered) {
				t.screen.once("end/"+d.Why+"/"+t.message.ID, "The turn ended: "+text.Prose(cmp.Or(d.Say, d.Why)))
			}
			return d.Why, true
		}
	}
	return "", false
}

func (t *talk) over(why string) int {
	t.screen.endLine()
	t.asking, t.confirms = block{}, ""
	switch {
	case why == string(turn.Answered):
		return command.OK
	case t.stopping:
		return interrupted
	}
	return command.Fail
}

// put puts the first ask that waits and was not answered here, unless it stands there already.
func (t *talk) put(ctx context.Context) {
	var next block
	if i := slices.IndexFunc(t.message.Blocks, func(b block) bool { return b.Type == "ask" && !t.answered[b.RequestID] }); i >= 0 {
		next = t.message.Blocks[i]
	}
	if next.RequestID == t.asking.RequestID {
		return
	}
	if t.asking.RequestID != "" && !t.answered[t.asking.RequestID] {
		t.screen.say("This no longer waits for an answer.")
	}
	if t.asking, t.confirms = next, ""; next.RequestID == "" {
		return
	}
	t.screen.say("\n" + next.card())
	if c := next.button(chat.AllowChat); c != nil {
		label := "session: " + text.Prose(c.Label)
		if c.Hint != "" && c.Hint != c.Label {
			label += " (" + text.Prose(c.Hint) + ")"
		}
		t.screen.say(label)
	}
	if len(next.offered()) == 0 { // nothing that a terminal has a letter for
		t.answered[next.RequestID], t.asking = true, block{}
		t.screen.say(sayOnPage + t.page)
		if t.lines == nil {
			t.stop(ctx)
		}
		return
	}
	if next.button(chat.Answer) != nil {
		t.screen.say(sayOnPage + t.page)
	}
	t.number = t.keys.put()
	t.prompt()
}

// button finds one of an ask's buttons. Of those behind ⋯ a terminal has a letter for what stands among the buttons where one call is asked
// about alone.
func (b block) button(c chat.Choice) *choice {
	all := b.Choices
	if b.Brief && c == chat.AllowChat {
		all = b.More
	}
	if i := slices.IndexFunc(all, func(of choice) bool { return of.Choice == string(c) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// offered are the answers that an ask takes. The last one lets nothing happen.
func (b block) offered() []answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return b.button(a.choice) == nil })
}

// safe is the choice that lets nothing happen.
func (b block) safe() chat.Choice {
	offered := b.offered()
	return offered[len(offered)-1].choice
}

// prompt is the question's last line.
func (t *talk) prompt() {
	if t.confirms != "" {
		t.screen.ask("Type yes to confirm: ")
		return
	}
	var words []string
	letter := ""
	for _, a := range t.asking.offered() {
		words, letter = append(words, a.word), a.letter
	}
	t.screen.ask(fmt.Sprintf("%s (%s): ", strings.Join(words, "  "), letter))
}

// take is a typed line while a turn goes on.
func (t *talk) take(ctx context.Context, l typedLine) {
	switch {
	case t.asking.RequestID == "":
		t.screen.say("Nothing is asked now, so this was not taken.")
		return
	case l.at < t.number:
		t.screen.say(sayTooEarly)
		t.prompt()
		return
	}
	word, chosen := strings.ToLower(strings.TrimSpace(l.text)), t.asking.safe()
	switch i := slices.IndexFunc(t.asking.offered(), func(a answer) bool { return a.letter == word }); {
	case t.confirms != "" && word == "yes":
		chosen = t.confirms
	case t.confirms == "" && i >= 0:
		chosen = t.asking.offered()[i].choice
		confirm := t.asking.button(chosen).Confirm
		if chosen != chat.Reveal && confirm == "" {
			break
		}
		if chosen == chat.Reveal {
			t.reveal(ctx)
		} else {
			t.confirms = chosen
			t.screen.say(text.Prose(confirm))
		}
		t.number = t.keys.put()
		t.prompt()
		return
	}
	t.answer(ctx, chosen)
}

// choose sends a choice about the ask that stands there.
func (t *talk) choose(ctx context.Context, asking block, c chat.Choice, out any) bool {
	path, body := "/api/v1/asks/"+url.PathEscape(asking.RequestID), map[string]string{"choice": string(c)}
	if c == chat.ApproveAll || c == chat.DenyAll { // of several that are asked as one
		path, body["token"] = t.chat+"/clicks", asking.button(c).Token
	}
	err := t.api.do(ctx, "POST", path, body, out)
	if err != nil {
		t.screen.say(sayNotTaken + err.Error())
	}
	return err == nil
}

// reveal shows what the card masks.
func (t *talk) reveal(ctx context.Context) {
	var out struct {
		Hidden struct{ Parts []struct{ Text string } }
	}
	t.choose(ctx, t.asking, chat.Reveal, &out)
	for _, p := range out.Hidden.Parts {
		t.screen.say(text.Prose(p.Text))
	}
}

// answer sends a choice. One that is not taken is told, and the ask is left to others; where nobody types, the turn is stopped then,
// because it would wait for nobody.
func (t *talk) answer(ctx context.Context, c chat.Choice) {
	asking := t.asking
	t.answered[asking.RequestID] = true
	t.asking, t.confirms = block{}, ""
	if t.lines == nil {
		t.screen.open = false
		fmt.Fprintln(t.Stdout, "nobody is at this terminal: "+string(c))
	}
	if !t.choose(ctx, asking, c, nil) && t.lines == nil {
		t.stop(ctx)
	}
}

// stop stops the turn.
func (t *talk) stop(ctx context.Context) {
	if err := t.api.do(ctx, "POST", t.chat+"/stop", nil, nil); err != nil {
		t.screen.say(sayNotTaken + err.Error())
	}
}
