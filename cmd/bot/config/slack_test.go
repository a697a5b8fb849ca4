package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlackAsWritten(t *testing.T) {
	c := mustParse(t, `
slack:
  bot_token: xoxb-b
  signing_secret: s
  follow: mention
  channels: {C1: {follow: thread}, G2: {follow: mention}}
  bots: [B0A1, A2, U3]
  guests: true
  external: true
  visitors: false
  feedback: false
  suggestions: ["`+strings.Repeat("ä", maxSuggestion)+`"]
  connections: 10
`, env())
	want := Slack{BotToken: "xoxb-b", SigningSecret: "s", Follow: FollowMention, Channels: map[string]SlackChannel{"C1": {FollowThread}, "G2": {FollowMention}},
		Bots: []string{"B0A1", "A2", "U3"}, Guests: true, External: true, Suggestions: []string{strings.Repeat("ä", maxSuggestion)}, Connections: 10}
	if d := cmp.Diff(want, c.Slack, cmp.AllowUnexported(Text{})); d != "" {
		t.Error(d)
	}
	if !c.Slack.Enabled() {
		t.Error("a bot token, and no Slack")
	}
}

// Nothing said is the careful thing: no guests, nobody from outside, and no Slack at all.
func TestSlackDefaults(t *testing.T) {
	c := mustParse(t, "", env())
	if s := c.Slack; s.Enabled() || s.Guests || s.External || !s.Visitors || s.Follow != FollowRequester || s.Connections != 2 || len(s.Channels)+len(s.Suggestions)+len(s.Bots) != 0 {
		t.Errorf("%+v", c.Slack)
	}
}

// Both transports may be set: deployments keep both secrets at hand. What is used is Socket Mode, and that is said elsewhere.
func TestSlackBothTransports(t *testing.T) {
	c := mustParse(t, "", env("SLACK_BOT_TOKEN", "xoxb-1", "SLACK_APP_TOKEN", "xapp-1", "SLACK_SIGNING_SECRET", "s"))
	if c.Slack.AppToken == "" || c.Slack.SigningSecret == "" {
		t.Error("one of them was dropped")
	}
}

// Wherever a token stands that is no such token, the problem does not repeat it.
func TestSlackProblemsQuoteNoToken(t *testing.T) {
	for _, token := range []string{"xoxp-s3cret", "xoxe.xoxb-s3cret", "xoxe-s3cret", "s3cret", " xoxc-s3cret"} {
		_, err := Parse("nod.yaml", nil, env("SLACK_BOT_TOKEN", token, "SLACK_APP_TOKEN", token, "SLACK_SIGNING_SECRET", "xoxb-"+token))
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Count(err.Error(), "\n") != 2 {
			t.Errorf("%v", err)
		}
	}
}
