package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// Discord's doors.
const (
	discordButton door = "Discord: a button"
	discordMenu   door = "Discord: a line of a menu"
	discordForm   door = "Discord: a form"
	discordSlash  door = "Discord: /nod stop"
	discordText   door = "Discord: a message"
)

// The people's IDs, and those of roles.
var snowflakes = []string{
	"", "ana", "paul", "lena", "gita", "finn", "fred", "stan", "gus", "root", "gwen", "fay", "fern", "otto", "robot", "guest", "xena", "lara",
	"approvers", "admins", "crowd",
}

func snowflake(name string) string {
	return fmt.Sprintf("7000000000000001%02d", slices.Index(snowflakes, name))
}

var discordTown = town{"discord", "800000000000000001", "800000000000000002", snowflake}

func discordRoles() []role {
	one, other, group := discordTown.one, discordTown.other, discordTown.group
	return []role{
		{name: "requester", user: one("ana"), member: true, requester: true, spoke: true},
		{name: "participant who began the chat", user: one("paul"), member: true, spoke: true, owner: true},
		{name: "listed approver", user: one("lena"), member: true, listed: true},
		{name: "approver by a role", user: one("gita"), groups: []chat.User{group("approvers")}, member: true, listed: true},
		{name: "former approver, now off the list", user: one("finn"), member: true},
		{name: "former approver, now without the role", user: one("fred"), member: true},
		{name: "stranger of the workspace", user: one("stan"), member: true},
		{name: "stranger with a role of no matter", user: one("gus"), groups: []chat.User{group("crowd")}, member: true},
		{name: "admin", user: one("root"), member: true, admin: true},
		{name: "admin by a role", user: one("gwen"), groups: []chat.User{group("admins")}, member: true, admin: true},
		{name: "former admin, now off the list", user: one("fay"), member: true},
		{name: "former admin, now without the role", user: one("fern"), member: true},
		{name: "administrator of the server, no admin here", user: one("otto"), member: true},
		{name: "bot", user: one("robot"), nobody: true},
		{name: "admin's name with a bot's mark", user: one("root"), nobody: true},
		{name: "member of another server", user: other("xena")},
		{name: "admin's name in another server", user: other("root")},
		{name: "admin's name without a server", user: chat.User{Platform: "discord", Key: snowflake("root")}},
		{name: "unknown", nobody: true},
	}
}

// discordDoors is the bot in a stand-in server.
type discordDoors struct {
	*house
	*fakediscord.Server
	handler http.Handler
}

func openDiscord(t *testing.T, signed bool) *discordDoors {
	t.Helper()
	d := &discordDoors{Server: fakediscord.New(fakediscord.Options{Guild: discordTown.team})}
	t.Cleanup(d.Server.Close)
	for _, name := range []string{"approvers", "admins", "crowd"} {
		d.AddRole("", fakediscord.Role{ID: snowflake(name), Name: name})
	}
	for _, r := range discordRoles() {
		name := snowflakes[max(slices.IndexFunc(snowflakes, func(n string) bool { return snowflake(n) == r.user.Key }), 0)]
		if name == "" || r.nobody || r.user.Workspace != discordTown.team {
			continue
		}
		d.AddUser(fakediscord.User{ID: r.user.Key, Name: name})
		for _, g := range r.groups {
			d.SetRoles(r.user.Key, strings.TrimPrefix(g.Key, chat.GroupPrefix))
		}
	}
	d.AddUser(fakediscord.User{ID: snowflake("guest"), Name: "guest"})
	d.Join(discordTown.team, fakediscord.Member{User: snowflake("otto"), Permissions: 1 << 3}) // ADMINISTRATOR
	var adapter *discord.Adapter
	d.house = openHouse(t, func(h *house) {
		var err error
		adapter, err = discord.New(discord.Config{
			Token: d.Token(), PublicKey: d.PublicKey(), APIURL: d.URL(), Engine: h.engine, Asks: h.store, Shards: 1, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.platforms[discord.Platform] = adapter
	})
	d.handler = adapter.Handler()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = adapter.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	d.wait("the bot is there", func() bool { return d.Connected() == 1 && len(d.Commands("")) > 0 })
	if signed {
		web := httptest.NewServer(d.handler)
		t.Cleanup(web.Close)
		if err := d.Deliver(web.URL + discord.PathInteractions); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *discordDoors) wait(what string, is func() bool) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	if err := d.Wait(ctx, is); err != nil {
		d.Fatalf("it never came that %s", what)
	}
}

// speaker implements [surface]: a thread in a channel of its own.
func (d *discordDoors) speaker() speak {
	d.Helper()
	channel, thread := d.AddChannel(fakediscord.Channel{Name: "general"}), ""
	return func(who, text string) chat.ID {
		d.Helper()
		if thread == "" {
			thread = d.Say(snowflake(who), channel, "<@"+d.BotUser()+"> "+text)
		} else {
			d.wait("the thread is there", func() bool { _, ok := d.Channel(thread); return ok })
			d.Say(snowflake(who), thread, "<@"+d.BotUser()+"> "+text)
		}
		return chat.ID{Platform: "discord", Workspace: discordTown.team, Key: channel + "/" + thread}
	}
}

// knock implements [surface].
func (d *discordDoors) knock(c cell, s, other *scene, r role) (say string, err error) {
	channel, thread, _ := strings.Cut(s.id.Key, "/")
	message, token := string(s.message), pickOf(c.Choice).tokenIn(s)
	switch c.Place {
	case otherText:
		message = d.first(thread)
	case otherChat:
		channel, thread, _ = strings.Cut(other.id.Key, "/")
		message = string(other.message)
	case otherChannel:
		channel, _, _ = strings.Cut(other.id.Key, "/")
	case otherThread:
		_, thread, _ = strings.Cut(other.id.Key, "/")
	case nowhere:
		channel, thread = "600000000000000001", "600000000000000002"
	}
	button := fakediscord.Button{ID: "nod:" + string(c.Choice) + ":" + token}
	if c.Door == discordMenu {
		button = fakediscord.Button{ID: "nod:more:ask", Value: string(c.Choice) + " " + token}
	}
	switch {
	case c.Door == discordText:
		d.Say(r.user.Key, thread, "<@"+d.BotUser()+"> "+string(c.Choice)+" "+token)
		return "", nil
	case c.Door == discordForm, forged(c, r):
		return "", d.forge(c, s, r, channel, thread, message, button)
	}
	was := len(d.Seen(r.user.Key, thread))
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	if _, err = fakediscord.Insist(ctx, func() (*fakediscord.Delivery, error) {
		if c.Door == discordSlash {
			return d.Slash(r.user.Key, thread, "nod", "stop", nil)
		}
		return d.Press(r.user.Key, thread, message, button)
	}); err != nil || mayBe(c, r) || d.mute(c, r) || again(c, r, s) {
		return "", err
	}
	return "told in private", d.Wait(ctx, func() bool { return len(d.Seen(r.user.Key, thread)) > was })
}

// first is the bot's first message of a thread: another than the one in question.
func (d *discordDoors) first(thread string) string {
	for _, m := range d.Mine(thread) {
		if m.Type != fakediscord.TypeThreadStarter && m.Type != fakediscord.TypeThreadCreated {
			return m.ID
		}
	}
	return ""
}

// forged: what the stand-in's people cannot do. It is signed all the same.
func forged(c cell, r role) bool {
	return r.nobody || r.user.Workspace != discordTown.team || slices.Contains([]place{otherTeam, otherChannel, otherThread, nowhere}, c.Place)
}

// forge gives the adapter a signed request of our own making. Discord does not know the interaction, so nobody can be answered.
func (d *discordDoors) forge(c cell, s *scene, r role, channel, thread, message string, b fakediscord.Button) error {
	guild := r.user.Workspace
	if c.Place == otherTeam {
		guild = discordTown.away
	}
	n := d.fresh()
	data := map[string]any{"custom_id": b.ID, "component_type": 2}
	kind := 3
	if b.Value != "" {
		data["component_type"], data["values"] = 3, []string{b.Value}
	}
	if c.Door == discordForm {
		field, value := "reason", "so"
		if c.Choice == chat.Edit {
			field, value = "args", s.changed(fmt.Sprint(n))
		}
		token := pickOf(c.Choice).tokenIn(s)
		kind, data = 5, map[string]any{"custom_id": "form:" + string(c.Choice) + ":" + token, "components": []any{
			map[string]any{"type": 1, "components": []any{map[string]any{"type": 4, "custom_id": field, "value": value}}},
		}}
	}
	body := map[string]any{
		"id": fmt.Sprintf("5000000000%08d", n), "application_id": d.AppID(), "type": kind, "token": fmt.Sprintf("token-%d", n), "version": 1, "data": data,
		"channel_id": thread, "channel": map[string]any{"id": thread, "type": 11, "parent_id": channel}, "message": map[string]any{"id": message},
	}
	who := map[string]any{"id": r.user.Key, "username": "root", "bot": r.nobody}
	if guild != "" {
		body["guild_id"] = guild
	}
	var has []string
	for _, g := range r.groups {
		has = append(has, strings.TrimPrefix(g.Key, chat.GroupPrefix))
	}
	if r.user.Key != "" {
		body["member"], body["user"] = map[string]any{"user": who, "roles": has}, who
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	at, signature := d.Sign(time.Now(), raw)
	q := httptest.NewRequest(http.MethodPost, discord.PathInteractions, strings.NewReader(string(raw)))
	q.Header.Set("X-Signature-Timestamp", at)
	q.Header.Set("X-Signature-Ed25519", signature)
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, q)
	if w.Code != http.StatusAccepted {
		return fmt.Errorf("a signed request is answered with %d", w.Code)
	}
	return nil
}

// mute implements [surface].
func (d *discordDoors) mute(c cell, r role) bool {
	return c.Door == discordForm || forged(c, r) || slices.Contains(forms, c.Choice) // a form opens, or nobody can be answered
}

// Every click that Discord can bring, through the gateway and as signed requests.
func TestDiscord(t *testing.T) {
	t.Parallel()
	for via, signed := range map[string]bool{"gateway": false, "signed": true} {
		rules := []rule{byRequester, byParticipants, byAnyone, byListed, raised}
		if !signed { // the gateway brings the same clicks
			rules = []rule{byRequester, byListed}
		}
		n := &count{}
		t.Run(via, func(t *testing.T) {
			for _, r := range rules {
				t.Run(string(r), func(t *testing.T) {
					t.Parallel()
					d := openDiscord(t, signed)
					m := openMatrix(d.house, n, r, discordTown, discordRoles(), d)
					for _, st := range []stage{awaiting, batch, allowed, lapsed, unknown, granted, running} {
						if r == byRequester && signed || st == awaiting {
							m.stage(user, st, discordCells(m, user, st, signed))
						}
					}
					m.stage(admin, awaiting, discordCells(m, admin, awaiting, signed))
					m.quiet()
				})
			}
		})
		n.report(t, 1000, 50)
	}
}

func discordCells(m *matrix, l level, st stage, signed bool) (all []cell) {
	put := func(d door, name string, p place, k pick) {
		all = append(all, cell{d, name, m.rule, l, p, st, k.choice})
	}
	for _, k := range picks {
		if k.choice == modeNever || k.rare {
			continue
		}
		for _, r := range m.roles {
			if k.choice != chat.Stop {
				put(discordButton, r.name, here, k)
			}
			if st == awaiting && signed && slices.Contains(forms, k.choice) {
				put(discordForm, r.name, here, k)
			}
		}
		for _, name := range some {
			if m.rule != byRequester || k.choice == chat.Stop {
				continue
			}
			if st == awaiting {
				put(discordMenu, name, here, k)
			}
			if k.choice == chat.Revoke {
				continue
			}
			for _, p := range []place{otherText, otherChat, otherTeam, otherChannel, otherThread, nowhere} {
				if signed || p == otherText || p == otherChat {
					put(discordButton, name, p, k)
				}
				if st == awaiting && signed && slices.Contains(forms, k.choice) {
					put(discordForm, name, p, k)
				}
			}
		}
	}
	if m.rule == byRequester {
		for _, r := range m.roles {
			if r.member && !r.nobody {
				put(discordSlash, r.name, here, pickOf(chat.Stop))
			}
		}
	}
	return all
}
