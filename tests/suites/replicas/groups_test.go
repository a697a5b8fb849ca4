package replicas

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// approvers brings a world in which the group decides, and Ben is in it.
func approvers(w *World) {
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Group}}
	})
	w.Platform.Join(Ben)
	w.Model.When("write it", Calls(Call("write", `{}`)))
}

// A group that is listed decides: its members by their click, nobody else, and the card calls it by its name.
func TestAGroupDecides(t *testing.T) {
	both(t, Options{Replicas: 2, Beside: true}, func(w *World) {
		approvers(w)
		w.Say(w.Replicas[0], Ana, "write it")
		w.Shows(0, "@approvers")
		has(w, "Ana's whisper", w.Press(w.Replicas[1], Ana, chat.AllowOnce, "write"), "Only @approvers or an admin can decide this.")
		equal(w, "runs", w.Tools.Count("write"), 0)
		w.Press(w.Replicas[1], Ben, chat.AllowOnce, "write")
		has(w, "the message", w.Over(0), "allowed once by Ben")
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
}

// Slack does not say with a click which groups somebody belongs to: then the platform is asked. While it does not answer, whoever would
// decide because of a group is refused and told why; who may decide anyway is not held up.
func TestAClickThatNamesNoGroups(t *testing.T) {
	for name, deed := range map[string]func(*World, chat.User) string{
		"a click": func(w *World, u chat.User) string {
			in := w.Click(u, w.Await(chat.AllowOnce, "write"))
			in.Groups = nil
			return w.Deliver(w.Replicas[0], in)
		},
		"a command": func(w *World, u chat.User) string {
			by := w.Envelope(Room, u)
			by.Groups = nil
			return w.Deliver(w.Replicas[0], chat.Commanded{Envelope: by, Verb: "mode", Args: []string{"never", "yes"}})
		},
		"a setting": func(w *World, u chat.User) string {
			by := w.Envelope(Room, u)
			by.Groups = nil
			_, err := w.Replicas[0].Engine.ChangeAsAdmin(w.Context(), by, "", permission.Setting{Server: "files", Tool: "write", Field: "risk", Value: "safe"})
			if err != nil {
				return err.Error()
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Beside: true})
			w.SetPolicy(func(p *permission.Policy, _ tools) { p.Admins = append(p.Admins, Group) })
			w.Platform.Join(Ben)
			w.Model.When("write it", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "write it")
			w.Asks("write")
			if say := deed(w, chat.User{Platform: Ana.Platform, Workspace: Ana.Workspace, Key: "cleo"}); !strings.Contains(say, "nly ") || strings.Contains(say, "not known") {
				t.Errorf("Cleo, of no group, is told %q", say)
			}
			w.Platform.HideGroups(true)
			has(w, "what Ben is told in the dark", deed(w, Ben), "nly ", "Which groups you belong to is not known just now")
			w.Platform.HideGroups(false)
			equal(w, "what Ben is told", deed(w, Ben), "")
		})
	}
}

// In the dark the person who asked still decides what is theirs.
func TestNobodyIsHeldUpByGroups(t *testing.T) {
	w := New(t, Options{Beside: true})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Admins = append(p.Admins, Group) })
	w.Platform.HideGroups(true)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	in := w.Click(Ana, w.Await(chat.AllowOnce, "write"))
	in.Groups = nil
	equal(w, "what Ana is told", w.Deliver(w.Replicas[0], in), "")
	w.Over(0)
	equal(w, "runs", w.Tools.Count("write"), 1)
}

// A grant is a standing click of somebody who has the role: when they lose it, or the platform cannot say, the next call asks.
func TestAGroupsGrantEndsWithTheRole(t *testing.T) {
	for name, lose := range map[string]func(*Platform){
		"role lost": func(p *Platform) { p.Join() }, "nobody can say": func(p *Platform) { p.HideGroups(true) },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Beside: true})
			approvers(w)
			w.Say(w.Replicas[0], Ana, "write it")
			w.Press(w.Replicas[0], Ben, chat.AllowChat, "write")
			w.Over(0)
			w.Say(w.Replicas[0], Ana, "write it")
			has(w, "the second message", w.Over(1), "allowed for this chat by Ben")
			lose(w.Platform)
			w.Say(w.Replicas[0], Ana, "write it")
			w.Until("a card in the third message", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
			equal(w, "runs", w.Tools.Count("write"), 2)
		})
	}
}

// The nudge names the group, and not the admins of other platforms.
func TestANudgeNamesTheGroup(t *testing.T) {
	w := New(t, Options{Beside: true, Engine: func(c *agent.Config) { c.Nudge = time.Nanosecond }})
	approvers(w)
	lately(w, Call("write", `{}`))
	w.Say(w.Replicas[0], Ana, "go")
	w.Until("a nudge", func() bool { return len(w.Platform.Notes()) == 1 })
	has(w, "the nudge", noteText(w.Platform.Notes()[0]), "@approvers, ")
	w.Press(w.Replicas[0], Ben, chat.Deny, "write")
	w.Over(0)
}

// An admin by role relaxes the mode, a person without it does not.
// R110
func TestAnAdminByRole(t *testing.T) {
	w := New(t, Options{Beside: true})
	w.SetPolicy(func(p *permission.Policy, _ tools) { p.Admins = append(p.Admins, Group) })
	w.Platform.Join(Ben)
	w.Model.When("write it", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "write it")
	w.Press(w.Replicas[0], Ben, chat.AllowOnce, "write")
	has(w, "the message", w.Over(0), "allowed once by Ben")
	never := func(u chat.User) string {
		return w.Deliver(w.Replicas[0], chat.Commanded{Envelope: w.Envelope(Room, u), Verb: "mode", Args: []string{"never", "yes"}})
	}
	if say := never(Ben); say != "" {
		t.Errorf("Ben was told %q", say)
	}
	if say := never(Root); say != "" {
		t.Errorf("the admin was told %q", say)
	}
	w.Platform.Join()
	if say := never(Ben); say == "" {
		t.Error("Ben relaxes the mode without the role")
	}
}
