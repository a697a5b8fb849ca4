package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/suites/conformance"
)

const kindForm = "application/x-www-form-urlencoded"

// forgeries are what anybody could post to the three addresses.
func (w *workspace) forgeries(by conformance.Who, text string) []conformance.Forgery {
	now := time.Now().Unix()
	sign := func(secret string, at int64, r request) request {
		r.header = map[string]string{"X-Slack-Request-Timestamp": strconv.FormatInt(at, 10), "X-Slack-Signature": fakeslack.Sign(secret, at, []byte(r.body))}
		return r
	}
	with := func(r request, header, value string) request {
		r.header[header] = value
		return r
	}
	plain := map[string]func(int) request{
		"event":   func(n int) request { return w.forgedEvent(by, text, n) },
		"click":   func(n int) request { return w.forgedClick(by, n) },
		"command": func(n int) request { return w.forgedCommand(by, n) },
	}
	wrong := []struct {
		name  string
		forge func(r request) request
	}{
		{"no signature at all", func(r request) request { return r }},
		{"no signature", func(r request) request {
			r = sign(conformSigning, now, r)
			delete(r.header, "X-Slack-Signature")
			return r
		}},
		{"an empty signature", func(r request) request { return with(sign(conformSigning, now, r), "X-Slack-Signature", "") }},
		{"a signature of nothing", func(r request) request { return with(sign(conformSigning, now, r), "X-Slack-Signature", "v0=") }},
		{"half a signature", func(r request) request {
			r = sign(conformSigning, now, r)
			return with(r, "X-Slack-Signature", r.header["X-Slack-Signature"][:35])
		}},
		{"another version's signature", func(r request) request {
			r = sign(conformSigning, now, r)
			return with(r, "X-Slack-Signature", "v1"+r.header["X-Slack-Signature"][2:])
		}},
		{"another secret", func(r request) request { return sign("other", now, r) }},
		{"an empty secret", func(r request) request { return sign("", now, r) }},
		{"no timestamp", func(r request) request {
			r = sign(conformSigning, now, r)
			delete(r.header, "X-Slack-Request-Timestamp")
			return r
		}},
		{"an odd timestamp", func(r request) request { return with(sign(conformSigning, now, r), "X-Slack-Request-Timestamp", "now") }},
		{"another timestamp than the signed one", func(r request) request {
			return with(sign(conformSigning, now-1, r), "X-Slack-Request-Timestamp", strconv.FormatInt(now, 10))
		}},
		{"a stale timestamp", func(r request) request { return sign(conformSigning, now-6*60, r) }},
		{"a timestamp of tomorrow", func(r request) request { return sign(conformSigning, now+24*3600, r) }},
		{"a body changed after signing", func(r request) request {
			r = sign(conformSigning, now, r)
			r.body = strings.Replace(r.body, conformPeople[by], conformPeople[1-by], 1)
			return r
		}},
		{"a body with something behind it", func(r request) request { r = sign(conformSigning, now, r); r.body += " "; return r }},
		{"an enormous body", func(r request) request {
			r.body += strings.Repeat(" ", 2*slack.MaxBody)
			return sign(conformSigning, now, r)
		}},
		{"a GET", func(r request) request { r = sign(conformSigning, now, r); r.method = http.MethodGet; return r }},
	}
	var out []conformance.Forgery
	add := func(name string, genuine bool, r request) {
		out = append(out, conformance.Forgery{Name: name, Genuine: genuine, Send: func(ctx context.Context) (bool, error) { return w.send(ctx, r) }})
	}
	for what, make := range plain {
		for i, f := range wrong {
			add(what+" with "+f.name, false, f.forge(make(i)))
		}
	}
	add("a signed event", true, sign(conformSigning, now, plain["event"](100)))
	add("a signed click", true, sign(conformSigning, now, plain["click"](100)))
	return out
}

func (w *workspace) forgedEvent(by conformance.Who, text string, n int) request {
	ts := fmt.Sprintf("1500000000.%06d", n)
	body, _ := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": w.Team(), "event_id": "Ev" + ts, "event": map[string]any{
			"type": "app_mention", "user": conformPeople[by], "channel": conformRoom, "ts": ts, "event_ts": ts, "text": "<@" + w.BotUser() + "> " + text,
		},
	})
	return request{http.MethodPost, slack.PathEvents, "application/json", string(body), nil}
}

// forgedClick presses a button on a message that may or may not exist: the engine knows which.
func (w *workspace) forgedClick(by conformance.Who, n int) request {
	ts := fmt.Sprintf("1500000000.%06d", n)
	button := w.pressable("forged")
	payload, _ := json.Marshal(map[string]any{
		"type": "block_actions", "team": map[string]any{"id": w.Team()}, "user": map[string]any{"id": conformPeople[by], "team_id": w.Team()},
		"container": map[string]any{"type": "message", "message_ts": ts, "channel_id": conformRoom, "thread_ts": ts},
		"channel":   map[string]any{"id": conformRoom}, "message": map[string]any{"ts": ts, "thread_ts": ts}, "trigger_id": "1.2.3",
		"actions": []any{map[string]any{"type": "button", "action_id": button.ActionID, "block_id": button.BlockID, "value": button.Value, "action_ts": ts}},
	})
	return request{http.MethodPost, slack.PathInteractivity, kindForm, url.Values{"payload": {string(payload)}}.Encode(), nil}
}

func (w *workspace) forgedCommand(by conformance.Who, n int) request {
	v := url.Values{"team_id": {w.Team()}, "channel_id": {conformRoom}, "user_id": {conformPeople[by]}, "command": {"/nod"}, "text": {"stop"}, "trigger_id": {fmt.Sprint(n)}}
	return request{http.MethodPost, slack.PathCommands, kindForm, v.Encode(), nil}
}

// claim lets do go out with members in its payload that name somebody else.
func (w *workspace) claim(do func() *conformance.Delivered, lie func(payload map[string]any)) *conformance.Delivered {
	w.Hold(true)
	from := len(w.Deliveries())
	out := do()
	for _, d := range w.Deliveries()[from:] {
		var body map[string]any
		err := json.Unmarshal(d.Payload, &body)
		if err == nil {
			lie(body)
			d.Payload, err = json.Marshal(body)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.Hold(false)
	return out
}

func (w *workspace) sayAs(by, as conformance.Who, in chat.ID, text string) *conformance.Delivered {
	other := conformPeople[as]
	return w.claim(func() *conformance.Delivered { return w.say(by, in, text) }, func(p map[string]any) {
		p["user"], p["user_id"] = other, other
		e := p["event"].(map[string]any)
		e["user_id"], e["username"], e["name"] = other, "ana", "ana"
		e["user_profile"] = map[string]any{"id": other, "user": other, "name": "ana", "display_name": "ana"}
		e["metadata"] = map[string]any{"event_type": "x", "event_payload": map[string]any{"user": other, "user_id": other}}
	})
}

func (w *workspace) pressAs(by, as conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) *conformance.Delivered {
	other := conformPeople[as]
	return w.claim(func() *conformance.Delivered { return w.press(by, in, ref, b) }, func(p map[string]any) {
		p["user_id"] = other
		u := p["user"].(map[string]any)
		u["name"], u["username"], u["user_id"] = other, other, other
		for _, of := range []any{p["message"], p["container"], p["channel"], p["actions"].([]any)[0]} {
			m := of.(map[string]any)
			m["user_id"] = other
			m["user"] = map[string]any{"id": other}
		}
		p["state"] = map[string]any{"values": map[string]any{"user": map[string]any{"user": map[string]any{"type": "users_select", "selected_user": other}}}}
	})
}

// request is a delivery of somebody's own making.
type request struct {
	method, path, kind, body string
	header                   map[string]string
}

func (w *workspace) send(ctx context.Context, r request) (refused bool, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, w.handler.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", r.kind)
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode/100 != 2, err
}
