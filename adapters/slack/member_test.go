package slack

import (
	"context"
	"net/http"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Who signed in on the page by Slack is there whom a click in Slack is by, and may as much.
func TestMembersOfTheWorkspace(t *testing.T) {
	a, s := parlour(t)
	for _, u := range []fakeslack.User{{ID: "UGUS", Name: "Gus", Guest: true}, {ID: "UXENA", Name: "Xena", Team: "T9"}, {ID: "UGIL", Name: "Gil", Deleted: true}, {ID: "UDOWN", Name: "Dow"}} {
		s.AddUser(u)
	}
	s.Fail("users.info", 1, fakeslack.Fault{Status: http.StatusInternalServerError})
	if _, _, no := a.Member(t.Context(), chat.ID{}, userOf("T1", "UDOWN")); no != sayWhoUnknown {
		t.Errorf("while Slack does not say: %q", no)
	}
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, no := newAdapter(t, Config{}).Member(soon, chat.ID{}, ana); no != sayWhoUnknown {
		t.Errorf("before Slack said who the bot is: %q", no)
	}
	check := func(u chat.User, want string) {
		t.Helper()
		is, name, no := a.Member(t.Context(), chat.ID{}, u)
		if no != want || no == "" && (is != ana || name != "Ana") {
			t.Errorf("%v is %v, %q: %q, want %q", u, is, name, no, want)
		}
	}
	check(ana, "")
	check(userOf("T9", "UANA"), sayOtherWorkspace) // somebody of another workspace who has the same ID there
	check(userOf("", "UANA"), sayOtherWorkspace)
	check(chat.User{Platform: Platform, Key: "UANA"}, sayOtherWorkspace)
	check(chat.User{Platform: "discord", Workspace: "T1", Key: "UANA"}, sayOtherWorkspace)
	check(userOf("T1", "UGUS"), sayGuest)
	check(userOf("T1", "UGIL"), surface.SayNotAPerson)
	check(userOf("T1", "UBOT"), surface.SayNotAPerson)
	check(userOf("T1", "UXENA"), sayExternal)
	a.External = true // they decide in Slack; on the page another may have their ID
	check(userOf("T1", "UXENA"), sayExternal)
	a.Guests = true
	if _, _, no := a.Member(t.Context(), chat.ID{}, userOf("T1", "UGUS")); no != "" {
		t.Errorf("a guest where guests decide: %q", no)
	}
}
