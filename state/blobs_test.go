package state

import (
	"bytes"
	"testing"
	"time"
)

func TestBlobs(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *Store{
		"embedded": func(t *testing.T) *Store { return openEmbedded(t, t.TempDir(), Options{}) },
		"redis":    func(t *testing.T) *Store { s, _ := mini(t, Options{}); return s },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t)
			var keys []string
			const many = 9 // of 4 MB: one more than there is room for
			for i := range many {
				key, err := s.PutBlob(ctx, room, bytes.Repeat([]byte{byte(i)}, blobsMost/8))
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
			}
			if again, err := s.PutBlob(ctx, room, bytes.Repeat([]byte{many - 1}, blobsMost/8)); err != nil || again != keys[many-1] {
				t.Errorf("the same bytes have another key: %s, %v", again, err)
			}
			for i, key := range keys {
				data, err := s.Blob(ctx, room, key)
				if err != nil || (data == nil) != (i == 0) {
					t.Errorf("%d: %d bytes, %v; the oldest alone had to go", i, len(data), err)
				}
			}
			for _, key := range []string{"size", "", keys[1] + "x"} {
				if data, err := s.Blob(ctx, room, key); data != nil || err != nil {
					t.Errorf("%q gives %d bytes, %v", key, len(data), err)
				}
			}
		})
	}
}

func TestBlobsExpire(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for o, want := range map[[2]time.Duration]time.Duration{{time.Hour, 0}: time.Hour, {-1, 0}: month, {}: month, {-1, time.Minute}: time.Minute, {time.Hour, 2 * time.Hour}: time.Hour} {
		s, m := mini(t, Options{Keep: o[0], Files: o[1]})
		if _, err := s.PutBlob(t.Context(), room, []byte("x")); err != nil {
			t.Fatal(err)
		}
		k := blobsOf(room)
		if m.TTL(k.data) != want || m.TTL(k.order) != want {
			t.Errorf("keep and files %v: %v and %v, want %v", o, m.TTL(k.data), m.TTL(k.order), want)
		}
	}
}
