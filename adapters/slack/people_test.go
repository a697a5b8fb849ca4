package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestSomebodyOf(t *testing.T) {
	t.Parallel()
	grid := inbound.Self{Team: "T1", Enterprise: "E1"}
	of := func(home, key string) chat.User { return chat.User{Platform: Platform, Workspace: home, Key: key} }
	for name, x := range map[string]struct {
		u    slack.User
		me   inbound.Self
		want Person
	}{
		"member":          {slack.User{ID: "U1", TeamID: "T1", Name: "ana", RealName: "Ana A", Profile: slack.UserProfile{DisplayName: "Ana"}}, testSelf, Person{User: of("T1", "U1"), Name: "Ana"}},
		"without a name":  {slack.User{ID: "U1", TeamID: "T1", Name: "ana"}, testSelf, Person{User: of("T1", "U1"), Name: "ana"}},
		"guest":           {slack.User{ID: "U1", TeamID: "T1", IsRestricted: true}, testSelf, Person{User: of("T1", "U1"), Guest: true}},
		"single channel":  {slack.User{ID: "U1", TeamID: "T1", IsUltraRestricted: true}, testSelf, Person{User: of("T1", "U1"), Guest: true}},
		"connected":       {slack.User{ID: "U1", TeamID: "T9"}, testSelf, Person{User: of("T9", "U1"), External: true}},
		"stranger":        {slack.User{ID: "U1", TeamID: "T1", IsStranger: true}, testSelf, Person{User: of("T1", "U1"), External: true}},
		"no team":         {slack.User{ID: "U1"}, testSelf, Person{External: true}},
		"deactivated":     {slack.User{ID: "U1", TeamID: "T1", Deleted: true}, testSelf, Person{User: of("T1", "U1"), Gone: true}},
		"bot":             {slack.User{ID: "U1", TeamID: "T1", IsBot: true}, testSelf, Person{User: of("T1", "U1"), Bot: true}},
		"workflow":        {slack.User{ID: "U1", TeamID: "T1", IsWorkflowBot: true}, testSelf, Person{User: of("T1", "U1"), Bot: true}},
		"connector":       {slack.User{ID: "U1", TeamID: "T1", IsConnectorBot: true}, testSelf, Person{User: of("T1", "U1"), Bot: true}},
		"slack":           {slack.User{ID: "USLACK", TeamID: "T1"}, testSelf, Person{User: of("T1", "USLACK"), Bot: true}},
		"of the org only": {slack.User{ID: "W1", TeamID: "E1"}, grid, Person{User: of("E1", "W1")}},
		"slackbot":        {slack.User{ID: "USLACKBOT", TeamID: "T1"}, testSelf, Person{User: of("T1", "USLACKBOT"), Bot: true}},
		"organisation":    {slack.User{ID: "W1", TeamID: "T1", Enterprise: slack.EnterpriseUser{EnterpriseID: "E1"}}, grid, Person{User: of("E1", "W1")}},
		"other workspace": {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E1"}}, grid, Person{User: of("E1", "W1")}},
		"other org":       {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E2"}}, grid, Person{User: of("E2", "W1"), External: true}},
		"org, no grid":    {slack.User{ID: "W1", TeamID: "T2", Enterprise: slack.EnterpriseUser{EnterpriseID: "E2"}}, testSelf, Person{User: of("E2", "W1"), External: true}},
	} {
		if got := PersonOf(&x.u, x.me.Team, x.me.Enterprise); got != x.want {
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
	close(a.introduced)
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
			if who, err := a.lookUp(t.Context(), "UANA"); err != nil || who.Name != "Ana" || who.User != ana {
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
	look := func() Person {
		who, err := a.lookUp(t.Context(), "UANA")
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
	if n := a.in.people.recent.Len(); n != 1 {
		t.Errorf("%d entries for one person", n)
	}
}

func TestAFailureIsNotRememberedForLong(t *testing.T) {
	a, s := parlour(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	s.Fail("users.info", 1, fakeslack.Fault{RetryAfter: time.Second})
	for range 5 {
		if _, err := a.lookUp(t.Context(), "UANA"); err == nil {
			t.Fatal("no error")
		}
	}
	if n := len(s.Calls("users.info")); n != 1 {
		t.Errorf("%d calls while it failed", n)
	}
	now = now.Add(peopleFailed)
	if _, err := a.lookUp(t.Context(), "UANA"); err != nil {
		t.Error(err)
	}
}

// Who asks may give up, as a click does that cannot wait: Slack is heard to its end, once, and whoever comes next knows.
func TestASlowAnswerIsHeardByTheNext(t *testing.T) {
	a, s := parlour(t)
	s.AddUserGroup(fakeslack.UserGroup{ID: "S1", Handle: "oncall", Users: []string{"UANA"}})
	hasty, gone := context.WithCancel(t.Context())
	answers := make(chan struct{})
	s.Fail("users.info", 1, fakeslack.Fault{Hold: answers})
	s.Fail("usergroups.list", 1, fakeslack.Fault{Hold: answers})
	gone()
	for range 2 {
		if _, err := a.lookUp(hasty, "UANA"); !errors.Is(err, context.Canceled) {
			t.Errorf("who did not wait is told %v", err)
		}
		if _, err := a.Groups(hasty, chat.ID{}, ana); !errors.Is(err, context.Canceled) {
			t.Errorf("who did not wait is told %v", err)
		}
	}
	close(answers)
	if who, err := a.lookUp(t.Context(), "UANA"); err != nil || who.Name != "Ana" {
		t.Errorf("%+v, %v", who, err)
	}
	if got := groupsOf(t, a, ana); len(got) != 1 {
		t.Errorf("in %v", got)
	}
	if people, groups := s.Count("users.info"), s.Count("usergroups.list"); people != 1 || groups != 1 {
		t.Errorf("asked %d and %d times", people, groups)
	}
}

func TestPeopleAreBounded(t *testing.T) {
	t.Parallel()
	var p people
	asked := 0
	find := func(i int) {
		p.find(fmt.Sprint(i), time.Now(), func() *question[Person] { asked++; return &question[Person]{came: make(chan struct{})} })
	}
	for i := range surface.Kept + 10 {
		if find(i); p.recent.Len() > surface.Kept {
			t.Fatalf("%d are remembered", p.recent.Len())
		}
	}
	before := asked
	if find(0); asked != before+1 {
		t.Error("the oldest is still remembered")
	}
}

// Whom Slack names no workspace of cannot be told from anybody else: they decide nothing, also where people of other organisations do.
func TestSomebodyFromNowhereDecidesNothing(t *testing.T) {
	api, _ := answers(t, `{"ok":true,"user":{"id":"UANA","name":"ana"}}`)
	a := newAdapter(t, Config{APIURL: api, External: true})
	if _, no := a.identifyDecider(t.Context(), "UANA", chat.AllowOnce); no != surface.SayNotAPerson {
		t.Errorf("told: %q", no)
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
		if _, no := a.identifyDecider(t.Context(), x.user, x.choice); no != x.want {
			t.Errorf("%+v: %q", x, no)
		}
	}
	if by := a.identifyAuthor(t.Context(), "", "T1"); by != (Person{Untold: true}) {
		t.Errorf("where nobody is named it is %+v", by)
	}
	for _, say := range []string{sayGuest, sayExternal, surface.SayNotAPerson, sayWhoUnknown} {
		if !strings.Contains(strings.ToLower(say), "nothing was recorded") {
			t.Errorf("%q does not say what is certain", say)
		}
	}
}

// Guests and people of other organisations can be kept from talking. Who Slack does not tell of is asked for again.
func TestVisitorsCanBeKeptFromTalking(t *testing.T) {
	sc := newScene(t, overSocket, func(sc *scene, c *Config) {
		c.MembersOnly, c.External = true, true
		sc.tune = func(a *Adapter) { a.now = sc.clock.Now }
	}).connected()
	sc.slack.Say("UGUEST", "C1", "", "<@UBOT> hello")
	sc.slack.Say("UGUEST", sc.slack.DM("UGUEST"), "", "hello")
	sc.until("the guest is told", func() bool { return len(sc.told("UGUEST")) == 2 })
	if got := sc.told("UGUEST"); got[0] != sayMembersOnly || got[1] != sayMembersOnly || len(sc.ledger.asked()) != 0 {
		t.Errorf("told: %q, taken: %+v", got, sc.ledger.asked())
	}
	sc.slack.Say("UEXT", "C1", "", "<@UBOT> I may decide here")
	sc.quiet()
	sc.slack.Fail("users.info", 1, fakeslack.Fault{Status: 500})
	sc.slack.Say("UBEN", sc.slack.DM("UBEN"), "", "who am I?")
	sc.until("it came again and was taken", func() bool {
		if len(sc.ledger.got()) == 1 {
			sc.clock.Advance(fakeslack.AckWithin)
		}
		return len(sc.ledger.got()) == 2
	})
	if got := sc.ledger.got()[1].(chat.Said); got.Standing != chat.Member || got.Text != "who am I?" || got.Channel != "" {
		t.Errorf("%+v", got)
	}
}
