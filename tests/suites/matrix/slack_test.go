package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// Slack's doors: all by signed requests, but the last.
const (
	slackButton door = "Slack: a button"
	slackMenu   door = "Slack: a line behind ⋯"
	slackModal  door = "Slack: a form"
	slackSlash  door = "Slack: /nod"
	slackText   door = "Slack: a message"
	slackSocket door = "Slack: a button, by Socket Mode"
)

var slackTown = town{"slack", "T0FAKE", "T0OTHER", func(name string) string { return "U0" + strings.ToUpper(name) }}

// slackRoles are the people of the workspace. Guests and people of other organisations may decide nowhere, as the sample
// configuration has it.
func slackRoles() []role {
	one, other := slackTown.one, slackTown.other
	return []role{
		{name: "requester", user: one("ana"), member: true, requester: true, spoke: true},
		{name: "participant who began the chat", user: one("paul"), member: true, spoke: true, owner: true},
		{name: "listed approver", user: one("lena"), member: true, listed: true},
		{name: "former approver, now off the list", user: one("finn"), member: true},
		{name: "stranger of the workspace", user: one("stan"), member: true},
		{name: "admin", user: one("root"), member: true, admin: true},
		{name: "former admin, now off the list", user: one("fay"), member: true},
		{name: "owner of the workspace, no admin here", user: one("otto"), member: true},
		{name: "listed approver of another organisation", user: other("lara"), listed: true, barred: true},
		{name: "stranger of another organisation", user: other("xena"), barred: true},
		{name: "stranger without a channel in common", user: other("zoe"), barred: true},
		{name: "guest", user: one("gus"), member: true, barred: true},
		{name: "guest of one channel", user: one("ugo"), member: true, barred: true},
		{name: "bot", user: one("robot"), nobody: true},
		{name: "nod itself", user: one("bot"), nobody: true},
		{name: "Slackbot", user: chat.User{Platform: "slack", Workspace: slackTown.team, Key: "USLACKBOT"}, nobody: true},
		{name: "deactivated", user: one("gil"), nobody: true},
		{name: "somebody Slack does not know", user: one("none"), nobody: true},
		{name: "unknown", nobody: true},
	}
}

// slackDoors is the bot in a stand-in workspace.
type slackDoors struct {
	*house
	*fakeslack.Server
	handler http.Handler
}

func openSlack(t *testing.T, sockets bool) (*house, *slackDoors) {
	t.Helper()
	d := &slackDoors{Server: fakeslack.New(fakeslack.Options{Clock: fakeslack.NewManual(), NoEcho: true})}
	t.Cleanup(d.Server.Close)
	for _, u := range []fakeslack.User{
		{ID: "ana"}, {ID: "paul"}, {ID: "lena"}, {ID: "finn"}, {ID: "stan"}, {ID: "root"}, {ID: "fay"}, {ID: "fern"}, {ID: "fred"}, {ID: "guest"},
		{ID: "otto", Admin: true, Owner: true}, {ID: "lara", Team: slackTown.away}, {ID: "xena", Team: slackTown.away}, {ID: "zoe", Team: slackTown.away, Stranger: true},
		{ID: "gus", Guest: true}, {ID: "ugo", Guest: true, UltraGuest: true}, {ID: "robot", Bot: true}, {ID: "gil", Deleted: true},
	} {
		u.Name, u.ID = u.ID, slackTown.key(u.ID)
		d.AddUser(u)
	}
	var adapter *slack.Adapter
	d.house = openHouse(t, func(h *house) {
		var err error
		config := slack.Config{
			BotToken: d.BotToken(), SigningSecret: d.SigningSecret(), APIURL: d.URL(), Engine: h.engine, Asks: h.store, Logger: slog.New(slog.DiscardHandler),
		}
		if sockets {
			config.AppToken = d.AppToken()
		}
		adapter, err = slack.New(config)
		if err != nil {
			t.Fatal(err)
		}
		h.platforms[slack.Platform] = adapter
	})
	d.handler = adapter.Handler()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = adapter.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	if sockets {
		connected, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := d.Wait(connected, func() bool { return d.Connections() > 0 }); err != nil {
			t.Fatal(err)
		}
		return d.house, d
	}
	web := httptest.NewServer(d.handler)
	t.Cleanup(web.Close)
	at := web.URL + "/slack/"
	if err := d.Deliver(fakeslack.Endpoints{Events: at + "events", Interactivity: at + "interactivity", Commands: at + "commands"}); err != nil {
		t.Fatal(err)
	}
	for { // until Run listens it takes nothing, and what is refused twice comes again after a minute of a clock that stands still
		_, err := d.post(at+"commands", url.Values{"command": {"/nod"}, "text": {"help"}, "team_id": {slackTown.team}, "user_id": {slackTown.key("ana")}, "channel_id": {"C0READY"}})
		if err == nil {
			return d.house, d
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// speaker implements [surface]: a thread in a channel of its own.
func (d *slackDoors) speaker() speak {
	d.Helper()
	channel, root := fmt.Sprintf("C%05d", d.fresh()), ""
	members := []string{d.BotUser()}
	for _, u := range d.Users() {
		members = append(members, u.ID)
	}
	d.AddChannel(fakeslack.Channel{ID: channel, Members: members, Shared: true})
	return func(who, text string) chat.ID {
		d.Helper()
		ts := d.Say(slackTown.key(who), channel, root, "<@"+d.BotUser()+"> "+text)
		if root == "" {
			root = ts
		}
		return chat.ID{Platform: "slack", Workspace: slackTown.team, Key: channel + "/" + root}
	}
}

// post gives the adapter a signed request, and returns what it answers.
func (d *slackDoors) post(path string, form url.Values) (string, error) {
	body, at := form.Encode(), time.Now().Unix()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at, 10))
	r.Header.Set("X-Slack-Signature", fakeslack.Sign(d.SigningSecret(), at, []byte(body)))
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return "", fmt.Errorf("%s answers %d", path, w.Code)
	}
	return w.Body.String(), nil
}

func (d *slackDoors) interact(payload map[string]any) (string, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	return d.post(slack.PathInteractivity, url.Values{"payload": {string(raw)}})
}

// at is where a click says it comes from.
func (d *slackDoors) at(c cell, s, other *scene) (channel, thread, message string) {
	channel, thread, _ = strings.Cut(s.id.Key, "/")
	message = string(s.message)
	switch c.Place {
	case otherText:
		message = thread
	case otherChat:
		channel, thread, _ = strings.Cut(other.id.Key, "/")
		message = string(other.message)
	case otherChannel:
		channel, _, _ = strings.Cut(other.id.Key, "/")
	case otherThread:
		_, thread, _ = strings.Cut(other.id.Key, "/")
	case nowhere:
		channel = "C0NONE"
	case here, noMessage, otherTeam:
	}
	return channel, thread, message
}

// team is the workspace that a click says it is of.
func (d *slackDoors) team(c cell) string {
	if c.Place == otherTeam {
		return slackTown.away
	}
	return slackTown.team
}

// knock implements [surface].
func (d *slackDoors) knock(c cell, s, other *scene, r role) (say string, err error) {
	channel, thread, message := d.at(c, s, other)
	user, token := r.user.Key, pickOf(c.Choice).tokenIn(s)
	n := d.fresh()
	body := map[string]any{
		"type": "block_actions", "api_app_id": "A0FAKE", "token": "verification", "team": map[string]any{"id": d.team(c)}, "trigger_id": fmt.Sprintf("t%d", n),
		"user": map[string]any{"id": user, "username": "root", "name": "root", "team_id": r.user.Workspace},
	}
	action := map[string]any{"type": "button", "action_id": "nod:" + string(c.Choice) + ":1", "block_id": "b", "value": token, "action_ts": fmt.Sprintf("%d.000100", n)}
	was := d.private(user)
	switch c.Door {
	case slackSocket:
		return d.socket(c, r, channel, message, token, was)
	case slackMenu:
		delete(action, "value")
		action["type"], action["action_id"], action["selected_option"] = "overflow", "nod:more:2:"+token, map[string]any{"value": string(c.Choice)}
		fallthrough
	case slackButton:
		body["container"] = map[string]any{"type": "message", "message_ts": message, "channel_id": channel, "thread_ts": thread, "is_ephemeral": false}
		body["channel"], body["message"] = map[string]any{"id": channel}, map[string]any{"ts": message, "thread_ts": thread}
		body["actions"] = []any{action}
		say, err = d.interact(body)
	case slackModal:
		call, block, value := "nod:deny", "reason", "so"
		if c.Choice == chat.Edit {
			call, block, value = "nod:edit", "args", s.changed(strconv.Itoa(n))
		}
		meta, _ := json.Marshal(map[string]any{"v": 1, "team": d.team(c), "channel": channel, "thread": thread, "message": message, "token": token, "choice": c.Choice})
		body["type"] = "view_submission"
		body["view"] = map[string]any{
			"id": fmt.Sprintf("V%d", n), "hash": "h", "callback_id": call, "private_metadata": string(meta),
			"state": map[string]any{"values": map[string]any{block: map[string]any{"x": map[string]any{"value": value}}}},
		}
		say, err = d.interact(body)
		if strings.Contains(say, `"clear"`) {
			say = ""
		}
	case slackSlash:
		return d.post(slack.PathCommands, url.Values{
			"channel_id": {channel}, "user_id": {user}, "command": {"/nod"}, "text": {string(c.Choice) + " " + token}, "trigger_id": {fmt.Sprintf("t%d", n)},
		})
	case slackText:
		raw, _ := json.Marshal(map[string]any{
			"type": "event_callback", "team_id": slackTown.team, "event_id": fmt.Sprintf("Ev%d", n),
			"event": map[string]any{
				"type": "message", "channel": channel, "channel_type": "channel", "user": user, "text": "<@" + d.BotUser() + "> " + string(c.Choice) + " " + token,
				"ts": fmt.Sprintf("%d.000200", n), "thread_ts": thread, "event_ts": fmt.Sprintf("%d.000200", n),
			},
		})
		return d.event(raw)
	}
	if err != nil || say != "" || mayBe(c, r) || d.mute(c, r) || again(c, r, s) {
		return say, err
	}
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	err = d.Wait(ctx, func() bool { return d.private(user) > was })
	return "told in private", err
}

// socket presses a button as Slack delivers it to a socket.
func (d *slackDoors) socket(c cell, r role, channel, message, token string, was int) (string, error) {
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	click, err := d.Press(r.user.Key, channel, message, fakeslack.Button{BlockID: "b", ActionID: "nod:" + string(c.Choice) + ":1", Type: "button", Value: token, Text: "Go"})
	if err == nil {
		_, err = click.Wait(ctx)
	}
	if err != nil || mayBe(c, r) || d.mute(c, r) {
		return "", err
	}
	return "told in private", d.Wait(ctx, func() bool { return d.private(r.user.Key) > was })
}

func (d *slackDoors) event(body []byte) (string, error) {
	at := time.Now().Unix()
	r := httptest.NewRequest(http.MethodPost, slack.PathEvents, strings.NewReader(string(body)))
	r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at, 10))
	r.Header.Set("X-Slack-Signature", fakeslack.Sign(d.SigningSecret(), at, body))
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return "", fmt.Errorf("an event is answered with %d", w.Code)
	}
	return "", nil
}

// private is how often somebody was told something alone.
func (d *slackDoors) private(user string) int { return len(d.Ephemerals(user)) }

// mute implements [surface].
func (d *slackDoors) mute(c cell, r role) bool {
	switch {
	case r.user.IsZero(), r.name == "somebody Slack does not know", r.name == "Slackbot", r.name == "nod itself", r.name == "bot": // nobody can be told
		return true
	case c.Place == nowhere, c.Place == otherChannel, c.Place == otherThread: // Slack has no such thread to tell anybody in
		return true
	}
	// No button carries these, or all it does is to open a view: of a trigger that Slack never gave.
	return slices.Contains([]chat.Choice{invented, modeNever, "", chat.ViewDetail}, c.Choice) || c.Door != slackModal && slices.Contains(forms, c.Choice)
}

// Every click that Slack can bring.
func TestSlack(t *testing.T) {
	t.Parallel()
	n := &count{}
	h, d := openSlack(t, false)
	for _, r := range []rule{byRequester, byParticipants, byAnyone, byListed, raised} {
		m := openMatrix(h, n, r, slackTown, slackRoles(), d)
		for _, st := range []stage{awaiting, batch, allowed, lapsed, unknown, granted, running} {
			if r == byRequester || st == awaiting {
				m.stage(user, st, slackCells(m, user, st))
			}
		}
		m.stage(admin, awaiting, slackCells(m, admin, awaiting))
		if r == byRequester {
			m.prose(user, awaiting, slackText)
		}
		m.quiet()
	}
	n.report(t, 2500, 150)
}

// What comes through a socket is checked no less: every person, with every button.
func TestSlackSocket(t *testing.T) {
	t.Parallel()
	n := &count{}
	h, d := openSlack(t, true)
	for _, r := range []rule{byRequester, byListed, byAnyone} {
		m := openMatrix(h, n, r, slackTown, slackRoles(), d)
		for _, l := range []level{user, admin} {
			var cells []cell
			for _, p := range m.roles {
				for _, k := range picks {
					if _, there := d.known(p.user.Key); there && k.choice != modeNever && k.choice != chat.Stop && !k.rare {
						cells = append(cells, cell{slackSocket, p.name, r, l, here, awaiting, k.choice})
					}
				}
			}
			m.stage(l, awaiting, cells)
		}
		m.quiet()
	}
	n.report(t, 1000, 50)
}

// known: somebody who can press anything in the stand-in.
func (d *slackDoors) known(id string) (fakeslack.User, bool) {
	all := d.Users()
	i := slices.IndexFunc(all, func(u fakeslack.User) bool { return u.ID == id })
	if i < 0 {
		return fakeslack.User{}, false
	}
	return all[i], true
}

func slackCells(m *matrix, l level, st stage) (all []cell) {
	put := func(d door, name string, p place, k pick) {
		all = append(all, cell{d, name, m.rule, l, p, st, k.choice})
	}
	for _, k := range picks {
		if k.choice == modeNever || k.rare {
			continue
		}
		for _, r := range m.roles {
			if k.choice != chat.Stop || m.rule == byRequester && st == awaiting {
				put(slackButton, r.name, here, k)
			}
			if st == awaiting && slices.Contains(kinds[slackModal], k.choice) {
				put(slackModal, r.name, here, k)
			}
		}
		for _, name := range some {
			if k.choice != chat.Stop && st == awaiting {
				put(slackMenu, name, here, k)
			}
			for _, p := range []place{otherText, otherChat, otherTeam, otherChannel, otherThread, nowhere} {
				if m.rule == byRequester && (st == awaiting || st == batch) && k.choice != chat.Stop && k.choice != chat.Revoke {
					put(slackButton, name, p, k)
				}
				if st == awaiting && slices.Contains(kinds[slackModal], k.choice) {
					put(slackModal, name, p, k)
				}
			}
			if m.rule == byRequester && st == awaiting && k.choice != chat.Stop {
				put(slackSlash, name, here, k)
			}
		}
	}
	return all
}
