package web

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// The cookie's names. A browser sends a cookie to every port of its host; under the second name only over TLS, and never one that
// another host set.
const (
	cookieName       = "nod_session"
	secureCookieName = "__Host-nod_session"
)

// adminName is what administrators who are known by a key are called.
const adminName = "admin"

// person is who a request comes from.
type person struct {
	user    chat.User
	name    string
	admin   bool
	session string // the hash of their session's key; empty for an administrator's key itself
}

// envelope is what p does in a chat; the zero chat is none.
func (p person) envelope(id chat.ID) chat.Envelope {
	return chat.Envelope{Chat: id, User: p.user, Name: p.name}
}

// AdminUser is the identity behind an admin key, the same on every replica: put it in the policy's admins. A key that is
// only spaces gives the zero User, who may decide nothing.
func AdminUser(key string) chat.User {
	sum := fingerprint("nod web admin", strings.TrimSpace(key))
	if sum == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Key: "admin-" + sum}
}

// fingerprint names a key where it must not help to guess it: in logs, and in the store. It is slow on purpose.
func fingerprint(salt, key string) string {
	if key == "" {
		return ""
	}
	sum, err := pbkdf2.Key(sha256.New, key, []byte(salt), 100_000, 12)
	if err != nil { // only for key lengths beyond the hash's
		return ""
	}
	return hex.EncodeToString(sum)
}

// SessionKey is a configured key that opens sessions.
type SessionKey struct {
	// Name, if not empty, is the person whose key it is: each session that it opens is theirs, as web::NAME.
	Name string
	Key  string
}

// keyring holds the configured keys as hashes, so that comparing takes the same time for every guess.
type keyring []configuredKey

type configuredKey struct {
	sum    [sha256.Size]byte
	finger string // what sessions remember of it
	admin  bool
	user   chat.User // of an admin
	name   string    // of the person whose key it is
}

func newKeyring(admins []string, opens []SessionKey) (ring keyring) {
	for _, key := range admins {
		if key = strings.TrimSpace(key); key != "" {
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), admin: true, user: AdminUser(key), finger: AdminUser(key).Key})
		}
	}
	for _, k := range opens {
		if key := strings.TrimSpace(k.Key); key != "" {
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), name: k.Name, finger: fingerprint("nod web session", key+"\x00"+k.Name)})
		}
	}
	return ring
}

// find compares a key with every one there is, whatever matches.
func (ring keyring) find(key string) (found configuredKey, ok bool) {
	sum := sha256.Sum256([]byte(key))
	for _, k := range ring {
		if subtle.ConstantTimeCompare(k.sum[:], sum[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}

// named finds the key that a session remembers.
func (ring keyring) named(finger string) (configuredKey, bool) {
	i := slices.IndexFunc(ring, func(k configuredKey) bool { return k.finger == finger })
	if i < 0 {
		return configuredKey{}, false
	}
	return ring[i], true
}

// needsKey reports whether opening a session takes a configured key.
func (s *Server) needsKey() bool {
	return !s.loopback || slices.ContainsFunc(s.keys, func(k configuredKey) bool { return !k.admin })
}

// namesPeople reports whether a configured key names its person, so that a name may be more than what somebody typed.
func (s *Server) namesPeople() bool {
	return slices.ContainsFunc(s.keys, func(k configuredKey) bool { return k.name != "" })
}

var tooManyGuesses = problem{Status: http.StatusTooManyRequests, Code: "too_many_wrong_keys",
	Message: "Too many wrong keys were tried, so none is looked at now. Wait a minute, then try again."}

// configured finds a configured key. Once too many wrong ones were tried none is looked at for a while, right ones included: else trying
// would still tell which one is right. Sessions, whose keys nobody can guess, are not held up by that.
func (s *Server) configured(key string) (configuredKey, bool, error) {
	if key == "" || len(key) > maxKey {
		return configuredKey{}, false, nil
	}
	if s.wrong.Tokens() < 1 {
		return configuredKey{}, false, tooManyGuesses
	}
	k, ok := s.keys.find(key)
	if !ok {
		s.wrong.Allow()
	}
	return k, ok, nil
}

// presented is the key that a request carries.
type presented struct {
	key    string
	cookie bool
}

// bearer finds it. A header wins over the cookie even when it is wrong: a program that sends one means it.
func bearer(r *http.Request) presented {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, key, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return presented{}
		}
		return presented{key: strings.TrimSpace(key)}
	}
	return presented{cookieKey(r), true}
}

// who finds the person behind a key: somebody's session or, where it does not come as a cookie, an administrator's own.
func (s *Server) who(ctx context.Context, by presented) (person, bool, error) {
	switch {
	case by.key == "" || len(by.key) > maxKey:
		return person{}, false, nil
	case strings.HasPrefix(by.key, sessionStart):
		return s.sessionOf(ctx, by.key)
	case by.cookie:
		return person{}, false, nil
	}
	k, ok, err := s.configured(by.key)
	if err != nil || !ok || !k.admin {
		return person{}, false, err
	}
	return person{user: k.user, name: adminName, admin: true}, true, nil
}

// signedIn calls h for requests with a valid key.
func (s *Server) signedIn(h func(http.ResponseWriter, *http.Request, person) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok, err := s.who(r.Context(), bearer(r))
		switch {
		case err != nil:
			writeProblem(w, s.asProblem(r, err))
			return
		case !ok:
			writeProblem(w, problem{Status: http.StatusUnauthorized, Code: "unauthorized",
				Message: "Sign in first: this needs a session key (POST /api/v1/sessions gives one)."})
			return
		}
		if err := h(w, r, p); err != nil {
			writeProblem(w, s.asProblem(r, err))
		}
	})
}

func (s *Server) postSession(w http.ResponseWriter, r *http.Request) {
	key, u, err := s.postedSession(r)
	if err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"key": key, "user": u.String()})
}

func (s *Server) postedSession(r *http.Request) (key string, u chat.User, err error) {
	by, err := s.mayOpenSession(bearer(r).key)
	if err != nil {
		return "", u, err
	}
	var body struct {
		Name string `json:"name"`
	}
	if err := readJSON(r, &body, true); err != nil {
		return "", u, err
	}
	return s.openSession(r.Context(), by, body.Name, false)
}

// mayOpenSession finds the configured key that opens a session, or none where none is needed.
func (s *Server) mayOpenSession(key string) (configuredKey, error) {
	if strings.HasPrefix(key, sessionStart) && !s.needsKey() { // somebody's session; it may open another
		return configuredKey{}, nil
	}
	by, ok, err := s.configured(key)
	switch {
	case err != nil, ok:
		return by, err
	case !s.needsKey():
		return by, nil
	case key == "":
		return by, problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Opening a session here needs one of the configured keys (web.session_keys)."}
	}
	return by, problem{Status: http.StatusForbidden, Code: "forbidden", Message: "This key does not open sessions here."}
}

func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func cookieOf(r *http.Request) string {
	if overTLS(r) {
		return secureCookieName
	}
	return cookieName
}

// cookieKey is the key of the browser's session.
func cookieKey(r *http.Request) string {
	if c, err := r.Cookie(cookieOf(r)); err == nil {
		return c.Value
	}
	return ""
}

func setCookie(w http.ResponseWriter, r *http.Request, key string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: key, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: overTLS(r)})
}

func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// token is n random bytes in a form that fits URLs. crypto/rand never fails.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
