package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// How long a session lasts, and how many there may be. docs/configuration.md says the times.
const (
	Idle        = 30 * 24 * time.Hour
	Life        = 90 * 24 * time.Hour
	VouchedLife = 8 * time.Hour // of a session, and of the groups, of somebody for whom a provider vouches: it may have thought better of it
	seenEvery   = time.Hour     // how exactly it is known when a session was last used
	opening     = time.Minute   // how long a place for a session waits for it
	maxSessions = 10_000
	keyStart    = "nod_" // what every session's key begins with
)

// stored is one sign-in as it is kept. Fields may be added; those of older versions have only User and Name.
type stored struct {
	User   string    `json:"user"`
	Of     string    `json:"of,omitempty"`    // the platform whose person it is; empty: the page's own
	Place  string    `json:"place,omitempty"` // with it, the workspace or server
	Name   string    `json:"name,omitempty"`
	Opener string    `json:"opener,omitempty"` // the fingerprint of the configured key that opened it, the provider's, or noOpener
	Admin  bool      `json:"admin,omitempty"`
	Opened time.Time `json:"opened,omitzero"`
	Seen   time.Time `json:"seen,omitzero"`
}

// noOpener opened a session where no key was asked for.
const noOpener = "-"

func (x stored) user() chat.User {
	return chat.User{Platform: cmp.Or(x.Of, Platform), Workspace: x.Place, Key: x.User}
}

// vouched reports whether a provider said who u is, a platform's or another.
func vouched(u chat.User) bool { return u.Platform != Platform || u.Vouched() }

func (x stored) ends() time.Time {
	switch {
	case vouched(x.user()):
		return x.Opened.Add(VouchedLife)
	case x.Opened.IsZero():
		return time.Time{}
	}
	return slices.MinFunc([]time.Time{x.Seen.Add(Idle), x.Opened.Add(Life)}, time.Time.Compare)
}

// lives reports whether a stored session still counts: its time is not over, and the key that opened it is still configured.
func (s *Sessions) lives(x stored) bool {
	switch ends := x.ends(); {
	case x.User == "", !ends.IsZero() && !s.Now().Before(ends):
		return false
	case vouched(x.user()):
		return s.Doors.Know(x.Opener)
	case len(s.Doors) > 0 && x.user().SelfNamed(): // whoever opened it before there was a provider
		return false
	case x.Admin, x.Opener != "" && x.Opener != noOpener:
		return x.Opener != "" && slices.ContainsFunc(s.keys, func(k configuredKey) bool { return k.opener == x.Opener && (!x.Admin || k.admin) })
	}
	return x.Opener != noOpener || !s.NeedsKey()
}

func parse(b []byte) stored {
	var x stored
	if json.Unmarshal(b, &x) != nil {
		return stored{} // nobody's
	}
	return x
}

func (x stored) json() []byte {
	b, _ := json.Marshal(x) // texts and times always marshal
	return b
}

// personBy finds the person whose session a key is, and keeps the session for them.
func (s *Sessions) personBy(ctx context.Context, key string) (Person, error) {
	hash := hashOf(key)
	b, ok, err := s.Shelf.Session(ctx, hash)
	if err != nil || !ok {
		return Person{}, cmp.Or(err, error(Unauthorized))
	}
	x := parse(b)
	if !s.lives(x) {
		return Person{}, cmp.Or(s.Shelf.EndSessions(ctx, false, hash), error(Unauthorized))
	}
	if now := s.Now().UTC(); now.Sub(x.Seen) >= seenEvery {
		if x.Seen = now; x.Opened.IsZero() {
			x.Opened = now
		}
		if err := s.Shelf.KeepSession(ctx, hash, x.json()); err != nil {
			return Person{}, err
		}
	}
	return s.person(hash, x), nil
}

// unverified stands after a name where others sign in with a key that names them: it may be more than what somebody typed.
const unverified = " (name not verified)"

func (s *Sessions) person(hash string, x stored) Person {
	p := Person{User: x.user(), Name: x.Name, Admin: x.Admin, Session: hash, Ends: x.ends()}
	if p.User.SelfNamed() && slices.ContainsFunc(s.keys, func(k configuredKey) bool { return k.name != "" }) {
		p.Name += unverified
	}
	return p
}

// mayBeCalled reports whether a name is nobody else's, and looks like none.
func (s *Sessions) mayBeCalled(name string) bool {
	return !s.reserved[plainName(name)] && render.HostWarning(strings.Join(strings.Fields(name), ".")+".nod") == ""
}

// named is a name as it is shown: one line, nothing hidden.
func named(name string) string { return text.Cut(strings.TrimSpace(text.ProseLine(name)), maxName) }

// plainName is a name as far as people tell it from others: letters and digits, without case.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return -1
		}
		return r
	}, strings.ToLower(norm.NFKC.String(name)))
}

// keepNew stores a session that begins now, under a key that nobody had before.
func (s *Sessions) keepNew(ctx context.Context, x stored) (key string, p Person, err error) {
	if !s.opened.Allow() {
		return "", p, TooFast
	}
	x.Opened = s.Now().UTC()
	x.Seen, key = x.Opened, keyStart+random(32)
	hash, place := hashOf(key), stored{Opened: x.Opened}.json() // nobody's: should this write come again, later, it opens nothing
	for swept := false; ; swept = true {
		ok, err := s.Shelf.OpenSession(ctx, hash, place, maxSessions)
		switch {
		case err != nil:
			return "", p, err
		case ok:
			return key, s.person(hash, x), s.Shelf.KeepSession(ctx, hash, x.json())
		case swept:
			return "", p, Refused{http.StatusTooManyRequests, "too_many_sessions",
				"Too many sessions are open. Sign out where you do not need one, or ask an admin to end some (DELETE /api/v1/sessions)."}
		}
		if err := s.sweep(ctx); err != nil {
			return "", p, err
		}
	}
}

// sweep drops the sessions that are over.
func (s *Sessions) sweep(ctx context.Context) error {
	all, err := s.Shelf.Sessions(ctx)
	if err != nil {
		return err
	}
	var over []string
	for hash, b := range all {
		x := parse(b)
		if place := x.User == "" && s.Now().Sub(x.Opened) < opening; !place && !s.lives(x) {
			over = append(over, hash)
		}
	}
	return s.Shelf.EndSessions(ctx, false, over...)
}

// Living is a session as its person sees it in a list.
type Living struct {
	ID                 string // no key, and no hash of one
	User               chat.User
	Name               string
	Admin, Current     bool
	Opened, Seen, Ends time.Time // seen to the hour
	hash               string
}

// List are the living sessions of a person, or of everybody for an admin, those used last first. Current is the one of p.
func (s *Sessions) List(ctx context.Context, p Person) ([]Living, error) {
	all, err := s.Shelf.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var out []Living
	for hash, b := range all {
		x := parse(b)
		u := x.user()
		if !s.lives(x) || len(hash) < 16 || !p.Admin && u != p.User {
			continue
		}
		out = append(out, Living{hash[:16], u, x.Name, x.Admin, hash == p.Session, x.Opened, x.Seen, x.ends(), hash})
	}
	slices.SortFunc(out, func(a, b Living) int { return cmp.Or(b.Seen.Compare(a.Seen), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// End ends one session of p's list. It is a [Refused] where there is none of that ID.
func (s *Sessions) End(ctx context.Context, p Person, id string) error {
	list, err := s.List(ctx, p)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(x Living) bool { return x.ID == id })
	if i < 0 {
		return Refused{http.StatusNotFound, "unknown_session", "There is no such session of yours. GET /api/v1/sessions lists them."}
	}
	return s.Shelf.EndSessions(ctx, false, list[i].hash)
}

// EndAll ends a person's sessions, or everybody's, and says how many. An administrator's own are those of the same key.
func (s *Sessions) EndAll(ctx context.Context, p Person, everybody bool) (int, error) {
	p.Admin = everybody
	list, err := s.List(ctx, p)
	if err != nil {
		return 0, err
	}
	hashes := make([]string, len(list))
	for i, x := range list {
		hashes[i] = x.hash
	}
	return len(list), s.Shelf.EndSessions(ctx, everybody, hashes...)
}

// SignOut ends the session by which p is there.
func (s *Sessions) SignOut(ctx context.Context, p Person) error {
	return s.Shelf.EndSessions(ctx, false, p.Session)
}

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// random is n random bytes in a form that fits URLs. crypto/rand never fails.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
