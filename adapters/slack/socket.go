package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/backoff"
)

const (
	maxEnvelope = 8 << 20 // bytes of one message of a socket: more than Slack's longest event by far, less than what hurts
	// flushWithin is what the last acknowledgements get to leave the process: slack-go says when one is queued, not when it is sent. One
	// that does not leave costs a redelivery, and for an interaction a warning beside the button.
	flushWithin = 500 * time.Millisecond
)

// listen takes what Slack sends until ctx ends, which is no error, or Slack refuses the app token. Everything that was taken is done then.
func (a *Adapter) listen(ctx context.Context) (err error) {
	a.in.afters.Open()
	defer a.in.afters.Close()
	a.in.lanes.Open()
	defer a.in.lanes.Close()
	if a.AppToken == "" {
		<-ctx.Done()
		return nil
	}
	// Of their own context: connections outlive ctx until what came over them is acknowledged.
	conns, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	refused := make(chan error, a.Connections)
	var open sync.WaitGroup
	for range a.Connections {
		open.Go(func() { refused <- a.connect(conns) })
	}
	select {
	case <-ctx.Done():
		a.in.lanes.Close()
		_ = a.pause(conns, flushWithin)
	case err = <-refused:
		a.in.lanes.Close()
	}
	hangUp()
	open.Wait()
	return err
}

// again is how long to wait before Slack is asked once more for what it refused.
var again = backoff.Exponential{First: time.Second, Most: time.Minute}

// connect keeps one connection until ctx ends (nil) or Slack refuses the token. A connection lives for hours at most: Slack announces the
// end and closes at once, and what it sends in between comes only when it is sent again. So there are at least two, here or in other
// replicas.
func (a *Adapter) connect(ctx context.Context) error {
	for failed := 0; ; failed++ {
		err := a.runSession(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if no := fatalSocket(err); no != nil {
			return no
		}
		// slack-go reconnects by itself; this is for a way out of it that nobody thought of.
		a.Logger.Warn("slack: a socket ended; opening another", "err", err)
		_ = a.pause(ctx, again.Base(failed))
	}
}

func (a *Adapter) runSession(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := socketmode.New(a.api, socketmode.OptionReadLimit(maxEnvelope), socketmode.OptionLog(log.New(io.Discard, "", 0)))
	ended := make(chan error, 1)
	go func() { ended <- client.RunContext(ctx) }()
	var refused error
	var at socketState
	defer func() { a.setSocketState(&at, socketGone) }()
	for {
		select {
		case err := <-ended:
			return cmp.Or(refused, err)
		case ev := <-client.Events: // never stop draining: a full channel of events keeps slack-go from reconnecting, for ever
			if err := a.socketEvent(ctx, client, &at, ev); err != nil {
				refused = err
				cancel()
			}
		}
	}
}

// socketEvent takes one event of slack-go's, of a connection that is at. It does not block. Its error is one that no reconnecting mends.
func (a *Adapter) socketEvent(ctx context.Context, client *socketmode.Client, at *socketState, ev socketmode.Event) error {
	if ctx.Err() != nil && ev.Request == nil {
		return nil // hanging up cuts it short; what a person did came before, and Slack might send it again in minutes only
	}
	switch ev.Type {
	case socketmode.EventTypeConnecting:
		a.setSocketState(at, socketGone)
	case socketmode.EventTypeHello:
		a.setSocketState(at, socketHello)
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		if ev.Request != nil {
			a.takeEnvelope(client, *ev.Request)
		}
	case socketmode.EventTypeErrorBadMessage:
		// What slack-go could not decode, we may: it looks at more than we need. What nobody can is acknowledged by its ID.
		if bad, ok := ev.Data.(*socketmode.ErrorBadMessage); ok {
			a.takeEnvelope(client, requestIn(bad.Message))
		}
	case socketmode.EventTypeConnectionError:
		a.setSocketState(at, socketFailed)
		if failed, ok := ev.Data.(*slack.ConnectionErrorEvent); ok {
			if fatalSocket(failed.ErrorObj) != nil {
				return failed.ErrorObj
			}
			a.Logger.Warn("slack: no socket could be opened; trying again", "in", failed.Backoff, "attempt", failed.Attempt, "err", calls.FaultOf(failed.ErrorObj))
		}
	case socketmode.EventTypeErrorWriteFailed:
		a.Logger.Warn("slack: an acknowledgement could not be sent; Slack sends its event again")
	case socketmode.EventTypeIncomingError:
		a.Logger.Info("slack: a socket failed or brought something unreadable")
	case socketmode.EventTypeConnected:
		a.setSocketState(at, socketDialed)
		a.Logger.Info("slack: a socket is open")
	}
	return nil
}

func requestIn(message json.RawMessage) socketmode.Request {
	var r struct {
		Type    inbound.LooseString `json:"type"`
		ID      inbound.LooseString `json:"envelope_id"`
		Payload json.RawMessage     `json:"payload"`
	}
	_ = json.Unmarshal(message, &r)
	return socketmode.Request{Type: string(r.Type), EnvelopeID: string(r.ID), Payload: r.Payload}
}

// takeEnvelope serves an envelope, and acknowledges it when that is durable.
func (a *Adapter) takeEnvelope(client *socketmode.Client, r socketmode.Request) {
	deadline := time.Now().Add(ackWithin)
	ack := func(answer receipt, err error) {
		if err != nil {
			a.Logger.Error("slack: a delivery is not acknowledged, so that Slack sends it again", "envelope", r.EnvelopeID, "kind", r.Type, "err", err)
			return
		}
		if r.EnvelopeID == "" {
			return // nothing to acknowledge it by
		}
		// With a deadline: without a live connection slack-go blocks from the 21st acknowledgement on.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if err := client.AckCtx(ctx, r.EnvelopeID, answer.body); err != nil {
			a.Logger.Warn("slack: a delivery was taken but not acknowledged; it comes again and counts once", "envelope", r.EnvelopeID, "err", err)
		}
	}
	d, err := inbound.DecodeDelivery(r.Type, r.Payload)
	if err != nil {
		a.Logger.Warn("slack: a delivery could not be understood and is dropped", "envelope", r.EnvelopeID, "err", err)
		d = unreadable(r.EnvelopeID)
	}
	if !a.receive(d, ack) {
		a.Logger.Warn("slack: a delivery is not taken, so that Slack sends it again: too much waits here, or this process stops", "envelope", r.EnvelopeID)
	}
}

// unreadable is a delivery that only wants to be acknowledged.
type unreadable string

func (u unreadable) Lane() string { return "u:" + string(u) }

// fatalSocket makes a sentence of an error that no waiting mends, or nil. It never holds the token.
func fatalSocket(err error) error {
	if code, _ := errors.AsType[slack.StatusCodeError](err); code.Code == http.StatusNotFound {
		return errors.New("slack: there is no Slack API at the address of SLACK_API_URL (HTTP 404 from apps.connections.open); leave it empty for Slack's own")
	}
	code := calls.CodeOf(err)
	if do, ok := calls.AppTokenAdvice[code]; ok {
		return fmt.Errorf("slack refuses the app token, SLACK_APP_TOKEN (%s): %s", code, do)
	}
	return nil
}
