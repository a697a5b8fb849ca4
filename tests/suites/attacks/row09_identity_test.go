package attacks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// identities is row 9: who somebody is comes from the signed envelope as a whole: the workspace, the application and the person.
func identities() (out []attack) {
	for name, change := range map[string]func(map[string]any, *world){
		"app-team-of-another-workspace": func(p map[string]any, _ *world) { p["team"] = map[string]any{"id": "T0OTHER", "domain": "evil"} },
		"app-no-team":                   func(p map[string]any, _ *world) { delete(p, "team") },
		"app-another-app":               func(p map[string]any, _ *world) { p["api_app_id"] = "A0EVIL" },
		"user-of-another-team": func(p map[string]any, _ *world) {
			p["user"] = map[string]any{"id": inSlack[xena], "team_id": "T0FAKE", "name": "Ana"}
		},
		"user-named-as-admin": func(p map[string]any, _ *world) {
			p["user"] = map[string]any{"id": inSlack[ben], "team_id": "T0FAKE", "name": "Ada", "username": "Ada", "is_admin": true, "is_owner": true}
		},
		"user-id-in-other-case": func(p map[string]any, _ *world) {
			p["user"] = map[string]any{"id": "u0ana", "team_id": "T0FAKE"}
		},
		"user-id-with-spaces": func(p map[string]any, _ *world) {
			p["user"] = map[string]any{"id": inSlack[ana] + " ", "team_id": "T0FAKE"}
		},
		"user-id-twice": func(p map[string]any, _ *world) {
			p["user"] = map[string]any{"id": inSlack[ben], "ID": inSlack[ana], "team_id": "T0FAKE"}
		},
		"user-as-list": func(p map[string]any, _ *world) { p["user"] = []any{map[string]any{"id": inSlack[ana]}} },
	} {
		out = append(out, on(9, "slack", name, func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
			change(p, w)
			w.postSlack(t, p, signing{})
			k.still(1)
			k.end()
		}))
	}
	out = append(out, on(9, "slack", "users-info-does-not-answer", func(t *testing.T, w *world) {
		// Somebody whom nobody was asked about before, so that nothing is remembered of them.
		k := begin(t, w, "slack")
		s := k.asking(1)
		p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
		p["user"] = map[string]any{"id": "U0UNKNOWN", "team_id": w.slack.Team()}
		w.postSlack(t, p, signing{})
		k.still(1)
		k.end()
	}))
	for name, other := range map[string]map[string]string{"slash-of-another-workspace": {"team_id": "T0OTHER"}, "slash-of-another-app": {"api_app_id": "A0EVIL"}} {
		out = append(out, on(9, "slack", name, func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			k.asking(1)
			channel := k.place.(*thread).channel
			for _, text := range []string{"pending", "stop"} { // what it tells, and what it does
				got, err := w.slack.SlashAs(inSlack[ana], channel, "/nod", text, other).Wait(t.Context())
				if err != nil || !strings.Contains(string(got.Answer), "of another workspace") || strings.Contains(string(got.Answer), "archives") {
					t.Errorf("%s: %s, %v", text, got.Answer, err)
				}
			}
			k.still(1)
			if got, err := w.slack.Slash(inSlack[ana], channel, "/nod", "pending").Wait(t.Context()); err != nil || !strings.Contains(string(got.Answer), "archives") {
				t.Errorf("her own: %s, %v", got.Answer, err)
			}
			k.end()
		}))
	}
	for name, change := range map[string]func(map[string]any, *world){
		"another-server":      func(p map[string]any, _ *world) { p["guild_id"] = "800000000000000099" },
		"another-application": func(p map[string]any, _ *world) { p["application_id"] = "900000000000000099" },
		"direct-instead": func(p map[string]any, w *world) {
			p["user"] = p["member"].(map[string]any)["user"]
			delete(p, "member")
			delete(p, "guild_id")
		},
		"user-id-as-number": func(p map[string]any, _ *world) {
			p["member"].(map[string]any)["user"] = map[string]any{"id": 7, "username": "ana"}
		},
		"user-id-empty": func(p map[string]any, _ *world) {
			p["member"].(map[string]any)["user"] = map[string]any{"id": "", "username": "ana"}
		},
		"named-as-admin": func(p map[string]any, _ *world) {
			p["member"] = map[string]any{"nick": "Ada", "permissions": "8", "roles": []string{"1"}, "user": map[string]any{"id": inDiscord[ben], "username": "ada", "global_name": "Ada"}}
		},
		"system-user": func(p map[string]any, _ *world) {
			p["member"].(map[string]any)["user"].(map[string]any)["system"] = true
			p["member"].(map[string]any)["user"].(map[string]any)["id"] = inDiscord[ben]
		},
	} {
		out = append(out, on(9, "discord", name, func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			p := k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once"))
			change(p, w)
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.still(1)
			k.end()
		}))
	}
	for name, called := range map[string]string{"same-name": "Ana", "hidden-name": "A\u200bna", "user-string": "web::u-1", "reversed-name": "\u202eanA"} {
		out = append(out, on(9, "web", name, func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			status, answer := w.request(t, http.MethodPost, "/api/v1/sessions", marshal(map[string]string{"name": called, "user": w.sessions[ana].user, "key": w.sessions[ana].key}), http.Header{"Content-Type": {"application/json"}})
			var out struct{ Key, User string }
			if status != http.StatusCreated || json.Unmarshal([]byte(answer), &out) != nil || out.User == w.sessions[ana].user {
				t.Fatalf("%d %s", status, answer)
			}
			eve := &session{w, out.Key, out.User}
			b := k.one(s, "Allow once")
			if status, answer := eve.call(t, http.MethodPost, "/api/v1/asks/"+b.token, map[string]any{"choice": "allow_once", "user": w.sessions[ana].user}); status != http.StatusForbidden {
				t.Errorf("%d %s", status, answer)
			}
			k.still(1)
			k.end()
		}))
	}
	out = append(out, on(9, "web", "admin-name", func(t *testing.T, w *world) {
		for name, want := range map[string]int{"admin": http.StatusBadRequest, "Admin": http.StatusBadRequest, "аdmin": http.StatusBadRequest, "Adele": http.StatusCreated} {
			if status, answer := w.request(t, http.MethodPost, "/api/v1/sessions", marshal(map[string]string{"name": name}), http.Header{"Content-Type": {"application/json"}}); status != want {
				t.Errorf("%q: %d %s", name, status, answer)
			}
		}
	}))
	return out
}
