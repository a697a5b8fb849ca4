package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/tests/fakeslack"
	"github.com/nodhq/nod/tests/mcpserver"
)

// transport is how the stand-in reaches the bot.
type transport string

const (
	sockets transport = "Socket Mode"
	signed  transport = "HTTP"
)

// The people of every office. Ana asks; the others may decide, or not.
const (
	ana   = "U0ANA"
	ben   = "U0BEN"
	admin = "U0ADA"
	guest = "U0GUS"
	xena  = "U0XENA" // of another organisation
	gone  = "U0GIL"  // deactivated
)

// office is a workspace of the stand-in Slack, with replicas of the bot in it. Its clock stands still: what Slack does after a while
// happens when a test says so.
type office struct {
	*fakeslack.Server
	t      testing.TB
	clock  *fakeslack.Manual
	via    transport
	bots   []*bot
	gates  []*gate // of the bots, with sockets
	redis  *redisServer
	llm    *llm
	ledger *mcpserver.Ledger
	rooms  *atomic.Int64
}

// lease is a short one, so that what a dead replica held is soon another's.
const slackYAML = "lease: 3s\nadmins: [%q]\nslack: {connections: 1%s}\n"

type officeSettings struct {
	via      transport         // empty: sockets
	replicas int               // 0: one, without Redis
	yaml     string            // more of the configuration
	slack    string            // more of its slack: ", follow: mention"
	env      map[string]string // more of the environment
	options  fakeslack.Options
}

func openOffice(t testing.TB, s officeSettings) *office {
	t.Helper()
	if s.via == "" {
		s.via = sockets
	}
	o := &office{t: t, via: s.via, clock: fakeslack.NewManual(), rooms: &atomic.Int64{}}
	s.options.Clock = o.clock
	o.Server = fakeslack.New(s.options)
	t.Cleanup(o.Close)
	for _, u := range []fakeslack.User{
		{ID: ana, Name: "Ana"}, {ID: ben, Name: "Ben"}, {ID: admin, Name: "Ada"}, {ID: guest, Name: "Gus", Guest: true},
		{ID: xena, Name: "Xena", Team: "T0OTHER"}, {ID: gone, Name: "Gil", Deleted: true},
	} {
		o.AddUser(u)
	}
	var yaml string
	yaml, o.ledger = toolbox(t)
	yaml += fmt.Sprintf(slackYAML, "slack:"+o.Team()+":"+admin, s.slack) + s.yaml
	o.llm = startLLM(t)
	env := o.llm.env("SLACK_BOT_TOKEN=" + o.BotToken())
	if s.via == sockets {
		env["SLACK_APP_TOKEN"] = o.AppToken()
	} else {
		env["SLACK_SIGNING_SECRET"] = o.SigningSecret()
	}
	if s.replicas > 0 {
		o.redis = startRedis(t)
		env["REDIS_URL"] = o.redis.url
	}
	for k, v := range s.env {
		env[k] = v
	}
	for i := range max(s.replicas, 1) {
		own := map[string]string{"SLACK_API_URL": o.URL()}
		for k, v := range env {
			own[k] = v
		}
		if s.via == sockets {
			g := openGate(t, o.Server)
			o.gates = append(o.gates, g)
			own["SLACK_API_URL"] = g.url + "/api/"
		}
		o.bots = append(o.bots, prepare(t, settings{name: string(rune('A' + i)), yaml: yaml, env: own}))
	}
	for _, b := range o.bots {
		b.start()
	}
	o.turnTo(o.bots...)
	return o
}

// retry passes the time until Slack tries again what it did not get an acknowledgement for.
func (o *office) retry() {
	if o.via == sockets {
		o.clock.Advance(fakeslack.AckWithin)
	}
	o.clock.Advance(fakeslack.RetryAfter[0])
}

// in is the same office for a test of its own.
func (o *office) in(t testing.TB) *office {
	own := *o
	own.t = t
	return &own
}

// wait waits for a state of the stand-in.
func (o *office) wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := o.Wait(ctx, is); err != nil {
		t.Fatalf("it never came that %s", what)
	}
}

// turnTo makes all that is delivered from now on go to these replicas: over HTTP there can be one, behind one address.
func (o *office) turnTo(bots ...*bot) {
	o.t.Helper()
	if o.via == signed {
		at := bots[0].addr + "/slack/"
		if err := o.Deliver(fakeslack.Endpoints{Events: at + "events", Interactivity: at + "interactivity", Commands: at + "commands"}); err != nil {
			o.t.Fatal(err)
		}
		until(o.t, bots[0].name+" takes what Slack sends", func() bool { return o.reaches(map[string]any{"type": "emoji_changed"}) })
		return
	}
	for _, g := range o.gates {
		g.hold()
	}
	o.wait(o.t, "no replica has a socket", func() bool { return o.Connections() == 0 })
	for i, g := range o.gates {
		if slices.Contains(bots, o.bots[i]) {
			g.pass()
		}
	}
	o.connected(len(bots))
}

func (o *office) connected(n int) {
	o.t.Helper()
	o.wait(o.t, fmt.Sprintf("%d sockets are open", n), func() bool { return o.Connections() == n })
}

// reconnected waits until n sockets are open again, after what f does to those that are.
func (o *office) reconnected(n int, f func()) {
	o.t.Helper()
	before := o.Count("apps.connections.open")
	f()
	o.wait(o.t, fmt.Sprintf("%d sockets are open again", n), func() bool {
		return o.Count("apps.connections.open") >= before+n && o.Connections() == n
	})
}

// reaches reports whether the first attempt to deliver an event is acknowledged.
func (o *office) reaches(event map[string]any) (ok bool) {
	o.t.Helper()
	d := o.Send(event)
	o.wait(o.t, "an event is acknowledged or refused", func() bool {
		first := d.Attempts()[0]
		ok = !first.Acked.IsZero()
		return ok || first.Failed != ""
	})
	return ok
}

// acked waits until the bot has acknowledged a delivery.
func (o *office) acked(t testing.TB, d *fakeslack.Delivery) fakeslack.Attempt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := d.Wait(ctx)
	if err != nil {
		t.Fatalf("%s %s was not acknowledged: %v", d.Type, d.Event, err)
	}
	return a
}

// channel makes a channel of its own with everybody in it.
func (o *office) channel() string {
	id := fmt.Sprintf("C%04d", o.rooms.Add(1))
	o.AddChannel(fakeslack.Channel{ID: id, Members: []string{ana, ben, admin, guest, xena, gone, o.BotUser()}, Shared: true})
	return id
}

// story is a test in an office that others use at the same time, in channels of its own.
type story func(*testing.T, *office)

// stories opens an office for them.
func stories(t *testing.T, s officeSettings, all map[string]story) {
	t.Helper()
	o := openOffice(t, s)
	for name, tell := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, o.in(t))
		})
	}
	t.Cleanup(func() {
		if !t.Failed() {
			o.llm.healthy()
		}
	})
}

// thread is a chat as those in the channel see it.
type thread struct {
	*office
	t       testing.TB
	channel string
	root    string
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
	th.wait(th.t, what, is)
}

// answer waits for the bot's nth message, counted from 1.
func (th *thread) answer(n int) (ts string) {
	th.t.Helper()
	th.until(fmt.Sprintf("the bot has %d messages in the thread", n), func() bool {
		if all := th.answers(); len(all) >= n {
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

// ran is what a tool of the box was called with, in this office.
func (o *office) ran(t testing.TB, tool string) (args []string) {
	t.Helper()
	all, err := o.ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Tool == tool {
			args = append(args, string(e.Args))
		}
	}
	return args
}

// wrote is how often write ran with just these arguments.
func (o *office) wrote(t testing.TB, args string) int {
	t.Helper()
	return count(o.ran(t, "write"), args)
}

// modelRead reports whether any request to the model holds this text as it stands.
func (o *office) modelRead(text string) bool {
	inJSON, err := json.Marshal(text)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, r := range o.llm.requests() {
		if bytes.Contains(r.Body, inJSON[1:len(inJSON)-1]) {
			return true
		}
	}
	return false
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
