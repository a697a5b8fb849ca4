package main

import (
	"flag"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

var updateCards = flag.Bool("update-cards", false, "write docs/cards-slack.png, the states of a question, and docs/cards-beside-*.png")

// The states of a question, as docs/cards.md shows them: what Slack's encoder writes, as this page draws it.
func TestCards(t *testing.T) {
	s := fakeslack.New(fakeslack.Options{})
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	base := strings.TrimSuffix(s.URL(), "/api/")
	if code, body := browse(t, "POST", base+"/do", url.Values{"me": {"U1"}, "channel": {"C1"}, "do": {"say"}, "text": {"the states"}}); code != http.StatusOK {
		t.Fatal(code, body)
	}
	root := s.Messages("C1", "")[0].TS
	for _, state := range []string{"asking", "reads_and_write", "dangerous", "masked", "replaces", "big_args", "unknown", "expired", "decided"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "adapters", "slack", "blocks", "testdata", "shapes", state+".json"))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := stand.Field(raw, "blocks")
		if err != nil {
			t.Fatal(err)
		}
		_, answer := browse(t, "POST", s.URL()+"chat.postMessage", url.Values{"token": {s.BotToken()}, "channel": {"C1"}, "thread_ts": {root}, "text": {state}, "blocks": {blocks}})
		if !strings.Contains(answer, `"ok":true`) {
			t.Fatal(state, answer)
		}
	}
	_, page := browse(t, "GET", base+"/?me=U1&channel=C1&thread="+root, nil)
	for _, want := range []string{"Write hello to notes.txt?", "Allow these 5", "Show what is hidden", "On Fridays somebody shows something.", "It happened", "Ask again"} {
		if !strings.Contains(page, want) {
			t.Errorf("no state says %q", want)
		}
	}
	if *updateCards {
		if err := stand.Sheet(page, "aside .log", "header,nav,main,.say,aside>h1,.log>article:first-child", filepath.Join("..", "..", "..", "..", "docs", "cards-slack.png"), 2070, 1400); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const card = `[{"type":"markdown","text":"I'll read **both** files. <script>alert(1)</script>"},
{"type":"plan","title":"Working · 1 of 2 steps","tasks":[{"type":"task_card","task_id":"1","title":"read_file · files","status":"complete","output":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"0.2 s · allowed by policy"}]}]}},{"type":"task_card","task_id":"2","title":"write_file · files","status":"pending"}]},
{"type":"header","text":{"type":"plain_text","text":"⚠️ Allow tool call from files?"}},
{"type":"section","text":{"type":"mrkdwn","text":"Run *write_file* from ` + "`files`" + ` for <@U1>: a &lt; b <https://example.com/x|example.com> *<@U9>*"}},
{"type":"container","is_collapsible":true,"title":{"type":"plain_text","text":"Arguments (2)"},"child_blocks":[{"type":"section","text":{"type":"mrkdwn","text":"` + "```path  notes.txt```" + `"}}]},
{"type":"actions","elements":[{"type":"button","action_id":"chat","value":"1","text":{"type":"plain_text","text":"Allow for this chat"}},{"type":"button","action_id":"once","value":"2","text":{"type":"plain_text","text":"Allow once"}},{"type":"button","action_id":"deny","style":"danger","value":"3","text":{"type":"plain_text","text":"Deny"}},{"type":"overflow","action_id":"more","options":[{"text":{"type":"plain_text","text":"View details"},"value":"d"},{"text":{"type":"plain_text","text":"Edit arguments…"},"value":"w"}]},{"type":"static_select","action_id":"ways","placeholder":{"type":"plain_text","text":"More ways"},"options":[{"text":{"type":"plain_text","text":"For 1 hour"},"value":"h"}]}]},
{"type":"context","elements":[{"type":"mrkdwn","text":"Ana can answer · expires in 60 s"}]}]`

// browse makes one request as a browser would.
func browse(t *testing.T, method, address string, form url.Values, head ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
		if head[i] == "Host" {
			req.Host = head[i+1]
		}
	}
	req.Close = true
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestPage(t *testing.T) {
	s := fakeslack.New(fakeslack.Options{})
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	base := strings.TrimSuffix(s.URL(), "/api/")
	do := func(pairs ...string) string {
		t.Helper()
		form := url.Values{"me": {"U1"}, "channel": {"C1"}}
		for i := 0; i+1 < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		code, body := browse(t, "POST", base+"/do", form)
		if code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		return body
	}
	if body := do("do", "say", "text", "hello @nod"); !strings.Contains(body, `hello <span class="at">@nod</span>`) {
		t.Error(body)
	}
	root := s.Messages("C1", "")[0].TS
	if m, _ := s.Message("C1", root); m.Text != "hello <@U0BOT>" || m.User != "U1" {
		t.Errorf("%+v", m)
	}
	_, answer := browse(t, "POST", s.URL()+"chat.postMessage", url.Values{"token": {s.BotToken()}, "channel": {"C1"}, "thread_ts": {root}, "text": {"x"}, "blocks": {card}})
	if !strings.Contains(answer, `"ok":true`) {
		t.Fatal(answer)
	}
	ts := s.Messages("C1", root)[1].TS
	_, body := browse(t, "GET", base+"/?channel=C1", nil)
	for _, want := range []string{"<strong>both</strong>", "1 reply", `class="task complete"`, "Working · 1 of 2 steps", "0.2 s · allowed by policy", "<b>write_file</b>", "<code>files</code>", `@Ana`, "a &lt; b",
		`<a title="https://example.com/x">example.com</a>`, "<pre>path  notes.txt</pre>", "Arguments (2)", `class="danger"`, "Allow once</button>", "Edit arguments…</button>", "<summary>More ways ▾</summary>", "For 1 hour</button>", "expires in 60 s"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "<script>alert") {
		t.Error("a message runs as a script")
	}
	do("do", "click", "ts", ts, "what", "once=2")
	do("do", "click", "ts", ts, "what", "more=w")
	if body := do("do", "click", "ts", ts, "what", "gone"); !strings.Contains(body, "0 buttons answer to") {
		t.Error("a button that is not there could be pressed")
	}
	do("do", "say", "text", "/nod status")
	var kinds []string
	for _, d := range s.Deliveries() {
		if d.Type != "events_api" {
			kinds = append(kinds, d.Event)
		}
	}
	if got := strings.Join(kinds, " "); got != "block_actions block_actions /nod" {
		t.Errorf("sent %s", got)
	}
	if body := do("do", "say", "channel", "C9", "text", "x"); !strings.Contains(body, "no channel C9") {
		t.Error("no problem was shown")
	}
	if code, _ := browse(t, "POST", base+"/do", url.Values{"do": {"say"}}, "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("another site could post: %d", code)
	}
	if code, _ := browse(t, "GET", base+"/", nil, "Host", "evil.example"); code != http.StatusForbidden {
		t.Errorf("by another name: %d", code)
	}
}
