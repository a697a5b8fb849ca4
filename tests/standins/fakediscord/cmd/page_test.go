package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/stand"
)

var updateCards = flag.Bool("update-cards", false, "write docs/cards-discord.png: the states of a question")

// The states of a question, as docs/cards.md shows them: what Discord's encoder writes, as this page draws it.
func TestCards(t *testing.T) {
	s := fakediscord.New(fakediscord.Options{Clock: fakediscord.NewManual()})
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	for _, state := range []string{"asking", "reads", "dangerous", "masked", "replaces", "lines", "unknown", "expired", "decided"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "adapters", "discord", "components", "testdata", "shapes", state+".json"))
		if err != nil {
			t.Fatal(err)
		}
		components, err := stand.Field(raw, "components")
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"flags":%d,"components":%s}`, 1<<15, components)
		code, answer := browse(t, "POST", s.URL()+"/api/v10/channels/201/messages", body, "application/json", "Authorization", "Bot "+s.Token())
		if code != http.StatusOK {
			t.Fatal(state, answer)
		}
	}
	_, page := browse(t, "GET", s.URL()+"/?me=101&channel=201", "", formKind)
	for _, want := range []string{"Write hello to notes.txt?", "Allow these 5", "Show what is hidden", "On Fridays somebody shows something.", "It happened", "Ask again"} {
		if !strings.Contains(page, want) {
			t.Errorf("no state says %q", want)
		}
	}
	if *updateCards {
		if err := stand.Sheet(page, "main .log", "header,nav,aside,.say,main>h1", filepath.Join("..", "..", "..", "..", "docs", "cards-discord.png"), 2070, 1400); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const card = `{"flags":32768,"components":[{"type":17,"accent_color":16755200,"components":[{"type":10,"content":"I'll read **both** files. <script>alert(1)</script>"},
{"type":10,"content":"-# done: a step\n### Allow it, <@101>?"},{"type":1,"components":[{"type":2,"style":2,"custom_id":"once","label":"Allow once"},{"type":2,"style":4,"custom_id":"no","label":"Deny"}]},
{"type":1,"components":[{"type":3,"custom_id":"more","options":[{"label":"Why am I asked?","value":"why"}]}]}]}]}`

// browse makes one request as a browser would.
func browse(t *testing.T, method, address, body, kind string, head ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
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
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

const formKind = "application/x-www-form-urlencoded"

func TestPage(t *testing.T) {
	clock := fakediscord.NewManual()
	s := fakediscord.New(fakediscord.Options{Clock: clock})
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	do := func(pairs ...string) string {
		t.Helper()
		form := url.Values{"me": {"101"}, "channel": {"201"}}
		for i := 0; i+1 < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		code, body := browse(t, "POST", s.URL()+"/do", form.Encode(), formKind)
		if code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		return body
	}
	if body := do("do", "say", "text", "hello @nod"); !strings.Contains(body, "hello @nod") {
		t.Error(body)
	}
	if m := s.Messages("201")[0]; m.Content != "hello <@"+s.BotUser()+">" || m.Author != "101" {
		t.Errorf("%+v", m)
	}
	code, answer := browse(t, "POST", s.URL()+"/api/v10/channels/201/messages", card, "application/json", "Authorization", "Bot "+s.Token())
	if code != 200 {
		t.Fatal(answer)
	}
	_, body := browse(t, "GET", s.URL()+"/?channel=201", "", formKind)
	for _, want := range []string{"<strong>both</strong>", "<small><p>done: a step</p>", "<h3>Allow it, @Ana?</h3>", `class="s4"`, "Allow once</button>", `value="why"`, "--c:#ffaa00"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "<script>alert") {
		t.Error("a message runs as a script")
	}
	if body := do("do", "click", "message", s.Mine("201")[0].ID, "what", "gone"); !strings.Contains(body, "0 buttons answer to") {
		t.Error("a button that is not there could be pressed")
	}
	if body := do("do", "say", "text", "/nod help"); !strings.Contains(body, "no command /nod") {
		t.Error("a command that is not registered could be used")
	}
	if body := do("do", "say", "channel", "9", "text", "x"); !strings.Contains(body, "no channel 9") {
		t.Error("no problem was shown")
	}
	if code, _ := browse(t, "POST", s.URL()+"/do", "do=say", formKind, "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("another site could post: %d", code)
	}
	if code, _ := browse(t, "GET", s.URL()+"/", "", formKind, "Host", "evil.example"); code != http.StatusForbidden {
		t.Errorf("by another name: %d", code)
	}
}
