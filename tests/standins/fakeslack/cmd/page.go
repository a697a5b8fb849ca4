package main

import (
	"context"
	_ "embed"
	"html/template"
	"net/url"
	"strings"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

//go:embed page.html
var source string

var look = template.Must(template.New("page").Parse(source))

// page shows the workspace as one person sees it and does what they do.
type page struct{ s *fakeslack.Server }

func newPage(s *fakeslack.Server) *stand.Page {
	p := page{s}
	return &stand.Page{Template: look, Wait: s.Wait, Scene: func(q url.Values) any { return p.scene(q) }, Act: p.act, Keep: []string{"me", "channel", "thread"}}
}

// scene is what the page shows.
type scene struct {
	Me        fakeslack.User
	Users     []fakeslack.User
	Places    []place
	Here      place
	Roots     []message
	Thread    string
	Replies   []message
	Typing    string
	CanStop   bool
	Modal     *modal
	Connected int
	Problem   string
}

type place struct {
	ID, Name string
	DM, On   bool
}

type message struct {
	TS, Name, Initial, Time string
	Bot, Private, Edited    bool
	Colour                  int
	Body                    template.HTML
	Replies                 int
	Open                    bool
}

type modal struct {
	ID, Title, Submit, Close string
	Body                     template.HTML
	Errors                   map[string]string
}

func (p *page) scene(q url.Values) scene {
	out := scene{Users: people(p.s), Connected: p.s.Connections(), Problem: q.Get("problem"), Thread: q.Get("thread")}
	out.Me = out.Users[0]
	for _, u := range out.Users {
		if u.ID == q.Get("me") {
			out.Me = u
		}
	}
	mine := p.s.DM(out.Me.ID)
	for _, c := range p.s.Channels() {
		if c.Kind != fakeslack.DM || c.ID == mine {
			x := place{ID: c.ID, Name: c.Name, DM: c.Kind == fakeslack.DM, On: c.ID == q.Get("channel")}
			if x.DM {
				x.Name = "nod"
			}
			out.Places = append(out.Places, x)
			if x.On || out.Here.ID == "" {
				out.Here = x
			}
		}
	}
	all := p.s.Messages(out.Here.ID, "")
	if out.Thread == "" { // the thread where something happened last
		for _, m := range all {
			if m.Thread != "" {
				out.Thread = m.Thread
			}
		}
	}
	show := painter{s: p.s, names: map[string]string{}}
	for _, u := range p.s.Users() {
		show.names[u.ID] = u.Name
	}
	for _, m := range all {
		x := show.message(m.TS, m.User, m.Version, m.BotID != "")
		x.Replies, x.Open, x.Edited = m.Replies, m.TS == out.Thread, m.Edited
		if m.Thread == "" {
			out.Roots = append(out.Roots, x)
		}
		if m.Thread == out.Thread && m.Thread != "" || m.TS == out.Thread {
			out.Replies = append(out.Replies, x)
		}
	}
	for _, e := range p.s.Ephemerals(out.Me.ID) {
		x := show.message(e.TS, p.s.BotUser(), e.Version, true)
		x.Private = true
		switch {
		case e.Channel != out.Here.ID:
		case e.Thread == "":
			out.Roots = append(out.Roots, x)
		case e.Thread == out.Thread:
			out.Replies = append(out.Replies, x)
		}
	}
	if x, ok := p.s.Session(out.Here.ID, out.Thread); ok {
		out.Typing, out.CanStop = x.Typing, x.Status == "processing"
	}
	if views := p.s.Views(out.Me.ID); len(views) > 0 {
		v := views[len(views)-1]
		out.Modal = &modal{ID: v.ID, Title: v.Title, Submit: v.Submit, Close: v.Close, Errors: v.Errors, Body: show.blocks(v.Blocks, p.s.ViewButtons(v.ID))}
	}
	return out
}

func people(s *fakeslack.Server) []fakeslack.User {
	var out []fakeslack.User
	for _, u := range s.Users() {
		if !u.Bot {
			out = append(out, u)
		}
	}
	return out
}

func (p *page) act(f url.Values) (err error) {
	me, channel, thread := f.Get("me"), f.Get("channel"), f.Get("thread")
	switch f.Get("do") {
	case "say":
		text := strings.TrimSpace(f.Get("text"))
		if text == "" {
			return nil
		}
		if strings.HasPrefix(text, "/") {
			command, rest, _ := strings.Cut(text, " ")
			p.s.Slash(me, channel, command, rest)
			return nil
		}
		for _, u := range p.s.Users() {
			text = strings.ReplaceAll(text, "@"+u.Name, "<@"+u.ID+">")
		}
		p.s.Say(me, channel, f.Get("under"), text)
	case "click":
		what := f.Get("what")
		switch ts := f.Get("ts"); {
		case f.Get("view") != "":
			_, err = p.s.ClickInView(me, f.Get("view"), what)
		case f.Get("private") != "":
			_, err = p.s.ClickEphemeral(me, what)
		default:
			_, err = p.s.Click(me, channel, ts, what)
		}
	case "submit":
		var d *fakeslack.Delivery
		if d, err = p.s.SubmitView(me, f.Get("view"), stand.Inputs(f)); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 2*fakeslack.AckWithin)
			defer cancel()
			_, err = d.Wait(ctx)
		}
	case "close":
		p.s.CloseView(me, f.Get("view"))
	case "stop":
		p.s.StopAgent(me, channel, thread)
	}
	return err
}
