package attacks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/permission"
)

// said is the operator's word for the channel that a talk is in. It begins to count at once, as a restart with another file would have it.
func (k *talk) said(server, tool string, fields ...string) {
	l := permission.Local{In: []permission.Place{{Platform: k.surface(), Workspace: k.id().Workspace, Key: k.room()}}}
	switch p := k.place.(type) {
	case *thread:
		l.In[0].Key = p.channel
	case *strand:
		l.In[0].Key = p.channel
	}
	for pair := range slices.Chunk(fields, 2) {
		l.Set = append(l.Set, permission.Setting{Server: server, Tool: tool, Field: pair[0], Value: pair[1]})
	}
	k.law.change(func(p *permission.Policy) { p.Locals = append(slices.Clone(p.Locals), l) })
}

// greeted is a talk in a channel of its own, in which nothing was asked for yet.
func greeted(t *testing.T, w *world, surface string) *talk {
	k := begin(t, w, surface, says("Hello."))
	k.over(1)
	return k
}

// near is another thread of the channel, in which nothing was asked for yet.
func (k *talk) near() place {
	other := &talk{world: k.world, t: k.t, name: k.name, place: k.beside("please #" + k.name)}
	other.over(1)
	return other.place
}

// asks has Ana, or somebody else, ask for the case's call in a place.
func (k *talk) asks(who person, at place, server, tool, words string) *talk {
	other := &talk{world: k.world, t: k.t, name: k.name, place: at}
	k.pen.learn(k.name+"-asks", wants(call(server, tool, `{"path":"`+k.name+`"}`)))
	other.say(who, words+" please #"+k.name+"-asks")
	return other
}

// places is row 19 for what the operator says of a channel: it counts there and in its threads, and nothing that people write, hold or
// invent carries it elsewhere, or takes it away.
func places() (out []attack) {
	for _, s := range []string{"slack", "discord"} {
		add := func(name string, run func(t *testing.T, k *talk)) {
			out = append(out, on(19, s, "place-"+name, func(t *testing.T, w *world) { run(t, greeted(t, w, s)) }))
		}
		open := func(t *testing.T, k *talk) place {
			far := elsewhere(t, k.world, s, k.name+"-far", says("Hello."))
			far.over(1)
			return far.place
		}
		add("runs-control", func(_ *testing.T, k *talk) {
			k.said("box", "write", "ask", "never")
			k.asks(ana, k.near(), "box", "write", "").over(2)
			k.times(1)
			k.asks(ana, k.place, "box", "write", "").over(2)
			k.times(2)
		})
		add("is-not-another-channel", func(t *testing.T, k *talk) {
			k.said("box", "write", "ask", "never")
			channel := k.id().Workspace + ":" + strings.Split(k.id().Key, "/")[0]
			far := k.asks(ana, open(t, k), "box", "write", "in <#"+channel+"> "+k.surface()+":"+channel+" channel="+channel)
			far.asking(1)
			far.still(1)
			far.end()
		})
		add("is-not-there-for-a-tool-that-is-invented", func(t *testing.T, k *talk) {
			k.said("box", "free", "enabled", "false")
			gone := k.asks(ana, k.near(), "box", "free", "")
			if last := gone.over(2); last.asks > 0 {
				t.Error("it asks for a tool that is not there")
			}
			k.never()
			if k.pen.offers(k.name+"-asks", "box", "free") {
				t.Error("the model is offered it")
			}
			k.asks(ana, open(t, k), "box", "free", "").over(2)
			k.times(1)
			if !k.pen.offers(k.name+"-asks", "box", "free") {
				t.Error("elsewhere the model is not offered it")
			}
		})
		add("takes-what-was-granted-before", func(t *testing.T, k *talk) {
			k.asks(ana, k.place, "box", "write", "").allow("Allow for this chat")
			k.times(1)
			k.said("box", "", "ask", "always", "min_approvals", "2")
			k.asks(ana, k.place, "box", "write", "")
			k.until("it asks again", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 3 })
			k.asking(1)
			k.click(ana, k.last(), "Allow once")
			k.until("one of two allowed it", func(s shot) bool { return strings.Contains(s.text, "1 of 2") })
			k.times(1)
			k.denyAll()
			k.over(3)
			k.times(1)
		})
	}
	out = append(out, on(19, "slack", "place-is-no-place-for-guests", func(t *testing.T, w *world) {
		k := greeted(t, w, "slack")
		k.said("box", "write", "ask", "never")
		k.asks(guest, k.place, "box", "write", "")
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.never()
		k.denyAll()
	}))
	out = append(out, on(19, "web", "place-is-not-the-page", func(t *testing.T, w *world) {
		k := greeted(t, w, "web")
		k.said("box", "write", "ask", "never") // of a channel of the page, which has none
		k.asks(ana, k.place, "box", "write", "")
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.never()
		k.denyAll()
	}))
	return append(out, inWorld("channel", []attack{on(19, "slack", "place-of-what-an-admin-forbade", func(t *testing.T, w *world) {
		k := greeted(t, w, "slack")
		k.said("evil", "write", "ask", "never")
		if lines, err := w.settings.Permissions(t.Context(), k.envelope(ada), strings.Fields("tool evil write ask always")); err != nil {
			t.Fatal(lines, err)
		}
		k.asks(ana, k.place, "evil", "write", "")
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.never()
		k.denyAll()
	})})...)
}
