package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// The shapes are Slack's, as its pages and people who recorded them have them.
func of(raw string) (one any) {
	if err := json.Unmarshal([]byte(raw), &one); err != nil {
		panic(err)
	}
	return one
}

var (
	alert = of(`{"id":1,"color":"a30200","fallback":"[FIRING:1] Disk full","pretext":"*FIRING*","title":"Disk full","title_link":"https://grafana.example/d/1",
		"text":"db1 is at 99 %, see <https://runbook.example|the runbook>","fields":[{"title":"host","value":"db1","short":true},{"title":"used","value":"99 %"}],"footer":"Grafana"}`)
	forward = of(`{"is_share":true,"is_msg_unfurl":true,"author_id":"UBEN","author_name":"Ben","channel_id":"C9","ts":"1700000000.000100","from_url":"https://acme.slack.com/archives/C9/p1",
		"fallback":"[November 14th, 2023] ben: deploy it","text":"deploy it, says <@UBOT>","message_blocks":[{"team":"T1","channel":"C9","ts":"1700000000.000100","message":{"blocks":[
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"deploy it, says "},{"type":"user","user_id":"UBOT"}]}]}]}}],"files":[{"id":"F1","name":"plan.pdf"}]}`)
	bareForward = of(`{"is_share":true,"author_name":"Ben","text":"","fallback":"[no preview available]","message_blocks":[{"message":{"blocks":[
		{"type":"section","text":{"type":"mrkdwn","text":"*Checkout* is down &amp; out"}}]}}]}`)
	table = of(`{"id":1,"fallback":"[no preview available]","blocks":[{"type":"table","block_id":"t","rows":[
		[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"Name"}]}]},{"type":"raw_text","text":"Amount"}],
		[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"link","url":"https://a.example","text":"Item A"}]}]},{"type":"raw_number","value":1200}]]}]}`)
	incident = []any{
		of(`{"type":"header","text":{"type":"plain_text","text":"New incident","emoji":true}}`),
		of(`{"type":"section","text":{"type":"mrkdwn","text":"*Checkout is down* since 12:03, 5xx=98%"},"fields":[{"type":"mrkdwn","text":"*Severity*\n1"}],"accessory":{"type":"button","text":{"type":"plain_text","text":"Ack"}}}`),
		of(`{"type":"divider"}`), of(`{"type":"image","image_url":"https://i.example/x.png","alt_text":"a graph"}`),
		of(`{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Resolve"}}]}`),
		of(`{"type":"context","elements":[{"type":"mrkdwn","text":"by <https://pd.example|PagerDuty>"}]}`),
	}
	report = []any{of(`{"type":"rich_text","elements":[
		{"type":"rich_text_section","elements":[{"type":"text","text":"Run "},{"type":"text","text":"make all","style":{"code":true}},{"type":"text","text":" first:\n"}]},
		{"type":"rich_text_preformatted","elements":[{"type":"text","text":"panic: oh\n  at ` + "```" + ` line 3"}]},
		{"type":"rich_text_list","style":"ordered","indent":0,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"stop"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"start"}]}]},
		{"type":"rich_text_list","style":"bullet","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"slowly"}]}]},
		{"type":"rich_text_quote","elements":[{"type":"text","text":"as he said\ntwice"}]}]}`)}
	upload      = of(`{"id":"F1","name":"report.csv","title":"Report","mimetype":"text/csv","size":12345,"url_private":"https://files.slack.com/files-pri/T1-F1/report.csv"}`)
	unreadable2 = []any{of(`[1,{"type":7,"text":[{}]},null,"x"]`), of(`{"type":"table","rows":[7,[null,{"type":"raw_text"}]]}`), of(`7`)}
)

func quoted(q []chat.Quote) string {
	var all []string
	for _, x := range q {
		all = append(all, x.Name+": "+x.Text)
	}
	return strings.Join(all, "\n--\n")
}

func TestWhatStandsBesideTheTextIsQuoted(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	for name, x := range map[string]struct {
		with fakeslack.Beside
		want string
	}{
		"an attachment": {fakeslack.Beside{Attachments: []any{alert}}, "an attachment of this message: *FIRING*\nDisk full (https://grafana.example/d/1)\ndb1 is at 99 %, see the runbook (https://runbook.example)\nhost: db1\nused: 99 %\nGrafana"},
		"a forward":     {fakeslack.Beside{Attachments: []any{forward}}, "Ben: deploy it, says @nod\n[file plan.pdf; nod cannot read it]"},
		"its blocks":    {fakeslack.Beside{Attachments: []any{bareForward}}, "Ben: *Checkout* is down & out"},
		"a table":       {fakeslack.Beside{Attachments: []any{table}}, "an attachment of this message: | Name | Amount |\n| --- | --- |\n| Item A (https://a.example) | 1200 |"},
		"several":       {fakeslack.Beside{Attachments: []any{bareForward, bareForward}}, "Ben: *Checkout* is down & out\n--\nBen: *Checkout* is down & out"},
		"nothing":       {fakeslack.Beside{}, ""},
		"odd things":    {fakeslack.Beside{Attachments: []any{7, nil, of(`{"text":{"a":1},"fields":3,"blocks":"x","is_share":"yes"}`), of(`{"blocks":[{"type":"section","text":[1,2]}]}`)}}, ""},
	} {
		before := len(sc.ledger.got())
		sc.slack.SayWith("UANA", "C1", "", "<@UBOT> summarize this", x.with)
		sc.quiet()
		got := sc.ledger.got()
		if len(got) != before+1 {
			t.Fatalf("%s: %d were taken; the log:\n%s", name, len(got)-before, sc.log)
		}
		said := got[before].(chat.Said)
		if q := quoted(said.Context); q != x.want || said.Text != "summarize this" {
			t.Errorf("%s: %q\nwith\n%s\nwant\n%s", name, said.Text, q, x.want)
		}
		for _, q := range said.Context {
			if !q.By.IsZero() {
				t.Errorf("%s: quoted as %v", name, q.By)
			}
		}
	}
}

func TestAForwardWithoutWordsIsNoCryForHelp(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	dm := sc.slack.DM("UANA")
	sc.slack.SayWith("UANA", dm, "", "", fakeslack.Beside{Attachments: []any{forward}})
	sc.quiet()
	said := only[chat.Said](sc)
	if said.Text != surface.SayQuotedAlone || len(said.Context) != 1 || !strings.Contains(said.Context[0].Text, "deploy it") {
		t.Errorf("%+v", said)
	}
	sc.slack.SayWith("UANA", dm, "", "", fakeslack.Beside{Files: []any{upload}}) // nor is a file
	sc.quiet()
	if got := texts(sc.ledger); len(got) != 2 || got[1] != "[file report.csv, 12 KB]" {
		t.Errorf("taken: %q", got)
	}
}

// A mention that somebody else wrote, in what is forwarded or alerted, calls nobody.
func TestAQuotedMentionCallsNobody(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.SayWith("UANA", "C1", "", "look at that", fakeslack.Beside{Attachments: []any{forward}})
	sc.slack.Send(map[string]any{"type": "app_mention", "user": "UANA", "channel": "C1", "text": "look", "ts": "1700000001.000100", "attachments": []any{forward}})
	sc.quiet()
	if got := sc.ledger.asked(); len(got) != 0 {
		t.Errorf("taken: %+v", got)
	}
	sc.slack.SayWith("UANA", "C1", "", "<@UBOT> look at that", fakeslack.Beside{Attachments: []any{forward}})
	sc.quiet()
	only[chat.Said](sc)
}

func TestTheThreadsAlertsAreRead(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root := sc.slack.SayWith("UOTHER", "C1", "", "New incident", fakeslack.Beside{Blocks: incident})
	sc.slack.SayWith("UOTHER", "C1", root, "", fakeslack.Beside{Attachments: []any{alert}})
	sc.slack.SayWith("UOTHER", "C1", root, "", fakeslack.Beside{Blocks: report})
	sc.slack.SayWith("UBEN", "C1", root, "these are the orders", fakeslack.Beside{Attachments: []any{table}})
	sc.slack.SayWith("UBEN", "C1", root, "odd", fakeslack.Beside{Blocks: unreadable2, Attachments: unreadable2})
	sc.slack.SayWith("UBEN", "C1", root, "the numbers", fakeslack.Beside{Files: []any{upload}})
	sc.slack.Say("UBEN", "C1", root, "1. anyone? <@UBEN> *now*, not \u202elater")
	sc.slack.Say("UANA", "C1", root, "<@UBOT> look at this alert")
	sc.quiet()
	said := only[chat.Said](sc)
	want := "robot: New incident\n**New incident**\n*Checkout is down* since 12:03, 5xx=98%\n*Severity*\n1\n[picture: a graph]\nby PagerDuty (https://pd.example)\n--\n" +
		"robot: *FIRING*\nDisk full (https://grafana.example/d/1)\ndb1 is at 99 %, see the runbook (https://runbook.example)\nhost: db1\nused: 99 %\nGrafana\n--\n" +
		"robot: Run `make all` first:\n````\npanic: oh\n  at ``` line 3\n````\n1. stop\n2. start\n  - slowly\n> as he said\n> twice\n--\n" +
		"Ben: these are the orders\n| Name | Amount |\n| --- | --- |\n| Item A (https://a.example) | 1200 |\n--\nBen: odd\n--\n" +
		"Ben: the numbers\n[file report.csv, 12 KB; nod cannot read it]\n--\nBen: 1. anyone? @Ben *now*, not \\u{202E}later"
	heard := sc.heard(said)
	if got := quoted(heard); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, q := range heard {
		if q.By.IsZero() != (q.Name == "robot") {
			t.Errorf("it is quoted as by %v: %+v", q.By, q)
		}
	}
	if said.Text != "look at this alert" {
		t.Errorf("what others wrote is among her words: %q", said.Text)
	}
}
