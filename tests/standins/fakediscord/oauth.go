package fakediscord

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/tests/standins/stand"
)

// People sign in by OAuth 2 with the scope identify: https://docs.discord.com/developers/topics/oauth2#authorization-code-grant. Only Redirect has
// to be set before somebody does.

// ClientSecret is the application's; its ID is that of the client, too.
const ClientSecret = "fake-client-secret-of-discord"

// SignIn is the application as people sign in by it.
func (s *Server) SignIn() *stand.OAuth { return &s.signIn }

func (s *Server) oauth(mux *http.ServeMux, api http.Handler) {
	mux.HandleFunc("GET /oauth2/authorize", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		people := slices.Sorted(maps.Keys(s.users))
		s.mu.Unlock()
		s.signIn.Authorize(w, r, []string{"identify"}, people, s.clock.Now())
	})
	mux.HandleFunc("POST /api/v10/oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		g, why := s.signIn.Take(r, s.clock.Now())
		switch why {
		case "":
		case stand.WrongClient:
			respond(w, http.StatusUnauthorized, obj{"error": "invalid_client"}, nil)
			return
		default:
			respond(w, http.StatusBadRequest, obj{"error": "invalid_grant", "error_description": string(why)}, nil)
			return
		}
		token := s.signIn.Token()
		s.mu.Lock()
		if s.bearers == nil {
			s.bearers = map[string]string{}
		}
		s.bearers[token] = g.Who
		s.mu.Unlock()
		respond(w, http.StatusOK, obj{"access_token": token, "token_type": "Bearer", "expires_in": 604800, "refresh_token": s.signIn.Token(), "scope": "identify"}, nil)
	})
	// https://docs.discord.com/developers/resources/user#get-current-user: with a person's token it is that person
	mux.HandleFunc("GET /api/v10/users/@me", func(w http.ResponseWriter, r *http.Request) {
		token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !is {
			s.mu.Lock()
			s.versions["v10"]++
			s.mu.Unlock()
			http.StripPrefix("/api/v10", api).ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		who, known := s.bearers[token]
		var u obj
		if known {
			u = s.wireUser(who)
		}
		s.mu.Unlock()
		if !known || !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
			respond(w, http.StatusUnauthorized, obj{"message": "401: Unauthorized", "code": 0}, nil)
			return
		}
		respond(w, http.StatusOK, s.signIn.Said(u), nil)
	})
}
