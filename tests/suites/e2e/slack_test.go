package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/mcpserver"
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

const slackYAML = "lease: %s\nadmins: [%q]\nslack: {connections: 1%s}\n"

type officeSettings struct {
	via      transport         // empty: sockets
	replicas int               // 0: one, without Redis
	lease    string            // empty: a short one, so that what a dead replica held is soon another's
	yaml     string            // more of the configuration
	box      string            // more of its server box: ", icon: X"
	entry    string            // more of the toolbox's entry in it
	slack    string            // more of its slack: ", follow: mention"
	env      map[string]string // more of the environment
	program  string            // the replicas'; empty: what was built here
	llm      []string          // arguments of the model's service
	options  fakeslack.Options
}

func openOffice(t testing.TB, s officeSettings) *office {
	t.Helper()
	if s.via == "" {
		s.via = sockets
	}
	o := &office{t: t, via: s.via, clock: fakeslack.NewManual(), rooms: &atomic.Int64{}}
	s.options.Clock = o.clock
	s.options.Undescribed = t.Error
	o.Server = fakeslack.New(s.options)
	t.Cleanup(o.Close)
	for _, u := range []fakeslack.User{
		{ID: ana, Name: "Ana"}, {ID: ben, Name: "Ben"}, {ID: admin, Name: "Ada"}, {ID: guest, Name: "Gus", Guest: true},
		{ID: xena, Name: "Xena", Team: "T0OTHER"}, {ID: gone, Name: "Gil", Deleted: true},
	} {
		o.AddUser(u)
	}
	var yaml string
	yaml, o.ledger = toolbox(t, s.box)
	if s.entry != "" {
		yaml = entry(yaml, s.entry)
	}
	yaml += fmt.Sprintf(slackYAML, cmp.Or(s.lease, "3s"), "slack:"+o.Team()+":"+admin, s.slack) + s.yaml
	o.llm = startLLM(t, s.llm...)
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
		o.bots = append(o.bots, prepare(t, settings{name: string(rune('A' + i)), yaml: yaml, env: own, program: s.program}))
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
	// A socket that is cut while it opens is there later, and dead: until then it would count as the new one.
	o.connected(o.passing())
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

// passing are how many replicas run whose sockets are the stand-in's.
func (o *office) passing() (n int) {
	for i, g := range o.gates {
		if o.bots[i].lives() && !g.holds() {
			n++
		}
	}
	return n
}

func (o *office) connected(n int) {
	o.t.Helper()
	o.wait(o.t, fmt.Sprintf("%d sockets are open", n), func() bool { return o.Connections() == n })
}

// reconnected waits until n sockets are open again, after what f does to those that are.
func (o *office) reconnected(n int, f func()) {
	o.t.Helper()
	before := o.Opened()
	f()
	o.wait(o.t, fmt.Sprintf("%d sockets are open again", n), func() bool {
		return o.Opened() >= before+n && o.Connections() == n
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
