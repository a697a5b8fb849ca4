package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// What lies in deploy/ is what the command prints.
func TestManifestInDeploy(t *testing.T) {
	want, err := os.ReadFile("../../deploy/slack-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	code, out, next := try(t, []string{"manifest", "slack"}, nil, nil)
	if d := cmp.Diff(string(want), out); d != "" || code != 0 {
		t.Errorf("exit code %d; deploy/slack-manifest.json (-) is not what nod manifest slack (+) prints:\n%s", code, d)
	}
	for _, step := range []string{"connections:write", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "nod doctor"} {
		if !strings.Contains(next, step) {
			t.Errorf("the next steps do not name %s:\n%s", step, next)
		}
	}
}

func TestManifestFlags(t *testing.T) {
	prompts := write(t, "slack: {suggestions: [What is new?]}\n")
	code, out, next := try(t, strings.Fields("manifest slack -http https://bot.example.com -config "+prompts), nil, nil)
	if code != 0 || !strings.Contains(out, `"https://bot.example.com/slack/interactivity"`) || !strings.Contains(out, `"socket_mode_enabled": false`) || !strings.Contains(out, "What is new?") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if !strings.Contains(next, "SLACK_SIGNING_SECRET") || strings.Contains(next, "connections:write") {
		t.Errorf("the next steps are those of Socket Mode:\n%s", next)
	}
	// Tokens in the environment are no matter of a manifest.
	if code, _, err := try(t, []string{"manifest", "slack"}, map[string]string{"SLACK_BOT_TOKEN": "s3cret"}, nil); code != 0 || strings.Contains(err, "s3cret") {
		t.Errorf("exit code %d: %s", code, err)
	}
}

// Where workspaces install nod, the app sends them back there, and hears that they removed it.
func TestManifestOfInstallation(t *testing.T) {
	code, out, next := try(t, strings.Fields("manifest slack -install https://bot.example.com/"), nil, nil)
	for _, want := range []string{`"https://bot.example.com/slack/installed"`, `"app_uninstalled"`, `"tokens_revoked"`} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, without %s:\n%s", code, want, out)
		}
	}
	if !strings.Contains(next, "https://bot.example.com/slack/install\n") || !strings.Contains(next, "SLACK_CLIENT_SECRET") || strings.Contains(next, "SLACK_BOT_TOKEN") {
		t.Errorf("the next steps are those of one workspace:\n%s", next)
	}
	if code, _, err := try(t, strings.Fields("manifest slack -install bot.example.com"), nil, nil); code != 2 || !strings.Contains(err, "-install: want the public address") {
		t.Errorf("exit code %d: %s", code, err)
	}
}

// The scope for user groups has to be asked for.
func TestManifestOfGroups(t *testing.T) {
	for args, want := range map[string]bool{"": false, "-groups": true, "-groups -yaml": true} {
		code, out, _ := try(t, append([]string{"manifest", "slack"}, strings.Fields(args)...), nil, nil)
		if code != 0 || strings.Contains(out, "usergroups:read") != want {
			t.Errorf("%q: exit code %d:\n%s", args, code, out)
		}
	}
}

// The two forms say the same.
func TestManifestYAML(t *testing.T) {
	_, asJSON, _ := try(t, []string{"manifest", "slack"}, nil, nil)
	code, asYAML, _ := try(t, []string{"manifest", "slack", "-yaml"}, nil, nil)
	var one, two map[string]any
	if err := json.Unmarshal([]byte(asJSON), &one); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(asYAML), &two); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(two) // numbers alike
	if err != nil {
		t.Fatal(err)
	}
	two = nil
	if err := json.Unmarshal(back, &two); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(one, two); d != "" || code != 0 {
		t.Errorf("exit code %d:\n%s", code, d)
	}
	if strings.ContainsAny(asYAML, "{[") || !strings.HasPrefix(asYAML, "_metadata:\n  major_version: 2\n") {
		t.Errorf("not in block style, or out of order:\n%s", asYAML)
	}
}

const exampleToken = "MTk4NjIyNDgzNDcxOTI1MjQ4.s3cret.s3cret" // of application 198622483471925248

// Whose invite it is comes from the token, wherever that stands, or from the flag; without either it is said what belongs there.
func TestDiscordManifest(t *testing.T) {
	in := write(t, "discord: {token: '"+exampleToken+"'}\n")
	none := write(t, "lease: 7s\n")
	for name, tt := range map[string]struct {
		args string
		env  map[string]string
		id   string
	}{
		"of the environment":       {"manifest discord", map[string]string{"DISCORD_TOKEN": " " + exampleToken + "\n"}, "198622483471925248"},
		"of the file":              {"manifest discord -config " + in, nil, "198622483471925248"},
		"over the file":            {"manifest discord -config " + none, map[string]string{"DISCORD_TOKEN": exampleToken}, "198622483471925248"},
		"of the flag":              {"manifest discord -client 42", map[string]string{"DISCORD_TOKEN": exampleToken}, "42"},
		"nobody's":                 {"manifest discord", nil, "APPLICATION_ID"},
		"of a token of other form": {"manifest discord", map[string]string{"DISCORD_TOKEN": "s3cret"}, "APPLICATION_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, next := try(t, strings.Fields(tt.args), tt.env, nil)
			if code != 0 || !strings.Contains(out, "client_id="+tt.id+"&scope=bot+applications.commands&permissions=") || strings.Contains(out+next, "s3cret") {
				t.Errorf("exit code %d:\n%s%s", code, out, next)
			}
			if strings.Contains(next, "-client ID") != (tt.id == "APPLICATION_ID") {
				t.Errorf("the next steps:\n%s", next)
			}
			for _, want := range []string{"DISCORD_TOKEN", "Message Content Intent", "leave Interactions Endpoint URL empty", "nod doctor"} {
				if !strings.Contains(next, want) {
					t.Errorf("the next steps do not name %s:\n%s", want, next)
				}
			}
			for _, want := range []string{"View Channels", "Message Content", "leave it empty"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %s in:\n%s", want, out)
				}
			}
		})
	}
}

func TestDiscordManifestForMachines(t *testing.T) {
	code, out, next := try(t, strings.Fields("manifest discord -json -client 42 -http https://bot.example.com/"), nil, nil)
	var app struct {
		ID       string `json:"application_id"`
		Invite   string `json:"invite_url"`
		Endpoint string `json:"interactions_endpoint_url"`
	}
	if err := json.Unmarshal([]byte(out), &app); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v", code, err)
	}
	if app.ID != "42" || !strings.Contains(app.Invite, "client_id=42&") || app.Endpoint != "https://bot.example.com/discord/interactions" {
		t.Errorf("%+v", app)
	}
	if !strings.Contains(next, "DISCORD_PUBLIC_KEY") || strings.Contains(next, "leave Interactions") {
		t.Errorf("the next steps:\n%s", next)
	}
}

// Where people sign in on the page by the platform, its app has to know where they come back to.
func TestManifestOfASignIn(t *testing.T) {
	signIn := write(t, "slack: {bot_token: xoxb-1, app_token: xapp-1}\nweb: {oidc: {issuer: slack, client_id: '1.2', page_url: 'https://nod.example.org'}}\n")
	secret := map[string]string{"NOD_OIDC_CLIENT_SECRET": "a-secret-of-the-client"}
	code, out, err := try(t, strings.Fields("manifest slack -config "+signIn), secret, nil)
	if code != 0 || !strings.Contains(out, `"https://nod.example.org/signin/callback"`) || !strings.Contains(out, `"openid"`) {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	t.Chdir(filepath.Dir(signIn)) // as any command does, it reads the file that lies there, also one in which something is missing
	for _, env := range []map[string]string{secret, nil} {
		if code, out, _ := try(t, []string{"manifest", "slack"}, env, nil); code != 0 || !strings.Contains(out, `"https://nod.example.org/signin/callback"`) {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	}
	if _, out, _ := try(t, strings.Fields("manifest discord -config "+signIn), secret, nil); strings.Contains(out, "callback") {
		t.Errorf("Discord's has Slack's:\n%s", out)
	}
	signIn = write(t, "discord: {token: MTIz.b.c}\nweb: {oidc: {issuer: discord, client_id: '123', discord_server: '8', page_url: 'https://nod.example.org'}}\n")
	for _, flag := range []string{"", " -json"} {
		if code, out, err := try(t, strings.Fields("manifest discord -config "+signIn+flag), secret, nil); code != 0 || !strings.Contains(out, "https://nod.example.org/signin/callback") {
			t.Errorf("%q: exit code %d:\n%s%s", flag, code, out, err)
		}
	}
}
