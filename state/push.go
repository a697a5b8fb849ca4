package state

import (
	"context"
	"errors"
)

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
	if _, err := s.write(ctx, seatScript.on([]string{pushKeys}, fresh, "1", "1")); err != nil {
		return "", err
	}
	f, err := s.fields(ctx, pushKeys)
	for key := range f {
		return key, err
	}
	return "", errors.Join(err, errors.New("the key for devices was not kept"))
}
