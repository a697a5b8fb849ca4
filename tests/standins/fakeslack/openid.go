package fakeslack

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/stand"
)

// Sign in with Slack: https://docs.slack.dev/authentication/sign-in-with-slack. Only Redirect has to be set before somebody signs in.

// The app's credentials for it.
const (
	ClientID     = "1234567890.0987654321"
	ClientSecret = "fake-client-secret-of-slack"
)

// SignIn is the app as people sign in by it.
func (s *Server) SignIn() *stand.OAuth { return &s.signIn }

// openID answers what Slack does outside of its methods, and openid.connect.token, which takes no token.
func (s *Server) openID(mux *http.ServeMux) {
	say := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		say(w, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/openid/connect/authorize", "token_endpoint": base + "/api/openid.connect.token",
			"userinfo_endpoint": base + "/api/openid.connect.userInfo", "jwks_uri": base + "/openid/connect/keys", "scopes_supported": []string{"openid", "profile", "email"},
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
		})
	})
	mux.HandleFunc("GET /openid/connect/keys", func(w http.ResponseWriter, _ *http.Request) { say(w, s.signIn.Keys()) })
	mux.HandleFunc("GET /openid/connect/authorize", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		people := slices.Sorted(maps.Keys(s.users))
		s.mu.Unlock()
		s.signIn.Authorize(w, r, []string{"openid", "profile"}, people, s.clock.Now())
	})
	// https://docs.slack.dev/reference/methods/openid.connect.token: refusals are answers of status 200
	mux.HandleFunc("POST /api/openid.connect.token", func(w http.ResponseWriter, r *http.Request) {
		g, why := s.signIn.Take(r, s.clock.Now())
		if no := map[stand.Why]string{stand.WrongClient: "bad_client_secret", stand.WrongCode: "invalid_code", stand.UsedCode: "code_already_used", stand.WrongRedirect: "bad_redirect_uri",
			stand.WrongVerifier: "invalid_grant", stand.WrongType: "invalid_grant_type"}[why]; no != "" {
			say(w, map[string]any{"ok": false, "error": no})
			return
		}
		say(w, map[string]any{"ok": true, "access_token": "xoxp-" + s.signIn.Token(), "token_type": "Bearer", "id_token": s.signIn.Signed(s.signIn.Said(s.claims("http://"+r.Host, g)))})
	})
}

// claims are those of an ID token. Its times are real ones: who checks it has no other clock.
func (s *Server) claims(issuer string, g stand.Grant) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, team, name := time.Now(), s.opt.Team, ""
	if u := s.users[g.Who]; u != nil {
		name = u.Name
		if u.Team != "" {
			team = u.Team
		}
	}
	return map[string]any{
		"iss": issuer, "sub": g.Who, "aud": s.signIn.ID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "auth_time": now.Unix(), "nonce": g.Nonce,
		"https://slack.com/user_id": g.Who, "https://slack.com/team_id": team, "name": name, "given_name": strings.ToLower(name), "locale": "en-US",
		"https://slack.com/team_name": s.opt.TeamName,
	}
}
