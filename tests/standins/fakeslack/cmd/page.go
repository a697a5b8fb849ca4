package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

//go:embed page.html
var source string

var look = template.Must(template.New("page").Parse(source))

// page shows the workspace as one person sees it and does what they do.
type page struct{ s *fakeslack.Server }

// lookWithin bounds how long the page waits for a change before it is drawn again.
const lookWithin = 25 * time.Second

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

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name := hostname(r.Host); name != "localhost" && net.ParseIP(name) == nil { // a site whose name leads here
		http.Error(w, "ask for it by address", http.StatusForbidden)
		return
	}
	switch {
	case r.URL.Path == "/do" && r.Method == http.MethodPost:
		p.do(w, r)
	case r.URL.Path == "/":
		q := r.URL.Query()
		ctx, cancel := context.WithTimeout(r.Context(), lookWithin)
		defer cancel()
		var html []byte
		var is string
		_ = p.s.Wait(ctx, func() bool { // until it is not what the browser has; at the latest as it is then
			html, is = p.draw(q)
			return is != q.Get("have")
		})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Version", is)
		_, _ = w.Write(html) // the browser may have gone
	default:
		http.NotFound(w, r)
	}
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// draw gives the page and what tells it from another.
func (p *page) draw(q url.Values) (html []byte, version string) {
	var b bytes.Buffer
	if err := look.Execute(&b, p.scene(q)); err != nil {
		return []byte(err.Error()), "error"
	}
	return b.Bytes(), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
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

// do does what a form of the page says, and shows the page again.
func (p *page) do(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what is missing is empty
	f := r.Form
	q := url.Values{"me": f["me"], "channel": f["channel"], "thread": f["thread"]}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "from another site", http.StatusForbidden)
		return
	}
	if err := p.act(f); err != nil {
		q.Set("problem", err.Error())
	}
	http.Redirect(w, r, "/?"+q.Encode(), http.StatusSeeOther)
}

func (p *page) act(f url.Values) (err error) {
	defer func() { // people's methods panic at what no person could do
		if x := recover(); x != nil {
			err = fmt.Errorf("%v", x)
		}
	}()
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
		values := map[string]string{}
		for k := range f {
			if id, ok := strings.CutPrefix(k, "in:"); ok {
				values[id] = f.Get(k)
			}
		}
		var d *fakeslack.Delivery
		if d, err = p.s.SubmitView(me, f.Get("view"), values); err == nil {
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
