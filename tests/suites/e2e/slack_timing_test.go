package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// A question that comes at once is the first post: the notification says it, and it costs no edit.
func TestSlackAFastQuestionIsTheFirstPost(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	said := time.Now()
	th := o.mention(t, `call box__write {"path":"fast"}`)
	ts := th.asking(1)
	soon := time.Since(said) < 1400*time.Millisecond // a post is held for 1.5 s, and a busy machine may have had no question by then
	for _, m := range th.answers() {
		if m.TS == ts && len(m.Versions) != 1 && soon {
			t.Errorf("the question took %d versions", len(m.Versions))
		}
	}
	th.click(ana, ts, "Allow once")
	th.done(ts, "gave: written")

	// However long Slack takes to tell what was said in the thread meanwhile, nod heard the question, and says so.
	th.say(ben, "it is the cron job, I think")
	tells := make(chan struct{})
	o.Fail("conversations.replies", 1, fakeslack.Fault{Hold: tells})
	th.say(ana, o.me("say what it is"))
	th.heard()
	ts = th.answer(2)
	if o.modelRead("say what it is") {
		t.Error("the model was asked before it could know what was said")
	}
	close(tells)
	th.done(ts, "what it is")
	if !o.modelRead("Ben: it is the cron job, I think") {
		t.Error("the model does not know what was said meanwhile")
	}
}

// Where nobody set it, an ask stays open for half an hour from when it was shown.
func TestSlackAsksStayOpenForHalfAnHour(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	th := o.mention(t, `call box__write {"path":"later"}`)
	shown := th.now(th.asking(1)).Version
	said := regexp.MustCompile(`!date\^(\d+)\^`).FindSubmatch(shown.Blocks)
	if said == nil {
		t.Fatalf("the card does not say until when: %s", shown.Blocks)
	}
	at, _ := strconv.ParseInt(string(said[1]), 10, 64)
	if left := time.Unix(at, 0).Sub(shown.At); left < 29*time.Minute || left > 31*time.Minute {
		t.Errorf("it stays open for %s", left)
	}
}

// F18: seventy questions within a moment, with Slack's limits kept: each one is seen, and none ran out before it was.
func TestSlackSeventyQuestions(t *testing.T) {
	t.Parallel()
	// A post may take half a lease, and one that takes longer is looked for, at 50 looks a minute.
	o := openOffice(t, officeSettings{lease: "30s", options: fakeslack.Options{Tiers: map[string]int{"chat.update": 75}, PostsPerChannel: 1, PostsAtOnce: 6}})
	stop := o.goesOn()
	var all []*thread
	for i := range 70 {
		all = append(all, o.mention(t, fmt.Sprintf(`call box__write {"path":"n%d"}`, i)))
	}
	for _, th := range all {
		ts := th.asking(1)
		if shown := seen(th.now(ts).Version); !strings.Contains(shown, "can answer") {
			t.Errorf("a card that nobody can answer: %s", shown)
		}
	}
	stop()
	last := all[len(all)-1]
	last.click(ana, last.asking(1), "Allow once")
	// What its message says of it may wait for Slack, which takes 75 edits a minute, and 50 looks for what was posted before.
	last.until("it ran", func() bool { return o.wrote(t, fmt.Sprintf(`{"path":"n%d"}`, len(all)-1)) == 1 })
}

// goesOn has Slack's time go on with ours until it is stopped: whoever needs more edits than it takes in a minute waits for the next.
func (o *office) goesOn() (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			now := time.Now()
			o.clock.Advance(now.Sub(last))
			last = now
		}
	}()
	stop = sync.OnceFunc(func() { close(ended); <-over })
	o.t.Cleanup(stop)
	return stop
}
