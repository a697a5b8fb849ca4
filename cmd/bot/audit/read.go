package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
)

const (
	tailRecords = 50
	followEvery = time.Second
)

// isOfOneLog reports whether an error says something of one chat's log and nothing of the others.
func isOfOneLog(err error) bool {
	return errors.Is(err, state.ErrBroken) || errors.Is(err, agent.ErrVersion)
}

// records gives the records of a chat after an entry, those that the filter takes, up to the first entry that does not hold.
func (a *auditor) records(ctx context.Context, id chat.ID, after uint64, take func(audit.Record) error) (agent.Head, error) {
	fold := audit.NewAuditor(id)
	return a.store.Walk(ctx, id, func(e turn.Entry, _ agent.Head) error {
		for _, r := range fold.Take(e) {
			if r.Seq <= after || !a.only.Match(r) {
				continue
			}
			if err := take(r); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

func (a *auditor) export(ctx context.Context) error {
	w := newRecordWriter(a.stdout, cmp.Or(a.format, "jsonl"))
	if _, err := a.chats(ctx, func(id chat.ID) error {
		_, err := a.records(ctx, id, 0, w.write)
		return err
	}); err != nil {
		return err
	}
	return w.end()
}

// tail prints the newest records, the newest last. It reads no chat that has been silent for longer than the oldest of them.
func (a *auditor) tail(ctx context.Context) error {
	stands, err := a.store.Stands(ctx)
	if err = a.told(err); err != nil {
		return err
	}
	most := cmp.Or(a.n, tailRecords)
	var newest []audit.Record
	for _, s := range stands {
		if len(newest) == most && s.At.Before(newest[0].At) {
			break
		}
		if a.only.Chat != "" && a.only.Chat != s.Chat.String() {
			continue
		}
		_, err := a.records(ctx, s.Chat, 0, func(r audit.Record) error {
			newest = append(newest, r)
			return nil
		})
		if err = a.told(err); err != nil {
			return err
		}
		inOrder(newest)
		newest = newest[max(0, len(newest)-most):]
	}
	w := newRecordWriter(a.stdout, cmp.Or(a.format, "text"))
	for _, r := range newest {
		if err := w.write(r); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil || !a.follow {
		return err
	}
	return a.goOn(ctx, stands, w)
}

// inOrder sorts by time; what has the same time keeps the order of its log.
func inOrder(records []audit.Record) {
	slices.SortStableFunc(records, func(x, y audit.Record) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Chat, y.Chat), cmp.Compare(x.Seq, y.Seq))
	})
}

// goOn prints what comes, until ctx ends. It asks again and again where the chats stand: signals may be lost, and a chat that is new
// sends none that anybody could wait for.
func (a *auditor) goOn(ctx context.Context, stands []state.Stand, w recordWriter) error {
	seen := map[chat.ID]uint64{}
	for _, s := range stands {
		seen[s.Chat] = s.Seq
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now, err := a.store.Stands(ctx)
		if err != nil && !isOfOneLog(err) {
			return err
		}
		var fresh []audit.Record
		for _, s := range now {
			switch was := seen[s.Chat]; {
			case s.Seq == was, a.only.Chat != "" && a.only.Chat != s.Chat.String():
				continue
			case s.Seq < was:
				fmt.Fprintf(a.findings, "broken: chat %s: it stood at entry %d and now stands at %d\n", s.Chat, was, s.Seq)
				a.broken++
				seen[s.Chat] = s.Seq
				continue
			}
			head, err := a.records(ctx, s.Chat, seen[s.Chat], func(r audit.Record) error {
				fresh = append(fresh, r)
				return nil
			})
			seen[s.Chat] = max(s.Seq, head.Seq) // what is broken is told once
			if err = a.told(err); err != nil {
				return err
			}
		}
		inOrder(fresh)
		for _, r := range fresh {
			if err := w.write(r); err != nil {
				return err
			}
		}
		if err := w.end(); err != nil {
			return err
		}
	}
}
