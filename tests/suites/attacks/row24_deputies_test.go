package attacks

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// deputies is row 24: nobody learns or decides through the bot what their own place does not let them.
func deputies() (out []attack) {
	for _, s := range []string{"slack", "discord"} {
		for name, do := range map[string]func(*talk, string) (int, string){
			"asks": func(k *talk, token string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodPost, "/api/v1/asks/"+token, map[string]string{"choice": "allow_once"})
			},
			"approve": func(k *talk, token string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodPost, "/api/v1/tools/approve", map[string]any{"request_id": token, "approved": true})
			},
			"read": func(k *talk, _ string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodGet, "/api/v1/chats/"+url.PathEscape(k.id().Key), nil)
			},
			"read-by-full-id": func(k *talk, _ string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodGet, "/api/v1/chats/"+url.PathEscape(k.id().String()), nil)
			},
			"events": func(k *talk, _ string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodGet, "/api/v1/chats/"+url.PathEscape(k.id().Key)+"/events", nil)
			},
			"clicks": func(k *talk, token string) (int, string) {
				return k.sessions[ben].call(k.t, http.MethodPost, "/api/v1/chats/"+url.PathEscape(k.id().Key)+"/clicks", map[string]string{"choice": "allow_once", "token": token})
			},
		} {
			out = append(out, on(24, s, "over-the-web-"+name, func(t *testing.T, w *world) {
				k := begin(t, w, s)
				at := k.asking(1)
				status, answer := do(k, k.one(at, "Allow once").ticket())
				if status < 400 || strings.Contains(answer, k.name) {
					t.Errorf("%d %s", status, answer)
				}
				k.still(1)
				k.end()
			}))
		}
	}
	for name, do := range map[string]func(*talk) (int, string){
		"by-the-models-id": func(k *talk) (int, string) {
			return k.sessions[ben].call(k.t, http.MethodPost, "/api/v1/tools/approve", map[string]any{"tool_call_id": "m-write-" + k.name, "approved": true})
		},
		"by-a-made-up-ask": func(k *talk) (int, string) {
			return k.sessions[ben].call(k.t, http.MethodPost, "/api/v1/asks/"+strings.Repeat("A", 26), map[string]string{"choice": "allow_once"})
		},
		"in-a-made-up-chat": func(k *talk) (int, string) {
			return k.sessions[ben].call(k.t, http.MethodGet, "/api/v1/chats/"+strings.Repeat("A", 22), nil)
		},
		"path-climbing": func(k *talk) (int, string) {
			return k.sessions[ben].call(k.t, http.MethodGet, "/api/v1/chats/..%2f..%2fadmin", nil)
		},
	} {
		out = append(out, on(24, "web", name, func(t *testing.T, w *world) {
			c := write(idOf(t))
			c.ModelID += "-" + idOf(t)
			k := begin(t, w, "web", wants(c))
			k.asking(1)
			if status, answer := do(k); status < 400 {
				t.Errorf("%d %s", status, answer)
			}
			k.still(1)
			k.end()
		}))
	}
	out = append(out, on(24, "web", "list-of-chats", func(t *testing.T, w *world) {
		k := begin(t, w, "web")
		k.asking(1)
		status, answer := w.sessions[ben].call(t, http.MethodGet, "/api/v1/chats", nil)
		if status != http.StatusOK || strings.Contains(answer, k.id().Key) || strings.Contains(answer, k.name) {
			t.Errorf("%d %s", status, answer)
		}
		k.end()
	}))
	// Whose tool it is stands on every card.
	out = append(out, everywhere(24, "card-names-the-server", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("evil", "write", `{"path":"`+idOf(t)+`"}`)))
		if s := k.asking(1); !strings.Contains(s.text, "evil") {
			t.Errorf("the card does not name the server: %s", s.text)
		}
		k.end()
	})...)
	return out
}
