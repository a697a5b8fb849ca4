package attacks

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// People who are on one surface only, and why they may not decide.
const (
	guest   person = "Gus"  // Slack: multi-channel guest
	ultra   person = "Uma"  // Slack: single-channel guest
	xena    person = "Xena" // Slack: of another organisation
	odd     person = "Odd"  // Slack: a stranger of Slack Connect
	gone    person = "Gil"  // Slack: deactivated
	robot   person = "Rob"  // a bot
	away    person = "Avi"  // Discord: a member of another server only
	pretend person = "Pia"  // Discord: administrator of the server by its own permissions, which nod's policy does not know
	nobody  person = "Nil"  // on no list of anybody's
)

var inSlack = map[person]string{
	ana: "U0ANA", ben: "U0BEN", ada: "U0ADA", guest: "U0GUS", ultra: "U0UMA", xena: "U0XENA", odd: "U0ODD", gone: "U0GIL", robot: "U0ROB", nobody: "U0NIL",
}

var inDiscord = map[person]string{
	ana: "700000000000000001", ben: "700000000000000002", ada: "700000000000000003", robot: "700000000000000004", away: "700000000000000005",
	pretend: "700000000000000006", nobody: "700000000000000007",
}

// slow is a clock at half the speed of time, on which nobody is ever late with an answer: a loaded machine is no attack. What failed is
// tried again, as Slack does. What is signed is signed with the real time, or on a slow machine everything would be stale after ten minutes.
type slow struct {
	*fakeslack.Manual
	from time.Time
}

func newSlow() slow { return slow{fakeslack.NewManual(), time.Now()} }

func (s slow) Now() time.Time { return s.from.Add(time.Since(s.from) / 2).UTC() }

// AfterFunc calls f when it is time to try again. The short times are those that an app has for an answer.
func (s slow) AfterFunc(d time.Duration, f func()) func() {
	if d > 0 && d < fakeslack.RetryAfter[1] {
		return s.Manual.AfterFunc(d, f)
	}
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

func (slow) Signed() time.Time { return time.Now() }

// openPlaces makes the workspace and the server.
func (w *world) openPlaces(t testing.TB) {
	w.slack = fakeslack.New(fakeslack.Options{Clock: newSlow()})
	t.Cleanup(w.slack.Close)
	for _, u := range []fakeslack.User{
		{Name: "Ana"}, {Name: "Ben"}, {Name: "Ada"}, {Name: "Gus", Guest: true}, {Name: "Uma", UltraGuest: true}, {Name: "Xena", Team: "T0OTHER"},
		{Name: "Odd", Team: "T0OTHER", Stranger: true}, {Name: "Gil", Deleted: true}, {Name: "Rob", Bot: true},
	} {
		u.ID = inSlack[person(u.Name)]
		w.slack.AddUser(u)
	}
	w.openSignIn()
	w.discord = fakediscord.New(fakediscord.Options{Clock: newSlow()})
	t.Cleanup(w.discord.Close)
	other := w.discord.AddGuild(fakediscord.Guild{Name: "Elsewhere"})
	for p, id := range inDiscord {
		u := fakediscord.User{ID: id, Name: string(p), Bot: p == robot}
		switch p {
		case nobody:
		case away:
			w.discord.AddStranger(u)
			w.discord.Join(other, fakediscord.Member{User: id})
		default:
			w.discord.AddUser(u)
		}
	}
	w.discord.Join(w.discord.Guild(), fakediscord.Member{User: inDiscord[pretend], Permissions: fakediscord.Administrator})
}

func (w *world) slackUser(p person) chat.User {
	return chat.User{Platform: "slack", Workspace: w.slack.Team(), Key: inSlack[p]}
}

func (w *world) discordUser(p person) chat.User {
	return chat.User{Platform: "discord", Workspace: w.discord.Guild(), Key: inDiscord[p]}
}

// router is the product's one listener.
type router struct{ page, slack, discord http.Handler }

func (r router) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasPrefix(req.URL.Path, "/slack/"):
		r.slack.ServeHTTP(rw, req)
	case strings.HasPrefix(req.URL.Path, "/discord/"):
		r.discord.ServeHTTP(rw, req)
	default:
		r.page.ServeHTTP(rw, req)
	}
}
