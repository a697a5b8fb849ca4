package state

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

var _ agent.Retainer = (*Store)(nil)

// Why [Store.Erase] leaves a chat as it is.
var (
	ErrKept = errors.New("there is a hold on it")
	ErrBusy = errors.New("a replica is at work on it")
)

// Retain implements [agent.Retainer].
func (s *Store) Retain(ctx context.Context, id chat.ID, on bool) error {
	_, err := s.write(ctx, retainScript.on(allOf(id), flag(on), id.String(), millis(s.retentionOf(id)), millis(s.filesOf(id))))
	return err
}

// Erase deletes all of a chat that was read up to seq. [agent.ErrStale] says that there is more by now. The ids of its asks go from the index with
// those of the chats that fade.
func (s *Store) Erase(ctx context.Context, id chat.ID, seq uint64) error {
	res, err := s.write(ctx, eraseScript.on(allOf(id), id.String(), utoa(seq)))
	if err != nil {
		return err
	}
	switch text(res) {
	case "gone":
		return nil
	case "kept":
		return ErrKept
	case "busy":
		return ErrBusy
	case "moved":
		return agent.ErrStale
	}
	return unexpected("erase", res)
}

// allOf are a chat's own keys, and the bucket's due set.
func allOf(id chat.ID) []string {
	k, b := keysOf(id), blobsOf(id)
	return []string{k.head, k.log, k.snap, b.data, b.order, k.due}
}

// Unshelve drops all that the web surface keeps of a person beside sessions, or of a chat.
func (s *Store) Unshelve(ctx context.Context, userKey string) error {
	f, err := s.fields(ctx, shelfKey(userKey))
	if err != nil {
		return err
	}
	return s.take(ctx, shelfKey(userKey), slices.Collect(maps.Keys(f))...)
}

// Driven reports whether a bot runs on this store, besides whoever asks.
func (s *Store) Driven(ctx context.Context) (bool, error) {
	now, err := s.redisTime(ctx)
	if err != nil || s.disk != nil {
		return false, err
	}
	alive, err := read(ctx, func(ctx context.Context) (int64, error) {
		return s.rdb.ZCount(ctx, runReplicas, strconv.FormatInt(now, 10), "+inf").Result()
	})
	return alive > 0, err
}

var (
	retainScript = load("retain")
	eraseScript  = load("erase")
)
