package replicas

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

var updateShown = flag.Bool("update-shown", false, "write testdata/shown.txt anew")

// shown is all that people were told and offered, in order.
type shown struct {
	*World
	strings.Builder
}

// types has somebody type commands in the room.
func (s *shown) types(u chat.User, all ...string) { s.typesIn(Room, u, all...) }

// typesIn has somebody type commands in a chat; the zero one is none.
func (s *shown) typesIn(id chat.ID, u chat.User, all ...string) {
	for _, words := range all {
		fmt.Fprintf(s, "\n%s types in %s: %s\n%s\n", u.Key, id.Key, words, indented(typedIn(s.World, id, u, words)))
	}
}

// opens draws views for somebody, in a chat; the zero one is none.
func (s *shown) opens(id chat.ID, u chat.User, views ...string) {
	for _, v := range views {
		fmt.Fprintf(s, "\n%s opens %s in %s\n%s\n", u.Key, v, id.Key, indented(drawn(panelIn(s.World, id, u, v))))
	}
}

// Times are others each time: a command says the day, a panel leaves that to whoever draws it.
var took, days, clocks = regexp.MustCompile(`Time to decide: .*`), regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), regexp.MustCompile(`\d\d:\d\d UTC`)

func indented(says string) string {
	says = clocks.ReplaceAllString(days.ReplaceAllString(took.ReplaceAllString(says, "Time to decide: …"), "DAY AND TIME"), "TIME")
	return "  " + strings.ReplaceAll(strings.TrimSuffix(says, "\n"), "\n", "\n  ")
}

// drawn is a panel with what it offers.
func drawn(p render.Panel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %d news)\n", p.Title, p.View, p.News)
	for _, l := range p.Banner {
		fmt.Fprintf(&b, "! %s\n", render.PlainLine(l))
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "# %s\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&b, "%s\n", s.Note)
		}
		if len(s.Rows) == 0 {
			fmt.Fprintf(&b, "(%s)\n", s.Empty)
		}
		for _, r := range s.Rows {
			fmt.Fprintf(&b, "- %s\n", render.PlainLine(r.Line))
			for _, d := range r.Details {
				fmt.Fprintf(&b, "    %s\n", render.PlainLine(d))
			}
			for _, a := range r.Acts {
				b.WriteString("    " + offer(a) + "\n")
			}
		}
	}
	return b.String()
}

func offer(a render.Act) string {
	says := "[" + a.Label + "]"
	if a.View != "" {
		says += " opens " + a.View
	}
	if a.Link.Message != "" {
		says += " leads to " + a.Link.Message
	}
	if a.Kind == render.ActFill {
		says += fmt.Sprintf(" takes a text like %q, now %q", a.Like, a.Value)
	}
	for _, o := range a.Options {
		says += " | " + o.Label
		if o.Current {
			says += "*"
		}
	}
	if a.Confirm != "" {
		says += " asks: " + a.Confirm
	}
	return says
}

var everyView = []string{"home", "grants", "servers", "server:files", "tool:files/write", "install:files", "mine", "templates", "template:careful", "history", "stats"}

// What the settings tell and offer, word for word: to somebody who may change little, to an admin, and where there is no chat; as nothing is set,
// when much is, and of what is not understood. -update-shown writes it anew; read the diff.
func TestWhatTheSettingsShow(t *testing.T) {
	w := settingsWorld(t)
	s := &shown{World: w}
	s.WriteString("# As it begins\n")
	s.types(Ana, "help", "nonsense", "show", "permissions show", "mode", "mode sometimes", "mode always please now", "mode never", "mode never no", "pending",
		"revoke", "revoke all", "revoke x", "revoke 0", "revoke 1", "remembered", "remembered files write", "remembered files write sometimes",
		"remembered files nothing deny", "remembered nobody write deny", "forget", "forget all", "forget 1", "why files", "why files write", "why files nothing",
		"why -in", "why -in :: files write", "why -in fake:T2:ops files write", "why files write {", `why files write {"a": 1}`, "whoami", "server", "server files",
		"server nobody ask always", "server files always", "server files bogus 1", "server files ask", "tool files", "tool files write", "set", "set always", "set ask always",
		"tools", "tools bogus files", "tools enable", "tools enable files write now", "accept", "accept files write now", "accept nobody", "accept files nothing",
		"accept files", "templates", "apply", "apply nonsense", "apply careful", "history", "history 2", "history 0", "history denied", "history settings", "history everywhere",
		"history nonsense", "stats", "digest", "halt", "hold", "export")
	s.types(Root, "history settings", "history everywhere 3", "hold", "hold nonsense", "hold release "+Room.String(), "export", "digest", "accept files reads", "accept files send")
	s.opens(Room, Root, everyView...)
	s.opens(Room, Ana, "home", "server:files", "tool:files/write", "template:careful")
	s.opens(chat.ID{}, Root, "home", "history", "history:everywhere:denied")
	s.opens(chat.ID{}, Ana, "grants", "history", "stats")
	s.opens(Room, Root, "history:settings", "history:everywhere", "history:settings:denied", "history:nowhere:nothing")
	s.opens(Room, Ana, "history:settings")

	s.typesIn(chat.ID{}, Ana, "mode", "show", "history", "stats")
	s.typesIn(chat.ID{}, Root, "history 3")

	s.WriteString("\n# With much set\n")
	w.SetPolicy(func(p *permission.Policy, files tools) {
		files["drop"] = permission.ToolSettings{Ask: permission.AlwaysAsk}
	})
	s.types(Root, "tool files write never", "tool files drop always", "tool files drop default", "tool files send timeout 3m", "set timeout 2m", "set timeout 2m", "set timeout default", "server files always",
		"server files default", "tools disable files drop", "accept files", "accept files", "apply careful", "apply careful yes", "apply careful yes", "export")
	s.opens(Room, Root, "template:careful")
	s.types(Ana, "remembered files send deny", "remembered files write allow", "remembered files write ask", "remembered", "forget 3", "mode always", "show")
	s.opens(Room, Root, "home", "servers", "server:files", "tool:files/write", "tool:files/drop", "tool:files/send", "install:files", "history:settings")
	s.opens(Room, Ana, "home", "tool:files/send", "mine")
	s.types(Ana, "forget all")
	s.types(Root, "mode never yes")
	s.opens(Room, Ben, "home")                  // who may not turn asking off reads that it is
	s.opens(agent.SettingsChat, Ana, "history") // which is nobody's conversation
	s.types(Ana, "mode tool")

	s.WriteString("\n# With what was asked and allowed\n")
	s.types(Root, "set channel_grants true", "set mode tool", "set strict false", "tool files write default", "tool files send default")
	w.Model.When("send it", Calls(Call("send", `{"to":"all"}`)))
	granted(w)
	saidIn(w, w.Replicas[0], Other, Ana, "send it")
	w.Until("it asks", func() bool { _, ok := w.Button(Other, chat.AllowChannel, "send"); return ok })
	b, _ := w.Button(Other, chat.AllowChannel, "send")
	w.Deliver(w.Replicas[0], w.Click(Ana, b))
	w.Until("it ran", func() bool { return w.Tools.Count("send") == 1 })
	saidIn(w, w.Replicas[0], later, Ben, "send it")
	w.Until("Ben is asked", func() bool { _, ok := w.Button(later, chat.AllowOnce, "send"); return ok })
	idle(w)
	for _, u := range []chat.User{Ana, Ben, Root} {
		s.types(u, "show", "history", "revoke 3", "pending")
		s.opens(Other, u, "grants")
		s.opens(Room, u, "home", "grants", "stats")
	}
	s.types(Root, "history 2", "history denied", "digest")
	s.opens(chat.ID{}, Ana, "grants")
	s.types(Ana, "revoke 1", "revoke all", "revoke 1")

	s.WriteString("\n# With a server of which much is gone\n")
	for _, tool := range []string{"list", "send", "drop"} {
		w.Tools.Put(Tool{Server: "mail", Name: tool})
	}
	knows(w, "mail", 3)
	idle(w)
	s.types(Root, "tool mail drop timeout 3m", "tool files send timeout 3m", "server files always")
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Servers["own"] = permission.ServerSettings{Trusted: true}
	})
	w.Tools.Remove("drop")
	s.types(Ana, "remembered files send deny")
	s.opens(Other, Ana, "tool:mail/send", "tool:files/send")
	s.opens(Room, Root, "home", "server:mail", "tool:mail/drop", "install:mail", "server:own")
	s.types(Root, "tools", "accept mail", "accept mail drop", "why mail drop", "show")
	s.opens(Room, Root, "server:mail")

	s.WriteString("\n# Where nobody is an admin\n")
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Admins = nil })
	w.Tools.Put(Tool{Server: "mail", Name: "post"})
	knows(w, "mail", 4)
	s.types(Ana, "whoami", "accept files", "remembered files touch allow", "remembered mail post allow")
	s.opens(Room, Ana, "servers", "template:careful")

	const golden = "testdata/shown.txt"
	if *updateShown {
		if err := os.WriteFile(golden, []byte(s.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(s.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			from := max(i-8, 0)
			t.Fatalf("%s:%d differs (-update-shown writes it anew):\n%s\n\nwanted:\n%s", golden, i+1,
				strings.Join(got[min(from, len(got)):min(i+3, len(got))], "\n"), strings.Join(old[min(from, len(old)):min(i+3, len(old))], "\n"))
		}
	}
}

// unreadable is an index that cannot be read, while there is an error; crowded, it has that many chats more, and counts how many were looked at.
type unreadable struct {
	agent.Index
	is              *error
	crowded, looked *int
}

// silent is an engine that knows no rules, or no chat, while there is an error; mute are tools that cannot be listed, and are counted.
type silent struct {
	settings.Engine
	rules, chats *error
}

func (e silent) Rules(ctx context.Context) (agent.Rules, error) {
	if *e.rules != nil {
		return agent.Rules{}, *e.rules
	}
	return e.Engine.Rules(ctx)
}

func (e silent) Session(ctx context.Context, id chat.ID) (turn.Session, error) {
	if *e.chats != nil {
		return turn.Session{}, *e.chats
	}
	return e.Engine.Session(ctx, id)
}

type mute struct {
	agent.Tools
	is     *error
	listed *int
}

func (t mute) List(ctx context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	if *t.listed++; *t.is != nil {
		return nil, nil, *t.is
	}
	return t.Tools.List(ctx)
}

// untold is a log in which no history can be read, or none of the settings, while there is an error.
type untold struct {
	agent.Log
	is, settings *error
}

func (l untold) History(ctx context.Context, id chat.ID) ([]turn.Entry, error) {
	if *l.is != nil {
		return nil, *l.is
	}
	if *l.settings != nil && id == agent.SettingsChat {
		return nil, *l.settings
	}
	return l.Log.History(ctx, id)
}

func (b unreadable) Asking(ctx context.Context, match func(chat.ID) bool) ([]chat.ID, error) {
	if *b.is != nil {
		return nil, *b.is
	}
	return b.Index.Asking(ctx, match)
}

func (b unreadable) Granting(ctx context.Context) ([]chat.ID, error) {
	if *b.is != nil {
		return nil, *b.is
	}
	return b.Index.Granting(ctx)
}

func (b unreadable) EachChat(ctx context.Context, take func(chat.ID) error) error {
	if *b.is != nil {
		return *b.is
	}
	for i := range *b.crowded {
		*b.looked++
		if err := take(chat.ID{Platform: "fake", Workspace: "T1", Key: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	return b.Index.EachChat(ctx, take)
}

// What cannot be read is an error, and never an empty list.
func TestWhatCannotBeReadIsNotShown(t *testing.T) {
	var is, lost, unset, rules, chats, list error
	var crowded, looked, listed int
	w := New(t, Options{Settings: func(c *settings.Config) {
		c.Index, c.Log = unreadable{c.Index, &is, &crowded, &looked}, untold{c.Log, &lost, &unset}
		c.Engine, c.Tools = silent{c.Engine, &rules, &chats}, mute{c.Tools, &list, &listed}
	}})
	ask := func(words, view string, u chat.User) (err error) {
		if words != "" {
			_, err = w.Replicas[0].Settings.Permissions(context.Background(), w.Envelope(Room, u), strings.Fields(words))
			return err
		}
		_, err = w.Replicas[0].Settings.Panel(context.Background(), w.Envelope(Room, u), view)
		return err
	}
	for _, x := range []struct {
		words, view string
		u           chat.User
	}{
		{words: "show", u: Ana}, {words: "pending", u: Ana}, {words: "history everywhere", u: Root}, {words: "digest", u: Root}, {words: "stats", u: Root},
		{view: "home", u: Ana}, {view: "grants", u: Ana}, {view: "history:everywhere", u: Root}, {view: "stats", u: Root},
	} {
		if err := ask(x.words, x.view, x.u); err != nil {
			t.Errorf("%q %q: %v", x.words, x.view, err)
		}
		is = errors.New("the index is gone")
		if err := ask(x.words, x.view, x.u); !errors.Is(err, is) {
			t.Errorf("%q %q, where it cannot be read: %v", x.words, x.view, err)
		}
		is = nil
	}
	w.Model.When("send it", Calls(Call("send", `{}`)))
	w.Say(w.Replicas[0], Ana, "send it")
	b := w.Await(chat.AllowOnce, "send")
	env := w.Envelope(Room, Root)
	halt, _ := offerOf(panel(w, Root, "home"), text.NotHalted, text.LabelHalt)
	for what, broken := range map[string]*error{"rules": &rules, "chats": &chats, "tools": &list} {
		*broken = errors.New("gone")
		_, acts := w.Replicas[0].Settings.Act(context.Background(), env, "home", halt.token, "")
		_, why := w.Replicas[0].Settings.Why(context.Background(), env, b.Token)
		_, none := w.Replicas[0].Settings.Panel(context.Background(), w.Envelope(chat.ID{}, Root), "home")
		if _, err := w.Replicas[0].Settings.Act(context.Background(), w.Envelope(chat.ID{}, Ana), "mine", "made up", ""); !errors.Is(err, *broken) {
			t.Errorf("without the %s nobody knows whether it was done: %v", what, err)
		}
		for i, err := range []error{ask("tools", "", Root), ask("", "home", Root), ask("", "servers", Ana), ask("apply careful yes", "", Root), acts, why, none} {
			if !errors.Is(err, *broken) {
				t.Errorf("without the %s, %d: %v", what, i, err)
			}
		}
		*broken = nil
	}
	if s := settingsOf(w); s.Halted != nil || len(s.Set) > 0 {
		t.Errorf("halted meanwhile %v, set meanwhile %+v", s.Halted, s.Set)
	}
	listed = 0
	panel(w, Root, "servers")
	equal(t, "one view asks the servers so many times", listed, 1)
	choose(w, Root, "server:files", text.ServerUntrusted, text.LabelTrust, "")
	for err, shows := range map[error]bool{errors.New("the settings' log is gone"): false, agent.ErrVersion: true} { // a newer nod wrote on
		unset = err
		equal(t, "the way back is looked for where "+err.Error()+", and the server shown", ask("", "server:files", Root) == nil, shows)
	}
	unset = nil
	lost = errors.New("the log is gone")
	for _, x := range []struct{ words, view string }{{words: "history"}, {words: "stats"}, {view: "history"}, {view: "stats"}, {view: "server:files"}} {
		if err := ask(x.words, x.view, Ana); !errors.Is(err, lost) {
			t.Errorf("%q %q, where no history can be read: %v", x.words, x.view, err)
		}
	}
	lost, crowded = nil, 5000
	has(t, "of many chats", typed(w, Root, "history everywhere"), text.ChatsNotLookedAt(1001))
	equal(t, "looked at", looked, 1101)
	has(t, "a release with a reason", typed(w, Root, "hold release "+Room.String()+" now"), "Say: hold")
	if err := ask("hold "+Room.String()+" dispute", "", Root); err == nil {
		t.Error("a store that cannot hold anything does")
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if says, err := w.Replicas[0].Settings.Permissions(gone, w.Envelope(Room, Ana), []string{"mode"}); err == nil {
		t.Errorf("where the chat cannot be read: %q", says)
	}
	got, err := w.Replicas[0].Settings.Permissions(context.Background(), w.Envelope(Room, Ana), strings.Fields(strings.Repeat("mode ", 201)))
	equal(t, "a command of 201 words", strings.Join(got, "|"), text.TooLongFill(settings.MaxFill))
	equal(t, "its error", err, nil)
}

// half is a log that keeps what it is told to, and of which one chat cannot be read.
type half struct {
	agent.Log
	agent.Retainer
	unread *chat.ID
}

func (h half) History(ctx context.Context, id chat.ID) ([]turn.Entry, error) {
	if id == *h.unread {
		return nil, errors.New("it is broken")
	}
	return h.Log.History(ctx, id)
}

// A hold that is put from a chat names the chats that it did not reach, and so does a release; both are done whole once they can be read.
func TestAHoldThatDoesNotReachAllChats(t *testing.T) {
	var unread chat.ID
	w := New(t, Options{Settings: func(c *settings.Config) { c.Log = half{c.Log, c.Log.(agent.Retainer), &unread} }})
	other := chat.ID{Platform: "fake", Workspace: "T1", Key: "other"}
	for _, id := range []chat.ID{Room, other} {
		_, err := w.Replicas[0].Store().Append(context.Background(), agent.Write{Chat: id, Events: []agent.Keyed{{Op: "s", Event: turn.Said{Delivery: "s", By: Ana, Text: "words"}}}})
		equal(t, "error", err, nil)
	}
	who := Ana.String()
	for _, x := range []struct {
		unread      chat.ID
		words, says string
	}{
		{other, "hold " + who, "On hold: " + who + ", 1 chat so far, and what comes.\n1 chat could not be read, and may not be on hold: fake:T1:other. Hold one by its own name, or do the same again once it can be read."},
		{Room, "hold release " + who, "Released: " + who + ", 1 chat.\n1 chat could not be read, and may still be on hold: fake:T1:room. Do the same again once it can be read."},
		{chat.ID{}, "hold release " + who, "Nothing is on hold for " + who + " any more, in 2 chats."},
		{chat.ID{}, "hold release fake:T1:nobody", text.NothingToChange},
	} {
		unread = x.unread
		equal(t, x.words, typed(w, Root, x.words), x.says)
	}
}

// A tool that is called like a word of a command is that tool.
func TestAToolIsCalledReads(t *testing.T) {
	w := settingsWorld(t)
	w.Tools.Put(Tool{Server: "files", Name: "reads"})
	equal(t, "said", typed(w, Root, "accept files reads"), text.NowAccepted(1)+"\n"+text.TheseTools([]string{"reads"}))
}
