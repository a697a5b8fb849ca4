package attacks

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// flip changes one hexadecimal digit.
func flip(s string, i int) string {
	c := byte('0')
	if s[i] == '0' {
		c = '1'
	}
	return s[:i] + string(c) + s[i+1:]
}

// forgeries is row 10: a request that the platform did not sign, or that is not of now, reaches nothing; one that comes again counts once.
func forgeries() (out []attack) {
	same := func(s string) func(string) string { return func(string) string { return s } }
	for name, s := range map[string]signing{
		"no-signature":        {drop: []string{"X-Slack-Signature"}},
		"no-timestamp":        {drop: []string{"X-Slack-Request-Timestamp"}},
		"no-headers":          {drop: []string{"X-Slack-Signature", "X-Slack-Request-Timestamp"}},
		"empty-signature":     {signature: same("")},
		"version-only":        {signature: same("v0=")},
		"another-secret":      {secret: "somebody-elses"},
		"version-1":           {signature: func(s string) string { return "v1" + s[2:] }},
		"no-version":          {signature: func(s string) string { return s[3:] }},
		"first-byte":          {signature: func(s string) string { return flip(s, 3) }},
		"middle-byte":         {signature: func(s string) string { return flip(s, 35) }},
		"last-byte":           {signature: func(s string) string { return flip(s, len(s)-1) }},
		"cut":                 {signature: func(s string) string { return s[:len(s)-2] }},
		"longer":              {signature: func(s string) string { return s + "00" }},
		"zeros":               {signature: same("v0=" + strings.Repeat("0", 64))},
		"no-hex":              {signature: same("v0=" + strings.Repeat("z", 64))},
		"two-signatures":      {signature: func(s string) string { return "v0=" + strings.Repeat("0", 64) + "," + s }},
		"old":                 {age: 6 * time.Minute},
		"very-old":            {age: 24 * 365 * time.Hour},
		"future":              {age: -6 * time.Minute},
		"timestamp-moved":     {timestamp: func(s string) string { return flip(s, len(s)-1) }},
		"timestamp-text":      {timestamp: same("now")},
		"timestamp-empty":     {timestamp: same("")},
		"timestamp-negative":  {timestamp: func(s string) string { return "-" + s }},
		"timestamp-fraction":  {timestamp: func(s string) string { return s + ".0" }},
		"timestamp-overflow":  {timestamp: same("99999999999999999999")},
		"body-byte-flipped":   {body: func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		"body-appended":       {body: func(b []byte) []byte { return append(b, "&payload={}"...) }},
		"body-cut":            {body: func(b []byte) []byte { return b[:len(b)-1] }},
		"signed-for-no-body":  {body: func(b []byte) []byte { return b }, signature: same("v0=" + hex.EncodeToString(make([]byte, 32)))},
		"get":                 {method: http.MethodGet},
		"put":                 {method: http.MethodPut},
		"longer-than-allowed": {body: func(b []byte) []byte { return append(b, make([]byte, 2<<20)...) }},
	} {
		out = append(out, on(10, "slack", name, func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			shot := k.asking(1)
			if got := w.postSlack(t, k.place.(*thread).wire(t, ana, shot, k.one(shot, "Allow once")), s); got < 400 {
				t.Errorf("status %d", got)
			}
			k.still(1)
			k.end()
		}))
	}
	for name, f := range map[string]fakediscord.Forgery{
		"another-key": {Key: true}, "no-headers": {NoHeaders: true}, "zeros": {Signature: strings.Repeat("0", 128)}, "no-hex": {Signature: strings.Repeat("z", 128)},
		"short": {Signature: strings.Repeat("0", 126)}, "long": {Signature: strings.Repeat("0", 130)}, "one-byte": {Signature: "00"}, "old": {Stale: 6 * time.Minute}, "very-old": {Stale: 24 * 365 * time.Hour},
		"future": {Stale: -24 * time.Hour}, "oversize": {Pad: 2 << 20}, "another-body": {Body: "swapped"},
	} {
		out = append(out, on(10, "discord", name, func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			deny, allow := k.place.(*strand).wire(t, ana, s, k.one(s, "Deny")), marshal(k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once")))
			payload := any(allow)
			if f.Body != "" { // the signature is that of another request
				payload, f.Body = deny, string(allow)
			}
			if got := w.postDiscord(t, payload, f); got < 400 {
				t.Errorf("status %d", got)
			}
			k.still(1)
			k.end()
		}))
	}
	for i, name := range []string{"first", "middle", "last"} {
		out = append(out, on(10, "discord", name+"-digit-of-the-signature", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			body := marshal(k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once")))
			_, signature := w.discord.Sign(time.Now(), body)
			if got := w.postDiscord(t, body, fakediscord.Forgery{Signature: flip(signature, i*(len(signature)-1)/2)}); got != http.StatusUnauthorized {
				t.Errorf("status %d", got)
			}
			k.still(1)
			k.end()
		}))
	}
	out = append(out, replays()...)
	return append(append(out, malformed()...), crossSite()...)
}

// replays: the same true click again and again is one click.
func replays() []attack {
	return []attack{
		on(10, "slack", "replayed-100-times", func(t *testing.T, w *world) {
			k := begin(t, w, "slack")
			s := k.asking(1)
			p := k.place.(*thread).wire(t, ana, s, k.one(s, "Allow once"))
			for range 100 {
				w.postSlack(t, p, signing{})
			}
			k.over(1)
			for range 10 {
				w.postSlack(t, p, signing{})
			}
			k.again(ana, k.name+"-2", wants(write(k.name))) // no old click answers a new ask
			k.asking(1)
			w.postSlack(t, p, signing{})
			k.times(1)
			k.denyAll()
			k.over(2)
			k.times(1)
		}),
		on(10, "discord", "replayed-100-times", func(t *testing.T, w *world) {
			k := begin(t, w, "discord")
			s := k.asking(1)
			p := marshal(k.place.(*strand).wire(t, ana, s, k.one(s, "Allow once")))
			for range 100 {
				w.postDiscord(t, p, fakediscord.Forgery{})
			}
			k.over(1)
			k.again(ana, k.name+"-2", wants(write(k.name)))
			k.asking(1)
			w.postDiscord(t, p, fakediscord.Forgery{})
			k.times(1)
			k.denyAll()
			k.over(2)
			k.times(1)
		}),
		on(10, "web", "replayed-100-times", func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			b := k.one(s, "Allow once")
			for range 100 {
				k.press(t, ana, s, b)
			}
			k.over(1)
			k.again(ana, k.name+"-2", wants(write(k.name)))
			k.asking(1)
			k.press(t, ana, s, b)
			k.times(1)
			k.denyAll()
			k.over(2)
			k.times(1)
		}),
	}
}

// malformed are requests that are signed and mean nothing.
func malformed() (out []attack) {
	for name, body := range map[string]string{
		"no-json": "payload=hello", "empty": "", "no-payload": "x=1", "json-array": "payload=[]", "null": "payload=null", "deep": "payload=" + strings.Repeat("[", 20_000), "broken-form": "payload=%zz", "number": "payload=7",
		"actions-no-list": `payload={"type":"block_actions","actions":{"a":1}}`, "empty-actions": `payload={"type":"block_actions","actions":[]}`, "nul-bytes": "payload=%00%00",
	} {
		out = append(out, on(10, "slack", "malformed-"+name, func(t *testing.T, w *world) {
			if got := w.postSlack(t, []byte(body), signing{}); got >= 500 {
				t.Errorf("status %d", got)
			}
			k := begin(t, w, "slack") // and it is still there
			k.asking(1)
			k.end()
		}))
	}
	for name, body := range map[string]string{
		"no-json": "hello", "empty": "", "array": "[]", "null": "null", "deep": strings.Repeat("[", 20_000), "type-text": `{"type":"three"}`, "no-data": `{"type":3,"id":"1","token":"x"}`, "data-list": `{"type":3,"id":"1","token":"x","data":[]}`,
	} {
		out = append(out, on(10, "discord", "malformed-"+name, func(t *testing.T, w *world) {
			if got := w.postDiscord(t, []byte(body), fakediscord.Forgery{}); got >= 500 {
				t.Errorf("status %d", got)
			}
			k := begin(t, w, "discord")
			k.asking(1)
			k.end()
		}))
	}
	for name, body := range map[string]string{
		"no-json": "hello", "empty": "", "array": "[]", "deep": strings.Repeat("[", 60_000), "choice-number": `{"choice":1}`, "choice-list": `{"choice":["allow_once"]}`, "choice-case": `{"choice":"ALLOW_ONCE"}`, "choice-space": `{"choice":"allow_once "}`,
		"choice-empty": `{"choice":""}`, "choice-unknown": `{"choice":"allow_forever"}`, "oversize": `{"choice":"allow_once","reason":"` + strings.Repeat("x", 4<<20) + `"}`, "invalid-utf8": "{\"choice\":\"allow_once\",\"reason\":\"\xff\"}",
	} {
		out = append(out, on(10, "web", "malformed-"+name, func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			if status, answer := w.sessions[ana].call(t, http.MethodPost, "/api/v1/asks/"+k.one(s, "Allow once").token, []byte(body)); status < 400 || status >= 500 {
				t.Errorf("%d %s", status, answer)
			}
			k.still(1)
			k.end()
		}))
	}
	return out
}

// crossSite are requests that another site makes a browser send, with Ana's cookie.
func crossSite() (out []attack) {
	for name, h := range map[string]http.Header{
		"host-of-another":       {"Host": {"evil.example"}},
		"host-rebound":          {"Host": {"127.0.0.1.nip.io"}},
		"host-empty-label":      {"Host": {"localhost."}},
		"host-with-user":        {"Host": {"localhost.evil.example:80"}},
		"origin-of-another":     {"Origin": {"https://evil.example"}},
		"origin-null":           {"Origin": {"null"}},
		"origin-other-port":     {"Origin": {"http://127.0.0.1:1"}},
		"origin-other-scheme":   {"Origin": {"file://127.0.0.1"}},
		"origin-with-our-name":  {"Origin": {"http://127.0.0.1.evil.example"}},
		"fetch-site-cross":      {"Sec-Fetch-Site": {"cross-site"}},
		"fetch-site-same-site":  {"Sec-Fetch-Site": {"same-site"}},
		"fetch-cross-and-plain": {"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"text/plain"}},
		"form-post":             {"Origin": {"https://evil.example"}, "Content-Type": {"application/x-www-form-urlencoded"}},
		"forwarded-host":        {"Host": {"evil.example"}, "X-Forwarded-Host": {"127.0.0.1"}},
	} {
		out = append(out, on(10, "web", "cross-site-"+name, func(t *testing.T, w *world) {
			k := begin(t, w, "web")
			s := k.asking(1)
			b := k.one(s, "Allow once")
			h := h.Clone()
			h.Set("Cookie", "nod_session="+w.sessions[ana].key)
			if h.Get("Content-Type") == "" {
				h.Set("Content-Type", "application/json")
			}
			for path, body := range map[string]any{"/api/v1/asks/" + b.token: map[string]string{"choice": "allow_once"}, "/api/v1/tools/approve": map[string]any{"request_id": b.token, "approved": true}} {
				if status, answer := w.request(t, http.MethodPost, path, marshal(body), h); status != http.StatusForbidden {
					t.Errorf("%s: %d %s", path, status, answer)
				}
			}
			k.still(1)
			k.end()
		}))
	}
	// The same cookie in our own page's request is Ana's: what the cases above are refused for is what they differ in.
	out = append(out, on(10, "web", "own-page-control", func(t *testing.T, w *world) {
		k := begin(t, w, "web")
		s := k.asking(1)
		h := http.Header{"Cookie": {"nod_session=" + w.sessions[ana].key}, "Content-Type": {"application/json"}, "Origin": {w.url}, "Sec-Fetch-Site": {"same-origin"}}
		if status, answer := w.request(t, http.MethodPost, "/api/v1/asks/"+k.one(s, "Allow once").token, marshal(map[string]string{"choice": "allow_once"}), h); status != http.StatusOK {
			t.Errorf("%d %s", status, answer)
		}
		k.over(1)
		k.times(1)
	}))
	return out
}
