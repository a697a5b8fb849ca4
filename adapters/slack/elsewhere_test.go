package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/chat"
)

// What is of another workspace or app is acknowledged, answered, and not recorded: through sockets and requests, by buttons and forms.
func TestAnInteractionOfAnotherWorkspaceOrApp(t *testing.T) {
	for name, of := range map[string]string{"workspace": `"api_app_id":"A0FAKE","team":{"id":"T9"}`, "app": `"api_app_id":"A0EVIL","team":{"id":"T1"}`} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket).connected()
			_, ts := sc.thread()
			before := len(sc.ledger.asked())
			sc.raw(fmt.Sprintf(`{"envelope_id":"astray","type":"interactive","payload":{"type":"block_actions",%s,"user":{"id":"UANA"},
				"container":{"type":"message","message_ts":%q,"thread_ts":%q,"channel_id":"C1"},
				"actions":[{"type":"button","action_id":"nod:allow_once:1","block_id":"b","value":"tok","action_ts":"1.2"}]}}`, of, ts, ts))
			sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
			if say := sc.told("UANA")[0]; !strings.Contains(say, "another workspace, or of another app") {
				t.Errorf("told: %q", say)
			}
			sc.until("it is acknowledged", func() bool { return sc.slack.Acks("astray") == 1 }) // on the socket, beside what Ana is told
			for callback, block := range map[string]string{blocks.CallbackDeny: "reason", blocks.CallbackEdit: "args", blocks.CallbackAnswer: blocks.FieldBlock(0), blocks.CallbackFill: "text"} {
				in, err := inbound.DecodeInteraction([]byte(fmt.Sprintf(`{"type":"view_submission",%s,"user":{"id":"UANA"},
					"view":{"id":"V1","callback_id":%q,"private_metadata":"{\"v\":1,\"team\":\"T1\",\"channel\":\"C1\",\"thread\":\"1.1\",\"message\":\"1.2\",\"token\":\"tok\"}"}}`, of, callback)))
				if err != nil {
					t.Fatal(err)
				}
				r, err := sc.a.serve(t.Context(), in)
				answer, _ := json.Marshal(r.body)
				if err != nil || !strings.Contains(string(answer), `"`+block+`":"`+sayElsewhere) {
					t.Errorf("%s is answered %s, %v", callback, answer, err)
				}
			}
			if len(sc.ledger.asked()) != before || len(sc.ledger.decided) > 0 {
				t.Errorf("it reached the engine: %+v %+v", sc.ledger.asked(), sc.ledger.decided)
			}
			sc.press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok")) // ours still counts
			only[chat.Clicked](sc)
		})
	}
}
