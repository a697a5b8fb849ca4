package discord

import (
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func (s *scene) nudge(users ...string) render.Message {
	var l render.Line
	for _, u := range users {
		l = append(l, render.Person{User: ids.Person(s.Guild(), u)}, render.Plain(", "))
	}
	return render.Message{State: render.Waiting, Blocks: []render.Block{render.Note{Line: append(l, render.Plain("a call waits @everyone"))}}}
}

func TestANudgeNotifiesThoseItNames(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	beside := s.posted(s.at(""), asking("one"))
	ref, err := s.a.Annotate(t.Context(), s.at("").Chat(), beside, "n", s.nudge(s.ada, s.ada), true)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(s.channel, string(ref))
	if len(m.Mentions) != 1 || m.Mentions[0] != s.ada || m.Everyone {
		t.Errorf("%+v", m.Version)
	}
	want := "https://discord.com/channels/" + s.Guild() + "/" + s.channel + "/" + string(beside)
	if !strings.Contains(strings.Join(m.Links(), " "), want) {
		t.Errorf("%v does not lead to %s", m.Links(), want)
	}
	again, err := s.a.Annotate(t.Context(), s.at("").Chat(), beside, "n", s.nudge(s.ada), true)
	if err != nil || again != ref {
		t.Error("the same key posts twice:", again, err)
	}
	if got, found, err := s.a.Seek(t.Context(), s.at("").Chat(), "n"); !found || got != ref || err != nil {
		t.Error("it is not found again:", err)
	}
}

func TestTheRestOfALongAnswerNamesNobody(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	m := words("… <@" + s.ada + "> and <@&" + s.Guild() + ">")
	m.Blocks = append([]render.Block{render.Note{Line: render.Line{render.Person{User: ids.Person(s.Guild(), s.ada), Name: "Ada"}}}}, m.Blocks...)
	ref, err := s.a.Annotate(t.Context(), s.at("").Chat(), "1", "r", m, false)
	got, _ := s.Message(s.channel, string(ref))
	if err != nil || len(got.Mentions) > 0 || len(got.MentionRoles) > 0 || len(got.Links()) > 0 {
		t.Errorf("%v %+v", err, got.Version)
	}
}

func TestRemove(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref, _ := s.a.Annotate(t.Context(), s.at("").Chat(), "1", "n", s.nudge(s.ada), false)
	for range 2 { // the second finds it gone
		if err := s.a.Remove(t.Context(), s.at("").Chat(), ref); err != nil {
			t.Error(err)
		}
	}
	if len(s.Mine(s.channel)) != 0 {
		t.Error("it is there")
	}
	if err := s.a.Remove(t.Context(), s.at("").Chat(), "../1"); samples.KindOf(err) != agent.FaultGone {
		t.Error(err)
	}
	s.Fail(fakediscord.DeleteMessage, 1, fakediscord.Fault{Status: 503})
	if err := s.a.Remove(t.Context(), s.at("").Chat(), ref); samples.KindOf(err) != agent.FaultTransient {
		t.Error(err)
	}
	s.DeleteChannel(s.channel)
	if err := s.a.Remove(t.Context(), s.at("").Chat(), ref); err != nil {
		t.Error("with its channel:", err)
	}
}

// Discord shows nothing to one person only but as the answer to an interaction.
func TestPrivatelyIsADirectMessage(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	if err := s.a.Whisper(t.Context(), privately(s.at(""), s.ada), inWords("Only admins may do that.")); err != nil {
		t.Fatal(err)
	}
	m := s.Mine(s.OpenDM(s.ada))
	if len(m) != 1 || !strings.Contains(m[0].Text(), "Only admins") || len(s.Mine(s.channel)) != 0 {
		t.Error(m)
	}
}

func TestPrivatelyInDirectMessagesIsThere(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	dm := s.OpenDM(s.ada)
	if err := s.a.Whisper(t.Context(), privately(ids.Place{Channel: dm}, s.ada), inWords("no")); err != nil || len(s.Mine(dm)) != 1 || len(s.Calls(fakediscord.CreateDM)) != 0 {
		t.Error(err)
	}
}

func TestPrivatelyWithClosedDirectMessagesIsAShortReply(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.Fail(fakediscord.CreateDM, 1, fakediscord.Fault{Status: 403, Code: discordgo.ErrCodeCannotSendMessagesToThisUser}) // or when one is written
	if err := s.a.Whisper(t.Context(), privately(s.at(""), s.bob), inWords("x")); err != nil || len(s.Mine(s.channel)) != 1 {
		t.Error(err)
	}
	s.DeleteMessage(s.channel, s.Mine(s.channel)[0].ID)
	s.BlockDMs(s.ada, true)
	if err := s.a.Whisper(t.Context(), privately(s.at(""), s.ada), inWords("Only admins may do that. @everyone")); err != nil {
		t.Fatal(err)
	}
	m := s.Mine(s.channel)
	if len(m) != 1 || !strings.Contains(m[0].Text(), "Only admins") || len(m[0].Mentions) != 1 || m[0].Mentions[0] != s.ada || m[0].Everyone {
		t.Errorf("%+v", m)
	}
	for name, secret := range map[string]render.Message{
		"a question": asking("the arguments: s3cret"), "text": words("the arguments: s3cret"),
		"code": {Blocks: []render.Block{render.Code{Source: "s3cret"}}}, "nothing": {},
		"a note above buttons": {Blocks: inWords("s3cret").Blocks, Choices: asking("").Blocks[1].(render.Ask).Choices},
		"a note with buttons":  {Blocks: []render.Block{render.Note{Line: render.Line{render.Plain("s3cret")}, Choices: asking("").Blocks[1].(render.Ask).Choices}}},
	} {
		if err := s.a.Whisper(t.Context(), privately(s.at(""), s.ada), secret); err != nil {
			t.Fatal(name, err)
		}
		all := s.Mine(s.channel)
		if got := all[len(all)-1].Text(); strings.Contains(got, "s3cret") || !strings.Contains(got, "direct messages") {
			t.Errorf("%s: everybody reads %s", name, got)
		}
	}
}

func TestAttachIsAFileBesideTheMessage(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	ref, err := s.a.Attach(t.Context(), s.at("").Chat(), "m", "f", s.nudge(s.ada), agent.File{Name: "answer.md", Type: "text/markdown", Data: []byte("# long\n<@" + s.ada + ">")})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(s.channel, string(ref))
	if len(m.Attachments) != 1 || string(s.File(s.channel, m.Attachments[0])) != "# long\n<@"+s.ada+">" || len(m.Mentions) > 0 || !strings.Contains(m.Text(), "a call waits") {
		t.Errorf("%+v", m.Version)
	}
	if again, _ := s.a.Attach(t.Context(), s.at("").Chat(), "m", "f", s.nudge(), agent.File{Name: "answer.md", Data: []byte("x")}); again != ref {
		t.Error("the same key posts twice")
	}
}
