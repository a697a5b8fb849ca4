package conformance

import (
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Where looking at a message fetches what it links to, an address is a way out for what a model was tricked to put into it.

// brought is the host that people brought into the chat; stray are addresses of others, in all the ways to write one.
const brought = "brought.example"

var stray = []string{
	"https://stray.example/?q=secret", "http://stray.example/?q=secret", "HTTPS://STRAY.example/?q=secret", "<https://stray.example/?q=secret>",
	"[here](https://stray.example/?q=secret)", "[here](<https://stray.example/?q=secret>)", "[stray.example](https://stray.example/?q=secret)",
	"[https://brought.example/](https://stray.example/?q=secret)", "[here][1]\n\n[1]: https://stray.example/?q=secret", "![x](https://stray.example/?q=secret)",
	"[![x](https://stray.example/p)](https://stray.example/?q=secret)", "https://brought.example.stray.example/?q=secret", "https://straybrought.example/?q=secret",
	"https://brought.example@stray.example/?q=secret", "https://stray.example\\@brought.example/?q=secret", "https://stray.example/https://brought.example/",
	"https://stray.example?https://brought.example/", "https://stray.example#@brought.example/", "https://brought.example:x@stray.example/", "https://brought.example。stray.example/?q=secret",
	"www.stray.example/?q=secret", "https:\\/\\/stray.example/?q=secret", "*https://stray.example/?q=secret*", "**[a](https://stray.example)**", "||https://stray.example/?q=secret||",
	"`code` https://stray.example/ `code`", "```\ncode\n```\nhttps://stray.example/?q=secret", "- https://stray.example/?q=secret", "> https://stray.example/?q=secret", "# https://stray.example/?q=secret",
	"| a |\n|---|\n| https://stray.example/?q=secret |", "a*```b*\nhttps://stray.example/?q=secret\n```", "<a href=\"https://stray.example/?q=secret\">x</a>", "https&#58;//stray.example/", "https://stray.example/\u200b",
	"ftp://stray.example/?q=secret", "steam://stray.example/?q=secret", "discord.gg/straystray", "discord.com/invite/straystray", "[x](discord://-/stray)", "https://[::ffff:1.2.3.4]/stray", "https://1.2.3.4/stray",
}

// nothingFetched: nobody's address is alive, whoever wrote it and wherever it stands, unless people brought its host.
func nothingFetched(p *stage) {
	if !p.Fetches {
		p.Log("looking at a message fetches nothing here: addresses may stay alive")
		return
	}
	room := p.chat("begin").Chat
	n := 0
	draw := func(m render.Message, look func(what string, s Shown)) {
		p.Helper()
		m = render.Fit(m, p.Platform.Limits())
		n++
		ref := p.post(room, chat.PostKey(fmt.Sprint("k", n)), m)
		look("posted", p.shown(room, ref))
		p.must(p.Platform.Edit(p.ctx, room, ref, textMessage("alpha"), agent.Final))
		p.must(p.Platform.Edit(p.ctx, room, ref, m, agent.Final))
		look("as an edit", p.shown(room, ref))
	}
	for _, h := range stray {
		for where, m := range p.everywhere(h) {
			m.Hosts = []string{brought}
			draw(m, func(when string, s Shown) {
				if l := s.alive(); len(l) > 0 {
					p.Errorf("%q in %s, %s: alive is %q", h, where, when, l)
				}
			})
		}
		if p.Failed() {
			return
		}
	}
	p.besideNothing()
	// What people brought is alive, so that the case above shows something, and only that.
	for _, h := range []string{"https://brought.example/a?b=c", "see [the page](https://brought.example/a?b=c) for it", "<https://brought.example/a?b=c>", "- https://brought.example/a?b=c",
		"[bank.example](https://brought.example/a)", "[https://bank.example/](https://brought.example/a)"} {
		m := textMessage(h + "\n\nand https://stray.example/?q=secret")
		draw(m, func(when string, s Shown) {
			if l := s.alive(); len(l) > 0 {
				p.Errorf("%q, %s: nobody brought anything, and alive is %q", h, when, l)
			}
		})
		m.Hosts = []string{brought}
		draw(m, func(when string, s Shown) {
			if l := s.alive(); len(l) != 0 || len(s.Links) == 0 || slices.ContainsFunc(s.Links, func(l Link) bool { return !l.honest() }) {
				p.Errorf("%q, %s, with a host that people brought: links are %+v", h, when, s.Links)
			}
		})
	}
}

// besideNothing: nor is one in a note, in a whisper, or in the details.
func (p *stage) besideNothing() {
	p.Helper()
	room := p.chat("begin again").Chat
	ref := p.post(room, "beside", card("ask"))
	p.must(p.Press(Ben, room, ref, p.button(room, ref, chat.AllowOnce)).Taken(p.ctx))
	clicks := of[chat.Clicked](p.in.All())
	for i, h := range stray {
		line := note(render.Plain(h), render.Strong(h), render.Person{User: p.People[Ben], Name: h})
		if a, ok := p.Platform.(agent.Annotator); ok {
			at, err := a.Annotate(p.ctx, room, ref, chat.PostKey(fmt.Sprint("n", i)), line, false)
			p.must(err)
			if l := p.shown(room, at).alive(); len(l) > 0 {
				p.Errorf("a note of %q: alive is %q", h, l)
			}
		}
		if w, ok := p.Platform.(agent.Whisperer); ok && len(clicks) > 0 {
			p.must(w.Whisper(p.ctx, clicks[len(clicks)-1].Reply, line))
			seen := p.Seen(Ben, room)
			if l := seen[len(seen)-1].alive(); len(l) > 0 {
				p.Errorf("a whisper of %q: alive is %q", h, l)
			}
		}
	}
	if p.Details == nil {
		return
	}
	room = p.chat("and again").Chat
	for i, h := range stray {
		call := openCall("ask-stray", []byte(`{"path":"notes.txt"}`))
		call.Tool.Name, call.Tool.Server, call.Card.Describes = h, h, h
		if l := p.looked(room, fmt.Sprint("d", i), call).alive(); len(l) > 0 {
			p.Errorf("the details of %q: alive is %q", h, l)
		}
	}
}

// alive are the addresses of a message, fetched or clickable, whose host nobody brought.
func (s Shown) alive() (out []string) {
	for _, l := range s.Links {
		if h := render.Hosts(l.URL); !slices.Equal(h, []string{brought}) {
			out = append(out, l.URL)
		}
	}
	out = append(out, s.Images...) // an icon too: whoever runs a server would learn of every card
	if s.Previews {
		out = append(out, "a preview of all of them")
	}
	return out
}
