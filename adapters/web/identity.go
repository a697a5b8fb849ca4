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
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

const cookieName = "nod_session"

// person is who a request comes from.
type person struct {
	user  chat.User
	name  string
	admin bool
}

// envelope is what p does in a chat; the zero chat is none.
func (p person) envelope(id chat.ID) chat.Envelope {
	return chat.Envelope{Chat: id, User: p.user, Name: p.name}
}

// AdminUser is the identity behind an admin key, the same on every replica: put it in the policy's admins. A key that is
// only spaces gives the zero User, who may decide nothing. The derivation is slow on purpose: the
// identity stands in logs and must not help to guess the key.
func AdminUser(key string) chat.User {
	key = strings.TrimSpace(key)
	if key == "" {
		return chat.User{}
	}
	sum, err := pbkdf2.Key(sha256.New, key, []byte("nod web admin"), 100_000, 12)
	if err != nil { // only for key lengths beyond the hash's
		return chat.User{}
	}
	return chat.User{Platform: Platform, Key: "admin-" + hex.EncodeToString(sum)}
}

// keyring holds the configured keys as hashes, so that comparing takes the same time for every guess.
type keyring struct {
	admins []adminKey
	opens  [][sha256.Size]byte
}

type adminKey struct {
	sum  [sha256.Size]byte
	user chat.User
}

func newKeyring(admins, opens []string) (k keyring) {
	for _, key := range admins {
		if key = strings.TrimSpace(key); key != "" {
			k.admins = append(k.admins, adminKey{sha256.Sum256([]byte(key)), AdminUser(key)})
		}
	}
	for _, key := range opens {
		if key = strings.TrimSpace(key); key != "" {
			k.opens = append(k.opens, sha256.Sum256([]byte(key)))
		}
	}
	return k
}

func (k keyring) empty() bool { return len(k.admins) == 0 && len(k.opens) == 0 }

// admin finds the administrator behind a bearer, looking at every key whatever matches.
func (k keyring) admin(bearer string) (u chat.User, ok bool) {
	if bearer == "" {
		return chat.User{}, false
	}
	sum := sha256.Sum256([]byte(bearer))
	for _, a := range k.admins {
		if subtle.ConstantTimeCompare(a.sum[:], sum[:]) == 1 {
			u, ok = a.user, true
		}
	}
	return u, ok
}

// mayOpen reports whether a bearer may open sessions where that needs a key.
func (k keyring) mayOpen(bearer string) bool {
	_, ok := k.admin(bearer)
	if bearer == "" {
		return false
	}
	sum := sha256.Sum256([]byte(bearer))
	for _, o := range k.opens {
		if subtle.ConstantTimeCompare(o[:], sum[:]) == 1 {
			ok = true
		}
	}
	return ok
}

// bearer is the key a request carries. A header wins over the cookie even when it is wrong: a program that sends
// one means it.
func bearer(r *http.Request) string {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, key, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(key)
	}
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value
	}
	return ""
}

// who finds the person behind a key.
func (s *Server) who(ctx context.Context, key string) (person, bool, error) {
	if u, ok := s.keys.admin(key); ok {
		return person{u, "admin", true}, true, nil
	}
	if key == "" || len(key) > 256 {
		return person{}, false, nil
	}
	user, name, ok, err := s.Shelf.Session(ctx, keyHash(key))
	if err != nil || !ok || user == "" {
		return person{}, false, err
	}
	return person{user: chat.User{Platform: Platform, Key: user}, name: name}, true, nil
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

// openSession mints a key and a person for it.
func (s *Server) openSession(ctx context.Context, name string) (key string, u chat.User, err error) {
	key = "nod_" + token(32)
	u = chat.User{Platform: Platform, Key: "u-" + token(12)}
	if name = cut(render.Prose(name), maxName); name == "" {
		name = "you"
	}
	return key, u, s.Shelf.PutSession(ctx, keyHash(key), u.Key, name)
}

func (s *Server) postSession(w http.ResponseWriter, r *http.Request) {
	if err := s.mayOpenSession(bearer(r)); err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	var body struct {
		Name string `json:"name"`
	}
	if err := readJSON(r, &body, true); err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	key, u, err := s.openSession(r.Context(), body.Name)
	if err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"key": key, "user": u.String()})
}

func (s *Server) mayOpenSession(key string) error {
	switch {
	case s.loopback, s.keys.mayOpen(key):
		return nil
	case key == "":
		return problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Opening a session here needs one of the configured keys (web.session_keys)."}
	}
	return problem{Status: http.StatusForbidden, Code: "forbidden", Message: "This key does not open sessions here."}
}

func setCookie(w http.ResponseWriter, r *http.Request, key string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: key, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"})
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
