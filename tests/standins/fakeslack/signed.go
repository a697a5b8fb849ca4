package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errTooLate ends a request that was not answered in time.
var errTooLate = errors.New("http_timeout")

// noRetry is the failure after which Slack does not try again.
const noRetry = "no_retry"

// Deliver switches to signed HTTP delivery; the zero value switches back to Socket Mode. As in the app's settings, the address
// for events must first answer url_verification.
func (s *Server) Deliver(e Endpoints) error {
	if e.Events != "" {
		if err := s.verify(e.Events); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = e
	return nil
}

func (s *Server) verify(address string) error {
	challenge := "challenge-" + strconv.FormatInt(s.clock.Now().UnixNano(), 36)
	body, _ := json.Marshal(map[string]any{"token": "verification", "challenge": challenge, "type": "url_verification"})
	ctx, cancel := context.WithTimeout(s.ctx, AckWithin)
	defer cancel()
	res, answer, err := s.signed(ctx, address, "application/json", body, nil)
	if err != nil {
		return fmt.Errorf("fakeslack: url_verification: %w", err)
	}
	var obj struct{ Challenge string }
	_ = json.Unmarshal(answer, &obj) // else it is plain text
	if res.StatusCode != http.StatusOK || (obj.Challenge != challenge && strings.TrimSpace(string(answer)) != challenge) {
		return fmt.Errorf("fakeslack: url_verification: %d, and not the challenge", res.StatusCode)
	}
	return nil
}

// Sign is the X-Slack-Signature of a body at a time in seconds. https://docs.slack.dev/authentication/verifying-requests-from-slack
func Sign(secret string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%d:", at)
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// signed posts a body as Slack does.
func (s *Server) signed(ctx context.Context, address, kind string, body []byte, more map[string]string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	at := SignedAt(s.clock).Unix()
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	req.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at, 10))
	req.Header.Set("X-Slack-Signature", Sign(s.opt.SigningSecret, at, body))
	for k, v := range more {
		req.Header.Set(k, v)
	}
	res, err := s.delivery.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res, answer, err
}

// post tries once over HTTP.
func (s *Server) post(ctx context.Context, a *Attempt) {
	d := a.of
	s.mu.Lock()
	e, twice := s.endpoint, false
	if s.twice > 0 {
		s.twice--
		twice = true
	}
	s.mu.Unlock()
	address, kind, body := e.Events, "application/json", []byte(d.Payload)
	switch d.Type {
	case "interactive":
		address, kind, body = e.Interactivity, "application/x-www-form-urlencoded", []byte(url.Values{"payload": {string(d.Payload)}}.Encode())
	case "slash_commands":
		address, kind, body = e.Commands, "application/x-www-form-urlencoded", []byte(asForm(d.Payload))
	}
	more := map[string]string{}
	if a.Number > 0 {
		more["X-Slack-Retry-Num"], more["X-Slack-Retry-Reason"] = strconv.Itoa(a.Number), a.Reason
	}
	defer a.stop()
	res, answer, err := s.signed(ctx, address, kind, body, more)
	if twice && err == nil {
		_, _, _ = s.signed(ctx, address, kind, body, more) // what comes of the second is nobody's concern
	}
	s.settle(a, res, answer, err, errors.Is(context.Cause(ctx), errTooLate))
}

// settle notes what came of an attempt over HTTP.
func (s *Server) settle(a *Attempt, res *http.Response, answer []byte, err error, late bool) {
	s.mu.Lock()
	then := func() {}
	switch {
	case err != nil && late:
		s.fail(a, "http_timeout")
	case err != nil:
		s.fail(a, "connection_failed")
	case res.StatusCode/100 != 2 && res.Header.Get("X-Slack-No-Retry") == "1":
		s.fail(a, noRetry)
	case res.StatusCode/100 != 2:
		s.fail(a, "http_error")
	case s.loseAcks > 0:
		s.loseAcks--
		s.fail(a, "http_timeout")
	default:
		raw := json.RawMessage(answer)
		if !json.Valid(raw) { // plain text
			raw, _ = json.Marshal(string(answer))
		}
		if len(bytes.TrimSpace(answer)) == 0 {
			raw = nil
		}
		then = s.acknowledge(a, raw)
	}
	s.mu.Unlock()
	then()
}

// asForm is a JSON object of plain values as a form.
func asForm(payload json.RawMessage) string {
	var obj map[string]json.RawMessage
	_ = json.Unmarshal(payload, &obj) // made here
	v := url.Values{}
	for k, raw := range obj {
		v.Set(k, plain(raw))
	}
	return v.Encode()
}

// after is a moment later by the server's clock. s.mu may be held.
func (s *Server) after(d time.Duration) time.Time { return s.clock.Now().Add(d) }
