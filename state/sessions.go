package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// A session is one sign-in of the web surface: bytes of that surface's own, under the hash of a key. The key itself is never stored.

// OpenSession keeps a new session, unless there are max of them.
func (s *Store) OpenSession(ctx context.Context, keyHash string, session []byte, max int) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	res, err := s.write(ctx, call{script: seatScript, keys: []string{sessions}, args: []string{keyHash, string(session), strconv.Itoa(max)}})
	return fmt.Sprint(res) == "1", err
}

// KeepSession stores what changed of a session. One that was ended meanwhile stays ended.
func (s *Store) KeepSession(ctx context.Context, keyHash string, session []byte) error {
	_, err := s.OpenSession(ctx, keyHash, session, 0)
	return err
}

// Session finds a session. One that an older version opened has the JSON fields user and name, and is kept like the others from now on.
func (s *Store) Session(ctx context.Context, keyHash string) ([]byte, bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	f, err := read(ctx, func() ([]any, error) { return s.rdb.HMGet(ctx, sessions, keyHash, endedOld).Result() })
	if err != nil || keyHash == endedOld {
		return nil, false, err
	}
	if stored, is := f[0].(string); is {
		return []byte(stored), true, nil
	}
	if f[1] != nil {
		return nil, false, nil
	}
	old, err := read(ctx, func() (map[string]string, error) { return s.rdb.HGetAll(ctx, oldSessionKey(keyHash)).Result() })
	if err != nil || old["user"] == "" {
		return nil, false, err
	}
	session, err := json.Marshal(map[string]string{"user": old["user"], "name": old["name"]})
	if err != nil {
		return nil, false, fmt.Errorf("session: %w", err)
	}
	if _, err := s.OpenSession(ctx, keyHash, session, 1<<30); err != nil {
		return nil, false, err
	}
	return session, true, s.take(ctx, oldSessionKey(keyHash), "user", "name")
}

// Sessions are all of them by their keys' hashes, but for those of older versions that were not used since.
func (s *Store) Sessions(ctx context.Context) (map[string][]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	f, err := read(ctx, func() (map[string]string, error) { return s.rdb.HGetAll(ctx, sessions).Result() })
	if err != nil {
		return nil, err
	}
	delete(f, endedOld)
	out := make(map[string][]byte, len(f))
	for hash, stored := range f {
		out[hash] = []byte(stored)
	}
	return out, nil
}

// EndSessions ends some, and where old is true those of older versions that were not used since.
func (s *Store) EndSessions(ctx context.Context, old bool, keyHashes ...string) error {
	if old {
		if err := s.put(ctx, sessions, endedOld, "1"); err != nil {
			return err
		}
	}
	return s.take(ctx, sessions, keyHashes...)
}
