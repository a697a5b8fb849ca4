package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/state/packed"
)

// relay stands between the replicas and Redis, and tells each round trip: what a client sent at once.
type relay struct {
	net.Listener
	server string // the socket of the server

	mu      sync.Mutex
	since   time.Time         // zero: nothing is told
	scripts map[string]string // by digest: the name that stands in the first line of each
	trips   []trip
	conns   []net.Conn
	done    sync.WaitGroup
}

// trip is one: when, and what for.
type trip struct {
	at   time.Duration
	says []string
}

func newRelay(socket, server string) (*relay, error) {
	l, err := net.Listen("unix", socket) //nolint:noctx // it ends with the world
	if err != nil {
		return nil, err
	}
	r := &relay{Listener: l, server: server, scripts: map[string]string{}}
	r.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.done.Go(func() { r.pass(c) })
		}
	})
	return r, nil
}

func (r *relay) close() {
	_ = r.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.done.Wait()
}

func (r *relay) pass(client net.Conn) {
	server, err := net.Dial("unix", r.server) //nolint:noctx // it ends with the world
	if err != nil {
		_ = client.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, client, server)
	r.mu.Unlock()
	r.done.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer server.Close() //nolint:errcheck // a test's connection
	in := bufio.NewReaderSize(client, 1<<20)
	for {
		says, raw, err := r.sent(in)
		if err != nil {
			return
		}
		for in.Buffered() > 0 { // the rest of a pipeline, which came at once
			more, b, err := r.sent(in)
			if err != nil {
				return
			}
			says, raw = append(says, more...), append(raw, b...)
		}
		r.mu.Lock()
		if !r.since.IsZero() {
			r.trips = append(r.trips, trip{time.Since(r.since), says})
		}
		r.mu.Unlock()
		if _, err := server.Write(raw); err != nil {
			return
		}
	}
}

// sent reads one command.
func (r *relay) sent(in *bufio.Reader) (says []string, raw []byte, err error) {
	number := func(kind byte) (int, error) {
		line, err := in.ReadBytes('\n')
		if err != nil || line[0] != kind {
			return 0, fmt.Errorf("no command: %w", err)
		}
		raw = append(raw, line...)
		return strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	}
	n, err := number('*')
	if err != nil {
		return nil, nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number('$')
		if err != nil {
			return nil, nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, nil, err
		}
		raw, args[i] = append(raw, b...), string(b[:size])
	}
	return []string{r.told(args)}, raw, nil
}

var kinds = regexp.MustCompile(`^\{(?:"v":\d+,)?"k":"(\w+)"`)

// told says what a command is for.
func (r *relay) told(args []string) string {
	switch name := strings.ToLower(args[0]); name {
	case "eval", "evalsha":
		digest := args[1]
		if name == "eval" {
			h := sha1.Sum([]byte(args[1])) //nolint:gosec // see the import
			digest = hex.EncodeToString(h[:])
			first, _, _ := strings.Cut(strings.TrimPrefix(args[1], "-- "), ":")
			r.mu.Lock()
			r.scripts[digest] = first
			r.mu.Unlock()
		}
		r.mu.Lock()
		name = r.scripts[digest]
		r.mu.Unlock()
		n, _ := strconv.Atoi(args[2])
		keys, args := args[3:3+n], args[3+n:]
		switch name {
		case "append":
			return r.toldAppend(keys, args)
		case "spend":
			_, pool, _ := strings.Cut(keys[0], "{pool:")
			pool, _, _ = strings.Cut(pool, "}")
			return fmt.Sprintf("spend %s, %s", pool, []string{"progress", "final", "decision"}[args[2][0]-'0'])
		}
		return name
	default:
		if len(args) > 1 {
			name += " " + args[1]
		}
		return name
	}
}

func (r *relay) toldAppend(keys, args []string) string {
	var says []string
	for i, a := range args {
		if i < 2 || !strings.HasPrefix(a, `{"`) {
			continue
		}
		b, _ := packed.Unpack(args[i-2]+" "+args[16], []byte(a)) // behind its operation and its link; what is none stays as it is
		if m := kinds.FindSubmatch(b); m != nil {
			says = append(says, string(m[1]))
		}
	}
	if args[9] != "" {
		says = append(says, "claim")
	}
	if args[10] != "0" {
		says = append(says, "release")
	}
	where := "append "
	if strings.Contains(keys[0], "settings") {
		where = "settings: append "
	}
	return where + strings.Join(says, " + ")
}

// idle are what a replica asks whether or not anything happens.
var idle = []string{"beat", "time", "zrange", "zrangebyscore", "ping"}

// list are the trips since restart, without what an idle replica asks.
func (r *relay) list() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.trips {
		first, _, _ := strings.Cut(t.says[0], " ")
		if slices.Contains(idle, first) {
			continue
		}
		says := slices.Compact(t.says)
		out = append(out, fmt.Sprintf("%5d ms  %s", t.at.Milliseconds(), strings.Join(says, "  |  ")))
	}
	return out
}

func (r *relay) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips, r.since = nil, time.Now()
}

// oneTurn lists every round trip of one approval turn in a quiet world, after another that loaded the scripts.
func oneTurn(ctx context.Context, b *bench, replicas int) (measured, error) {
	w, err := newWorld(ctx, newPen(firstToken, 10*time.Millisecond, 5, true), replicas)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var list []string
	for i := range 2 {
		if err := sleep(ctx, 3*time.Second); err != nil { // what the last one left is over
			return nil, err
		}
		w.relay.restart()
		r := w.ask(i)
		ts, err := r.button(ctx, allowOnce)
		if err != nil {
			return nil, err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
		if _, err := r.allow(ctx, ts); err != nil {
			return nil, err
		}
		if err := r.final(ctx); err != nil {
			return nil, err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
		list = w.relay.list()
	}
	b.say("P12, %d replica(s), every round trip of one turn:\n  %s", replicas, strings.Join(list, "\n  "))
	return measured{"P12": fmt.Sprintf("%d in one turn alone", len(list))}, nil
}
