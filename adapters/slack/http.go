package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/inbound"
)

// Where Slack delivers over HTTP: what the app's settings name as Request URLs.
const (
	PathEvents        = "/slack/events"
	PathInteractivity = "/slack/interactivity"
	PathCommands      = "/slack/commands"
)

const maxBody = 1 << 20 // what one request may have, in bytes

// Handler takes Slack's deliveries over HTTP, on the three paths above. It is nil with Socket Mode. Requests are served while Run
// runs; before and after they are told to come again.
func (a *Adapter) Handler() http.Handler {
	if a.AppToken != "" {
		return nil
	}
	mux := http.NewServeMux()
	for _, path := range []string{PathEvents, PathInteractivity, PathCommands} {
		mux.HandleFunc(http.MethodPost+" "+path, a.verify)
	}
	return mux
}

// verify lets only what Slack signed through. What is wrong with another request is nobody's business.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
func (a *Adapter) verify(w http.ResponseWriter, r *http.Request) {
	// Before the body is read: a timestamp of another day costs nothing.
	sv, err := slack.NewSecretsVerifier(r.Header, a.SigningSecret)
	if err != nil {
		a.refuseUnsigned(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		a.Logger.Warn("slack: a request is refused: its body is longer than 1 MiB", "path", r.URL.Path)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = sv.Write(body) // one that broke off is not what was signed
	if sv.Ensure() != nil {
		a.refuseUnsigned(w, r)
		return
	}
	a.serveRequest(w, body)
}

func (a *Adapter) refuseUnsigned(w http.ResponseWriter, r *http.Request) {
	a.Logger.Warn("slack: a request is refused: it is not signed with SLACK_SIGNING_SECRET, or not within the last five minutes", "path", r.URL.Path)
	w.WriteHeader(http.StatusUnauthorized)
}

// serveRequest takes what was posted for what it is: an app whose addresses are all the same, as Bolt's are, gets everything at one.
func (a *Adapter) serveRequest(w http.ResponseWriter, body []byte) {
	if b := bytes.TrimSpace(body); len(b) > 0 && b[0] == '{' {
		e, err := inbound.DecodeEvent(body)
		switch {
		case err != nil:
			a.drop(w, err)
		case e.Type == "url_verification": // https://docs.slack.dev/reference/events/url_verification
			respond(w, map[string]string{"challenge": e.Challenge})
		case e.Type == "event_callback":
			a.answerRequest(w, e)
		case e.Type == "app_rate_limited":
			a.Logger.Warn("slack: Slack holds events back: there were more than 30,000 in an hour")
		default:
			a.drop(w, inbound.ErrUnknownKind)
		}
		return
	}
	values, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		a.drop(w, errors.New("the body is neither a JSON object nor a form"))
	case values.Get("ssl_check") != "": // Slack looks whether anybody is there
	case values.Has("command"): // before a payload: of a command, only what it says counts
		a.answerRequest(w, inbound.ReadSlashCommand(values.Get))
	default:
		in, err := inbound.DecodeInteraction([]byte(values.Get("payload")))
		if err != nil {
			a.drop(w, err)
			return
		}
		a.answerRequest(w, in)
	}
}

// drop acknowledges what nobody understands: sent again, it would be no clearer.
func (a *Adapter) drop(w http.ResponseWriter, err error) {
	a.Logger.Warn("slack: a delivery could not be understood and is dropped", "err", err)
	w.WriteHeader(http.StatusOK)
}

// answerRequest serves d, and answers when that is durable. An error status makes Slack send an event again.
func (a *Adapter) answerRequest(w http.ResponseWriter, d inbound.Delivery) {
	var r receipt
	var err error
	done := make(chan struct{})
	if !a.receive(d, func(served receipt, failed error) { r, err = served, failed; close(done) }) {
		a.Logger.Warn("slack: a delivery is not taken, so that Slack sends it again: too much waits here, or this process starts or stops")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	<-done // within acceptWithin: what waits longer for its turn is given up
	switch {
	case err != nil:
		a.Logger.Error("slack: a delivery is not acknowledged, so that Slack sends it again", "err", err)
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.body != nil:
		respond(w, r.body)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

func respond(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // Slack is gone
}
