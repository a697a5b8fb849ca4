package session

import (
	"net/http"
	"strings"
)

// The cookie's names. A browser sends a cookie to every port of its host; under the second only over TLS, and never another host's.
const (
	cookieName       = "nod_session"
	secureCookieName = "__Host-nod_session"
)

// Presented is the key that a request carries.
type Presented struct {
	key    string
	cookie bool
}

// None reports whether there is no key.
func (p Presented) None() bool { return p.key == "" }

// Bearer is the key of a request. Such a header wins over the cookie even when it is wrong: a program that sends one means it. Another scheme, and
// what is longer than a key, is of a proxy that asks people who they are: nginx has browsers send Basic, others send their provider's token.
func Bearer(r *http.Request) Presented {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(key) > maxKey {
		return Browser(r)
	}
	return Presented{key: strings.TrimSpace(key)}
}

// Browser is the key of the browser's session.
func Browser(r *http.Request) Presented {
	c, err := r.Cookie(cookieOf(r))
	if err != nil {
		return Presented{cookie: true}
	}
	return Presented{c.Value, true}
}

// SetCookie has the browser keep a session's key for so many seconds; with -1 it forgets the one that it has.
func SetCookie(w http.ResponseWriter, r *http.Request, key string, age int) {
	http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: key, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: overTLS(r)})
}

func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("X-Forwarded-Proto"), "https") // of several proxies the first is the browser's
}

func cookieOf(r *http.Request) string {
	if overTLS(r) {
		return secureCookieName
	}
	return cookieName
}
