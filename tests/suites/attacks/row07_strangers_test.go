package attacks

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// strangersOf are those who may not decide, by surface, with what they are told.
var strangersOf = map[string]map[person]string{
	"slack": {
		ben: "Only Ana", guest: "Guests of this workspace cannot decide here", ultra: "Guests of this workspace cannot decide here",
		xena: "People of other organisations cannot decide here", odd: "People of other organisations cannot decide here",
		gone: "Only active members can decide", robot: "Only active members can decide",
	},
	"discord": {ben: "Only Ana", pretend: "Only Ana", robot: ""},
	"web":     {ben: "403"},
}

// strangers is row 7: whoever may not decide decides nothing with any button, and is told so alone.
func strangers() (out []attack) {
	for surface, who := range strangersOf {
		for p, say := range who {
			for name, label := range map[string]string{"allow-once": "Allow once", "allow-for-chat": "Allow for this chat", "deny": "Deny", "extend": "+5 min"} {
				out = append(out, on(7, surface, strings.ToLower(string(p))+"-"+name, func(t *testing.T, w *world) {
					k := begin(t, w, surface)
					s := k.asking(1)
					if say == "" {
						k.press(t, p, s, k.one(s, label))
					} else {
						k.refused(p, s, k.one(s, label), say)
					}
					k.still(1)
					k.end()
				}))
			}
			out = append(out, on(7, surface, strings.ToLower(string(p))+"-approve-all", func(t *testing.T, w *world) {
				name := idOf(t)
				k := begin(t, w, surface, wants(write(name), call("box", "write", args(name, "n", "2"))))
				s := k.asking(2)
				if say == "" {
					k.press(t, p, s, k.one(s, "Approve all (2)…"))
				} else {
					k.refused(p, s, k.one(s, "Approve all (2)…"), say)
				}
				k.still(2)
				k.end()
			}))
			out = append(out, on(7, surface, strings.ToLower(string(p))+"-edit", func(t *testing.T, w *world) {
				k := begin(t, w, surface)
				s := k.asking(1)
				switch {
				case say == "": // a bot's press opens nothing
					k.press(t, p, s, k.one(s, "Edit arguments…"))
				case surface == "slack" && p != ben: // it opens no form for them
					k.refused(p, s, k.one(s, "Edit arguments…"), say)
				default:
					k.edits(p, s)
				}
				k.still(1)
				k.end()
			}))
		}
	}
	return append(append(out, nobodies()...), keyless()...)
}

// nobodies are clicks of somebody whom the platform does not know, in a request that is signed as it should be.
func nobodies() []attack {
	return []attack{
		on(7, "slack", "unknown-user", func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			if got := w.postSlack(t, k.place.(*thread).wire(t, nobody, s, k.one(s, "Allow once")), signing{}); got != http.StatusOK {
				t.Errorf("status %d", got)
			}
			k.still(1)
			k.end()
		}),
		on(7, "slack", "no-user", func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
			delete(p, "user")
			w.postSlack(t, p, signing{})
			k.still(1)
			k.end()
		}),
		on(7, "slack", "user-is-the-bot", func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
			p["user"] = map[string]any{"id": w.slack.BotUser(), "team_id": w.slack.Team()}
			w.postSlack(t, p, signing{})
			k.still(1)
			k.end()
		}),
		on(7, "slack", "named-in-the-action", func(t *testing.T, w *world) { // who acts is the envelope's user and nothing else
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ben, s, k.one(s, "Allow once"))
			for _, a := range p["actions"].([]any) {
				a.(map[string]any)["user"] = inSlack[ana]
				a.(map[string]any)["user_id"] = inSlack[ana]
			}
			p["user_id"], p["message"].(map[string]any)["user"] = inSlack[ana], inSlack[ana]
			w.postSlack(t, p, signing{})
			k.still(1)
			k.end()
		}),
		on(7, "discord", "no-user", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			p := k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once"))
			delete(p, "member")
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.still(1)
			k.end()
		}),
		on(7, "discord", "member-of-another-server", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			w.postDiscord(t, k.place.(*strand).wire(t, away, s, k.one(s, "Allow once")), fakediscord.Forgery{})
			k.still(1)
			k.end()
		}),
		on(7, "discord", "bot-user", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			p := k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once"))
			p["member"].(map[string]any)["user"].(map[string]any)["bot"] = true
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.still(1)
			k.end()
		}),
		on(7, "discord", "roles-said-in-the-data", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			p := k.place.(*strand).wire(t, ben, s, k.one(s, "Allow once"))
			p["data"].(map[string]any)["user_id"] = inDiscord[ada]
			p["user"] = map[string]any{"id": inDiscord[ada], "username": "ada"}
			p["message"].(map[string]any)["interaction_metadata"] = map[string]any{"user": map[string]any{"id": inDiscord[ana]}}
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.still(1)
			k.end()
		}),
	}
}

// keyless are requests to the API without a right key.
func keyless() (out []attack) {
	for name, key := range map[string]func(*world) http.Header{
		"no-key":    func(*world) http.Header { return http.Header{} },
		"empty-key": func(*world) http.Header { return http.Header{"Authorization": {"Bearer "}} },
		"wrong-key": func(*world) http.Header {
			return http.Header{"Authorization": {"Bearer nod_" + strings.Repeat("A", 43)}}
		},
		"user-as-key": func(w *world) http.Header { return http.Header{"Authorization": {"Bearer " + w.sessions[ana].user}} },
		"key-cut": func(w *world) http.Header {
			return http.Header{"Authorization": {"Bearer " + w.sessions[ana].key[:20]}}
		},
		"key-longer": func(w *world) http.Header {
			return http.Header{"Authorization": {"Bearer " + w.sessions[ana].key + "A"}}
		},
		"key-other-case": func(w *world) http.Header {
			return http.Header{"Authorization": {"Bearer " + strings.ToUpper(w.sessions[ana].key)}}
		},
		"basic":           func(w *world) http.Header { return http.Header{"Authorization": {"Basic " + w.sessions[ana].key}} },
		"key-in-x-header": func(w *world) http.Header { return http.Header{"X-Api-Key": {w.sessions[ana].key}, "X-User": {"Ana"}} },
		"admin-key-cut":   func(*world) http.Header { return http.Header{"Authorization": {"Bearer " + adminKey[:5]}} },
		"wrong-header-beats-cookie": func(w *world) http.Header {
			return http.Header{"Authorization": {"Bearer x"}, "Cookie": {"nod_session=" + w.sessions[ana].key}}
		},
		"remote-user": func(*world) http.Header { return http.Header{"X-Remote-User": {"admin"}} },
	} {
		out = append(out, on(7, "web", name, func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			h := key(w)
			h.Set("Content-Type", "application/json")
			b := k.one(s, "Allow once")
			for path, body := range map[string]any{
				"/api/v1/asks/" + b.token:             map[string]string{"choice": "allow_once"},
				"/api/v1/tools/approve":               map[string]any{"request_id": b.token, "approved": true},
				k.place.(*chatroom).path("/clicks"):   map[string]string{"token": b.token, "choice": "allow_once"},
				k.place.(*chatroom).path("/asks"):     map[string]string{"choice": "allow_once"},
				k.place.(*chatroom).path("/messages"): map[string]string{"text": "yes"},
			} {
				if status, answer := w.request(t, http.MethodPost, path, marshal(body), h); status != http.StatusUnauthorized {
					t.Errorf("%s: %d %s", path, status, answer)
				}
			}
			k.still(1)
			k.end()
		}))
	}
	return out
}
