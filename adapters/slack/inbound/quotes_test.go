package inbound

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
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
