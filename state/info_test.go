package state

import (
	"context"
	"testing"
)

func TestServerSaysHowItKeeps(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"yes": "1", "no": "0"} {
		s, err := Open(context.Background(), Options{URL: startRedis(t, "--appendonly", flag)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Server(t.Context())
		if err != nil || got["redis_version"] == "" || got["aof_enabled"] != want || got["role"] != "master" {
			t.Errorf("appendonly %s: %v, %v", flag, got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := OpenEmbedded(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Server(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("embedded: %v, %v", got, err)
	}
}
