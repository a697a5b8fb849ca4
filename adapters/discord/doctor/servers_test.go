package doctor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// guilds are servers that the bot is in, with its permissions there.
func guilds(permissions ...int64) string {
	var list []string
	for i, p := range permissions {
		list = append(list, fmt.Sprintf(`{"id":"%d","name":"S%d\u001b\u202e","owner":false,"permissions":"%d"}`, 100+i, i, p))
	}
	return "[" + strings.Join(list, ",") + "]"
}

const hides = `\u{001B}\u{202E}` // that each name ends with

// silencedUntil is the bot as a member that was timed out.
func silencedUntil(d time.Duration) string {
	return fmt.Sprintf(`{"roles":["9"],"communication_disabled_until":%q}`, time.Now().Add(d).Format(time.RFC3339))
}

func TestDoctorOfServers(t *testing.T) {
	c := newClinic(t)
	c.answers["/users/@me/guilds"] = "[]"
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: servers", surface.Wrong, "in none", "client_id=55", fmt.Sprint(invited()))

	c.answers["/users/@me/guilds"] = guilds(invited(), 0, invited()&^mayStartThread, invited()&^maySend, mayAll, invited()&^mayRead)
	all := diagnosed(t, t.Context(), c.config())
	conformance.WantFinding(t, all, "Discord: servers", surface.Fine, "S0", "(104) and 1 more")
	conformance.WantFinding(t, all, "Discord: server S1"+hides, surface.Doubtful, "View Channels", "Single channels may give them")
	conformance.WantFinding(t, all, "Discord: server S2"+hides, surface.Doubtful, "Create Public Threads")
	conformance.WantFinding(t, all, "Discord: server S4"+hides, surface.Doubtful, "administrator", "does not need")
	conformance.WantFinding(t, all, "Discord: server S5"+hides, surface.Doubtful, "Read Message History")
	for _, what := range []string{"Discord: server S0" + hides, "Discord: server S3" + hides} { // where conversations are in threads, Send Messages is not needed
		if f, there := all[what]; there {
			t.Errorf("needless: %+v", f)
		}
	}
	conf := c.config()
	conf.Conversation = discord.InChannel
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: server S3"+hides, surface.Doubtful, "Send Messages")

	c.answers["/users/@me/guilds"] = guilds(make([]int64, 20)...) // not a page of the same
	if all := diagnosed(t, t.Context(), c.config()); len(all) > 7+serversSaid {
		t.Errorf("%d findings", len(all))
	}
	c.answers["/users/@me/guilds"] = strings.ReplaceAll(guilds(0), `"owner":false`, `"owner":true`)
	if f, there := diagnosed(t, t.Context(), c.config())["Discord: server S0"+hides]; there {
		t.Errorf("an owner may do everything: %+v", f)
	}
	c.answers["/users/@me/guilds"] = guilds(make([]int64, serversPage)...)
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: servers", surface.Fine, "and at least 195 more")
	c.answers["/users/@me/guilds"] = `[{"id":"1","name":"S","permissions":"x"}]`
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: servers", surface.Doubtful, "not Discord's")
	c.answers["/users/@me/guilds"] = `500 {"message":"500","code":0}`
	conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: servers", surface.Doubtful, "500")
	delete(c.answers, "/users/@me/guilds")
	conf.APIURL, conf.Client = "", &http.Client{Transport: diverted{c}}
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: servers", surface.Doubtful, "404")
}

// diverted is a network in which Discord is the clinic.
type diverted struct{ c *clinic }

func (d diverted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host != "discord.com" {
		return nil, http.ErrNotSupported
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", d.c.Listener.Addr().String()
	return d.c.Client().Transport.RoundTrip(r)
}

// The invite names the application as far as it is known.
func TestDoctorInvites(t *testing.T) {
	for answer, id := range map[string]string{
		`{"id":"55","verify_key":""}`:    "client_id=55&",
		`{"id":"nod","verify_key":""}`:   "client_id=APPLICATION_ID&",
		`500 {"message":"500","code":0}`: "client_id=APPLICATION_ID&",
	} {
		c := newClinic(t)
		c.answers["/users/@me/guilds"], c.answers["/applications/@me"] = "[]", answer
		conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: servers", surface.Wrong, id)
	}
}

// Who owns a server may do everything there, and is never timed out.
func TestDoctorOfOwners(t *testing.T) {
	for name, tt := range map[string]struct {
		guilds string
		mark   surface.Mark
	}{
		"owner":           {`[{"id":"100","name":"A","owner":true,"permissions":"0"}]`, surface.Fine},
		"of another":      {`[{"id":"101","name":"A","owner":true,"permissions":"0"}]`, surface.Wrong},
		"only a member":   {`[{"id":"100","name":"A","owner":false,"permissions":"0"}]`, surface.Wrong},
		"nobody knows it": {`404 {"message":"404","code":0}`, surface.Wrong},
	} {
		c := newClinic(t)
		c.answers["/users/@me/guilds"], c.answers["/guilds/100/members/123"] = tt.guilds, silencedUntil(time.Hour)
		conf := c.config()
		conf.Channels = map[string]discord.Channel{"700": {Follow: "mention"}}
		f := diagnosed(t, t.Context(), conf)["Discord: channel #general"]
		if f.Mark != tt.mark {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestDoctorOfChannels(t *testing.T) {
	text := func(kind int, overwrites string) string {
		return fmt.Sprintf(`{"id":"700","type":%d,"guild_id":"100","name":"general","permission_overwrites":[%s]}`, kind, overwrites)
	}
	over := func(kind int, id string, allow, deny int64) string {
		return fmt.Sprintf(`{"id":%q,"type":%d,"allow":"%d","deny":"%d"}`, id, kind, allow, deny)
	}
	for name, tt := range map[string]struct {
		channel, member string
		in              discord.Conversation
		what            string
		mark            surface.Mark
		words           []string
	}{
		"as invited":         {text(0, ""), "", "", "#general", surface.Fine, []string{"what it needs"}},
		"announcements":      {text(5, ""), "", "", "#general", surface.Fine, nil},
		"there is none":      {`404 {"message":"Unknown Channel","code":10003}`, "", "", "700", surface.Wrong, []string{"there is none", "Copy Channel ID"}},
		"not seen":           {`403 {"message":"Missing Access","code":50001}`, "", "", "700", surface.Wrong, []string{"View Channels"}},
		"another refusal":    {`403 {"message":"Other","code":40002}`, "", "", "700", surface.Doubtful, []string{"40002"}},
		"a category":         {text(4, ""), "", "", "#general", surface.Doubtful, []string{"nobody writes there", "one by one"}},
		"a voice channel":    {text(2, over(0, "9", 0, mayStartThread|maySendThread)), "", discord.InThread, "#general", surface.Fine, nil},
		"a mute one":         {text(2, over(0, "9", 0, maySend)), "", discord.InThread, "#general", surface.Wrong, []string{"Send Messages"}},
		"a forum":            {text(15, over(0, "9", 0, mayStartThread|maySend)), "", discord.InChannel, "#general", surface.Fine, nil},
		"a closed forum":     {text(15, over(0, "9", 0, maySendThread)), "", discord.InChannel, "#general", surface.Wrong, []string{"Send Messages in Threads"}},
		"hidden":             {text(0, over(0, "100", 0, mayView)), "", "", "#general", surface.Wrong, []string{"View Channels", "Attach Files"}},
		"hidden, not for it": {text(0, over(0, "100", 0, mayView)+","+over(0, "9", mayView, 0)), "", "", "#general", surface.Fine, nil},
		"no threads":         {text(0, over(0, "9", 0, mayStartThread)), "", "", "#general", surface.Wrong, []string{"Create Public Threads", "Edit Channel"}},
		"no threads needed":  {text(0, over(0, "9", 0, mayStartThread)), "", discord.InChannel, "#general", surface.Fine, nil},
		"no writing":         {text(0, over(1, "123", 0, maySend)), "", discord.InChannel, "#general", surface.Wrong, []string{"Send Messages"}},
		"no files":           {text(0, over(1, "123", 0, mayAttach)), "", "", "#general", surface.Doubtful, []string{"Attach Files"}},
		"another member":     {text(0, over(1, "124", 0, mayView)+","+over(0, "8", 0, mayView)), "", "", "#general", surface.Fine, nil},
		"timed out":          {text(0, ""), silencedUntil(time.Hour), "", "#general", surface.Wrong, []string{"timed out"}},
		"no longer":          {text(0, ""), silencedUntil(-time.Hour), "", "#general", surface.Fine, nil},
		"member not told":    {text(0, ""), `500 {"message":"500","code":0}`, "", "#general", surface.Doubtful, []string{"not checked"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.answers["/channels/700"] = tt.channel
			if tt.member != "" {
				c.answers["/guilds/100/members/123"] = tt.member
			}
			conf := c.config()
			conf.Channels = map[string]discord.Channel{"700": {Conversation: tt.in}}
			conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: channel "+tt.what, tt.mark, tt.words...)
		})
	}
	// A thread has what the channel has that it hangs in.
	for kind, mark := range map[int]surface.Mark{10: surface.Wrong, 11: surface.Wrong, 12: surface.Wrong, 0: surface.Fine} {
		c := newClinic(t)
		c.answers["/channels/701"] = fmt.Sprintf(`{"id":"701","type":%d,"guild_id":"100","name":"talk","parent_id":"700"}`, kind)
		c.answers["/channels/700"] = text(0, over(0, "9", 0, maySendThread))
		conf := c.config()
		conf.Channels = map[string]discord.Channel{"701": {Follow: "mention"}}
		conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: channel #talk", mark)
	}
	for _, gone := range []string{"/channels/700", "/guilds/100/roles"} {
		c := newClinic(t)
		c.answers["/channels/701"] = `{"id":"701","type":11,"guild_id":"100","name":"talk","parent_id":"700"}`
		c.answers[gone] = `500 {"message":"500","code":0}`
		conf := c.config()
		conf.Channels = map[string]discord.Channel{"701": {Follow: "mention"}}
		conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: channel #talk", surface.Doubtful, "not checked", "500")
	}
	// What is set for all channels counts where a channel says nothing.
	c := newClinic(t)
	c.answers["/channels/700"] = text(0, over(0, "9", 0, mayStartThread))
	conf := c.config()
	conf.Conversation, conf.Channels = discord.InChannel, map[string]discord.Channel{"700": {Follow: "mention"}}
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: channel #general", surface.Fine)
	conf.Channels = map[string]discord.Channel{"700": {Conversation: discord.InThread}}
	conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: channel #general", surface.Wrong, "Create Public Threads")
}

// The order in which channels change what a member may do: everyone, then all roles together, then the member.
// https://docs.discord.com/developers/topics/permissions#permission-overwrites
func TestEffective(t *testing.T) {
	roles := []*discordgo.Role{{ID: "1", Permissions: mayView | maySend}, {ID: "2", Permissions: mayRead}, {ID: "3", Permissions: mayAttach}, {ID: "4", Permissions: mayAll}}
	type overwrites = []*discordgo.PermissionOverwrite
	of := func(role string, allow, deny int64) *discordgo.PermissionOverwrite {
		return &discordgo.PermissionOverwrite{ID: role, Allow: allow, Deny: deny}
	}
	everyone := func(allow, deny int64) *discordgo.PermissionOverwrite { return of("1", allow, deny) }
	me := func(allow, deny int64) *discordgo.PermissionOverwrite {
		return &discordgo.PermissionOverwrite{ID: "50", Type: discordgo.PermissionOverwriteTypeMember, Allow: allow, Deny: deny}
	}
	for name, tt := range map[string]struct {
		owner bool
		has   []string
		over  overwrites
		want  int64
	}{
		"everyone's":                       {false, nil, nil, mayView | maySend},
		"and a role's":                     {false, []string{"2"}, nil, mayView | maySend | mayRead},
		"an administrator":                 {false, []string{"4"}, overwrites{me(0, mayView)}, discordgo.PermissionAll},
		"the owner":                        {true, nil, overwrites{me(0, mayView)}, discordgo.PermissionAll},
		"denied to everyone":               {false, nil, overwrites{everyone(0, maySend)}, mayView},
		"and given to a role":              {false, []string{"2"}, overwrites{of("2", maySend, 0), everyone(0, maySend)}, mayView | maySend | mayRead},
		"one role's yes over another's no": {false, []string{"2", "3"}, overwrites{of("3", maySend, 0), of("2", 0, maySend)}, mayView | maySend | mayRead | mayAttach},
		"the member's word is the last":    {false, []string{"2"}, overwrites{me(0, maySend), of("2", maySend, 0)}, mayView | mayRead},
		"and the other way":                {false, []string{"2"}, overwrites{me(maySend, 0), of("2", 0, maySend)}, mayView | maySend | mayRead},
		"a role that it has not":           {false, nil, overwrites{of("2", 0, mayView)}, mayView | maySend},
		"others of the same number": {false, []string{"2"}, overwrites{{ID: "2", Type: discordgo.PermissionOverwriteTypeMember, Deny: mayRead},
			{ID: "50", Type: discordgo.PermissionOverwriteTypeRole, Deny: mayView}}, mayView | maySend | mayRead},
		"what is not seen": {false, []string{"2"}, overwrites{everyone(0, mayView)}, 0},
	} {
		c := discordgo.Channel{ID: "7", GuildID: "1", PermissionOverwrites: tt.over}
		got := effective(c, &discordgo.Member{User: &discordgo.User{ID: "50"}, Roles: tt.has}, tt.owner, roles)
		if tt.want == discordgo.PermissionAll {
			if got&mayAll == 0 || len(lacking(got)) > 0 {
				t.Errorf("%s: %b, want everything", name, got)
			}
		} else if got != tt.want {
			t.Errorf("%s: %b, want %b", name, got, tt.want)
		}
	}
}

func TestDoctorOfRoles(t *testing.T) {
	c := newClinic(t)
	c.answers["/guilds/101/roles"] = `404 {"message":"Unknown Guild","code":10004}`
	c.answers["/guilds/102/roles"] = `403 {"message":"Missing Access","code":50001}`
	c.answers["/guilds/103/roles"] = `500 {"message":"500","code":0}`
	all := diagnosed(t, t.Context(), c.config(), ids.Role("100", "8"), ids.Role("100", "7"), ids.Role("101", "1"), ids.Role("102", "2"), ids.Role("103", "3"))
	conformance.WantFinding(t, all, "Discord: role 8", surface.Fine, "@mods")
	conformance.WantFinding(t, all, "Discord: role 7", surface.Wrong, "no such role", "discord:100:&7")
	conformance.WantFinding(t, all, "Discord: role 1", surface.Wrong, "not in its server", "discord:101:&1")
	conformance.WantFinding(t, all, "Discord: role 2", surface.Wrong, "not in its server")
	conformance.WantFinding(t, all, "Discord: role 3", surface.Doubtful, "not checked")
	asked := 0
	for _, call := range c.asked {
		if call == "GET /guilds/100/roles" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("one server's roles were asked for %d times", asked)
	}
}
