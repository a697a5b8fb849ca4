package person

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/person"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// plan is what goes, and what stays with the reason.
type plan struct {
	chats      []chat.ID // that go
	asking     []chat.ID // with others, in which a turn may be open that is theirs
	remembered []permission.Change
	page       page
	goes, stay []string
}

// remove prints what goes and what stays, and with -yes deletes it.
func (r *run) remove(ctx context.Context) error {
	p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	if len(p.goes)+len(p.stay) == 0 {
		return fmt.Errorf("nothing is kept about %s%s", r.who, r.meant(r.who.String()))
	}
	for _, l := range p.goes {
		fmt.Fprintln(r.Stdout, "goes:  "+text.OneLine(l))
	}
	for _, l := range p.stay {
		fmt.Fprintln(r.Stdout, "stays: "+text.OneLine(l))
	}
	switch {
	case len(p.goes) == 0:
		fmt.Fprintln(r.Stdout, "There is nothing that can be deleted.")
		return nil
	case !r.yes:
		fmt.Fprintln(r.Stdout, "Nothing was deleted yet: -yes does it.")
		return nil
	}
	if err := r.erase(ctx, p); err != nil {
		return fmt.Errorf("not all is deleted; run it again: %w", err)
	}
	if r.broken > 0 {
		return fmt.Errorf("not all may be deleted: what is kept of %s in what is named above cannot be read", r.who)
	}
	fmt.Fprintln(r.Stdout, "Deleted.")
	return nil
}

func (r *run) plan(ctx context.Context) (p plan, err error) {
	set, err := r.settings(ctx)
	if err != nil {
		return p, err
	}
	if h, held := set.Held(chat.ID{}, r.who); held {
		return p, fmt.Errorf("there is a hold on %s since %s, by %s%s: nothing of theirs is deleted", r.who, h.At.UTC().Format(time.DateOnly), h.By, reason(h))
	}
	goes := func(format string, a ...any) { p.goes = append(p.goes, fmt.Sprintf(format, a...)) }
	stays := func(format string, a ...any) { p.stay = append(p.stay, fmt.Sprintf(format, a...)) }
	err = r.each(ctx, func(id chat.ID, c person.Chat, seq uint64) error {
		switch h, held := set.Held(id); {
		case id.Platform == agent.Own:
			stays("what they changed in the settings, %s: that log never fades, and says who allowed what", command.Count(len(c.Records), "record", "records"))
		case held:
			stays("chat %s: on hold since %s%s", c.Chat, h.At.UTC().Format(time.DateOnly), reason(h))
		case !c.Alone:
			p.asking = append(p.asking, id)
			stays("chat %s: others took part, so their words, names and decisions stay in its log until it was silent for audit.keep; a question of theirs in it is ended", c.Chat)
		default:
			p.chats = append(p.chats, id)
			goes("chat %s, with files: %s", c.Chat, command.Count(int(seq), "entry", "entries")) //nolint:gosec // a count
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	for _, x := range set.Remembered {
		if x.By == r.who {
			p.remembered = append(p.remembered, permission.Forget(x.ID))
		}
	}
	if n := len(p.remembered); n > 0 {
		goes("what they remembered for themselves: %s", command.Count(n, "choice", "choices"))
	}
	if p.page, err = r.page(ctx); err != nil {
		return p, err
	}
	if !p.page.none() {
		goes("of the page: their list of %s, %s with the devices that are notified, and what the provider said of them", command.Count(len(p.page.Chats), "chat", "chats"), command.Count(len(p.page.Sessions), "session", "sessions"))
	}
	for _, l := range r.naming(set) {
		stays("setting %s: change it", l)
	}
	lines, err := r.configured()
	for _, l := range lines {
		stays("configuration %s: change it", l)
	}
	return p, err
}

// erase deletes what a plan has: first on record, then open questions, then chats.
func (r *run) erase(ctx context.Context, p plan) error {
	e, err := parts.StillEngine(r.config, r.store, nil, r.log)
	if err != nil {
		return err
	}
	var names []string
	for _, id := range p.chats {
		names = append(names, id.String())
	}
	_, err = e.Change(ctx, r.Operator(), "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return append(slices.Clone(p.remembered), permission.Erased{Chats: names}), nil
	})
	if err != nil {
		return err
	}
	var failed error
	for _, id := range p.asking {
		if _, err := r.stop(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("chat %s: %w", id, err))
		}
	}
	for _, id := range p.chats {
		if err := r.eraseChat(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("chat %s: %w", id, err))
		}
	}
	if !p.page.none() {
		failed = errors.Join(failed, r.store.EndSessions(ctx, false, p.page.hashes...), r.store.Unshelve(ctx, r.shelf()))
	}
	return failed
}

const (
	atWork   = 30 * time.Second // for how long a turn is waited for that was stopped
	lookWork = 200 * time.Millisecond
)

var errJoined = errors.New("somebody else has joined it")

// eraseChat deletes a chat that is the person's alone, once nobody is at work on it.
func (r *run) eraseChat(ctx context.Context, id chat.ID) error {
	ctx, cancel := context.WithTimeout(ctx, atWork)
	defer cancel()
	tick := time.NewTicker(lookWork)
	defer tick.Stop()
	for {
		open, err := r.stop(ctx, id)
		if err != nil {
			return err
		}
		if open {
			err = state.ErrBusy
		} else if of, head, readErr := r.read(ctx, id); readErr != nil {
			return readErr
		} else if c, _, _ := of.Chat(time.Now()); !c.Alone {
			return errJoined
		} else if err = r.store.Unshelve(ctx, "chat:"+id.Key); err == nil { // first, for nobody finds it by what is gone; a chat with a log needs it no more
			err = r.store.Erase(ctx, id, head.Seq)
		}
		if !errors.Is(err, state.ErrBusy) && !errors.Is(err, agent.ErrStale) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// stop ends the turn that is open in a chat, if it is the person's, and reports whether a bot is still at it. A bot shows on the card that it is over.
func (r *run) stop(ctx context.Context, id chat.ID) (open bool, err error) {
	for {
		snap, tail, head, err := r.store.Load(ctx, id)
		if err != nil {
			return false, err
		}
		if snap.Head.Seq == 0 {
			snap.Session = turn.New(id)
		}
		s := turn.Fold(snap.Session, tail)
		if s.Turn == nil || s.Turn.Requester != r.who {
			return false, nil
		}
		if s.Turn.Stopped != nil {
			return r.store.Driven(ctx)
		}
		by := r.Operator()
		_, err = r.store.Append(ctx, agent.Write{Chat: id, Known: head, Events: []agent.Keyed{
			{Op: agent.OpID("cli:" + string(s.Turn.ID)), Event: turn.StopAsked{Turn: s.Turn.ID, By: by.User, Name: by.Name}}}})
		if err != nil && !errors.Is(err, agent.ErrStale) {
			return false, err
		}
	}
}
