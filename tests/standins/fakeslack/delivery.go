package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// AckWithin is how long the app has to acknowledge. https://docs.slack.dev/apis/events-api/#responding
const AckWithin = 3 * time.Second

// RetryAfter are the waits before each repetition of an event. https://docs.slack.dev/apis/events-api/#retries
var RetryAfter = [...]time.Duration{0, time.Minute, 5 * time.Minute}

// Delivery is one payload on its way to the app.
type Delivery struct {
	Type    string          // events_api, interactive or slash_commands
	EventID string          // of an event; it stays the same over all attempts
	Event   string          // an event's type
	Payload json.RawMessage //

	s        *Server
	attempts []*Attempt
	acked    *Attempt
	err      error         // once Slack has given up
	over     chan struct{} // closed when it was acknowledged or given up
	onAck    func(json.RawMessage)
	stop     func() // of the next attempt's timer
}

// Attempt is one try to deliver. In Socket Mode each has an envelope of its own.
type Attempt struct {
	Envelope string // empty over HTTP
	Number   int    // 0 for the first
	Reason   string // why it had to be repeated
	At       time.Time
	Acked    time.Time       // zero: not acknowledged
	Late     bool            // acknowledged after the three seconds: that counts for nothing
	Answer   json.RawMessage // what came with the acknowledgement
	Failed   string          // why it failed; empty while it has not

	of   *Delivery
	stop func() // of its deadline
}

func (a *Attempt) disarm() {
	if a.stop != nil {
		a.stop()
	}
	if a.of.stop != nil {
		a.of.stop()
	}
}

// Attempts are the tries so far.
func (d *Delivery) Attempts() []Attempt {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	var out []Attempt
	for _, a := range d.attempts {
		out = append(out, a.copy())
	}
	return out
}

func (a *Attempt) copy() Attempt {
	out := *a
	out.of, out.stop = nil, nil
	return out
}

// Wait returns the attempt that was acknowledged in time, or an error once Slack has given up.
func (d *Delivery) Wait(ctx context.Context) (Attempt, error) {
	select {
	case <-d.over:
	case <-ctx.Done():
		return Attempt{}, fmt.Errorf("fakeslack: %s %s: %w", d.Type, d.Event, ctx.Err())
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.acked == nil {
		return Attempt{}, d.err
	}
	return d.acked.copy(), nil
}

// Deliveries are all payloads that were sent, in order.
func (s *Server) Deliveries() []*Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Acks is how often this envelope was acknowledged, also one of [Server.Raw].
func (s *Server) Acks(envelope string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acks[envelope]
}

// Hold keeps back what would be delivered, until it is called with false.
func (s *Server) Hold(hold bool) {
	s.mu.Lock()
	s.hold = hold
	var held []*Delivery
	if !hold {
		held, s.held = s.held, nil
	}
	s.mu.Unlock()
	for _, d := range held {
		s.attempt(d, "")
	}
}

// Duplicate sends the next n deliveries twice, the second time in the same envelope.
func (s *Server) Duplicate(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twice = n
}

// LoseAcks makes the next n acknowledgements get lost on their way here.
func (s *Server) LoseAcks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseAcks = n
}

// Redeliver sends a payload once more: in the same envelope as its last attempt, or in a new one, as a further retry.
func (s *Server) Redeliver(d *Delivery, sameEnvelope bool) {
	s.mu.Lock()
	if sameEnvelope && len(d.attempts) > 0 && s.endpoint.Events == "" {
		defer s.mu.Unlock()
		a := d.attempts[len(d.attempts)-1]
		if c := s.pick(); c != nil {
			c.write(s.frame(a))
		}
		return
	}
	s.mu.Unlock()
	s.attempt(d, "timeout")
}

// deliver sends a new payload.
func (s *Server) deliver(d *Delivery) *Delivery {
	d.s, d.over = s, make(chan struct{})
	s.mu.Lock()
	s.sent = append(s.sent, d)
	held := s.hold
	if held {
		s.held = append(s.held, d)
	}
	s.Fire()
	s.mu.Unlock()
	if !held {
		s.attempt(d, "")
	}
	return d
}

// attempt tries once to deliver.
func (s *Server) attempt(d *Delivery, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	a := &Attempt{Number: len(d.attempts), Reason: reason, At: s.clock.Now(), of: d}
	d.attempts = append(d.attempts, a)
	s.Fire()
	if s.endpoint.Events != "" {
		ctx, cancel := context.WithCancelCause(s.ctx)
		a.stop = s.clock.AfterFunc(AckWithin, func() { cancel(errTooLate) })
		s.work.Go(func() {
			defer cancel(nil)
			s.post(ctx, a)
		})
		return
	}
	c := s.pick()
	if c == nil {
		s.fail(a, "no connection")
		return
	}
	a.Envelope = s.id("envelope-")
	s.waiting[a.Envelope] = a
	a.stop = s.clock.AfterFunc(AckWithin, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(a, "timeout")
	})
	frame := s.frame(a)
	c.write(frame)
	if s.twice > 0 {
		s.twice--
		s.pick().write(frame) // one was there a moment ago
	}
}

// frame is what an attempt looks like on a socket.
func (s *Server) frame(a *Attempt) []byte {
	d := a.of
	f := map[string]any{"envelope_id": a.Envelope, "type": d.Type, "payload": d.Payload, "accepts_response_payload": d.onAck != nil}
	if d.Type == "events_api" {
		f["retry_attempt"], f["retry_reason"] = a.Number, a.Reason
	}
	raw, _ := json.Marshal(f) // maps of plain values
	return raw
}

// fail notes that an attempt came to nothing and plans the next one. s.mu is held.
func (s *Server) fail(a *Attempt, why string) {
	d := a.of
	if a.Failed != "" || !a.Acked.IsZero() || s.closed {
		return
	}
	a.Failed = why
	s.Fire()
	if d.acked != nil || a != d.attempts[len(d.attempts)-1] {
		return
	}
	n := len(d.attempts) - 1
	if d.Type != "events_api" || n >= len(RetryAfter) || why == noRetry {
		d.giveUp(errors.New("fakeslack: Slack gave up on this " + d.Type + " payload: " + why))
		return
	}
	d.stop = s.clock.AfterFunc(RetryAfter[n], func() { s.attempt(d, why) })
}

func (d *Delivery) giveUp(err error) {
	if d.err == nil && d.acked == nil {
		d.err = err
		close(d.over)
	}
}

// acknowledge notes that the app has an attempt. s.mu is held; the returned function is to be called when it is not.
func (s *Server) acknowledge(a *Attempt, answer json.RawMessage) (then func()) {
	d := a.of
	if !a.Acked.IsZero() {
		return func() {}
	}
	a.Acked, a.Answer, a.Late = s.clock.Now(), answer, a.Failed != ""
	if a.stop != nil {
		a.stop()
	}
	defer s.Fire()
	if a.Late || d.acked != nil {
		return func() {}
	}
	if d.stop != nil {
		d.stop()
	}
	d.acked = a
	return func() {
		if d.onAck != nil {
			d.onAck(answer) // before Wait returns: what the answer does is then done
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.err == nil {
			close(d.over)
		}
	}
}
