package e2e

import (
	"flag"
	"strings"
	"testing"
)

// older is an earlier build of the program, which somebody made of an old commit: go test ./tests/suites/e2e -run TestUpgrade -older PROGRAM.
// Without one this build comes after itself, as when it is started again.
var older = flag.String("older", "", "a program that wrote what this one goes on with")

// What one build left the next one goes on with: an ask that waits, what was allowed for the chat, a decision, a setting, a choice of their own, a run that was broken
// off. On Redis also while the older one still runs.
// R138
func TestUpgrade(t *testing.T) {
	t.Parallel()
	t.Run("on Redis", func(t *testing.T) { t.Parallel(); upgrade(t, 2) })
	t.Run("in its folder", func(t *testing.T) { t.Parallel(); upgrade(t, 0) })
	t.Run("on Discord", func(t *testing.T) {
		t.Parallel()
		g := openGuild(t, guildSettings{program: *older})
		waits := g.mention(t, `call box__write {"path":"waits"}`)
		asked := waits.asking(1)
		g.bots[0].kill()
		g.bots[0].program = ""
		g.bots[0].start()
		g.wait(t, "the newer one has a session", func() bool { return g.Connected() == 1 })
		waits.click(anaID, asked, "Allow once")
		waits.done(asked, "gave: written")
		if n := g.wrote(t, `{"path":"waits"}`); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

func upgrade(t *testing.T, replicas int) {
	o := openOffice(t, officeSettings{via: signed, replicas: replicas, program: *older})
	first, others := o.bots[0], o.bots[1:]
	place := func(name string) string { return `call box__write {"path":"` + name + `"}` }

	waits := o.mention(t, place("waits"))
	asked := waits.asking(1)
	granted := o.mention(t, place("granted"))
	card := granted.asking(1)
	granted.click(ana, card, "Allow for this chat")
	granted.done(card, "gave: written")
	denied := o.mention(t, place("denied"))
	card = denied.asking(1)
	denied.click(ana, card, "Deny")
	denied.done(card)
	waits.acked(t, o.Slash(admin, waits.channel, "/nod", "permissions tool box big always"))
	waits.acked(t, o.Slash(ana, waits.channel, "/nod", "permissions remembered box fail deny"))
	broken := o.mention(t, "call box__slow {}")
	slow := broken.asking(1)
	broken.click(ana, slow, "Allow once")
	until(t, "it runs", func() bool { return o.ledger.Count("slow", "began") == 1 })
	first.kill()
	for _, b := range others {
		b.terminate()
	}

	first.program = ""
	first.start()
	o.turnTo(first)
	broken.until("a person is asked about what was broken off", func() bool { return strings.Contains(strings.Join(broken.buttons(slow), " "), "Run again") })
	broken.click(ana, slow, "It happened")
	broken.done(slow)
	waits.click(ana, asked, "Allow once")
	waits.done(asked, "gave: written")
	granted.say(ana, o.me(place("granted"))+" once more")
	granted.done(granted.answer(2), "gave: written")
	o.mention(t, `call box__big {"n":1}`).asking(1)
	never := o.mention(t, "call box__fail {}")
	never.done(never.answer(1), "denied")
	for _, b := range others {
		b.start()
		o.turnTo(b)
		beside := o.mention(t, place("beside"))
		card := beside.asking(1)
		o.turnTo(first)
		beside.click(ana, card, "Allow once")
		beside.done(card, "gave: written")
	}
	for name, want := range map[string]int{"waits": 1, "granted": 2, "denied": 0, "beside": len(others)} {
		if n := o.wrote(t, `{"path":"`+name+`"}`); n != want {
			t.Errorf("%s: it ran %d times, not %d", name, n, want)
		}
	}
	if n := o.ledger.Count("slow", "began"); n != 1 {
		t.Errorf("what was broken off ran %d times", n)
	}
}
