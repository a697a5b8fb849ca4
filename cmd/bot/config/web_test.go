package config

import (
	"slices"
	"strings"
	"testing"
)

// F14: keys of an admin that could be guessed are refused, and not quoted.
func TestShortAdminKeys(t *testing.T) {
	for key, bad := range map[string]bool{"s3cret": true, "s3cret-15-bytes": true, "a-key-of-16-byte,s3cret": true, "nod_s3cret-of-16-bytes": true, Mask: true, "a-key-of-16-byte": false} {
		_, err := Parse("nod.yaml", nil, env("ADMIN_SESSION_KEYS", key))
		if (err != nil) != bad || bad && (!strings.HasPrefix(err.Error(), "ADMIN_SESSION_KEYS: ") || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

const signsIn = "web: {oidc: {issuer: 'https://login.example.org', client_id: nod, page_url: 'https://nod.example.org'}}\n"

// several ways in, with one address of the page.
const several = "slack: {bot_token: xoxb-1, app_token: xapp-1}\ndiscord: {token: MTIz.b.c}\nweb: {oidc: [{issuer: slack, client_id: '1.2', page_url: 'https://nod.example.org'}, " +
	"{issuer: 'https://login.example.org', client_id: nod}, {issuer: discord, client_id: '9', discord_server: '800000000000000001'}]}\n"

var allSecrets = env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client", "SLACK_CLIENT_SECRET", "a-secret-of-the-app-of-slack", "DISCORD_CLIENT_SECRET", "a-secret-of-the-app-of-discord")

// Each way in has its own secret; where there is one way, the platform's app may lend it the one that it has.
func TestSecretsOfSigningIn(t *testing.T) {
	for text, want := range map[string][]string{
		several: {"a-secret-of-the-app-of-slack", "a-secret-of-the-client", "a-secret-of-the-app-of-discord"},
		bySlack: {"a-secret-of-the-app-of-slack"},
		"discord: {token: MTIz.b.c}\nweb: {oidc: {issuer: discord, client_id: '9', page_url: 'https://nod.example.org', discord_server: '800000000000000001'}}\n": {"a-secret-of-the-app-of-discord"},
	} {
		c := mustParse(t, text, allSecrets)
		var got []string
		for _, o := range c.Web.OIDC {
			secret, _ := c.SignInSecret(o)
			got = append(got, secret.Reveal())
			if o.Page != "https://nod.example.org" || o.Claim != "sub" {
				t.Errorf("%+v", o)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("secrets %q, want %q", got, want)
		}
	}
	c := mustParse(t, bySlack, env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client"))
	if secret, _ := c.SignInSecret(c.Web.OIDC[0]); secret.Reveal() != "a-secret-of-the-client" {
		t.Error("one way in does not take the page's secret")
	}
}

const bySlack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\nweb: {oidc: {issuer: slack, client_id: '1.2', page_url: 'https://nod.example.org'}}\n"

// F9: where people have to be different from each other, it is said for whom the page cannot tell.
func TestWhoTheWebPageTellsApart(t *testing.T) {
	const two, named, plain = "approvals: {min_approvals: 2, approvers: anyone}\n", "{name: ana, key: a-key-of-16-bytes}", "another-key-of-16-bytes"
	for text, want := range map[string]string{
		two + "web: {session_keys: [" + named + "]}":                                                          "",
		two + "web: {session_keys: [" + named + ", " + plain + "]}":                                           "nod.yaml:2: web.session_keys[1]: names nobody",
		two + "web: {enabled: false}":                                                                         "nobody can talk with nod",
		two + "slack: {bot_token: xoxb-1, app_token: xapp-1}":                                                 "approvals.min_approvals: on the web page one person cannot be told",
		two + "slack: {bot_token: xoxb-1, app_token: xapp-1}\nweb: {enabled: false}":                          "",
		"approvals: {approvers: ['web::ben', 'web::ana', 'slack:T:U']}\nweb: {session_keys: [" + named + "]}": "web::ben is nobody",
		two + signsIn: "",
		two + bySlack: "",
		two + several: "approvals.min_approvals: web.oidc has several ways in",
		several:       "",
		"approvals: {approvers: ['web::&board', 'slack:T:U']}\n" + bySlack:                     "web::&board is nobody: web.oidc",
		"approvals: {approvers: ['web::&board', 'web::oidc-1@login.example.org']}\n" + signsIn: "",
		"approvals: {approvers: ['web::&board', 'slack:T:U']}":                                 "web::&board is nobody: web.oidc",
		"approvals: {approvers: ['web::oidc-1@login.example.org', 'slack:T:U']}":               "web::oidc-1@login.example.org is nobody: web.oidc",
		"web: {session_keys: [" + plain + "]}":                                                 "",
		"approvals: {approvers: ['web::admin-1', 'slack:T:U']}":                                "", // by a key of ADMIN_SESSION_KEYS
	} {
		c := mustParse(t, text, allSecrets)
		said := slices.DeleteFunc(c.Warnings(), func(w string) bool { return !strings.Contains(w, "web") })
		if want == "" && len(said) != 0 || want != "" && (len(said) != 1 || !strings.HasPrefix(said[0], want)) {
			t.Errorf("%s\nsays %q, want %q", text, said, want)
		}
	}
}
