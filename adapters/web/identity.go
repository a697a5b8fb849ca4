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
	"time"

	"github.com/nodhq/nod/core/chat"
)

// The cookie's names. A browser sends a cookie to every port of its host; under the second only over TLS, and never another host's.
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
	ends    time.Time
}

// envelope is what p does in a chat; the zero chat is none.
func (p person) envelope(id chat.ID) chat.Envelope {
	return chat.Envelope{Chat: id, User: p.user, Name: p.name, Surface: Platform}
}

// owner is under what a person's own things are kept here.
func (p person) owner() string {
	if p.user.Platform == Platform {
		return p.user.Key
	}
	return p.user.String() // no key of the page's own begins so
}

// delivery names something that p does: two people who choose the same name have still done two things.
func (p person) delivery(name string) chat.Delivery {
	return chat.Delivery(Platform + "/" + p.user.Key + "/" + name)
}

// AdminUser is the identity behind an admin key, on every replica, for the policy's admins. Only spaces give the zero User: nobody.
func AdminUser(key string) chat.User {
	sum := fingerprint("nod web admin", strings.TrimSpace(key))
	if sum == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Key: "admin-" + sum}
}

// fingerprint names a key where it must not help to guess it: in logs, and in the store. It is slow on purpose.
func fingerprint(salt, key string) string {
	sum, err := pbkdf2.Key(sha256.New, key, []byte(salt), 100_000, 12)
	if key == "" || err != nil { // the second only for key lengths beyond the hash's
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
	opener string // what sessions remember of it
	admin  bool
	user   chat.User // of an admin
	name   string    // of the person whose key it is
}

func newKeyring(admins []string, opens []SessionKey) (ring keyring) {
	for _, key := range admins {
		if key = strings.TrimSpace(key); key != "" {
			user := AdminUser(key)
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), admin: true, user: user, opener: user.Key})
		}
	}
	for _, k := range opens {
		if key := strings.TrimSpace(k.Key); key != "" {
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), name: k.Name, opener: fingerprint("nod web session", key+"\x00"+k.Name)})
		}
	}
	return ring
}

// find compares a key with every one there is, whatever matches. The zero one is none.
func (ring keyring) find(key string) (found configuredKey) {
	sum := sha256.Sum256([]byte(key))
	for _, k := range ring {
		if subtle.ConstantTimeCompare(k.sum[:], sum[:]) == 1 {
			found = k
		}
	}
	return found
}

// openerOf finds the key that a session remembers, or the zero one.
func (ring keyring) openerOf(x session) configuredKey {
	if i := slices.IndexFunc(ring, func(k configuredKey) bool { return k.opener == x.Opener }); i >= 0 {
		return ring[i]
	}
	return configuredKey{}
}

// needsKey reports whether opening a session takes a configured key, or somebody for whom a provider vouches.
func (s *Server) needsKey() bool {
	return !s.loopback || len(s.SignIn) > 0 || slices.ContainsFunc(s.keys, func(k configuredKey) bool { return !k.admin })
}

var tooManyGuesses = problem{Status: http.StatusTooManyRequests, Code: "too_many_wrong_keys",
	Message: "Too many wrong keys were tried, so none is looked at now. Wait a minute, then try again."}

// configured finds a configured key. Once too many wrong ones were tried none is looked at for a while, right ones included: else trying
// would still tell which one is right. Sessions, whose keys nobody can guess, are not held up by that.
func (s *Server) configured(key string) (k configuredKey, err error) {
	switch {
	case key == "" || len(key) > maxKey:
		return k, nil
	case s.wrongKeys.Tokens() < 1:
		return k, tooManyGuesses
	}
	if k = s.keys.find(key); k.opener == "" {
		s.wrongKeys.Allow()
	}
	return k, nil
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
	return browserKey(r)
}

var unauthorized = problem{Status: http.StatusUnauthorized, Code: "unauthorized",
	Message: "Sign in first: this needs a session key (POST /api/v1/sessions gives one)."}

// who finds the person behind a key: somebody's session or, where it does not come as a cookie, an administrator's own. The error is
// unauthorized where there is none.
func (s *Server) who(ctx context.Context, by presented) (person, error) {
	switch {
	case by.key == "" || len(by.key) > maxKey:
		return person{}, unauthorized
	case strings.HasPrefix(by.key, sessionStart):
		return s.sessionOf(ctx, by.key)
	case by.cookie:
		return person{}, unauthorized
	}
	k, err := s.configured(by.key)
	if err == nil && !k.admin {
		err = unauthorized
	}
	return person{user: k.user, name: adminName, admin: true}, err
}

// signedIn calls h for requests with a valid key.
func (s *Server) signedIn(h func(http.ResponseWriter, *http.Request, person) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.who(r.Context(), bearer(r))
		if err == nil && r.Method == http.MethodPost { // who only looks, or signs out, is not asked after
			p, err = s.in(r.Context(), chat.ID{}, p)
		}
		if err == nil {
			err = h(w, r, p)
		}
		if err != nil {
			writeProblem(w, s.asProblem(r, err))
		}
	})
}

func (s *Server) postSession(w http.ResponseWriter, r *http.Request) {
	by, err := s.mayOpenSession(bearer(r).key)
	var body struct {
		Name string `json:"name"`
	}
	if err == nil {
		err = readJSON(r, &body, true)
	}
	var key string
	var u chat.User
	if err == nil {
		key, u, err = s.openSession(r.Context(), by, body.Name, false)
	}
	if err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"key": key, "user": u.String()})
}

// mayOpenSession finds the configured key that opens a session, or none where none is needed.
func (s *Server) mayOpenSession(key string) (configuredKey, error) {
	if strings.HasPrefix(key, sessionStart) && !s.needsKey() { // somebody's session; it may open another
		return configuredKey{}, nil
	}
	by, err := s.configured(key)
	switch {
	case err != nil, by.opener != "":
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

// browserKey is the key of the browser's session.
func browserKey(r *http.Request) presented {
	c, err := r.Cookie(cookieOf(r))
	if err != nil {
		return presented{cookie: true}
	}
	return presented{c.Value, true}
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
