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

const bySlack = "slack: {bot_token: xoxb-1, app_token: xapp-1}\nweb: {oidc: {issuer: slack, client_id: '1.2', page_url: 'https://nod.example.org'}}\n"

// F9: where people have to be different from each other, it is said for whom the page cannot tell.
func TestWhoTheWebPageTellsApart(t *testing.T) {
	const two, named, plain = "approvals: {min_approvals: 2, approvers: anyone}\n", "{name: ana, key: a-key-of-16-bytes}", "another-key-of-16-bytes"
	for text, want := range map[string]string{
		two + "web: {session_keys: [" + named + "]}":                                                          "",
		two + "web: {session_keys: [" + named + ", " + plain + "]}":                                           "web.session_keys[1] names nobody",
		two + "web: {enabled: false}":                                                                         "",
		two + "slack: {bot_token: xoxb-1, app_token: xapp-1}":                                                 "approvals.min_approvals: on the web page one person cannot be told",
		two + "slack: {bot_token: xoxb-1, app_token: xapp-1}\nweb: {enabled: false}":                          "",
		"approvals: {approvers: ['web::ben', 'web::ana', 'slack:T:U']}\nweb: {session_keys: [" + named + "]}": "web::ben is nobody",
		two + signsIn: "",
		two + bySlack: "",
		"approvals: {approvers: ['web::&board', 'slack:T:U']}\n" + bySlack:                     "web::&board is nobody: web.oidc",
		"approvals: {approvers: ['web::&board', 'web::oidc-1@login.example.org']}\n" + signsIn: "",
		"approvals: {approvers: ['web::&board', 'slack:T:U']}":                                 "web::&board is nobody: web.oidc",
		"approvals: {approvers: ['web::oidc-1@login.example.org', 'slack:T:U']}":               "web::oidc-1@login.example.org is nobody: web.oidc",
		"web: {session_keys: [" + plain + "]}":                                                 "",
	} {
		c := mustParse(t, text, env("NOD_OIDC_CLIENT_SECRET", "a-secret-of-the-client"))
		said := slices.DeleteFunc(c.Warnings(), func(w string) bool { return !strings.Contains(w, "web") })
		if want == "" && len(said) != 0 || want != "" && (len(said) != 1 || !strings.HasPrefix(said[0], want)) {
			t.Errorf("%s\nsays %q, want %q", text, said, want)
		}
	}
}
