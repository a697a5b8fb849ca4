package settings

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What a view shows at most; the rest is counted.
const (
	maxPanelRows  = 40
	maxPanelChats = 100 // chats that a view looks into
)

// request is what one person sees of everything at one moment. It is made anew for every view and every action, so that nothing is done
// by what somebody was once shown.
type request struct {
	*Settings
	env        chat.Envelope
	configured permission.Policy // the operator's
	policy     permission.Policy // everywhere, with what people set, and with the groups of who asks
	settings   permission.Settings
	here       turn.Session
	admin      bool
	now        time.Time

	specs []agent.ToolSpec // what servers offer now, once the request has asked them
	all   []server         // all servers, likewise
	err   error            // what could not be read: what was made without it is not shown, and nothing is done
}

func (s *Settings) newRequest(ctx context.Context, env chat.Envelope) (*request, error) {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return nil, err
	}
	q := &request{Settings: s, env: env, configured: now.Configured, settings: now.Settings, now: s.Engine.Now()}
	q.policy, _ = s.Engine.WithGroups(ctx, now.Policy, env)
	q.admin = q.policy.IsAdmin(env.User)
	if q.hasChat() {
		if q.here, err = s.Engine.Session(ctx, env.Chat); err != nil {
			return nil, fmt.Errorf("read the chat: %w", err)
		}
	}
	return q, nil
}

// failed keeps what could not be read, and reports whether this could not.
func (q *request) failed(what string, err error) bool {
	if err != nil {
		q.err = fmt.Errorf("%s: %w", what, err)
	}
	return err != nil
}

// hasChat reports whether "here" means a conversation.
func (q *request) hasChat() bool { return !q.env.Chat.IsZero() && q.env.Chat.Platform != agent.Own }

// sessions reads chats, at most [maxPanelChats] of them, and says how many were left out.
func (q *request) sessions(ctx context.Context, what string, chats []chat.ID) (out []turn.Session, left int) {
	left = max(len(chats)-maxPanelChats, 0)
	for _, id := range chats[:len(chats)-left] {
		s, err := q.Engine.Session(ctx, id)
		if q.failed(what, err) {
			return nil, 0
		}
		out = append(out, s)
	}
	return out, left
}

func compareIDs(a, b chat.ID) int { return strings.Compare(a.String(), b.String()) }

// setIn is what people set there; a zero one if they did not.
func setIn(s permission.Settings, at permission.Setting) permission.Set {
	for _, x := range s.Set {
		if x.Server == at.Server && x.Tool == at.Tool && x.Field == at.Field {
			return x
		}
	}
	return permission.Set{}
}

const maxView = 64 // bytes of graphic ASCII: what a button's token may hold, so that a button can open a view

// viewOf names a view of something: readable where its name allows, else by a digest.
func viewOf(kind string, names ...string) string {
	view := kind + strings.Join(names, "/")
	hidden := strings.ContainsFunc(view, func(r rune) bool { return r <= ' ' || r >= 0x7F })
	if hidden || len(view) > maxView || len(names) > 1 && strings.Contains(names[0], "/") || strings.HasPrefix(names[0], "~") {
		return kind + "~" + digestOf(append([]string{kind}, names...)...)
	}
	return view
}

// InstallView is the view in which an admin looks at a server's tools before they are accepted.
func InstallView(server string) string { return viewOf(viewInstall, server) }

// digestOf names things that stand so.
func digestOf(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		fmt.Fprintf(h, "%d:%s", len(f), f)
	}
	return base32.StdEncoding.EncodeToString(h.Sum(nil))[:26]
}

// sanitize makes an untrusted name fit to stand in a line of ours: one line, nothing hidden, not endless.
func sanitize(s string) string { return text.Clip(s, 80) }

func (q *request) person(u chat.User, name string) render.Span {
	return render.Person{User: u, Name: cmp.Or(sanitize(name), sanitize(u.Key))}
}

// action is one thing that a person can do with the settings, as data: a view offers it under a token, a command names it in words, and
// [request.do] does it. What is exported in it is what it does, and what its token names.
type action struct {
	Changes permission.Changes   // of the settings: all of them or none. Only an admin makes them, but for a person's own choices
	Fill    bool                 // the value of the one setting is what the person fills in
	Mode    string               // how this chat asks from now on
	Chat    chat.ID              // of the grants
	Grants  []permission.GrantID // they end. The engine looks whether they are the person's
	View    string               // what the person sees then

	own       bool      // Changes are of the person's own choices
	tool      toolEntry // that a choice is remembered for
	note, say string    // for the record; for the person
}

// id names what the action does.
func (a action) id() string {
	b, _ := json.Marshal(a) // there is nothing in it that cannot be written
	return string(b)
}

// set is the action that sets a field; an empty value leaves it to what stands above. says is the value as the person chose it.
func set(at permission.Setting, value, says, view string) action {
	at.Value = value
	say := text.NowUnset(text.FieldLabel(at.Field), sanitize(at.Where()))
	if says != "" {
		say = text.NowSet(text.FieldLabel(at.Field), sanitize(at.Where()), text.Clip(valueLabel(at, says), 120))
	}
	return action{Changes: []permission.Change{at}, say: say, View: view}
}

// setHalt halts everything, or lets it go on.
func setHalt(halt bool) action {
	say := map[bool]string{true: text.NowHalted, false: text.NowResumed}[halt]
	return action{Changes: []permission.Change{permission.Halting(halt)}, say: say, View: viewHome}
}

// setMode sets how this chat asks. It was confirmed on the way to the action.
func setMode(m permission.Mode) action {
	return action{Mode: m.String(), say: text.ModeSet(m.Label()), View: viewHome}
}

// accept says that somebody looked at n tools as they are now, and with reads that they read.
func accept(reads bool, changes []permission.Change, n int, view string) action {
	say := text.NowAccepted(n)
	if reads {
		say = text.NowAcceptedReads(n)
	}
	return action{Changes: changes, say: say, View: view}
}

// apply applies a template that changes this.
func apply(t permission.Template, changes []permission.Change) action {
	return action{Changes: changes, note: "template " + t.Name, say: text.NowApplied(t.Title, len(changes)), View: viewTemplates}
}

// revoke ends grants of one chat.
func revoke(id chat.ID, grants ...permission.GrantID) action {
	return action{Chat: id, Grants: grants, say: text.Revoked, View: viewGrants}
}

// remember keeps a person's choice about a tool, for what they ask themselves.
func remember(k toolEntry, choice permission.Standing, view string) action {
	t := k.tool()
	return action{
		Changes: []permission.Change{permission.Remembered{Tool: t, Choice: choice}}, own: true, tool: k,
		say: text.NowRemembered(choice.String(), sanitize(t.Name), sanitize(t.Server)), View: view,
	}
}

// forget ends choices that a person told nod to remember: the IDs are from their own list, and an ID is given once.
func forget(view string, ids ...string) action {
	a := action{own: true, say: text.NowForgotten(len(ids)), View: view}
	for _, id := range ids {
		a.Changes = append(a.Changes, permission.Forget(id))
	}
	return a
}

// do does an action for the person of the request, if they may by what holds then. entered is what they filled in.
func (q *request) do(ctx context.Context, a action, entered string) (Done, error) {
	if a.Fill {
		value := strings.TrimSpace(entered)
		at, _ := a.Changes[0].(permission.Setting) // nothing else is filled in
		a = set(at, value, value, a.View)
	}
	err := q.err
	switch {
	case err != nil:
	case a.Mode != "":
		err = q.Engine.Command(ctx, chat.Commanded{Envelope: q.env, Verb: "mode", Args: []string{a.Mode, yes}})
	case len(a.Grants) > 0:
		err = q.revoke(ctx, a.Chat, a.Grants)
	case a.own:
		_, err = q.Engine.Change(ctx, q.env, a.note, func(p permission.Policy, _ permission.Settings) ([]permission.Change, error) {
			return q.ownChanges(p, a)
		})
	case a.say != "": // else it only leads to a view
		_, err = q.Engine.ChangeAsAdmin(ctx, q.env, a.note, a.Changes...)
	}
	switch {
	case errors.Is(err, agent.ErrUnchanged):
		return Done{Say: text.NothingToChange, View: a.View}, nil
	case err != nil:
		return Done{}, err
	}
	return Done{Say: a.say, View: a.View}, nil
}

func (q *request) revoke(ctx context.Context, id chat.ID, grants []permission.GrantID) error {
	for _, g := range grants {
		env := q.env
		env.Chat = id
		if env.Delivery != "" { // each is a write with a name of its own, the same at every redelivery
			env.Delivery += chat.Delivery("#" + string(g))
		}
		if _, err := q.Engine.Decide(ctx, chat.Clicked{Envelope: env, Choice: chat.Revoke, Token: string(g)}); err != nil {
			return err
		}
	}
	return nil
}

// ownChanges are the changes of a person's own choices, if they may make them by this policy.
func (q *request) ownChanges(p permission.Policy, a action) (out []permission.Change, err error) {
	for _, c := range a.Changes {
		if r, ok := c.(permission.Remembered); ok {
			if err := q.mayRemember(p, a.tool, r.Choice); err != nil {
				return nil, err
			}
			r.ID, r.By, r.Name = rand.Text(), q.env.User, q.env.Name
			if r.Channel != "" {
				r.Until = q.now.Add(cmp.Or(p.ChannelFor, permission.ChannelGrantFor))
			}
			c = r
		}
		out = append(out, c)
	}
	return out, nil
}
