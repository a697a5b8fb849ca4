package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/chat"
)

// The shelf is what the web surface keeps beside its sessions: which chats a person has, which groups, and which sign-ins were used.

// PutChat puts a chat on a person's list, or moves it. An empty title keeps the one there is.
func (s *Store) PutChat(ctx context.Context, userKey, chatKey, title string, at time.Time) error {
	fields := []string{"a:" + chatKey, strconv.FormatInt(at.UnixMilli(), 10)}
	if title != "" {
		fields = append(fields, "t:"+chatKey, title)
	}
	return s.put(ctx, shelfKey(userKey), fields...)
}

// DropChats takes chats off a person's list. The chats themselves stay.
func (s *Store) DropChats(ctx context.Context, userKey string, chatKeys ...string) error {
	var fields []string
	for _, k := range chatKeys {
		fields = append(fields, "a:"+k, "t:"+k)
	}
	return s.take(ctx, shelfKey(userKey), fields...)
}

// Chats is a person's list, the latest first.
func (s *Store) Chats(ctx context.Context, userKey string) ([]chat.Listed, error) {
	f, err := s.fields(ctx, shelfKey(userKey))
	if err != nil {
		return nil, err
	}
	var out []chat.Listed
	for k, v := range f {
		if key, ok := strings.CutPrefix(k, "a:"); ok {
			ms, _ := strconv.ParseInt(v, 10, 64)
			out = append(out, chat.Listed{Key: key, Title: f["t:"+key], At: time.UnixMilli(ms).UTC()})
		}
	}
	slices.SortFunc(out, func(a, b chat.Listed) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

// PutPerson keeps what the web surface knows of a person: bytes of its own, in place of those before.
func (s *Store) PutPerson(ctx context.Context, userKey string, person []byte) error {
	return s.put(ctx, shelfKey(userKey), "person", string(person))
}

// Person is what was kept of them; nil is nothing.
func (s *Store) Person(ctx context.Context, userKey string) ([]byte, error) {
	return read(ctx, func(ctx context.Context) ([]byte, error) {
		b, err := s.rdb.HGet(ctx, shelfKey(userKey), "person").Bytes()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return b, err
	})
}

// Once reports whether nobody used a name within d, on any replica, and uses it.
func (s *Store) Once(ctx context.Context, name string, d time.Duration) (bool, error) {
	res, err := s.write(ctx, onceScript.on([]string{onceKey(name)}, rand.Text(), millis(d)))
	return text(res) == "1", err
}

func (s *Store) put(ctx context.Context, key string, fields ...string) error {
	_, err := s.write(ctx, putScript.on([]string{key}, fields...))
	return err
}

func (s *Store) take(ctx context.Context, key string, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	_, err := s.write(ctx, takeScript.on([]string{key}, fields...))
	return err
}

// fields are all of one hash.
func (s *Store) fields(ctx context.Context, key string) (map[string]string, error) {
	return read(ctx, func(ctx context.Context) (map[string]string, error) { return s.rdb.HGetAll(ctx, key).Result() })
}

// PublishLive sends text that is still streaming to whoever shows the chat, on whatever replica. It may be lost.
func (s *Store) PublishLive(ctx context.Context, id chat.ID, frame []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.rdb.Publish(ctx, liveChannel(id), frame).Err()
}

// Live delivers what PublishLive sends from now on, until ctx ends. A reader that is slow loses the oldest frames.
func (s *Store) Live(ctx context.Context, id chat.ID) (<-chan []byte, error) {
	return listen(ctx, s.hub, liveChannel(id), 64, func(msg string, lost bool) ([]byte, bool) { return []byte(msg), !lost })
}

// A session is one sign-in of the web surface: bytes of that surface's own, under the hash of a key. The key itself is never stored.

// OpenSession keeps a new session, unless there are max of them. One that is there stays as it is: a copy of this write may come late.
func (s *Store) OpenSession(ctx context.Context, keyHash string, session []byte, max int) (bool, error) {
	res, err := s.write(ctx, seatScript.on([]string{sessions}, keyHash, string(session), strconv.Itoa(max)))
	return text(res) == "1", err
}

// KeepSession stores what changed of a session. One that was ended meanwhile stays ended.
func (s *Store) KeepSession(ctx context.Context, keyHash string, session []byte) error {
	_, err := s.OpenSession(ctx, keyHash, session, 0)
	return err
}

// Session finds a session. One that an older version opened has the JSON fields user and name, and is kept like the others from now on.
func (s *Store) Session(ctx context.Context, keyHash string) ([]byte, bool, error) {
	f, err := read(ctx, func(ctx context.Context) ([]any, error) {
		return s.rdb.HMGet(ctx, sessions, keyHash, endedOld).Result()
	})
	if err != nil || keyHash == endedOld {
		return nil, false, err
	}
	if stored, is := f[0].(string); is {
		return []byte(stored), true, nil
	}
	if f[1] != nil {
		return nil, false, nil
	}
	old, err := s.fields(ctx, oldSessionKey(keyHash))
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
	f, err := s.fields(ctx, sessions)
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

// EndSessions ends some, with the devices of theirs that are notified, and where old is true those of older versions that were not used since.
func (s *Store) EndSessions(ctx context.Context, old bool, keyHashes ...string) error {
	if old {
		if err := s.put(ctx, sessions, endedOld, "1"); err != nil {
			return err
		}
	}
	if err := s.take(ctx, sessions, keyHashes...); err != nil {
		return err
	}
	return s.take(ctx, pushes, keyHashes...)
}

// An installation is what a surface may know of a workspace that let the bot in: bytes of that surface's own, sealed by it, for as long as
// the bot is there.

// Installs are all of them, by workspace.
func (s *Store) Installs(ctx context.Context) (map[string]string, error) {
	return s.fields(ctx, installs)
}

// Install keeps one, in place of the one before.
func (s *Store) Install(ctx context.Context, workspace, sealed string) error {
	return s.put(ctx, installs, workspace, sealed)
}

// Reinstall replaces one, or with an empty text forgets it, unless it is another than the one that was read.
func (s *Store) Reinstall(ctx context.Context, workspace, was, sealed string) error {
	_, err := s.write(ctx, swapScript.on([]string{installs}, workspace, was, sealed))
	return err
}

var swapScript = load("swap")

// A device is where a browser is notified while no page is open: bytes of the web surface's own, under the session that its person has there.

// PutPush keeps a session's device, in place of the one before.
func (s *Store) PutPush(ctx context.Context, keyHash string, device []byte) error {
	return s.put(ctx, pushes, keyHash, string(device))
}

// DropPush forgets a session's device, unless it is another than was read.
func (s *Store) DropPush(ctx context.Context, keyHash string, was []byte) error {
	_, err := s.write(ctx, swapScript.on([]string{pushes}, keyHash, string(was), ""))
	return err
}

// Pushes are all devices by the hashes of their sessions' keys. A session that ran out may still have one.
func (s *Store) Pushes(ctx context.Context) (map[string][]byte, error) {
	f, err := s.fields(ctx, pushes)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(f))
	for hash, device := range f {
		out[hash] = []byte(device)
	}
	return out, nil
}

// PushKey is the key that signs what is sent to devices, the same on every replica: what is kept, or fresh where nothing was.
func (s *Store) PushKey(ctx context.Context, fresh string) (string, error) {
	// The key is the field: the script takes one field and no second.
	_, wrote := s.write(ctx, seatScript.on([]string{pushKeys}, fresh, "1", "1"))
	f, err := s.fields(ctx, pushKeys)
	for key := range f {
		return key, nil
	}
	return "", errors.Join(wrote, err, errors.New("the key for devices was not kept"))
}
