package state

import (
	"errors"
	"strings"
	"testing"
)

// A server that answers and takes no write is not ready, nor is one without the replicas that redis.durability names.
func TestReadyMeansThatWritesAreTaken(t *testing.T) {
	t.Parallel()
	url := startRedis(t)
	s := openStore(t, Options{URL: url})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := openStore(t, Options{URL: url, Durability: "replicas=1"}).Ping(t.Context()); !errors.Is(err, ErrNotConfirmed) {
		t.Errorf("without a replica: %v", err)
	}
	if err := s.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("it is ready while its memory is full")
	}
}

// A server that may never say that replicas have a write is refused with its own words, and not taken for one whose replicas are away.
func TestAServerThatCannotConfirmIsRefused(t *testing.T) {
	t.Parallel()
	url := startRedis(t, "--rename-command", "WAIT", "")
	if _, err := Open(t.Context(), Options{URL: url, Durability: "replicas=1", Log: discard}); err == nil || !strings.Contains(err.Error(), "redis.durability: replicas=1 needs WAIT") {
		t.Errorf("error %v", err)
	}
}
