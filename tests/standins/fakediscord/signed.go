package fakediscord

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Deliver switches interactions to signed HTTP; an empty address switches back to the gateway. The two exclude each other. As in
// the developer portal, the address must first answer a PING and refuse one with a bad signature.
// https://docs.discord.com/developers/interactions/overview#preparing-for-interactions
func (s *Server) Deliver(address string) error {
	if address != "" {
		if err := s.verify(address); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = address
	return nil
}

func (s *Server) verify(address string) error {
	s.mu.Lock()
	body, _ := json.Marshal(obj{"id": s.id(), "application_id": s.opt.AppID, "type": kindPing, "token": "ping", "version": 1, "user": s.wireUser(s.opt.BotUser), "entitlements": []any{}})
	s.mu.Unlock()
	status, _, err := s.request(address, body, Forgery{Signature: strings.Repeat("0", 128)})
	if err != nil {
		return err
	}
	if status != http.StatusUnauthorized {
		return fmt.Errorf("fakediscord: a PING with a bad signature was answered with %d, not 401", status)
	}
	status, answer, err := s.request(address, body, Forgery{})
	if err != nil {
		return err
	}
	var o obj
	_ = json.Unmarshal(answer, &o) // else it has no type
	if status != http.StatusOK || integer(o["type"]) != CallbackPong {
		return fmt.Errorf("fakediscord: PING was answered with %d, and not with a PONG", status)
	}
	return nil
}

// Forgery is how an interaction differs from one that Discord signed. The zero value does not.
type Forgery struct {
	Key       bool          // signed with another key
	Signature string        // this in place of the signature
	NoHeaders bool          // neither signature nor timestamp
	Stale     time.Duration // signed properly, so long ago
	Body      string        // sent in place of the body that was signed
	Pad       int           // so many bytes of white space behind the body, signed
}

// Sign signs a body at a time as Discord does. https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
func (s *Server) Sign(at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	return timestamp, hex.EncodeToString(ed25519.Sign(s.key, append([]byte(timestamp), body...)))
}

// Forge posts the interaction of a delivery to the endpoint with a forgery, and returns what it was answered with.
func (s *Server) Forge(d *Delivery, f Forgery) (status int, body []byte, err error) {
	s.mu.Lock()
	address := s.endpoint
	s.mu.Unlock()
	return s.request(address, d.Payload, f)
}

// ForgeAt is [Server.Forge] for any address and body.
func (s *Server) ForgeAt(address string, body []byte, f Forgery) (status int, answer []byte, err error) {
	return s.request(address, body, f)
}

func (s *Server) request(address string, body []byte, f Forgery) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	return s.requestWith(ctx, address, body, f)
}

func (s *Server) requestWith(ctx context.Context, address string, body []byte, f Forgery) (int, []byte, error) {
	body = append(bytes.Clone(body), bytes.Repeat([]byte(" "), f.Pad)...)
	at, signature := s.Sign(fakeslack.SignedAt(s.clock).Add(-f.Stale), body)
	if f.Key {
		seed := sha256.Sum256([]byte("somebody else"))
		signature = hex.EncodeToString(ed25519.Sign(ed25519.NewKeyFromSeed(seed[:]), append([]byte(at), body...)))
	}
	if f.Body != "" {
		body = []byte(f.Body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Discord-Interactions/1.0 (+https://discord.com)")
	if !f.NoHeaders {
		r.Header.Set("X-Signature-Timestamp", at)
		r.Header.Set("X-Signature-Ed25519", cmp.Or(f.Signature, signature))
	}
	res, err := s.out.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, MaxRequest))
	return res.StatusCode, answer, err
}

// post sends an interaction to the endpoint. What the response says counts as the callback, unless it is a 202: then the
// program answers by the callback's route.
func (s *Server) post(in *interaction, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	stop := s.clock.AfterFunc(AnswerWithin, cancel)
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		defer cancel()
		defer stop()
		status, body, err := s.requestWith(ctx, address, in.d.Payload, Forgery{})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settle(in, status, body, err)
	}()
}

// settle notes what the endpoint answered. s.mu is held.
func (s *Server) settle(in *interaction, status int, body []byte, err error) {
	in.d.status = status
	defer s.Fire()
	switch {
	case err != nil:
		if in.answered == 0 {
			in.d.fail(errors.Join(errors.New(errInteractionExpired), err))
		}
		return
	case status == http.StatusAccepted || status == http.StatusNoContent:
		return
	case status != http.StatusOK:
		in.d.fail(fmt.Errorf("fakediscord: the interaction failed: the endpoint answered %d", status))
		return
	}
	q := &request{raw: body, call: &Call{Method: Callback, Path: "(response)"}}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&q.v) != nil {
		in.d.fail(errors.New("fakediscord: the interaction failed: the endpoint's answer is no JSON"))
		return
	}
	q.call.Body, q.call.Bytes = q.body(), len(body)
	bad := s.answer(in, q.body(), nil, true)
	q.call.Status, q.call.Done = http.StatusOK, bad == nil
	if bad != nil {
		q.call.Status, q.call.Code, q.call.Error = bad.status, bad.code, bad.message
		if in.answered == 0 {
			in.d.fail(fmt.Errorf("fakediscord: the interaction failed: %s %v", bad.message, bad.errors))
		}
	}
	s.record(*q.call, bad)
}
