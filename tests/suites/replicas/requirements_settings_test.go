package replicas

import (
	"context"
	"errors"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// What people set from a chat, as docs/requirements.md asks for it: at one replica, and in force at the next call of all.

// sets has an admin change a setting at the last replica.
func sets(w *World, server, tool, field, value string) {
	w.Helper()
	r := w.Replicas[len(w.Replicas)-1]
	_, err := r.Engine.ChangeAsAdmin(context.Background(), w.Envelope(Room, Root), "", permission.Setting{Server: server, Tool: tool, Field: field, Value: value})
	if err != nil {
		w.Fatalf("%s/%s %s = %s: %v", server, tool, field, value, err)
	}
}

// A server's and a tool's setting, and a tool's switch, count at the next call on another replica and outlive every process;
// a tool without a setting follows its server; what is switched off is not offered.
// R3 R4 R11 R19
func TestSettingsReachEveryReplica(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		n := 0
		offered := ""
		w.Model.When("write it", func(h Heard) (agent.Reply, error) {
			offered = ""
			for _, x := range h.Tools {
				offered += x.Tool.Name + " "
			}
			return agent.Reply{Calls: []agent.ReplyCall{Call("write", `{}`)}}, nil
		})
		next := func(what string, asks, runs bool) {
			w.Helper()
			before := w.Tools.Count("write")
			w.Say(w.Replicas[0], Ana, "write it")
			if asks {
				w.Until(what+": it asks", func() bool { return len(w.Platform.Messages(Room)) == n+1 && w.Asked() == "write" })
				w.Press(w.Replicas[0], Ana, chat.Deny, "write")
			}
			w.Over(n)
			n++
			equal(w, what+": it ran", w.Tools.Count("write") > before, runs)
		}
		next("nothing is set", true, false)
		sets(w, "files", "", "ask", "never")
		next("the server never asks", false, true)
		sets(w, "files", "write", "ask", "always")
		next("the tool always asks", true, false)
		sets(w, "files", "write", "ask", "")
		next("the tool follows its server", false, true)
		sets(w, "files", "", "ask", "always")
		next("and follows it when it changes", true, false)
		sets(w, "files", "write", "ask", "never")
		next("the tool never asks", false, true)
		w.Replicas[0].Stop()
		w.Replicas[1].Stop()
		r := w.Start()
		w.Replicas[0] = r
		next("after a restart", false, true)
		sets(w, "files", "write", "enabled", "false")
		next("it is switched off", false, false)
		hasNot(w, "what is offered", offered, "write")
		sets(w, "files", "write", "enabled", "true")
		next("it is switched on again", false, true)
	})
}

// Settings are an admin's; everybody else is told so, and nothing changes. Who set what, and when, is kept.
// R148
func TestSettingsAreAnAdmins(t *testing.T) {
	w := New(t, Options{})
	e := w.Replicas[0].Engine
	set := permission.Setting{Server: "files", Field: "ask", Value: "never"}
	for _, u := range []chat.User{Ana, {}} {
		env := w.Envelope(Room, Ben)
		env.User = u
		_, err := e.ChangeAsAdmin(context.Background(), env, "", set)
		var no *decision.Refusal
		if !errors.As(err, &no) || no.Code != decision.RefusedNotYours {
			t.Errorf("%v: %v", u, err)
		}
	}
	if s, err := e.Settings(context.Background()); err != nil || len(s.Set) > 0 {
		t.Errorf("what was refused is there: %+v %v", s, err)
	}
	sets(w, "files", "", "ask", "never")
	entries, err := e.Log.History(context.Background(), agent.SettingsChat)
	if err != nil {
		t.Fatal(err)
	}
	var by []chat.User
	for _, x := range entries {
		if c, ok := x.Event.(turn.Changed); ok && len(c.Changes) == 1 && !x.At.IsZero() {
			if _, ok := c.Changes[0].(permission.Setting); ok {
				by = append(by, c.By)
			}
		}
	}
	if len(by) != 1 || by[0] != Root {
		t.Errorf("the settings' log says that it was changed by %v", by)
	}
	for _, bad := range []permission.Setting{{Server: "files", Field: "ask", Value: "sometimes"}, {Server: "files", Field: "colour", Value: "red"}, {Server: "files", Tool: "write", Field: "risk", Value: "huge"}} {
		if _, err := e.ChangeAsAdmin(context.Background(), w.Envelope(Room, Root), "", bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// A remembered choice is listed with who and when, and when it is forgotten the next call asks.
// R44 R109
func TestForgetARememberedChoice(t *testing.T) {
	for _, choice := range []chat.Choice{chat.AllowOnce, chat.Deny} {
		t.Run(string(choice), func(t *testing.T) {
			w := New(t, Options{})
			vouched(w)
			e := w.Replicas[0].Engine
			w.Model.When("write it", Calls(Call("write", `{}`)))
			w.Say(w.Replicas[0], Ana, "write it")
			w.Press(w.Replicas[0], Ana, chat.Remember, "write")
			w.Press(w.Replicas[0], Ana, choice, "write")
			w.Over(0)
			w.Say(w.Replicas[0], Ana, "write it")
			w.Over(1) // nobody was asked
			s, err := e.Settings(context.Background())
			own := s.Of(Ana)
			if err != nil || len(own) != 1 || own[0].Tool.Name != "write" || own[0].By != Ana || own[0].At.IsZero() || len(s.Of(Ben)) != 0 {
				t.Fatalf("remembered: %+v %v", own, err)
			}
			_, err = e.Change(context.Background(), w.Envelope(Room, Ana), "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
				return []permission.Change{permission.Forget(own[0].ID)}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			w.Say(w.Replicas[0], Ana, "write it")
			w.Until("it asks again", func() bool { return len(w.Platform.Messages(Room)) == 3 && w.Asked() == "write" })
		})
	}
}
