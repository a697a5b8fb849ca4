package state

import (
	"errors"
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
