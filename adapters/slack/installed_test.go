package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// Which workspace and app an interaction is of: team, or the view's installation, or the organisation; never where the person is at home.
func TestWhatAnInteractionIsOf(t *testing.T) {
	plain, grid := self{Team: "T1", App: "A1"}, self{Team: "T1", Enterprise: "E1", App: "A1"}
	for name, c := range map[string]struct {
		me      self
		payload string
		ours    bool
	}{
		"our own":                             {plain, `{"api_app_id":"A1","team":{"id":"T1"}}`, true},
		"no app is named":                     {plain, `{"team":{"id":"T1"}}`, true},
		"our app is not known":                {self{Team: "T1"}, `{"api_app_id":"A2","team":{"id":"T1"}}`, true},
		"another app":                         {plain, `{"api_app_id":"A2","team":{"id":"T1"}}`, false},
		"another workspace":                   {plain, `{"api_app_id":"A1","team":{"id":"T2"}}`, false},
		"no team":                             {plain, `{"api_app_id":"A1"}`, false},
		"null team":                           {plain, `{"api_app_id":"A1","team":null,"enterprise":null}`, false},
		"a team that is none":                 {plain, `{"team":[{"id":"T1"}]}`, false},
		"a team as a name":                    {plain, `{"team":"T1"}`, false},
		"Slack Connect: they are elsewhere":   {plain, `{"team":{"id":"T1"},"user":{"id":"U9","team_id":"T9"}}`, true},
		"they are ours, the button is not":    {plain, `{"team":{"id":"T9"},"user":{"id":"U1","team_id":"T1"}}`, false},
		"Slack Connect: a view":               {plain, `{"team":{"id":"T9"},"view":{"app_installed_team_id":"T1"}}`, true},
		"a view of another installation":      {plain, `{"team":{"id":"T1"},"view":{"app_installed_team_id":"T9"}}`, false},
		"an organisation where we have none":  {plain, `{"team":null,"enterprise":{"id":"E1"}}`, false},
		"an empty organisation":               {plain, `{"team":null,"enterprise":{"id":""}}`, false},
		"Grid: installed for all":             {grid, `{"team":null,"enterprise":{"id":"E1"},"is_enterprise_install":true}`, true},
		"Grid: another workspace of it":       {grid, `{"team":{"id":"T2","enterprise_id":"E1"},"enterprise":{"id":"E1"}}`, true},
		"Grid: by team alone":                 {grid, `{"team":{"id":"T2","enterprise_id":"E1"}}`, true},
		"Grid: another organisation":          {grid, `{"team":null,"enterprise":{"id":"E2"}}`, false},
		"Grid: nothing is named":              {grid, `{"team":null,"enterprise":null}`, false},
		"Grid: a view of the organisation":    {grid, `{"team":{"id":"T9"},"view":{"app_installed_team_id":"E1"}}`, true},
		"Grid: a view of another one":         {grid, `{"team":{"id":"T9"},"enterprise":{"id":"E2"},"view":{"app_installed_team_id":"E2"}}`, false},
		"Grid: a view of another's workspace": {grid, `{"team":{"id":"T2"},"enterprise":{"id":"E1"},"view":{"app_installed_team_id":"T3"}}`, true},
	} {
		in, err := decodeInteraction([]byte(c.payload))
		if got := in.concerns(c.me); err != nil || got != c.ours {
			t.Errorf("%s: %v, want %v; %v", name, got, c.ours, err)
		}
	}
}

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
			for callback, block := range map[string]string{callbackDeny: blockReason, callbackEdit: blockArgs, callbackAnswer: wantBlock(0), callbackFill: blockFill} {
				in, err := decodeInteraction([]byte(fmt.Sprintf(`{"type":"view_submission",%s,"user":{"id":"UANA"},
					"view":{"id":"V1","callback_id":%q,"private_metadata":"{\"v\":1,\"team\":\"T1\",\"channel\":\"C1\",\"thread\":\"1.1\",\"message\":\"1.2\",\"token\":\"tok\"}"}}`, of, callback)))
				if err != nil {
					t.Fatal(err)
				}
				r, err := in.serve(t.Context(), sc.a)
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
