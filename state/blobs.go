package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/chat"
)

// Blobs are what people attached and pictures: they stand beside the log, which names them by the digest of their bytes: the audit needs none of them, and they are large.

const blobsMost = 32 << 20 // bytes of one chat's; the oldest go first

var _ attach.Blobs = (*Store)(nil)

// PutBlob implements [attach.Blobs]: as long as the log at most.
func (s *Store) PutBlob(ctx context.Context, id chat.ID, data []byte) (key string, err error) {
	sum := sha256.Sum256(data)
	key = hex.EncodeToString(sum[:])
	k := blobsOf(id)
	_, err = s.write(ctx, keepScript.on([]string{k.data, k.order, keysOf(id).head}, key, string(data), strconv.Itoa(blobsMost), millis(s.filesOf(id))))
	return key, err
}

// filesOf is how long a chat's blobs stay.
func (s *Store) filesOf(id chat.ID) time.Duration {
	if keep := s.retentionOf(id); keep > 0 {
		return min(s.opt.Files, keep)
	}
	return s.opt.Files
}

// Blob implements [attach.Blobs].
func (s *Store) Blob(ctx context.Context, id chat.ID, key string) ([]byte, error) {
	if len(key) != hex.EncodedLen(sha256.Size) {
		return nil, nil
	}
	if s.disk != nil {
		s.disk.Tick() // its clock moves only when somebody looks
	}
	data, err := read(ctx, func(ctx context.Context) ([]byte, error) { return s.rdb.HGet(ctx, blobsOf(id).data, key).Bytes() })
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return data, err
}
