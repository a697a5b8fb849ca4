package e2e

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// What people cannot see they cannot answer: the call is cancelled, which the record says, and the chat goes on where it can.
func TestDiscordMessageGone(t *testing.T) {
	t.Parallel()
	tales(t, guildSettings{replicas: 2}, map[string]tale{
		"deleted": discordDeleted, "channel deleted": discordChannelDeleted, "thread deleted": discordThreadDeleted, "archived": discordArchived, "locked": discordLocked,
		"event lost": discordDeletionLost,
	})
}

// cancelled checks that nothing of a turn whose message went away runs or waits any more, and that the thread goes on.
func (k *talk) cancelled(args string) {
	k.t.Helper()
	n := len(k.turns())
	k.say(anaID, k.me("say we go on"))
	k.done(k.answer(n+1), "we go on")
	if n := k.wrote(k.t, args); n != 0 {
		k.t.Errorf("it ran %d times", n)
	}
	if !k.modelRead("Tool execution cancelled") {
		k.t.Error("the model was not told that the call was cancelled")
	}
}

// nothingWaits waits until /nod pending in the chat lists nothing.
func (k *talk) nothingWaits() {
	k.t.Helper()
	k.until("nothing waits", func() bool {
		before := len(k.Seen(adaID, k.room))
		k.slash(adaID, "pending", nil)
		all := k.Seen(adaID, k.room)
		return len(all) > before && strings.Contains(shown(all[len(all)-1].Version), "Nothing")
	})
}

func discordDeleted(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	asked := len(k.now(id).Versions) - 1
	g.DeleteMessage(k.room, id)
	k.nothingWaits()
	k.clickOld(anaID, id, asked, "Allow once") // still on somebody's screen
	k.until("whoever clicks is told why that does nothing", func() bool { return len(k.private(anaID)) > 0 })
	k.cancelled(args)
}

// The event of the deletion was lost: the next edit finds out.
func discordDeletionLost(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	g.FailWhen(fakediscord.EditMessage, func(c fakediscord.Call) *fakediscord.Fault {
		if c.Message == id {
			return &fakediscord.Fault{Status: http.StatusNotFound, Code: 10008}
		}
		return nil
	})
	k.say(benID, g.me("say this waits")) // which the message has to show
	k.nothingWaits()
	k.until("what waited is answered", func() bool { all := k.answers(); return strings.Contains(shown(all[len(all)-1].Version), "this waits") })
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}

func discordThreadDeleted(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	k.asking(1)
	g.DeleteChannel(k.room)
	again := g.mentionIn(t, k.in, "say elsewhere") // the channel goes on
	again.done(again.answer(1), "elsewhere")
	here := g.talk(t, k.in, k.in)
	here.nothingWaits()
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}

func discordChannelDeleted(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	k.asking(1)
	g.DeleteChannel(k.in)
	other := g.mention(t, "say on")
	other.done(other.answer(1), "on")
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}

// An archived thread is opened again by whoever writes in it; the bot's edits need it open, too.
func discordArchived(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	g.Archive(k.room, true)
	k.click(anaID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Ana")
	g.Archive(k.room, true)
	k.say(anaID, "say more")
	k.done(k.answer(2), "more")
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// In one that is locked as well nothing can be written: the work stops, and nothing runs.
func discordLocked(t *testing.T, g *guild) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	g.Lock(k.room, true, true)
	d, err := k.Click(anaID, k.room, id, "+5 min")
	k.answered(d, err)
	until(t, "the log says that it stopped", func() bool { // whether by the thread's event or by an edit is a matter of what comes first
		return slices.ContainsFunc(strings.Split(g.bots[0].out.String()+g.bots[1].out.String(), "\n"), func(line string) bool {
			return strings.Contains(line, k.room) && strings.Contains(line, "why=gone")
		})
	})
	g.Lock(k.room, false, false)
	k.until("the thread goes on", func() bool { c, _ := g.Channel(k.room); return !c.Locked })
	if n := g.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
	n := len(k.turns())
	k.say(anaID, g.me("say we go on"))
	k.until("the thread goes on", func() bool {
		all := k.turns()
		return len(all) > n && strings.Contains(shown(all[len(all)-1].Version), "we go on")
	})
}

// A permission that is missing in a channel is told to the person, in a direct message, and named.
func TestDiscordMissingPermission(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{})
	for _, c := range []struct {
		denied fakediscord.Permission
		says   string
	}{
		{fakediscord.CreatePublicThreads, "“Create Public Threads”"},
		{fakediscord.SendMessagesInThreads, "“Send Messages in Threads”"},
	} {
		channel := g.channel()
		g.SetPermissions(channel, c.denied)
		k := g.mentionIn(t, channel, "say it")
		k.told(anaID, c.says)
		if n := len(k.private(anaID)); n != 1 {
			t.Errorf("%s: told %d times", c.says, n)
		}
		if c.denied == fakediscord.CreatePublicThreads { // there is no thread that a link could lead to
			if text := k.private(anaID)[0].Text(); !strings.Contains(text, "/"+channel+"/"+k.room) {
				t.Errorf("%s: it leads elsewhere than to what was asked: %s", c.says, text)
			}
		}
		g.SetPermissions(channel, 0)
		again := g.mentionIn(t, channel, "say it works")
		again.done(again.answer(1), "it works")
	}
}

// Edits notify nobody, so an ask that comes long after its message is announced below it, mentioning only who may decide; the note goes
// when it is decided.
func TestDiscordNudge(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{yaml: "approvals: {nudge_after: 1ms}\n"})
	k := g.mention(t, `keep call box__write {"path":"nudge"}`)
	id := k.asking(1)
	k.click(anaID, id, "Allow once")
	var note fakediscord.Message
	k.until("a note stands below", func() bool {
		for _, m := range k.answers() {
			if m.ID != id && strings.Contains(shown(m.Version), "waits for your answer") {
				note = m
			}
		}
		return note.ID != ""
	})
	if len(note.Pinged) != 1 || note.Pinged[0] != anaID || !strings.Contains(note.Text(), id) || note.Everyone {
		t.Errorf("the note notifies %q: %s", note.Pinged, note.Text())
	}
	k.ask(id, "Stop", 1)
	k.until("it asks again", func() bool { return count(k.pressable(id), "Deny") == 1 })
	k.click(anaID, id, "Stop")
	k.done(id, "Stopped by Ana")
	k.until("the note is gone", func() bool { return k.now(note.ID).Deleted && len(k.answers()) == 1 })
}

// A click that could not be recorded is answered honestly, and counts when it is made again. A message that could not be recorded is
// fetched.
func TestDiscordWithoutRedis(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{replicas: 1})
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	g.redis.kill()
	k.click(anaID, id, "Allow once")
	k.told(anaID, "Your click was not recorded, try again")
	if n := g.wrote(t, args); n != 0 {
		t.Fatalf("it ran %d times on a decision that was not recorded", n)
	}
	k.slash(benID, "pending", nil)
	k.told(benID, "That did not work")
	k.say(anaID, "say after the outage")
	g.redis.start(t)
	until(t, "the bot has its store", func() bool {
		res, err := http.Get(g.bots[0].addr + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	k.insist(anaID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Ana")
	k.done(k.answer(2), "after the outage")
	k.only(2)
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// Whatever happens to the connection while the model writes, its words are there in the end, once.
func TestDiscordWhileItWrites(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*guild){
		"drop": func(g *guild) { g.Drop() }, "op 7": func(g *guild) { g.Reconnect() }, "op 9": func(g *guild) { g.Invalidate(false) }, "lost session": loseSession,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGuild(t, guildSettings{llm: []string{"-delay", "40ms"}})
			k := g.mention(t, "say "+spelled("100 words"))
			id := k.answer(1)
			k.says(id, "w0003")
			if strings.Contains(shown(k.now(id).Version), "w0099") {
				t.Fatal("it is written already")
			}
			g.reconnected(func() { lose(g) })
			if text := k.done(id, "w0099"); !strings.Contains(abridged(text), "100 words") || len(k.answers()) != 1 {
				t.Errorf("%d messages: %s", len(k.answers()), text)
			}
			k.say(anaID, "say heard again")
			k.done(k.answer(2), "heard again")
		})
	}
}

// Two replicas on one shard: one that fell silent comes back while another has taken over. Both hear everything; it happens once.
func TestDiscordTwoOnOneShard(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{replicas: 2})
	before := g.mention(t, "say hello")
	before.done(before.answer(1), "hello")
	silent, other := g.holder()
	if err := silent.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.cmd.Process.Signal(syscall.SIGCONT) }) // else it could not be waited for
	g.wait(t, "the other replica has a session, too", func() bool { return g.Connected() == 2 })
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	if err := silent.cmd.Process.Signal(syscall.SIGCONT); err != nil { // it finds the mention in its connection
		t.Fatal(err)
	}
	again := g.mention(t, "say to both")
	again.done(again.answer(1), "to both")
	k.click(anaID, id, "Allow once")
	k.done(id, "gave: written", "allowed once by Ana")
	g.wait(t, "one of them has let go", func() bool { return g.Connected() == 1 })
	last := g.mention(t, "say to one")
	last.done(last.answer(1), "to one")
	for _, c := range []*talk{k, again, last} {
		c.only(1)
	}
	if n := g.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	other.logs(t, "a shard is this process's")
}
