package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// R2 R3 R4 R11 R148 R150 R151 R152 R153
func TestSettingsInWords(t *testing.T) {
	p, o := managed(t)
	o.set(func() { o.lines = []string{"Mode: *tool*", "- nothing else"} })
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	for _, x := range []struct {
		verb    string
		options map[string]any
		words   []string
	}{
		{inbound.VerbPermissions, map[string]any{inbound.OptionDo: " mode  always "}, []string{"mode", "always"}},
		{inbound.VerbTools, nil, []string{"tools"}},
		{inbound.VerbTools, map[string]any{inbound.OptionDo: "disable files write_file"}, []string{"tools", "disable", "files", "write_file"}},
		{inbound.VerbHalt, nil, []string{"halt"}}, {inbound.VerbResume, nil, []string{"resume"}}, {inbound.VerbWhoami, nil, []string{"whoami"}},
		{inbound.VerbWhy, map[string]any{inbound.OptionServer: "my files", inbound.OptionTool: "write_file"}, []string{"why", "my files", "write_file"}},
	} {
		if got := p.command(p.ana, thread, x.verb, x.options); got.Type != answerMessage {
			t.Errorf("answered with %+v", got)
		}
		got := lastOf(o, &o.commands)
		if !slices.Equal(got.words, x.words) || got.env.User != p.user(p.ana) || got.env.Chat != p.in(thread) || got.env.Groups == nil || got.env.Delivery == "" {
			t.Errorf("%+v", got)
		}
		if m := p.seen(p.ana, thread); m.Ephemeral != p.ana || strings.TrimSpace(m.Text()) != "Mode: \\*tool\\*\n\\- nothing else" {
			t.Errorf("%s: %q", x.verb, m.Text())
		}
	}
	p.command(p.ana, p.general, inbound.VerbWhoami, nil)
	if got := lastOf(o, &o.commands); !got.env.Chat.IsZero() {
		t.Errorf("%+v", got)
	}
	for _, x := range []struct {
		err  error
		want string
	}{{&decision.Refusal{Say: "Only admins may."}, "Only admins may"}, {errDown, "did not work"}} {
		o.set(func() { o.err = x.err })
		p.command(p.ana, thread, inbound.VerbHalt, nil)
		if got := p.seen(p.ana, thread).Text(); !strings.Contains(got, x.want) {
			t.Errorf("%v: %s", x.err, got)
		}
	}
}

// R142
func TestLongSettingsAreAFile(t *testing.T) {
	p, o := managed(t)
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("  - line %d", i))
	}
	o.set(func() { o.lines = lines })
	p.command(p.ana, p.general, inbound.VerbPermissions, map[string]any{inbound.OptionDo: "history"})
	m := p.seen(p.ana, p.general)
	if len(m.Attachments) != 1 || !strings.Contains(string(p.File(p.general, m.Attachments[0])), "  - line 499") {
		t.Errorf("%+v", m)
	}
	o.set(func() { o.lines = []string{"servers:", "  files:", "    ask: never"} }) // whose spaces mean something
	p.command(p.ana, p.general, inbound.VerbPermissions, map[string]any{inbound.OptionDo: "export"})
	if s := p.seen(p.ana, p.general).Text(); !strings.Contains(s, "```\nservers:\n  files:\n    ask: never\n```") {
		t.Error(s)
	}
}

func TestSettingsOfAChannelThatIsAChat(t *testing.T) {
	o := &office{lines: []string{"here"}}
	p := newParlor(t, func(_ *parlor, c *Config) { c.Settings, c.Conversation = o, InChannel })
	p.Say(p.ana, p.general, p.bot()+" permissions show")
	p.until("it is answered", func() bool { return strings.Contains(p.told(p.ana, p.general), "here") })
	if got := lastOf(o, &o.commands); got.env.Chat != (ids.Place{Guild: p.Guild(), Channel: p.general}.Chat()) {
		t.Errorf("%+v", got)
	}
}

func TestTypedSettingsAreAnsweredPrivately(t *testing.T) {
	p, o := managed(t)
	o.set(func() { o.lines = []string{"secret-1"} })
	crew := p.AddRole(p.Guild(), fakediscord.Role{Name: "crew"})
	p.SetRoles(p.ana, crew)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	dm := p.OpenDM(p.ana)
	p.Say(p.ana, thread, p.bot()+" permissions Server files always")
	p.until("it is answered", func() bool { return strings.Contains(p.told(p.ana, thread), "secret-1") })
	got := lastOf(o, &o.commands)
	if !slices.Equal(got.words, []string{"Server", "files", "always"}) || got.env.User != p.user(p.ana) || got.env.Chat != p.in(thread) || !slices.Contains(got.env.Groups, ids.Role(p.Guild(), crew)) {
		t.Errorf("%+v", got)
	}
	p.Say(p.ana, p.general, p.bot()+" whoami") // begins no thread
	p.until("it is answered", func() bool { return strings.Count(p.told(p.ana, thread), "secret-1") == 2 })
	if got := lastOf(o, &o.commands); !got.env.Chat.IsZero() {
		t.Errorf("%+v", got)
	}
	p.Say(p.ana, dm, "permissions")
	p.until("it is answered", func() bool { return strings.Count(p.told(p.ana, thread), "secret-1") == 3 })
	if got := lastOf(o, &o.commands); got.env.User != ids.Person("", p.ana) || got.env.Chat != (ids.Place{Guild: "", Channel: dm, Thread: ""}.Chat()) || len(got.words) != 0 {
		t.Errorf("%+v", got)
	}
	o.set(func() { o.err = &decision.Refusal{Say: "Only admins may."} })
	p.Say(p.ana, thread, p.bot()+" halt")
	p.until("it is refused", func() bool { return strings.Contains(p.told(p.ana, thread), "Only admins may") })
	for _, room := range []string{thread, p.general} {
		for _, m := range p.Mine(room) {
			t.Errorf("said where others read it: %s", m.Text())
		}
	}
	if len(p.ledger.asked()) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

// Settings are said nowhere where others read them, also where no private way is open.
func TestSettingsAreNeverSaidOpenly(t *testing.T) {
	p, o := managed(t)
	o.set(func() { o.lines = []string{"secret-1"} })
	p.BlockDMs(p.ana, true)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	for i, room := range []string{thread, p.general} {
		p.Say(p.ana, room, p.bot()+" permissions show")
		p.until("it is said that there is an answer", func() bool { return len(p.Mine(room)) == 1 })
		m := p.Mine(room)[0]
		if strings.Contains(m.Text(), "secret") || !strings.Contains(m.Text(), "direct messages are closed") || !slices.Equal(m.Mentions, []string{p.ana}) || countOf(o, &o.commands) != i+1 {
			t.Errorf("%+v", m)
		}
	}
}

// What could not be done is tried again, as a message is.
func TestTypedSettingsThatCouldNotBeDone(t *testing.T) {
	p, o := managed(t)
	o.set(func() { o.err = errDown })
	dm := p.OpenDM(p.ana)
	p.Say(p.ana, dm, "halt")
	p.until("it was tried", func() bool { return countOf(o, &o.commands) > 0 })
	o.set(func() { o.err, o.lines = nil, []string{"done"} })
	p.until("it is done", func() bool { return strings.Contains(p.told(p.ana, dm), "done") })
}

func TestOldSettingsAreDoneAndNotAnswered(t *testing.T) {
	p, o := managed(t)
	o.set(func() { o.lines = []string{"halted"} })
	dm := p.OpenDM(p.ana)
	p.event("MESSAGE_CREATE", map[string]any{"id": ids.FirstAt(p.clock.Now().Add(-2 * staleAfter)), "channel_id": dm, "content": "halt", "author": map[string]any{"id": p.ana}})
	p.until("it is done", func() bool { return countOf(o, &o.commands) == 1 })
	p.close()
	if got := p.told(p.ana, dm); got != "" {
		t.Errorf("told: %s", got)
	}
	if got := lastOf(o, &o.commands); got.env.Delivery == chat.Delivery("") {
		t.Errorf("%+v", got)
	}
}
