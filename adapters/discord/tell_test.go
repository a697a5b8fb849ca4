package discord

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func installation() render.Message {
	return render.Message{State: render.Waiting, Blocks: []render.Block{
		render.Note{Line: render.Line{render.Strong(text.InstallHeader("mail"))}}, render.Step{State: render.StepPending, Title: "send_*mail*", Server: "mail", Detail: samples.Plain("write · new")}, render.Note{Line: samples.Plain(text.InstallMeans)},
	}, Choices: []render.Choice{{Choice: chat.Accept, Token: "digest-1", Label: text.LabelAcceptTools}, {Choice: chat.Open, Token: "install:mail", Label: text.LabelEditTools}}}
}

func faultKind(err error) agent.PlatformFault {
	pe, _ := errors.AsType[*agent.PlatformError](err)
	if pe == nil {
		return ""
	}
	return pe.Kind
}

// R161
func TestSomebodyIsTold(t *testing.T) {
	p, o := managed(t)
	crew := p.AddRole(p.Guild(), fakediscord.Role{Name: "crew"})
	p.SetRoles(p.ana, crew)
	dm := p.OpenDM(p.ana)
	ref, err := p.a.Tell(p.ctx, p.user(p.ana), "told-1", installation())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also when the nonce is forgotten
		p.clock.Advance(fakediscord.NonceFor * 2)
		if again, err := p.a.Tell(p.ctx, p.user(p.ana), "told-1", installation()); err != nil || again != ref {
			t.Errorf("%s, %v", again, err)
		}
	}
	if other, err := p.a.Tell(p.ctx, p.user(p.ana), "told-2", installation()); err != nil || other == ref {
		t.Errorf("%s, %v", other, err)
	}
	mine := p.Mine(dm)
	if len(mine) != 2 || mine[0].ID != string(ref) || len(mine[0].Mentions) != 0 || mine[0].Flags&fakediscord.FlagSuppressEmbeds == 0 || !strings.Contains(mine[0].Text(), `send\_\*mail\*`) {
		t.Fatalf("%+v", mine)
	}

	// Whoever clicks is a member of that server, with the roles they have there now.
	p.choose(p.ana, dm, string(ref), text.LabelAcceptTools)
	got := onlyOne[chat.Clicked](p)
	if got.Choice != chat.Accept || got.Token != "digest-1" || got.User != p.user(p.ana) || got.Chat != (ids.Place{Guild: "", Channel: dm, Thread: ""}.Chat()) || string(got.Message) != string(ref) ||
		!slices.Contains(got.Groups, ids.Role(p.Guild(), crew)) || !slices.Contains(got.Groups, ids.Role(p.Guild(), p.Guild())) || got.Name != "Ana" {
		t.Errorf("%+v", got)
	}
	if a := p.choose(p.ana, dm, string(ref), text.LabelEditTools); a.Type != answerMessage {
		t.Errorf("answered with %+v", a)
	}
	look := lastOf(o, &o.shown)
	if look.view != "install:mail" || look.env.User != p.user(p.ana) || !slices.Contains(look.env.Groups, ids.Role(p.Guild(), crew)) || !look.env.Chat.IsZero() || p.seen(p.ana, dm).Ephemeral != p.ana {
		t.Errorf("%+v", look)
	}
	p.clickSeen(p.ana, dm, "mode.always") // in the panel they still are
	if got := lastOf(o, &o.acted); got.env.User != p.user(p.ana) || got.view != "install:mail" || !got.env.Chat.IsZero() {
		t.Errorf("%+v", got)
	}
	p.clickSeen(p.ana, dm, "Add a note…")
	p.wait(p.Submit(p.ana, map[string]string{components.FieldFill: "x"}))
	if got := lastOf(o, &o.acted); got.env.User != p.user(p.ana) || got.text != "x" {
		t.Errorf("%+v", got)
	}

	// Where that cannot be looked up, nothing is done.
	acted := countOf(o, &o.acted)
	p.clickSeen(p.ana, dm, "Add a note…")
	p.clock.Advance(memberLife)
	p.Fail(fakediscord.GetMember, 2, fakediscord.Fault{Status: 500})
	p.wait(p.Submit(p.ana, map[string]string{components.FieldFill: "y"}))
	panel := slices.IndexFunc(p.Seen(p.ana, dm), func(m fakediscord.Message) bool { return strings.Contains(m.Text(), "Settings") })
	p.press(p.ana, dm, p.Seen(p.ana, dm)[panel].ID, "nodp:d:0:"+p.Guild()+" mode.always =install:mail")
	if n := strings.Count(p.told(p.ana, dm), surface.SayNotRead); n != 2 || countOf(o, &o.acted) != acted {
		t.Errorf("told %d times: %s", n, p.told(p.ana, dm))
	}
}

// A button in direct messages makes nobody a member of a server.
func TestSomebodyWhoIsNotThere(t *testing.T) {
	p, o := managed(t)
	stranger := p.AddGuild(fakediscord.Guild{Name: "elsewhere"})
	ref, err := p.a.Tell(p.ctx, p.user(p.ana), "told", installation())
	if err != nil {
		t.Fatal(err)
	}
	dm := p.OpenDM(p.ana)
	for _, id := range []string{"in:" + stranger + ":accept:digest-1", "in:" + stranger + ":open:view"} {
		p.press(p.ana, dm, string(ref), id)
		if got := p.seen(p.ana, dm).Text(); !strings.Contains(got, "not in the server") {
			t.Errorf("%s: %s", id, got)
		}
	}
	p.Fail(fakediscord.GetMember, 1, fakediscord.Fault{Status: 500})
	p.choose(p.ana, dm, string(ref), text.LabelAcceptTools)
	if got := p.seen(p.ana, dm).Text(); !strings.Contains(got, "could not be reached") {
		t.Error(got)
	}
	thread, card := p.card() // nor is it a way to another one
	p.press(p.ana, thread, card, "in:"+p.Guild()+":accept:digest-1")
	if got := p.seen(p.ana, thread).Text(); !strings.Contains(got, "another version") {
		t.Error(got)
	}
	if len(p.ledger.asked()) != 0 || countOf(o, &o.shown) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestADirectRoomWithoutAnID(t *testing.T) {
	n := 0
	a, _ := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, _ *http.Request) { n++; _, _ = w.Write([]byte(`{"id":"../1"}`)) })})
	knownAs(a)
	if _, err := a.Tell(t.Context(), ids.Person("1", "2"), "k", installation()); faultKind(err) != agent.FaultTransient || n != 1 {
		t.Errorf("%v after %d calls", err, n)
	}
}

func TestWhoCannotBeTold(t *testing.T) {
	p := newParlor(t)
	p.BlockDMs(p.ben, true)
	if _, err := p.a.Tell(p.ctx, p.user(p.ben), "k", installation()); faultKind(err) != agent.FaultForbidden {
		t.Errorf("%v", err)
	}
	for _, u := range []chat.User{{}, {Platform: "slack", Workspace: p.Guild(), Key: p.ana}, ids.Role(p.Guild(), "5"), ids.Person(p.Guild(), "x"), ids.Person("x", p.ana)} {
		if _, err := p.a.Tell(p.ctx, u, "k", installation()); faultKind(err) != agent.FaultGone {
			t.Errorf("%v: %v", u, err)
		}
	}
	p.Fail(fakediscord.CreateDM, 1, fakediscord.Fault{Status: 500})
	if _, err := p.a.Tell(p.ctx, p.user(p.ana), "k", installation()); faultKind(err) != agent.FaultTransient {
		t.Errorf("%v", err)
	}
	p.Fail(fakediscord.CreateDM, 1, fakediscord.Fault{Status: 403, Code: discordgo.ErrCodeCannotSendMessagesToThisUser})
	if _, err := p.a.Tell(p.ctx, p.user(p.ana), "k", installation()); faultKind(err) != agent.FaultForbidden {
		t.Errorf("%v", err)
	}
	p.Fail(fakediscord.GetMessages, 1, fakediscord.Fault{Status: 500}) // whether they were told is not known
	if _, err := p.a.Tell(p.ctx, p.user(p.ana), "k", installation()); faultKind(err) != agent.FaultTransient {
		t.Errorf("%v", err)
	}
	if len(p.Mine(p.OpenDM(p.ana))) != 0 {
		t.Error("told in spite of that")
	}
	// Somebody who was named without a server is told as who they are in direct messages.
	if _, err := p.a.Tell(p.ctx, ids.Person("", p.ana), "k", installation()); err != nil {
		t.Fatal(err)
	}
	dm := p.OpenDM(p.ana)
	p.choose(p.ana, dm, p.Mine(dm)[0].ID, text.LabelAcceptTools)
	if got := onlyOne[chat.Clicked](p); got.User != ids.Person("", p.ana) || got.Groups != nil {
		t.Errorf("%+v", got)
	}
}
