package settings

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// action is one thing that a person can do with the settings, as data: a view offers it under a token, a command names it in words, and
// do is the same for both. Whether somebody may is looked at again when it is done, by what holds then.
type action interface {
	// do does it for the person of the request. text is what they filled in, for a [setText].
	do(ctx context.Context, q *request, text string) (Done, error)
}

// adminChange changes the settings, all of it or nothing; only an admin may.
type adminChange struct {
	changes []permission.Change
	note    string // for the record
	say     string // what the admin is told
	view    string // what they see then
}

func (a adminChange) do(ctx context.Context, q *request, _ string) (Done, error) {
	_, err := q.Engine.ChangeAsAdmin(ctx, q.env, a.note, a.changes...)
	return result(a.view, a.say, err)
}

// set sets a field; an empty value leaves it to what stands above. says is the value as the person chose it.
func (q *request) set(at permission.Setting, value, says string) action {
	at.Value = value
	say := text.NowUnset(text.FieldLabel(at.Field), shown(at.Where()))
	if says != "" {
		say = text.NowSet(text.FieldLabel(at.Field), shown(at.Where()), text.Clip(valueLabel(at, says), 120))
	}
	return adminChange{changes: []permission.Change{{Set: &at}}, say: say, view: q.view}
}

// setHalt halts everything, or lets it go on.
func setHalt(halt bool) action {
	say := text.NowResumed
	if halt {
		say = text.NowHalted
	}
	return adminChange{changes: []permission.Change{{Halt: &halt}}, say: say, view: viewHome}
}

// setText sets a field to what the person fills in.
type setText struct{ at permission.Setting }

func (a setText) do(ctx context.Context, q *request, text string) (Done, error) {
	text = strings.TrimSpace(text)
	return q.set(a.at, text, text).do(ctx, q, "")
}

// setMode sets how this chat asks.
type setMode struct{ mode permission.Mode }

func (a setMode) do(ctx context.Context, q *request, _ string) (Done, error) {
	err := q.Engine.Command(ctx, chat.Commanded{Envelope: q.env, Verb: "mode", Args: []string{a.mode.String(), yes}}) // it was confirmed on the way here
	return result(viewHome, text.ModeSet(a.mode.Label()), err)
}

// revoke ends grants of one chat. The engine looks whether they are the person's.
type revoke struct {
	chat   chat.ID
	grants []permission.GrantID
}

func (a revoke) do(ctx context.Context, q *request, _ string) (Done, error) {
	for _, g := range a.grants {
		env := q.env
		env.Chat = a.chat
		if env.Delivery != "" { // each is a write with a name of its own, the same at every redelivery
			env.Delivery += chat.Delivery("#" + string(g))
		}
		if _, err := q.Engine.Decide(ctx, chat.Clicked{Envelope: env, Choice: chat.Revoke, Token: string(g)}); err != nil {
			return Done{}, err
		}
	}
	return Done{Say: text.Revoked(), View: viewGrants}, nil
}

// remember keeps a person's choice about a tool, for what they ask themselves.
type remember struct {
	tool   toolEntry
	choice permission.Standing
	view   string
}

func (a remember) do(ctx context.Context, q *request, _ string) (Done, error) {
	t := a.tool.tool()
	_, err := q.Engine.Change(ctx, q.env, "", func(p permission.Policy, _ permission.Settings) ([]permission.Change, error) {
		if no := q.mayRemember(p, a.tool, a.choice); no != nil {
			return nil, no
		}
		return []permission.Change{{Remember: &permission.Remembered{
			ID: rand.Text(), By: q.env.User, Name: q.env.Name, Tool: t, Choice: a.choice,
		}}}, nil
	})
	return result(a.view, text.NowRemembered(a.choice.String(), shown(t.Name), shown(t.Server)), err)
}

// forget ends choices that a person told nod to remember: the IDs are from their own list, and an ID is given once.
type forget struct {
	ids  []string
	view string
}

func (a forget) do(ctx context.Context, q *request, _ string) (Done, error) {
	_, err := q.Engine.Change(ctx, q.env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		var out []permission.Change
		for _, id := range a.ids {
			out = append(out, permission.Change{Forget: id})
		}
		return out, nil
	})
	return result(a.view, text.NowForgotten(len(a.ids)), err)
}

// show leads to a view, where a button cannot.
type show struct{ view string }

func (a show) do(context.Context, *request, string) (Done, error) { return Done{View: a.view}, nil }

// result is what a person is told of an action.
func result(view, say string, err error) (Done, error) {
	switch {
	case errors.Is(err, agent.ErrUnchanged):
		return Done{Say: text.NothingToChange, View: view}, nil
	case err != nil:
		return Done{}, err
	}
	return Done{Say: say, View: view}, nil
}
