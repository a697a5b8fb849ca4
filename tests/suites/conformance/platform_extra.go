package conformance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// extra is the optional interface of the platform; without it there must be a declared exception.
func extra[T any](p *stage, name string) (x T, ok bool) {
	p.Helper()
	x, ok = p.Platform.(T)
	return x, p.needs(name, ok)
}

func note(spans ...render.Span) render.Message {
	return render.Message{Blocks: []render.Block{render.Note{Line: spans}}}
}

func says(all []Shown, words string) bool {
	return slices.ContainsFunc(all, func(s Shown) bool { return strings.Contains(s.Text, words) })
}

// forms: a reason and other arguments come with the token of the button that opened the form, from who sent it.
func forms(p *stage) {
	if !p.needs("Submit", p.Submit != nil) {
		return
	}
	room := p.chat("begin").Chat
	calls := []turn.ToolCall{
		{ID: "call", Asking: turn.Asking{Ask: "ask"}, Status: turn.Awaiting, Tool: permission.Tool{Server: "files", Name: "write_file"}, Args: json.RawMessage(`{"path":"notes.txt"}`)},
		{ID: "call2", Asking: turn.Asking{Ask: "ask2"}, Status: turn.Awaiting, Tool: permission.Tool{Server: "files", Name: "read_file"}, Args: json.RawMessage(`{"path":"other.txt"}`)},
	}
	p.in.Put(turn.Session{Chat: room, Turn: &turn.Turn{ID: "t1", Calls: calls}})
	m := card("ask")
	a, _ := m.Blocks[1].(render.Ask)
	for _, c := range []chat.Choice{chat.DenyReason, chat.Edit} {
		a.More = append(a.More, render.Choice{Choice: c, Token: "ask", Label: "do " + string(c)})
	}
	m.Blocks[1] = a
	p.post(room, "k0", card("ask2"))
	ref := p.post(room, "k1", m)
	for _, c := range []struct {
		button, want chat.Choice
		words        string
	}{{chat.DenyReason, chat.Deny, "not <today> & not \"tomorrow\""}, {chat.Edit, chat.Edit, `{"path": "a<b>&amp;.txt"}`}} {
		p.must(p.Submit(Ben, room, ref, p.button(room, ref, c.button), c.words).Taken(p.ctx))
		got := take(p, "what the form says", func(x chat.Clicked) bool { return x.Choice == c.want })
		if got.Token != "ask" || got.Chat != room || got.Message != ref || got.User != p.People[Ben] || got.Delivery == "" {
			p.Errorf("the form of %s came as %+v", c.button, got)
		}
		if words := got.Reason + got.Args; words != c.words || (c.want == chat.Edit) != (got.Args != "") {
			p.Errorf("%q came as the reason %q and the arguments %q", c.words, got.Reason, got.Args)
		}
	}
	if n := len(of[chat.Clicked](p.in.All())); n != 2 {
		p.Errorf("two forms came as %d clicks", n)
	}
}

// whispers: what only one person should see, only they see, and it is as inert as everything else.
func whispers(p *stage) {
	w, ok := extra[agent.Whisperer](p, "Whisperer")
	if !ok {
		return
	}
	first := p.chat("begin")
	room := first.Chat
	ref := p.post(room, "k", card("ask"))
	allow := p.button(room, ref, chat.AllowOnce)
	p.must(p.Press(Ben, room, ref, allow).Taken(p.ctx))
	click := take(p, "the click", func(chat.Clicked) bool { return true })
	// More often than a platform's own way may be used for one click.
	for _, words := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"} {
		p.must(w.Whisper(p.ctx, click.Reply, note(render.Plain("psst "+words))))
		if !says(p.Seen(Ben, room), "psst "+words) {
			p.Errorf("Ben has not seen %q", words)
		}
	}
	if first.Reply == (chat.ReplyHandle{}) {
		p.Log("what is said carries no handle for an answer")
	} else {
		p.must(w.Whisper(p.ctx, first.Reply, note(render.Plain("only Ana"))))
		if !says(p.Seen(Ana, room), "only Ana") || says(p.Seen(Ben, room), "only Ana") {
			p.Error("the answer to what Ana said is not Ana's alone")
		}
	}
	if says(p.Seen(Ana, room), "psst") || says(p.Messages(room), "psst") {
		p.Error("others see what was whispered to Ben")
	}
	if len(p.shown(room, ref).Buttons) == 0 {
		p.Error("the whisper took the card's buttons")
	}
	for _, h := range hostile {
		h = strings.ReplaceAll(h, "{ben}", p.People[Ben].Key)
		p.must(w.Whisper(p.ctx, click.Reply, note(render.Plain(h))))
		seen := p.Seen(Ben, room)
		p.inertOne("a whisper of "+h, seen[len(seen)-1], note())
	}
	for _, key := range []string{"", "x", "%zz", click.Reply.Key, click.Reply.Key[:len(click.Reply.Key)/2] + "�"} {
		before := len(p.Messages(room))
		if err := w.Whisper(p.ctx, chat.ReplyHandle{Platform: "other", Key: key}, note(render.Plain("lost"))); p.note(err) == nil {
			p.Errorf("the handle %q of another platform is taken", key)
		}
		if key == click.Reply.Key {
			continue
		}
		_ = p.note(w.Whisper(p.ctx, chat.ReplyHandle{Platform: click.Reply.Platform, Key: key}, note(render.Plain("lost")))) // it must not be seen by all, and not panic
		if len(p.Messages(room)) != before {
			p.Errorf("with the handle %q everybody sees it", key)
		}
	}
}

// annotates: a note notifies whom it names, and nobody else, and leads to the message.
func annotates(p *stage) {
	a, ok := extra[agent.Annotator](p, "Annotator")
	if !ok {
		return
	}
	room := p.chat("begin").Chat
	ref := p.post(room, "k", card("ask"))
	ben := render.Person{User: p.People[Ben], Name: "Ben"}
	named, err := a.Annotate(p.ctx, room, ref, "n1", note(ben, render.Plain(" can answer")), true)
	p.must(err)
	s := p.shown(room, named)
	if !slices.Equal(s.Mentions, []string{p.People[Ben].Key}) || len(s.Silent) > 0 {
		p.Errorf("the note notifies %q but not %q, want Ben alone", s.Mentions, s.Silent)
	}
	if p.LinkTo != nil {
		if to := p.LinkTo(room, ref); !slices.ContainsFunc(s.Links, func(l Link) bool { return l.URL == to }) {
			p.Errorf("the note leads to %+v, want %s", s.Links, to)
		}
	}
	if !strings.Contains(s.Text, "can answer") {
		p.Errorf("the note says %q", s.Text)
	}
	both, err := a.Annotate(p.ctx, room, ref, "n2", note(ben, render.Plain(", "), render.Person{User: p.People[Ana], Name: "Ana"}), false)
	p.must(err)
	s = p.shown(room, both)
	slices.Sort(s.Mentions)
	want := []string{p.People[Ana].Key, p.People[Ben].Key}
	slices.Sort(want)
	if !slices.Equal(s.Mentions, want) || len(s.Silent) > 0 || len(s.Links) != 0 {
		p.Errorf("the second note notifies %q and leads to %+v; want %q and nowhere", s.Mentions, s.Links, want)
	}
	for _, h := range hostile {
		h = strings.ReplaceAll(h, "{ben}", p.People[Ana].Key)
		other, err := a.Annotate(p.ctx, room, ref, chat.PostKey("h "+h), note(ben, render.Plain(h), render.Person{Name: h}), false)
		p.must(err)
		s := p.shown(room, other)
		if !slices.Equal(s.Mentions, []string{p.People[Ben].Key}) {
			p.Errorf("a note that says %q notifies %q", h, s.Mentions)
		}
		s.Mentions = nil
		p.inertOne("a note of "+h, s, note())
	}
	if m := p.shown(room, ref); len(m.Mentions) != 0 || len(m.Buttons) == 0 {
		p.Errorf("the turn's message became %+v", m)
	}
}

func removes(p *stage) {
	a, ok := extra[agent.Annotator](p, "Annotator")
	if !ok {
		return
	}
	room := p.chat("begin").Chat
	ref := p.post(room, "k", card("ask"))
	beside, err := a.Annotate(p.ctx, room, ref, "n1", note(render.Plain("look")), true)
	p.must(err)
	if beside == ref || len(p.Messages(room)) != 2 {
		p.Fatalf("the note is %q beside %q, %d messages", beside, ref, len(p.Messages(room)))
	}
	for range 3 {
		p.must(a.Remove(p.ctx, room, beside))
	}
	if got := p.Messages(room); len(got) != 1 || got[0].Ref != ref {
		p.Errorf("what stands is %+v, want the turn's message alone", got)
	}
}

// seeks: an attempt is found by its key, in its chat, whatever else was posted.
func seeks(p *stage) {
	s, ok := extra[agent.Seeker](p, "Seeker")
	if !ok {
		return
	}
	room, other := p.chat("begin").Chat, p.chat("elsewhere").Chat
	seek := func(in chat.ID, key chat.PostKey, want chat.MessageRef) {
		p.Helper()
		ref, found, err := s.Seek(p.ctx, in, key)
		p.must(err)
		if found != (want != "") || ref != want {
			p.Errorf("%q is found=%v as %q, want %q", key, found, ref, want)
		}
	}
	seek(room, "k1", "")
	one := p.post(room, "k1", textMessage("alpha"))
	two := p.post(room, "k2", textMessage("k1"))
	seek(room, "k1", one)
	seek(room, "k2", two)
	seek(room, "k", "")
	seek(other, "k1", "")
	p.must(p.Say(Ben, room, "k3").Taken(p.ctx))
	seek(room, "k3", "")
	p.must(p.Platform.Edit(p.ctx, room, one, textMessage("beta"), agent.Final))
	seek(room, "k1", one) // an edit does not hide it
	if a, ok := p.Platform.(agent.Annotator); ok {
		beside, err := a.Annotate(p.ctx, room, one, "n1", note(render.Plain("look")), false)
		p.must(err)
		seek(room, "n1", beside)
	}
	if !p.needs("Trouble", p.Trouble != nil) {
		return
	}
	p.Trouble(Lost, room, "", 0)
	if _, err := p.Platform.Post(p.ctx, room, "lost", textMessage("lost")); p.note(err) == nil {
		p.Fatal("a post whose answer was lost is no success")
	}
	all := p.Messages(room)
	seek(room, "lost", all[len(all)-1].Ref)
	p.Trouble(Down, room, "", 0)
	if _, err := p.Platform.Post(p.ctx, room, "undone", textMessage("undone")); p.note(err) == nil {
		p.Fatal("a post that was not made is no success")
	}
	seek(room, "undone", "")
}
