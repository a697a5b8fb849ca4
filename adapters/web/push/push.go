// Package push notifies people on their devices of questions that wait for them, also while no page is open: Web Push, as browsers have it.
//
// Its words. A device is where a browser hears from us: an address at its maker's push service, with the keys to encrypt for it. It belongs to
// the session of the page in that browser, and counts as long as that session does. A push is one encrypted message to one device.
//
// Its invariants.
//   - Who is told is asked when it is sent, and again before each new try: the session lives, its person is the one who wanted it, and they are
//     shown the question by the inbox's own rule.
//   - A push names who asks, the tool and its server, and nothing of the arguments. No chat's address is in it but to whom the inbox gives it.
//   - One replica sends it: the name of the question is taken in the store first. A crash right after that loses it; nothing is sent twice.
//   - The address comes from a browser, so nod is led to no place within (client.go). It is a secret like the keys: it is in no log and no error.
//   - A turn waits for nothing here: what is noticed is put into a bounded queue.
//
// Start at [Sender]; device.go keeps devices, client.go is the way out. It leaves out the API and the page, which are package web's, and takes no
// notification back: a push lasts as long as its question, and the page's worker (assets/sw.js) clears away what is settled.
// https://datatracker.ietf.org/doc/html/rfc8030 (the way), rfc8291 (the encryption), rfc8292 (who sends)
package push

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/SherClockHolmes/webpush-go"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

const (
	noticedRoom = 1024             // chats that wait to be looked at
	atOnce      = 256              // pushes on their way, those that are tried again included
	tries       = 6                // of one push
	looking     = 30 * time.Second // at one chat: who is to be told
	sending     = 10 * time.Second // one try
	draining    = 5 * time.Second  // what is on its way when the process stops
	told        = 10_000           // questions that this process remembers to have dealt with
	people      = 1024             // whose pace is remembered
	parked      = 24 * time.Hour   // how long a push lasts of a question that has no end
	longest     = 28 * 24 * time.Hour
	record      = 2048 // bytes of an encrypted message, padded. Services take 4096 at most: RFC 8030, 7.2
	readAtMost  = 4 << 10
)

// personRate bounds the pushes to one person: whoever has so many questions looks at the inbox.
const personRate, personBurst = rate.Limit(0.5), 20

var again = backoff.Exponential{First: 2 * time.Second, Most: 5 * time.Minute, Jitter: 0.5}

// Shelf keeps devices. Safe for concurrent use, by all replicas.
type Shelf interface {
	// PutPush keeps the device of a session, in place of what was.
	PutPush(ctx context.Context, session string, device []byte) error
	// DropPush forgets it, unless it is another than was read.
	DropPush(ctx context.Context, session string, was []byte) error
	// Pushes are all devices, by session.
	Pushes(context.Context) (map[string][]byte, error)
	// PushKey is the one key that signs; fresh becomes it where there is none yet.
	PushKey(ctx context.Context, fresh string) (string, error)
	// Once reports whether a name was not used within d, on any replica, and uses it.
	Once(ctx context.Context, name string, d time.Duration) (bool, error)
}

// Sees is what of a chat somebody may be shown.
type Sees func(turn.Session, turn.ToolCall) bool

// Config is what [New] needs.
type Config struct {
	Shelf Shelf
	// Load reads a chat anew.
	Load func(context.Context, chat.ID) (turn.Session, error)
	// Who is the person of a session, and what they may be shown of what waits in a chat; the zero User where the session has ended.
	Who func(ctx context.Context, session string, id chat.ID) (chat.User, Sees, error)
	// To is the page on which a person finds a chat's questions: a path.
	To     func(chat.User, turn.Session) string
	Client *http.Client // nil: [HTTPClient]
	Logger *slog.Logger
}

// Sender sends. Make it with [New]; it is safe for concurrent use.
type Sender struct {
	Config
	noticed chan turn.Session
	places  chan struct{} // of pushes on their way
	told    *lru.Cache[string, bool]
	paces   *lru.Cache[chat.User, *rate.Limiter]
	sends   sync.WaitGroup

	mu   sync.Mutex
	keys keys
}

// keys sign what is sent. Browsers are given the public one.
type keys struct{ private, public string }

// New makes one. Nothing is sent before [Sender.Run].
func New(c Config) *Sender {
	if c.Client == nil {
		c.Client = HTTPClient()
	}
	s := &Sender{Config: c, noticed: make(chan turn.Session, noticedRoom), places: make(chan struct{}, atOnce)}
	s.told, _ = lru.New[string, bool](told) // it fails for a size of 0 alone
	s.paces, _ = lru.New[chat.User, *rate.Limiter](people)
	return s
}

// Noticed hears of a chat in which something waits, perhaps again. It does not wait.
func (s *Sender) Noticed(of turn.Session) {
	if len(turn.Waits(of)) == 0 {
		return
	}
	select {
	case s.noticed <- of:
	default:
		s.Logger.Warn("too much waits for people at once: nobody is notified on their devices of this", "chat", of.Chat)
	}
}

// Run sends until ctx ends, and then for a few seconds what was noticed before.
func (s *Sender) Run(ctx context.Context) {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case of := <-s.noticed:
			s.look(ctx, work, of)
		}
	}
	defer time.AfterFunc(draining, cut).Stop()
	for left := len(s.noticed); left > 0; left-- {
		s.look(ctx, work, <-s.noticed)
	}
	s.sends.Wait()
}

// look sends what is new in a chat. Tries end with ctx, and what is on its way with work.
func (s *Sender) look(ctx, work context.Context, of turn.Session) {
	looks, done := context.WithTimeout(work, looking)
	defer done()
	for _, c := range of.Turn.Calls {
		w := c.Wait()
		name := string(w.Ask)
		if _, wider := of.Turn.Escalated(w.Ask); wider { // others are shown it now; whoever had the first notification gets this in its place
			name += "/escalated"
		}
		if w.Ask == "" || s.told.Contains(name) {
			continue
		}
		to, err := s.devices(looks, of, c)
		first := false
		if err == nil && len(to) > 0 {
			first, err = s.Shelf.Once(looks, "push/"+name, lasts(w))
		}
		if err != nil { // the next thing that moves in the chat brings it again
			s.Logger.Warn("people were not notified on their devices", "chat", of.Chat, "err", err)
			continue
		}
		s.told.Add(name, true)
		for _, d := range to {
			if first {
				s.start(ctx, work, of, c, d)
			}
		}
	}
}

// lasts is for how long a question can still be answered.
func lasts(w turn.Wait) time.Duration {
	if w.Deadline.IsZero() {
		return parked
	}
	return min(max(time.Until(w.Deadline), time.Second), longest)
}

// devices are those of everybody who is to be told. One whose session has ended, or is another's by now, goes.
func (s *Sender) devices(ctx context.Context, of turn.Session, c turn.ToolCall) (to []device, err error) {
	all, err := s.Shelf.Pushes(ctx)
	for session, kept := range all {
		d := parse(session, kept)
		sees, err := s.sees(ctx, d, of.Chat)
		if err != nil {
			return nil, err
		}
		switch {
		case sees == nil:
			if err := s.forget(ctx, d); err != nil {
				return nil, err
			}
		case sees(of, c):
			to = append(to, d)
		}
	}
	return to, err
}

// sees is what may be shown on a device; nil: it is nobody's any more.
func (s *Sender) sees(ctx context.Context, d device, id chat.ID) (Sees, error) {
	u, sees, err := s.Who(ctx, d.session, id)
	if err != nil || u.IsZero() || u != d.User {
		return nil, err
	}
	return sees, nil
}

// start sends a push, unless too many are on their way or its person had too many.
func (s *Sender) start(ctx, work context.Context, of turn.Session, c turn.ToolCall, d device) {
	pace, ok := s.paces.Get(d.User)
	if !ok {
		pace = rate.NewLimiter(personRate, personBurst)
		s.paces.Add(d.User, pace)
	}
	if !pace.Allow() {
		return
	}
	select {
	case s.places <- struct{}{}:
		s.sends.Go(func() {
			defer func() { <-s.places }()
			s.deliver(ctx, work, of, c, d)
		})
	default:
		s.Logger.Warn("too many notifications are on their way to devices: one is left out", "service", d.host())
	}
}

// deliver sends until it is taken, of no use, or nobody can answer any more.
func (s *Sender) deliver(ctx, work context.Context, of turn.Session, c turn.ToolCall, d device) {
	for failed := 0; ; failed++ {
		f := s.send(work, of, c, d)
		switch wait := max(again.After(failed), f.after); {
		case f.err == nil:
			return
		case f.gone:
			if err := s.forget(work, d); err != nil {
				s.Logger.Warn("a device that is gone could not be forgotten", "service", d.host(), "err", err)
			}
			return
		case !f.again, failed+1 == tries, wait >= lasts(c.Wait()), backoff.Wait(ctx, wait) != nil:
			s.Logger.Warn("a device was not notified", "service", d.host(), "tries", failed+1, "err", f.err)
			return
		}
		now, err := s.Load(work, of.Chat)
		var sees Sees
		if err == nil {
			sees, err = s.sees(work, d, of.Chat)
		}
		if err != nil {
			s.Logger.Warn("it is not known whether a device is still to be notified", "service", d.host(), "err", err)
			return
		}
		was := c.Wait().Ask
		if of, c = now, now.Turn.Call(c.ID); c.Wait().Ask != was || sees == nil || !sees(of, c) {
			return // it is answered, or theirs no more
		}
	}
}

// failure is why a device was not told; the zero one: it was.
type failure struct {
	err   error
	gone  bool          // nobody is there any more
	again bool          // it may be taken later
	after time.Duration // as the service said
}

// message is what the page's worker reads (assets/sw.js).
type message struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Tag   string `json:"tag"` // the question: a second one replaces the first
	To    string `json:"to"`
}

var places = map[string]string{"web": "Waits on this page.", "slack": "Waits in Slack.", "discord": "Waits on Discord."}

// write says who asks what. Names are untrusted, and short enough that all of it has less than a kilobyte.
func write(of turn.Session, c turn.ToolCall, to string) ([]byte, error) {
	say := fmt.Sprintf("Allow %s from %s?", text.Clip(c.Tool.Name, 60), text.Clip(c.Tool.Server, 40))
	if c.Status != turn.Awaiting { // an unknown outcome, or what a server wants to know
		say = fmt.Sprintf("%s from %s needs your answer", text.Clip(c.Tool.Name, 60), text.Clip(c.Tool.Server, 40))
	}
	return json.Marshal(message{Title: text.Clip(of.NameOf(of.Turn.Requester), 40) + " asks: " + say, Body: cmp.Or(places[of.Chat.Platform], "Waits for you."), Tag: string(c.Wait().Ask), To: to})
}

// send tries once.
func (s *Sender) send(ctx context.Context, of turn.Session, c turn.ToolCall, d device) failure {
	k, err := s.key(ctx)
	var says []byte
	if err == nil {
		says, err = write(of, c, s.To(d.User, of))
	}
	if err != nil {
		return failure{err: err, again: true}
	}
	ctx, done := context.WithTimeout(ctx, sending)
	defer done()
	ask := c.Wait()
	topic := sha256.Sum256([]byte(ask.Ask))
	res, err := webpush.SendNotificationWithContext(ctx, says, &webpush.Subscription{Endpoint: d.Endpoint, Keys: webpush.Keys{P256dh: d.P256dh, Auth: d.Auth}}, &webpush.Options{
		HTTPClient: s.Client, RecordSize: record, Subscriber: d.contact(), TTL: int(lasts(ask).Seconds()), Urgency: webpush.UrgencyHigh,
		Topic:          base64.RawURLEncoding.EncodeToString(topic[:24]), // 32 characters are allowed: RFC 8030, 5.4
		VAPIDPublicKey: k.public, VAPIDPrivateKey: k.private,
	})
	if err != nil {
		if at, is := errors.AsType[*url.Error](err); is {
			err = at.Err // without the address
		}
		return failure{err: err, again: !errors.Is(err, errInside)}
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, readAtMost) // so that the connection is kept; what they say may be anything
	f := failure{err: fmt.Errorf("the push service answers HTTP %d", res.StatusCode)}
	switch code := res.StatusCode; {
	case code < 300: // none is below 200: those are of the connection
		f.err = nil
	case code == http.StatusNotFound, code == http.StatusGone:
		f.gone = true
	case code == http.StatusTooManyRequests, code == http.StatusNotAcceptable, code >= 500: // Microsoft says 406 for too many
		f.again, f.after = true, retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return f
}

// retryAfter is what a service asks for: seconds, or a date.
func retryAfter(says string, now time.Time) time.Duration {
	if n, _ := strconv.Atoi(says); n > 0 { // what is no number is 0, or the largest there is
		return min(time.Duration(min(n, int(longest/time.Second)))*time.Second, longest)
	}
	if at, err := http.ParseTime(says); err == nil {
		return min(max(at.Sub(now), 0), longest)
	}
	return 0
}

// Key is the public key that browsers subscribe with.
func (s *Sender) Key(ctx context.Context) (string, error) {
	k, err := s.key(ctx)
	return k.public, err
}

// key is made by whichever replica needs it first.
func (s *Sender) key(ctx context.Context) (keys, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys.public != "" {
		return s.keys, nil
	}
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return keys{}, err
	}
	kept, err := s.Shelf.PushKey(ctx, private+"."+public)
	if err != nil {
		return keys{}, err
	}
	var ok bool
	if private, public, ok = strings.Cut(kept, "."); !ok {
		return keys{}, errors.New("the key for devices in the store is none")
	}
	s.keys = keys{private, public}
	return s.keys, nil
}
