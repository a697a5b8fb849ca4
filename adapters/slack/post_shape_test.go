package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Whatever Slack dislikes about the blocks, the card keeps its buttons.
func TestRefusedBlocksKeepTheirButtons(t *testing.T) {
	for _, refused := range []string{"invalid_blocks", "msg_too_long", "msg_blocks_too_long"} {
		for times := 1; times <= 2; times++ {
			r := newRoom(t, fakeslack.Options{})
			r.slack.Fail("chat.postMessage", times, fakeslack.Fault{Error: refused})
			m := r.shown(r.post(asking("ask1")))
			for _, want := range []string{"Allow for this chat", "Allow once", "Deny"} {
				if !strings.Contains(string(m.Blocks), want) {
					t.Errorf("%s ×%d: no button %q in %s", refused, times, want, m.Blocks)
				}
			}
			if times == 2 && (!strings.Contains(string(m.Blocks), "notes.txt") || strings.Contains(string(m.Blocks), "mrkdwn")) {
				t.Errorf("the plain shape is %s", m.Blocks)
			}
			if !strings.Contains(r.log.String(), refused) {
				t.Errorf("the log does not say so: %s", r.log)
			}
			r.slack.Forget()
			r.slack.FailWhen("chat.update", func(c fakeslack.Call) *fakeslack.Fault {
				if times == 2 && strings.Contains(c.Values.Get("blocks"), "mrkdwn") {
					return &fakeslack.Fault{Error: refused}
				}
				return nil
			})
			r.edit(chat.MessageRef(m.TS), asking("ask2"), agent.Progress)
			if n := len(r.slack.Calls("chat.update")); n != 1 {
				t.Errorf("%d calls: a shape that was refused is tried again with every edit", n)
			}
		}
	}
}

func TestACardThatNoShapeOfIsTaken(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("chat.postMessage", 9, fakeslack.Fault{Error: "invalid_blocks"})
	_, err := r.Post(r.ctx, r.id, "key", asking("ask1"))
	if pe := fault(t, err); pe.Kind != agent.FaultForbidden {
		t.Errorf("got %v", pe)
	}
	if n := len(r.slack.Calls("chat.postMessage")); n != 3 {
		t.Errorf("%d attempts", n)
	}
	for _, c := range r.slack.Calls("chat.postMessage") {
		if !strings.Contains(c.Values.Get("blocks"), "Deny") {
			t.Errorf("a card without buttons was sent: %s", c.Values.Get("blocks"))
		}
	}
}

// Without buttons there is one more way: words alone.
func TestWordsAlone(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.slack.Fail("chat.postMessage", 3, fakeslack.Fault{Error: "invalid_blocks"})
	m := r.shown(r.post(answering("hello there")))
	if m.Blocks != nil || !strings.Contains(m.Text, "hello there") {
		t.Errorf("got %q with blocks %s", m.Text, m.Blocks)
	}
}

func TestLogNamesWhereABlockIsWrong(t *testing.T) {
	where := "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
	body, _ := json.Marshal(map[string]any{"ok": false, "error": "invalid_blocks", "response_metadata": map[string]any{"messages": []string{where}}})
	api, _ := answers(t, known, string(body), `{"ok":true,"ts":"5.5"}`)
	var log lines
	a := newAdapter(t, Config{APIURL: api, Logger: log.logger()})
	if err := a.introduce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Post(t.Context(), blocks.Place{Team: "T1", Channel: "C1", Thread: "1.1"}.Chat(), "k", asking("a")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "/blocks/0/text/text") {
		t.Errorf("the log is %s", log.String())
	}
}
