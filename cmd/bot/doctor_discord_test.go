package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

const doctorsToken = "MTIz.s3cret.token"

// guild is a Discord with the environment that reaches it.
func guild(t *testing.T, o fakediscord.Options) (*fakediscord.Server, map[string]string) {
	t.Helper()
	o.Token = doctorsToken
	s := fakediscord.New(o)
	t.Cleanup(s.Close)
	return s, map[string]string{"DISCORD_TOKEN": doctorsToken, "DISCORD_API_URL": s.URL()}
}

func TestDoctorOfAHealthyDiscord(t *testing.T) {
	s, env := guild(t, fakediscord.Options{})
	channel := s.AddChannel(fakediscord.Channel{Name: "general"})
	mods := s.AddRole("", fakediscord.Role{Name: "mods"})
	code, report := visit(t, "discord: {channels: {"+channel+": {conversation: channel}}}\nadmins: ['discord:"+s.Guild()+":&"+mods+"']\n", env)
	if code != 0 || strings.Contains(report, "✗") || strings.Contains(report, "/discord/interactions") { // clicks come by the gateway
		t.Errorf("exit code %d:\n%s", code, report)
	}
	says(t, report, "✓ admins", "1 role and 0 keys")
	says(t, report, "✓ Discord: token", "nod", s.BotUser())
	says(t, report, "✓ Discord: message content", "on")
	says(t, report, "✓ Discord: clicks and commands", "through the gateway")
	says(t, report, "✓ Discord: session starts", "of 1000 left", "one shard")
	says(t, report, "✓ Discord: gateway", "says hello")
	says(t, report, "", "Discord: servers")
	says(t, report, "– Discord: slash command", "Start the bot")
	says(t, report, "✓ Discord: channel #general", "what it needs")
	says(t, report, "✓ Discord: role "+mods, "@mods")
	if n := len(s.Identifies()); n != 0 {
		t.Errorf("the doctor identified itself %d times", n)
	}
	for _, call := range s.Calls() {
		if call.Method != "" && !strings.HasPrefix(call.Method, "GET ") {
			t.Errorf("the doctor did %s", call.Method)
		}
	}
}

func TestDoctorOfDiscordTroubles(t *testing.T) {
	for name, tt := range map[string]struct {
		options fakediscord.Options
		change  map[string]string
		begins  string
		words   []string
		code    int
	}{
		"a wrong token":      {fakediscord.Options{}, map[string]string{"DISCORD_TOKEN": "MTIz.s3cret.other"}, "✗ Discord: token", []string{"401", "Reset Token", "DISCORD_TOKEN"}, 1},
		"nobody there":       {fakediscord.Options{}, map[string]string{"DISCORD_API_URL": "http://127.0.0.1:1"}, "✗ Discord: token", []string{"cannot be reached", "DISCORD_API_URL"}, 1},
		"no intent":          {fakediscord.Options{NoContent: true}, nil, "! Discord: message content", []string{"off", "Message Content Intent"}, 0},
		"another key":        {fakediscord.Options{}, map[string]string{"DISCORD_PUBLIC_KEY": strings.Repeat("0", 64)}, "! Discord: clicks and commands", []string{"another application"}, 0},
		"a client secret":    {fakediscord.Options{}, map[string]string{"DISCORD_TOKEN": "s3cret-_89012345678901234567ABCD"}, "✗ configuration", []string{"discord.token", "Client Secret", "Nothing else was looked at"}, 1},
		"nearly no sessions": {fakediscord.Options{SessionStarts: 1, Shards: 2}, nil, "✗ Discord: session starts", []string{"1 of 1 left", "resets the token"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := guild(t, tt.options)
			for k, v := range tt.change {
				env[k] = v
			}
			code, report := visit(t, "", env)
			if code != tt.code {
				t.Errorf("exit code %d:\n%s", code, report)
			}
			says(t, report, tt.begins, tt.words...)
		})
	}
}

// What the bot may not do where it is to work is found before somebody waits for an answer.
func TestDoctorOfDiscordPermissions(t *testing.T) {
	s, env := guild(t, fakediscord.Options{})
	closed := s.AddChannel(fakediscord.Channel{Name: "closed", Denied: fakediscord.SendMessagesInThreads})
	hidden := s.AddChannel(fakediscord.Channel{Name: "hidden", Denied: fakediscord.ViewChannel})
	code, report := visit(t, "discord: {channels: {"+closed+": {follow: mention}, "+hidden+": {follow: mention}, 5: {follow: mention}}}\napprovals: {approvers: ['discord:"+s.Guild()+":&77']}\n", env)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	says(t, report, "✗ Discord: channel #closed", "Send Messages in Threads", "Edit Channel")
	says(t, report, "✗ Discord: channel "+hidden, "View Channels")
	says(t, report, "✗ Discord: channel 5", "there is none")
	says(t, report, "✗ Discord: role 77", "no such role")
}

// The address of HTTP interactions is tried at a bot that runs.
func TestDoctorOfDiscordInteractions(t *testing.T) {
	s, env := guild(t, fakediscord.Options{})
	env["DISCORD_PUBLIC_KEY"] = s.PublicKey()
	_, report := visit(t, "", env)
	says(t, report, "– Discord: /discord/interactions", "no bot runs")

	mux := http.NewServeMux()
	newHealth(slog.New(slog.DiscardHandler)).serve(mux, t.Context())
	bot := httptest.NewServer(mux)
	defer bot.Close()
	env["NOD_LISTEN"] = bot.Listener.Addr().String()
	code, report := visit(t, "", env)
	says(t, report, "✗ Discord: /discord/interactions", "is not served", "DISCORD_PUBLIC_KEY")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	mux.HandleFunc("POST /discord/interactions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if code, report = visit(t, "", env); code != 0 {
		t.Errorf("exit code %d", code)
	}
	says(t, report, "✓ Discord: /discord/interactions", "refuses what is not signed")
}

// Clicks that Discord posts to an address, and a bot that waits for them on its connection: nothing would ever say so.
func TestDoctorOfDiscordClicksThatNeverArrive(t *testing.T) {
	s, env := guild(t, fakediscord.Options{})
	key, err := hex.DecodeString(s.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signature, _ := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
		if !ed25519.Verify(key, append([]byte(r.Header.Get("X-Signature-Timestamp")), body...), signature) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":1}`)
	}))
	defer public.Close()
	if err := s.Deliver(public.URL + "/discord/interactions"); err != nil {
		t.Fatal(err)
	}
	code, report := visit(t, "", env)
	says(t, report, "✗ Discord: clicks and commands", "never arrive", public.URL+"/discord/interactions", "DISCORD_PUBLIC_KEY")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	env["DISCORD_PUBLIC_KEY"] = strings.Repeat("0", 64)
	_, report = visit(t, "", env)
	says(t, report, "✗ Discord: clicks and commands", "another key")
	env["DISCORD_PUBLIC_KEY"] = s.PublicKey()
	code, report = visit(t, "", env)
	says(t, report, "✓ Discord: clicks and commands", "are posted to")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An admin on Slack is none on Discord.
func TestDoctorOfDiscordAdmins(t *testing.T) {
	_, env := guild(t, fakediscord.Options{})
	rule := "permissions: {servers: {workbench: {tools: {delete_file: {approval: RequireAuth}}}}}\n"
	_, report := visit(t, rule+"admins: ['slack:T1:U1']\n", env)
	says(t, report, "! admins", "in Discord nobody can allow delete_file", "discord:123456789012345678:")
	_, report = visit(t, rule+"admins: ['discord:100:&200']\n", env)
	says(t, report, "✓ admins", "1 role")
}
