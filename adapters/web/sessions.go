package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	sessionIdle  = 30 * 24 * time.Hour
	sessionLife  = 90 * 24 * time.Hour
	vouchedLife  = 8 * time.Hour // of a session, and of the groups, of somebody for whom a provider vouches: it may have thought better of it
	seenEvery    = time.Hour     // how exactly it is known when a session was last used
	maxSessions  = 10_000
	sessionStart = "nod_" // what every session's key begins with
)

// session is one sign-in as it is stored. Fields may be added; those of older versions have only User and Name.
type session struct {
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

func (x session) user() chat.User {
	return chat.User{Platform: cmp.Or(x.Of, Platform), Workspace: x.Place, Key: x.User}
}

// vouched reports whether a provider said who u is, a platform's or another.
func vouched(u chat.User) bool { return u.Platform != Platform || u.Vouched() }

func (x session) ends() time.Time {
	switch {
	case vouched(x.user()):
		return x.Opened.Add(vouchedLife)
	case x.Opened.IsZero():
		return time.Time{}
	}
	return slices.MinFunc([]time.Time{x.Seen.Add(sessionIdle), x.Opened.Add(sessionLife)}, time.Time.Compare)
}

// lives reports whether a stored session still counts: its time is not over, and the key that opened it is still configured.
func (s *Server) lives(x session) bool {
	switch ends := x.ends(); {
	case x.User == "", !ends.IsZero() && !s.Now().Before(ends):
		return false
	case vouched(x.user()):
		return s.SignIn.Know(x.Opener)
	case len(s.SignIn) > 0 && x.user().SelfNamed(): // whoever opened it before there was a provider
		return false
	case x.Admin, x.Opener != "" && x.Opener != noOpener:
		k := s.keys.openerOf(x)
		return k.opener != "" && (!x.Admin || k.admin)
	}
	return x.Opener != noOpener || !s.needsKey()
}

func parseSession(b []byte) session {
	var x session
	if json.Unmarshal(b, &x) != nil {
		return session{} // nobody's
	}
	return x
}

func (x session) json() []byte {
	b, _ := json.Marshal(x) // texts and times always marshal
	return b
}

// sessionOf finds the person whose session a key is.
func (s *Server) sessionOf(ctx context.Context, key string) (person, error) {
	hash := keyHash(key)
	b, ok, err := s.Shelf.Session(ctx, hash)
	if err != nil || !ok {
		return person{}, cmp.Or(err, error(unauthorized))
	}
	x := parseSession(b)
	if !s.lives(x) {
		return person{}, cmp.Or(s.Shelf.EndSessions(ctx, false, hash), error(unauthorized))
	}
	if now := s.Now().UTC(); now.Sub(x.Seen) >= seenEvery {
		if x.Seen = now; x.Opened.IsZero() {
			x.Opened = now
		}
		if err := s.Shelf.KeepSession(ctx, hash, x.json()); err != nil {
			return person{}, err
		}
	}
	return s.personOf(hash, x), nil
}

func (s *Server) personOf(hash string, x session) person {
	p := person{user: x.user(), name: x.Name, admin: x.Admin, session: hash, ends: x.ends()}
	// Where others sign in with a key that names them, a name may be more than what somebody typed.
	if p.user.SelfNamed() && slices.ContainsFunc(s.keys, func(k configuredKey) bool { return k.name != "" }) {
		p.name += sayUnverified
	}
	return p
}

var (
	tooManySessions = problem{Status: http.StatusTooManyRequests, Code: "too_many_sessions",
		Message: "Too many sessions are open. Sign out where you do not need one, or ask an admin to end some (DELETE /api/v1/sessions)."}
	tooFast = problem{Status: http.StatusTooManyRequests, Code: "too_fast",
		Message: "Too many sessions or chats were opened in a short time. Wait a minute, then try again."}
	nameTaken = problem{Status: http.StatusBadRequest, Code: "name_taken",
		Message: "This name is the bot's or of somebody who signs in with a key of their own, or looks like one. Choose another."}
)

// openSession mints a key for whoever presented a configured key, or none where none is needed. asAdmin makes it an administrator's.
func (s *Server) openSession(ctx context.Context, by configuredKey, name string, asAdmin bool) (key string, u chat.User, err error) {
	now := s.Now().UTC()
	x := session{User: chat.SelfNamedPrefix + token(12), Opener: cmp.Or(by.opener, noOpener), Opened: now, Seen: now}
	switch {
	case asAdmin:
		x.User, x.Name, x.Admin = by.user.Key, adminName, true
	case by.name != "":
		x.User, x.Name = by.name, by.name
	default:
		x.Name = cmp.Or(cut(text.Prose(name), maxName), "you")
		if !s.mayBeCalled(x.Name) {
			return "", u, nameTaken
		}
	}
	key, err = s.keepNew(ctx, x)
	return key, x.user(), err
}

// mayBeCalled reports whether a name is nobody else's, and looks like none.
func (s *Server) mayBeCalled(name string) bool {
	return !s.reserved[plainName(name)] && render.HostWarning(strings.Join(strings.Fields(name), ".")+".nod") == ""
}

// keepNew stores a session under a key that nobody had before.
func (s *Server) keepNew(ctx context.Context, x session) (key string, err error) {
	if !s.newSessions.Allow() {
		return "", tooFast
	}
	key = sessionStart + token(32)
	for swept := false; ; swept = true {
		ok, err := s.Shelf.OpenSession(ctx, keyHash(key), x.json(), maxSessions)
		if err == nil && !ok && swept {
			err = tooManySessions
		}
		if err == nil && !ok {
			err = s.sweep(ctx)
		}
		if err != nil || ok {
			return key, err
		}
	}
}

// sweep drops the sessions that are over.
func (s *Server) sweep(ctx context.Context) error {
	all, err := s.Shelf.Sessions(ctx)
	if err != nil {
		return err
	}
	var over []string
	for hash, b := range all {
		if !s.lives(parseSession(b)) {
			over = append(over, hash)
		}
	}
	return s.Shelf.EndSessions(ctx, false, over...)
}

type sessionForm struct {
	ID      string     `json:"id"`
	User    string     `json:"user"`
	Name    string     `json:"name"`
	Admin   bool       `json:"admin,omitempty"`
	Opened  *time.Time `json:"opened_at,omitempty"`
	Seen    *time.Time `json:"seen_at,omitempty"` // to the hour
	Ends    *time.Time `json:"ends_at,omitempty"` // if it is not used any more
	Current bool       `json:"current,omitempty"` // the one that asks
}

// sessionID names a session in the API: it is no key, and no hash of one.
func sessionID(hash string) string { return hash[:16] }

// sessionsOf are the living sessions of a person, or of everybody for an admin, with their hashes.
func (s *Server) sessionsOf(ctx context.Context, p person) (forms []sessionForm, hashes []string, err error) {
	all, err := s.Shelf.Sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	for hash, b := range all {
		x := parseSession(b)
		u := x.user()
		if !s.lives(x) || len(hash) < 16 || !p.admin && u != p.user {
			continue
		}
		forms = append(forms, sessionForm{ID: sessionID(hash), User: u.String(), Name: x.Name, Admin: x.Admin,
			Opened: moment(x.Opened), Seen: moment(x.Seen), Ends: moment(x.ends()), Current: hash == p.session})
		hashes = append(hashes, hash)
	}
	seen := func(f sessionForm) time.Time { return *cmp.Or(f.Seen, new(time.Time)) }
	slices.SortFunc(forms, func(a, b sessionForm) int { return cmp.Or(seen(b).Compare(seen(a)), cmp.Compare(a.ID, b.ID)) })
	return forms, hashes, nil
}

func (s *Server) getSessions(r *http.Request, p person) (any, error) {
	forms, _, err := s.sessionsOf(r.Context(), p)
	return map[string]any{"sessions": slices.Concat([]sessionForm{}, forms)}, err
}

// deleteSessions ends a person's own sessions, or those of everybody with ?of=everybody, which only an admin may.
func (s *Server) deleteSessions(r *http.Request, p person) (any, error) {
	of := r.URL.Query().Get("of")
	switch {
	case of == "everybody" && !p.admin:
		return nil, problem{Status: http.StatusForbidden, Code: "forbidden", Message: "Only an admin may end the sessions of others."}
	case of != "" && of != "me" && of != "everybody":
		return nil, badRequest("\"of\" is me or everybody.")
	}
	n, err := s.endAll(r.Context(), p, of == "everybody")
	return map[string]int{"ended": n}, err
}

// endAll ends a person's sessions, or everybody's. An administrator's own are those of the same key.
func (s *Server) endAll(ctx context.Context, p person, everybody bool) (int, error) {
	p.admin = everybody
	_, hashes, err := s.sessionsOf(ctx, p)
	if err != nil {
		return 0, err
	}
	return len(hashes), s.Shelf.EndSessions(ctx, everybody, hashes...)
}

func (s *Server) deleteSession(r *http.Request, p person) (any, error) {
	_, hashes, err := s.sessionsOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(hashes, func(hash string) bool { return sessionID(hash) == r.PathValue("session") })
	if i < 0 {
		return nil, problem{Status: http.StatusNotFound, Code: "unknown_session", Message: "There is no such session of yours. GET /api/v1/sessions lists them."}
	}
	return map[string]int{"ended": 1}, s.Shelf.EndSessions(r.Context(), false, hashes[i])
}

// postSignOut ends the session of the browser that asks, or with all=yes every session of its person.
func (s *Server) postSignOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	p, err := s.who(r.Context(), browserKey(r))
	switch {
	case err != nil:
	case r.PostFormValue("all") == "yes":
		_, err = s.endAll(r.Context(), p, false)
	default:
		err = s.Shelf.EndSessions(r.Context(), false, p.session)
	}
	if err != nil && !errors.Is(err, unauthorized) {
		// The cookie stays, so that whoever reads this can try again.
		s.signInPage(w, http.StatusServiceUnavailable, pageData{Problem: s.asProblem(r, err).Message})
		return
	}
	setCookie(w, r, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// plainName is a name as far as people tell it from others: letters and digits, without case.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return -1
		}
		return r
	}, strings.ToLower(norm.NFKC.String(name)))
}
