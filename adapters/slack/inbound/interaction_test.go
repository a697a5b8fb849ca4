package inbound

import (
	"testing"
)

// Which workspace and app an interaction is of: team, or the view's installation, or the organisation; never where the person is at home.
func TestWhatAnInteractionIsOf(t *testing.T) {
	plain, grid := Self{Team: "T1", App: "A1"}, Self{Team: "T1", Enterprise: "E1", App: "A1"}
	for name, c := range map[string]struct {
		me      Self
		payload string
		ours    bool
	}{
		"our own":                             {plain, `{"api_app_id":"A1","team":{"id":"T1"}}`, true},
		"no app is named":                     {plain, `{"team":{"id":"T1"}}`, true},
		"our app is not known":                {Self{Team: "T1"}, `{"api_app_id":"A2","team":{"id":"T1"}}`, true},
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
		in, err := DecodeInteraction([]byte(c.payload))
		if got := in.Concerns(c.me); err != nil || got != c.ours {
			t.Errorf("%s: %v, want %v; %v", name, got, c.ours, err)
		}
	}
}

func TestWhereAnInteractionIs(t *testing.T) {
	t.Parallel()
	click := `"user":"U1","container":{"channel_id":"C1","message_ts":"1700000002.000100"`
	for name, c := range map[string]struct {
		payload, thread, lane string
	}{
		"a message of a channel":        {`{` + click + `}}`, "1700000002.000100", "i:C1/1700000002.000100/U1"},
		"a message of a thread":         {`{` + click + `,"thread_ts":"1700000001.000100"}}`, "1700000001.000100", "i:C1/1700000002.000100/U1"},
		"the thread that only it names": {`{` + click + `},"message":{"thread_ts":"1700000001.000100"}}`, "1700000001.000100", "i:C1/1700000002.000100/U1"},
		"a message of no channel":       {`{"user":"U1","message":{"ts":"1700000002.000100"}}`, "", "i:/1700000002.000100/U1"},
		"no message":                    {`{"user":"U1","channel":"C1"}`, "", "i://U1"},
		"a view":                        {`{"user":"U1","view":{"id":"V1"}}`, "", "v:V1"},
	} {
		in, err := DecodeInteraction([]byte(c.payload))
		p, ok := in.Place(testSelf)
		if err != nil || ok != (c.thread != "") || ok && p.Thread != c.thread || in.Lane() != c.lane {
			t.Errorf("%s: %+v %v in lane %s, want %s in %s; %v", name, p, ok, in.Lane(), c.thread, c.lane, err)
		}
	}
}
