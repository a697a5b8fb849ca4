package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
)

// problem is an error as the API tells it.
type problem struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"` // for a person
	// Of an ask that somebody already answered:
	By     string     `json:"by,omitempty"`
	Name   string     `json:"name,omitempty"`
	Choice string     `json:"choice,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

func (p problem) Error() string { return p.Message }

// refusalStatus is how each refusal answers; one that is missing here would answer 403, the careful one.
var refusalStatus = map[decision.RefusalCode]int{
	decision.RefusedUnknown:    http.StatusNotFound,
	decision.RefusedNotOffered: http.StatusBadRequest,
	decision.RefusedNotYours:   http.StatusForbidden,
	decision.RefusedDecided:    http.StatusConflict,
	decision.RefusedExpired:    http.StatusGone,
	decision.RefusedTooLate:    http.StatusConflict,
	decision.RefusedStopped:    http.StatusConflict,
	decision.RefusedHidden:     http.StatusConflict,
	decision.RefusedArguments:  http.StatusUnprocessableEntity,
}

// asProblem turns any error into what the caller may know. Causes stay in our log.
func (s *Server) asProblem(r *http.Request, err error) problem {
	if p, ok := errors.AsType[problem](err); ok {
		return p
	}
	if no, ok := errors.AsType[session.Refused](err); ok {
		return problem{Status: no.Status, Code: no.Code, Message: no.Say}
	}
	if refused := surface.Refusal(err); refused != nil {
		return problem{Status: cmp.Or(refusalStatus[refused.Code], http.StatusForbidden), Code: string(refused.Code),
			Message: cmp.Or(refused.Say, "This answer was not taken."), By: userForm(refused.By), Name: refused.Name,
			Choice: string(refused.Choice), At: moment(refused.At)}
	}
	if errors.Is(err, agent.ErrVersion) {
		return problem{Status: http.StatusServiceUnavailable, Code: "newer_version",
			Message: "This chat was written by a newer version of the bot. Update this replica to read it."}
	}
	s.Logger.Warn("web request failed", "method", r.Method, "path", r.Pattern, "err", err)
	return problem{Status: http.StatusServiceUnavailable, Code: "unavailable",
		Message: "The bot's store did not answer, so it is not certain that this was recorded. Please look, then try again."}
}

func writeProblem(w http.ResponseWriter, p problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="nod"`)
	}
	writeJSON(w, p.Status, map[string]problem{"error": p})
}

// withStatus is a handler's answer with another status than 200.
type withStatus struct {
	status int
	body   any
}

func writeAnswer(w http.ResponseWriter, answer any) {
	if a, ok := answer.(withStatus); ok {
		writeJSON(w, a.status, a.body)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // only possible if a stored RawMessage is broken
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"The bot could not write its answer."}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that hung up has nothing more to hear
}
