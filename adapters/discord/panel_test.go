package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// office is where settings are managed, as far as a surface can tell: it remembers who asked for what.
type office struct {
	mu       sync.Mutex
	panel    func(env chat.Envelope, view string) (render.Panel, error)
	act      func(env chat.Envelope, view, token, text string) (settings.Done, error)
	lines    []string
	err      error // of Permissions and Why
	shown    []visited
	acted    []visited
	commands []visited
	why      []visited
}

type visited struct {
	env               chat.Envelope
	view, token, text string
	words             []string
}

func (o *office) Panel(_ context.Context, env chat.Envelope, view string) (render.Panel, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = append(o.shown, visited{env: env, view: view})
	if o.panel != nil {
		return o.panel(env, view)
	}
	p := samples.Panel()
	if view != "" {
		p.View, p.Title = view, "Settings: "+view
	}
	return p, nil
}

func (o *office) Act(_ context.Context, env chat.Envelope, view, token, text string) (settings.Done, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acted = append(o.acted, visited{env: env, view: view, token: token, text: text})
	if o.act != nil {
		return o.act(env, view, token, text)
	}
	return settings.Done{Say: "Done: " + token + ".", View: view}, nil
}

func (o *office) Permissions(_ context.Context, env chat.Envelope, words []string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commands = append(o.commands, visited{env: env, words: words})
	return o.lines, o.err
}

func (o *office) Why(_ context.Context, env chat.Envelope, ask string) (render.Details, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.why = append(o.why, visited{env: env, token: ask})
	return render.Details{Title: "Why", Parts: []render.Part{{Name: "Rules", Text: "the *server* asks\nnothing else"}}}, o.err
}

func (o *office) set(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

func lastOf(o *office, of *[]visited) visited {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(*of) == 0 {
		return visited{}
	}
	return (*of)[len(*of)-1]
}

func countOf(o *office, of *[]visited) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(*of)
}

// managed is a parlor where settings are managed.
func managed(t *testing.T) (*parlor, *office) {
	t.Helper()
	o := &office{}
	return newParlor(t, func(_ *parlor, c *Config) { c.Settings = o }), o
}

// seen is the newest private message of somebody.
func (p *parlor) seen(user, channel string) fakediscord.Message {
	p.t.Helper()
	all := p.Seen(user, channel)
	if len(all) == 0 {
		p.t.Fatalf("nothing is shown to %s alone; the log:\n%s", user, p.log)
	}
	return all[len(all)-1]
}

// clickSeen presses on the newest private message.
func (p *parlor) clickSeen(user, channel, what string) fakediscord.Answer {
	p.t.Helper()
	return p.wait(p.ClickSeen(user, channel, what))
}

func TestPermissionsOpenAPanel(t *testing.T) {
	p, o := managed(t)
	crew := p.AddRole(p.Guild(), fakediscord.Role{Name: "crew"})
	p.SetRoles(p.ana, crew)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	dm := p.OpenDM(p.ana)
	for _, x := range []struct {
		room string
		by   chat.User
		here chat.ID
	}{{thread, p.user(p.ana), p.in(thread)}, {p.general, p.user(p.ana), chat.ID{}}, {dm, ids.Person("", p.ana), ids.Place{Guild: "", Channel: dm, Thread: ""}.Chat()}} {
		if got := p.command(p.ana, x.room, inbound.VerbPermissions, nil); got.Type != answerMessage {
			t.Errorf("answered with %+v", got)
		}
		m := p.seen(p.ana, x.room)
		if m.Ephemeral != p.ana || !strings.Contains(m.Text(), "Allowed in this chat") || len(p.Mine(x.room)) != 0 || m.Flags&fakediscord.FlagSuppressEmbeds == 0 {
			t.Errorf("%+v", m)
		}
		got := lastOf(o, &o.shown)
		if got.view != "" || got.env.User != x.by || got.env.Chat != x.here || got.env.Name != "Ana" || (x.room == dm) == slices.Contains(got.env.Groups, ids.Role(p.Guild(), crew)) {
			t.Errorf("%+v", got)
		}
	}
}

func TestAChannelThatWasAChatIsOne(t *testing.T) {
	p, o := managed(t)
	p.asking(ids.Place{Guild: p.Guild(), Channel: p.general, Thread: ""}, "1", "tok") // from when it was
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	if got := lastOf(o, &o.shown); got.env.Chat != (ids.Place{Guild: p.Guild(), Channel: p.general, Thread: ""}.Chat()) {
		t.Errorf("%+v", got)
	}
}

// R2 R3 R4 R19 R44 R112 R148 R149 R153
func TestActsOfAPanel(t *testing.T) {
	p, o := managed(t)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.command(p.ana, thread, inbound.VerbPermissions, nil)
	panel := p.seen(p.ana, thread).ID
	look := func(answer fakediscord.Answer, want string) {
		t.Helper()
		if m := p.seen(p.ana, thread); answer.Type != answerUpdate || m.ID != panel || !strings.Contains(m.Text(), want) || len(p.Seen(p.ana, thread)) != 1 {
			t.Errorf("answered with %d, shown: %s", answer.Type, m.Text())
		}
	}
	acted := func(token, text, view string) {
		t.Helper()
		got := lastOf(o, &o.acted)
		if got.token != token || got.text != text || got.view != view || got.env.User != p.user(p.ana) || got.env.Chat != p.in(thread) || got.env.Delivery == "" {
			t.Errorf("%+v", got)
		}
	}
	look(p.clickSeen(p.ana, thread, "nodp:d:0: revoke.g1 =chat"), "Done: revoke.g1.")
	acted("revoke.g1", "", "chat")
	look(p.clickSeen(p.ana, thread, "mode.always"), "mode.always")
	acted("mode.always", "", "chat")
	look(p.clickSeen(p.ana, thread, "Servers"), "Settings: servers")
	look(p.clickSeen(p.ana, thread, "Mine"), "Settings: mine")

	// What wants to be confirmed is done only then.
	before := countOf(o, &o.acted)
	look(p.clickSeen(p.ana, thread, "Revoke all"), "Revoke everything?")
	look(p.clickSeen(p.ana, thread, "Cancel"), "Settings: mine")
	look(p.clickSeen(p.ana, thread, "Revoke all"), "Revoke everything?")
	if countOf(o, &o.acted) != before {
		t.Errorf("done before it was confirmed: %+v", o.acted)
	}
	look(p.clickSeen(p.ana, thread, "Revoke all"), "revoke.all")
	acted("revoke.all", "", "mine")

	// A form.
	if got := p.clickSeen(p.ana, thread, "Add a note…"); got.Type != answerModal {
		t.Fatalf("answered with %+v; %s", got, p.log)
	}
	in := p.Modals(p.ana)[0].Inputs[0]
	if in.Value != "old" || in.Placeholder != "for the release" || in.Max != 80 || in.Long {
		t.Errorf("%+v", in)
	}
	look(p.wait(p.Submit(p.ana, map[string]string{components.FieldFill: " new "})), "Done: note")
	acted("note", "new", "mine")

	// Another view after it.
	o.set(func() {
		o.act = func(chat.Envelope, string, string, string) (settings.Done, error) {
			return settings.Done{View: "servers"}, nil
		}
	})
	look(p.clickSeen(p.ana, thread, "nodp:d:0: revoke.g1 =mine"), "Settings: servers")
}

func TestAnActThatIsNotTaken(t *testing.T) {
	p, o := managed(t)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.command(p.ana, thread, inbound.VerbPermissions, nil)
	var fail error = &decision.Refusal{Code: decision.RefusedNotYours, Say: "Only *admins* may."}
	o.set(func() {
		o.act = func(chat.Envelope, string, string, string) (settings.Done, error) { return settings.Done{}, fail }
	})
	if got := p.clickSeen(p.ana, thread, "nodp:d:0: revoke.g1 =chat"); got.Type != answerUpdate || !strings.Contains(p.seen(p.ana, thread).Text(), `Only \*admins\* may.`) {
		t.Errorf("%+v, %s", got, p.seen(p.ana, thread).Text())
	}
	o.set(func() { fail = errDown })
	if got := p.clickSeen(p.ana, thread, "nodp:d:0: revoke.g1 =chat"); got.Type != answerMessage || !strings.Contains(p.seen(p.ana, thread).Text(), "not known to have had any effect") {
		t.Errorf("%+v", got)
	}
	panel := p.Seen(p.ana, thread)[0]
	o.set(func() {
		o.act = nil
		o.panel = func(chat.Envelope, string) (render.Panel, error) { return render.Panel{}, errDown }
	})
	before := countOf(o, &o.acted)
	for i, id := range []string{"nodp:d:0: revoke.g1 =chat", "nodp:f:0: note =chat", "nodp:g:0: - =servers"} {
		p.press(p.ana, thread, panel.ID, id)
		if got := p.told(p.ana, thread); strings.Count(got, surface.SayNotRead) != i+1 || strings.Contains(got, sayActGone) {
			t.Errorf("%s: %s", id, got)
		}
	}
	if countOf(o, &o.acted) != before {
		t.Error("it was done, though nobody could know whether it is to be confirmed")
	}
	o.set(func() {
		o.panel = func(chat.Envelope, string) (render.Panel, error) {
			return render.Panel{}, &decision.Refusal{Code: decision.RefusedNotYours, Say: "Not yours."}
		}
	})
	for i, id := range []string{"nodp:g:0: - =servers", "nodp:d:0: revoke.g1 =chat"} {
		p.press(p.ana, thread, panel.ID, id)
		if got := p.told(p.ana, thread); strings.Count(got, "Not yours") != i+1 {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// A form that is not offered any more does not open; one that has to be confirmed opens after that.
func TestFormsOfAPanel(t *testing.T) {
	p, o := managed(t)
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	panel := p.seen(p.ana, p.general).ID
	for _, id := range []string{"nodp:f:0: gone =chat", "nodp:f:0: revoke.g1 =chat"} {
		if got := p.press(p.ana, p.general, panel, id); got.Type != answerUpdate || !strings.Contains(p.seen(p.ana, p.general).Text(), "not offered any more") {
			t.Errorf("%s: %+v", id, got)
		}
	}
	o.set(func() {
		o.panel = func(chat.Envelope, string) (render.Panel, error) {
			return render.Panel{View: "v", Sections: []render.Section{{Rows: []render.PanelRow{{Line: samples.Plain("x"), Acts: []render.Act{{Kind: render.ActFill, Token: "note", Label: "Note", Confirm: "Really?"}}}}}}}, nil
		}
	})
	p.press(p.ana, p.general, panel, "nodp:n:0: - =v")
	p.clickSeen(p.ana, p.general, "Note")
	if got := p.seen(p.ana, p.general).Text(); !strings.Contains(got, "Really?") || len(p.Modals(p.ana)) != 0 {
		t.Error(got)
	}
	if got := p.clickSeen(p.ana, p.general, "Continue"); got.Type != answerModal {
		t.Errorf("answered with %+v", got)
	}
	p.wait(p.Submit(p.ana, map[string]string{components.FieldFill: "x"}))
	if got := lastOf(o, &o.acted); got.token != "note" || got.text != "x" {
		t.Errorf("%+v", got)
	}
}

// What is picked from a list is confirmed like what stands on a button.
func TestAPickIsConfirmed(t *testing.T) {
	p, o := managed(t)
	o.set(func() {
		o.panel = func(chat.Envelope, string) (render.Panel, error) {
			return render.Panel{View: "v", Sections: []render.Section{{Rows: []render.PanelRow{{Line: samples.Plain("x"), Acts: []render.Act{
				{Kind: render.ActPick, Label: "Mode", Confirm: "Really?", Options: []render.Option{{Token: "mode.never", Label: "Never"}}},
			}}}}}}, nil
		}
	})
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	p.clickSeen(p.ana, p.general, "mode.never")
	if got := p.seen(p.ana, p.general).Text(); !strings.Contains(got, "Really?") || countOf(o, &o.acted) != 0 {
		t.Error(got)
	}
	p.clickSeen(p.ana, p.general, "Never")
	if got := lastOf(o, &o.acted); got.token != "mode.never" {
		t.Errorf("%+v", got)
	}
}

func TestPagesOfAPanel(t *testing.T) {
	p, o := managed(t)
	o.set(func() {
		o.panel = func(_ chat.Envelope, view string) (render.Panel, error) {
			out := render.Panel{View: view, Sections: []render.Section{{Title: "All"}}}
			for i := range 30 {
				out.Sections[0].Rows = append(out.Sections[0].Rows, render.PanelRow{Line: samples.Plain(fmt.Sprint("row ", i, ".")), Acts: []render.Act{{Token: fmt.Sprint("t", i), Label: fmt.Sprint("Do ", i)}}})
			}
			return out, nil
		}
	})
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	text := func() string { return p.seen(p.ana, p.general).Text() }
	if s := text(); !strings.Contains(s, "row 0.") || strings.Contains(s, "row 29.") || !strings.Contains(s, "1–11 of 30") {
		t.Fatal(s)
	}
	p.clickSeen(p.ana, p.general, "Next →")
	if s := text(); !strings.Contains(s, "row 11.") || strings.Contains(s, "row 10.") {
		t.Error(s)
	}
	p.clickSeen(p.ana, p.general, "Do 12") // stays on its page
	if s := text(); !strings.Contains(s, "Done: t12") || !strings.Contains(s, "12–22 of 30") {
		t.Error(s)
	}
	p.clickSeen(p.ana, p.general, "← Previous")
	if s := text(); !strings.Contains(s, "row 0.") {
		t.Error(s)
	}
	p.press(p.ana, p.general, p.seen(p.ana, p.general).ID, "nodp:n:99: - =") // rows went away meanwhile
	if s := text(); !strings.Contains(s, "row 29.") {
		t.Error(s)
	}
}

// A view that is too long for a button is known by a short name for a while, here.
func TestViewsThatAreTooLong(t *testing.T) {
	p, o := managed(t)
	long := "install:" + strings.Repeat("s", 190)
	o.set(func() {
		o.panel = func(_ chat.Envelope, view string) (render.Panel, error) {
			out := render.Panel{View: long, Title: "Tools", Sections: []render.Section{{Rows: []render.PanelRow{{Line: samples.Plain("x"), Acts: []render.Act{{Token: "t", Label: "Do"}}}}}}}
			for i := range 8 {
				out.Tabs = append(out.Tabs, render.Act{Kind: render.ActGo, View: fmt.Sprint(long, i)[8:], Label: fmt.Sprint("Tab ", i)})
			}
			return out, nil
		}
	})
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	p.clickSeen(p.ana, p.general, "Do")
	if got := lastOf(o, &o.acted); got.view != long {
		t.Errorf("%+v", got)
	}
	p.clickSeen(p.ana, p.general, "Tab 5")
	if got := lastOf(o, &o.shown); got.view != fmt.Sprint(long, 5)[8:] {
		t.Errorf("%+v", got)
	}
	before := countOf(o, &o.shown)
	p.press(p.ana, p.general, p.seen(p.ana, p.general).ID, "nodp:t:0: - =chat") // which tab?
	if s := p.seen(p.ana, p.general).Text(); !strings.Contains(s, "too old") || countOf(o, &o.shown) != before {
		t.Error(s)
	}
	p.clock.Advance(viewsLife)
	for _, what := range []string{"Do", "Tab 5"} {
		p.press(p.ana, p.general, p.seen(p.ana, p.general).ID, "nodp:n:0: - =") // redraw
		before++
		p.clock.Advance(viewsLife)
		p.clickSeen(p.ana, p.general, what)
		if s := p.seen(p.ana, p.general).Text(); !strings.Contains(s, "too old") || countOf(o, &o.shown) != before {
			t.Errorf("%s: %s", what, s)
		}
	}
}

// forge is a click as the gateway would bring it, with anything in it.
func (p *parlor) forge(id int, user, message string, flags int, customID string) {
	p.forged(3, id, user, message, flags, customID)
}

func (p *parlor) forged(typ, id int, user, message string, flags int, customID string) {
	p.event("INTERACTION_CREATE", map[string]any{"id": fmt.Sprint(id), "type": typ, "token": "t", "application_id": p.AppID(), "guild_id": p.Guild(), "channel_id": p.general,
		"channel": map[string]any{"id": p.general, "type": 0}, "message": map[string]any{"id": message, "flags": flags}, "data": map[string]any{"custom_id": customID},
		"member": map[string]any{"user": map[string]any{"id": user, "username": "x"}, "roles": []any{}}})
}

// A panel has no authority: whoever clicks in somebody's panel acts as themselves.
func TestSomebodyElsesPanelIsUsedAsOneself(t *testing.T) {
	p, o := managed(t)
	p.command(p.ana, p.general, inbound.VerbPermissions, nil)
	panel := p.seen(p.ana, p.general).ID
	p.forge(960, p.ben, panel, fakediscord.FlagEphemeral, "nodp:d:0: revoke.g1 =chat")
	p.until("it is done", func() bool { return countOf(o, &o.acted) == 1 })
	if got := lastOf(o, &o.acted); got.env.User != p.user(p.ben) {
		t.Errorf("%+v", got)
	}
}

// What one person may see is drawn in no message that others see.
func TestAPanelIsDrawnInNoMessageThatOthersSee(t *testing.T) {
	p, o := managed(t)
	thread, card := p.card()
	for _, id := range []string{"nodp:g:0: - =chat", "nodp:d:0: revoke.g1 =chat", "nodp:x:0: - =chat"} {
		if got := p.press(p.ana, thread, card, id); got.Type != answerMessage || !strings.Contains(p.told(p.ana, thread), "another version") {
			t.Errorf("%s: answered with %+v", id, got)
		}
	}
	p.forge(961, p.ana, card, 0, "nodp:m:0: t =chat")                                      // a form's name on a button
	p.forged(5, 963, p.ana, "970", fakediscord.FlagEphemeral, "nodp:d:0: revoke.g1 =chat") // and the other way around
	p.close()
	if countOf(o, &o.shown)+countOf(o, &o.acted) != 0 {
		t.Errorf("%+v %+v", o.shown, o.acted)
	}
	if m, _ := p.Message(thread, card); strings.Contains(m.Text(), "Settings") {
		t.Error(m.Text())
	}
}

func TestNothingIsManagedHere(t *testing.T) {
	p := newParlor(t)
	thread, card := p.card()
	p.command(p.ana, thread, inbound.VerbPermissions, nil)
	p.command(p.ana, thread, inbound.VerbHalt, nil)
	p.press(p.ana, thread, card, "nod:why:tok")
	p.forge(962, p.ana, p.seen(p.ana, thread).ID, fakediscord.FlagEphemeral, "nodp:g:0: - =chat")
	p.forge(964, p.ana, p.seen(p.ana, thread).ID, fakediscord.FlagEphemeral, "nodp:d:0: revoke.g1 =chat")
	p.Say(p.ana, thread, p.bot()+" permissions show")
	p.until("it is said each time", func() bool { return strings.Count(p.told(p.ana, thread), "Nothing can be set here") == 4 })
	p.close()
	if strings.Contains(p.log.String(), "panic=") {
		t.Error(p.log)
	}
}
