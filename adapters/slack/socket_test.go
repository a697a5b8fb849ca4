package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Each trap of SLACK.md 1.2 that concerns what comes in over a socket has its test here; the numbers are theirs.

func TestSocketTakesAMentionOnce(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> read <https://example.com|notes> &amp; tell <@UBEN>")
	sc.quiet()
	said := only[chat.Said](sc)
	if len(sc.ledger.asked()) != 2 {
		t.Errorf("Accept was called %d times for the mention and the message", len(sc.ledger.asked()))
	}
	want := chat.Envelope{Delivery: chat.Delivery("m:C1:" + ts), Chat: blocks.Place{Team: "T1", Channel: "C1", Thread: ts}.Chat(), User: ana, Name: "Ana", Reply: sc.a.privately("", "C1", "", "UANA")}
	if !reflect.DeepEqual(said.Envelope, want) || said.Message != chat.MessageRef(ts) || said.Context != nil {
		t.Errorf("got  %+v\nwant %+v", said.Envelope, want)
	}
	if said.Text != "read notes (https://example.com) & tell @UBEN" {
		t.Errorf("text %q", said.Text)
	}
	for _, d := range sc.slack.Deliveries() {
		if a := d.Attempts(); len(a) != 1 || sc.slack.Acks(a[0].Envelope) != 1 {
			t.Errorf("%s: %d attempts", d.Event, len(a))
		}
	}
}

func TestNothingIsAcknowledgedBeforeItIsDurable(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	hold := make(chan struct{})
	sc.ledger.set(func() { sc.ledger.hold = hold })
	sc.dm("hello")
	sc.until("it is being recorded", func() bool { return len(sc.ledger.asked()) == 1 })
	d := sc.slack.Deliveries()[0]
	if a := d.Attempts()[0]; !a.Acked.IsZero() {
		t.Error("acknowledged before it was recorded")
	}
	close(hold)
	sc.quiet()
}

func TestWhatIsNotRecordedIsNotAcknowledgedAndTakenWhenItComesAgain(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.ledger.set(func() {
		sc.ledger.fail = func(chat.Inbound) error { sc.ledger.set(func() { sc.ledger.fail = nil }); return errDown }
	})
	sc.dm("hello")
	d := sc.slack.Deliveries()[0]
	sc.until("it failed", func() bool { return len(sc.ledger.asked()) == 1 })
	sc.clock.Advance(fakeslack.AckWithin) // Slack gives up waiting and sends it again at once
	got, err := d.Wait(sc.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first := d.Attempts()[0]; sc.slack.Acks(first.Envelope) != 0 || got.Number != 1 {
		t.Errorf("the failed attempt was acknowledged %d times; attempt %d was taken", sc.slack.Acks(first.Envelope), got.Number)
	}
	only[chat.Said](sc)
}

// A redelivery may be the first that arrives: it is claimed, never dropped (vercel/chat#666). Where it is a repetition, it counts once.
func TestRedeliveriesAreClaimed(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.LoseAcks(1)
	sc.dm("one")
	d := sc.slack.Deliveries()[0]
	sc.until("it is recorded", func() bool { return len(sc.ledger.got()) == 1 })
	sc.clock.Advance(fakeslack.AckWithin)
	sc.until("it was taken again", func() bool { return len(sc.ledger.asked()) == 2 })
	if a := d.Attempts(); len(a) != 2 || !a[0].Acked.IsZero() {
		t.Fatalf("%+v", a)
	}
	only[chat.Said](sc)

	raw := sc.envelope("again", "events_api", "message_im", map[string]any{"retry_attempt": 2, "retry_reason": "timeout"})
	sc.raw(raw)
	sc.until("it is acknowledged", func() bool { return sc.slack.Acks("again") == 1 })
	if len(sc.ledger.got()) != 2 {
		t.Error("what arrived only as a retry was dropped")
	}
}

func TestTheSameEnvelopeTwiceCountsOnce(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.Duplicate(1)
	sc.dm("hello")
	sc.until("both were acknowledged", func() bool {
		d := sc.slack.Deliveries()
		return len(d) == 1 && sc.slack.Acks(d[0].Attempts()[0].Envelope) == 2
	})
	only[chat.Said](sc)
}

// envelope is a frame with the payload of a file under testdata/inbound.
func (sc *scene) envelope(id, kind, file string, more map[string]any) string {
	sc.t.Helper()
	payload, err := os.ReadFile("testdata/inbound/" + file + ".json")
	if err != nil {
		sc.t.Fatal(err)
	}
	f := map[string]any{"envelope_id": id, "type": kind, "payload": json.RawMessage(payload), "accepts_response_payload": false}
	for k, v := range more {
		f[k] = v
	}
	raw, err := json.Marshal(f)
	if err != nil {
		sc.t.Fatal(err)
	}
	return string(raw)
}

func (sc *scene) raw(frame string) {
	sc.t.Helper()
	if err := sc.slack.Raw(frame); err != nil {
		sc.t.Fatal(err)
	}
}

// 3: what slack-go cannot decode it never acknowledges, and Slack would send it four times.
func TestUndecodableAndUnknownEnvelopesAreAcknowledged(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Connections = 1 }) // over which all goes in order
	sc.until("the socket is open", func() bool { return sc.slack.Connections() == 1 })
	for id, frame := range map[string]string{
		"x1": `{"envelope_id":"x1","type":"events_api","payload":{"type":"event_callback","event":"not an object"}}`,
		"x2": `{"envelope_id":"x2","type":"events_api","payload":["an","array"]}`,
		"x3": `{"envelope_id":"x3","type":"events_api","payload":{"type":"event_callback","team_id":"T1","event":{"type":"invented_in_2031"}}}`,
		"x4": `{"envelope_id":"x4","type":"invented_in_2031","payload":{}}`,
		"x5": `{"envelope_id":"x5","type":"interactive","payload":{"type":"invented_in_2031","user":{"id":"UANA"}}}`,
		"x6": `{"envelope_id":"x6","type":"interactive","payload":null}`,
		"x7": `{"envelope_id":"x7","type":"slash_commands","payload":17}`,
		"x8": `{"envelope_id":"x8","type":17,"payload":{}}`,
		"x9": `{"envelope_id":"x9","type":"events_api"}`,
	} {
		sc.raw(frame)
		sc.until(id+" is acknowledged", func() bool { return sc.slack.Acks(id) == 1 })
	}
	sc.raw(`{"type":"events_api"}`)
	sc.raw(`this is not JSON`)
	sc.dm("still there?")
	sc.quiet()
	only[chat.Said](sc)
	sc.until("nothing waits any more", func() bool { return sc.a.in.lanes.Taken() == 0 })
	sc.raw(`{"envelope_id":"x10","type":"events_api"}`)
	if sc.until("x10 is acknowledged", func() bool { return sc.slack.Acks("x10") == 1 }); sc.slack.Acks("") > 0 {
		t.Error("what has no ID was acknowledged")
	}
}

// 3: slack-go rejects a whole message for one block of a shape it does not know. The person's words are in it all the same.
func TestAMessageWithABlockNobodyKnowsIsTaken(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.raw(sc.envelope("odd", "events_api", "strange_block", nil))
	sc.until("it is acknowledged", func() bool { return sc.slack.Acks("odd") == 1 })
	if said := only[chat.Said](sc); said.Text != "read notes.txt" {
		t.Errorf("text %q", said.Text)
	}
}

// 1: slack-go's channel of events holds 50. Were it not drained, the client could not even reconnect.
func TestEventsAreDrainedWhileNothingCanBeRecorded(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	hold := make(chan struct{})
	sc.ledger.set(func() { sc.ledger.hold = hold })
	const n = 200
	for i := range n {
		sc.dm(fmt.Sprint(i))
	}
	inside := sc.a.in.lanes.Taken
	sc.until("all are taken, and as many in work as may be", func() bool { return inside() == n && len(sc.ledger.asked()) == surface.MaxAtOnce })
	sc.slack.Disconnect("refresh_requested")
	sc.reconnected()
	close(hold)
	sc.until("nothing waits any more", func() bool { return inside() == 0 })
	sc.clock.Advance(fakeslack.AckWithin) // what waited for too long, or was acknowledged on no socket, comes again
	sc.until("all are recorded", func() bool { return len(sc.ledger.got()) == n })
}

// 2: an event sent right after the disconnect frame is lost to the client, and an acknowledgement may go out on another socket:
// Slack then sends again, and it counts once.
func TestADisconnectInTheMiddleLosesNothing(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	hold := make(chan struct{})
	sc.ledger.set(func() { sc.ledger.hold = hold })
	sc.dm("before")
	sc.until("it is being recorded", func() bool { return len(sc.ledger.asked()) == 1 })
	sc.slack.Disconnect("warning")
	sc.dm("after the warning, on the old socket")
	close(hold)
	sc.reconnected()
	sc.clock.Advance(fakeslack.AckWithin) // what is not acknowledged by now is sent again, at once
	sc.until("each is acknowledged or was given up", func() bool {
		return !slices.ContainsFunc(sc.slack.Deliveries(), func(d *fakeslack.Delivery) bool {
			all := d.Attempts()
			last := all[len(all)-1]
			return last.Acked.IsZero() && last.Failed == ""
		})
	})
	sc.clock.Advance(fakeslack.RetryAfter[1]) // what came while there was no socket was sent as the clock began to move, and is late where it stopped
	sc.quiet()
	if got := texts(sc.ledger); len(got) != 2 || got[0] == got[1] {
		t.Errorf("taken: %q", got)
	}
}

// 4: without a live connection slack-go buffers 20 acknowledgements, and blocks on the 21st for ever unless it has a deadline.
func TestAcknowledgementsHaveADeadline(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Connections = 1 })
	sc.until("the socket is open", func() bool { return sc.slack.Connections() == 1 })
	hold := make(chan struct{})
	sc.ledger.set(func() { sc.ledger.hold = hold })
	for i := range surface.MaxAtOnce {
		sc.dm(fmt.Sprint(i))
	}
	sc.until("all are in work", func() bool { return len(sc.ledger.asked()) == surface.MaxAtOnce })
	sc.slack.RefuseConnections(true)
	sc.slack.Drop()
	sc.until("the socket is gone, and no other opens", func() bool { return strings.Contains(sc.log.String(), "no socket could be opened") })
	close(hold)
	sc.until("all are recorded", func() bool { return len(sc.ledger.got()) == surface.MaxAtOnce })
	sc.stop()
	select {
	case err := <-sc.ended:
		sc.ended <- err
	case <-sc.ctx.Done():
		t.Fatal("Run waits for acknowledgements that cannot be sent")
	}
	if !strings.Contains(sc.log.String(), "taken but not acknowledged") {
		t.Error("nothing is logged of it")
	}
}

// 5: slack-go returns on these. So does Run, with a reason that names no token.
func TestARefusedAppTokenEndsRun(t *testing.T) {
	for name, f := range map[string]fakeslack.Fault{
		"invalid_auth": {Error: "invalid_auth"}, "account_inactive": {Error: "account_inactive"}, "not_authed": {Error: "not_authed"},
		"token_revoked": {Error: "token_revoked"}, "not_allowed_token_type": {Error: "not_allowed_token_type"}, "missing_scope": {Error: "missing_scope"},
		"404": {Status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket, func(sc *scene, _ *Config) { sc.slack.Fail("apps.connections.open", 1000, f) })
			select {
			case err := <-sc.ended:
				sc.ended <- err
				if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), sc.slack.AppToken()) {
					t.Errorf("Run returned %v", err)
				}
			case <-sc.ctx.Done():
				t.Fatal("Run goes on")
			}
		})
	}
}

func TestEverythingElseReconnects(t *testing.T) {
	sc := newScene(t, overSocket, func(sc *scene, _ *Config) {
		sc.slack.Fail("apps.connections.open", 1, fakeslack.Fault{Status: http.StatusInternalServerError})
		sc.slack.Fail("apps.connections.open", 1, fakeslack.Fault{Error: "internal_error"})
		sc.slack.Fail("apps.connections.open", 1, fakeslack.Fault{Cut: true})
	}).connected()
	sc.slack.Drop()
	sc.reconnected()
	sc.dm("hello")
	sc.quiet()
	only[chat.Said](sc)
}

// A soft stop: what was taken is recorded and acknowledged, nothing new is, and no goroutine is left (newScene looks).
func TestStopFinishesWhatWasTaken(t *testing.T) {
	flushed := make(chan struct{}, 1)
	var acked func() bool
	sc := newScene(t, overSocket, func(sc *scene, _ *Config) {
		acked = func() bool { return !sc.slack.Deliveries()[0].Attempts()[0].Acked.IsZero() }
		sc.tune = func(a *Adapter) {
			a.pause = func(ctx context.Context, d time.Duration) error {
				if d == flushWithin {
					sc.until("the acknowledgement is out", acked)
					flushed <- struct{}{}
					return nil
				}
				return backoff.Wait(ctx, d)
			}
		}
	}).connected()
	hold := make(chan struct{})
	sc.ledger.set(func() { sc.ledger.hold = hold })
	sc.dm("hello")
	sc.until("it is being recorded", func() bool { return len(sc.ledger.asked()) == 1 })
	sc.stop()
	for sc.a.receive(unreadable("probe"), func(receipt, error) {}) { // until Run has noticed
	}
	if acked() {
		t.Error("acknowledged before it was recorded")
	}
	close(hold)
	select {
	case err := <-sc.ended:
		sc.ended <- err
		if err != nil {
			t.Error(err)
		}
	case <-sc.ctx.Done():
		t.Fatal("Run does not end")
	}
	<-flushed
	only[chat.Said](sc)
}
