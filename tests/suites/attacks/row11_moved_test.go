package attacks

import (
	"net/http"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

const notHere = "not (or no longer) open here"

// movedButtons is row 11: a button counts on its own message in its own chat, with every field as it was drawn.
func movedButtons() (out []attack) {
	out = append(out, everywhere(11, "in-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		other := elsewhere(t, w, surface, k.name+"-other")
		at := other.over(1)
		other.refused(ana, at, k.one(s, "Allow once"), notHere)
		k.still(1)
		k.end()
	})...)
	out = append(out, everywhere(11, "in-another-chat-that-asks", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		other := elsewhere(t, w, surface, k.name+"-other", wants(call("box", "write", args(k.name, "n", "2"))))
		at := other.asking(1)
		other.refused(ana, at, k.one(s, "Allow once"), notHere)
		k.still(1)
		other.still(1)
		other.end()
		k.end()
	})...)
	out = append(out, everywhere(11, "of-an-earlier-turn", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface)
		s := k.asking(1)
		b := k.one(s, "Allow once")
		k.end()
		k.again(ana, k.name+"-2", wants(write(k.name)))
		now := k.asking(1)
		k.refused(ana, now, b, "")
		k.still(1)
		k.end()
	})...)
	for name, token := range map[string]string{"token-made-up": "made-up", "token-empty": "", "token-star": "*", "token-index": "0", "token-latest": "latest", "token-long": longToken} {
		out = append(out, everywhere(11, name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface)
			s := k.asking(1)
			b := k.one(s, "Allow once")
			b.token, b.slack.Value, b.discord.ID = token, token, "nod:allow_once:"+token
			k.press(t, ana, s, b)
			k.still(1)
			k.end()
		})...)
	}
	for name, change := range map[string]func(p map[string]any){
		"channel": func(p map[string]any) {
			p["channel"] = map[string]any{"id": "C9999"}
			p["container"].(map[string]any)["channel_id"] = "C9999"
		},
		"message": func(p map[string]any) {
			p["container"].(map[string]any)["message_ts"] = "1700000000.000100"
			p["message"].(map[string]any)["ts"] = "1700000000.000100"
		},
		"thread": func(p map[string]any) {
			p["container"].(map[string]any)["thread_ts"] = "1700000000.000100"
			p["message"].(map[string]any)["thread_ts"] = "1700000000.000100"
		},
		"action-id":  func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:allow_once" },
		"choice":     func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:approve_all:1" },
		"run-again":  func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:run_again:1" },
		"happened":   func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:happened:1" },
		"ask-again":  func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:ask_again:1" },
		"undo":       func(p map[string]any) { p["actions"].([]any)[0].(map[string]any)["action_id"] = "nod:undo:1" },
		"no-channel": func(p map[string]any) { delete(p, "channel"); delete(p["container"].(map[string]any), "channel_id") },
	} {
		out = append(out, on(11, "slack", "field-"+name, func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
			change(p)
			w.postSlack(t, p, signing{})
			k.still(1)
			k.end()
		}))
	}
	for name, change := range map[string]func(p map[string]any, token string){
		"channel": func(p map[string]any, _ string) {
			p["channel_id"] = "610000000000000098"
			p["channel"].(map[string]any)["id"] = "610000000000000098"
		},
		"parent":       func(p map[string]any, _ string) { p["channel"].(map[string]any)["parent_id"] = "610000000000000098" },
		"message":      func(p map[string]any, _ string) { p["message"].(map[string]any)["id"] = "610000000000000098" },
		"choice":       func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:approve_all:" + tok },
		"run-again":    func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:run_again:" + tok },
		"happened":     func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:happened:" + tok },
		"ask-again":    func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:ask_again:" + tok },
		"undo":         func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:undo:" + tok },
		"prefix":       func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "bot:allow_once:" + tok },
		"no-channel":   func(p map[string]any, _ string) { delete(p, "channel_id"); delete(p, "channel") },
		"choice-upper": func(p map[string]any, tok string) { p["data"].(map[string]any)["custom_id"] = "nod:ALLOW_ONCE:" + tok },
	} {
		out = append(out, on(11, "discord", "field-"+name, func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			b := k.one(s, "Allow once")
			p := k.place.(*strand).wire(t, ana, s, b)
			change(p, b.ticket())
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.still(1)
			k.end()
		}))
	}
	for _, choice := range []string{"approve_all", "run_again", "happened", "ask_again", "undo", "revoke", "view", "deny_reason", ""} {
		out = append(out, on(11, "web", "field-choice-"+slug(choice+" "), func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			b := k.one(s, "Allow once")
			b.choice = choice
			k.refused(ana, s, b, "")
			k.still(1)
			k.end()
		}))
	}
	out = append(out, on(11, "web", "approve-with-a-call-of-another-chat", func(t *testing.T, w *world) {
		k := begin(t, w, "web")
		s := k.asking(1)
		other := elsewhere(t, w, "web", k.name+"-other", wants(call("box", "write", args(k.name, "n", "2"))))
		at := other.asking(1)
		body := map[string]any{"request_id": k.one(s, "Allow once").token, "tool_call_id": firstCall(at), "approved": true}
		if status, answer := w.sessions[ana].call(t, http.MethodPost, "/api/v1/tools/approve", body); status < 400 {
			t.Errorf("%d %s", status, answer)
		}
		k.still(1)
		other.end()
		k.end()
	}))
	return out
}

const longToken = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// firstCall is the id of the call that a card on the web asks for.
func firstCall(s shot) (id string) {
	walk([]byte(s.raw), func(o map[string]any) {
		if o["type"] == "ask" {
			id, _ = o["tool_call_id"].(string)
		}
	})
	return id
}

// elsewhere is another chat of Ana's on the same surface. Its calls carry the case's path.
func elsewhere(t *testing.T, w *world, surface, name string, script ...reply) *talk {
	t.Helper()
	k := &talk{world: w, t: t, name: idOf(t)}
	w.pen.learn(name, script...)
	for _, s := range surfaces {
		if s.name == surface {
			k.place = s.open(w, t, "please #"+name)
		}
	}
	return k
}
