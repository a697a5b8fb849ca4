package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// thread is a chat as those in the channel see it.
type thread struct {
	*office
	t       testing.TB
	channel string
	root    string

	pressed sync.Map // what each person pressed last: *press by user
}

// press is a click, and how often whoever made it was told that Slack did not say who they are.
type press struct {
	ts   string
	on   fakeslack.Button
	told int
}

// mention begins a thread in a channel of its own.
func (o *office) mention(t testing.TB, text string) *thread {
	t.Helper()
	return o.mentionIn(t, o.channel(), text)
}

func (o *office) mentionIn(t testing.TB, channel, text string) *thread {
	t.Helper()
	th := &thread{office: o, t: t, channel: channel}
	th.root = o.Say(ana, channel, "", o.me(text))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the thread: %s", th)
		}
	})
	return th
}

// me is a text that mentions the bot.
func (o *office) me(text string) string { return "<@" + o.BotUser() + "> " + text }

// say writes into the thread.
func (th *thread) say(user, text string) (ts string) { return th.Say(user, th.channel, th.root, text) }

// answers are the bot's messages in the thread.
func (th *thread) answers() []fakeslack.Message {
	return slices.DeleteFunc(th.Messages(th.channel, th.root), func(m fakeslack.Message) bool { return m.User != th.BotUser() })
}

func (th *thread) until(what string, is func() bool) {
	th.t.Helper()
	th.wait(th.t, what, func() bool {
		if is() {
			return true
		}
		th.pressAgain()
		return false
	})
}

// pressAgain presses again what people pressed who are told to since: on a busy machine the stand-in may say too late who they are.
func (th *thread) pressAgain() {
	for user, p := range th.pressed.Range {
		p := p.(*press)
		stands := slices.ContainsFunc(th.Buttons(th.channel, p.ts), func(b fakeslack.Button) bool { return b.ActionID == p.on.ActionID && b.Value == p.on.Value })
		if stands && th.untold(user.(string)) > p.told {
			th.press(user.(string), p.ts, p.on)
		}
	}
}

// untold is how often somebody was told that Slack did not say who they are.
func (th *thread) untold(user string) (n int) {
	for _, e := range th.Ephemerals(user) {
		if e.Channel == th.channel && strings.Contains(seen(e.Version), "who you are just now") {
			n++
		}
	}
	return n
}

// only waits until the bot has n messages in the thread: a note beside a question is taken away once that is answered.
func (th *thread) only(n int) {
	th.t.Helper()
	th.until(fmt.Sprintf("the bot has %d messages in the thread, and no more", n), func() bool { return len(th.answers()) == n })
}

// turns are the bot's messages of its turns, without short notes beside them and without what says that it was posted anew below.
func (th *thread) turns() []fakeslack.Message {
	return slices.DeleteFunc(th.answers(), func(m fakeslack.Message) bool {
		s := seen(m.Version)
		return strings.Contains(s, "a tool call waits for your answer") || strings.Contains(s, "This goes on in the message below.")
	})
}

// answer waits for the nth message of the bot's turns, counted from 1.
func (th *thread) answer(n int) (ts string) {
	th.t.Helper()
	th.until(fmt.Sprintf("the bot has %d messages in the thread", n), func() bool {
		if all := th.turns(); len(all) >= n {
			ts = all[n-1].TS
		}
		return ts != ""
	})
	return ts
}

// now is a message as it is.
func (th *thread) now(ts string) fakeslack.Message {
	th.t.Helper()
	m, ok := th.Message(th.channel, ts)
	if !ok {
		th.t.Fatalf("there is no message %s", ts)
	}
	return m
}

// buttons are the labels of what can be pressed on a message, without what tells two of one label apart ("Undo · write").
func (th *thread) buttons(ts string) (labels []string) {
	for _, b := range th.Buttons(th.channel, ts) {
		labels = append(labels, labelOf(b))
	}
	return labels
}

func labelOf(b fakeslack.Button) string {
	label, _, _ := strings.Cut(b.Text, " · ")
	return label
}

// ask waits until the message has n buttons of that label.
func (th *thread) ask(ts, label string, n int) {
	th.t.Helper()
	th.until(fmt.Sprintf("%d × %q can be pressed", n, label), func() bool { return count(th.buttons(ts), label) == n })
}

// asking waits for the nth message and its one ask.
func (th *thread) asking(n int) (ts string) {
	th.t.Helper()
	ts = th.answer(n)
	th.ask(ts, "Allow once", 1)
	return ts
}

func count(all []string, one string) (n int) {
	for _, x := range all {
		if x == one {
			n++
		}
	}
	return n
}

// done waits until the turn of a message is over, and it says all of that.
func (th *thread) done(ts string, says ...string) (shown string) {
	th.t.Helper()
	th.until(fmt.Sprintf("the turn is over and its message says %q", says), func() bool {
		m := th.now(ts)
		shown = seen(m.Version)
		for _, s := range says {
			if !strings.Contains(shown, s) {
				return false
			}
		}
		labels := th.buttons(ts)
		return !m.Deleted && !slices.Contains(labels, "Stop") && !slices.Contains(labels, "Deny")
	})
	return shown
}

// says waits until the message says that.
func (th *thread) says(ts, what string) (shown string) {
	th.t.Helper()
	th.until(fmt.Sprintf("the message says %q", what), func() bool {
		shown = seen(th.now(ts).Version)
		return strings.Contains(shown, what)
	})
	return shown
}

// click presses the one thing of that label, and waits until that is acknowledged.
func (th *thread) click(user, ts, label string) *fakeslack.Delivery {
	th.t.Helper()
	if n := count(th.buttons(ts), label); n != 1 {
		th.t.Fatalf("%d things have the label %q, among %q", n, label, th.buttons(ts))
	}
	return th.press(user, ts, th.nth(ts, label, 0))
}

// insist clicks as [thread.click] does, and again whenever the person is told to: errors of an outage are told for a moment after its end.
func (th *thread) insist(user, ts, label string) {
	th.t.Helper()
	tries := func() (n int) {
		for _, e := range th.Ephemerals(user) {
			if e.Channel == th.channel {
				n += strings.Count(strings.ToLower(seen(e.Version)), "try again")
			}
		}
		return n
	}
	insist(th.until, func() { th.click(user, ts, label) }, tries, func() bool { return count(th.buttons(ts), label) == 0 })
}

// insist does something, and again whenever tries has grown, until it counts.
func insist(until func(string, func() bool), do func(), tries func() int, counts func() bool) {
	n := tries()
	do()
	until("the click counts", func() bool {
		if m := tries(); m > n {
			n = m
			do()
		}
		return counts()
	})
}

// clickOld presses on an earlier version of a message, which the person still has on their screen.
func (th *thread) clickOld(user, ts string, version int, label string) {
	th.t.Helper()
	d, err := th.ClickStale(user, th.channel, ts, version, label)
	if err != nil {
		th.t.Fatal(err)
	}
	th.acked(th.t, d)
}

// nth is the nth thing with that label on a message, for Press.
func (th *thread) nth(ts, label string, n int) fakeslack.Button {
	th.t.Helper()
	for _, b := range th.Buttons(th.channel, ts) {
		if labelOf(b) == label {
			if n == 0 {
				return b
			}
			n--
		}
	}
	th.t.Fatalf("there are not so many %q: %q", label, th.buttons(ts))
	return fakeslack.Button{}
}

func (th *thread) press(user, ts string, b fakeslack.Button) *fakeslack.Delivery {
	th.t.Helper()
	th.pressed.Store(user, &press{ts, b, th.untold(user)})
	d, err := th.Press(user, th.channel, ts, b)
	if err != nil {
		th.t.Fatal(err)
	}
	th.acked(th.t, d)
	return d
}

// told waits for a private message to somebody in the thread's channel that says that.
func (th *thread) told(user, what string) (e fakeslack.Ephemeral) {
	th.t.Helper()
	th.until(fmt.Sprintf("%s is told %q", user, what), func() bool {
		for _, e = range th.Ephemerals(user) {
			if e.Channel == th.channel && strings.Contains(seen(e.Version), what) {
				return true
			}
		}
		return false
	})
	return e
}

// confirm presses a button of the private message that asks whether somebody means it.
func (th *thread) confirm(user, label string, or ...func() bool) {
	th.t.Helper()
	var d *fakeslack.Delivery
	asked, instead := false, false
	th.until(fmt.Sprintf("%s is asked whether they mean %q", user, label), func() bool {
		d, asked = th.pressEphemeral(user, label)
		instead = !asked && len(or) > 0 && or[0]()
		return asked || instead
	})
	if !instead {
		th.acked(th.t, d)
	}
}

func (th *thread) pressEphemeral(user, label string) (*fakeslack.Delivery, bool) {
	d, err := th.ClickEphemeral(user, label)
	return d, err == nil
}

// view waits for the modal that somebody has open.
func (th *thread) view(user string, n int) (v fakeslack.View) {
	th.t.Helper()
	th.until(fmt.Sprintf("%s has %d modals open", user, n), func() bool {
		all := th.Views(user)
		if len(all) > 0 {
			v = all[len(all)-1]
		}
		return len(all) == n
	})
	return v
}

// submit sends a modal.
func (th *thread) submit(user string, v fakeslack.View, values map[string]string) {
	th.t.Helper()
	d, err := th.SubmitView(user, v.ID, values)
	if err != nil {
		th.t.Fatal(err)
	}
	th.acked(th.t, d)
}

// String is for failures: the thread as those in it see it.
func (th *thread) String() string {
	var out strings.Builder
	for _, m := range th.Messages(th.channel, th.root) {
		fmt.Fprintf(&out, "%s %s, %d versions:\n%s\n", m.TS, m.User, len(m.Versions), indented(tail(seen(m.Version), 1500)))
	}
	for _, u := range th.Users() {
		for _, e := range th.Ephemerals(u.ID) {
			if e.Channel == th.channel {
				fmt.Fprintf(&out, "to %s alone: %s\n", u.ID, indented(seen(e.Version)))
			}
		}
	}
	return out.String()
}

func indented(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
