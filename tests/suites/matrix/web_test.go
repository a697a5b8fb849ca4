package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/web"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/chat"
)

// The web's doors.
const (
	webApprove door = "web: POST tools/approve"
	webAsk     door = "web: POST asks/{request}"
	webAsks    door = "web: POST chats/{chat}/asks"
	webClick   door = "web: POST chats/{chat}/clicks"
	webPage    door = "web: the page"
	webStop    door = "web: POST chats/{chat}/stop"
	webText    door = "web: a message"
)

const otherSite place = "a page of another site"

const adminKey = "a-key-of-the-operators"

// webDoors is the web surface. Its people are who their session keys say.
type webDoors struct {
	*house
	server *web.Server
	keys   map[string]string // by name
	users  map[string]chat.User
}

func openWeb(t *testing.T, more func(*house)) *webDoors {
	t.Helper()
	d := &webDoors{keys: map[string]string{"root": adminKey}, users: map[string]chat.User{"root": session.AdminUser(adminKey)}}
	d.house = openHouse(t, func(h *house) {
		var err error
		d.server, err = web.New(web.Config{Listen: "127.0.0.1:8080", Engine: h.engine, Settings: h.managed, Log: h.store, Shelf: h.store, AdminKeys: []string{adminKey, "  ", ""}})
		if err != nil {
			t.Fatal(err)
		}
		h.platforms[web.Platform] = d.server
		more(h)
	})
	storing, stop := context.WithCancel(context.Background())
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		_ = d.store.Run(storing)
	}()
	t.Cleanup(func() { stop(); <-stored })
	d.keys["root"] = d.signedIn(adminKey)
	for _, name := range []string{"ana", "paul", "lena", "stan", "fay", "fern", "finn", "fred", "guest"} {
		var got struct{ Key, User string }
		if _, err := d.send("POST", "/api/v1/sessions", "", map[string]any{"name": name}, &got); err != nil {
			t.Fatal(err)
		}
		u, err := chat.ParseUser(got.User)
		if err != nil {
			t.Fatal(err)
		}
		d.keys[name], d.users[name] = got.Key, u
	}
	return d
}

// signedIn is the session that a key opens at the page's door. It is what an administrator goes on with: once too many wrong keys were
// tried, and these tests try many, no key is looked at for a while.
func (d *webDoors) signedIn(key string) string {
	form := url.Values{"name": {"root"}, "key": {key}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/session", strings.NewReader(form))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	d.server.Handler().ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() { //nolint:bodyclose // of a recorder
		return c.Value
	}
	return ""
}

func (d *webDoors) town() town {
	return town{"web", "", "elsewhere", func(name string) string {
		if u, ok := d.users[name]; ok {
			return u.Key
		}
		return "u-" + name
	}}
}

// roles are the people with their sessions. there: the chats are the web's own.
func (d *webDoors) roles(there bool) []role {
	return []role{
		{name: "requester", user: d.users["ana"], member: there, requester: there, spoke: there},
		{name: "participant who began the chat", user: d.users["paul"], member: there, spoke: there, owner: there},
		{name: "listed approver", user: d.users["lena"], member: there, listed: true},
		{name: "former approver, now off the list", user: d.users["finn"], member: there},
		{name: "stranger of the workspace", user: d.users["stan"], member: there},
		{name: "admin", user: d.users["root"], member: there, admin: true},
		{name: "former admin, now off the list", user: d.users["fay"], member: there},
		{name: "with a key that was never given", user: chat.User{Platform: "web", Key: "forged"}, nobody: true},
		{name: "with an admin's name as key", user: chat.User{Platform: "web", Key: d.users["root"].Key}, nobody: true},
		{name: "with spaces as key", user: chat.User{Platform: "web", Key: "  "}, nobody: true},
		{name: "unknown", nobody: true},
	}
}

// key is the bearer that a role has.
func (d *webDoors) key(r role) string {
	if !r.nobody {
		for name, u := range d.users {
			if u == r.user {
				return d.keys[name]
			}
		}
	}
	return r.user.Key
}

// send makes a request of a program's, and returns what was refused in it.
func (d *webDoors) send(method, path, key string, body, into any) (say string, err error) {
	return d.sent(d.request(method, path, body, func(r *http.Request) {
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
	}), into)
}

func (d *webDoors) request(method, path string, body any, with func(*http.Request)) *http.Request {
	raw, _ := json.Marshal(body) // of plain values
	r := httptest.NewRequest(method, path, strings.NewReader(string(raw)))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	with(r)
	return r
}

func (d *webDoors) sent(r *http.Request, into any) (say string, err error) {
	w := httptest.NewRecorder()
	d.server.Handler().ServeHTTP(w, r)
	if w.Code >= 500 {
		return "", fmt.Errorf("%s is answered with %d: %s", r.URL.Path, w.Code, w.Body)
	}
	if w.Code >= 400 {
		var no struct {
			Error struct{ Message string } `json:"error"`
		}
		err = json.Unmarshal(w.Body.Bytes(), &no)
		return no.Error.Message, err
	}
	if into != nil {
		err = json.Unmarshal(w.Body.Bytes(), into)
	}
	return "", err
}

// speaker implements [surface]: a chat that Paul began.
func (d *webDoors) speaker() speak {
	d.Helper()
	var made struct {
		ID string `json:"chat_id"`
	}
	if say, err := d.send("POST", "/api/v1/chats", d.keys["paul"], map[string]any{}, &made); err != nil || say != "" {
		d.Fatal(say, err)
	}
	return func(who, text string) chat.ID {
		d.Helper()
		if say, err := d.send("POST", "/api/v1/chats/"+made.ID+"/messages", d.keys[who], map[string]any{"text": text}, nil); err != nil || say != "" {
			d.Fatal(say, err)
		}
		return chat.ID{Platform: "web", Key: made.ID}
	}
}

// knock implements [surface].
func (d *webDoors) knock(c cell, s, other *scene, r role) (say string, err error) {
	key, token := d.key(r), pickOf(c.Choice).tokenIn(s)
	at, call := s.id.Key, string(s.first().ID)
	switch c.Place {
	case otherChat:
		at, call = other.id.Key, string(other.first().ID)
	case nowhere:
		at, call = "c-nowhere", "call_nowhere"
	}
	body := map[string]any{"token": token, "choice": c.Choice, "reason": "so"}
	if c.Choice == chat.Edit {
		body["arguments"] = s.changed(fmt.Sprint(d.fresh()))
	}
	switch c.Door {
	case webApprove:
		body = map[string]any{"tool_call_id": call, "approved": c.Choice == chat.AllowOnce || c.Choice == chat.AllowChat}
		if c.Place != noMessage {
			body["request_id"] = token
		}
		switch c.Choice {
		case chat.AllowChat:
			body["scope"] = "chat"
		case chat.DenyReason:
			body["reason"] = "so"
		}
		return d.send("POST", "/api/v1/tools/approve", key, body, nil)
	case webAsk:
		delete(body, "token")
		if args, ok := body["arguments"].(string); ok {
			body["arguments"] = json.RawMessage(args)
		}
		return d.send("POST", "/api/v1/asks/"+token, key, body, nil)
	case webAsks:
		body = map[string]any{"choice": map[chat.Choice]chat.Choice{chat.ApproveAll: chat.AllowOnce, chat.DenyAll: chat.Deny}[c.Choice]}
		return d.send("POST", "/api/v1/chats/"+at+"/asks", key, body, nil)
	case webClick:
		return d.send("POST", "/api/v1/chats/"+at+"/clicks", key, body, nil)
	case webPage:
		return d.sent(d.request("POST", "/api/v1/chats/"+at+"/clicks", body, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "nod_session", Value: key}) //nolint:gosec // what a browser sends
			origin, site := "http://"+r.Host, "same-origin"
			if c.Place == otherSite {
				origin, site = "http://evil.example", "cross-site"
			}
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", site)
		}), nil)
	case webStop:
		return d.send("POST", "/api/v1/chats/"+at+"/stop", key, map[string]any{"turn_id": token}, nil)
	case webText:
		return d.send("POST", "/api/v1/chats/"+at+"/messages", key, map[string]any{"text": string(c.Choice) + " " + token}, nil)
	}
	return "", fmt.Errorf("%q is no door of the web", c.Door)
}

// mute implements [surface]: an API always answers; where there is nothing to stop, it says so and calls it no error.
func (*webDoors) mute(c cell, _ role) bool { return c.Door == webStop }

// webCells are the doors with what each takes, and on the last two everything.
func webCells(m *matrix, l level, st stage) (all []cell) {
	put := func(d door, name string, p place, k chat.Choice) {
		all = append(all, cell{d, name, m.rule, l, p, st, k})
	}
	for _, r := range m.roles {
		for _, k := range kinds[webApprove] {
			put(webApprove, r.name, here, k)
			put(webApprove, r.name, noMessage, k)
			put(webApprove, r.name, otherChat, k)
		}
		for _, k := range kinds[webAsks] {
			put(webAsks, r.name, here, k)
		}
		if m.rule == byRequester {
			put(webStop, r.name, here, chat.Stop)
		}
		for _, k := range picks {
			if k.choice == modeNever || k.choice == chat.Stop || k.rare {
				continue
			}
			put(webAsk, r.name, here, k.choice)
			put(webClick, r.name, here, k.choice)
			if m.rule == byRequester && (st == awaiting || st == granted) {
				put(webClick, r.name, nowhere, k.choice)
				put(webClick, r.name, otherChat, k.choice)
				put(webPage, r.name, here, k.choice)
				put(webPage, r.name, otherSite, k.choice)
			}
		}
	}
	return all
}

// Every click that the web can bring, in its own chats.
func TestWeb(t *testing.T) {
	t.Parallel()
	n := &count{}
	for _, r := range []rule{byRequester, byParticipants, byAnyone, byListed, raised} {
		d := openWeb(t, func(*house) {}) // its own for each: one process lets only so many chats be opened in a time
		m := openMatrix(d.house, n, r, d.town(), d.roles(true), d)
		for _, st := range []stage{awaiting, batch, allowed, lapsed, unknown, granted, running, done} {
			if r == byRequester || st == awaiting {
				m.stage(user, st, webCells(m, user, st))
			}
		}
		m.stage(admin, awaiting, webCells(m, admin, awaiting))
		if r == byRequester {
			m.prose(user, awaiting, webText)
		}
		m.quiet()
	}
	n.report(t, 4000, 300)
}

// abroad are the web's doors to a chat of another surface.
type abroad struct {
	*webDoors
	at engineDoors
}

func (a abroad) speaker() speak { return a.at.speaker() }

// A session of the web is nobody in a chat of another surface, whatever the rule; only an operator's key counts there.
func TestWebOfElsewhere(t *testing.T) {
	t.Parallel()
	n := &count{}
	paper := newPaper()
	d := openWeb(t, func(h *house) { h.platforms["paper"] = paper })
	for _, r := range []rule{byRequester, byAnyone, byListed} {
		w := paperTown
		m := &matrix{house: d.house, surface: abroad{d, engineDoors{d.house, paper}}, town: w, roles: d.roles(false), count: n, rule: r, admins: []chat.User{d.users["root"]}}
		m.open()
		for _, l := range []level{user, admin} {
			var cells []cell
			for _, p := range m.roles {
				for _, k := range kinds[webAsk] {
					cells = append(cells, cell{webAsk, p.name, r, l, here, awaiting, k})
				}
				for _, k := range kinds[webApprove] {
					cells = append(cells, cell{webApprove, p.name, r, l, here, awaiting, k}, cell{webApprove, p.name, r, l, noMessage, awaiting, k})
				}
			}
			m.stage(l, awaiting, slices.DeleteFunc(cells, func(c cell) bool { return c.Role == "listed approver" }))
		}
		m.quiet()
	}
	n.report(t, 500, 40)
}
