package slack

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/fakeslack/samples"
)

// boarded is a scene with settings.
func boarded(t *testing.T) (*scene, *board) {
	t.Helper()
	b := newBoard()
	return newScene(t, overSocket, func(_ *scene, c *Config) { c.Settings = b }).connected(), b
}

// settings opens the panel by a slash command.
func (sc *scene) settings(user string) fakeslack.View {
	sc.t.Helper()
	if _, err := sc.slack.Slash(user, "C1", "/nod", "permissions").Wait(sc.ctx); err != nil {
		sc.t.Fatal(err)
	}
	sc.until("the settings are open", func() bool { return len(sc.slack.Views(user)) == 1 })
	return sc.slack.Views(user)[0]
}

// inView presses something in the view on top, and waits until it is drawn anew.
func (sc *scene) inView(user, what string) fakeslack.View {
	sc.t.Helper()
	all := sc.slack.Views(user)
	top := all[len(all)-1]
	d, err := sc.slack.ClickInView(user, top.ID, what)
	if err != nil {
		sc.t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		sc.t.Fatal(err)
	}
	var now fakeslack.View
	sc.until("the view is drawn anew after "+what, func() bool {
		all := sc.slack.Views(user)
		now = all[len(all)-1]
		return now.ID != top.ID || now.Hash != top.Hash
	})
	return now
}

// R2 R3 R4 R19 R44 R101 R148 R149 R153
func TestTheSettingsAreAModal(t *testing.T) {
	sc, b := boarded(t)
	v := sc.settings("UANA")
	if v.CallbackID != "nod:panel" || v.Title != "Settings" || v.Submit != "" || !strings.Contains(string(v.Blocks), "Waiting for me") {
		t.Errorf("%+v", v)
	}
	v = sc.inView("UANA", "Grants")
	if !strings.Contains(string(v.Blocks), "Grants in this chat") {
		t.Errorf("%s", v.Blocks)
	}
	v = sc.inView("UANA", "Revoke")
	if !strings.Contains(string(v.Blocks), "Revoked: write_file of files.") || !strings.Contains(string(v.Blocks), "Grants in this chat") {
		t.Errorf("%s", v.Blocks)
	}
	v = sc.inView("UANA", "▸ Grants") // the open tab reads it again; what was said goes
	if strings.Contains(string(v.Blocks), "Revoked") {
		t.Error("what was done is said for ever")
	}
	sc.inView("UANA", "Overview")
	v = sc.inView("UANA", "Always ask")
	if !strings.Contains(string(v.Blocks), "files asks always") {
		t.Errorf("%s", v.Blocks)
	}
	done := b.acted()
	if len(done) != 2 || done[0].view != "grants" || done[0].token != "revoke-1" || done[1].token != "server-ask" || done[1].view != "start" {
		t.Fatalf("%+v", done)
	}
	for _, d := range done {
		if d.env.User != ana || d.env.Name != "Ana" || !d.env.Chat.IsZero() || d.env.Delivery == "" {
			t.Errorf("%+v", d.env)
		}
	}
	if done[0].env.Delivery == done[1].env.Delivery {
		t.Error("two acts are one delivery")
	}
	for _, l := range b.seen() {
		if l.env.User != ana || !l.env.Chat.IsZero() {
			t.Errorf("%+v", l)
		}
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("something of it went to the chat")
	}
}

func TestPagesOfAPanel(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	sc.inView("UANA", "Servers")
	if v := sc.inView("UANA", "Next"); !strings.Contains(string(v.Blocks), "Page 2 of 6") {
		t.Errorf("%s", v.Blocks)
	}
	for range 2 {
		sc.inView("UANA", "Next")
	}
	v := sc.inView("UANA", "row-120")
	if !strings.Contains(string(v.Blocks), "Done with row 120.") || !strings.Contains(string(v.Blocks), "Page 4 of 6") {
		t.Errorf("the page is lost: %s", v.Blocks)
	}
	if v = sc.inView("UANA", "Previous"); !strings.Contains(string(v.Blocks), "Page 3 of 6") {
		t.Errorf("%s", v.Blocks)
	}
	if got := b.acted(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsRefusedOrFailsIsSaidInThePanel(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	b.set(func() {
		b.no = &decision.Refusal{Code: decision.RefusedNotYours, Say: "Only an admin can change that."}
	})
	if v := sc.inView("UANA", "Trust server…"); !strings.Contains(string(v.Blocks), "Only an admin") || !strings.Contains(string(v.Blocks), "Waiting for me") {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() { b.no = errDown })
	if v := sc.inView("UANA", "Trust server…"); !strings.Contains(string(v.Blocks), sayNotSaved) || strings.Contains(string(v.Blocks), errDown.Error()) {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() { b.no, b.down = nil, errDown })
	v := sc.inView("UANA", "Always ask")
	if !strings.Contains(string(v.Blocks), "files asks always") || !strings.Contains(string(v.Blocks), sayNoPanel) {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() { b.down = nil })
	if v = sc.inView("UANA", sayTryAgain); !strings.Contains(string(v.Blocks), "Waiting for me") {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() { b.down = errDown })
	if v = sc.inView("UANA", "Change note…"); strings.Count(string(v.Blocks), sayNoPanel) != 1 || strings.Contains(string(v.Blocks), sayWasChanged) {
		t.Errorf("instead of a form: %s", v.Blocks)
	}
}

// A later drawing is not turned back by an earlier one: what is drawn then is read once more.
func TestAPanelThatWasDrawnMeanwhileIsReadOnceMore(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	sc.slack.Fail("views.update", 1, fakeslack.Fault{Error: "hash_conflict"})
	looked := len(b.seen())
	sc.inView("UANA", "Grants")
	if got := len(b.seen()) - looked; got != 2 {
		t.Errorf("read %d times", got)
	}
	var calls []fakeslack.Call // a view is there a moment before its call is in the journal
	sc.until("both calls are answered", func() bool { calls = sc.slack.Calls("views.update"); return len(calls) == 2 })
	if calls[0].Values.Get("hash") == "" || calls[1].Values.Get("hash") != "" {
		t.Errorf("%+v", calls)
	}
}

// What cannot be drawn in an open view is told beside it, whatever was clicked; what somebody else has drawn meanwhile, or closed, is not.
func TestAViewThatCannotBeDrawn(t *testing.T) {
	sc, b := boarded(t)
	fails := func(code string) { sc.slack.Fail("views.update", 1, fakeslack.Fault{Error: code}) }
	undrawn, told := 0, []string{}
	click := func(words, says string) {
		t.Helper()
		d, err := sc.slack.ClickInView("UANA", sc.slack.Views("UANA")[0].ID, words)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
		if says != "" {
			told = append(told, says)
			sc.until("Ana is told", func() bool { return slices.Equal(sc.told("UANA"), told) })
		}
		if says != surface.SayNotRead {
			undrawn++
			sc.until("it was tried", func() bool { return strings.Count(sc.log.String(), "a view was not drawn anew") == undrawn })
		}
	}
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	sc.modal("UANA", ts, chat.Why, "tok")
	fails("internal_error")
	click("Next", sayNotDrawn)
	fails("hash_conflict")
	click("Next", "")
	sc.inView("UANA", "Next")
	b.set(func() { b.down = errDown })
	click("Next", surface.SayNotRead)
	b.set(func() { b.down = nil })
	sc.slack.CloseView("UANA", sc.slack.Views("UANA")[0].ID)

	// The panel of a thread has a place beside it.
	sc.slack.Say("UANA", "C1", root, "<@"+sc.slack.BotUser()+"> permissions")
	sc.until("it is offered", func() bool {
		_, err := sc.slack.ClickEphemeral("UANA", "Open the settings")
		return err == nil
	})
	told = sc.told("UANA")
	sc.until("it is open", func() bool { return len(sc.slack.Views("UANA")) == 1 })
	fails("internal_error")
	click("Grants", sayNotDrawn)
	fails("not_found")
	click("Grants", "")
	sc.inView("UANA", "Servers")
	for range 3 {
		sc.inView("UANA", "Next")
	}
	fails("internal_error")
	click("row-120", "Done with row 120.")
}

func TestAFormOfThePanel(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	v := sc.inView("UANA", "Change note…")
	if v.CallbackID != blocks.CallbackFill || !strings.Contains(string(v.Blocks), "Team files") || len(sc.slack.Views("UANA")) != 2 {
		t.Fatalf("%+v", v)
	}
	submit := func(text string) {
		t.Helper()
		d, err := sc.slack.SubmitView("UANA", v.ID, map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, no := range []error{&decision.Refusal{Say: "Too long a note."}, errDown} {
		b.set(func() { b.no = no })
		submit("x")
		want := sayNotSaved
		if no != errDown {
			want = "Too long a note."
		}
		sc.until("the form says so", func() bool { all := sc.slack.Views("UANA"); return len(all) == 2 && all[1].Errors["text"] == want })
	}
	b.set(func() { b.no = nil })
	submit("  Ours  ")
	sc.until("the panel below says so", func() bool {
		all := sc.slack.Views("UANA")
		return len(all) == 1 && strings.Contains(string(all[0].Blocks), "The note is kept.")
	})
	got := b.acted()
	if last := got[len(got)-1]; len(got) != 3 || last.text != "Ours" || last.token != "note-1" || last.view != "start" || last.env.User != ana {
		t.Errorf("%+v", got)
	}
	if got[0].env.Delivery == got[2].env.Delivery {
		t.Error("a corrected form is taken for the first one")
	}
}

// What a form would change may be gone when it is asked for.
func TestAFormForWhatIsNotOfferedAnyMore(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	b.set(func() { b.views["start"] = samples.GrantsPanel() })
	if v := sc.inView("UANA", "Change note…"); !strings.Contains(string(v.Blocks), sayWasChanged) || v.CallbackID != "nod:panel" {
		t.Errorf("%s", v.Blocks)
	}
	b.set(func() {
		p := samples.FirstPanel()
		p.Sections[1].Rows[0].Acts[2].Value = rep(3001)
		b.views["start"] = p
	})
	sc.inView("UANA", "Overview")
	if v := sc.inView("UANA", "Change note…"); !strings.Contains(string(v.Blocks), sayFillTooLong) {
		t.Errorf("%s", v.Blocks)
	}
}

func TestGuestsAndOthersSeeNoSettings(t *testing.T) {
	sc, b := boarded(t)
	for user, want := range map[string]string{"UGUEST": sayGuest, "UEXT": sayExternal} {
		if _, err := sc.slack.Slash(user, "C1", "/nod", "permissions").Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
		toldBySlash := want
		if user == "UEXT" { // whose slash commands are those of the apps of their own workspace
			toldBySlash = sayElsewhere
		}
		sc.until(user+" is told", func() bool { return slices.Contains(sc.told(user), toldBySlash) })
		sc.slack.OpenHome(user)
		sc.until(user+" sees it on the Home tab", func() bool {
			v, ok := sc.slack.Home(user)
			return ok && strings.Contains(string(v.Blocks), want)
		})
	}
	_, ts := sc.thread()
	sc.press("UGUEST", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: "nodp:show:1", Type: "button", Text: "x", Value: blocks.PanelForm{}.Metadata()})
	sc.until("the guest is told beside the message", func() bool { return strings.Join(sc.told("UGUEST"), "") == sayGuest+sayGuest })
	sc.settings("UANA") // who was made a guest while a panel is open does nothing in it
	sc.slack.AddUser(fakeslack.User{ID: "UANA", Name: "Ana", Guest: true})
	sc.forget()
	looked := len(b.seen())
	if v := sc.inView("UANA", "Trust server…"); !strings.Contains(string(v.Blocks), sayGuest) || len(sc.slack.ViewButtons(v.ID)) != 0 {
		t.Errorf("%s", v.Blocks)
	}
	in := inbound.Interaction{Type: "view_submission", Team: inbound.TeamRef{ID: "T1"}, User: "UGUEST"} // nor with a form
	in.View.Callback, in.View.Metadata, in.View.ID = blocks.CallbackFill, inbound.LooseString(blocks.PanelForm{View: "start", Token: "note-1"}.Metadata()), "V1"
	if r, err := sc.a.serve(sc.ctx, in); err != nil || !strings.Contains(jsonOf(r.body), sayGuest) {
		t.Errorf("%+v, %v", r, err)
	}
	if len(b.acted()) != 0 || len(b.seen()) != looked {
		t.Errorf("%+v %+v", b.acted(), b.seen())
	}
}

// forget makes the adapter ask Slack again who is who.
func (sc *scene) forget() {
	p := &sc.a.in.people
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = surface.Cache[*question[Person]]{}
}

// What private_metadata says is Slack's word for what we wrote; what we did not write is nobody's, and of another workspace neither.
func TestAPanelThatIsNotOursDoesNothing(t *testing.T) {
	b := newBoard()
	a, _ := postbox(t, newLedger(), &lines{})
	open := inbound.Interaction{Type: "view_submission", Team: inbound.TeamRef{ID: "T1"}, User: "UANA"} // since before nod was told to manage nothing
	open.View.Callback, open.View.Metadata, open.View.ID = blocks.CallbackFill, inbound.LooseString(blocks.PanelForm{View: "start", Token: "note-1"}.Metadata()), "V1"
	if r, err := a.serve(t.Context(), open); err != nil || !strings.Contains(jsonOf(r.body), sayWasChanged) {
		t.Errorf("%+v, %v", r, err)
	}
	click := func(meta, action string) receipt {
		in, err := inbound.DecodeInteraction([]byte(`{"type":"block_actions","trigger_id":"t","team":{"id":"T1"},"user":{"id":"UANA"},"view":{"id":"V1","type":"modal","hash":"h"},"actions":[` + action + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		in.View.Metadata = inbound.LooseString(meta)
		r, err := a.serve(t.Context(), in)
		if err != nil {
			t.Errorf("%q %s: %v", meta, action, err)
		}
		return r
	}
	actions := []string{
		`{"type":"button","action_id":"nodp:do:1","value":"revoke-1","action_ts":"1"}`, `{"type":"button","action_id":"nodp:go:1","value":"grants","action_ts":"1"}`,
		`{"type":"static_select","action_id":"nodp:pick:1","selected_option":{"value":"server-ask"},"action_ts":"1"}`,
	}
	for _, action := range actions {
		if r := click(blocks.PanelForm{View: "start"}.Metadata(), action); r.after != nil || r.body != nil {
			t.Errorf("%s: %+v", action, r)
		}
	}
	a.Settings = b
	for _, meta := range []string{"", "{}", `{"v":1,"view":"start","x":1}`, blocks.PanelForm{Place: blocks.Place{Team: "T9", Channel: "C1", Thread: "1.2"}, View: "start"}.Metadata()} {
		for _, action := range actions {
			if r := click(meta, action); r.after != nil || r.body != nil {
				t.Errorf("%q %s: %+v", meta, action, r)
			}
		}
		in := inbound.Interaction{Type: "view_submission", Team: inbound.TeamRef{ID: "T1"}, User: "UANA"}
		in.View.Callback, in.View.Metadata, in.View.ID = blocks.CallbackFill, inbound.LooseString(strings.Replace(meta, `"view":"start"`, `"view":"start","token":"note-1"`, 1)), "V1"
		if r, err := a.serve(t.Context(), in); err != nil || !strings.Contains(jsonOf(r.body), sayWasChanged) {
			t.Errorf("%q: %+v, %v", meta, r, err)
		}
	}
	if len(b.acted()) != 0 || len(b.seen()) != 0 {
		t.Errorf("%+v %+v", b.acted(), b.seen())
	}
}

// What is clicked is read strictly.
func TestWhatIsNoActIsLeftAlone(t *testing.T) {
	sc, b := boarded(t)
	sc.settings("UANA")
	looked := len(b.seen())
	for _, action := range []string{
		`{"type":"button","action_id":"nodp:do:1","value":"a b","action_ts":"1"}`, `{"type":"button","action_id":"nodp:do:1","action_ts":"1"}`, `{"type":"button","action_id":"nodp:do","value":"revoke-1","action_ts":"1"}`,
		`{"type":"button","action_id":"nodp:do:x","value":"revoke-1","action_ts":"1"}`, `{"type":"button","action_id":"nodp:other:1","value":"revoke-1","action_ts":"1"}`, `{"type":"button","action_id":"nodp:go:1","value":"a b","action_ts":"1"}`,
		`{"type":"button","action_id":"nodp:page:1","value":"-1","action_ts":"1"}`, `{"type":"button","action_id":"nodp:page:1","value":"x","action_ts":"1"}`, `{"type":"button","action_id":"nodp:link:1","action_ts":"1"}`,
		`{"type":"static_select","action_id":"nodp:pick:1","value":"server-ask","action_ts":"1"}`, `{"type":"button","action_id":"nodp:do:1","value":"` + rep(41) + `","action_ts":"1"}`,
	} {
		in, err := inbound.DecodeInteraction([]byte(`{"type":"block_actions","trigger_id":"t","team":{"id":"T1"},"user":{"id":"UANA"},"view":{"id":"V1","type":"modal","hash":"h","private_metadata":"{\"v\":1,\"view\":\"start\"}"},"actions":[` + action + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := sc.a.serve(sc.ctx, in); err != nil || r.after != nil {
			t.Errorf("%s: %+v, %v", action, r, err)
		}
	}
	if len(b.acted()) != 0 || len(b.seen()) != looked {
		t.Errorf("%+v", b.acted())
	}
}

func TestLinksOfAPanel(t *testing.T) {
	sc, _ := boarded(t)
	here := blocks.Place{Team: "T1", Channel: "C1", Thread: "1795269720.000100"}
	if got := sc.a.LinkTo(render.ChatLink{Chat: here.Chat().String(), Message: "1795269721.000200"}); got != sc.a.permalink(here, "1795269721.000200") {
		t.Errorf("%q", got)
	}
	if got := sc.a.LinkTo(render.ChatLink{Chat: here.Chat().String()}); got != sc.a.permalink(here, chat.MessageRef(here.Thread)) {
		t.Errorf("%q", got)
	}
	for _, l := range []render.ChatLink{{}, {Chat: "x"}, {Chat: "web::c1"}, {Chat: blocks.Place{Team: "T9", Channel: "C1", Thread: "1.2"}.Chat().String()}, {Chat: here.Chat().String(), Message: "javascript:1"}} {
		if got := sc.a.LinkTo(l); got != "" {
			t.Errorf("%+v: %q", l, got)
		}
	}
	for _, url := range []string{"", "https://a.example/"} { // of a workspace whose address Slack did not say, and of one that it has not named yet
		nowhere := newAdapter(t, Config{})
		if nowhere.self.Team, nowhere.self.URL = "T1", url; url == "" {
			close(nowhere.introduced)
		}
		if got := nowhere.LinkTo(render.ChatLink{Chat: here.Chat().String()}); got != "" {
			t.Errorf("%q", got)
		}
	}
}

// "open" on a message leads to the view that its token names, in which "here" is nothing.
// R161
func TestOpeningTheSettingsFromAMessage(t *testing.T) {
	sc, b := boarded(t)
	_, ts := sc.thread()
	sc.press("UANA", "C1", ts, buttonFor(chat.Open, "install:"+rep(100)))
	sc.until("the settings are open", func() bool { return len(sc.slack.Views("UANA")) == 1 })
	if got := b.seen(); len(got) != 1 || got[0].view != "install:"+rep(100) || !got[0].env.Chat.IsZero() || got[0].env.User != ana {
		t.Errorf("%+v", got)
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("opening decided something")
	}
	b.set(func() { b.down = errDown })
	sc.press("UANA", "C1", ts, buttonFor(chat.Open, "install:1"))
	sc.until("Ana is told", func() bool { return slices.Equal(sc.told("UANA"), []string{sayNoPanel}) })

	sc = newScene(t, overSocket).connected() // an older message, where nobody manages anything any more
	_, ts = sc.thread()
	sc.press("UANA", "C1", ts, buttonFor(chat.Open, "install:1"))
	sc.until("Ana is told", func() bool { return slices.Equal(sc.told("UANA"), []string{sayNoPanel}) })
	sc.press("UANA", "C1", ts, fakeslack.Button{BlockID: "b", ActionID: "nodp:show:1", Type: "button", Text: "x", Value: blocks.PanelForm{}.Metadata()})
	sc.press("UGUEST", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
	sc.until("what comes after it is answered", func() bool { return len(sc.told("UGUEST")) == 1 })
}

// A view that Slack would refuse is not sent: that would be no answer at all.
func TestAViewThatWouldBeRefusedSaysSo(t *testing.T) {
	sc, b := boarded(t)
	p := samples.FirstPanel()
	for range 13 {
		p.Tabs = append(p.Tabs, p.Tabs...)
		if len(p.Tabs) > 3000 {
			break
		}
	}
	b.set(func() { b.views[""] = p })
	v := sc.settings("UANA")
	if !strings.Contains(string(v.Blocks), "This cannot be shown here.") {
		t.Errorf("%d bytes", len(v.Blocks))
	}
	sc.slack.OpenHome("UANA")
	sc.until("the Home tab says so", func() bool {
		v, ok := sc.slack.Home("UANA")
		return ok && strings.Contains(string(v.Blocks), "This cannot be shown here.")
	})
}
