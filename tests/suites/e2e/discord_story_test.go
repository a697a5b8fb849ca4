package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// The whole story: somebody mentions the bot, it opens a thread, its one message asks there, somebody clicks, the tool runs once, and the
// same message says so. A turn that had troubles ends with the message of one that had none.

// mishap is what goes wrong in one telling of the story. A hook that is nil does nothing.
type mishap struct {
	name    string
	active  bool // in a channel that the bot was spoken to in before: what is missed there is fetched
	before  func(*guild)
	gap     func(*guild)                // right before the mention
	said    func(*guild, *talk)         // when the mention was said
	pending func(*guild, *talk, string) // while its message asks
	clicked func(*guild, *talk, *fakediscord.Delivery)
	after   func(*guild, *talk)
}

// lost are the moments at which a connection gets lost in one way.
func lost(how string, lose func(*guild)) []mishap {
	again := func(g *guild) { g.reconnected(func() { lose(g) }) }
	opened := 0
	return []mishap{
		{name: how + " before the mention", before: again},
		{
			name: how + " at the mention", active: true, // which is said while there is no connection
			gap:  func(g *guild) { opened = g.opened(); lose(g) },
			said: func(g *guild, _ *talk) { g.reopened(opened) },
		},
		{name: how + " while it asks", pending: func(g *guild, _ *talk, _ string) { again(g) }},
		{name: how + " at the click", clicked: func(g *guild, _ *talk, _ *fakediscord.Delivery) { again(g) }},
	}
}

// loseSession loses the connection and what was said on it: it cannot be resumed.
func loseSession(g *guild) {
	g.Greet(fakediscord.OnResume, 1, fakediscord.Greeting{Invalid: true})
	g.Drop()
}

// reconnected loses the connection and waits until there is one again, resumed or new.
func (g *guild) reconnected(lose func()) {
	g.t.Helper()
	before := g.opened()
	lose()
	g.reopened(before)
}

// opened counts connections and sessions so far.
func (g *guild) opened() int { return len(g.Dials()) + len(g.Identifies()) }

func (g *guild) reopened(before int) {
	g.t.Helper()
	g.wait(g.t, "the gateway is connected again", func() bool { return g.opened() > before && g.Connected() == 1 })
}

// holder is the replica that has the shard, as long as none had it before.
func (g *guild) holder() (holder, other *bot) {
	g.t.Helper()
	until(g.t, "a replica says that it has the shard", func() bool {
		for i, b := range g.bots {
			if strings.Contains(b.out.String(), "a shard is this process's") {
				holder, other = b, g.bots[1-i]
			}
		}
		return holder != nil
	})
	return holder, other
}

func mishaps() []mishap {
	return []mishap{
		{name: "none"},
		{
			name:   "everything twice",
			before: func(g *guild) { g.Duplicate(1000) },
			clicked: func(g *guild, _ *talk, d *fakediscord.Delivery) {
				g.Redeliver(d)
				g.Redeliver(d)
			},
			after: func(g *guild, k *talk) {
				for _, d := range g.Deliveries() {
					if d.Channel == k.room {
						g.Redeliver(d)
					}
				}
				g.Duplicate(0)
			},
		},
		{
			name: "answers lost",
			before: func(g *guild) {
				for _, method := range []string{fakediscord.StartThreadOn, fakediscord.CreateMessage, fakediscord.EditMessage, fakediscord.Callback} {
					g.Fail(method, 1, fakediscord.Fault{CutAfter: true})
				}
			},
		},
		{
			name: "Discord ails",
			before: func(g *guild) {
				for _, method := range []string{fakediscord.StartThreadOn, fakediscord.CreateMessage, fakediscord.EditMessage} {
					g.Fail(method, 1, fakediscord.Fault{Status: http.StatusBadGateway})
					g.Fail(method, 1, fakediscord.Fault{Cut: true, Reset: true})
				}
			},
		},
		{
			name: "killed while it asks", // the last: who has the shard is not asked again
			pending: func(g *guild, _ *talk, _ string) {
				dead, other := g.holder()
				g.reconnected(dead.kill)
				g.turnTo(other)
			},
		},
	}
}

// R75 R166
func TestDiscordStory(t *testing.T) {
	t.Parallel()
	ends := &endings{all: map[string]string{}}
	for name, x := range map[string]struct {
		via      transport
		replicas int
		all      []mishap
	}{
		"gateway":     {byGateway, 2, mishaps()},
		"signed HTTP": {byHTTP, 2, mishaps()},
		// Each with a bot of its own: whose connections keep breaking waits longer before the next.
		"drop":           {via: byGateway, all: lost("a drop", func(g *guild) { g.Drop() })},
		"op 7":           {via: byGateway, all: lost("op 7", func(g *guild) { g.Reconnect() })},
		"op 9":           {via: byGateway, all: lost("op 9", func(g *guild) { g.Invalidate(false) })},
		"session":        {via: byGateway, all: lost("a lost session", loseSession)[:2]},
		"session, later": {via: byGateway, all: lost("a lost session", loseSession)[2:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGuild(t, guildSettings{via: x.via, replicas: x.replicas})
			for _, m := range x.all {
				t.Run(m.name, func(t *testing.T) { ends.add(g.in(t).tell(t, m), name+", "+m.name) })
			}
		})
	}
	t.Cleanup(func() { ends.same(t) })
}

// endings are final messages and where they were seen.
type endings struct {
	mu  sync.Mutex
	all map[string]string
}

func (e *endings) add(end, where string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all[end] += where + "; "
}

func (e *endings) same(t *testing.T) {
	if len(e.all) == 1 || t.Failed() {
		return
	}
	t.Error("the final messages differ:")
	for end, where := range e.all {
		t.Errorf("%s\n%s", where, end)
	}
}

// tell tells the story once, and returns the final message without what is different each time.
func (g *guild) tell(t *testing.T, x mishap) (end string) {
	if x.before != nil {
		x.before(g)
	}
	path := strings.ReplaceAll(x.name, " ", "-")
	args := `{"path":"` + path + `"}`
	channel := g.channel()
	if x.active {
		before := g.mentionIn(t, channel, "say hello")
		before.done(before.answer(1), "hello")
	}
	if x.gap != nil {
		x.gap(g)
	}
	k := g.mentionIn(t, channel, "call box__write "+args)
	if x.said != nil {
		x.said(g, k)
	}
	k.there()
	id := k.asking(1)
	k.says(id, "Allow tool call from box?")
	if n := g.wrote(t, args); n != 0 {
		t.Fatalf("it ran %d times before any click", n)
	}
	if x.pending != nil {
		x.pending(g, k, id)
	}
	d, err := k.Click(anaID, k.room, id, "Allow once")
	if err != nil {
		t.Fatal(err)
	}
	if x.clicked != nil {
		x.clicked(g, k, d)
	}
	// Discord sends no click twice. Whose click got lost sees that it failed, and clicks again.
	k.until("the click was answered, or has failed", func() bool { _, ok := d.Answered(); return ok || d.Failed() })
	if labels := k.pressable(id); d.Failed() && slices.Contains(labels, "Allow once") {
		k.click(anaID, id, "Allow once")
	}
	k.done(id, "gave: written", "allowed once by")
	if x.after != nil {
		x.after(g, k)
	}
	end = k.done(id, "gave: written", "allowed once by")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	// A notification that the question waits is taken away after its answer, which is not a part of the turn.
	k.until("the bot has one message in the thread", func() bool { all := k.answers(); return len(all) == 1 && all[0].ID == id })
	m := k.now(id)
	for _, v := range m.Versions {
		if v.Flags&(fakediscord.FlagSuppressEmbeds|fakediscord.FlagComponentsV2) != fakediscord.FlagSuppressEmbeds|fakediscord.FlagComponentsV2 || len(v.Mentions) > 0 || v.Everyone {
			t.Errorf("a version with flags %d mentions %q", v.Flags, v.Mentions)
		}
	}
	if m.Accent() != 0x2ECC71 || m.Nonce == "" {
		t.Errorf("its colour is %x, its nonce %q", m.Accent(), m.Nonce)
	}
	return alike.ReplaceAllString(strings.ReplaceAll(end, path, "PATH"), "#")
}

// alike is what differs between two messages that say the same.
var alike = regexp.MustCompile(`<t:[^>]*>|\d+(\.\d+)? ?m?s\b`)
