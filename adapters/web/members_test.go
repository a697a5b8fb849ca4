package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

const (
	anaThere = "300000000000000001"
	eveThere = "300000000000000009"
)

// roster is a platform that knows who is in which server, and notes where it was asked of whom.
type roster struct {
	agent.Platform
	out   map[string]bool
	asked []string
}

func (r *roster) Member(_ context.Context, in chat.ID, u chat.User) (chat.User, string, string) {
	r.asked = append(r.asked, in.String()+" "+u.String())
	if r.out[u.Key] || in != (chat.ID{}) && in.Platform != u.Platform { // it knows no other's chats
		return chat.User{}, "", "You are not in the server that this is about."
	}
	if in.Platform == u.Platform {
		u.Workspace = in.Workspace
	}
	return u, "Ana of Acme", ""
}

// atGuild is a page where people sign in by Discord.
func atGuild(t *testing.T) (*company, *roster, *fakediscord.Server) {
	t.Helper()
	d := fakediscord.New(fakediscord.Options{})
	t.Cleanup(d.Close)
	d.SignIn().Redirect = "https://" + outside + "/signin/callback"
	d.AddUser(fakediscord.User{ID: anaThere, Name: "Ana"})
	d.AddUser(fakediscord.User{ID: eveThere, Name: "Eve"})
	r := &roster{out: map[string]bool{eveThere: true}}
	return atCompany(t, func(c *Config) {
		door, err := signin.New(signin.Config{Platform: signin.Discord, Server: d.Guild(), Issuer: d.URL(), ClientID: d.SignIn().ID, ClientSecret: d.SignIn().Secret, Page: "https://" + outside})
		if err != nil {
			t.Fatal(err)
		}
		c.SignIn, c.Surfaces = append(c.SignIn, door), map[string]agent.Platform{"discord": r}
	}), r, d
}

// Who signs in by a platform is on the page whom they are there, and in a chat of the platform whom they are in its server.
func TestWhoSignsInByAPlatformIsThatPerson(t *testing.T) {
	m, r, d := atGuild(t)
	if _, door := m.get("/"); !strings.Contains(door, ">Sign in with Discord</a>") {
		t.Errorf("the door: %s", door)
	}
	session, _ := m.comes(byDiscord, anaThere)
	ana := m.c.with(session.Value)
	who := chat.User{Platform: "discord", Workspace: d.Guild(), Key: anaThere}
	if u := ana.sessions()[0].(map[string]any); u["user"] != who.String() || u["name"] != "Ana of Acme" {
		t.Errorf("Ana is %v", u)
	}
	if session.MaxAge != 8*3600 {
		t.Errorf("a session of %d s", session.MaxAge)
	}
	id := ana.chat()
	ana.say(id, "write hello")
	ask := ana.ask(id)
	ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+ask.RequestID, map[string]string{"choice": "allow_once"})
	if in := m.b.clicked[0]; in.User != who || in.On() != Platform || len(m.b.ran) != 1 {
		t.Errorf("%+v, ran %v", in, m.b.ran)
	}
	if list := ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)["chats"].([]any); len(list) != 1 {
		t.Errorf("her chats: %v", list)
	}
	// In another server she is who she is there; what waits on another platform is not hers.
	there := chat.ID{Platform: "discord", Workspace: "800000000000000007", Key: "1/2"}
	uma := chat.User{Platform: "discord", Workspace: there.Workspace, Key: "7"}
	for n, id := range []chat.ID{there, {Platform: "slack", Workspace: d.Guild(), Key: "C1:1.2"}} {
		if err := m.b.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Delivery: chat.Delivery(fmt.Sprint(n)), Chat: id, User: uma, Name: "Uma"}, Text: "write hello"}); err != nil {
			t.Fatal(err)
		}
	}
	open := func(id chat.ID) string { return string(m.b.fold(id).Turn.Calls[0].Ask) }
	at := "/api/v1/asks/" + open(there)
	ana.ok(http.StatusOK, "POST", at, map[string]string{"choice": "allow_once"})
	if in := m.b.clicked[1]; in.User != (chat.User{Platform: "discord", Workspace: there.Workspace, Key: anaThere}) || in.Chat != there {
		t.Errorf("there she is %v in %v", in.User, in.Chat)
	}
	ana.fails(http.StatusForbidden, "not_yours", "POST", "/api/v1/asks/"+open(chat.ID{Platform: "slack", Workspace: d.Guild(), Key: "C1:1.2"}), map[string]string{"choice": "allow_once"})
	// A chat of the page is anybody's who knows it.
	if err := m.b.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Delivery: "here", Chat: webChat("c-uma"), User: uma, Name: "Uma"}, Text: "write hello"}); err != nil {
		t.Fatal(err)
	}
	ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+open(webChat("c-uma")), map[string]string{"choice": "allow_once"})
	// Who has left does nothing any more, may still look and sign out, and is asked after each time.
	r.out[anaThere] = true
	for _, path := range []string{"/api/v1/chats", "/api/v1/chats/" + id + "/messages", at, "/api/v1/settings", "/api/v1/permissions"} {
		ana.fails(http.StatusForbidden, "sign_in_not_allowed", "POST", path, map[string]string{"text": "x", "choice": "deny", "token": "x"})
	}
	ana.fails(http.StatusForbidden, "sign_in_not_allowed", "GET", at+"/why", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats/"+id, nil)
	ana.ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
}

// Who is no member gets no session, and a session ends with its time or with the way in.
func TestWhoIsNoMemberDoesNotSignIn(t *testing.T) {
	m, _, _ := atGuild(t)
	back, flow := m.returns(byDiscord, eveThere)
	res, body := m.get(back, flow)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "not in the server") || cookieNamed(res, "__Host-nod_session").Value != "" || len(m.b.sessions) != 0 {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if log := m.log.String(); !strings.Contains(log, eveThere) {
		t.Errorf("the log: %s", log)
	}
	session, _ := m.comes(byDiscord, anaThere)
	ana := m.c.with(session.Value)
	m.now = m.now.Add(8*time.Hour - time.Second)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats", nil)
	m.now = m.now.Add(time.Second)
	ana.fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil)
	session, _ = m.comes(byDiscord, anaThere)
	way := m.s.SignIn
	m.anew(signin.Doors{m.door(nil)}).with(session.Value).fails(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/chats", nil) // it does not outlive its way in
	m.anew(way)
	delete(m.s.Surfaces, "discord")
	if back, flow := m.returns(byDiscord, anaThere); back != "" {
		if res, body := m.get(back, flow); res.StatusCode != http.StatusForbidden || !strings.Contains(body, "no longer where you signed in") {
			t.Errorf("without the platform: %d %s", res.StatusCode, body)
		}
	}
}

// One page has a provider's door and a platform's, and whoever comes back from one does not come in by the other.
func TestDoorsSideBySide(t *testing.T) {
	m, _, d := atGuild(t)
	if _, page := m.get("/"); !strings.Contains(page, ">Sign in at localhost</a>") || !strings.Contains(page, ">Sign in with Discord</a>") || strings.Contains(page, "Slack") {
		t.Errorf("the door: %s", page)
	}
	one, _ := m.comes("/signin", "ana")
	other, _ := m.comes(byDiscord, anaThere)
	for _, x := range []struct {
		session *http.Cookie
		is      chat.User
	}{{one, chat.User{Platform: "web", Key: chat.VouchedPrefix + "1001@" + strings.TrimPrefix(m.p.URL, "http://")}}, {other, chat.User{Platform: "discord", Workspace: d.Guild(), Key: anaThere}}} {
		if u := m.c.with(x.session.Value).sessions()[0].(map[string]any); u["user"] != x.is.String() {
			t.Errorf("%v is %v", x.is, u["user"])
		}
	}
	back, _ := m.returns("/signin", "ana")
	_, flow := m.returns(byDiscord, anaThere)
	if res, _ := m.get(back, flow); res.StatusCode != http.StatusForbidden || len(m.b.sessions) != 2 {
		t.Errorf("back from one with the other's cookie: %d, %d sessions", res.StatusCode, len(m.b.sessions))
	}
	if res, _ := m.get("/signin?with=slack"); res.StatusCode != http.StatusNotFound {
		t.Errorf("by a door that is none: %d", res.StatusCode)
	}
}

const byDiscord = "/signin?with=discord"
