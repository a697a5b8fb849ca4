package discord_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// The headers of a signature, as Discord's documentation writes them.
const (
	signatureHeader = "X-Signature-Ed25519"
	timestampHeader = "X-Signature-Timestamp"
)

// request is a delivery of somebody's own making.
type request struct {
	method, body string
	header       http.Header
}

func (r request) with(header string, values ...string) request {
	r.header = r.header.Clone()
	r.header.Del(header)
	for _, v := range values {
		r.header.Add(header, v)
	}
	return r
}

func (r request) get(header string) string { return r.header.Get(header) }

// signed is a request as Discord signs it.
func (w *guild) signed(at time.Time, body string) request {
	stamp, signature := w.Sign(at, []byte(body))
	return request{http.MethodPost, body, http.Header{timestampHeader: {stamp}, signatureHeader: {signature}}}
}

// forgeries are what anybody could post.
func (w *guild) forgeries(by conformance.Who, text string) []conformance.Forgery {
	now := w.clock.Now()
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	own := func(key ed25519.PrivateKey, over string) string {
		return hex.EncodeToString(ed25519.Sign(key, []byte(over)))
	}
	unix := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	wrong := []struct {
		name  string
		forge func(r request) request
	}{
		{"no signature at all", func(r request) request { return r.with(signatureHeader).with(timestampHeader) }},
		{"no signature", func(r request) request { return r.with(signatureHeader) }},
		{"an empty signature", func(r request) request { return r.with(signatureHeader, "") }},
		{"half a signature", func(r request) request { return r.with(signatureHeader, r.get(signatureHeader)[:64]) }},
		{"a signature and a half", func(r request) request {
			return r.with(signatureHeader, r.get(signatureHeader)+r.get(signatureHeader)[:64])
		}},
		{"a signature of zeros", func(r request) request { return r.with(signatureHeader, strings.Repeat("0", 128)) }},
		{"a signature that is no hexadecimal", func(r request) request { return r.with(signatureHeader, strings.Repeat("x", 128)) }},
		{"a signature with one bit turned", func(r request) request { return r.with(signatureHeader, turned(r.get(signatureHeader))) }},
		{"another key's signature", func(r request) request { return r.with(signatureHeader, own(stranger, unix(now)+r.body)) }},
		{"the public key for a signature", func(r request) request { return r.with(signatureHeader, w.PublicKey()+w.PublicKey()) }},
		{"two signatures", func(r request) request {
			return r.with(signatureHeader, r.get(signatureHeader), own(stranger, unix(now)+r.body))
		}},
		{"no timestamp", func(r request) request { return r.with(timestampHeader) }},
		{"two timestamps", func(r request) request { return r.with(timestampHeader, unix(now), unix(now.Add(-time.Hour))) }},
		{"an odd timestamp", func(r request) request { return r.with(timestampHeader, "now") }},
		{"another timestamp than the signed one", func(r request) request {
			return w.signed(now.Add(-time.Second), r.body).with(timestampHeader, unix(now))
		}},
		{"a timestamp that takes the start of the body", func(r request) request { // what is signed has no border between the two
			stamp := unix(now)
			shifted := w.signed(now, r.body).with(timestampHeader, stamp[:len(stamp)-1])
			shifted.body = stamp[len(stamp)-1:] + r.body
			return shifted
		}},
		{"a stale timestamp", func(r request) request { return w.signed(now.Add(-6*time.Minute), r.body) }},
		{"a timestamp of tomorrow", func(r request) request { return w.signed(now.Add(24*time.Hour), r.body) }},
		{"a body changed after signing", func(r request) request {
			r.body = strings.ReplaceAll(r.body, w.people[by], w.people[1-by])
			return r
		}},
		{"a body with something behind it", func(r request) request { r.body += " "; return r }},
		{"an enormous body", func(r request) request { return w.signed(now, r.body+strings.Repeat(" ", 2*discord.MaxRequest)) }},
		{"a GET", func(r request) request { r.method = http.MethodGet; return r }},
	}
	plain := map[string]func(n int) string{
		"a click": func(n int) string { return w.forged(by, n, 3, w.press0("forged")) },
		"a form":  func(n int) string { return w.forged(by, n, 5, w.form0("forged", text)) },
		"a command": func(n int) string {
			return w.forged(by, n, 2, map[string]any{"id": "1", "name": "nod", "type": 1, "options": []any{map[string]any{"name": "stop", "type": 1}}})
		},
		"a PING": func(n int) string { return w.forged(by, n, 1, nil) },
	}
	var out []conformance.Forgery
	add := func(name string, genuine bool, r request) {
		out = append(out, conformance.Forgery{Name: name, Genuine: genuine, Send: func(ctx context.Context) (bool, error) { return w.send(ctx, r) }})
	}
	for what, body := range plain {
		for i, f := range wrong {
			add(what+" with "+f.name, false, f.forge(w.signed(now, body(i))))
		}
	}
	add("a signed click", true, w.signed(now, plain["a click"](100)))
	add("a signed form", true, w.signed(now, plain["a form"](101)))
	add("a signed form of four minutes ago", true, w.signed(now.Add(-4*time.Minute), plain["a form"](102)))
	return out
}

func turned(hexed string) string {
	raw, _ := hex.DecodeString(hexed)
	raw[20] ^= 1
	return hex.EncodeToString(raw)
}

// press0 is what a click on the adapter's own button says, form0 a form of its own with a reason.
func (w *guild) press0(token string) map[string]any {
	return map[string]any{"component_type": 2, "custom_id": w.pressable(token).ID, "id": 5}
}

func (w *guild) form0(token, reason string) map[string]any {
	id, field := discord.ReasonForm(token)
	return map[string]any{"custom_id": id, "components": []any{map[string]any{"type": 1, "id": 1, "components": []any{map[string]any{"type": 4, "id": 2, "custom_id": field, "value": reason}}}}}
}

// forged is an interaction on a message that may or may not exist: the engine knows which.
func (w *guild) forged(by conformance.Who, n, kind int, data map[string]any) string {
	id := strconv.Itoa(700_000_000_000_000_000 + 10*n + kind)
	body, _ := json.Marshal(map[string]any{
		"id": id, "application_id": w.AppID(), "type": kind, "token": "aW50ZXJhY3Rpb24" + id, "version": 1, "guild_id": w.Guild(), "channel_id": w.room,
		"channel": map[string]any{"id": w.room, "type": 0, "guild_id": w.Guild()}, "message": map[string]any{"id": id, "channel_id": w.room}, "data": data,
		"member": map[string]any{"roles": []any{}, "user": map[string]any{"id": w.people[by], "username": "somebody"}},
	})
	return string(body)
}

func (w *guild) send(ctx context.Context, r request) (refused bool, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, w.handler.URL+discord.PathInteractions, strings.NewReader(r.body))
	if err != nil {
		return false, err
	}
	req.Header = r.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode/100 != 2, err
}

// nowhere is an endpoint that takes interactions and does nothing with them.
func nowhere(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.Trim(r.Header.Get(signatureHeader), "0") == "": // Discord looks whether it is refused
		w.WriteHeader(http.StatusUnauthorized)
	case bytes.Contains(body, []byte(`"token":"ping"`)):
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"type":1}`))
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// account is a user as Discord gives it.
func (w *guild) account(who conformance.Who) map[string]any {
	return w.get("/users/" + w.people[who])
}

// sayAs writes a message that nobody mayBeForBot, and lets the event of another one come for it that names somebody else wherever there is
// room for a name: as if it were Discord's habit to add such members.
func (w *guild) sayAs(by, as conformance.Who, in chat.ID, text string) *conformance.Delivered {
	room := w.spot(in)
	id := w.Say(w.people[by], room, text)
	data, other := w.wire(room, id), w.account(as)
	data["guild_id"] = w.Guild()
	data["content"] = w.bot() + text
	data["mentions"] = []any{w.get("/users/@me"), other}
	for _, k := range []string{"user", "member_user", "sender", "owner"} {
		data[k] = other
	}
	for _, k := range []string{"user_id", "author_id", "username", "nonce"} {
		data[k] = w.people[as]
	}
	member, _ := data["member"].(map[string]any)
	member["user"], member["nick"], member["user_id"] = other, w.people[as], w.people[as]
	author, _ := data["author"].(map[string]any)
	author["username"], author["global_name"], author["user"] = w.people[as], w.people[as], other
	data["interaction_metadata"] = map[string]any{"id": id, "type": 2, "user": other, "user_id": w.people[as]}
	data["referenced_message"] = map[string]any{"id": id, "channel_id": room, "author": other, "content": "as Ana said", "type": 0}
	data["type"], data["message_reference"] = fakediscord.TypeReply, map[string]any{"message_id": id, "channel_id": room}
	w.Send(w.Guild(), "MESSAGE_CREATE", data)
	return w.said(room, id)
}

// pressAs lets an interaction go nowhere, and the same come that names somebody else wherever there is room for a name.
func (w *guild) pressAs(by, as conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) *conformance.Delivered {
	back := ""
	if w.handler != nil {
		back = w.handler.URL + discord.PathInteractions
	}
	deliver := func(to string) {
		if err := w.Deliver(to); err != nil {
			w.t.Fatal(err)
		}
	}
	deliver(w.limbo.URL)
	d, err := w.Press(w.people[by], w.spot(in), string(ref), w.nth(b.Key))
	if err != nil {
		w.t.Fatal(err)
	}
	deliver(back)
	var p map[string]any
	if err := json.Unmarshal(d.Payload, &p); err != nil {
		w.t.Fatal(err)
	}
	other := w.account(as)
	p["user"], p["user_id"], p["author"], p["target_id"] = other, w.people[as], other, w.people[as]
	member := p["member"].(map[string]any)
	member["nick"], member["user_id"], member["roles"] = w.people[as], w.people[as], []any{}
	user := member["user"].(map[string]any)
	user["username"], user["global_name"], user["user"] = w.people[as], w.people[as], other
	data := p["data"].(map[string]any)
	data["user"], data["user_id"], data["member"] = other, w.people[as], map[string]any{"user": other}
	data["resolved"] = map[string]any{"users": map[string]any{w.people[as]: other}}
	message := p["message"].(map[string]any)
	message["user"], message["interaction_metadata"] = other, map[string]any{"id": "1", "type": 3, "user": other}
	raw, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	if back == "" {
		w.Send(w.Guild(), "INTERACTION_CREATE", p)
	} else if status, _, err := w.ForgeAt(back, raw, fakediscord.Forgery{}); err != nil || status/100 != 2 {
		w.t.Errorf("a click that names somebody else: %d, %v", status, err)
	}
	return w.clicked(d, nil)
}
