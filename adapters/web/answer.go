package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// maxUses is how many calls one click may allow; core grants no more.
const maxUses = 100

// checkAnswer refuses what would be dropped silently: a caller who sends it means it.
func checkAnswer(a chat.Clicked) error {
	switch {
	case a.Uses != 0 && a.Choice != chat.AllowUses:
		return badRequest("\"uses\" counts calls: it goes with the choice \"allow_uses\", or the scope \"uses\".")
	case a.Uses < 0 || a.Uses > maxUses:
		return badRequest("\"uses\" is a number of calls from 1 to 100.")
	case len(a.Fields) > 0 && a.Choice != chat.Answer:
		return badRequest("\"fields\" are what was filled in with the choice \"answer\".")
	}
	return nil
}

// fields are what a person filled in, by the form's names, as the words that the engine takes; a program may send other JSON.
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
		switch v := v.(type) {
		case string, json.Number, bool:
			(*f)[name] = fmt.Sprint(v)
			continue
		case []any:
			parts := make([]string, len(v))
			many := true
			for i, x := range v {
				word, is := x.(string)
				parts[i], many = word, many && is
			}
			if (*f)[name] = strings.Join(parts, "\n"); many {
				continue
			}
		}
		return badRequest("In \"fields\" a value is a string, a number, a boolean or a list of strings.")
	}
	return nil
}

// decide is the only way from this surface to a decision: a is what a person picked, with the words that some choices take.
func (s *Server) decide(ctx context.Context, p session.Person, ask asking, a chat.Clicked) ([]outcomeForm, error) {
	a.Envelope, a.Token, a.Reason = p.Envelope(ask.chat), ask.token, cut(a.Reason, maxReason)
	a.Delivery = p.Delivery("click/" + rand.Text())
	outs, err := s.Engine.Decide(ctx, a)
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
func (s *Server) remember(ctx context.Context, p session.Person, ask asking) error {
	v, err := s.chats.get(ctx, ask.chat)
	if err != nil {
		return err
	}
	if c, _, _ := v.session.FindAsk(turn.AskID(ask.token)); c.Ticked != nil && c.Ticked.User == p.User {
		return nil
	}
	_, err = s.decide(ctx, p, ask, chat.Clicked{Choice: chat.Remember})
	return err
}

// readAnswer reads an answer that is one of those offered. Edited arguments come as JSON, in their own field and not in a string.
func readAnswer(r *http.Request, offered []chat.Choice) (a chat.Clicked, err error) {
	var body struct {
		Choice string          `json:"choice"`
		Reason string          `json:"reason"`
		Args   json.RawMessage `json:"arguments"`
		Uses   int             `json:"uses"`
		Fields fields          `json:"fields"`
	}
	if err := readJSON(r, &body); err != nil {
		return a, err
	}
	if !slices.Contains(offered, chat.Choice(body.Choice)) {
		return a, badRequest(fmt.Sprintf("\"choice\" is one of: %s.", joined(offered, func(c chat.Choice) string { return string(c) })))
	}
	a = chat.Clicked{Choice: chat.Choice(body.Choice), Reason: body.Reason, Args: string(body.Args), Uses: body.Uses, Fields: body.Fields}
	return a, checkAnswer(a)
}

// namedScope is how far an approval reaches, as the API names it.
type namedScope struct {
	name   string
	choice chat.Choice
}

// scopes are all of them, narrow ones first.
var scopes = []namedScope{
	{"once", chat.AllowOnce}, {"exact", chat.AllowExact}, {"path", chat.AllowPath}, {"uses", chat.AllowUses}, {"hour", chat.AllowHour},
	{"chat", chat.AllowChat}, {"reads", chat.AllowReads}, {"writes", chat.AllowWrites}, {"server", chat.AllowServer},
}

// scopeNamed finds a scope by its name: the narrowest for none.
func scopeNamed(name string) (chat.Choice, bool) {
	i := slices.IndexFunc(scopes, func(x namedScope) bool { return x.name == cmp.Or(name, scopes[0].name) })
	return scopes[max(i, 0)].choice, i >= 0
}

func scopeName(c chat.Choice) string {
	if i := slices.IndexFunc(scopes, func(x namedScope) bool { return x.choice == c }); i >= 0 {
		return scopes[i].name
	}
	return ""
}

func joined[T any](list []T, name func(T) string) string { return strings.Join(each(list, name), ", ") }

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
