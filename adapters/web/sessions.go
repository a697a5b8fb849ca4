package web

import (
	"cmp"
	"context"
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
	sessionIdle  = 30 * 24 * time.Hour
	sessionLife  = 90 * 24 * time.Hour
	seenEvery    = time.Hour // how exactly it is known when a session was last used
	maxSessions  = 10_000
	sessionStart = "nod_" // what every session's key begins with
)

// session is one sign-in as it is stored. Fields may be added; those of older versions have only User and Name, and count from their
// next use.
type session struct {
	User   string    `json:"user"`
	Name   string    `json:"name,omitempty"`
	Opener string    `json:"opener,omitempty"` // the fingerprint of the configured key that opened it, or noOpener
	Admin  bool      `json:"admin,omitempty"`
	Opened time.Time `json:"opened,omitzero"`
	Seen   time.Time `json:"seen,omitzero"`
}

// noOpener opened a session where no key was asked for.
const noOpener = "-"

func (x session) ends() time.Time {
	if x.Opened.IsZero() {
		return time.Time{}
	}
	idle, life := x.Seen.Add(sessionIdle), x.Opened.Add(sessionLife)
	if idle.Before(life) {
		return idle
	}
	return life
}

// lives reports whether a stored session still counts: its time is not over, and the key that opened it is still configured.
func (s *Server) lives(x session) bool {
	switch ends := x.ends(); {
	case x.User == "", !ends.IsZero() && !s.Now().Before(ends):
		return false
	case x.Admin, x.Opener != "" && x.Opener != noOpener:
		k, ok := s.keys.named(x.Opener)
		return ok && (!x.Admin || k.admin)
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

// sessionOf finds the person whose session a key is.
func (s *Server) sessionOf(ctx context.Context, key string) (person, bool, error) {
	hash := keyHash(key)
	b, ok, err := s.Shelf.Session(ctx, hash)
	if err != nil || !ok {
		return person{}, false, err
	}
	x := parseSession(b)
	if !s.lives(x) {
		return person{}, false, s.Shelf.EndSessions(ctx, false, hash)
	}
	if now := s.Now().UTC(); now.Sub(x.Seen) >= seenEvery {
		if x.Seen = now; x.Opened.IsZero() {
			x.Opened = now
		}
		if err := s.keepSession(ctx, hash, x); err != nil {
			return person{}, false, err
		}
	}
	p := person{user: chat.User{Platform: Platform, Key: x.User}, name: x.Name, admin: x.Admin, session: hash}
	if s.namesPeople() && p.user.SelfNamed() {
		p.name += sayUnverified
	}
	return p, true, nil
}

func (s *Server) keepSession(ctx context.Context, hash string, x session) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return s.Shelf.KeepSession(ctx, hash, b)
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
	x := session{User: chat.SelfNamedPrefix + token(12), Opener: cmp.Or(by.finger, noOpener), Opened: now, Seen: now}
	switch {
	case asAdmin:
		x.User, x.Name, x.Admin = by.user.Key, adminName, true
	case by.name != "":
		x.User, x.Name = by.name, by.name
	default:
		if x.Name = cut(text.Prose(name), maxName); x.Name == "" {
			x.Name = "you"
		}
		if s.reserved[plainName(x.Name)] || render.HostWarning(strings.Join(strings.Fields(x.Name), ".")+".nod") != "" {
			return "", u, nameTaken
		}
	}
	if !s.opens.Allow() {
		return "", u, tooFast
	}
	b, err := json.Marshal(x)
	if err != nil {
		return "", u, err
	}
	key = sessionStart + token(32)
	for _, swept := range []bool{false, true} {
		ok, err := s.Shelf.OpenSession(ctx, keyHash(key), b, maxSessions)
		if err != nil || ok {
			return key, chat.User{Platform: Platform, Key: x.User}, err
		}
		if !swept {
			if err := s.sweep(ctx); err != nil {
				return "", u, err
			}
		}
	}
	return "", u, tooManySessions
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
		u := chat.User{Platform: Platform, Key: x.User}
		if !s.lives(x) || len(hash) < 16 || !p.admin && u != p.user {
			continue
		}
		forms = append(forms, sessionForm{ID: sessionID(hash), User: u.String(), Name: x.Name, Admin: x.Admin,
			Opened: moment(x.Opened), Seen: moment(x.Seen), Ends: moment(x.ends()), Current: hash == p.session})
		hashes = append(hashes, hash)
	}
	slices.SortFunc(forms, func(a, b sessionForm) int {
		return cmp.Or(timeOf(b.Seen).Compare(timeOf(a.Seen)), cmp.Compare(a.ID, b.ID))
	})
	return forms, hashes, nil
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (s *Server) getSessions(w http.ResponseWriter, r *http.Request, p person) error {
	forms, _, err := s.sessionsOf(r.Context(), p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"sessions": slices.Concat([]sessionForm{}, forms)})
	return nil
}

// deleteSessions ends a person's own sessions, or those of everybody with ?of=everybody, which only an admin may.
func (s *Server) deleteSessions(w http.ResponseWriter, r *http.Request, p person) error {
	all := false
	switch of := r.URL.Query().Get("of"); {
	case of == "everybody" && !p.admin:
		return problem{Status: http.StatusForbidden, Code: "forbidden", Message: "Only an admin may end the sessions of others."}
	case of == "everybody":
		all = true
	case of != "" && of != "me":
		return badRequest("\"of\" is me or everybody.")
	}
	n, err := s.endAll(r.Context(), p, all)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]int{"ended": n})
	return nil
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

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request, p person) error {
	_, hashes, err := s.sessionsOf(r.Context(), p)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		if sessionID(hash) == r.PathValue("session") {
			if err := s.Shelf.EndSessions(r.Context(), false, hash); err != nil {
				return err
			}
			writeJSON(w, http.StatusOK, map[string]int{"ended": 1})
			return nil
		}
	}
	return problem{Status: http.StatusNotFound, Code: "unknown_session", Message: "There is no such session of yours. GET /api/v1/sessions lists them."}
}

// postSignOut ends the session of the browser that asks, or with all=yes every session of its person.
func (s *Server) postSignOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	p, ok, err := s.who(r.Context(), presented{key: cookieKey(r), cookie: true})
	if err == nil && ok {
		if r.PostFormValue("all") == "yes" {
			_, err = s.endAll(r.Context(), p, false)
		} else {
			err = s.Shelf.EndSessions(r.Context(), false, p.session)
		}
	}
	if err != nil {
		// The cookie stays, so that whoever reads this can try again.
		s.page.door(w, http.StatusServiceUnavailable, pageData{NeedsKey: s.needsKey(), Name: "you", Problem: s.asProblem(r, err).Message})
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
