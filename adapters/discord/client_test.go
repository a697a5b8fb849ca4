package discord

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// unheard is an engine that nothing reaches.
type unheard struct{}

func (unheard) Accept(context.Context, chat.Inbound) error                       { return nil }
func (unheard) Decide(context.Context, chat.Clicked) ([]decision.Outcome, error) { return nil, nil }
func (unheard) Refuses(context.Context, chat.Clicked) *decision.Refusal          { return nil }
func (unheard) Session(context.Context, chat.ID) (turn.Session, error)           { return turn.Session{}, nil }
func (unheard) Knows(context.Context, chat.ID) (bool, error)                     { return false, nil }
func (unheard) Asking(context.Context, func(chat.ID) bool) ([]chat.ID, error)    { return nil, nil }

// outward is an adapter that only sends, with a log to read.
func outward(t *testing.T, c Config) (*Adapter, *samples.Log) {
	t.Helper()
	log := new(samples.Log)
	if c.Token == "" {
		c.Token = samples.Token
	}
	c.Engine, c.Asks, c.Logger = unheard{}, unheard{}, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.api.CloseIdle)
	return a, log
}

// scene is a stand-in Discord with a channel, two people, and an adapter that knows who it is.
type scene struct {
	*fakediscord.Server
	t            *testing.T
	a            *Adapter
	log          *samples.Log
	clock        *fakediscord.Manual
	channel      string
	ada, bob     string
	mu           sync.Mutex
	pauses       []time.Duration
	whilePausing func(time.Duration)
}

func newScene(t *testing.T, o fakediscord.Options, c Config) *scene {
	t.Helper()
	s := &scene{t: t, clock: fakediscord.NewManual()}
	o.Clock, o.Undescribed = s.clock, t.Error
	s.Server = fakediscord.New(o)
	t.Cleanup(s.Server.Close)
	s.channel = s.AddChannel(fakediscord.Channel{Name: "general"})
	s.ada, s.bob = s.AddUser(fakediscord.User{Name: "Ada"}), s.AddUser(fakediscord.User{Name: "Bob"})
	c.Token, c.APIURL = s.Token(), s.URL()
	s.a, s.log = outward(t, c)
	s.a.now = s.clock.Now
	s.a.pause = func(ctx context.Context, d time.Duration) error { // time passes by itself
		s.mu.Lock()
		s.pauses = append(s.pauses, d)
		do := s.whilePausing
		s.mu.Unlock()
		s.clock.Advance(d)
		if do != nil {
			do(d)
		}
		return ctx.Err()
	}
	if err := s.a.introduce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Forget()
	return s
}

// at is the place in the channel; with a thread's ID, in that thread.
func (s *scene) at(thread string) ids.Place {
	return ids.Place{Guild: s.Guild(), Channel: s.channel, Thread: thread}
}

// serve is a Discord made of one function.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// knownAs skips the introduction.
func knownAs(a *Adapter) {
	a.self = self{User: "11", Application: "12"}
	a.api.Introduce(a.self.Application)
	close(a.introduced)
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for _, key := range []string{"short", strings.Repeat("0", 64) + "zz"} {
		_, err := New(Config{PublicKey: key})
		for _, want := range []string{"Token", "Engine", "Asks", "PublicKey"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not name %s", key, err, want)
			}
		}
	}
	for _, address := range []string{"localhost:8080", "ftp://h", "http://", "::"} {
		if _, err := New(Config{Token: samples.Token, Engine: unheard{}, Asks: unheard{}, APIURL: address}); err == nil || !strings.Contains(err.Error(), "APIURL") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestIntroduceKnowsBotAndApplicationApart(t *testing.T) {
	s := newScene(t, fakediscord.Options{AppID: "900000000000000011", BotUser: "900000000000000022", BotName: "nod"}, Config{})
	me, err := s.a.me(t.Context())
	if want := (self{"900000000000000022", "900000000000000011"}); err != nil || me != want {
		t.Errorf("%+v, %v", me, err)
	}
}

func TestIntroduceGivesUpOnATokenThatDiscordRefuses(t *testing.T) {
	for taken := range 2 { // a token may be reset between the two questions
		n := 0
		a, _ := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n <= taken {
				_, _ = w.Write([]byte(`{"id":"77","username":"nod"}`))
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"message":"401: Unauthorized","code":0}`))
		})})
		err := a.introduce(t.Context())
		if err == nil || !strings.Contains(err.Error(), "DISCORD_TOKEN") || strings.Contains(err.Error(), samples.Token) || n != taken+1 {
			t.Errorf("asked %d times: %v", n, err)
		}
	}
}

func TestIntroduceSaysThatAnAddressIsNone(t *testing.T) {
	a, _ := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })})
	if err := a.introduce(t.Context()); err == nil || !strings.Contains(err.Error(), "DISCORD_API_URL") {
		t.Error(err)
	}
}

func TestIntroduceTriesAgainAsLateAsDiscordSays(t *testing.T) {
	n := 0
	a, log := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"message":"You are being rate limited.","retry_after":90.0,"global":false}`))
		case 3, 6: // who the user is, and which application it is of, are not said
			_, _ = w.Write([]byte(`{}`))
		default:
			_, _ = w.Write([]byte(`{"id":"77","username":"nod"}`))
		}
	})})
	var waits []time.Duration
	now := time.Now()
	a.now = func() time.Time { return now }
	a.pause = func(_ context.Context, d time.Duration) error { waits, now = append(waits, d), now.Add(d); return nil }
	if err := a.introduce(t.Context()); err != nil || a.self.User != "77" {
		t.Fatal(a.self, err)
	}
	if len(waits) != 4 || n != 8 || waits[0] >= time.Second || waits[1] < 90*time.Second {
		t.Errorf("waited %v", waits)
	}
	if strings.Contains(log.String(), samples.Token) {
		t.Error("the token is in the log")
	}
}

func TestCallsBeforeRunWaitUntilTheContextEnds(t *testing.T) {
	a, _ := outward(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
	if _, err := a.Post(ctx, ids.Place{Guild: "1", Channel: "2", Thread: ""}.Chat(), "k", words("hi")); samples.KindOf(err) != agent.FaultTransient {
		t.Error(err)
	}
}

func TestOwnClientIsLeftAsItWas(t *testing.T) {
	c := &http.Client{}
	_, _ = outward(t, Config{Client: c})
	if c.Transport != nil || c.Timeout != 0 || c.CheckRedirect != nil {
		t.Error("changed")
	}
}

func TestGroupsAreTheRolesOfAMemberNow(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	admins, staff := s.AddRole("", fakediscord.Role{Name: "admins"}), s.AddRole("", fakediscord.Role{Name: "staff"})
	s.SetRoles(s.ada, admins, staff)
	id, ada := s.at("").Chat(), ids.Person(s.Guild(), s.ada)
	got, err := s.a.Groups(t.Context(), id, ada)
	if want := []chat.User{ids.Role(s.Guild(), admins), ids.Role(s.Guild(), staff)}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, %v", got, err)
	}
	s.SetRoles(s.ada, staff)
	if got, _ := s.a.Groups(t.Context(), id, ada); len(got) != 2 || s.Count(fakediscord.GetMember) != 1 {
		t.Error("asked again within the minute, or forgot:", got)
	}
	s.clock.Advance(memberLife)
	if got, _ := s.a.Groups(t.Context(), id, ada); !slices.Equal(got, []chat.User{ids.Role(s.Guild(), staff)}) {
		t.Error("after a minute:", got)
	}
}

func TestGroupsOfNobodyHere(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	stranger := s.AddStranger(fakediscord.User{Name: "Eve"})
	id := s.at("").Chat()
	for name, u := range map[string]chat.User{
		"a stranger":         ids.Person(s.Guild(), stranger),
		"of another guild":   ids.Person("5", s.ada),
		"a role":             ids.Role(s.Guild(), s.Guild()),
		"of another surface": {Platform: "slack", Workspace: s.Guild(), Key: s.ada},
		"a path":             ids.Person(s.Guild(), "../../../users/@me"),
	} {
		if got, err := s.a.Groups(t.Context(), id, u); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d calls, want one for the stranger", n)
	}
	dm := ids.Place{Channel: s.OpenDM(s.ada)}
	if got, err := s.a.Groups(t.Context(), dm.Chat(), ids.Person("", s.ada)); err != nil || len(got) > 0 {
		t.Error("in direct messages:", got, err)
	}
}

func TestGroupsThatCannotBeReadAreAnError(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.Fail(fakediscord.GetMember, 1, fakediscord.Fault{Status: 503})
	if got, err := s.a.Groups(t.Context(), s.at("").Chat(), ids.Person(s.Guild(), s.ada)); err == nil || got != nil {
		t.Error(got, err)
	}
	if _, err := s.a.Groups(t.Context(), s.at("").Chat(), ids.Person(s.Guild(), s.ada)); err != nil {
		t.Error("the failure was kept:", err)
	}
}

func TestRunEndsWithItsContextAndLeavesNothingBehind(t *testing.T) {
	// discordgo's goroutines learn from the closed connection that it is over, and sleep for a second before they end.
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/bwmarrin/discordgo.(*Session).heartbeat"), goleak.IgnoreAnyFunction("github.com/bwmarrin/discordgo.(*Session).listen"))
	srv := fakediscord.New(fakediscord.Options{})
	defer srv.Close()
	a, log := outward(t, Config{Token: srv.Token(), APIURL: srv.URL()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	within, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	if err := srv.Wait(within, func() bool { return srv.Connected() == 1 && srv.Count(fakediscord.PutCommands) == 1 }); err != nil {
		t.Error(err, log)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), srv.Token()) {
		t.Error("the token is in the log")
	}
}

func TestRunSaysWhatToDoWhereTheTokenIsWrong(t *testing.T) {
	srv := fakediscord.New(fakediscord.Options{})
	defer srv.Close()
	a, _ := outward(t, Config{APIURL: srv.URL()})
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "DISCORD_TOKEN") || len(srv.Calls()) != 1 {
		t.Error(err, srv.Calls())
	}
}

func TestCommandsAreRegisteredAsSoonAsThatIsPossible(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.Fail(fakediscord.GetCommands, 1, fakediscord.Fault{Status: 503})
	s.Fail(fakediscord.PutCommands, 1, fakediscord.Fault{Status: 503})
	s.a.registering(t.Context())
	ctx, cancel := samples.EndedContext(t)
	defer cancel()
	s.a.registering(ctx)
	if s.Count(fakediscord.PutCommands) != 1 || len(s.pauses) != 2 || strings.Contains(s.log.String(), "going on without") {
		t.Errorf("registered %d times after %v", s.Count(fakediscord.PutCommands), s.pauses)
	}
}

// What cannot be registered keeps nobody from being heard.
func TestCommandsThatMayNotBeRegisteredAreDoneWithout(t *testing.T) {
	s := newScene(t, fakediscord.Options{}, Config{})
	s.Fail("", 100, fakediscord.Fault{Status: 403, Code: discordgo.ErrCodeMissingAccess})
	s.a.registering(t.Context())
	if !strings.Contains(s.log.String(), "going on without") || len(s.pauses) != 0 {
		t.Errorf("paused %v: %s", s.pauses, s.log)
	}
}
