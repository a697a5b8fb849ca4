package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/stand"
)

//go:embed page.html
var source string

var look = template.Must(template.New("page").Parse(source))

// page shows the server as one person sees it and does what they do.
type page struct{ s *fakediscord.Server }

func newPage(s *fakediscord.Server) *stand.Page {
	p := page{s}
	return &stand.Page{Template: look, Wait: s.Wait, Scene: func(q url.Values) any { return p.scene(q) }, Act: p.act, Keep: []string{"me", "channel"}}
}

// scene is what the page shows.
type scene struct {
	Me, Channel, Problem string
	People               []fakediscord.User
	Places               []place
	Messages             []message
	Modal                *fakediscord.Modal
	Connected            int
}

type place struct {
	ID, Name   string
	On, Thread bool
}

type message struct {
	ID, Name, Time       string
	Bot, Private, Edited bool
	Body                 template.HTML
	Accent               string
}

func (p *page) scene(q url.Values) scene {
	out := scene{Me: q.Get("me"), Channel: q.Get("channel"), Problem: q.Get("problem"), Connected: p.s.Connected()}
	names := map[string]string{}
	for _, u := range p.s.Users() {
		names[u.ID] = u.Name
		if !u.Bot {
			out.People = append(out.People, u)
		}
	}
	if names[out.Me] == "" {
		out.Me = out.People[0].ID
	}
	all := p.s.Channels()
	for _, c := range all {
		if c.Thread() || c.Kind == fakediscord.DM && c.With != out.Me {
			continue
		}
		if out.Channel == "" {
			out.Channel = c.ID
		}
		x := place{ID: c.ID, Name: "# " + c.Name, On: c.ID == out.Channel}
		if c.Kind == fakediscord.DM {
			x.Name = "@ nod"
		}
		out.Places = append(out.Places, x)
		for _, t := range all {
			if t.Parent == c.ID {
				out.Places = append(out.Places, place{ID: t.ID, Name: t.Name, On: t.ID == out.Channel, Thread: true})
			}
		}
	}
	for _, m := range append(p.s.Messages(out.Channel), p.s.Seen(out.Me, out.Channel)...) {
		out.Messages = append(out.Messages, p.message(m, names))
	}
	if open := p.s.Modals(out.Me); len(open) > 0 {
		out.Modal = &open[len(open)-1]
	}
	return out
}

func (p *page) message(m fakediscord.Message, names map[string]string) message {
	out := message{ID: m.ID, Name: names[m.Author], Bot: m.Author == p.s.BotUser(), Private: m.Ephemeral != "", Edited: !m.Edited.IsZero(),
		Time: fakediscord.Time(m.ID).Local().Format("15:04"), Body: paint(m.Version, names)}
	if c := m.Accent(); c >= 0 {
		out.Accent = fmt.Sprintf("#%06x", c)
	}
	if m.Type == fakediscord.TypeThreadStarter {
		out.Body = "started this thread"
	}
	return out
}

func (p *page) act(f url.Values) (err error) {
	me, channel := f.Get("me"), f.Get("channel")
	var d *fakediscord.Delivery
	switch f.Get("do") {
	case "say":
		return p.say(me, channel, strings.TrimSpace(f.Get("text")))
	case "click":
		d, err = p.s.Click(me, channel, f.Get("message"), f.Get("what"))
	case "submit":
		d, err = p.s.Submit(me, stand.Inputs(f))
	case "close":
		p.s.Dismiss(me)
	}
	if err != nil || d == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*fakediscord.AnswerWithin)
	defer cancel()
	if _, err = d.Wait(ctx); err != nil {
		return errors.New("This interaction failed") // as the client words it
	}
	return nil
}

// say writes a message, or uses a command: "/nod ask text" gives all words after the sub-command to its first option.
func (p *page) say(me, channel, text string) error {
	if text == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(text, "/"); ok {
		name, rest, _ := strings.Cut(name, " ")
		sub, rest, _ := strings.Cut(rest, " ")
		options := map[string]any{}
		if option := p.s.FirstOption(channel, name, sub); option != "" && rest != "" {
			options[option] = rest
		}
		_, err := p.s.Slash(me, channel, name, sub, options)
		return err
	}
	for _, u := range p.s.Users() {
		text = strings.ReplaceAll(text, "@"+u.Name, "<@"+u.ID+">")
	}
	p.s.Say(me, channel, text)
	return nil
}
