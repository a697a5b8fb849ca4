package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Edits notify nobody, so an ask that comes long after its message is announced below it; the note goes when it is decided.
func TestSlackNudge(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "approvals: {nudge_after: 1ms}\n"})
	th := o.mention(t, `keep call box__write {"path":"nudge"}`)
	ts := th.asking(1)
	// The second ask of a turn is later than a millisecond after the turn's message.
	th.click(ana, ts, "Allow once")
	th.until("it asks again", func() bool { return o.wrote(t, `{"path":"nudge"}`) == 1 && count(th.buttons(ts), "Allow once") == 1 })
	note := func() (out []fakeslack.Message) {
		for _, m := range th.answers() {
			if strings.Contains(seen(m.Version), "a tool call waits for your answer") {
				out = append(out, m)
			}
		}
		return out
	}
	var n fakeslack.Message
	th.until("a note stands below", func() bool {
		all := note()
		if len(all) == 1 {
			n = all[0]
		}
		return len(all) == 1
	})
	shown := seen(n.Version)
	if !strings.Contains(shown, "@Ana") || strings.Contains(shown, "@Ben") || !strings.Contains(shown, "Run write from box") || n.Thread != th.root {
		t.Errorf("the note: %s", shown)
	}
	if !strings.Contains(n.Text, "waits for your answer") {
		t.Errorf("the notification says %q", n.Text)
	}
	th.click(ana, ts, "Deny")
	th.until("the note is gone", func() bool { m := th.now(n.TS); return m.Deleted })
	for len(note()) > 0 || count(th.buttons(ts), "Stop") > 0 { // the model keeps calling
		th.until("the turn asks or is over", func() bool { return count(th.buttons(ts), "Stop") == 0 || count(th.buttons(ts), "Deny") == 1 })
		if count(th.buttons(ts), "Stop") > 0 {
			th.click(ana, ts, "Stop")
			th.done(ts, "Stopped by Ana")
		}
		th.until("no note is left", func() bool { return len(note()) == 0 })
	}
	if n := o.wrote(t, `{"path":"nudge"}`); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A click that could not be recorded is answered honestly, and counts when it is made again.
func TestSlackWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, via := range []transport{sockets, signed} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, officeSettings{via: via, replicas: 2})
			order, args := write(t)
			th := o.mention(t, order)
			ts := th.asking(1)
			o.redis.kill()
			th.click(ana, ts, "Allow once")
			th.told(ana, "Your click was not recorded, try again")
			if n := o.wrote(t, args); n != 0 {
				t.Fatalf("it ran %d times on a decision that was not recorded", n)
			}
			th.acked(t, o.Slash(ben, th.channel, "/nod", "pending"))
			th.told(ben, "That did not work")
			// A message that could not be recorded is not acknowledged; Slack sends it again.
			d := len(o.Deliveries())
			th.say(ana, "say after the outage")
			second := o.Deliveries()[d]
			if o.via == sockets {
				o.clock.Advance(fakeslack.AckWithin)
			}
			th.until("the first attempt failed", func() bool { return second.Attempts()[0].Failed != "" })
			ready := func(is bool) func() bool {
				return func() bool {
					for _, b := range o.bots {
						res, err := http.Get(b.addr + "/readyz")
						if err != nil {
							return false
						}
						_ = res.Body.Close()
						if (res.StatusCode == http.StatusOK) != is {
							return false
						}
					}
					return true
				}
			}
			until(t, "the bots know that they have none", ready(false)) // else they would be ready before they have it again
			o.redis.start(t)
			until(t, "the bots have their store", ready(true))
			o.clock.Advance(fakeslack.RetryAfter[0]) // at once: it may have come in vain
			if o.via == sockets {
				o.clock.Advance(fakeslack.AckWithin)
			}
			th.until("the first retry is over", func() bool {
				all := second.Attempts()
				return len(all) > 1 && (all[1].Failed != "" || !all[1].Acked.IsZero())
			})
			for n := 1; second.Attempts()[n].Failed != "" && n < len(fakeslack.RetryAfter); n++ {
				until(t, "the bots read what they remember", ready(true)) // for up to a second a client repeats the error that it had last
				<-time.After(1500 * time.Millisecond)
				o.clock.Advance(fakeslack.RetryAfter[n])
				th.until("the next retry is over", func() bool {
					all := second.Attempts()
					return len(all) > n+1 && (all[n+1].Failed != "" || !all[n+1].Acked.IsZero())
				})
			}
			o.acked(t, second)
			th.insist(ana, ts, "Allow once")
			th.done(ts, "gave: written", "allowed once by @Ana")
			th.done(th.answer(2), "after the outage")
			if n := o.wrote(t, args); n != 1 {
				t.Errorf("it ran %d times", n)
			}
			th.only(2)
		})
	}
}

// What people cannot see they cannot answer: the call is cancelled, which the record says, and the thread goes on.
func TestSlackMessageGone(t *testing.T) {
	t.Parallel()
	stories(t, officeSettings{replicas: 2}, map[string]story{"deleted": messageDeleted, "archived": channelArchived, "not found": messageNotFound, "left": botRemoved})
}

// cancelled checks that nothing of a turn whose message went away runs or waits any more, and that the thread goes on.
func (th *thread) cancelled(ts string, version int, args string) {
	th.t.Helper()
	th.acked(th.t, th.Slash(ben, th.channel, "/nod", "pending"))
	th.told(ben, "Nothing in this channel waits for an answer.")
	th.clickOld(ana, ts, version, "Allow once") // still on somebody's screen
	th.until("whoever clicks is told why that does nothing", func() bool {
		for _, e := range th.Ephemerals(ana) {
			if e.Channel == th.channel {
				return true
			}
		}
		return false
	})
	n := len(th.turns())
	th.say(ana, th.me("say we go on"))
	th.done(th.answer(n+1), "we go on")
	if n := th.wrote(th.t, args); n != 0 {
		th.t.Errorf("it ran %d times: %s", n, th)
	}
	if !th.modelRead("Tool execution cancelled") {
		th.t.Error("the model was not told that the call was cancelled")
	}
}

func messageDeleted(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	// What is deleted before nod knows that Slack took it is posted anew, and that is right.
	th.until("its message is on record", func() bool { return strings.Contains(th.listed(), "/p"+strings.Replace(ts, ".", "", 1)) })
	asked := len(th.now(ts).Versions) - 1
	o.DeleteMessage(th.channel, ts)
	th.heard()
	th.until("nothing waits", func() bool { return th.pending() == 0 })
	th.cancelled(ts, asked, args)
}

// pending is how many asks of the channel /nod pending lists.
func (th *thread) pending() int { return strings.Count(th.listed(), "• ") }

func (th *thread) listed() string {
	d := th.Slash(admin, th.channel, "/nod", "pending")
	a := th.acked(th.t, d)
	var answer struct{ Text string }
	if err := json.Unmarshal(a.Answer, &answer); err != nil {
		th.t.Fatalf("%v: %s", err, a.Answer)
	}
	return answer.Text
}

func channelArchived(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	asked := len(th.now(ts).Versions) - 1
	o.Archive(ben, th.channel)
	th.heard()
	th.until("nothing waits", func() bool { return th.pending() == 0 })
	o.AddChannel(fakeslack.Channel{ID: th.channel, Members: []string{ana, ben, admin, o.BotUser()}}) // and unarchived
	th.cancelled(ts, asked, args)
}

// The event of the deletion was lost: the next edit finds out.
func messageNotFound(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	asked := len(th.now(ts).Versions) - 1
	th.vanishes(ts)
	th.click(ana, ts, "+5 min") // the message has to show the new time
	th.until("nothing waits", func() bool { return th.pending() == 0 })
	th.cancelled(ts, asked, args)
}

// vanishes makes every edit of a message fail as if it were not there.
func (th *thread) vanishes(ts string) {
	card := th.channel + "/" + ts
	gone := func(c fakeslack.Call) *fakeslack.Fault {
		if c.Values.Get("channel")+"/"+c.Values.Get("ts") == card || c.Values.Get("replace_original") == "true" && strings.Contains(c.Values.Get("blocks"), strings.ReplaceAll(th.t.Name(), "/", ".")) {
			return &fakeslack.Fault{Error: "message_not_found"}
		}
		return nil
	}
	th.FailWhen("chat.update", gone)
	th.FailWhen("response_url", gone)
}

// The bot was removed from the channel.
func botRemoved(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	asked := len(th.now(ts).Versions) - 1
	o.acked(t, o.Send(map[string]any{"type": "channel_left", "channel": th.channel, "actor_id": ben, "event_ts": ts}))
	th.until("nothing waits", func() bool { return th.pending() == 0 })
	th.cancelled(ts, asked, args)
}

// A card that Slack refuses is sent simpler, and keeps its buttons.
func TestSlackInvalidBlocks(t *testing.T) {
	t.Parallel()
	for level := 1; level <= 2; level++ {
		o := openOffice(t, officeSettings{})
		left := level
		refuse := func(c fakeslack.Call) *fakeslack.Fault {
			if left == 0 || !strings.Contains(c.Values.Get("blocks"), "Allow once") {
				return nil
			}
			left--
			return &fakeslack.Fault{Error: "invalid_blocks"}
		}
		o.FailWhen("chat.postMessage", refuse)
		o.FailWhen("chat.update", refuse) // where the model took so long that the message was there before the question
		th := o.mention(t, `call box__write {"path":"refused"}`)
		ts := th.asking(1)
		if shown := th.says(ts, "Allow tool call from box?"); !strings.Contains(shown, "refused") || !strings.Contains(shown, "can answer until") {
			t.Errorf("level %d: the card does not show what is asked: %s", level, shown)
		}
		for _, label := range []string{"Allow for this chat", "Deny", "View details"} {
			if count(th.buttons(ts), label) != 1 {
				t.Errorf("level %d: no %q among %q", level, label, th.buttons(ts))
			}
		}
		th.click(ana, ts, "Allow once")
		th.done(ts, "gave: written", "allowed once by ")
		if n := o.wrote(t, `{"path":"refused"}`); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		o.bots[0].logs(t, "invalid_blocks")
	}
}

// An answer that got lost after Slack had done what was asked makes no second message.
func TestSlackAnswerLost(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	o.Fail("chat.postMessage", 1, fakeslack.Fault{CutAfter: true})
	o.Fail("chat.update", 2, fakeslack.Fault{CutAfter: true})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	o.Fail("response_url", 1, fakeslack.Fault{CutAfter: true})
	th.click(ana, ts, "Allow once")
	th.done(ts, "gave: written")
	th.only(1)
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times: %s", n, th)
	}
}

// What people said while a turn waited is theirs, and not lost with the turn's message.
func TestSlackWaitingOutlivesMessage(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.say(ana, "say this waited")
	th.heard()
	th.vanishes(ts)
	th.click(ana, ts, "+5 min")
	th.until("nothing of the first waits", func() bool { return th.pending() == 0 })
	th.done(th.answer(2), "this waited")
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}

// A nudge leads to its question.
func TestSlackNudgeLeads(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "approvals: {nudge_after: 1ms}\n"})
	th := o.mention(t, `keep call box__write {"path":"nudge"}`)
	ts := th.asking(1)
	th.click(ana, ts, "Allow once")
	th.until("a note stands below", func() bool { return len(th.answers()) == 2 })
	note := th.answers()[1].TS
	if m := th.now(note); !strings.Contains(string(m.Blocks), "/p"+strings.ReplaceAll(ts, ".", "")) {
		t.Errorf("the note does not lead to the question: %s", m.Blocks)
	}
}

// Where nothing can be posted, silence would be the answer: whoever asked is told why, alone and once, nothing runs, and the log says it.
func TestSlackWhereNothingCanBePosted(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{replicas: 2})
	order, args := write(t)
	o.FailWhen("chat.postMessage", func(c fakeslack.Call) *fakeslack.Fault {
		if !strings.HasPrefix(c.Values.Get("channel"), "D") {
			return &fakeslack.Fault{Error: "restricted_action_read_only_channel"}
		}
		return nil
	})
	th := o.mention(t, order)
	told := func() (out []string) {
		for _, c := range o.Calls("chat.postMessage") {
			if c.Error == "" && strings.Contains(c.Values.Get("text"), "I could not answer") {
				out = append(out, c.Values.Get("text")+c.Values.Get("blocks"))
			}
		}
		return out
	}
	th.until("Ana was told", func() bool { return len(told()) > 0 })
	if all := told(); len(all) != 1 || !strings.Contains(all[0], "read-only") || !strings.Contains(all[0], "manages the channel") {
		t.Errorf("told: %q", all)
	}
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}
