package config

import (
	"fmt"
	"strings"
	"testing"
)

// ADMIN_SESSION_KEYS lists keys of the web API and, as admins does, people and roles. What names somebody is never a key: whoever can
// read it could call the API with it.
// R110 C18
func TestAdminSessionKeysNamePeopleToo(t *testing.T) {
	for text, want := range map[string]string{
		"": "[] []",
		" one-key-of-many-bytes ,, two-keys-of-16-byte":           "[] [one-key-of-many-bytes two-keys-of-16-byte]",
		"one-key-of-many-bytes, slack:T1:U1 ,two-keys-of-16-byte": "[slack:T1:U1] [one-key-of-many-bytes two-keys-of-16-byte]",
		"slack:T1:U2":                              "[slack:T1:U2] []",
		"slack:T1:U9":                              "[slack:T1:U9] []", // stands in the file, too
		"discord:100:300":                          "[discord:100:300] []",
		"discord:100:&200,discord::300":            "[discord:100:&200 discord::300] []",
		"web::&nod-admins,web::oidc-1@login":       "[web::&nod-admins web::oidc-1@login] []",
		"web:a-key-of-16-bytes,a:b:c-that-is-long": "[] [web:a-key-of-16-bytes a:b:c-that-is-long]", // a key may be any text
	} {
		file := ""
		if strings.Contains(text, "U9") {
			file = "admins: ['slack:T1:U9']"
		}
		c := mustParse(t, file, env("ADMIN_SESSION_KEYS", text))
		var keys []string
		for _, k := range c.AdminSessionKeys {
			keys = append(keys, k.Reveal())
		}
		if got := fmt.Sprint(c.Policy().Admins, " ", keys); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{"slack:s3cret", "slack:", "Slack:T1:s3cret", "DISCORD:s3cret:300", "slack:T1:&s3cret", "discord:100:&100", "key,slack:s3cret"} {
		_, err := Parse("nod.yaml", nil, env("ADMIN_SESSION_KEYS", bad))
		if err == nil || !strings.Contains(err.Error(), "ADMIN_SESSION_KEYS") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
