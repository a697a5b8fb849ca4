package matrix

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
)

// The engine's own doors.
const (
	clickDoor   door = "a click (Accept)"
	decideDoor  door = "the API (Decide)"
	formDoor    door = "a form (Accept)"
	commandDoor door = "a command (Accept)"
	textDoor    door = "a message (Accept)"
)

// kinds are the choices that the documents let come in through a door, nil for all of them: prose is never a decision (REQUIREMENTS
// 5.9), and a command only stops, or says how the chat asks.
var kinds = map[door][]chat.Choice{
	clickDoor: nil, decideDoor: nil, formDoor: nil, commandDoor: {chat.Stop, modeNever}, textDoor: {},
	slackButton: buttons, slackMenu: buttons, slackModal: forms, slackSlash: {}, slackText: {}, slackSocket: buttons,
	webApprove: {chat.AllowOnce, chat.AllowChat, chat.Deny, chat.DenyReason}, webAsk: apis, webAsks: {chat.ApproveAll, chat.DenyAll},
	webClick: clicks, webPage: clicks, webStop: {chat.Stop}, webText: {},
	discordButton: buttons, discordMenu: buttons, discordForm: forms, discordSlash: {chat.Stop}, discordText: {},
}

// buttons decide by themselves, but those that open a form; forms are what such a form brings.
var (
	buttons = []chat.Choice{
		chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Undo, chat.Extend, chat.AskAgain, chat.Happened, chat.RunAgain, chat.Leave,
		chat.Revoke, chat.ApproveAll, chat.DenyAll, chat.Stop,
	}
	forms = []chat.Choice{chat.DenyReason, chat.Edit}
	// apis answer one ask; clicks also what has none.
	apis = []chat.Choice{
		chat.AllowOnce, chat.AllowChat, chat.Deny, chat.Undo, chat.Extend, chat.AskAgain, chat.Happened, chat.RunAgain, chat.Leave, chat.Edit,
	}
	clicks = append(slices.Clone(apis), chat.Revoke, chat.ApproveAll, chat.DenyAll)
)

// engineDoors are where a click of a surface ends up.
type engineDoors struct {
	*house
	paper *paper
}

// knock tries a cell. say is what the person was told.
func (d engineDoors) knock(c cell, s, other *scene, r role) (say string, err error) {
	p := pickOf(c.Choice)
	n := fmt.Sprintf("d%d", d.fresh())
	env := chat.Envelope{Delivery: chat.Delivery(n), Chat: s.id, User: r.user, Name: r.name, Groups: r.groups, Reply: chat.ReplyHandle{Platform: "paper", Key: n}}
	token, message := p.tokenIn(s), s.message
	switch c.Place {
	case here:
	case noMessage:
		message = ""
	case otherText:
		message = "m0"
	case otherChat:
		env.Chat, message = other.id, other.message
	case otherTeam:
		env.Chat.Workspace = paperTown.away
	case nowhere:
		env.Chat.Key = "nowhere"
	}
	args := s.changed(n)
	ctx := d.Context()
	switch c.Door {
	case clickDoor:
		err = d.engine.Accept(ctx, chat.Clicked{Envelope: env, Token: token, Choice: c.Choice, Message: message, Args: args})
	case decideDoor:
		_, err = d.engine.Decide(ctx, chat.Clicked{Envelope: env, Token: token, Choice: c.Choice, Message: message, Args: args})
		if no, ok := errors.AsType[*decision.Refusal](err); ok {
			return no.Say, nil
		}
	case formDoor:
		err = d.engine.Accept(ctx, chat.Clicked{Envelope: env, Token: token, Choice: c.Choice, Reason: "so", Args: args})
	case commandDoor:
		in := chat.Commanded{Envelope: env, Verb: string(c.Choice), Args: []string{token}}
		if c.Choice == modeNever {
			in.Verb, in.Args = "mode", []string{"never", "yes"}
		}
		err = d.engine.Accept(ctx, in)
	case textDoor:
		err = d.engine.Accept(ctx, chat.Said{Envelope: env, Message: chat.MessageRef("p" + n), Text: string(c.Choice) + " " + token})
	}
	return d.paper.told(n), err
}

// speaker says things in a new chat.
func (d engineDoors) speaker() speak {
	id := chat.ID{Platform: "paper", Workspace: paperTown.team, Key: fmt.Sprintf("room-%d", d.fresh())}
	return func(who, text string) chat.ID {
		d.Helper()
		u := paperTown.one(who)
		if who == "petra" || who == "xena" {
			u = paperTown.other(who)
		}
		n := fmt.Sprintf("d%d", d.fresh())
		env := chat.Envelope{Delivery: chat.Delivery(n), Chat: id, User: u, Name: who, Reply: chat.ReplyHandle{Platform: "paper", Key: n}}
		if err := d.engine.Accept(d.Context(), chat.Said{Envelope: env, Message: chat.MessageRef("p" + n), Text: text}); err != nil {
			d.Fatal(err)
		}
		return id
	}
}

func (engineDoors) mute(cell, role) bool { return false }

// again: whoever chose just this before may be told nothing, for it stands so.
func again(c cell, r role, s *scene) bool {
	if r.user != s.decider {
		return false
	}
	switch c.Stage {
	case allowed, done, running, unknown:
		return c.Choice == chat.AllowOnce
	case denied:
		return c.Choice == chat.Deny
	case granted:
		return c.Choice == chat.AllowChat
	case resolved:
		return c.Choice == chat.Leave
	}
	return false
}
