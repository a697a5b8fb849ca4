package web

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Limits of what names something in a panel: render.Panel's and render.Act's, which are shorter.
const (
	maxView  = 200
	maxToken = 64
	maxWords = 200 // of one command
)

// getSettings draws a view. Where a chat is named, it is what "here" means.
func (s *Server) getSettings(r *http.Request, p session.Person) (any, error) {
	q := r.URL.Query()
	env, err := s.here(r, p, q.Get("chat"))
	if err != nil {
		return nil, err
	}
	if !opaque(q.Get("view"), maxView) {
		return nil, badRequest("There is no such view.")
	}
	panel, err := s.Settings.Panel(r.Context(), env, q.Get("view"))
	return drawPanel(panel), err
}

// postSettings does what a person chose in a view, and answers with what to say and to show then.
func (s *Server) postSettings(r *http.Request, p session.Person) (any, error) {
	var body struct {
		View  string `json:"view"`
		Token string `json:"token"`
		Text  string `json:"text"`
		Chat  string `json:"chat"`
	}
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	switch {
	case body.Token == "" || !opaque(body.Token, maxToken):
		return nil, badRequest("\"token\" is missing, or is none that a view has.")
	case !opaque(body.View, maxView):
		return nil, badRequest("There is no such view.")
	case len(body.Text) > maxText:
		return nil, tooLarge
	}
	env, err := s.here(r, p, body.Chat)
	if err != nil {
		return nil, err
	}
	env.Delivery = p.Delivery("act/" + rand.Text())
	done, err := s.Settings.Act(r.Context(), env, body.View, body.Token, body.Text)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Say   string     `json:"say"`
		Panel *panelForm `json:"panel"` // null: it is done, and could not be drawn
	}{Say: text.Prose(done.Say)}
	if panel, err := s.Settings.Panel(r.Context(), env, done.View); err != nil {
		s.Logger.Warn("done, but the view after it could not be drawn", "err", err)
	} else {
		answer.Panel = new(drawPanel(panel))
	}
	return answer, nil
}

// postPermissions does a command: its words, or its text as somebody typed it.
func (s *Server) postPermissions(r *http.Request, p session.Person) (any, error) {
	var body struct {
		Words []string `json:"words"`
		Text  string   `json:"text"`
		Chat  string   `json:"chat"`
	}
	if err := readJSON(r, &body); err != nil {
		return nil, err
	}
	env, err := s.here(r, p, body.Chat)
	if err != nil {
		return nil, err
	}
	var lines []string
	if body.Text == "" {
		lines, err = s.permissions(r.Context(), p, env, body.Words)
	} else if words, ok := command(body.Text); ok {
		lines, err = s.command(r.Context(), p, env.Chat, words)
	} else {
		err = problem{Status: http.StatusBadRequest, Code: "not_a_command", Message: "This is not a command. Send it as a message."}
	}
	return map[string]any{"lines": lines}, err
}

// here is who looks, with the chat that they name; an empty one is none.
func (s *Server) here(r *http.Request, p session.Person, key string) (chat.Envelope, error) {
	if key == "" {
		return p.Envelope(chat.ID{}), nil
	}
	v, err := s.chatNamed(r.Context(), p, key)
	return p.Envelope(v.session.Chat), err
}

// opaque reports whether s may be the name of a view or an act: graphic ASCII, not too long.
func opaque(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// panelForm is one view of the settings as the API shows it, drawn for one person.
type panelForm struct {
	View     string        `json:"view"` // to be given back with every act
	Title    string        `json:"title"`
	Banner   [][]spanForm  `json:"banner,omitempty"`
	Tabs     []actForm     `json:"tabs,omitempty"`
	Sections []sectionForm `json:"sections"`
	News     int           `json:"news,omitempty"` // for admins: tools that are new or changed
}

type sectionForm struct {
	Title string     `json:"title,omitempty"`
	Note  string     `json:"note,omitempty"`
	Rows  []panelRow `json:"rows"`
	Empty string     `json:"empty,omitempty"` // what stands there where there are no rows
}

type panelRow struct {
	Line    []spanForm   `json:"line"`
	Details [][]spanForm `json:"details,omitempty"`
	Acts    []actForm    `json:"acts,omitempty"`
}

// actForm is something a person can do. Its token goes back with the panel's view (do, fill) or stands with the option (pick).
type actForm struct {
	Kind    string       `json:"kind"` // do | go | pick | fill | link
	Token   string       `json:"token,omitempty"`
	View    string       `json:"view,omitempty"` // go
	Label   string       `json:"label"`
	Hint    string       `json:"hint,omitempty"`
	Options []optionForm `json:"options,omitempty"` // pick
	Current bool         `json:"current,omitempty"` // of a tab: it is open
	Value   string       `json:"value,omitempty"`   // fill: what stands there now
	Max     int          `json:"max,omitempty"`     // fill: characters
	Like    string       `json:"like,omitempty"`    // fill: an example
	Confirm string       `json:"confirm,omitempty"` // to be confirmed by the person first
	Style   string       `json:"style,omitempty"`
	Href    string       `json:"href,omitempty"` // link: a path of this page; a chat of another platform has none
}

type optionForm struct {
	Token   string `json:"token"`
	Label   string `json:"label"`
	Current bool   `json:"current,omitempty"`
}

var actKinds = map[render.ActKind]string{render.ActDo: "do", render.ActGo: "go", render.ActPick: "pick", render.ActFill: "fill", render.ActLink: "link"}

func drawPanel(p render.Panel) panelForm {
	out := panelForm{View: p.View, Title: text.Prose(p.Title), Banner: each(p.Banner, drawProse), Tabs: drawActs(p.Tabs), Sections: []sectionForm{}, News: p.News}
	for _, s := range p.Sections {
		form := sectionForm{Title: text.Prose(s.Title), Note: text.Prose(s.Note), Rows: []panelRow{}, Empty: text.Prose(s.Empty)}
		for _, r := range s.Rows {
			form.Rows = append(form.Rows, panelRow{drawProse(r.Line), each(r.Details, drawProse), drawActs(r.Acts)})
		}
		out.Sections = append(out.Sections, form)
	}
	return out
}

func drawActs(acts []render.Act) (out []actForm) {
	for _, a := range acts {
		kind, known := actKinds[a.Kind]
		if !known {
			continue // what this build cannot draw nobody can choose here by mistake
		}
		f := actForm{Kind: kind, Token: a.Token, View: a.View, Label: text.Prose(a.Label), Hint: text.Prose(a.Hint), Current: a.Current,
			Value: a.Value, Max: a.Max, Like: text.Prose(a.Like), Confirm: text.Prose(a.Confirm), Style: string(a.Style)}
		f.Options = each(a.Options, func(o render.Option) optionForm { return optionForm{o.Token, text.Prose(o.Label), o.Current} })
		if a.Kind == render.ActLink {
			f.Href = chatPath(a.Link.Chat)
		}
		out = append(out, f)
	}
	return out
}

// chatPath is where this page shows a chat, or "" for one of another platform.
func chatPath(stored string) string {
	id, _ := chat.ParseID(stored)
	if id.Platform != Platform || !chatKey(id.Key) {
		return ""
	}
	return "/c/" + id.Key
}

// drawProse draws a line whose texts may hold what hides: nobody looked at a panel's words before.
func drawProse(l render.Line) []spanForm {
	out := drawLine(l)
	for i := range out {
		out[i].Text, out[i].Strong = text.Prose(out[i].Text), text.Prose(out[i].Strong)
	}
	return out
}
