package settings

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
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

// request is what one person sees of everything at one moment, and what they may do about it. It is made anew for every view and every
// action, so that nothing is done by what somebody was once shown.
type request struct {
	*Settings
	env        chat.Envelope
	view       string
	configured permission.Policy // the operator's
	policy     permission.Policy // with what people set, and with the groups of who asks
	settings   permission.Settings
	here       turn.Session
	admin      bool
	now        time.Time
	offers     map[string]action // by token: all that the view offers them

	specs []agent.ToolSpec // what servers offer now, once the request has asked them
	all   []server         // all servers, likewise
}

func (s *Settings) newRequest(ctx context.Context, env chat.Envelope, view string) (*request, error) {
	now, err := s.Engine.Rules(ctx)
	if err != nil {
		return nil, err
	}
	q := &request{Settings: s, env: env, view: view, configured: now.Configured, settings: now.Settings, now: s.Engine.Now(), offers: map[string]action{}}
	q.policy, _ = s.Engine.WithGroups(ctx, now.Policy, env)
	q.admin = q.policy.IsAdmin(env.User)
	if q.hasChat() {
		if q.here, err = s.Engine.Session(ctx, env.Chat); err != nil {
			return nil, fmt.Errorf("read the chat: %w", err)
		}
	}
	return q, nil
}

// hasChat reports whether "here" means a conversation.
func (q *request) hasChat() bool { return !q.env.Chat.IsZero() && q.env.Chat.Platform != agent.Own }

// views of the panel. Those that end in a colon go on with what they show.
const (
	viewHome      = "home"
	viewGrants    = "grants"
	viewServers   = "servers"
	viewServer    = "server:"
	viewTool      = "tool:"
	viewInstall   = "install:"
	viewMine      = "mine"
	viewTemplates = "templates"
	viewTemplate  = "template:"
	viewHistory   = "history"
	viewStats     = "stats"
)

const maxView = 64 // bytes of graphic ASCII: what a button's token may hold, so that a button can open a view

// viewOf names a view of something: readable where its name allows, else by a digest.
func viewOf(kind string, names ...string) string {
	view := kind + strings.Join(names, "/")
	for i := range view {
		if view[i] <= ' ' || view[i] >= 0x7F {
			return kind + "~" + digestOf(append([]string{kind}, names...)...)
		}
	}
	if len(view) > maxView || len(names) > 1 && strings.Contains(names[0], "/") || strings.HasPrefix(names[0], "~") {
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

// offer gives the button for an action. Its token is the same for the same action on the same thing as it stands, on every replica. It
// has no authority: what it stands for is looked up among what the view offers to whoever clicks, when they click.
func (q *request) offer(label, name, target, current string, a action) render.Act {
	token := digestOf(q.view, name, target, current)
	q.offers[token] = a
	return render.Act{Kind: render.ActDo, Token: token, Label: label}
}

// option is one thing that can be picked. One with a Confirm, or that is dangerous, becomes a button of its own.
type option struct {
	value, label, confirm string
	current               bool
	action                action
}

// pick offers options: a select for those that are safe, a button for each that has to be confirmed.
func (q *request) pick(label, name, target, current string, options []option) []render.Act {
	sel := render.Act{Kind: render.ActPick, Label: label}
	var apart []render.Act
	for _, o := range options {
		a := q.offer(o.label, name+"="+o.value, target, current, o.action)
		if o.confirm != "" && !o.current {
			a.Confirm, a.Style = o.confirm, render.Danger
			a.Hint = label + ": " + o.label
			apart = append(apart, a)
			continue
		}
		sel.Options = append(sel.Options, render.Option{Token: a.Token, Label: o.label, Current: o.current})
	}
	if len(sel.Options) == 0 {
		return apart
	}
	sel.Token = digestOf(q.view, name, target, current)
	return append([]render.Act{sel}, apart...)
}

// fill offers a form with one text.
func (q *request) fill(label, name, target, value, like string, a action) render.Act {
	act := q.offer(label, name, target, value, a)
	act.Kind, act.Value, act.Max, act.Like = render.ActFill, value, MaxFill, like
	return act
}

func goTo(label, view string) render.Act {
	return render.Act{Kind: render.ActGo, Label: label, View: view}
}

// shown makes an untrusted name fit to stand in a line of ours: one line, nothing hidden, not endless.
func shown(s string) string { return text.Clip(s, 80) }

// cut keeps the first n rows and says how many more there are.
func cut(rows []render.PanelRow, n int) []render.PanelRow {
	if len(rows) <= n {
		return rows
	}
	return append(slices.Clip(rows[:n]), render.PanelRow{Line: words(text.AndMore(len(rows) - n))})
}

func words(s string) render.Line { return render.Line{render.Plain(s)} }

func (q *request) person(u chat.User, name string) render.Span {
	return render.Person{User: u, Name: cmp.Or(shown(name), shown(u.Key))}
}
