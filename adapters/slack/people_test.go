package slack

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/fakeslack"
)

func TestSomebodyOf(t *testing.T) {
	t.Parallel()
	grid := self{Team: "T1", Enterprise: "E1"}
	of := func(home, key string) chat.User { return chat.User{Platform: Platform, Workspace: home, Key: key} }
	for name, x := range map[string]struct {
		u    slack.User
		me   self
		want somebody
	}{
		"member":          {slack.User{ID: "U1", TeamID: "T1", Name: "ana", RealName: "Ana A", Profile: slack.UserProfile{DisplayName: "Ana"}}, testSelf, somebody{User: of("T1", "U1"), Name: "Ana"}},
		"without a name":  {slack.User{ID: "U1", TeamID: "T1", Name: "ana"}, testSelf, somebody{User: of("T1", "U1"), Name: "ana"}},
		"guest":           {slack.User{ID: "U1", TeamID: "T1", IsRestricted: true}, testSelf, somebody{User: of("T1", "U1"), Guest: true}},
		"single channel":  {slack.User{ID: "U1", TeamID: "T1", IsUltraRestricted: true}, testSelf, somebody{User: of("T1", "U1"), Guest: true}},
		"connected":       {slack.User{ID: "U1", TeamID: "T9"}, testSelf, somebody{User: of("T9", "U1"), External: true}},
		"stranger":        {slack.User{ID: "U1", TeamID: "T1", IsStranger: true}, testSelf, somebody{User: of("T1", "U1"), External: true}},
		"no team":         {slack.User{ID: "U1"}, testSelf, somebody{External: true}},
		"deactivated":     {slack.User{ID: "U1", TeamID: "T1", Deleted: true}, testSelf, somebody{User: of("T1", "U1"), Gone: true}},
		"bot":             {slack.User{ID: "U1", TeamID: "T1", IsBot: true}, testSelf, somebody{User: of("T1", "U1"), Bot: true}},
		"slackbot":        {slack.User{ID: "USLACKBOT", TeamID: "T1"}, testSelf, somebody{User: of("T1", "USLACKBOT"), Bot: true}},
		"organisation":    {slack.User{ID: "W1", TeamID: "T1", Enterprise: slack.EnterpriseUser{EnterpriseID: "E1"}}, grid, somebody{User: of("E1", "W1")}},
		"other workspace": {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E1"}}, grid, somebody{User: of("E1", "W1")}},
		"other org":       {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E2"}}, grid, somebody{User: of("E2", "W1"), External: true}},
		"org, no grid":    {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E2"}}, testSelf, somebody{User: of("E2", "W1"), External: true}},
	} {
		if got := somebodyOf(&x.u, x.me); got != x.want {
			t.Errorf("%s: got %+v, want %+v", name, got, x.want)
		}
	}
}

// parlour is an adapter that only looks people up.
func parlour(t *testing.T) (*Adapter, *fakeslack.Server) {
	t.Helper()
	s := fakeslack.New(fakeslack.Options{Team: "T1", BotUser: "UBOT", BotID: "BBOT"})
	t.Cleanup(s.Close)
	a, err := New(Config{BotToken: s.BotToken(), SigningSecret: "x", APIURL: s.URL(), Engine: newLedger(), Asks: newLedger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.http.CloseIdleConnections)
	a.self = testSelf
	s.AddUser(fakeslack.User{ID: "UANA", Name: "Ana"})
	return a, s
}

func TestTwentyAtOnceAskOnce(t *testing.T) {
	a, s := parlour(t)
	hold := make(chan struct{})
	s.Fail("users.info", 1, fakeslack.Fault{Hold: hold})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if who, err := a.who(t.Context(), "UANA"); err != nil || who.Name != "Ana" || who.User != ana {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	close(hold)
	all.Wait()
	if n := s.Count("users.info"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestPeopleAreRememberedForAWhile(t *testing.T) {
	a, s := parlour(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	look := func() somebody {
		who, err := a.who(t.Context(), "UANA")
		if err != nil {
			t.Fatal(err)
		}
		return who
	}
	look()
	s.AddUser(fakeslack.User{ID: "UANA", Name: "Ana", Deleted: true})
	now = now.Add(peopleFresh - time.Second)
	if look().Gone || s.Count("users.info") != 1 {
		t.Error("asked again too early")
	}
	now = now.Add(2 * time.Second)
	if !look().Gone || s.Count("users.info") != 2 {
		t.Error("not asked again")
	}
	if p := &a.in.people; p.recent.Len() != len(p.byID) {
		t.Errorf("%d entries for %d people", p.recent.Len(), len(p.byID))
	}
}

func TestAFailureIsNotRememberedForLong(t *testing.T) {
	a, s := parlour(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	s.Fail("users.info", 1, fakeslack.Fault{RetryAfter: time.Second})
	for range 5 {
		if _, err := a.who(t.Context(), "UANA"); err == nil {
			t.Fatal("no error")
		}
	}
	if n := len(s.Calls("users.info")); n != 1 {
		t.Errorf("%d calls while it failed", n)
	}
	now = now.Add(peopleFailed)
	if _, err := a.who(t.Context(), "UANA"); err != nil {
		t.Error(err)
	}
}

// The one who asks gives up: those who wait with it ask themselves.
func TestAnotherOnesHasteIsNoFailureOfMine(t *testing.T) {
	a, _ := parlour(t)
	hasty, first := a.in.people.meet("UANA", a.now())
	if !first {
		t.Fatal("somebody asks already")
	}
	got := make(chan error, 1)
	go func() { _, err := a.who(t.Context(), "UANA"); got <- err }()
	for range 1000 { // it waits with the first
		runtime.Gosched()
	}
	hasty.err = context.Canceled
	a.in.people.met(hasty, true, a.now())
	if err := <-got; err != nil {
		t.Error(err)
	}
	if a.nameOf("UANA") != "Ana" {
		t.Error("what it found is not remembered")
	}
}

func TestPeopleAreBounded(t *testing.T) {
	t.Parallel()
	var p people
	for i := range maxPeople + 10 {
		one, first := p.meet(fmt.Sprint(i), time.Now())
		if !first {
			t.Fatal("not the first")
		}
		p.met(one, false, time.Now())
		if len(p.byID) > maxPeople || p.recent.Len() != len(p.byID) {
			t.Fatalf("%d are remembered", len(p.byID))
		}
	}
	if _, first := p.meet("0", time.Now()); !first {
		t.Error("the oldest is still remembered")
	}
}

func TestWhoMayDecide(t *testing.T) {
	a, s := parlour(t)
	for _, u := range []fakeslack.User{{ID: "UGUEST", Guest: true}, {ID: "UULTRA", UltraGuest: true}, {ID: "UEXT", Team: "T9"}, {ID: "UGONE", Deleted: true}, {ID: "UBOT2", Bot: true}} {
		s.AddUser(u)
	}
	for _, x := range []struct {
		user             string
		guests, external bool
		choice           chat.Choice
		want             string
	}{
		{"UANA", false, false, chat.AllowOnce, ""},
		{"UGUEST", false, true, chat.AllowOnce, sayGuest},
		{"UULTRA", false, true, chat.Deny, sayGuest},
		{"UGUEST", true, false, chat.AllowOnce, ""},
		{"UEXT", true, false, chat.AllowOnce, sayExternal},
		{"UEXT", false, true, chat.AllowOnce, ""},
		{"UGUEST", false, false, chat.Stop, ""},
		{"UEXT", false, false, chat.Stop, ""},
		{"UGONE", true, true, chat.AllowOnce, surface.SayNotAPerson},
		{"UBOT2", true, true, chat.AllowOnce, surface.SayNotAPerson},
		{"UGONE", true, true, chat.Stop, surface.SayNotAPerson},
		{"UNOBODY", true, true, chat.AllowOnce, sayWhoUnknown},
		{"", true, true, chat.AllowOnce, sayWhoUnknown},
	} {
		a.Guests, a.External = x.guests, x.external
		if _, no := a.decider(t.Context(), x.user, x.choice); no != x.want {
			t.Errorf("%+v: %q", x, no)
		}
	}
	for _, say := range []string{sayGuest, sayExternal, surface.SayNotAPerson, sayWhoUnknown} {
		if !strings.Contains(strings.ToLower(say), "nothing was recorded") {
			t.Errorf("%q does not say what is certain", say)
		}
	}
}
