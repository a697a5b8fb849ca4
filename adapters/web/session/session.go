// Package session knows who a browser or a program is that comes to the page: whose key it brings, and for how long that counts.
//
// Its words. A session is one sign-in: 256 random bits, which whoever signed in keeps, and who that is, which the [Shelf] keeps under their hash.
// A configured key opens sessions; an administrator's also stands for its owner by itself, though never as a cookie. A [Person] is who comes
// of it. Somebody is vouched for whom a provider or a platform says who they are ([signin.Doors]).
//
// Start reading at [Sessions.Who]. keys.go has the configured keys, request.go what a request carries, stored.go what a session is and when it
// is over, vouched.go what a provider or a platform says.
//
// Its invariants.
//   - A session counts if its time is not over and what opened it still would: its key is configured, its provider is a door. That is looked at
//     each time, on every replica, so what is taken out of the configuration ends at the next start.
//   - A session that was ended stays ended: whoever still uses it does not keep it again, and a write that comes late stores nobody's.
//   - A browser has one session: the one that it had ends when it gets another.
//   - Keys are stored hashed, compared in constant time, and looked at so many times a minute only once wrong ones were tried.
//   - Nobody gives themselves a name that is somebody else's, or looks like one.
//
// It leaves out what a session may do, which is the engine's answer, and every page and route, which are package web's.
package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Platform is the name of the page in [chat.User], for who is nobody's elsewhere.
const Platform = "web"

const (
	maxName = 80  // characters of a display name
	maxKey  = 256 // bytes of a key that is looked at

	// Each process counts for itself. A key has at least 16 bytes, so a guess a second finds none.
	wrongRate, wrongBurst = 1, 100
	openRate, openBurst   = 5, 500
)

// Shelf keeps sessions and what was said of people. It decides nothing but who a key belongs to. Safe for concurrent use.
type Shelf interface {
	// OpenSession stores a new session under the hash of its key, unless there are max of them: then it is false. One that is there stays as it
	// is. A copy of this write may still come when the session was ended, and store it again.
	OpenSession(ctx context.Context, keyHash string, session []byte, max int) (bool, error)
	// KeepSession stores what changed of a session, unless it was ended.
	KeepSession(ctx context.Context, keyHash string, session []byte) error
	// Session finds it again. ok is false for an unknown hash.
	Session(ctx context.Context, keyHash string) (session []byte, ok bool, err error)
	// Sessions are all of them, by the hashes of their keys.
	Sessions(context.Context) (map[string][]byte, error)
	// EndSessions ends some, and where old is true also those that older versions opened and Sessions does not know.
	EndSessions(ctx context.Context, old bool, keyHashes ...string) error
	// PutPerson keeps what is known of somebody, in place of what was. Person gives it back, or nil.
	PutPerson(ctx context.Context, userKey string, person []byte) error
	Person(ctx context.Context, userKey string) ([]byte, error)
}

// Members is the platform by whose sign-in people get in.
type Members interface {
	// Member is who somebody is who signed in by it: in a chat of the platform, or anywhere else on the page. no says to them why they may do
	// nothing there. An empty name is not known.
	Member(ctx context.Context, in chat.ID, u chat.User) (is chat.User, name, no string)
}

// Config is what [New] needs. Shelf, Now and Logger are required.
type Config struct {
	Shelf     Shelf
	Loopback  bool     // nobody reaches the listener from elsewhere: without keys anybody may open a session
	AdminKeys []string // are bearers of administrators ([AdminUser]). Spaces are trimmed and empty entries never match
	Keys      []Key    // open sessions, and once there is one none opens without
	Doors     signin.Doors
	Surfaces  map[string]agent.Platform // by name: who signed in by one is asked of it ([Members]); may be filled later
	Now       func() time.Time
	Logger    *slog.Logger
}

// Sessions are those of one page. Make them with [New]; they are safe for concurrent use.
type Sessions struct {
	Config
	keys      keyring
	reserved  map[string]bool // names that nobody may give themselves, plain
	wrongKeys *rate.Limiter
	opened    *rate.Limiter
}

// New checks the configuration. It starts nothing.
func New(c Config) (*Sessions, error) {
	s := &Sessions{Config: c, keys: newKeyring(c.AdminKeys, c.Keys), wrongKeys: rate.NewLimiter(wrongRate, wrongBurst), opened: rate.NewLimiter(openRate, openBurst),
		reserved: map[string]bool{plainName(adminName): true, plainName(text.Product): true}}
	for _, k := range s.keys {
		switch {
		case k.name != "":
			s.reserved[plainName(k.name)] = true
		case !k.admin && len(c.Doors) > 0:
			return nil, errors.New("web: with SignIn each of SessionKeys needs a name: nobody names themselves there")
		}
	}
	return s, nil
}

// Refused is why somebody does not get in, or does not stay. [Unauthorized] is where nobody is there.
type Refused struct {
	Status int    // of HTTP
	Code   string // for programs
	Say    string // for a person
}

func (r Refused) Error() string { return r.Say }

// Unauthorized and TooFast are the refusals that callers tell apart, or answer themselves.
var (
	Unauthorized = Refused{http.StatusUnauthorized, "unauthorized", "Sign in first: this needs a session key (POST /api/v1/sessions gives one)."}
	TooFast      = Refused{http.StatusTooManyRequests, "too_fast", "Too many sessions or chats were opened in a short time. Wait a minute, then try again."}
)

// Person is who a request comes from.
type Person struct {
	User    chat.User
	Name    string
	Admin   bool
	Session string    // the hash of their session's key; empty for an administrator's key itself
	Ends    time.Time // the session, if it is not used any more; zero: from its next use
}

// Envelope is what p does in a chat; the zero chat is none.
func (p Person) Envelope(id chat.ID) chat.Envelope {
	return chat.Envelope{Chat: id, User: p.User, Name: p.Name, Surface: Platform}
}

// Owner is under what a person's own things are kept on the page.
func (p Person) Owner() string {
	if p.User.Platform == Platform {
		return p.User.Key
	}
	return p.User.String() // no key of the page's own begins so
}

// Delivery names something that p does: two people who choose the same name have still done two things.
func (p Person) Delivery(name string) chat.Delivery {
	return chat.Delivery(Platform + "/" + p.User.Key + "/" + name)
}

// Vouched reports whether a provider or a platform said who p is.
func (p Person) Vouched() bool { return vouched(p.User) }

// Who finds the person behind a key: somebody's session or, where it does not come as a cookie, an administrator's own. The error is
// [Unauthorized] where there is none, another [Refused], or the shelf's.
func (s *Sessions) Who(ctx context.Context, by Presented) (Person, error) {
	switch {
	case by.key == "" || len(by.key) > maxKey:
		return Person{}, Unauthorized
	case strings.HasPrefix(by.key, keyStart):
		return s.personBy(ctx, by.key)
	case by.cookie:
		return Person{}, Unauthorized
	}
	k, err := s.configured(by.key)
	if err == nil && !k.admin {
		err = Unauthorized
	}
	return Person{User: k.user, Name: adminName, Admin: true}, err
}

// In is p in a chat: who signed in by a platform is asked after there, as whoever clicks there is. The zero chat is none. A [Refused] says why
// they may do nothing there.
func (s *Sessions) In(ctx context.Context, id chat.ID, p Person) (Person, error) {
	if p.User.Platform == Platform {
		return p, nil
	}
	is, _, no := s.member(ctx, id, p.User)
	if no != "" {
		return p, notMember(no)
	}
	p.User = is
	return p, nil
}

// Open opens a session for a program, with a configured key or none where none is needed: of whom the key names, or under a name of their own.
func (s *Sessions) Open(ctx context.Context, by Presented, name string) (key string, p Person, err error) {
	opener, err := s.opener(by.key)
	if err != nil {
		return "", p, err
	}
	return s.open(ctx, opener, name, false)
}

// SignIn opens a session for a browser. A key that its owner pastes is an admin's, one that opens sessions, or that of an earlier session. A
// configured key is never what the browser keeps: a session of its own is.
func (s *Sessions) SignIn(ctx context.Context, name, key string) (string, Person, error) {
	unknown := Refused{http.StatusForbidden, "forbidden", "This key is not known here. Look for a missing character."}
	if strings.HasPrefix(key, keyStart) {
		p, err := s.Who(ctx, Presented{key: key})
		if errors.Is(err, Unauthorized) {
			err = unknown
		}
		return key, p, err
	}
	by, err := s.opener(key)
	switch {
	case err != nil && key == "", errors.Is(err, tooManyGuesses):
		return "", Person{}, err
	case err != nil, key != "" && by.opener == "":
		return "", Person{}, unknown
	}
	return s.open(ctx, by, name, by.admin)
}

// Replace ends the session that a browser had when it gets another key. Nobody would have the old one any more, and whoever was told on that
// device of their questions would go on being told.
func (s *Sessions) Replace(ctx context.Context, had Presented, key string) error {
	if had.None() || had.key == key {
		return nil
	}
	return s.Shelf.EndSessions(ctx, false, hashOf(had.key))
}

// Of is whose session it is, by the hash of its key, without keeping it alive. The zero Person: nobody's any more.
func (s *Sessions) Of(ctx context.Context, hash string) (Person, error) {
	b, _, err := s.Shelf.Session(ctx, hash)
	if x := parse(b); err == nil && s.lives(x) {
		return s.person(hash, x), nil
	}
	return Person{}, err
}

// open mints a key for whoever presented a configured key, or none where none is needed. asAdmin makes it an administrator's.
func (s *Sessions) open(ctx context.Context, by configuredKey, name string, asAdmin bool) (key string, p Person, err error) {
	x := stored{User: chat.SelfNamedPrefix + random(12), Opener: cmp.Or(by.opener, noOpener)}
	switch {
	case asAdmin:
		x.User, x.Name, x.Admin = by.user.Key, adminName, true
	case by.name != "":
		x.User, x.Name = by.name, by.name
	case len(s.Doors) > 0:
		return "", p, Refused{http.StatusForbidden, "forbidden",
			"Nobody names themselves here: open a session with a key that has a name (web.session_keys). An admin's key needs none: it is the bearer of all that follows."}
	default:
		x.Name = cmp.Or(named(name), "you")
		if !s.mayBeCalled(x.Name) {
			return "", p, Refused{http.StatusBadRequest, "name_taken",
				"This name is the bot's or of somebody who signs in with a key of their own, or looks like one. Choose another."}
		}
	}
	return s.keepNew(ctx, x)
}
