package web

import (
	"net/http"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/chat"
)

// routes are everything that is served, behind the guard.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range s.api() {
		mux.Handle(pattern, h)
	}
	for pattern, h := range s.pages() {
		mux.HandleFunc(pattern, h)
	}
	return mux
}

// api are the routes of docs/openapi.yaml.
func (s *Server) api() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /api/v1/sessions":                    http.HandlerFunc(s.postSession),
		"GET /api/v1/sessions":                     s.answers(s.getSessions),
		"DELETE /api/v1/sessions":                  s.answers(s.deleteSessions),
		"DELETE /api/v1/sessions/{session}":        s.answers(s.deleteSession),
		"GET /api/v1/chats":                        s.answers(s.getChats),
		"POST /api/v1/chats":                       s.answers(s.postChat),
		"GET /api/v1/chats/{chat}":                 s.inChat(s.getChat),
		"POST /api/v1/chats/{chat}/messages":       s.inChat(s.postMessage),
		"POST /api/v1/chats/{chat}/files":          s.inChat(s.postFile),
		"GET /api/v1/chats/{chat}/files/{file}":    s.signedIn(s.getFile),
		"POST /api/v1/chats/{chat}/stop":           s.inChat(s.postStop),
		"GET /api/v1/chats/{chat}/events":          s.signedIn(s.getEvents),
		"POST /api/v1/chats/{chat}/asks":           s.inChat(s.postAsks),
		"POST /api/v1/chats/{chat}/clicks":         s.inChat(s.postClick),
		"GET /api/v1/chats/{chat}/details/{token}": s.inChat(s.getDetails),
		"POST /api/v1/tools/approve":               s.answers(s.postApprove),
		"POST /api/v1/asks/{request}":              s.answers(s.postAsk),
		"GET /api/v1/asks/{request}/why":           s.answers(s.getWhy),
		"GET /api/v1/asks/{request}/details":       s.answers(s.getAskDetails),
		"GET /api/v1/asks/{request}/want":          s.answers(s.getElicitation),
		"GET /api/v1/inbox":                        s.answers(s.getInbox),
		"POST /api/v1/inbox/clicks":                s.answers(s.postInboxClick),
		"GET /api/v1/inbox/events":                 s.signedIn(s.getInboxEvents),
		"GET /api/v1/push":                         s.answers(s.getPush),
		"POST /api/v1/push":                        s.answers(s.postPush),
		"DELETE /api/v1/push":                      s.answers(s.deletePush),
		"GET /api/v1/settings":                     s.answers(s.getSettings),
		"POST /api/v1/settings":                    s.answers(s.postSettings),
		"POST /api/v1/permissions":                 s.answers(s.postPermissions),
		"/api/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writeProblem(w, problem{Status: http.StatusNotFound, Code: "not_found", Message: "There is nothing at " + r.Method + " " + r.URL.Path + "."})
		}),
	}
}

// pages are what a browser opens, and how it signs in and out.
func (s *Server) pages() map[string]http.HandlerFunc {
	out := map[string]http.HandlerFunc{
		"GET /{$}":               s.shell(pageChat),
		"GET /c/{chat}":          s.shell(pageChat),
		"GET /settings":          s.shell(pageSettings),
		"GET /settings/c/{chat}": s.shell(pageSettings),
		"GET " + pathInbox:       s.shell(pageInbox),
		"POST /session":          s.postSignIn,
		"POST /signout":          s.postSignOut,
		"GET /assets/{file}":     s.page.asset,
		"GET /sw.js":             s.page.asset, // at the root: a worker is for what stands below it
		"GET /favicon.ico":       http.RedirectHandler("/assets/icon.svg", http.StatusFound).ServeHTTP,
	}
	if len(s.SignIn) > 0 {
		out["GET /signin"], out["GET "+signin.PathReturn] = s.getSignIn, s.getSignedIn
	}
	return out
}

// signedIn calls h for requests with a valid key.
func (s *Server) signedIn(h func(http.ResponseWriter, *http.Request, session.Person) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.sessions.Who(r.Context(), session.Bearer(r))
		if err == nil && r.Method == http.MethodPost { // who only looks, or signs out, is not asked after
			p, err = s.sessions.In(r.Context(), chat.ID{}, p)
		}
		if err == nil {
			err = h(w, r, p)
		}
		if err != nil {
			writeProblem(w, s.asProblem(r, err))
		}
	})
}

// answers writes what h answers them.
func (s *Server) answers(h func(*http.Request, session.Person) (any, error)) http.Handler {
	return s.signedIn(func(w http.ResponseWriter, r *http.Request, p session.Person) error {
		answer, err := h(r, p)
		if err == nil {
			writeAnswer(w, answer)
		}
		return err
	})
}

// inChat gives h the chat that the path names.
func (s *Server) inChat(h func(*http.Request, session.Person, view) (any, error)) http.Handler {
	return s.answers(func(r *http.Request, p session.Person) (any, error) {
		v, err := s.chat(r, p)
		if err != nil {
			return nil, err
		}
		return h(r, p, v)
	})
}
