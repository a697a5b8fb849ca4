package harness

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Button is one button as it stands in a message.
type Button struct {
	Chat    chat.ID
	Message chat.MessageRef
	Choice  chat.Choice
	Token   string
	Of      string // the tool it stands with; empty for the message's own
}

// Envelope is one delivery of a person, with a name of its own.
func (w *World) Envelope(id chat.ID, u chat.User) chat.Envelope {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	d := fmt.Sprintf("d%d", w.n)
	name := strings.ToUpper(u.Key[:1]) + u.Key[1:]
	return chat.Envelope{Delivery: chat.Delivery(d), Chat: id, User: u, Name: name, Groups: w.Platform.groupsOf(u), Reply: chat.ReplyHandle{Platform: id.Platform, Key: d}}
}

// SaidBy is a message of a person.
func (w *World) SaidBy(u chat.User, text string) chat.Said {
	env := w.Envelope(Room, u)
	return chat.Said{Envelope: env, Message: chat.MessageRef("p-" + string(env.Delivery)), Text: text}
}

// Say delivers a message of a person, which must be taken. It returns the person's message.
func (w *World) Say(r *Replica, u chat.User, text string) chat.MessageRef {
	w.Helper()
	in := w.SaidBy(u, text)
	w.Deliver(r, in)
	return in.Message
}

// Deliver hands a replica an inbound, which must be taken, and returns what was whispered.
func (w *World) Deliver(r *Replica, in chat.Inbound) string {
	w.Helper()
	if err := r.Engine.Accept(context.Background(), in); err != nil {
		w.Fatalf("%s: Accept: %v", r.Name, err)
	}
	return w.Platform.Whispered(in.From().Reply.Key)
}

// Click is a person's press of a button.
func (w *World) Click(u chat.User, b Button) chat.Clicked {
	return chat.Clicked{Envelope: w.Envelope(b.Chat, u), Token: b.Token, Choice: b.Choice, Message: b.Message}
}

// Press waits for the button of a tool in the room's newest message, presses it and returns what was whispered.
func (w *World) Press(r *Replica, u chat.User, choice chat.Choice, tool string) string {
	w.Helper()
	return w.Deliver(r, w.Click(u, w.Await(choice, tool)))
}

// Await waits for a button in the room.
func (w *World) Await(choice chat.Choice, tool string) Button {
	w.Helper()
	var b Button
	w.Until(fmt.Sprintf("a button %q of %q is there", choice, tool), func() (ok bool) {
		b, ok = w.Button(Room, choice, tool)
		return ok
	})
	return b
}

// Button finds a button in a chat's newest message that has it.
func (w *World) Button(id chat.ID, choice chat.Choice, tool string) (Button, bool) {
	list := w.Platform.Messages(id)
	for i := len(list) - 1; i >= 0; i-- {
		for _, b := range Buttons(list[i]) {
			if b.Choice == choice && b.Of == tool {
				return b, true
			}
		}
	}
	return Button{}, false
}

// Buttons are all buttons of a message as it looks now.
func Buttons(m Message) []Button {
	var out []Button
	put := func(of string, choices []render.Choice) {
		for _, c := range choices {
			if c.Choice == chat.Stop { // it is the turn's, wherever it stands
				of = ""
			}
			out = append(out, Button{m.Chat, m.Ref, c.Choice, c.Token, of})
		}
	}
	for _, b := range m.Now().Blocks {
		switch b := b.(type) {
		case render.Ask:
			put(b.Tool, b.Choices)
			put(b.Tool, b.More)
		case render.Step:
			put(b.Tool, b.Choices)
		case render.Note:
			put("", b.Choices)
		}
	}
	put("", m.Now().Choices)
	return out
}

// Text is a chat's n-th message (from 0) as it looks now, or "".
func (w *World) Text(n int) string {
	list := w.Platform.Messages(Room)
	if n >= len(list) {
		return ""
	}
	return render.PlainText(list[n].Now())
}

// Over waits until the room's n-th message (from 0) shows a turn that is over, and returns how it looks.
func (w *World) Over(n int) string {
	w.Helper()
	w.Until(fmt.Sprintf("turn %d is over", n), func() bool {
		list := w.Platform.Messages(Room)
		if n >= len(list) {
			return false
		}
		s := list[n].Now().State
		return s == render.Done || s == render.Failed || s == render.Stopped
	})
	return w.Text(n)
}

// Shows waits until the room's n-th message is there and contains all of these words.
func (w *World) Shows(n int, words ...string) {
	w.Helper()
	w.Until(fmt.Sprintf("message %d shows %q", n, words), func() bool {
		if n >= len(w.Platform.Messages(Room)) {
			return false
		}
		text := w.Text(n)
		for _, x := range words {
			if !strings.Contains(text, x) {
				return false
			}
		}
		return true
	})
}

// Latch is a door that is open at the latest when the test ends or has failed for taking too long, so that nothing waits for ever.
func (w *World) Latch() *Latch {
	l := NewLatch()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latches = append(w.latches, l)
	return l
}

// open opens every latch of the world.
func (w *World) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.latches {
		l.Open()
	}
}

// Asks waits until the room's newest message asks for exactly these tools, in order.
func (w *World) Asks(tools ...string) {
	w.Helper()
	want := strings.Join(tools, " ")
	w.Until("asked for: "+want, func() bool { return w.Asked() == want })
}

// Asked are the tools that the room's newest message asks for.
func (w *World) Asked() string {
	list := w.Platform.Messages(Room)
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, b := range list[len(list)-1].Now().Blocks {
		if a, ok := b.(render.Ask); ok {
			names = append(names, a.Tool)
		}
	}
	return strings.Join(names, " ")
}

// Ran waits until the ledger holds exactly these runs, in order.
func (w *World) Ran(names string) {
	w.Helper()
	w.Until("ran: "+names, func() bool { return w.Tools.Ran() == names })
}
