package e2e

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// The whole story: somebody mentions the bot, its one message asks, a click reaches another replica, the tool runs once, and the same
// message says so. A turn that had troubles ends with the message of one that had none.

// trouble is what goes wrong in one telling of the story. A hook that is nil does nothing.
type trouble struct {
	name    string
	before  func(*office)
	said    func(*office, *thread)                      // while the bot takes the mention
	pending func(*office, *thread)                      // while its message asks; deliveries then go to the last replica
	clicked func(*office, *thread, *fakeslack.Delivery) //
	after   func(*office, *thread)                      // when the message is final
}

var troubles = []trouble{
	{name: "none"},
	{
		name: "redelivered",
		// Everything comes twice, and the first acknowledgement is lost, so that it comes a third time as a retry.
		before: func(o *office) { o.Duplicate(1000); o.LoseAcks(1) },
		said: func(o *office, th *thread) {
			th.answer(1)
			o.retry()
		},
		pending: func(o *office, th *thread) { th.again() },
		clicked: func(o *office, th *thread, d *fakeslack.Delivery) { o.Redeliver(d, true); o.Redeliver(d, false) },
		after: func(o *office, th *thread) {
			th.again()
			o.Duplicate(0)
		},
	},
	{
		name: "disconnected",
		said: func(o *office, th *thread) {
			if o.via == signed { // the replica that Slack reaches dies with the mention on its way; the retry reaches the other
				o.bots[0].kill()
				o.turnTo(o.bots[1])
				th.tried()
				o.retry()
				return
			}
			o.reconnected(1, func() {
				o.Disconnect("warning")
				o.Disconnect("refresh_requested")
			})
			o.retry() // what was on its way comes again
		},
		pending: func(o *office, _ *thread) {
			if o.via == signed {
				o.bots[0].start()
				return
			}
			o.turnTo(o.bots...)
			o.reconnected(len(o.bots), o.Drop)
		},
	},
	{
		name: "rate limited",
		before: func(o *office) {
			for _, method := range []string{"chat.postMessage", "chat.update", "response_url", "users.info"} {
				o.Fail(method, 2, fakeslack.Fault{RetryAfter: time.Second})
			}
		},
	},
	{
		name: "killed",
		pending: func(o *office, _ *thread) {
			o.bots[0].kill()
		},
		after: func(o *office, _ *thread) { o.bots[0].start() },
	},
}

// again has every payload about the thread delivered once more, in its old envelope and in a new one.
func (th *thread) again() {
	for _, d := range th.Deliveries() {
		if strings.Contains(string(d.Payload), th.channel) {
			th.Redeliver(d, true)
			th.Redeliver(d, false)
		}
	}
}

// tried waits until the first attempts of everything about the thread are over.
func (th *thread) tried() {
	th.t.Helper()
	for _, d := range th.Deliveries() {
		if strings.Contains(string(d.Payload), th.channel) {
			th.until("an attempt is over", func() bool { a := d.Attempts()[0]; return !a.Acked.IsZero() || a.Failed != "" })
		}
	}
}

// R10 R52 R54 R75 R76 R166
func TestSlackStory(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ends := map[string]string{}
	for _, via := range []transport{sockets, signed} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, officeSettings{via: via, replicas: 2})
			for _, trouble := range troubles {
				t.Run(trouble.name, func(t *testing.T) {
					end := o.in(t).tell(t, trouble)
					mu.Lock()
					defer mu.Unlock()
					ends[end] += string(via) + ", " + trouble.name + "; "
				})
			}
			o.llm.healthy()
		})
	}
	t.Cleanup(func() {
		if len(ends) != 1 && !t.Failed() {
			t.Error("the final messages differ:")
			for end, where := range ends {
				t.Errorf("%s\n%s", where, end)
			}
		}
	})
}

// tell tells the story once, and returns the final message without what is different each time.
func (o *office) tell(t *testing.T, x trouble) (end string) {
	a, b := o.bots[0], o.bots[1]
	o.turnTo(a)
	if x.before != nil {
		x.before(o)
	}
	args := `{"path":"` + strings.ReplaceAll(x.name, " ", "_") + `"}`
	th := o.mention(t, "call box__write "+args)
	if x.said != nil {
		x.said(o, th)
	}
	ts := th.asking(1)
	th.says(ts, "Allow tool call from box?")
	if n := o.wrote(t, args); n != 0 {
		t.Fatalf("it ran %d times before any click", n)
	}
	if x.pending != nil {
		x.pending(o, th)
	}
	o.turnTo(b)
	d := th.click(ana, ts, "Allow once")
	if x.clicked != nil {
		x.clicked(o, th, d)
	}
	th.done(ts, "gave: written", "allowed once by")
	if x.after != nil {
		x.after(o, th)
	}
	end = th.done(ts, "gave: written", "allowed once by")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	th.only(1)
	if all := th.answers(); all[0].TS != ts {
		t.Errorf("the bot has %d messages in the thread: %s", len(all), th)
	}
	if got := th.now(ts); got.Unfurl != (fakeslack.Unfurl{}) {
		t.Errorf("links may be unfurled: %+v", got.Unfurl)
	}
	return same.ReplaceAllString(strings.ReplaceAll(end, "“"+strings.ReplaceAll(x.name, " ", "_")+"”", "ARG"), "#")
}

// same is what differs between two messages that say the same.
var same = regexp.MustCompile(`<!date[^>]*>|\d{1,2}:\d\d(:\d\d)?|\d+(\.\d+)? ?m?s\b`)
