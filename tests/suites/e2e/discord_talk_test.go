package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// talk is a chat as those in it see it: a thread, a channel, or a direct conversation.
type talk struct {
	*guild
	t    testing.TB
	room string // where the bot answers
	in   string // the channel it began in
}

// mention begins a thread in a channel of its own.
func (g *guild) mention(t testing.TB, text string) *talk {
	t.Helper()
	return g.mentionIn(t, g.channel(), text)
}

func (g *guild) mentionIn(t testing.TB, channel, text string) *talk {
	t.Helper()
	return g.talk(t, channel, g.Say(anaID, channel, g.me(text))) // a thread has the ID of its message
}

func (g *guild) talk(t testing.TB, channel, room string) *talk {
	k := &talk{guild: g, t: t, room: room, in: channel}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the chat: %s", k)
		}
	})
	return k
}

func (k *talk) until(what string, is func() bool) {
	k.t.Helper()
	k.wait(k.t, what, is)
}

// there waits until the chat's thread is there.
func (k *talk) there() {
	k.t.Helper()
	k.until("the thread is there", func() bool { _, ok := k.Channel(k.room); return ok })
}

// say writes into the chat.
func (k *talk) say(user, text string) string {
	k.t.Helper()
	k.there()
	return k.Say(user, k.room, text)
}

// answers are the bot's messages in the chat. What Discord itself puts into a thread is none of them, nor how a newcomer is welcomed.
func (k *talk) answers() []fakediscord.Message {
	return slices.DeleteFunc(k.Mine(k.room), func(m fakediscord.Message) bool {
		return m.Type == fakediscord.TypeThreadStarter || m.Type == fakediscord.TypeThreadCreated || strings.HasPrefix(shown(m.Version), "Welcome. nod is a chat bot")
	})
}

// only waits until the bot has n messages in the chat: a note beside a question is taken away once that is answered.
func (k *talk) only(n int) {
	k.t.Helper()
	k.until(fmt.Sprintf("the bot has %d messages in the chat, and no more", n), func() bool { return len(k.answers()) == n })
}

// turns are the bot's messages of its turns, without short notes beside them and without what says that it was posted anew below.
func (k *talk) turns() []fakediscord.Message {
	return slices.DeleteFunc(k.answers(), func(m fakediscord.Message) bool {
		s := shown(m.Version)
		return strings.Contains(s, "a tool call waits for your answer") || strings.Contains(s, "This goes on in the message below.")
	})
}

// answer waits for the nth message of the bot's turns, counted from 1.
func (k *talk) answer(n int) (id string) {
	k.t.Helper()
	k.until(fmt.Sprintf("the bot has %d messages in the chat", n), func() bool {
		if all := k.turns(); len(all) >= n {
			id = all[n-1].ID
		}
		return id != ""
	})
	return id
}

func (k *talk) now(id string) fakediscord.Message {
	k.t.Helper()
	m, ok := k.Message(k.room, id)
	if !ok {
		k.t.Fatalf("there is no message %s", id)
	}
	return m
}

// shown is what a message shows, as text.
func shown(v fakediscord.Version) string { return unescaped(v.Text()) }

// pressable are the labels of what can be pressed, without what tells two of one label apart.
func (k *talk) pressable(id string) (labels []string) {
	for _, b := range k.Buttons(k.room, id) {
		labels = append(labels, label(b))
	}
	return labels
}

func label(b fakediscord.Button) string {
	l, _, _ := strings.Cut(b.Label, " · ")
	return l
}

// ask waits until the message has n things of that label.
func (k *talk) ask(id, label string, n int) {
	k.t.Helper()
	k.until(fmt.Sprintf("%d × %q can be pressed", n, label), func() bool { return count(k.pressable(id), label) == n })
}

// asking waits for the nth message and its one ask.
func (k *talk) asking(n int) (id string) {
	k.t.Helper()
	return k.offering(n, "Allow once")
}

// offering waits until the nth message of the bot's turns has one thing of that label.
func (k *talk) offering(n int, label string) (id string) {
	k.t.Helper()
	k.until(fmt.Sprintf("the bot's message %d offers %q", n, label), func() bool {
		id = k.answer(n) // may be posted anew below
		return count(k.pressable(id), label) == 1
	})
	return id
}

// done waits until the turn of a message is over, and it says all of that.
func (k *talk) done(id string, says ...string) (text string) {
	k.t.Helper()
	k.until(fmt.Sprintf("the turn is over and its message says %q", says), func() bool {
		m := k.now(id)
		text = shown(m.Version)
		for _, s := range says {
			if !strings.Contains(text, s) {
				return false
			}
		}
		labels := k.pressable(id)
		return !m.Deleted && !slices.Contains(labels, "Stop") && !slices.Contains(labels, "Deny")
	})
	return text
}

// says waits until the message says that.
func (k *talk) says(id, what string) (text string) {
	k.t.Helper()
	k.until(fmt.Sprintf("the message says %q", what), func() bool {
		text = shown(k.now(id).Version)
		return strings.Contains(text, what)
	})
	return text
}

// nth is the nth thing with that label on a message, for Press.
func (k *talk) nth(id, want string, n int) fakediscord.Button {
	k.t.Helper()
	for _, b := range k.Buttons(k.room, id) {
		if label(b) == want {
			if n == 0 {
				return b
			}
			n--
		}
	}
	k.t.Fatalf("there are not so many %q: %q", want, k.pressable(id))
	return fakediscord.Button{}
}

// click presses the one thing of that label, and waits until it is answered.
func (k *talk) click(user, id, label string) *fakediscord.Delivery {
	k.t.Helper()
	if n := count(k.pressable(id), label); n != 1 {
		k.t.Fatalf("%d things have the label %q, among %q", n, label, k.pressable(id))
	}
	return k.press(user, id, k.nth(id, label, 0))
}

// insist clicks as [talk.click] does, and again whenever the person is told to: errors of an outage are told for a moment after its end.
func (k *talk) insist(user, id, label string) {
	k.t.Helper()
	tries := func() (n int) {
		for _, m := range k.private(user) {
			n += strings.Count(shown(m.Version), "try again")
		}
		return n
	}
	insist(k.until, func() { k.click(user, id, label) }, tries, func() bool { return count(k.pressable(id), label) == 0 })
}

// clickOld presses on an earlier version of a message, which the person still has on their screen.
func (k *talk) clickOld(user, id string, version int, label string) *fakediscord.Delivery {
	k.t.Helper()
	return k.acted(func() (*fakediscord.Delivery, error) { return k.ClickStale(user, k.room, id, version, label) })
}

func (k *talk) press(user, id string, b fakediscord.Button) *fakediscord.Delivery {
	k.t.Helper()
	return k.acted(func() (*fakediscord.Delivery, error) { return k.Press(user, k.room, id, b) })
}

// answered waits until an interaction is answered. One that nobody answers in three seconds has failed, which people see.
func (k *talk) answered(d *fakediscord.Delivery, err error) *fakediscord.Delivery {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	if _, err := d.Wait(ctx); err != nil {
		k.t.Fatal(err)
	}
	return d
}

// acted is what somebody did, once it is answered: on a busy machine perhaps not the first time.
func (k *talk) acted(act func() (*fakediscord.Delivery, error)) *fakediscord.Delivery {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	d, err := fakediscord.Insist(ctx, act)
	if err != nil {
		k.t.Fatal(err)
	}
	return d
}

// slash gives a command in the chat and waits until it is answered.
func (k *talk) slash(user, verb string, options map[string]any) *fakediscord.Delivery {
	k.t.Helper()
	k.there()
	return k.acted(func() (*fakediscord.Delivery, error) { return k.Slash(user, k.room, "nod", verb, options) })
}

// private is what somebody was told alone so far: beside the chat's messages, and in direct ones.
func (k *talk) private(user string) (out []fakediscord.Message) {
	out = k.Seen(user, k.room)
	if k.in != k.room {
		out = append(out, k.Seen(user, k.in)...)
	}
	if k.directOf(user) != k.room {
		out = append(out, slices.DeleteFunc(k.Mine(k.directOf(user)), func(m fakediscord.Message) bool {
			return !strings.Contains(m.Text(), k.room) && !strings.Contains(m.Text(), k.in)
		})...)
	}
	slices.SortFunc(out, func(a, b fakediscord.Message) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
	})
	return out
}

func (k *talk) directOf(user string) string { return k.OpenDM(user) }

// told waits for a private message to somebody that says that.
func (k *talk) told(user, what string) (m fakediscord.Message) {
	k.t.Helper()
	k.until(fmt.Sprintf("%s is told %q", user, what), func() bool {
		for _, m = range k.private(user) {
			if strings.Contains(shown(m.Version), what) {
				return true
			}
		}
		return false
	})
	return m
}

// confirm presses a button of the private message that asks whether somebody means it.
func (k *talk) confirm(user, label string, or ...func() bool) {
	k.t.Helper()
	var d *fakediscord.Delivery
	err, instead := error(nil), false
	k.until(fmt.Sprintf("%s is asked whether they mean %q", user, label), func() bool {
		d, err = k.ClickSeen(user, k.room, label)
		instead = err != nil && len(or) > 0 && or[0]()
		return err == nil || instead
	})
	if !instead {
		k.answered(d, nil)
	}
}

// form waits for the modal that somebody has open.
func (k *talk) form(user string, n int) (m fakediscord.Modal) {
	k.t.Helper()
	k.until(fmt.Sprintf("%s has %d forms open", user, n), func() bool {
		all := k.Modals(user)
		if len(all) > 0 {
			m = all[len(all)-1]
		}
		return len(all) == n
	})
	return m
}

// submit sends the form.
func (k *talk) submit(user string, values map[string]string) *fakediscord.Delivery {
	k.t.Helper()
	d, err := k.Submit(user, values)
	return k.answered(d, err)
}

// String is for failures: the chat as those in it see it.
func (k *talk) String() string {
	var out strings.Builder
	for _, m := range k.Messages(k.room) {
		fmt.Fprintf(&out, "%s %s at %s, %d versions:\n%s\n", m.ID, m.Author, fakediscord.Time(m.ID).Format(time.TimeOnly), len(m.Versions), indented(tail(shown(m.Version), 1500)))
	}
	for _, u := range []string{anaID, benID, adaID, leaID, opsID} {
		for _, m := range k.private(u) {
			fmt.Fprintf(&out, "to %s alone: %s\n", u, indented(shown(m.Version)))
		}
	}
	return out.String()
}
