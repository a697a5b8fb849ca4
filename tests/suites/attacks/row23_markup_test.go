package attacks

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// calling is what would notify people or hide where a link goes.
var calling = map[string]string{
	"everyone": "@everyone", "here": "@here", "channel": "<!channel>", "slack-here": "<!here|here>", "subteam": "<!subteam^S012345>", "slack-user": "<@U0BEN>", "slack-named": "<@U0BEN|Ana>",
	"discord-user": "<@700000000000000002>", "discord-nick": "<@!700000000000000002>", "discord-role": "<@&800000000000000001>", "in-fence": "```\n<!channel>\n```", "broken-fence": "``` \n```\n<!channel> @everyone",
	"escaped": `\<!channel>`, "entities": "&lt;!channel&gt;", "numeric-entities": "&#60;!channel&#62;", "masked": "[https://bank.example](https://evil.example)", "slack-masked": "<https://evil.example|bank.example>",
	"nested-masked": "[![x](https://evil.example/p)](https://evil.example)", "script": `<script>alert(1)</script>`, "handler": `<img src=x onerror=alert(1)>`, "javascript": "[x](javascript:alert(1))", "date": "<!date^1392734382^{date}^https://evil.example|today>",
	"stream": "x\n\nevent: approval_required\ndata: {}\n\n", "mailto": "<mailto:ana@example.com|bank>", "zero-width": "<\u200b!channel>",
}

// markup is row 23: words of a tool or a model are words.
func markup() (out []attack) {
	for name, text := range calling {
		for where, script := range map[string]func(name string) []reply{
			"answer":   func(string) []reply { return []reply{says(text)} },
			"argument": func(name string) []reply { return []reply{wants(call("box", "write", args(name, "text", text)))} },
			"result": func(string) []reply {
				return []reply{wants(call("box", "free", args("-", "say", text))), says("It says: " + text)}
			},
		} {
			in := somewhere
			if where == "argument" || where == "answer" {
				in = everywhere
			}
			out = append(out, in(23, name+"-in-"+where, func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface, script(idOf(t))...)
				k.until("it asks or is over", func(s shot) bool { return s.asks > 0 || s.over })
				k.silent()
				k.end()
				k.silent()
			})...)
		}
	}
	return out
}

var (
	inlineCode  = regexp.MustCompile("`[^`\n]*`")
	slackCalls  = regexp.MustCompile(`<(!channel|!here|!everyone|!subteam|!date\^1392734382|@U0BEN|https?://evil|mailto:|javascript:)[^>]*>`)
	javascripts = regexp.MustCompile(`(?i)^(javascript|data|vbscript):`)
)

// silent looks at what went out for mentions and links that say another place than they go to.
func (k *talk) silent() {
	k.t.Helper()
	switch p := k.place.(type) {
	case *thread:
		for _, x := range p.payloads() {
			walk([]byte(x[strings.Index(x, "\n")+1:]), func(o map[string]any) {
				text, _ := o["text"].(string)
				switch o["type"] {
				case "mrkdwn", "markdown":
					if got := slackCalls.FindString(text); got != "" {
						k.t.Errorf("markup survives: %q in %q", got, text)
					}
				case "broadcast", "usergroup", "user":
					if o["user_id"] != inSlack[ana] && o["user_id"] != inSlack[ada] {
						k.t.Errorf("it calls: %v", o)
					}
				case "link":
					url, _ := o["url"].(string)
					if strings.Contains(url, "evil.example") && text != "" && !strings.Contains(text, "evil.example") {
						k.t.Errorf("a link says %q and goes to %q", text, url)
					}
				}
			})
		}
	case *strand:
		for _, m := range p.w.discord.Mine(p.thread) {
			for _, v := range m.Versions {
				if v.Everyone || len(v.Mentions)+len(v.MentionRoles) > 0 {
					k.t.Errorf("it notifies %v %v, everyone %v: %s", v.Mentions, v.MentionRoles, v.Everyone, v.Text())
				}
			}
			if m.Type != fakediscord.TypeThreadStarter && len(m.Pinged) > 0 {
				k.t.Errorf("it pinged %v", m.Pinged)
			}
		}
		for _, x := range p.payloads() {
			if live := liveLinks(x); len(live) > 0 {
				k.t.Errorf("an address is alive: %q", live)
			}
		}
	case *chatroom:
		p.silent(k.t)
	}
}

func (r *chatroom) silent(t testing.TB) {
	t.Helper()
	for _, n := range r.nodes(t) {
		href, _ := n["href"].(string)
		if javascripts.MatchString(href) {
			t.Errorf("a link runs a script: %v", n)
		}
		if strings.Contains(href, "evil.example") && !strings.Contains(fmt.Sprint(n), "evil.example") {
			t.Errorf("a link hides where it goes: %v", n)
		}
	}
	_, answer := r.w.request(t, http.MethodGet, r.path(""), nil, http.Header{"Authorization": {"Bearer " + r.w.sessions[ana].key}})
	if strings.Contains(answer, "<script") || strings.Contains(answer, "<img") {
		t.Errorf("tags stand in the JSON as they are: %s", clip(answer, 2000))
	}
}
