package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// What a view shows at most; the rest is counted.
const (
	maxPanelRows  = 40
	maxPanelChats = 100 // chats that a view looks into
)

// looking is what one person sees of everything at one moment, and what they may do about it. It is made anew for every look and every
// act, so that nothing is done by what somebody was once shown.
type looking struct {
	*Engine
	env      chat.Envelope
	view     string
	base     permission.Policy // the operator's
	policy   permission.Policy // with what people set, and with the groups of who looks
	settings permission.Settings
	clicks   []string // choices that the settings' log holds
	here     turn.Session
	admin    bool
	now      time.Time
	deeds    map[string]deed // by token: all that the view offers

	specs  []ToolSpec
	faults []ServerFault
	listed bool
}

// deed does what an act stands for.
type deed func(ctx context.Context, text string) (Done, error)

func (e *Engine) look(ctx context.Context, env chat.Envelope, view string) (*looking, error) {
	base, err := e.Policies.Policy(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	f, err := e.refresh(ctx, SettingsChat)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	l := &looking{Engine: e, env: env, view: view, base: base, settings: f.settings(), clicks: f.s.Clicks, now: e.now(), deeds: map[string]deed{}}
	l.policy, _ = e.knows(ctx, e.overlay.over(base, l.settings), env)
	l.admin = l.policy.IsAdmin(env.User)
	if l.hasChat() {
		if l.here, err = e.Session(ctx, env.Chat); err != nil {
			return nil, fmt.Errorf("read the chat: %w", err)
		}
	}
	return l, nil
}

// hasChat reports whether "here" means a conversation.
func (l *looking) hasChat() bool { return !l.env.Chat.IsZero() && l.env.Chat.Platform != Own }

// list asks the tools' servers once.
func (l *looking) list(ctx context.Context) error {
	if l.listed {
		return nil
	}
	specs, faults, err := l.Tools.List(ctx)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	l.specs, l.faults, l.listed = specs, faults, true
	return nil
}

// known is a tool as the panel shows it: what its server offers now, what was set, and what counts.
type known struct {
	spec    ToolSpec
	offered bool // its server offers it now
	pin     permission.Pinned
	pinned  bool
	is      permission.Effective
}

func (k known) tool() permission.Tool { return k.spec.Tool }

// changed and isNew are what somebody should look at before the tool is used.
func (k known) changed() bool { return k.is.Changed }
func (k known) isNew() bool   { return k.is.New && !k.is.Changed }

// server is a server with all that is known of it.
type server struct {
	name  string
	set   permission.ServerSettings
	about render.Server
	fault string
	tools []known
}

// servers are all servers that are offered, configured, or were seen, by name.
func (l *looking) servers(ctx context.Context) ([]server, error) {
	if err := l.list(ctx); err != nil {
		return nil, err
	}
	all := map[string]*server{}
	at := func(name string) *server {
		if all[name] == nil {
			all[name] = &server{name: name, set: l.policy.Servers[name]}
		}
		return all[name]
	}
	for _, f := range l.faults {
		at(f.Server).fault = f.Say
	}
	for _, sp := range l.specs {
		s := at(sp.Tool.Server)
		s.about = sp.Server
		s.tools = append(s.tools, l.knownOf(sp, true))
	}
	for name, set := range l.policy.Servers {
		s := at(name)
		for _, tool := range slices.Sorted(maps.Keys(set.Tools)) {
			if !slices.ContainsFunc(s.tools, func(k known) bool { return k.tool().Name == tool }) {
				s.tools = append(s.tools, l.knownOf(ToolSpec{Tool: permission.Tool{Server: name, Name: tool}}, false))
			}
		}
	}
	out := make([]server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out, nil
}

func (l *looking) knownOf(sp ToolSpec, offered bool) known {
	k := known{spec: sp, offered: offered}
	if k.pin, k.pinned = l.settings.Pin(sp.Tool); k.pinned && !offered {
		k.spec.Tool.Definition = k.pin.Tool.Definition
	}
	k.is = l.policy.Get(k.spec.Tool, sp.Source, sp.Hints, sp.Metadata)
	return k
}

// request is a call of the tool by whoever looks, in this chat.
func (l *looking) request(k known) permission.Request {
	r := turn.Requested(l.here, turn.ToolCall{Tool: k.spec.Tool, Args: []byte("{}")})
	r.Chat, r.Requester, r.Unattended, r.Standing = l.place(), l.env.User, false, chat.Member
	r.Source, r.Hints, r.Metadata = k.spec.Source, k.spec.Hints, k.spec.Metadata
	if !slices.Contains(r.Present, l.env.User) {
		r.Present = append(r.Present, l.env.User)
	}
	return r
}

// place is this chat, or where there is none, one of the person's own workspace.
func (l *looking) place() chat.ID {
	if l.hasChat() {
		return l.env.Chat
	}
	return chat.ID{Platform: l.env.User.Platform, Workspace: l.env.User.Workspace}
}

// find is a tool or a server by the view that shows it: names may be anything, and a view must be short.
func (l *looking) find(ctx context.Context, view string) (server, known, bool, error) {
	all, err := l.servers(ctx)
	for _, s := range all {
		if view == viewOf(viewServer, s.name) || view == viewOf(viewInstall, s.name) {
			return s, known{}, true, err
		}
		for _, k := range s.tools {
			if view == viewOf(viewTool, s.name, k.tool().Name) {
				return s, k, true, err
			}
		}
	}
	return server{}, known{}, false, err
}

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
			return kind + "~" + actToken(append([]string{kind}, names...)...)
		}
	}
	if len(view) > maxView || len(names) > 1 && strings.Contains(names[0], "/") || strings.HasPrefix(names[0], "~") {
		return kind + "~" + actToken(append([]string{kind}, names...)...)
	}
	return view
}

// InstallView is the view in which an admin looks at a server's tools before they are accepted.
func InstallView(server string) string { return viewOf(viewInstall, server) }

// actToken names an act: the same for the same act on the same thing as it stands, on every replica. It has no authority.
func actToken(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		fmt.Fprintf(h, "%d:%s", len(f), f)
	}
	return base32.StdEncoding.EncodeToString(h.Sum(nil))[:26]
}

// act registers what a token does, and gives the button for it.
func (l *looking) act(label, action, target, current string, do deed) render.Act {
	token := actToken(l.view, action, target, current)
	l.deeds[token] = do
	return render.Act{Kind: render.ActDo, Token: token, Label: label}
}

// option is one thing that can be picked. One with a Confirm, or that is dangerous, becomes a button of its own.
type option struct {
	value, label, confirm string
	current               bool
	do                    deed
}

// pick offers options: a select for those that are safe, a button for each that has to be confirmed.
func (l *looking) pick(label, action, target, current string, options []option) []render.Act {
	sel := render.Act{Kind: render.ActPick, Label: label}
	var apart []render.Act
	for _, o := range options {
		a := l.act(o.label, action+"="+o.value, target, current, o.do)
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
	sel.Token = actToken(l.view, action, target, current)
	return append([]render.Act{sel}, apart...)
}

// fill offers a form with one text.
func (l *looking) fill(label, action, target, value, like string, do deed) render.Act {
	a := l.act(label, action, target, value, do)
	a.Kind, a.Value, a.Max, a.Like = render.ActFill, value, MaxFill, like
	return a
}

func goTo(label, view string) render.Act {
	return render.Act{Kind: render.ActGo, Label: label, View: view}
}

// change is a deed that only an admin does. The engine looks again whether it is one.
func (l *looking) change(view, note, say string, changes ...permission.Change) deed {
	return func(ctx context.Context, _ string) (Done, error) {
		_, err := l.ChangeAsAdmin(ctx, l.env, note, changes...)
		return told(view, say, err)
	}
}

// apart is the envelope of one of several writes that a delivery brings: each has a name of its own, the same at every redelivery.
func apart(env chat.Envelope, what string) chat.Envelope {
	if env.Delivery != "" {
		env.Delivery += chat.Delivery("#" + what)
	}
	return env
}

// shown makes an untrusted name fit to stand in a line of ours: one line, nothing hidden, not endless.
func shown(s string) string { return clipped(s, 80) }

func clipped(s string, n int) string {
	s, _ = render.Visible(s)
	s = strings.NewReplacer("\n", " ⏎ ", "\t", " ").Replace(strings.TrimSpace(s))
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// cut keeps the first n rows and says how many more there are.
func cut(rows []render.PanelRow, n int) []render.PanelRow {
	if len(rows) <= n {
		return rows
	}
	return append(slices.Clip(rows[:n]), render.PanelRow{Line: words(render.AndMore(len(rows) - n))})
}

func words(s string) render.Line { return render.Line{render.Plain(s)} }

func (l *looking) person(u chat.User, name string) render.Span {
	return render.Person{User: u, Name: cmp.Or(shown(name), shown(u.Key))}
}
