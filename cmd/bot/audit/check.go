package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// readAnchors reads an anchor file, by chat. One that is not there is empty if mayLack.
func readAnchors(path string, mayLack bool) (map[string][]state.Anchor, error) {
	out := map[string][]state.Anchor{}
	if path == "" {
		return out, nil
	}
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if mayLack && errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := state.ReadAnchors(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, a := range list {
		out[a.Chat] = append(out[a.Chat], a)
	}
	return out, nil
}

// compare takes all chats with what was anchored of each, and then those that were anchored and are gone. An anchor is left out where what it saw was
// deleted since, on record, or was silent for longer than logs are kept, before the chat began as it stands now. It gives how many chats there are.
func (a *auditor) compare(
	ctx context.Context, with map[string][]state.Anchor, take func(chat.ID, []state.Anchor) error, gone func(name string, left []state.Anchor, erased bool) error,
) (n int, err error) {
	erased, err := a.erased(ctx)
	if err != nil {
		return 0, err
	}
	now, seen := time.Now(), map[string]bool{}
	left := func(name string, until time.Time) []state.Anchor {
		keep := a.keep
		if name == agent.SettingsChat.String() { // it never fades
			keep = -1
		}
		return slices.DeleteFunc(slices.Clone(with[name]), func(x state.Anchor) bool {
			return x.Expired(keep, until) || slices.ContainsFunc(erased[name], func(at time.Time) bool { return at.After(x.Last) && !at.After(until) })
		})
	}
	n, err = a.chats(ctx, func(id chat.ID) error {
		name, began := id.String(), time.Time{}
		if seen[name] = true; len(with[name]) > 0 {
			_, _ = a.store.Walk(ctx, id, func(e turn.Entry, _ agent.Head) error { // what is wrong there, take finds
				began = e.At
				return io.EOF
			})
		}
		if began.After(now) { // a clock that is ahead explains nothing more
			began = now
		}
		return take(id, left(name, began))
	})
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if err == nil && !seen[name] {
			err = gone(name, left(name, now), len(erased[name]) > 0)
		}
	}
	return n, err
}

func (a *auditor) verify(ctx context.Context) error {
	anchors, err := readAnchors(a.anchors, false)
	if err != nil {
		return fmt.Errorf("-anchors: %w", err)
	}
	entries, checked, expired, deleted := 0, 0, 0, 0
	check := func(id chat.ID, anchors []state.Anchor) error {
		head, err := a.store.Verify(ctx, id, anchors...)
		if err == nil {
			checked += len(anchors)
		}
		entries += int(head.Seq) //nolint:gosec // a count
		return err
	}
	chats, err := a.compare(ctx, anchors, check, func(name string, left []state.Anchor, erased bool) error {
		id, err := chat.ParseID(name)
		switch {
		case err != nil:
			return fmt.Errorf("-anchors: %q is no chat: %w", name, err)
		case len(left) > 0:
			return a.report(check(id, left))
		case erased:
			deleted++
		default:
			expired++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.broken > 0 {
		fmt.Fprintf(a.Stdout, "broken: %s; %s looked at, %s hold\n", text.Count(a.broken, "log"), text.Count(chats, "chat"), command.Count(entries, "entry", "entries"))
		return nil
	}
	say := fmt.Sprintf("ok: %s, %s", text.Count(chats, "chat"), command.Count(entries, "entry", "entries"))
	if a.anchors != "" {
		say += ", " + text.Count(checked, "anchor")
	}
	if expired > 0 {
		say += fmt.Sprintf("; %s gone since, silent for longer than logs are kept", text.Count(expired, "anchored chat"))
	}
	if deleted > 0 {
		say += fmt.Sprintf("; %s deleted since, on record", text.Count(deleted, "anchored chat"))
	}
	fmt.Fprintln(a.Stdout, say)
	if a.keyless != "" {
		fmt.Fprintf(a.Stdout, "not looked at: signatures; there is no key at %s, and audit.key (NOD_AUDIT_KEY) names the bot's own\n", a.keyless)
	}
	fmt.Fprintln(a.Stdout, "not to be found so: a chat that was deleted as a whole, the end of a log cut off by who had kept what its head was signed with there, what was done with the key itself; anchors find the first two (nod audit anchor)")
	return nil
}

// erased are the chats that went with what was kept of a person, and when: the settings' log says so, as far as it holds.
func (a *auditor) erased(ctx context.Context) (map[string][]time.Time, error) {
	out := map[string][]time.Time{}
	_, err := a.store.Walk(ctx, agent.SettingsChat, func(e turn.Entry, _ agent.Head) error {
		ev, _ := e.Event.(turn.Changed)
		for _, c := range ev.Changes {
			if c, ok := c.(permission.Erased); ok {
				for _, name := range c.Chats {
					out[name] = append(out[name], e.At)
				}
			}
		}
		return nil
	})
	if isOfOneLog(err) { // the walk over all chats names it
		err = nil
	}
	return out, err
}

// anchor prints where every log stands. A log that does not hold, or does not go through what stands in the file already, gets no new
// anchor: that would make what was done to it look right.
func (a *auditor) anchor(ctx context.Context) error {
	known, err := readAnchors(a.out, true)
	if err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	var lines []byte
	fresh, same := 0, 0
	if _, err := a.compare(ctx, known, func(id chat.ID, anchors []state.Anchor) error {
		x, err := a.store.Anchor(ctx, id, anchors, time.Now())
		if x.Seq == 0 { // nothing is kept, or it does not hold
			return err
		}
		if slices.ContainsFunc(anchors, func(k state.Anchor) bool { return k.Seq == x.Seq }) {
			same++
			return nil
		}
		b, err := json.Marshal(x)
		fresh++
		lines = append(append(lines, b...), '\n')
		return err
	}, func(name string, left []state.Anchor, _ bool) error {
		if len(left) > 0 {
			a.broken++
			fmt.Fprintf(a.findings, "broken: chat %s: it was anchored, and nothing of it is kept\n", name)
		}
		return nil
	}); err != nil {
		return err
	}
	if a.out == "" {
		_, err := a.Stdout.Write(lines)
		return err
	}
	if err := appendFile(a.out, lines); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	fmt.Fprintf(a.Stderr, "audit: %s written to %s, %s not moved since\n", text.Count(fresh, "anchor"), a.out, text.Count(same, "chat"))
	return nil
}

// appendFile appends, and returns when it is on disk.
func appendFile(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	d, _ := os.Open(filepath.Dir(path)) // where a file that is new has its name; not every file system can say that it is on disk
	_, _ = d.Sync(), d.Close()
	return err
}
