package fakediscord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Times of interactions. https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction
const (
	AnswerWithin = 3 * time.Second
	TokenFor     = 15 * time.Minute
)

// Types of interactions, and of the callbacks that answer them.
const (
	kindPing      = 1
	kindCommand   = 2
	kindComponent = 3
	kindModal     = 5

	CallbackPong          = 1
	CallbackMessage       = 4
	CallbackDefer         = 5
	CallbackDeferUpdate   = 6
	CallbackUpdate        = 7
	CallbackAutocomplete  = 8
	CallbackModal         = 9
	interactionVersion    = 1
	attachmentLimit       = MaxFile
	contextGuild          = 0
	contextDM             = 1
	fromCallback          = "callback"
	errInteractionExpired = "fakediscord: the interaction failed: no answer within three seconds"
)

// interaction is one that the program may answer.
type interaction struct {
	id, token string
	kind      int
	user      string
	channel   string
	at        time.Time
	answered  int      // the callback's type; 0: not yet
	source    *Message // whose component it was, or the modal was opened from
	original  *Message // @original
	d         *Delivery
}

// Answer is the callback that answered an interaction.
type Answer struct {
	Type   int
	At     time.Time      // by the server's clock
	Data   map[string]any // as it was sent
	Direct bool           // in the response to the signed POST
}

// Delivery is one interaction on its way to the program.
type Delivery struct {
	ID      string // of the interaction
	Kind    int    // 2 a command, 3 a component, 5 a modal
	User    string
	Channel string
	At      time.Time
	Payload json.RawMessage

	s      *Server
	answer *Answer
	status int // of the endpoint's response
	err    error
	over   chan struct{} // closed when it was answered or failed
	stop   func()
	token  string
}

func (d *Delivery) disarm() {
	if d.stop != nil {
		d.stop()
	}
}

// Wait returns the answer, or an error once the person reads "This interaction failed".
func (d *Delivery) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-d.over:
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("fakediscord: interaction %s: %w", d.ID, ctx.Err())
	}
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.answer == nil {
		return Answer{}, d.err
	}
	return *d.answer, nil
}

// Answered is the answer, if there is one.
func (d *Delivery) Answered() (Answer, bool) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.answer == nil {
		return Answer{}, false
	}
	return *d.answer, true
}

// Failed reports whether three seconds went by without an answer.
func (d *Delivery) Failed() bool {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	return d.err != nil
}

// Insist does what people do who read that an interaction failed, or see for long that nothing happens: the same again, until ctx ends. What
// cannot be done again was taken when it was done before.
func Insist(ctx context.Context, act func() (*Delivery, error)) (d *Delivery, err error) {
	for again := false; ; again = true {
		next, refused := act()
		if refused != nil && again {
			return d, nil
		}
		if d, err = next, refused; err != nil {
			return nil, err
		}
		wait, cancel := context.WithTimeout(ctx, 5*AnswerWithin)
		_, err = d.Wait(wait)
		cancel()
		if err == nil || ctx.Err() != nil {
			return d, err
		}
	}
}

// Token is the interaction's token, for tests that answer themselves.
func (d *Delivery) Token() string { return d.token }

// Deliveries are all interactions so far, in order.
func (s *Server) Deliveries() []*Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// interact makes an interaction of what a person did and sends it. s.mu is held; it is not afterwards.
func (s *Server) interact(in *interaction, data obj) *Delivery {
	in.id = s.id()
	in.token, in.at = "aW50ZXJhY3Rpb24"+in.id, s.clock.Now()
	c := s.channels[in.channel]
	p := obj{"id": in.id, "application_id": s.opt.AppID, "type": in.kind, "token": in.token, "version": interactionVersion, "channel_id": c.ID, "channel": s.wirePartial(c), "data": data,
		"app_permissions": s.permissions(c).String(), "entitlements": []any{}, "authorizing_integration_owners": s.owners(c.Guild), "locale": "en-US",
		"attachment_size_limit": attachmentLimit}
	if c.Guild == "" {
		p["user"], p["context"] = s.wireUser(in.user), contextDM
	} else {
		g := s.guilds[c.Guild]
		member := s.wireMember(g, in.user, true)
		member["permissions"] = cmp.Or(g.members[in.user].Permissions, DefaultPermissions).String()
		p["member"], p["context"], p["guild_id"], p["guild_locale"] = member, contextGuild, c.Guild, "en-US"
		p["guild"] = obj{"id": c.Guild, "locale": "en-US", "features": []any{}}
	}
	if in.source != nil {
		p["message"] = s.wireMessage(in.source)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic("fakediscord: " + err.Error())
	}
	d := &Delivery{ID: in.id, Kind: in.kind, User: in.user, Channel: c.ID, At: in.at, Payload: raw, s: s, over: make(chan struct{}), token: in.token}
	in.d = d
	s.interactions[in.id], s.tokens[in.token] = in, in
	s.sent = append(s.sent, d)
	d.stop = s.clock.AfterFunc(AnswerWithin, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.fail(errors.New(errInteractionExpired))
	})
	endpoint := s.endpoint
	if endpoint == "" {
		s.dispatch(event{name: "INTERACTION_CREATE", guild: c.Guild, data: p})
	}
	s.Fire()
	s.mu.Unlock()
	if endpoint != "" {
		s.post(in, endpoint)
	}
	return d
}

func (s *Server) wirePartial(c *channel) obj {
	out := s.wireChannel(c)
	out["permissions"] = DefaultPermissions.String()
	delete(out, "permission_overwrites")
	return out
}

// fail notes that nobody answered in time. s.mu is held.
func (d *Delivery) fail(err error) {
	if d.answer == nil && d.err == nil {
		d.err = err
		close(d.over)
		d.s.Fire()
	}
}

// Redeliver sends an interaction once more, as a second session of the same shard would get it, or the endpoint again.
func (s *Server) Redeliver(d *Delivery) {
	s.mu.Lock()
	in, endpoint := s.interactions[d.ID], s.endpoint
	if endpoint == "" {
		s.dispatch(event{name: "INTERACTION_CREATE", guild: s.channels[in.channel].Guild, data: decoded(d.Payload)})
	}
	s.mu.Unlock()
	if endpoint != "" {
		s.post(in, endpoint)
	}
}

func decoded(raw []byte) obj {
	var o obj
	_ = json.Unmarshal(raw, &o) // made here
	return o
}
