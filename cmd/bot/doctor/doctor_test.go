package doctor

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// How servers are kept apart is in the report, and each that is not.
func TestConfinement(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("data_dir: /usr/share/nod\nmcp: {servers: {a: {command: [x], confine: false}, b: {command: [x], user: '1:1'}}}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	var f []finding
	(&examination{Config: c, say: func(one finding) { f = append(f, one) }}).confinement()
	if len(f) < 3 || f[0].Mark != surface.Doubtful || f[0].Do == "" {
		t.Errorf("the doctor says %+v", f)
	}
}

// A doctor who is sent away does not go on to the next address.
func TestDoctorOfDiscordStops(t *testing.T) {
	s := fakediscord.New(fakediscord.Options{Token: "MTIz.s3cret.token"})
	t.Cleanup(s.Close)
	env := map[string]string{"DISCORD_TOKEN": "MTIz.s3cret.token", "DISCORD_API_URL": s.URL(), "DISCORD_PUBLIC_KEY": s.PublicKey(), "HOME": "/home/ana"}
	c, err := config.Parse("nod.yaml", nil, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	(&examination{Config: c, running: true, say: func(f finding) {
		if strings.Contains(f.What, "/discord/interactions") {
			t.Errorf("it looked at %+v", f)
		}
	}}).discord(ctx)
}

// Only roles of Discord are looked for, and each once: people are not, and the web's admins are none of it.
func TestDoctorsRoles(t *testing.T) {
	c, err := config.Parse("nod.yaml", []byte("admins: ['discord:100:&200', 'discord:100:300', 'slack:T1:U1']\napprovals: {approvers: ['discord:100:&200', 'discord:101:&201', 'web::a']}"), onlyHome)
	if err != nil {
		t.Fatal(err)
	}
	want := []chat.User{{Platform: "discord", Workspace: "100", Key: "&200"}, {Platform: "discord", Workspace: "101", Key: "&201"}}
	c.Admins = append(c.Admins, chat.User{Platform: "slack", Workspace: "T1", Key: "&S1"})
	if d := cmp.Diff(want, (&examination{Config: c}).deciders("discord", true)); d != "" {
		t.Error(d)
	}
}

// Each kind of admin is counted as what it is.
func TestDoctorCountsAdmins(t *testing.T) {
	person, role, group := chat.User{Platform: "slack", Workspace: "T1", Key: "U1"}, chat.User{Platform: "discord", Workspace: "100", Key: "&200"}, chat.User{Platform: "slack", Workspace: "T1", Key: "&S1"}
	for want, admins := range map[string][]chat.User{
		"0 people": nil, "1 person": {person}, "1 role": {role}, "1 user group": {group}, "1 person, 1 role": {role, person},
		"2 people, 1 role, 2 user groups": {person, group, role, group, person},
	} {
		p := &examination{}
		p.Admins = admins
		if got := p.adminsNamed(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func onlyHome(name string) (string, bool) {
	if name == "HOME" {
		return "/home/ana", true
	}
	return "", false
}
