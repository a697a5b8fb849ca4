package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// postAndEdit: one reference is one message, for good.
func postAndEdit(p *stage) {
	room, other := p.chat("begin").Chat, p.chat("elsewhere").Chat
	stands := func(in chat.ID, want ...string) {
		p.Helper()
		got := p.Messages(in)
		if len(got) != len(want) {
			p.Fatalf("%d messages of the bot's stand there, want %d: %+v", len(got), len(want), got)
		}
		for i, w := range want {
			if !strings.Contains(got[i].Text, w) {
				p.Errorf("message %d says %q, want %q", i, got[i].Text, w)
			}
			for _, gone := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
				if !strings.Contains(w, gone) && strings.Contains(got[i].Text, gone) {
					p.Errorf("message %d still says %q", i, gone)
				}
			}
		}
	}
	one := p.post(room, "k1", textMessage("alpha"))
	stands(room, "alpha")
	for what, u := range map[string]agent.Urgency{"beta": agent.Progress, "gamma": agent.Final, "delta": agent.Decision} {
		p.must(p.Platform.Edit(p.ctx, room, one, textMessage(what), u))
		stands(room, what)
	}
	two := p.post(room, "k2", textMessage("epsilon"))
	if two == one {
		p.Error("two posts have one reference")
	}
	p.must(p.Platform.Edit(p.ctx, room, one, card("ask"), agent.Final))
	stands(room, "notes.txt", "epsilon")
	// An edit may go another way once somebody clicked. It must lead to the same message.
	p.must(p.Press(Ben, room, one, p.button(room, one, chat.Deny)).Taken(p.ctx))
	for _, u := range []agent.Urgency{agent.Decision, agent.Final, agent.Final, agent.Decision, agent.Decision, agent.Final, agent.Progress} {
		p.must(p.Platform.Edit(p.ctx, room, one, textMessage("beta"), u))
		stands(room, "beta", "epsilon")
		p.must(p.Platform.Edit(p.ctx, room, one, textMessage("gamma"), u))
		stands(room, "gamma", "epsilon")
	}
	if n := len(p.shown(room, one).Buttons); n != 0 {
		p.Errorf("%d buttons are left of a card that is gone", n)
	}
	stands(other)
}

// editedMeanwhile: an edit may be the answer to a click that is being recorded. It must lead to the message that was clicked, once,
// and the click must be recorded all the same.
func editedMeanwhile(p *stage) {
	room := p.chat("begin").Chat
	one, two := p.post(room, "k1", card("ask1")), p.post(room, "k2", card("ask2"))
	for i, c := range []struct {
		by  Who
		say string
	}{{Ben, "beta"}, {Ana, "gamma"}} {
		p.must(p.Platform.Edit(p.ctx, room, one, card("ask1"), agent.Final))
		allow, hold := p.button(room, one, chat.AllowOnce), make(chan struct{})
		p.in.Hold(hold)
		d := p.Press(c.by, room, one, allow)
		if !p.in.wait(p.ctx, func(all []Taking) bool { return len(of[chat.Clicked](all)) == i+1 }) {
			p.Fatal("the click does not reach the engine")
		}
		p.must(p.Platform.Edit(p.ctx, room, one, textMessage(c.say), agent.Decision))
		if s := p.shown(room, one); !strings.Contains(s.Text, c.say) || len(s.Buttons) != 0 || len(s.Mentions) != 0 || s.Previews {
			p.Errorf("after the edit the message is %+v", s)
		}
		p.in.Hold(nil)
		close(hold)
		p.must(d.Taken(p.ctx))
		take(p, "the click", func(x chat.Clicked) bool { return x.User == p.People[c.by] && x.Message == one })
		if s := p.shown(room, one); !strings.Contains(s.Text, c.say) || len(s.Buttons) != 0 {
			p.Errorf("after the click the message is %+v", s)
		}
	}
	if s := p.shown(room, two); len(s.Buttons) != 3 || len(p.Messages(room)) != 2 {
		p.Errorf("the other message is %+v, there are %d", s, len(p.Messages(room)))
	}
	if n := len(of[chat.Clicked](p.in.All())); n != 2 {
		p.Errorf("two clicks came as %d", n)
	}
}

// postsOnce: an attempt whose answer was lost is not made twice. A platform that cannot promise that by itself is an
// agent.Seeker, and is asked first.
func postsOnce(p *stage) {
	room := p.chat("begin").Chat
	again := func(key chat.PostKey) chat.MessageRef {
		p.Helper()
		if s, ok := p.Platform.(agent.Seeker); ok {
			ref, found, err := s.Seek(p.ctx, room, key)
			p.must(err)
			if found {
				return ref
			}
		}
		return p.post(room, key, textMessage("once"))
	}
	first := p.post(room, "k1", textMessage("once"))
	if ref := again("k1"); ref != first || len(p.Messages(room)) != 1 {
		p.Errorf("the same key gave %q and %q; there are %d messages", first, ref, len(p.Messages(room)))
	}
	if !p.needs("Trouble", p.Trouble != nil) {
		return
	}
	p.Trouble(Lost, room, "", 0)
	if _, err := p.Platform.Post(p.ctx, room, "k2", textMessage("twice?")); p.note(err) == nil {
		p.Fatal("a post whose answer was lost is no success")
	}
	ref := again("k2")
	if n := len(p.Messages(room)); n != 2 || ref == first {
		p.Errorf("after a lost answer there are %d messages, want 2", n)
	}
	if again("k2") != ref {
		p.Error("the third attempt gives another message")
	}
}

// foreignChats: an ID that this adapter did not mint for this installation leads nowhere.
func foreignChats(p *stage) {
	room := p.chat("begin").Chat
	ref := p.post(room, "k", textMessage("mine"))
	try := func(fatal func(string, ...any), id chat.ID) {
		_, err := p.Platform.Post(p.ctx, id, "foreign", textMessage("strayed"))
		fault(p, fatal, "Post to "+id.String(), err)
		err = p.Platform.Edit(p.ctx, id, ref, textMessage("strayed"), agent.Final)
		fault(p, fatal, "Edit in "+id.String(), err)
	}
	for _, id := range []chat.ID{
		{}, {Platform: "other", Workspace: room.Workspace, Key: room.Key}, {Platform: room.Platform, Key: room.Key},
		{Platform: room.Platform, Workspace: room.Workspace + "X", Key: room.Key}, {Platform: room.Platform, Workspace: room.Workspace},
		{Platform: room.Platform, Workspace: room.Workspace, Key: room.Key + "\n"},
	} {
		try(p.Errorf, id)
	}
	if p.Failed() {
		return
	}
	rapid.Check(p.T, func(t *rapid.T) {
		id := chat.ID{
			Platform:  rapid.SampledFrom([]string{room.Platform, "web", ""}).Draw(t, "platform"),
			Workspace: rapid.SampledFrom([]string{room.Workspace, "", "other"}).Draw(t, "workspace"),
			Key:       rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Z0-9]{0,11}[/:][0-9]{0,18}[./][0-9]{0,9}`)).Draw(t, "key"),
		}
		if id.Platform != "" && id.Key != "" {
			if got, err := chat.ParseID(id.String()); err != nil || got != id {
				t.Fatalf("%#v is read back as %#v, %v", id, got, err)
			}
		}
		try(t.Fatalf, id)
	})
	if got := p.Messages(room); len(got) != 1 || !strings.Contains(got[0].Text, "mine") {
		p.Errorf("the chat now holds %+v", got)
	}
}

// fault is the *agent.PlatformError that an error must be.
func fault(p *stage, fatal func(string, ...any), what string, err error) *agent.PlatformError {
	var pe *agent.PlatformError
	switch p.note(err); {
	case err == nil:
		fatal("%s: no error", what)
	case !errors.As(err, &pe):
		fatal("%s: %T is no *agent.PlatformError: %v", what, err, err)
	default:
		return pe
	}
	return &agent.PlatformError{Cause: errors.New("none")}
}

// trouble: a caller chooses by the kind, so the kind must be right, for posts and edits alike.
func trouble(p *stage) {
	if !p.needs("Trouble", p.Trouble != nil) {
		return
	}
	const after = 7 * time.Second
	for _, c := range []struct {
		mishap Mishap
		want   agent.PlatformFault
	}{
		{Busy, agent.FaultBusy}, {Down, agent.FaultTransient}, {Cut, agent.FaultTransient}, {Lost, agent.FaultTransient},
		{Forbidden, agent.FaultForbidden}, {Gone, agent.FaultGone},
	} {
		for what, try := range map[string]func(context.Context, chat.ID, chat.MessageRef) error{
			"Edit": func(ctx context.Context, room chat.ID, ref chat.MessageRef) error {
				p.Trouble(c.mishap, room, ref, after)
				return p.Platform.Edit(ctx, room, ref, textMessage("beta "+string(c.mishap)), agent.Progress)
			},
			"urgent Edit": func(ctx context.Context, room chat.ID, ref chat.MessageRef) error {
				p.Trouble(c.mishap, room, ref, after)
				return p.Platform.Edit(ctx, room, ref, textMessage("gamma "+string(c.mishap)), agent.Decision)
			},
			"Post": func(ctx context.Context, room chat.ID, _ chat.MessageRef) error {
				p.Trouble(c.mishap, room, "", after)
				_, err := p.Platform.Post(ctx, room, "k "+chat.PostKey(c.mishap), textMessage("delta"))
				return err
			},
		} {
			room := p.chat("begin " + string(c.mishap)).Chat // each its own: an adapter may keep in mind what a chat has no room for
			pe := fault(p, p.Errorf, what+" while "+string(c.mishap), try(p.ctx, room, p.post(room, chat.PostKey("k "+what+" "+string(c.mishap)), textMessage("alpha"))))
			if pe.Kind != c.want {
				p.Errorf("%s while %s: %q, want %q (%v)", what, c.mishap, pe.Kind, c.want, pe)
			}
			if c.want == agent.FaultBusy && (pe.RetryAfter < after || pe.RetryAfter > 2*after) {
				p.Errorf("%s while busy: come again after %v, the platform said %v", what, pe.RetryAfter, after)
			}
		}
	}
	// It was the platform's trouble, not the adapter's: all goes on.
	room := p.chat("after all that").Chat
	ref := p.post(room, "last", textMessage("alpha"))
	p.must(p.Platform.Edit(p.ctx, room, ref, textMessage("beta"), agent.Final))
	// A caller that has no more time is told in the same words.
	late, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := p.Platform.Post(late, room, "late", textMessage("never"))
	if pe := fault(p, p.Errorf, "Post without time", err); pe.Kind != agent.FaultTransient {
		p.Errorf("Post without time: %q", pe.Kind)
	}
}

// discreetInTrouble lets everything go wrong that can; what was said then is looked at when the case is over.
func discreetInTrouble(p *stage) {
	if !p.needs("Havoc", p.Havoc != nil) {
		return
	}
	room := p.chat("begin").Chat
	ref := p.post(room, "k", card("ask"))
	for _, m := range []Mishap{Busy, Down, Cut, Lost, Gone, Forbidden} {
		p.must(p.Press(Ben, room, ref, p.button(room, ref, chat.AllowOnce)).Taken(p.ctx))
		clicks := of[chat.Clicked](p.in.All())
		handle := clicks[len(clicks)-1].Reply
		failed := 0
		count := func(err error) {
			if p.note(err) != nil {
				failed++
			}
		}
		p.Havoc(1000, m)
		for _, u := range []agent.Urgency{agent.Progress, agent.Decision, agent.Final} {
			count(p.Platform.Edit(p.ctx, room, ref, textMessage(fmt.Sprint("gone wrong: ", m, u)), u))
		}
		_, err := p.Platform.Post(p.ctx, room, chat.PostKey("k "+m), textMessage("gone wrong"))
		count(err)
		if w, ok := p.Platform.(agent.Whisperer); ok {
			count(w.Whisper(p.ctx, handle, note(render.Plain("gone wrong"))))
		}
		if s, ok := p.Platform.(agent.Seeker); ok {
			_, _, err := s.Seek(p.ctx, room, chat.PostKey("k "+m))
			count(err)
		}
		if a, ok := p.Platform.(agent.Annotator); ok {
			_, err := a.Annotate(p.ctx, room, ref, chat.PostKey("n "+m), note(render.Plain("gone wrong")), true)
			count(err)
			count(a.Remove(p.ctx, room, ref))
		}
		_ = p.Say(Ben, room, "while it goes wrong").Taken(p.ctx)
		p.passed(room)
		p.Havoc(0, m)
		if failed < 4 {
			p.Errorf("%s: only %d calls failed: nothing is shown", m, failed)
		}
		if m == Lost { // what was lost was done, the removal too
			ref = p.post(room, chat.PostKey("again "+m), card("ask"))
		}
		p.must(p.Platform.Edit(p.ctx, room, ref, card("ask"), agent.Final))
	}
}
