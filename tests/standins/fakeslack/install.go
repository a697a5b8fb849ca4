package fakeslack

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Several workspaces with one app: https://docs.slack.dev/authentication/installing-with-oauth. The first one is the app's own, and the others
// reach the app through it: they have one Web API, told apart by the token, one app token and one signing secret.

// codeLife is how long a code counts. https://docs.slack.dev/authentication/installing-with-oauth#exchanging
const codeLife = 10 * time.Minute

// installs are what the app's own workspace knows of installations.
type installs struct {
	redirect string // registered: the app's redirect URL
	codes    map[string]*code
}

type code struct {
	team, by, redirect string
	scopes             []string
	at                 time.Time
	used               bool
}

// Redirect registers where browsers are sent back to.
func (s *Server) Redirect(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installs.redirect = address
}

// Host adds a workspace in which the app is not installed yet.
func (s *Server) Host(o Options) *Server {
	s.mu.Lock()
	n := len(s.hosted) + 1
	s.mu.Unlock()
	own := s.opt
	o.AppID, o.AppToken, o.AppScopes, o.SigningSecret, o.Clock = own.AppID, own.AppToken, own.AppScopes, own.SigningSecret, own.Clock
	o.BotUser, o.BotID = cmp.Or(o.BotUser, fmt.Sprintf("U0BOT%d", n)), cmp.Or(o.BotID, fmt.Sprintf("B0BOT%d", n))
	o.BotToken = "-"
	h := New(o)
	h.home, h.token, h.counter = s, "", int64(n)*1_000_000 // no ID of one is another's
	s.mu.Lock()
	s.hosted = append(s.hosted, h)
	s.mu.Unlock()
	return h
}

// owner is the workspace that a token is, or was, of.
func (s *Server) owner(token string) *Server {
	for _, h := range s.everywhere() {
		h.mu.Lock()
		_, was := h.dead[token]
		is := token != "" && (h.token == token || was)
		h.mu.Unlock()
		if is {
			return h
		}
	}
	return s
}

// everywhere are all workspaces of the app.
func (s *Server) everywhere() []*Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Server{s}, s.hosted...)
}

// Grant installs the app in the workspace without a browser, and returns the token.
func (s *Server) Grant() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant()
	return s.token
}

// grant makes a token; a workspace that has the app keeps the one that it has. s.mu is held.
func (s *Server) grant() {
	if s.token == "" {
		s.token = "xoxb-" + s.opt.Team + "-" + rand.Text()
	}
}

// Installed reports whether the app is.
func (s *Server) Installed() bool { return s.BotToken() != "" }

// revoke makes the bot token refused with a code. s.mu is held.
func (s *Server) revoke(code string) {
	if s.token != "" {
		s.dead[s.token] = code
	}
	s.token = ""
}

// Uninstall removes the app, as an admin of the workspace does: the token is refused from now on, and two events say so.
// https://docs.slack.dev/reference/events/app_uninstalled, https://docs.slack.dev/reference/events/tokens_revoked
func (s *Server) Uninstall() []*Delivery {
	s.mu.Lock()
	s.revoke("account_inactive")
	s.mu.Unlock()
	return []*Delivery{
		s.Send(map[string]any{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []any{}, "bot": []any{s.opt.BotUser}}}),
		s.Send(map[string]any{"type": "app_uninstalled"}),
	}
}

// authRevoke is https://docs.slack.dev/reference/methods/auth.revoke
func authRevoke(s *Server, _ values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoke("token_revoked")
	s.outbox = append(s.outbox, map[string]any{"type": "tokens_revoked", "tokens": map[string]any{"oauth": []any{}, "bot": []any{s.opt.BotUser}}})
	return map[string]any{"revoked": true}, nil
}

// serveAuthorize asks a person to install the app: with team= and as= it is who that says, with as=deny somebody who declines.
func (s *Server) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	all := s.everywhere()
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes := strings.Split(q.Get("scope"), ",")
	switch {
	case q.Get("client_id") != ClientID:
		http.Error(w, "invalid_client_id", http.StatusBadRequest)
		return
	case q.Get("redirect_uri") != s.installs.redirect || s.installs.redirect == "":
		http.Error(w, "bad_redirect_uri", http.StatusBadRequest)
		return
	case !slices.Contains(scopes, "chat:write"):
		http.Error(w, "invalid_scope", http.StatusBadRequest)
		return
	case q.Get("as") == "deny":
		http.Redirect(w, r, s.installs.redirect+"?"+url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
		return
	case q.Get("team") == "":
		w.Header().Set("Content-Type", "text/html")
		for _, h := range all {
			fmt.Fprintf(w, `<p><a href="%s">%s</a></p>`, html.EscapeString(r.URL.String()+"&team="+h.opt.Team+"&as=U0ADMIN"), html.EscapeString(h.opt.TeamName))
		}
		return
	}
	c := rand.Text()
	if s.installs.codes == nil {
		s.installs.codes = map[string]*code{}
	}
	s.installs.codes[c] = &code{team: q.Get("team"), by: cmp.Or(q.Get("as"), "U0ADMIN"), redirect: q.Get("redirect_uri"), scopes: scopes, at: s.clock.Now()}
	http.Redirect(w, r, s.installs.redirect+"?"+url.Values{"code": {c}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

// oauthAccess is https://docs.slack.dev/reference/methods/oauth.v2.access
func oauthAccess(s *Server, v values) (map[string]any, *refusal) {
	all := s.everywhere()
	s.mu.Lock()
	c := s.installs.codes[v.Get("code")]
	now := s.clock.Now()
	bad := ""
	switch {
	case v.Get("client_id") != ClientID:
		bad = "invalid_client_id"
	case v.Get("client_secret") != ClientSecret:
		bad = "bad_client_secret"
	case c == nil || now.Sub(c.at) > codeLife:
		bad = "invalid_code"
	case v.Get("redirect_uri") != c.redirect:
		bad = "bad_redirect_uri"
	case c.used:
		bad = "code_already_used"
	default:
		c.used = true
	}
	s.mu.Unlock()
	if bad != "" {
		return no(bad)
	}
	i := slices.IndexFunc(all, func(h *Server) bool { return h.opt.Team == c.team })
	if i < 0 {
		return no("invalid_team_id")
	}
	h := all[i]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grant()
	enterprise := any(nil)
	if h.opt.Enterprise != "" {
		enterprise = map[string]any{"id": h.opt.Enterprise, "name": h.opt.Enterprise}
	}
	return map[string]any{
		"access_token": h.token, "token_type": "bot", "scope": strings.Join(c.scopes, ","), "bot_user_id": h.opt.BotUser, "app_id": h.opt.AppID,
		"team": map[string]any{"id": h.opt.Team, "name": h.opt.TeamName}, "enterprise": enterprise, "authed_user": map[string]any{"id": c.by}, "is_enterprise_install": false,
	}, nil
}

// Given are all codes and tokens of installations, which nobody else may see.
func (s *Server) Given() (all []string) {
	for _, h := range s.everywhere() {
		h.mu.Lock()
		all = slices.AppendSeq(append(all, h.token), maps.Keys(h.dead))
		all = slices.AppendSeq(all, maps.Keys(h.installs.codes))
		h.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(x string) bool { return x == "" })
}
