package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/chat"
)

var (
	_ groups.Groups = (*Server)(nil)
	_ groups.Names  = (*Server)(nil)
)

// getSignIn sends a browser to the provider, the first where none is named. It is no form: policyCSP lets none lead elsewhere.
func (s *Server) getSignIn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := pageData{Page: q.Get("page"), Chat: q.Get("chat")}
	door := s.SignIn[0]
	if q.Has("with") {
		door = s.SignIn.Of(q.Get("with"))
	}
	if door == nil {
		http.NotFound(w, r)
		return
	}
	to, cookie, err := door.Begin(r.Context(), landing(d.Page, d.Chat))
	if err != nil {
		s.notSignedIn(w, r, d, err)
		return
	}
	http.SetCookie(w, s.flowCookie(cookie, int(signin.Life.Seconds())))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusFound)
}

// getSignedIn opens a session for somebody who comes back from the provider. A redirect would still count as the provider's, and the browser
// would keep the session's cookie to itself (SameSite=Strict): a page of ours leads on.
func (s *Server) getSignedIn(w http.ResponseWriter, r *http.Request) {
	cookie := ""
	if c, err := r.Cookie(s.flowCookie("", 0).Name); err == nil {
		cookie = c.Value
	}
	door, who, err := s.SignIn.Finish(r.Context(), cookie, r.URL.Query(), s.Shelf.Once)
	var key string
	if err == nil {
		key, _, err = s.sessions.Vouch(r.Context(), door, who)
	}
	if err == nil {
		err = s.keepKey(w, r, key, session.VouchedLife)
	}
	if err != nil {
		s.notSignedIn(w, r, pageData{}, err)
		return
	}
	http.SetCookie(w, s.flowCookie("", -1))
	s.signInPage(w, http.StatusOK, pageData{To: who.To})
}

// notSignedIn shows why, and logs more.
func (s *Server) notSignedIn(w http.ResponseWriter, r *http.Request, d pageData, err error) {
	if no, ok := errors.AsType[*signin.Refused](err); ok {
		if no.Code == "sign_in_stale" { // perhaps they went back, or another tab was first
			if s.ledOn(w, r) {
				return
			}
			if _, err := s.sessions.Who(r.Context(), session.Browser(r)); err == nil {
				http.Redirect(w, r, "/", http.StatusSeeOther)
				return
			}
		}
		status := http.StatusForbidden
		if no.Down {
			status = http.StatusServiceUnavailable
		}
		s.Logger.Warn("nobody was signed in", "code", no.Code, "err", no)
		err = problem{Status: status, Code: no.Code, Message: no.Say}
	}
	p := s.asProblem(r, err)
	d.Problem = p.Message
	s.signInPage(w, p.Status, d)
}

// flowCookie holds a sign-in on its way. It comes back with the browser from another site, which a Strict one would not.
func (s *Server) flowCookie(value string, age int) *http.Cookie {
	c := &http.Cookie{Name: "nod_signin", Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.SignIn[0].Secure()}
	if c.Secure {
		c.Name = "__Host-" + c.Name
	}
	return c
}

// Groups are [session.Sessions]': this surface says them of its people.
func (s *Server) Groups(ctx context.Context, in chat.ID, u chat.User) ([]chat.User, error) {
	return s.sessions.Groups(ctx, in, u)
}

// GroupName is as it is configured.
func (s *Server) GroupName(_ chat.ID, u chat.User) string {
	return strings.TrimPrefix(u.Key, chat.GroupPrefix)
}
