package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// elicitationForm is what a running tool's server wants of the requester. All of it is untrusted.
type elicitationForm struct {
	RequestID  string      `json:"request_id"`
	Kind       string      `json:"kind"` // form | url
	ServerName string      `json:"server_name"`
	ToolName   string      `json:"tool_name"`
	Message    string      `json:"message,omitempty"`
	Warning    string      `json:"warning"`
	Fields     []fieldForm `json:"fields,omitempty"` // form
	Address    *linkForm   `json:"address,omitempty"`
	ExpiresAt  *time.Time  `json:"expires_at"`
}

// fieldForm is one value of a form; what is filled in goes back under its name.
type fieldForm struct {
	Name        string       `json:"name"`
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	Type        string       `json:"type"` // string | number | integer | boolean
	Options     []fieldValue `json:"options,omitempty"`
	Many        bool         `json:"many,omitempty"`
	Required    bool         `json:"required,omitempty"`
	Default     string       `json:"default,omitempty"`
	Format      string       `json:"format,omitempty"` // email | uri | date | date-time
	Min         *float64     `json:"min,omitempty"`
	Max         *float64     `json:"max,omitempty"`
}

type fieldValue struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// linkForm is an address to be read before it is opened: what stands before its host, the host, and what stands after.
type linkForm struct {
	URL     string `json:"url,omitempty"` // exactly; empty for what a page must not link
	Before  string `json:"before"`
	Host    string `json:"host"`
	After   string `json:"after"`
	Warning string `json:"warning,omitempty"`
}

// getWhy answers "Why am I asked?".
func (s *Server) getWhy(r *http.Request, p session.Person) (any, error) {
	p, ask, err := s.findAsk(r.Context(), p, r.PathValue("request"), "")
	if err != nil {
		return nil, err
	}
	d, err := s.Settings.Why(r.Context(), p.Envelope(ask.chat), ask.token)
	return drawDetails(d), err
}

// getDetails is all that the chat knows of a call, by its id or its request's, or of a turn.
func (s *Server) getDetails(r *http.Request, _ session.Person, v view) (any, error) {
	d, found := card.Details(v.session, r.PathValue("token"))
	if !found {
		return nil, unknownAsk
	}
	return drawDetails(d), nil
}

// detailsForm is everything about something, for one person.
type detailsForm struct {
	Title string     `json:"title"`
	Parts []partForm `json:"parts"`
}

type partForm struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	Form string `json:"form"` // plain | code | markdown
}

func drawDetails(d render.Details) *detailsForm {
	names := map[render.Form]string{render.FormCode: "code", render.FormMarkdown: "markdown"}
	out := &detailsForm{text.Prose(d.Title), []partForm{}}
	for _, x := range d.Parts {
		out.Parts = append(out.Parts, partForm{text.Prose(x.Name), text.Prose(x.Text), cmp.Or(names[x.Form], "plain")})
	}
	return out
}

// getElicitation shows the requester, and nobody else, what a server wants of them.
func (s *Server) getElicitation(r *http.Request, p session.Person) (any, error) {
	p, ask, err := s.findAsk(r.Context(), p, r.PathValue("request"), "")
	if err != nil {
		return nil, err
	}
	v, err := s.chats.get(r.Context(), ask.chat)
	if err != nil {
		return nil, err
	}
	c, open := v.session.FindElicitation(turn.AskID(ask.token))
	if !open {
		return nil, problem{Status: http.StatusGone, Code: string(decision.RefusedExpired), Message: sayElicitationOver}
	}
	if v.session.Turn.Requester != p.User {
		return nil, problem{Status: http.StatusForbidden, Code: string(decision.RefusedNotYours), Message: text.OnlyRequesterFills(v.session.NameOf(v.session.Turn.Requester))}
	}
	return drawElicitation(c), nil
}

func drawElicitation(c turn.ToolCall) elicitationForm {
	w, server := c.Elicitation.Request, text.ShortName(c.Tool.Server)
	f := elicitationForm{RequestID: string(c.Elicitation.Ask), Kind: string(w.Kind), ServerName: server, ToolName: text.ShortName(c.Tool.Name),
		Message: text.Prose(w.Message), Warning: text.ElicitationWarning(server), ExpiresAt: moment(c.Elicitation.Deadline)}
	switch w.Kind {
	case turn.ElicitationURL:
		f.Warning, f.Address = text.ElicitationURLSay(server), address(w.URL)
	default:
		for _, x := range w.Fields {
			f.Fields = append(f.Fields, drawField(x))
		}
	}
	return f
}

func drawField(x turn.FormField) fieldForm {
	f := fieldForm{Name: x.Name, Title: text.Prose(cmp.Or(x.Title, x.Name)), Description: text.Prose(x.Description), Type: x.Type, Many: x.Many,
		Required: x.Required, Default: x.Default, Format: x.Format, Min: x.Min, Max: x.Max}
	for i, o := range x.Options {
		label := o
		if i < len(x.Labels) {
			label = cmp.Or(x.Labels[i], o)
		}
		f.Options = append(f.Options, fieldValue{o, text.Prose(label)})
	}
	return f
}

// address takes an address apart for the eye. One that a browser could read in another way than we do, or that is not of the web, is shown
// and not linked: what a person reads must be where they go.
func address(raw string) *linkForm {
	scheme, rest, _ := strings.Cut(raw, "://")
	u, err := url.Parse(raw)
	shown, hidden := text.Visible(raw)
	if err != nil || u.User != nil || u.Hostname() == "" || hidden > 0 || strings.ContainsAny(raw, "\\ \t\n\"<>^`{|}") ||
		!strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return &linkForm{Before: shown, Warning: sayNotLinked}
	}
	host := rest
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return &linkForm{URL: raw, Before: scheme + "://", Host: host, After: rest[len(host):], Warning: render.HostWarning(u.Hostname())}
}
