package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// What is between the bot and one person: direct messages, and the details of a card.

// direct: a conversation with one person is a chat like another, and nobody else's.
func direct(p *stage) {
	if !p.needs("SayDirect", p.SayDirect != nil) {
		return
	}
	const words = `between us: <b> & "co" &lt; ünï *x*`
	say := func(by Who, in chat.ID, text string) chat.Said {
		p.Helper()
		d := p.SayDirect(by, in, text)
		p.must(d.Taken(p.ctx))
		got := take(p, "a direct message", func(s chat.Said) bool { return s.Message == d.Message && s.User.Key == p.People[by].Key })
		if got.User.Platform != p.People[by].Platform || got.Text != text || got.Delivery == "" || got.Chat.IsZero() {
			p.Errorf("%q, said by %v, came as %+v", text, p.People[by], got)
		}
		return got
	}
	one, other := say(Ana, chat.ID{}, words), say(Ben, chat.ID{}, words)
	if one.Chat == other.Chat || one.Delivery == other.Delivery {
		p.Fatalf("Ana and Ben are in one conversation: %v and %v as %q and %q", one.Chat, other.Chat, one.Delivery, other.Delivery)
	}
	id, err := chat.ParseID(one.Chat.String())
	p.must(err)
	if id != one.Chat {
		p.Errorf("%v is read back as %v", one.Chat, id)
	}
	if again := say(Ana, id, "and a second thing"); again.Chat != id || again.Delivery == one.Delivery {
		p.Errorf("what Ana says next came from %v as %q, the first from %v as %q", again.Chat, again.Delivery, id, one.Delivery)
	}
	ref := p.post(id, "k", textMessage("alpha"))
	p.must(p.Platform.Edit(p.ctx, id, ref, card("ask"), agent.Final))
	if got := p.Messages(other.Chat); slices.ContainsFunc(got, func(m Shown) bool { return strings.Contains(m.Text, "alpha") || len(m.Buttons) > 0 }) {
		p.Errorf("Ben reads what is Ana's: %+v", got)
	}
	if s, ok := p.Platform.(agent.Seeker); ok {
		if at, found, err := s.Seek(p.ctx, id, "k"); err != nil || !found || at != ref {
			p.Errorf("the post is found=%v as %q: %v", found, at, p.note(err))
		}
		if _, found, err := s.Seek(p.ctx, other.Chat, "k"); err != nil || found {
			p.Errorf("the post is found=%v in Ben's conversation: %v", found, p.note(err))
		}
	}
	p.must(p.Press(Ana, id, ref, p.button(id, ref, chat.AllowOnce)).Taken(p.ctx))
	p.passed(id)
	if got := of[chat.Clicked](p.in.All()); len(got) != 1 || got[0].Chat != id || got[0].Message != ref || got[0].User != one.User || got[0].Token != "ask" || got[0].Choice != chat.AllowOnce {
		p.Errorf("Ana's click on %q in %v came as %+v", ref, id, got)
	}
	for _, u := range []agent.Urgency{agent.Decision, agent.Final} {
		say := fmt.Sprintf("beta %d", u)
		p.must(p.Platform.Edit(p.ctx, id, ref, textMessage(say), u))
		if s := p.shown(id, ref); !strings.Contains(s.Text, say) || len(s.Buttons) > 0 {
			p.Errorf("after an edit the message reads %q with %+v", s.Text, s.Buttons)
		}
	}
}

// greek is text that no platform and no adapter has reason to write, so that it can be put together again from pages and files.
func greek(n int) string {
	letters := []rune("αβγδεζηθικλμνξοπρστυφχψω")
	out, seed := make([]rune, n), uint32(n)
	for i := range out {
		seed = seed*1664525 + 1013904223
		out[i] = letters[seed>>16%uint32(len(letters))]
	}
	return string(out)
}

func onlyGreek(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'α' && r <= 'ω' {
			return r
		}
		return -1
	}, s)
}

// details: whoever asks for them sees everything, however long it is, alone, and has decided nothing.
func details(p *stage) {
	if !p.needs("Details", p.Details != nil) {
		return
	}
	room := p.chat("begin").Chat
	for _, n := range []int{12, 900, 3000, 12_000, 40_000} {
		p.inspected(room, n)
	}
	// What a model, a tool or a person wrote is no more than text there as well.
	for _, h := range hostile {
		h = strings.ReplaceAll(h, "{ben}", p.People[Ben].Key)
		raw, err := json.Marshal(map[string]any{h: h, "b": []string{h}})
		p.must(err)
		call := openCall("ask", raw)
		call.Tool, call.Card.Describes = permission.Tool{Server: h, Name: h}, h
		s := p.looked(room, "hostile "+h, call)
		p.inertOne("the details of "+h, s, note())
		if p.Failed() {
			return
		}
	}
	// A button of what the session does not hold any more says so.
	ref := p.post(room, "late", viewable("gone"))
	from := len(p.in.All())
	if s, err := p.Details(p.ctx, Ana, room, ref, p.button(room, ref, chat.ViewDetail)); p.note(err) != nil || strings.TrimSpace(s.Text) == "" {
		p.Errorf("details that are not there: %q, %v", s.Text, err)
	}
	if got := p.in.All()[from:]; len(got) > 0 {
		p.Errorf("looking for what is not there came as %+v", got)
	}
}

// openCall is a call that waits for a person.
func openCall(token turn.AskID, args json.RawMessage) turn.ToolCall {
	return turn.ToolCall{
		ID: "call", Asking: turn.Asking{Ask: token, Asks: []turn.AskID{token}}, Status: turn.Awaiting, Args: args, Digest: permission.Digest(strings.Repeat("7f3a91c0", 8)), Tool: permission.Tool{Server: "files", Name: "write_file"},
	}
}

// viewable is a card with a button for its details.
func viewable(token string) render.Message {
	m := card(token)
	a, _ := m.Blocks[1].(render.Ask)
	a.More = append(a.More, render.Choice{Choice: chat.ViewDetail, Token: token, Label: text.LabelViewDetails})
	m.Blocks[1] = a
	return m
}

// looked is what Ana sees of a call, in a session that has it open.
func (p *stage) looked(room chat.ID, key string, call turn.ToolCall) Shown {
	p.Helper()
	p.in.Put(turn.Session{Chat: room, Turn: &turn.Turn{ID: "t1", Calls: []turn.ToolCall{call}}})
	ref := p.post(room, chat.PostKey(key), viewable(string(call.Ask)))
	from, before := len(p.in.All()), len(p.Messages(room))
	s, err := p.Details(p.ctx, Ana, room, ref, p.button(room, ref, chat.ViewDetail))
	p.must(err)
	p.passed(room)
	if got := p.in.All()[from:]; len(got) > 0 {
		p.Errorf("%s: looking came as %+v", key, got)
	}
	if n := len(p.Messages(room)); n != before {
		p.Errorf("%s: %d messages stand there for all, %d before", key, n, before)
	}
	if len(p.shown(room, ref).Buttons) < 4 {
		p.Errorf("%s: the card now has the buttons %+v", key, p.shown(room, ref).Buttons)
	}
	return s
}

// inspected looks at a call with so many characters in its arguments.
func (p *stage) inspected(room chat.ID, n int) {
	p.Helper()
	content, last := greek(n), greek(7)
	raw, err := json.Marshal(map[string]any{"a_content": content, "b_path": "notes.txt", "z_last": last})
	p.must(err)
	call := openCall(turn.AskID(fmt.Sprint("ask", n)), raw)
	s := p.looked(room, fmt.Sprint("look ", n), call)
	if !strings.Contains(s.Text, string(call.Digest)) {
		p.Errorf("with %d characters the whole digest is not shown: %.400q", n, s.Text)
	}
	if got := onlyGreek(s.Text); !strings.Contains(got, content) || !strings.Contains(got, last) || !strings.Contains(s.Text, "notes.txt") {
		p.Errorf("%d of %d characters of the arguments are shown", len([]rune(got)), n+7)
	}
	if n > 100 && (strings.Contains(onlyGreek(every(p.Seen(Ben, room))), content) || strings.Contains(every(p.Seen(Ben, room)), string(call.Digest))) {
		p.Errorf("Ben sees the details that Ana asked for")
	}
}

func every(all []Shown) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.Text + "\n")
	}
	return b.String()
}
