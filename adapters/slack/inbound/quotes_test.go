package inbound

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

func message(ts, user, text string) Message {
	return Message{TS: LooseString(ts), User: LooseString(user), Text: LooseString(text)}
}

func TestWorthQuoting(t *testing.T) {
	t.Parallel()
	var msgs []Message
	for i := range 80 {
		msgs = append(msgs, message(fmt.Sprintf("%d.000001", 1000+i), "UBEN", fmt.Sprint(i)))
	}
	own, bots, join, system := message("1001.000002", "UBOT", "own"), message("1001.000003", "", "alert"), message("1001.000004", "UBEN", "joined"), message("1001.000005", "USLACK", "archived")
	ownBot := message("1001.000006", "", "own")
	ownBot.Bot = LooseString(testSelf.Bot)
	bots.Subtype, bots.Bot, join.Subtype = "bot_message", "BALERT", "channel_join"
	msgs = append(msgs, own, bots, join, system, ownBot, message("2000.000000", "UBEN", "the mention itself"), message("2000.000001", "UBEN", "later"))
	kept, left := WorthQuoting(msgs, testSelf, "", "2000.000000")
	if len(kept) != surface.MaxQuotes || left != 31 || kept[0].Text != "0" || kept[1].Text != "31" || kept[len(kept)-1].Text != "79" {
		t.Errorf("%d kept, %d left out, from %q %q to %q", len(kept), left, kept[0].Text, kept[1].Text, kept[len(kept)-1].Text)
	}
	kept, left = WorthQuoting(msgs[80:85], testSelf, "", "2000.000000")
	if len(kept) != 1 || kept[0].Text != "alert" || left != 0 {
		t.Errorf("%+v, %d left out", kept, left)
	}
}

// What stands in a message beside its text, and what the text says already.
func TestWhatIsQuotedOfAMessage(t *testing.T) {
	t.Parallel()
	rich := func(words string) string {
		return `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"` + words + `"}]}]}`
	}
	table := `{"type":"table","rows":[[],[{"type":"raw_text","text":"a"}],[{"type":"raw_number","value":2}]]}`
	here, beside := "a block of this message", "an attachment of this message"
	for name, c := range map[string]struct {
		message, who, want string
	}{
		"what somebody typed is their text":        {`{"text":"hi","blocks":[` + rich("hi there") + `]}`, "", ""},
		"a table that somebody pasted is not":      {`{"text":"hi","blocks":[` + rich("hi") + `,` + table + `]}`, here, "| a |\n| 2 |"},
		"a message whose text did not come":        {`{"blocks":[` + rich("hi there") + `]}`, here, "hi there"},
		"a program's text may be other than it":    {`{"text":"fallback","bot_id":"B1","blocks":[` + rich("hi there") + `]}`, here, "hi there"},
		"a number is a word":                       {`{"text":"version","bot_id":"B1","blocks":[` + rich("version 2") + `]}`, here, "version 2"},
		"what can be pressed or filled in":         {`{"blocks":[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Go"}}]},{"type":"input","label":{"type":"plain_text","text":"Name"}}]}`, "", ""},
		"code":                                     {`{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"ls","style":{"code":true}}]}]}]}`, here, "`ls`"},
		"plain text has no links":                  {`{"blocks":[{"type":"section","text":{"type":"plain_text","text":"a <b>"}}]}`, here, "a <b>"},
		"Markdown names people":                    {`{"blocks":[{"type":"markdown","text":"ask <@UBEN>"}]}`, here, "ask @Ben"},
		"mrkdwn names people":                      {`{"blocks":[{"type":"section","text":{"type":"mrkdwn","text":"ask <@UBEN>"}}]}`, here, "ask @Ben"},
		"forwarded by nobody":                      {`{"attachments":[{"is_share":true,"text":"hi"}]}`, "somebody, forwarded", "hi"},
		"of an author":                             {`{"attachments":[{"author_name":"Ben","text":"hi"}]}`, "Ben", "hi"},
		"a title without a link":                   {`{"attachments":[{"title":"Build 7"}]}`, beside, "Build 7"},
		"a link without a title":                   {`{"attachments":[{"title_link":"https://a.test","text":"hi"}]}`, beside, "hi"},
		"a title with its link":                    {`{"attachments":[{"title":"Build 7","title_link":"https://a.test"}]}`, beside, "Build 7 (https://a.test)"},
		"a fallback where nothing else is":         {`{"attachments":[{"fallback":"Build 7 failed"}]}`, beside, "Build 7 failed"},
		"Slack's own words for having no fallback": {`{"attachments":[{"fallback":"[no preview available]"}]}`, "", ""},
	} {
		var m Message
		if err := json.Unmarshal([]byte(c.message), &m); err != nil {
			t.Fatal(name, err)
		}
		got := m.Quotes(func(id string) string { return map[string]string{"UBEN": "Ben"}[id] })
		var want []chat.Quote
		if c.want != "" {
			want = []chat.Quote{{Name: c.who, Text: c.want}}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestTimestampsAreOrderedAsNumbers(t *testing.T) {
	t.Parallel()
	for _, x := range [][2]string{{"999.9", "1000.1"}, {"1000.000001", "1000.000002"}, {"1000.1", "1001.0"}} {
		if !OlderThan(x[0], x[1]) || OlderThan(x[1], x[0]) || OlderThan(x[0], x[0]) {
			t.Errorf("%v", x)
		}
	}
}

func TestWhatIsReadOfAMessageIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"container","child_blocks":[`, 3000) + strings.Repeat(`]}`, 3000)
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf(`{"type":"section","text":{"type":"mrkdwn","text":"line %d %s"}}`, i, strings.Repeat("x", 50)))
	}
	for _, blocks := range []string{deep, "[" + deep + "]", "[" + strings.Join(many, ",") + "]", `[{"type":"markdown","text":"` + strings.Repeat("é", 1<<20) + `"}]`} {
		m := Message{Bot: "B1", Blocks: json.RawMessage(blocks), Attachments: LooseList[attachment]{{Blocks: json.RawMessage(blocks)}}}
		for _, q := range m.Quotes(func(string) string { return "" }) {
			if len(q.Text) > surface.MaxQuoted {
				t.Errorf("%d bytes", len(q.Text))
			}
		}
	}
}
