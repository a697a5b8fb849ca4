package web

import (
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

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

// actForm is something a person can do. Its token is sent with the panel's view (do, fill) or stands with the option (pick); go opens
// another view, link an address of this page.
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
	out := panelForm{View: p.View, Title: text.Prose(p.Title), Banner: drawLines(p.Banner), Tabs: drawActs(p.Tabs), Sections: []sectionForm{}, News: p.News}
	for _, s := range p.Sections {
		form := sectionForm{Title: text.Prose(s.Title), Note: text.Prose(s.Note), Rows: []panelRow{}, Empty: text.Prose(s.Empty)}
		for _, r := range s.Rows {
			form.Rows = append(form.Rows, panelRow{drawProse(r.Line), drawLines(r.Details), drawActs(r.Acts)})
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
		for _, o := range a.Options {
			f.Options = append(f.Options, optionForm{o.Token, text.Prose(o.Label), o.Current})
		}
		if a.Kind == render.ActLink {
			f.Href = chatPath(a.Link.Chat)
		}
		out = append(out, f)
	}
	return out
}

// chatPath is where this page shows a chat, or "" for one of another platform.
func chatPath(stored string) string {
	id, err := chat.ParseID(stored)
	if err != nil || id.Platform != Platform || id.Workspace != "" || !chatKey(id.Key) {
		return ""
	}
	return "/c/" + id.Key
}

func drawLines(ls []render.Line) (out [][]spanForm) {
	for _, l := range ls {
		out = append(out, drawProse(l))
	}
	return out
}

// drawProse draws a line whose texts may hold what hides: nobody looked at a panel's words before.
func drawProse(l render.Line) []spanForm {
	out := drawLine(l)
	for i := range out {
		out[i].Text, out[i].Strong = text.Prose(out[i].Text), text.Prose(out[i].Strong)
	}
	return out
}
