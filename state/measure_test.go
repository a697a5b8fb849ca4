package state

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// counted counts what goes over a client's connections.
type counted struct {
	net.Conn
	n, trips *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	c.trips.Add(1)
	c.n.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// ask writes one turn up to its open ask, as the engine does: three round trips.
func ask(ctx context.Context, s *Store, id chat.ID, n int) error {
	user := chat.User{Platform: "slack", Workspace: "T0123ABCD", Key: "U0123ABCD"}
	op := func(s string) agent.OpID { return agent.OpID(fmt.Sprintf("%s:%d", s, n)) }
	w, err := s.Append(ctx, agent.Write{Chat: id, Claim: "host-1/abcdef", Events: []agent.Keyed{{Op: op("slack:Ev0123ABCD"), Event: turn.Said{
		Delivery: "slack:Ev0123ABCD", By: user, Name: "Ana", Text: "please write hello to notes.txt",
	}}}})
	if err != nil {
		return err
	}
	lease := w.Lease
	w, err = s.Append(ctx, agent.Write{Chat: id, Known: w.Head, Lease: lease, Events: []agent.Keyed{{Op: op("w:shown"), Event: turn.Shown{Turn: "t1", Message: "1712345678.000100"}}}})
	if err != nil {
		return err
	}
	args := []byte(`{"path":"notes.txt","text":"hello"}`)
	_, err = s.Append(ctx, agent.Write{Chat: id, Known: w.Head, Lease: lease, Release: true, Wake: time.Now().Add(time.Hour), Events: []agent.Keyed{
		{Op: op("w:replied"), Event: turn.Replied{Turn: "t1", Model: "gpt", Calls: []turn.Proposal{{
			ID: turn.CallID(fmt.Sprintf("call_%d_%s", n, id.Key)), Tool: permission.Tool{Server: "workbench", Name: "write_file"}, Args: args,
		}}}},
		{Op: op("w:ruled"), Event: turn.Ruled{
			Call: turn.CallID(fmt.Sprintf("call_%d_%s", n, id.Key)), Ask: turn.AskID(fmt.Sprintf("ask_%d_%s", n, id.Key)),
			Ruling: permission.Ruling{Verdict: permission.Ask, Reasons: []permission.Reason{{Rule: "default", Text: "tools ask by default", Won: true, Said: "ask"}}},
		}},
	}})
	return err
}

// BenchmarkAsk measures one turn up to its open ask: round trips and bytes of its three appends, and what the
// ask holds in Redis.
func BenchmarkAsk(b *testing.B) {
	url := startRedis(b)
	o, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	tune(o)
	var n, trips atomic.Int64
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return counted{c, &n, &trips}, err
	}
	opt, _ := Options{}.withDefaults()
	s := &Store{opt: opt, rdb: redis.NewClient(o)}
	s.w = &remote{rdb: s.rdb}
	defer s.rdb.Close() //nolint:errcheck // a test's client
	ctx := b.Context()
	id := func(i int) chat.ID {
		return chat.ID{Platform: "slack", Workspace: "T0123ABCD", Key: fmt.Sprintf("C0123ABCD:1712345678.%06d", i)}
	}
	for i := range 64 { // the first of everything is dearer
		if err := ask(ctx, s, id(1_000_000+i), 0); err != nil {
			b.Fatal(err)
		}
	}
	before, n0, t0 := used(b, s), n.Load(), trips.Load()
	count := 0
	for b.Loop() {
		if err := ask(ctx, s, id(count), 0); err != nil {
			b.Fatal(err)
		}
		count++
	}
	per := func(x int64) float64 { return float64(x) / float64(count) }
	b.ReportMetric(per(trips.Load()-t0), "trips/ask")
	b.ReportMetric(per(n.Load()-n0), "wire-B/ask")
	b.ReportMetric(per(used(b, s)-before), "held-B/ask")
}

// BenchmarkEmbeddedAppend is one message into the embedded store.
func BenchmarkEmbeddedAppend(b *testing.B) {
	s, err := OpenEmbedded(b.TempDir(), Options{Log: discard})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test's store
	count := 0
	for b.Loop() {
		if _, err := s.Append(b.Context(), agent.Write{Chat: room, Known: agent.Head{Seq: 1, Tip: "x"}, Events: []agent.Keyed{said(itoa(count))}}); err != nil {
			b.Fatal(err)
		}
		count++
	}
}

func used(b *testing.B, s *Store) int64 {
	b.Helper()
	info, err := s.rdb.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	line, _, _ := strings.Cut(rest, "\r")
	return int64(number(line)) //nolint:gosec // a size
}
