package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// What Discord does not take ends the program, with words that say what is wrong and where it is right.
func TestDiscordWrongSettings(t *testing.T) {
	t.Parallel()
	discord := fakediscord.New(fakediscord.Options{})
	t.Cleanup(discord.Close)
	for _, c := range []struct {
		name string
		env  map[string]string
		code int
		says []string
	}{
		{"a token that is none of Discord's", map[string]string{"DISCORD_TOKEN": "sekret.wrong.token"}, 1, []string{"401", "DISCORD_TOKEN", "Reset Token"}},
		{"a token with Bot before it", map[string]string{"DISCORD_TOKEN": "Bot " + discord.Token()}, 2, []string{"discord.token", "Bot "}},
		{"a public key that is none", map[string]string{"DISCORD_PUBLIC_KEY": "sekret"}, 2, []string{"discord.public_key", "64"}},
		{"an address where no Discord is", map[string]string{"DISCORD_API_URL": discord.URL() + "/nowhere"}, 0, []string{"DISCORD_API_URL"}},
	} {
		env := map[string]string{"DISCORD_TOKEN": discord.Token(), "DISCORD_API_URL": discord.URL()}
		for k, v := range c.env {
			env[k] = v
		}
		code, printed := prepare(t, settings{name: c.name, env: env}).run()
		if code == 0 || c.code != 0 && code != c.code {
			t.Errorf("%s: exit code %d:\n%s", c.name, code, printed)
		}
		for _, want := range c.says {
			if !strings.Contains(printed, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.name, want, printed)
			}
		}
		for _, never := range []string{"sekret", discord.Token(), "goroutine "} {
			if strings.Contains(printed, never) {
				t.Errorf("%s: it says %q:\n%s", c.name, never, printed)
			}
		}
	}
}

// A token that is reset while the bot runs ends it, too.
func TestDiscordTokenReset(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{})
	b := g.bots[0]
	g.CloseGateway(4004)
	if code := b.wait(); code != 1 || !strings.Contains(b.out.String(), "4004") || !strings.Contains(b.out.String(), "DISCORD_TOKEN") || strings.Contains(b.out.String(), g.Token()) {
		t.Errorf("exit code %d:\n%s", code, b.out.String())
	}
}

// What does not come from Discord is refused, and what cannot be understood is dropped; neither reaches the engine.
func TestDiscordForgedRequests(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{via: byHTTP})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	// A true click, of which another is made that Discord never sent: it would count, but for its signature.
	d := k.click(benID, id, "Allow once")
	k.told(benID, "Only Ana")
	another := bytes.ReplaceAll(d.Payload, []byte(d.ID), []byte("610000000000000077"))
	allow := bytes.ReplaceAll(another, []byte(benID), []byte(anaID))
	address := g.bots[0].addr + "/discord/interactions"
	for _, c := range []struct {
		what   string
		body   []byte
		f      fakediscord.Forgery
		status int
	}{
		{"no signature", allow, fakediscord.Forgery{NoHeaders: true}, http.StatusUnauthorized},
		{"another key", allow, fakediscord.Forgery{Key: true}, http.StatusUnauthorized},
		{"a signature of zeros", allow, fakediscord.Forgery{Signature: strings.Repeat("0", 128)}, http.StatusUnauthorized},
		{"no hexadecimal", allow, fakediscord.Forgery{Signature: "pigeon"}, http.StatusUnauthorized},
		{"another body", another, fakediscord.Forgery{Body: string(allow)}, http.StatusUnauthorized},
		{"an old one, replayed", allow, fakediscord.Forgery{Stale: 10 * time.Minute}, http.StatusUnauthorized},
		{"one of the future", allow, fakediscord.Forgery{Stale: -10 * time.Minute}, http.StatusUnauthorized},
		{"a body of more than 1 MiB", allow, fakediscord.Forgery{Pad: 1 << 20}, http.StatusRequestEntityTooLarge},
		{"no JSON", []byte("hello"), fakediscord.Forgery{}, http.StatusBadRequest},
		{"an unknown type", []byte(`{"id":"1","type":99,"token":"x","application_id":"` + g.AppID() + `"}`), fakediscord.Forgery{}, http.StatusAccepted},
		{"of another application", bytes.ReplaceAll(allow, []byte(g.AppID()), []byte("900000000000000009")), fakediscord.Forgery{}, http.StatusAccepted},
	} {
		status, body, err := g.ForgeAt(address, c.body, c.f)
		if err != nil || status != c.status || len(bytes.TrimSpace(body)) > 0 {
			t.Errorf("%s: %d %q %v, want %d and nothing", c.what, status, body, err, c.status)
		}
	}
	if res, err := http.Get(address); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	if n := g.wrote(t, args); n != 0 {
		t.Fatalf("a forged click was taken: it ran %d times", n)
	}
	g.bots[0].logs(t, "not signed with the application's key", "longer than 1 MiB")
	if status, _, err := g.ForgeAt(address, allow, fakediscord.Forgery{}); err != nil || status != http.StatusAccepted {
		t.Errorf("the same with a true signature: %d %v", status, err)
	}
	k.done(id, "gave: written", "allowed once by")
	k.only(1)
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// What no Discord of today sends stops nothing: unknown events, unknown components, odd shapes.
func TestDiscordStrangeEvents(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{})
	channel := g.channel()
	for name, data := range map[string]map[string]any{
		"PIGEON_LANDED":      {"channel": map[string]any{"id": 7}},
		"MESSAGE_CREATE":     {"id": 7, "channel_id": []any{}, "author": "nobody", "content": map[string]any{}},
		"MESSAGE_UPDATE":     {"id": nil},
		"INTERACTION_CREATE": {"id": "1", "type": 3, "token": "x", "data": nil, "message": nil, "application_id": g.AppID()},
		"GUILD_CREATE":       {"id": "1", "channels": "none"},
		"THREAD_UPDATE":      {},
		"CHANNEL_DELETE":     {"id": map[string]any{}},
	} {
		g.Send(g.Guild(), name, data)
	}
	// A message with a component of 2030 is still a message.
	id := g.Post(fakediscord.Post{User: anaID, Channel: channel, Text: g.me("say understood"),
		Components: []any{map[string]any{"type": 99, "id": 1, "inside": []any{map[string]any{"type": "odd"}}}}})
	odd := g.talk(t, channel, id)
	odd.done(odd.answer(1), "understood")
	order, args := write(t)
	k := g.mention(t, order)
	at := k.asking(1)
	k.click(anaID, at, "Allow once")
	k.done(at, "gave: written")
	if n := g.wrote(t, args); n != 1 || len(g.Identifies()) != 1 {
		t.Errorf("it ran %d times; %d IDENTIFYs", n, len(g.Identifies()))
	}
}
