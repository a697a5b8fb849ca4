// Package standing is what a person's click leaves in the settings beyond its chat: a choice that is remembered for them or for a channel,
// that it ends again, and the tools of a server that they accept. The settings are another log, and this is written once the decision stands in
// the chat's: where it fails, the decision holds all the same, and the person is told.
//
// It writes by [Settings], a port that the engine is. It knows no log and no driver; what a decision leaves standing is decided in package
// decision ([decision.Kept]), and what a change of the settings means in core/permission.
//
// Where to start: [Remember] and [Forget] after a click, [KeepAgain] as its call starts, [Accept] for an installation card.
package standing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Settings are where it is written.
type Settings interface {
	// Now is the log's clock.
	Now() time.Time
	// Change records what build makes of the settings as they are: all of it, or nothing. What was delivered before is recorded once. Where
	// nothing would change it is an error, with the settings as they are.
	Change(ctx context.Context, by chat.Envelope, note string, build func(permission.Policy, permission.Settings) ([]permission.Change, error)) (permission.Settings, error)
}

// Remember writes what a person's answer leaves standing, once their decision is recorded: also when the click is delivered again, for who
// took it first may have died in between. An error says that not all of it is there: the log failed, or is full.
func Remember(ctx context.Context, set Settings, s turn.Session, in chat.Clicked, done []decision.Outcome) error {
	if len(done) == 0 {
		done = []decision.Outcome{{Ask: turn.AskID(in.Token), Choice: in.Choice}}
	}
	var lost []error
	for _, o := range done {
		c, _, _ := s.FindAsk(o.Ask) // nobody decided what is not there
		if c.By != in.User || !(turn.Allows(o.Choice) || o.Choice == chat.Deny) {
			continue
		}
		if c.Choice, c.Name = o.Choice, in.Name; o.Choice != chat.AllowChannel {
			c.Channel = ""
		}
		lost = append(lost, keep(ctx, set, s, c, in.Envelope))
	}
	return errors.Join(lost...)
}

// KeepWithin is how old a decision may be for what it leaves standing to be kept once more when its call starts. By then whoever gave it may
// have ended it again, and that is known only as long as the settings remember the latest deliveries.
const KeepWithin = 5 * time.Minute

// KeepAgain keeps what the answer to a call that has started leaves standing, where whoever took the answer died before they could: its card
// says that it stands. A call that started cannot be undone any more, so nothing is kept that was taken back.
func KeepAgain(ctx context.Context, set Settings, s turn.Session, c turn.ToolCall) error {
	if set.Now().Sub(c.DecidedAt) >= KeepWithin { // nobody decided what was not asked: nothing is kept of it
		return nil
	}
	return keep(ctx, set, s, c, chat.Envelope{Chat: s.Chat, User: c.By, Name: c.Name})
}

var errNoRoom = errors.New("the settings have no room for it")

// keep writes what a decision leaves standing, once. An error says that not all of it is there.
func keep(ctx context.Context, set Settings, s turn.Session, c turn.ToolCall, by chat.Envelope) error {
	var given *permission.Grant
	if i := slices.IndexFunc(s.Grants, func(g permission.Grant) bool { return g.ID == c.Grant }); i >= 0 {
		given = &s.Grants[i]
	}
	kept := decision.Kept(c, c.Decision, given)
	if len(kept) == 0 {
		return nil
	}
	by.Delivery = chat.Delivery("remember:" + string(c.Ask)) // an ask is decided once: undone, it is asked by another name
	now, err := set.Change(ctx, by, "", func(permission.Policy, permission.Settings) (changes []permission.Change, _ error) {
		for _, r := range kept {
			changes = append(changes, r)
		}
		return changes, nil
	})
	standing := now.Of(by.User) // none where it failed; what there was no room for was left out, which is no error
	lost := slices.ContainsFunc(kept, func(keep permission.Remembered) bool {
		return !slices.ContainsFunc(standing, func(r permission.Remembered) bool { return r.Tool == keep.Tool && r.Channel == keep.Channel })
	})
	if lost {
		return cmp.Or(err, errNoRoom)
	}
	return nil
}

// Forget takes back what was remembered with a decision that was undone, also when the click is delivered again: who took it first may have
// died in between.
func Forget(ctx context.Context, set Settings, in chat.Clicked, delivery chat.Delivery) error {
	env, ask := in.Envelope, turn.AskID(in.Token)
	env.Delivery = delivery
	_, err := set.Change(ctx, env, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) { // nothing, where nothing was
		return []permission.Change{permission.Forget(decision.RememberedID(ask)), permission.Forget(decision.ChannelID(ask))}, nil
	})
	return err
}

// Accept takes a server's tools as an installation card showed them: what changed since is not accepted by it. by is who had accepted them
// before, where somebody had.
func Accept(ctx context.Context, set Settings, in chat.Clicked) (server, by string, err error) {
	_, err = set.Change(ctx, in.Envelope, "", func(p permission.Policy, s permission.Settings) ([]permission.Change, error) {
		if !p.IsAdmin(in.User) {
			return nil, decision.OnlyForAdmins(text.OnlyAdmins, p)
		}
		servers := s.Servers()
		i := slices.IndexFunc(servers, func(server string) bool { return s.InstallToken(server) == in.Token })
		if i < 0 {
			return nil, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.InstallChanged}
		}
		server = servers[i]
		var changes []permission.Change
		for _, pin := range s.Pins {
			if pin.Tool.Server == server {
				changes, by = append(changes, permission.Accept(pin.Tool)), pin.Name
			}
		}
		return changes, nil
	})
	return server, by, err
}
