package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
)

// ended reports whether the session of an open stream was ended meanwhile.
func (s *Server) ended(r *http.Request) bool {
	_, err := s.sessions.Who(r.Context(), session.Bearer(r))
	return errors.Is(err, session.Unauthorized)
}

func (s *Server) postSession(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string `json:"name"`
	}
	var key string
	var p session.Person
	err := readJSON(r, &body)
	if err == nil {
		key, p, err = s.sessions.Open(r.Context(), session.Bearer(r), body.Name)
	}
	if err != nil {
		writeProblem(w, s.asProblem(r, err))
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"key": key, "user": p.User.String()})
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

func (s *Server) getSessions(r *http.Request, p session.Person) (any, error) {
	list, err := s.sessions.List(r.Context(), p)
	forms := []sessionForm{}
	for _, x := range list {
		forms = append(forms, sessionForm{x.ID, x.User.String(), x.Name, x.Admin, moment(x.Opened), moment(x.Seen), moment(x.Ends), x.Current})
	}
	return map[string]any{"sessions": forms}, err
}

// deleteSessions ends a person's own sessions, or those of everybody with ?of=everybody, which only an admin may.
func (s *Server) deleteSessions(r *http.Request, p session.Person) (any, error) {
	of := r.URL.Query().Get("of")
	switch {
	case of == "everybody" && !p.Admin:
		return nil, problem{Status: http.StatusForbidden, Code: "forbidden", Message: "Only an admin may end the sessions of others."}
	case of != "" && of != "me" && of != "everybody":
		return nil, badRequest("\"of\" is me or everybody.")
	}
	n, err := s.sessions.EndAll(r.Context(), p, of == "everybody")
	return map[string]int{"ended": n}, err
}

func (s *Server) deleteSession(r *http.Request, p session.Person) (any, error) {
	return map[string]int{"ended": 1}, s.sessions.End(r.Context(), p, r.PathValue("session"))
}

// postSignIn opens a session for a browser.
func (s *Server) postSignIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := r.ParseForm(); err != nil {
		s.signInPage(w, http.StatusBadRequest, pageData{Problem: "The form did not arrive whole. Please try again."})
		return
	}
	name, id, settings := strings.ToValidUTF8(r.PostFormValue("name"), ""), r.PostFormValue("chat"), r.PostFormValue("page")
	key, p, err := s.sessions.SignIn(r.Context(), name, strings.TrimSpace(r.PostFormValue("key")))
	if err == nil {
		err = s.keepKey(w, r, key, session.Life)
	}
	if err != nil {
		p := s.asProblem(r, err)
		s.signInPage(w, p.Status, pageData{Name: name, Problem: p.Message, Chat: id, Page: settings})
		return
	}
	if p.Admin && id == "" { // an admin begins where there is something to administer
		settings = "settings"
	}
	http.Redirect(w, r, landing(settings, id), http.StatusSeeOther)
}

// keepKey has the browser keep a session's key, in place of the one that it had.
func (s *Server) keepKey(w http.ResponseWriter, r *http.Request, key string, life time.Duration) error {
	if err := s.sessions.Replace(r.Context(), session.Browser(r), key); err != nil {
		return err
	}
	session.SetCookie(w, r, key, int(life.Seconds()))
	return nil
}

// postSignOut ends the session of the browser that asks, or with all=yes every session of its person.
func (s *Server) postSignOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	p, err := s.sessions.Who(r.Context(), session.Browser(r))
	switch {
	case err != nil:
	case r.PostFormValue("all") == "yes":
		_, err = s.sessions.EndAll(r.Context(), p, false)
	default:
		err = s.sessions.SignOut(r.Context(), p)
	}
	if err != nil && !errors.Is(err, session.Unauthorized) {
		// The cookie stays, so that whoever reads this can try again.
		s.signInPage(w, http.StatusServiceUnavailable, pageData{Problem: s.asProblem(r, err).Message})
		return
	}
	session.SetCookie(w, r, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
