package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

//go:embed page.html
var source string

var look = template.Must(template.New("page").Parse(source))

// page shows the server as one person sees it and does what they do.
type page struct{ s *fakediscord.Server }

// lookWithin bounds how long the page waits for a change before it is drawn again.
const lookWithin = 25 * time.Second

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
	Buttons              []fakediscord.Button
	Accent               string
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if name != "localhost" && net.ParseIP(name) == nil { // a site whose name leads here
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

// draw gives the page and what tells it from another.
func (p *page) draw(q url.Values) (html []byte, version string) {
	var b bytes.Buffer
	if err := look.Execute(&b, p.scene(q)); err != nil {
		return []byte(err.Error()), "error"
	}
	return b.Bytes(), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
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
	out := message{ID: m.ID, Name: names[m.Author], Bot: m.Author == p.s.BotUser(), Private: m.Ephemeral != "", Edited: !m.Edited.IsZero(), Buttons: m.Buttons(),
		Time: fakediscord.Time(m.ID).Local().Format("15:04"), Body: paint(m.Version, names)}
	if c := m.Accent(); c >= 0 {
		out.Accent = fmt.Sprintf("#%06x", c)
	}
	if m.Type == fakediscord.TypeThreadStarter {
		out.Body = "started this thread"
	}
	return out
}

// do does what a form of the page says, and shows the page again.
func (p *page) do(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what is missing is empty
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "from another site", http.StatusForbidden)
		return
	}
	q := url.Values{"me": r.Form["me"], "channel": r.Form["channel"]}
	if err := p.act(r.Form); err != nil {
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
	me, channel := f.Get("me"), f.Get("channel")
	var d *fakediscord.Delivery
	switch f.Get("do") {
	case "say":
		return p.say(me, channel, strings.TrimSpace(f.Get("text")))
	case "click":
		d, err = p.s.Click(me, channel, f.Get("message"), f.Get("what"))
	case "submit":
		values := map[string]string{}
		for k := range f {
			if id, ok := strings.CutPrefix(k, "in:"); ok {
				values[id] = f.Get(k)
			}
		}
		d, err = p.s.Submit(me, values)
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
