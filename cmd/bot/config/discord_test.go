package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func TestDiscordAsWritten(t *testing.T) {
	key := strings.Repeat("aB", 32)
	c := mustParse(t, `
discord:
  token: MTIz.b.c
  public_key: `+key+`
  api_url: http://127.0.0.1:8092/
  conversation: channel
  follow: mention
  channels:
    1: {conversation: thread}
    18446744073709551615: {follow: thread}
    "3": {conversation: channel, follow: mention}
  link_hosts: [example.com, "*.example.org", Docs.Example.com, 10.0.0.1, wiki]
  shards: 1000
`, env())
	want := Discord{Token: "MTIz.b.c", PublicKey: key, APIURL: URL("http://127.0.0.1:8092/"), Conversation: InChannel, Follow: FollowMention, Visitors: true,
		Channels:  map[string]DiscordChannel{"1": {Conversation: InThread}, "18446744073709551615": {Follow: FollowThread}, "3": {InChannel, FollowMention}},
		LinkHosts: []string{"example.com", "*.example.org", "Docs.Example.com", "10.0.0.1", "wiki"}, Shards: 1000}
	if d := cmp.Diff(want, c.Discord, cmp.AllowUnexported(Text{})); d != "" {
		t.Error(d)
	}
	if !c.Discord.Enabled() {
		t.Error("a token, and no Discord")
	}
	roundTrip(t, c, env())
}

// Nothing said is the documented thing: threads, all that is said in them, Discord's own number of shards, and no Discord at all.
func TestDiscordDefaults(t *testing.T) {
	d := mustParse(t, "", env()).Discord
	if d.Enabled() || d.Conversation != InThread || d.Follow != FollowRequester || d.Shards != 0 || len(d.Channels)+len(d.LinkHosts) != 0 || d.API() != "" {
		t.Errorf("%+v", d)
	}
}

// The address of a stand-in is scheme and host, however much of Discord's path was copied with it.
func TestDiscordAPI(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:1": "http://h:1", "http://h:1/": "http://h:1", "https://h/api": "https://h", "https://h/api/": "https://h", "https://h/api/v10": "https://h", "https://h/api/v10/": "https://h",
	} {
		c := mustParse(t, "", env("DISCORD_API_URL", in))
		if got := c.Discord.API(); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"http://h/api/v9", "http://h/other/api/v10", "http://h?key=s3cret", "http://h#s3cret", "http://ana:s3cret@h", "h:1", "ftp://h/s3cret", "http://"} {
		_, err := Parse("nod.yaml", nil, env("DISCORD_API_URL", in))
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Count(err.Error(), "\n") != 0 || !strings.HasPrefix(err.Error(), "DISCORD_API_URL: discord.api_url: want ") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// What stands in the token's place and is known to be something else is called by its name, and never quoted.
func TestDiscordTokenOfAnotherKind(t *testing.T) {
	for token, say := range map[string]string{
		"Bot MTIz.s3cret.c":                         "leave out the word",
		"bearer MTIz.s3cret.c":                      "leave out the word",
		"https://discord.com/api/webhooks/1/s3cret": "webhook",
		"xoxb-s3cret":                               "Slack",
		"xapp-s3cret":                               "Slack",
		"MTIz.s3cret c":                             "one word",
		"MTIz.s3cret\u00e9":                         "one word",
		"mfa.s3cret":                                "a person's",
		strings.Repeat("5e", 32):                    "discord.public_key",
		"123456789012345678":                        "an ID",
		"s3cret-_89012345678901234567ABCD":          "Client Secret",
	} {
		_, err := Parse("nod.yaml", nil, env("DISCORD_TOKEN", token))
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), "page Bot") {
			t.Errorf("%s: %v", say, err)
		}
	}
	// Their form is not documented: what could be one is taken.
	for _, token := range []string{"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "MTIz.b.c", "k", Mask} {
		if _, err := Parse("nod.yaml", nil, env("DISCORD_TOKEN", token)); err != nil {
			t.Errorf("%s: %v", token, err)
		}
	}
}

// A role may be an admin or an approver, and reads back as it was written.
func TestRolesMayDecide(t *testing.T) {
	c := mustParse(t, "admins: ['discord:100:&200', discord:100:300]\napprovals: {approvers: ['discord:100:&201']}", env("DISCORD_TOKEN", "t"))
	role := func(key string) chat.User { return chat.User{Platform: "discord", Workspace: "100", Key: key} }
	want := permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{role("&201")}}
	if d := cmp.Diff(want, c.Approvals.Approvers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]chat.User{role("&200"), role("300")}, c.Admins); d != "" || !c.Admins[0].IsGroup() || c.Admins[1].IsGroup() {
		t.Error(d)
	}
	roundTrip(t, c, env("DISCORD_TOKEN", "t"))
	if w := c.Warnings(); len(w) != 0 {
		t.Errorf("needless: %q", w)
	}
}

// Somebody on Discord who has no number is nobody, and that is said.
func TestDiscordNobody(t *testing.T) {
	c := mustParse(t, "admins: ['discord:G1:5', 'discord:100:ana', 'discord::7', 'slack:T1:U1']\napprovals: {approvers: ['discord:acme:1']}", env("DISCORD_TOKEN", "t", "SLACK_BOT_TOKEN", "xoxb-1", "SLACK_APP_TOKEN", "xapp-1"))
	w := strings.Join(c.Warnings(), "\n")
	for _, u := range []string{"discord:G1:5 is nobody", "discord:100:ana is nobody", "discord:acme:1 is nobody"} {
		if !strings.Contains(w, u) {
			t.Errorf("not said: %s in\n%s", u, w)
		}
	}
	if strings.Count(w, "\n") != 2 {
		t.Errorf("too much is said:\n%s", w)
	}
}

// A host is as long as a name may be, and no longer.
func TestDiscordLongHosts(t *testing.T) {
	label := strings.Repeat("a", 61) + "."
	for host, ok := range map[string]bool{
		label + label + label + label + "abcde":  true, // 253
		label + label + label + label + "abcdef": false,
		strings.Repeat("a", 63) + ".example":     true,
		strings.Repeat("a", 64) + ".example":     false,
	} {
		_, err := Parse("nod.yaml", []byte("discord: {link_hosts: ['"+host+"']}"), env())
		if (err == nil) != ok {
			t.Errorf("%d characters: %v", len(host), err)
		}
	}
}
