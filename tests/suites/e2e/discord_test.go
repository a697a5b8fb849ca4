package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// byGateway and byHTTP are how interactions reach the bot. Messages always come through the gateway.
const (
	byGateway transport = "gateway"
	byHTTP    transport = "signed HTTP"
)

// The people of every guild. Ana asks; the others may decide, or not.
const (
	anaID = "700000000000000001"
	benID = "700000000000000002"
	adaID = "700000000000000003" // an administrator
	leaID = "700000000000000004" // has the role lead
	opsID = "700000000000000005" // has the role operators
)

// guild is a server of the stand-in Discord, with replicas of the bot in it. Its time is the real one: three seconds are three seconds.
type guild struct {
	*fakediscord.Server
	t      testing.TB
	via    transport
	bots   []*bot
	redis  *redisServer
	llm    *llm
	ledger *mcpserver.Ledger
	lead   string // roles
	ops    string
}

// Error codes of Discord's. https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
const (
	hasThread       = 160004
	answeredAlready = 40060
	isArchived      = 50083
)

const discordYAML = "lease: 3s\nadmins: %s\ndiscord: {shards: 1%s}\n"

type guildSettings struct {
	via      transport         // empty: byGateway
	replicas int               // 0: one, without Redis
	yaml     string            // more of the configuration
	box      string            // more of its server box: ", icon: X"
	entry    string            // more of the toolbox's entry in it
	discord  string            // more of its discord: ", follow: mention"
	env      map[string]string // more of the environment
	llm      []string          // arguments of the model's service
	options  fakediscord.Options
	yamlOf   func(*guild) string // more that names people
	prepare  func(*guild)        // before the bots start
	program  string              // the replicas'; empty: what was built here

	adminRole string // a role whose members are administrators, too
}

func openGuild(t testing.TB, s guildSettings) *guild {
	t.Helper()
	if s.via == "" {
		s.via = byGateway
	}
	g := &guild{t: t, via: s.via}
	s.options.Undescribed = t.Error
	g.Server = fakediscord.New(s.options)
	t.Cleanup(g.Close)
	for id, name := range map[string]string{anaID: "Ana", benID: "Ben", adaID: "Ada", leaID: "Lea", opsID: "Olga"} {
		g.AddUser(fakediscord.User{ID: id, Name: name})
	}
	g.lead, g.ops = g.AddRole("", fakediscord.Role{Name: "lead"}), g.AddRole("", fakediscord.Role{Name: "operators"})
	g.SetRoles(leaID, g.lead)
	g.SetRoles(opsID, g.ops)
	var yaml string
	yaml, g.ledger = toolbox(t, s.box)
	if s.entry != "" {
		yaml = entry(yaml, s.entry)
	}
	admins := fmt.Sprintf("[%q]", g.name(adaID))
	if s.adminRole != "" {
		admins = fmt.Sprintf("[%q, %q]", g.name(adaID), g.name("&"+s.adminRole))
	}
	yaml += fmt.Sprintf(discordYAML, admins, s.discord) + s.yaml
	if s.yamlOf != nil {
		yaml += s.yamlOf(g)
	}
	g.llm = startLLM(t, s.llm...)
	env := g.llm.env("DISCORD_TOKEN="+g.Token(), "DISCORD_API_URL="+g.URL())
	if s.via == byHTTP {
		env["DISCORD_PUBLIC_KEY"] = g.PublicKey()
	}
	if s.replicas > 0 {
		g.redis = startRedis(t)
		env["REDIS_URL"] = g.redis.url
	}
	for k, v := range s.env {
		env[k] = v
	}
	if s.prepare != nil {
		s.prepare(g)
	}
	for i := range max(s.replicas, 1) {
		g.bots = append(g.bots, prepare(t, settings{name: string(rune('A' + i)), yaml: yaml, env: env, program: s.program}))
	}
	for _, b := range g.bots {
		b.start()
	}
	g.wait(t, "the gateway has a session", func() bool { return g.Connected() == 1 })
	g.wait(t, "the commands are registered", func() bool { return len(g.Commands("")) > 0 })
	g.turnTo(g.bots[0])
	t.Cleanup(func() {
		if !t.Failed() {
			g.llm.healthy()
			g.clean()
		}
	})
	return g
}

// clean fails the test if Discord refused a request for what it said: whatever the bot sends has to be right the first time.
func (g *guild) clean() {
	g.t.Helper()
	for _, r := range g.Refusals() {
		if slices.Contains([]int{hasThread, answeredAlready, isArchived}, r.Code) { // how the bot learns what happened meanwhile
			continue
		}
		body, _ := json.Marshal(r.Body)
		g.t.Errorf("Discord refused %s: %d %s %v: %s", r.Method, r.Code, r.Error, r.Errors, tail(string(body), 3000))
	}
}

// name is a person, or a role with & before it, as settings name them.
func (g *guild) name(id string) string { return "discord:" + g.Guild() + ":" + id }

// turnTo makes interactions over HTTP go to this replica.
func (g *guild) turnTo(b *bot) {
	g.t.Helper()
	if g.via == byHTTP {
		if err := g.Deliver(b.addr + "/discord/interactions"); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *guild) in(t testing.TB) *guild {
	own := *g
	own.t = t
	return &own
}

func (g *guild) wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := g.Wait(ctx, is); err != nil {
		t.Fatalf("it never came that %s", what)
	}
}

// channel makes a channel of its own.
func (g *guild) channel() string { return g.AddChannel(fakediscord.Channel{Name: "general"}) }

// me is a text that mentions the bot.
func (g *guild) me(text string) string { return "<@" + g.BotUser() + "> " + text }

// tale is a story in a guild that others use at the same time, in channels of its own.
type tale func(*testing.T, *guild)

func tales(t *testing.T, s guildSettings, all map[string]tale) {
	t.Helper()
	g := openGuild(t, s)
	for name, tell := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, g.in(t))
		})
	}
}

// ran is what a tool of the box was called with, in this guild.
func (g *guild) ran(t testing.TB, tool string) (args []string) {
	t.Helper()
	all, err := g.ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Tool == tool {
			args = append(args, string(e.Args))
		}
	}
	return args
}

// wrote is how often write ran with just these arguments.
func (g *guild) wrote(t testing.TB, args string) int {
	t.Helper()
	return count(g.ran(t, "write"), args)
}

// modelRead reports whether any request to the model holds this text as it stands.
func (g *guild) modelRead(text string) bool {
	inJSON, err := json.Marshal(text)
	if err != nil {
		g.t.Fatal(err)
	}
	return slices.ContainsFunc(g.llm.requests(), func(r request) bool { return bytes.Contains(r.Body, inJSON[1:len(inJSON)-1]) })
}

// unescaped is Discord's markup as a reader sees it, as far as it is used here: without the backslashes before what would be markup.
func unescaped(text string) string { return escapes.ReplaceAllString(text, "$1") }

var escapes = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)
