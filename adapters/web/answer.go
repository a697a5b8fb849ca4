package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// maxUses is how many calls one click may allow; core grants no more.
const maxUses = 100

// answer is what a person picked, with the words that some choices take.
type answer struct {
	choice chat.Choice
	reason string
	args   string // JSON, with Edit
	uses   int    // with AllowUses; 0: as the card says
	fields fields // with Answer
}

// check refuses what would be dropped silently: a caller who sends it means it.
func (a answer) check() error {
	switch {
	case a.uses != 0 && a.choice != chat.AllowUses:
		return badRequest("\"uses\" counts calls: it goes with the choice \"allow_uses\", or the scope \"uses\".")
	case a.uses < 0 || a.uses > maxUses:
		return badRequest("\"uses\" is a number of calls from 1 to 100.")
	case len(a.fields) > 0 && a.choice != chat.Answer:
		return badRequest("\"fields\" are what was filled in with the choice \"answer\".")
	}
	return nil
}

// fields are what a person filled in, by the form's names. A program may send numbers, booleans and lists as JSON has them; the
// engine takes the words that a form gives.
type fields map[string]string

func (f *fields) UnmarshalJSON(b []byte) error {
	var raw map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // a number stays what was written
	if err := d.Decode(&raw); err != nil {
		return badRequest("\"fields\" is an object: a value for each name of the form.")
	}
	*f = make(fields, len(raw))
	for name, v := range raw {
		text, ok := fieldText(v)
		if list, many := v.([]any); many {
			parts := make([]string, len(list))
			ok = true
			for i, x := range list {
				word, is := x.(string)
				parts[i], ok = word, ok && is
			}
			text = strings.Join(parts, "\n")
		}
		if !ok {
			return badRequest("In \"fields\" a value is a string, a number, a boolean or a list of strings.")
		}
		(*f)[name] = text
	}
	return nil
}

func fieldText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// decide is the only way from this surface to a decision.
func (s *Server) decide(ctx context.Context, p person, id chat.ID, ask string, a answer) ([]outcomeForm, error) {
	env := p.envelope(id)
	env.Delivery = chat.Delivery(Platform + "/" + p.user.Key + "/click/" + token(12))
	outs, err := s.Engine.Decide(ctx, chat.Clicked{
		Envelope: env, Token: ask, Choice: a.choice, Reason: cut(a.reason, maxReason), Args: a.args, Uses: a.uses, Fields: a.fields,
	})
	if err != nil {
		return nil, err
	}
	forms := make([]outcomeForm, 0, len(outs))
	for _, o := range outs {
		f := outcomeForm{ChatID: o.Chat.Key, RequestID: string(o.Ask), ToolCallID: string(o.Call), Choice: string(o.Choice),
			Approved: turn.Allows(o.Choice), Scope: scopeName(o.Choice), By: userForm(o.By), Name: o.Name, At: moment(o.At)}
		if o.Hidden != nil {
			f.Hidden = drawDetails(*o.Hidden)
		}
		forms = append(forms, f)
	}
	return forms, nil
}

// remember ticks "Remember this choice" for a person, unless it is: the choice toggles.
func (s *Server) remember(ctx context.Context, p person, id chat.ID, ask string) error {
	v, err := s.chats.get(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range callsOf(v.session) {
		if string(c.Ask) == ask && c.Ticked != nil && c.Ticked.User == p.user {
			return nil
		}
	}
	_, err = s.decide(ctx, p, id, ask, answer{choice: chat.Remember})
	return err
}

// readAnswer reads an answer that is one of those offered. Edited arguments come as JSON, in their own field and not in a string.
func readAnswer(r *http.Request, offered []chat.Choice) (a answer, err error) {
	var body struct {
		Choice string          `json:"choice"`
		Reason string          `json:"reason"`
		Args   json.RawMessage `json:"arguments"`
		Uses   int             `json:"uses"`
		Fields fields          `json:"fields"`
	}
	if err := readJSON(r, &body, false); err != nil {
		return a, err
	}
	if !slices.Contains(offered, chat.Choice(body.Choice)) {
		words := make([]string, len(offered))
		for i, c := range offered {
			words[i] = string(c)
		}
		return a, badRequest("\"choice\" is one of: " + strings.Join(words, ", ") + ".")
	}
	a = answer{chat.Choice(body.Choice), body.Reason, string(body.Args), body.Uses, body.Fields}
	return a, a.check()
}

// scopes are how far an approval reaches, as the API names them, narrow ones first.
var scopes = []struct {
	name   string
	choice chat.Choice
}{
	{"once", chat.AllowOnce}, {"exact", chat.AllowExact}, {"path", chat.AllowPath}, {"uses", chat.AllowUses}, {"hour", chat.AllowHour},
	{"chat", chat.AllowChat}, {"reads", chat.AllowReads}, {"writes", chat.AllowWrites}, {"server", chat.AllowServer},
}

func scopeNamed(name string) (chat.Choice, bool) {
	if name == "" {
		return chat.AllowOnce, true
	}
	for _, x := range scopes {
		if x.name == name {
			return x.choice, true
		}
	}
	return "", false
}

func scopeName(c chat.Choice) string {
	for _, x := range scopes {
		if x.choice == c {
			return x.name
		}
	}
	return ""
}

func scopeWords() string {
	words := make([]string, len(scopes))
	for i, x := range scopes {
		words[i] = x.name
	}
	return strings.Join(words, ", ")
}

// scopesOf are the scopes that a call's card offers.
func scopesOf(c turn.ToolCall) []string {
	out := []string{}
	for _, x := range scopes {
		if x.choice == chat.AllowOnce && turn.Showable(c) || turn.Offers(c, x.choice) {
			out = append(out, x.name)
		}
	}
	return out
}
