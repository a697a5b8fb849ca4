package state

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// The shelf is what the web surface keeps beside its sessions: which chats a person has.

// ChatEntry is one chat on a person's list.
type ChatEntry struct {
	Key   string
	Title string
	At    time.Time
}

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
func (s *Store) Chats(ctx context.Context, userKey string) ([]ChatEntry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	f, err := read(ctx, func() (map[string]string, error) { return s.rdb.HGetAll(ctx, shelfKey(userKey)).Result() })
	if err != nil {
		return nil, err
	}
	var out []ChatEntry
	for k, v := range f {
		if key, ok := strings.CutPrefix(k, "a:"); ok {
			ms, _ := strconv.ParseInt(v, 10, 64)
			out = append(out, ChatEntry{Key: key, Title: f["t:"+key], At: time.UnixMilli(ms).UTC()})
		}
	}
	slices.SortFunc(out, func(a, b ChatEntry) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

func (s *Store) put(ctx context.Context, key string, fields ...string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write(ctx, call{script: putScript, keys: []string{key}, args: fields})
	return err
}

func (s *Store) take(ctx context.Context, key string, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write(ctx, call{script: takeScript, keys: []string{key}, args: fields})
	return err
}

// PublishLive sends text that is still streaming to whoever shows the chat, on whatever replica. It is not
// stored, and may be lost.
func (s *Store) PublishLive(ctx context.Context, id chat.ID, frame []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return s.rdb.Publish(ctx, liveChannel(id), frame).Err()
}

// Live delivers what PublishLive sends from now on. A reader that is slow loses the oldest frames. The channel
// is closed when ctx ends.
func (s *Store) Live(ctx context.Context, id chat.ID) (<-chan []byte, error) {
	out := make(chan []byte, 64)
	err := s.hub.listen(ctx, liveChannel(id), listener{
		take: func(msg string) {
			for {
				select {
				case out <- []byte(msg):
					return
				default:
				}
				select {
				case <-out:
				default:
				}
			}
		},
		end: func() { close(out) },
	})
	return out, err
}
