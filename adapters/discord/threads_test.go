package discord

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func TestPostMakesTheThreadThatIsExpected(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Say(s.ada, s.channel, "<@"+s.BotUser()+"> fix the login\nplease")
	s.a.expect(s.at(said), s.ada, "fix the login\nplease")
	ref := s.posted(s.at(said), words("on it"))
	if th, _ := s.Channel(said); th.Name != "fix the login" || th.AutoArchive != archiveAfter || th.Parent != s.channel {
		t.Errorf("%+v", th)
	}
	if !strings.Contains(s.text(said, ref), "on it") {
		t.Error("the message is elsewhere")
	}
	s.posted(s.at(said), words("and again"))
	if n := len(s.Calls(fakediscord.StartThreadOn)); n != 1 {
		t.Errorf("asked for the thread %d times", n)
	}
}

func TestThreadThatIsThereAlreadyServes(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Say(s.ada, s.channel, "hello")
	s.CreateThread(s.bob, s.channel, said, "bob was faster")
	s.a.expect(s.at(said), s.ada, "hello")
	ref := s.posted(s.at(said), words("on it"))
	if !strings.Contains(s.text(said, ref), "on it") {
		t.Error("the message is elsewhere")
	}
}

// A server in Server Discovery takes no names with certain words, and only Discord knows which: they may be somebody's question.
func TestAThreadWhoseNameIsRefusedHasAnother(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Say(s.ada, s.channel, "<@"+s.BotUser()+"> what does 1488 mean?")
	s.a.expect(s.at(said), s.ada, "what does 1488 mean?")
	s.Fail(fakediscord.StartThreadOn, 1, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeInvalidFormBody})
	ref := s.posted(s.at(said), words("a number"))
	if th, _ := s.Channel(said); th.Name != sayThread || !strings.Contains(s.text(said, ref), "a number") {
		t.Errorf("%+v", th)
	}
	s.Fail(fakediscord.StartThreadOn, 2, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeInvalidFormBody})
	said = s.Say(s.ada, s.channel, "again")
	s.a.expect(s.at(said), s.ada, "again")
	if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden {
		t.Error(err)
	}
}

// Who hears the mention and who drives the turn may be two replicas.
func TestThreadIsMadeByAReplicaThatDidNotHearTheMention(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Say(s.ada, s.channel, "<@"+s.BotUser()+"> @everyone fix the login")
	s.Fail(fakediscord.GetMessage, 1, fakediscord.Fault{Status: 503})
	if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultTransient || len(s.Calls(fakediscord.StartThreadOn)) != 0 {
		t.Error("a thread is made on a message that could not be read:", err)
	}
	ref := s.posted(s.at(said), words("on it"))
	if th, _ := s.Channel(said); th.Name != "everyone fix the login" {
		t.Errorf("%+v", th)
	}
	if !strings.Contains(s.text(said, ref), "on it") {
		t.Error("the message is elsewhere")
	}
}

func TestThreadOfADeletedMessageIsGone(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	for _, expected := range []bool{true, false} {
		said := s.Say(s.ada, s.channel, "hello")
		if expected {
			s.a.expect(s.at(said), s.ada, "hello")
		}
		s.DeleteMessage(s.channel, said)
		if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultGone {
			t.Errorf("expected %v: %v", expected, err)
		}
	}
}

func TestWhoeverAskedIsToldOnceWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		denied fakediscord.Permission
		words  string
	}{
		{fakediscord.CreatePublicThreads, permThread},
		{fakediscord.SendMessagesInThreads, permSendInThread},
		{fakediscord.ViewChannel, permView},
	} {
		s := newScene(t, fakediscord.Options{}, Config{})
		said := s.Say(s.ada, s.channel, "hello")
		s.a.expect(s.at(said), s.ada, "hello")
		s.SetPermissions(s.channel, c.denied)
		for i := range 3 {
			if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden {
				t.Errorf("%v: %v", c.words, err)
			}
			if n := len(s.Mine(s.OpenDM(s.ada))); n != 1 {
				t.Errorf("%v: told %d times after %d attempts", c.words, n, i+1)
			}
		}
		if m := s.Mine(s.OpenDM(s.ada)); len(m) == 1 && !strings.Contains(m[0].Text(), c.words) {
			t.Errorf("%v: %s", c.words, m[0].Text())
		}
		s.clock.Advance(noticeLife)
		s.a.expect(s.at(said), s.ada, "hello")
		_, _ = s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x"))
		if n := len(s.Mine(s.OpenDM(s.ada))); n != 2 {
			t.Errorf("%v: an hour later told %d times", c.words, n)
		}
	}
}

// What a program began is nobody's: nobody can be told.
func TestOfAProgramsThreadNobodyIsTold(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Post(fakediscord.Post{User: s.AddUser(fakediscord.User{Name: "robot", Bot: true}), Channel: s.channel, Text: "hello"})
	s.SetPermissions(s.channel, fakediscord.CreatePublicThreads)
	if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden || len(s.Calls(fakediscord.CreateDM)) != 0 {
		t.Error(err)
	}
}

func TestWhoeverAskedIsToldThatNoThreadHasRoom(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	said := s.Say(s.ada, s.channel, "hello")
	s.a.expect(s.at(said), s.ada, "hello")
	s.Fail(fakediscord.StartThreadOn, 1, fakediscord.Fault{Status: 400, Code: discordgo.ErrCodeMaximumNumberOfActiveThreadsReached})
	if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden {
		t.Error(err)
	}
	if m := s.Mine(s.OpenDM(s.ada)); len(m) != 1 || !strings.Contains(m[0].Text(), "too many threads") {
		t.Error(m)
	}
}

func TestInAChannelWhoeverAskedIsToldToo(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.a.expect(s.at(""), s.ada, "hello")
	s.SetPermissions(s.channel, fakediscord.SendMessages)
	if _, err := s.a.Post(t.Context(), s.at("").Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden {
		t.Error(err)
	}
	if m := s.Mine(s.OpenDM(s.ada)); len(m) != 1 || !strings.Contains(m[0].Text(), permSend) || len(s.Calls(fakediscord.StartThreadOn)) != 0 {
		t.Error(m)
	}
}

func TestClosedDirectMessagesAreOnlyLogged(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.BlockDMs(s.ada, true)
	said := s.Say(s.ada, s.channel, "hello")
	s.a.expect(s.at(said), s.ada, "hello")
	s.SetPermissions(s.channel, fakediscord.CreatePublicThreads)
	if _, err := s.a.Post(t.Context(), s.at(said).Chat(), "k", words("x")); samples.KindOf(err) != agent.FaultForbidden || !strings.Contains(s.log.String(), "could not tell a person") {
		t.Error(err)
	}
}

func TestWhatIsExpectedIsBounded(t *testing.T) {
	a, _ := outward(t, Config{})
	for i := range 3 * surface.Kept {
		a.expect(ids.Place{Guild: "1", Channel: "2", Thread: strconv.Itoa(i + 1)}, "9", "text")
		a.notified.Add(strconv.Itoa(i), struct{}{}, a.now())
	}
	if n, m := a.begun.Len(), a.notified.Len(); n != surface.Kept || m != surface.Kept {
		t.Errorf("%d and %d are remembered", n, m)
	}
}
