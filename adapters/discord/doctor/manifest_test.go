package doctor

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/surface"
)

var updateManifest = flag.Bool("update-manifest", false, "write the manifest's golden files anew")

// What Discord's page says, kept apart from what the invite asks for: a slip in one is found by the other.
// https://docs.discord.com/developers/topics/permissions#permissions-bitwise-permission-flags
var knownPermissions = map[string]int64{
	"Administrator": 0x8, "View Channels": 0x400, "Send Messages": 0x800, "Embed Links": 0x4000, "Attach Files": 0x8000, "Read Message History": 0x10000,
	"Mention Everyone": 0x20000, "Manage Threads": 0x400000000, "Create Public Threads": 0x800000000, "Send Messages in Threads": 0x4000000000,
}

var manifestCases = map[string]AppOptions{
	"gateway": {ApplicationID: "1234567890123456789"},
	"http":    {ApplicationID: "1234567890123456789", BaseURL: "https://bot.example.com/"},
	"nobody":  {},
}

func TestManifestGolden(t *testing.T) {
	for name, o := range manifestCases {
		app, err := Manifest(o)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := app.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for end, got := range map[string][]byte{".txt": app.Text(), ".json": asJSON} {
			file := filepath.Join("testdata", "manifest", name+end)
			if *updateManifest {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		}
	}
}

// The two forms say the same, and the invite asks for what they list and for nothing that rules a server.
func TestManifestAgreesWithItself(t *testing.T) {
	app, err := Manifest(manifestCases["http"])
	if err != nil {
		t.Fatal(err)
	}
	invite, err := url.Parse(app.Invite)
	if err != nil {
		t.Fatal(err)
	}
	q := invite.Query()
	if invite.Scheme != "https" || invite.Host != "discord.com" || q.Get("client_id") != app.ApplicationID || q.Get("scope") != "bot applications.commands" || q.Get("permissions") != app.Bits {
		t.Errorf("invite %s", app.Invite)
	}
	var sum int64
	for _, p := range app.Permissions {
		bit, err := strconv.ParseInt(p.Bit, 10, 64)
		if err != nil || knownPermissions[p.Name] != bit || sum&bit != 0 {
			t.Errorf("%s is not bit %s (%v), or stands twice", p.Name, p.Bit, err)
		}
		if p.For == "" || p.Without == "" {
			t.Errorf("%s says not what it is for", p.Name)
		}
		sum |= bit
	}
	if strconv.FormatInt(sum, 10) != app.Bits || sum != invited() {
		t.Errorf("%s permissions in the invite, %d listed", app.Bits, sum)
	}
	for _, name := range []string{"Administrator", "Mention Everyone", "Manage Threads", "Embed Links"} {
		if sum&knownPermissions[name] != 0 {
			t.Errorf("it asks for %s", name)
		}
	}
	text := string(app.Text())
	for _, want := range []string{app.Invite, app.Bits, app.Endpoint, "Message Content", "off: nod does not ask"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the text", want)
		}
	}
	asJSON, _ := app.JSON()
	var back App
	if err := json.Unmarshal(asJSON, &back); err != nil || cmp.Diff(app, back) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(app, back))
	}
	if !strings.Contains(string(asJSON), app.Invite) {
		t.Error("the invite is escaped in JSON")
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, base := range []string{"http://bot.example.com", "bot.example.com", "https://", "https://u:s3cret@h", "https://h/?a=s3cret", "https://h/#a", "ftp://h", "https://h\x7f"} {
		if _, err := Manifest(AppOptions{BaseURL: base}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	for _, id := range []string{"nod", "0", "12a", "1&scope=bot", strings.Repeat("9", 21)} {
		if _, err := Manifest(AppOptions{ApplicationID: id}); err == nil {
			t.Errorf("%q is taken for an ID", id)
		}
	}
}

// The example of Discord's page on authentication, and one of the fake's kind.
func TestApplicationOf(t *testing.T) {
	for token, want := range map[string]string{
		"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs":            "198622483471925248",
		base64.StdEncoding.EncodeToString([]byte("123456789012345678")) + ".x.y": "123456789012345678",
		"MTk4NjIyNDgzNDcxOTI1MjQ4": "", "": "", "a.b.c": "", "MTIz!.b.c": "", "k": "", base64.RawURLEncoding.EncodeToString([]byte("nobody")) + ".b.c": "",
	} {
		if got, ok := ApplicationOf(token); ok != (want != "") || got != want {
			t.Errorf("%q: %q, %v", token, got, ok)
		}
	}
}

// The page for operators explains each permission, and no other.
func TestDocsExplainEachPermission(t *testing.T) {
	page, err := os.ReadFile("../../../docs/discord.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What each permission is for")
	table, _, _ = strings.Cut(table, "\n## ")
	var named, wanted []string
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, "| "); ok && !strings.HasPrefix(rest, "Permission") {
			name, _, _ := strings.Cut(rest, " |")
			named = append(named, name)
		}
	}
	for _, r := range appRights {
		wanted = append(wanted, r.Name)
	}
	if d := cmp.Diff(wanted, named); d != "" {
		t.Errorf("asked for (-) and explained (+):\n%s", d)
	}
	if !strings.Contains(string(page), strconv.FormatInt(invited(), 10)) {
		t.Errorf("the page does not say the number %d", invited())
	}
}

// Every right is looked at by the doctor in the kind of conversation that needs it, and only there.
func TestMissingByConversation(t *testing.T) {
	for _, tt := range []struct {
		has  int64
		in   discord.Conversation
		mark surface.Mark
		say  []string
		not  []string
	}{
		{invited(), discord.InThread, surface.Fine, nil, nil},
		{mayAll, discord.InThread, surface.Fine, nil, nil},
		{invited() &^ maySend, discord.InThread, surface.Fine, nil, nil},
		{invited() &^ maySend, "", surface.Fine, nil, nil},
		{invited() &^ maySend, discord.InChannel, surface.Wrong, []string{"Send Messages"}, []string{"Threads"}},
		{invited() &^ (mayStartThread | maySendThread), discord.InChannel, surface.Fine, nil, nil},
		{invited() &^ (mayStartThread | maySendThread), discord.InThread, surface.Wrong, []string{"Create Public Threads", "Send Messages in Threads"}, nil},
		{invited() &^ maySendThread, "", surface.Wrong, []string{"Send Messages in Threads"}, []string{"Create"}},
		{invited() &^ mayAttach, discord.InThread, surface.Doubtful, []string{"Attach Files"}, nil},
		{invited() &^ mayRead, discord.InChannel, surface.Doubtful, []string{"Read Message History"}, nil},
		{invited() &^ (mayView | mayRead), discord.InChannel, surface.Wrong, []string{"View Channels", "Read Message History"}, nil},
	} {
		say, mark := missing(lacking(tt.has), tt.in)
		if mark != tt.mark {
			t.Errorf("%x in %q: %q, want %q", tt.has, tt.in, mark, tt.mark)
		}
		has := func(w string) bool { return strings.Contains(say, w) }
		for _, w := range tt.say {
			if !has(w) {
				t.Errorf("%x in %q: no %q in %q", tt.has, tt.in, w, say)
			}
		}
		for _, w := range tt.not {
			if has(w) {
				t.Errorf("%x in %q: %q in %q", tt.has, tt.in, w, say)
			}
		}
	}
}
