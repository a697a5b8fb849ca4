package state

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
)

// Every process tells the same moment from which on the server is another one, also one that starts later; a server that goes on running
// has none. Where a start survives by the configured durability, the moment does not matter.
func TestAnotherServerIsNoticed(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	args := []string{"--bind", "127.0.0.1", "--port", "0", "--unixsocket", dir + "/s", "--save", "", "--appendonly", "yes"}
	url := "unix://" + dir + "/s"
	up := func() (down func()) {
		cmd := run(t, dir, args)
		await(t, url, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
		return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	}
	down := up()
	a := openStore(t, Options{URL: url})
	first := a.Restarted()
	if b := openStore(t, Options{URL: url}); first.IsZero() || !b.Restarted().Equal(first) {
		t.Fatalf("two processes say %v and %v", first, b.Restarted())
	}
	down()
	down = up()
	defer down()
	mustAppend(t, a, agent.Write{Events: []agent.Keyed{said("d1")}})
	after := a.Restarted()
	if !after.After(first) {
		t.Errorf("after a restart: %v, before it %v", after, first)
	}
	if b := openStore(t, Options{URL: url}); !b.Restarted().Equal(after) {
		t.Errorf("a process that starts later says %v, want %v", b.Restarted(), after)
	}
	if c := openStore(t, Options{URL: url, Durability: "replicas=1"}); !c.Restarted().IsZero() {
		t.Errorf("where starts survive: %v", c.Restarted())
	}
	if s, _ := mini(t, Options{}); !s.Restarted().IsZero() {
		t.Errorf("a server that does not tell: %v", s.Restarted())
	}
}
