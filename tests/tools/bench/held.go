package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// pending are questions that nobody answers: P10, what the program holds of them in memory, and P13, what Redis does.
func pending(ctx context.Context, b *bench, replicas int) (measured, error) {
	if replicas != 1 {
		return nil, nil // what is held does not depend on it
	}
	n, rest := 10_000, atRest
	if b.quick {
		n, rest = 500, settled
	}
	p, err := program(ctx, nod)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.asks(ctx, 100); err != nil { // the first of everything is dearer
		return nil, err
	}
	if err := sleep(ctx, settled); err != nil {
		return nil, err
	}
	before, err := p.holds(ctx)
	if err != nil {
		return nil, err
	}
	was, err := p.memory()
	if err != nil {
		return nil, err
	}
	if err := p.asks(ctx, n); err != nil {
		return nil, err
	}
	peak, err := p.memory()
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, rest); err != nil {
		return nil, err
	}
	after, err := p.holds(ctx)
	if err != nil {
		return nil, err
	}
	now, err := p.memory()
	if err != nil {
		return nil, err
	}
	b.say("P10: %s before; %s with the last of %d asks; %s idle", was, peak, n, now)
	for _, kind := range slices.Sorted(maps.Keys(after)) {
		b.say("P13: %6.1f bytes an ask: %s", float64(after[kind]-before[kind])/float64(n), kind)
	}
	return measured{"P10": fmt.Sprintf("%s (%d MB while they came, %d MB without)", now, peak.own, was.own), "P13": fmt.Sprintf("%d", (after[used]-before[used])/int64(n))}, nil
}

// settled is how long after a question the program has let go of what it does not need, and Redis of what it keeps for seconds.
const settled = 15 * time.Second

// atRest is how long it takes Go's runtime to collect what a process that does nothing left lying, which it does every two minutes, and to give it back.
const atRest = 170 * time.Second

// asks has n questions asked, each in a thread of its own, and returns once people can see all of them.
func (p *process) asks(ctx context.Context, n int) error {
	return p.asksTo(ctx, n, "please write hello to notes.txt")
}

func (p *process) asksTo(ctx context.Context, n int, what string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	const atOnce = 64
	start := p.slack.Count("chat.postMessage")
	for i := 0; ; {
		posted := p.slack.Count("chat.postMessage") - start
		if posted >= n {
			p.slack.Forget()
			return nil
		}
		for ; i < n && i-posted < atOnce; i++ {
			p.slack.Say(person, room(i), "", fmt.Sprintf("<@%s> %s", p.slack.BotUser(), what))
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d questions are shown: %w", posted, n, err)
		}
	}
}

// used is all that Redis holds.
const used = "all together, with what Redis itself adds"

// holds is what Redis holds, by what is in it.
func (p *process) holds(ctx context.Context) (map[string]int64, error) {
	all, err := p.info(ctx, "memory", "used_memory")
	if err != nil {
		return nil, err
	}
	out := map[string]int64{used: all}
	keys := p.stats.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		size, err := p.stats.Do(ctx, "MEMORY", "USAGE", keys.Val(), "SAMPLES", 0).Int64()
		if err != nil {
			continue // it has gone meanwhile
		}
		kind := strings.Split(keys.Val(), ":")
		out[strings.Join(slices.DeleteFunc(kind[1:min(len(kind), 3)], func(s string) bool { return strings.HasPrefix(s, "{") }), ":")] += size
	}
	return out, keys.Err()
}

// unhurried are approval turns in fifty chats, as fast as they go: P5 and P6, of nod and of the least that can be done.
func unhurried(ctx context.Context, b *bench, replicas int) (measured, error) {
	if replicas != 1 {
		return nil, nil
	}
	least, _, err := paced(ctx, b, floor)
	if err != nil {
		return nil, fmt.Errorf("the floor: %w", err)
	}
	busy, took, err := paced(ctx, b, nod)
	if err != nil {
		return nil, err
	}
	return measured{
		"P5": fmt.Sprintf("%.0f, %.2f of the floor's %.0f (%.0f/s by the clock)", 1/busy.Seconds(), part(least, busy), 1/least.Seconds(), 1/took.Seconds()),
		"P6": fmt.Sprintf("%.2f s, %.2f × the floor's %.2f s", busy.Seconds()*1000, part(busy, least), least.Seconds()*1000),
	}, nil
}

// paced is what one of those turns takes, of the processor and by the clock.
func paced(ctx context.Context, b *bench, source string) (busy, took time.Duration, err error) {
	chats, each := 50, 20
	if b.quick {
		each = 2
	}
	p, err := program(ctx, source)
	if err != nil {
		return 0, 0, err
	}
	defer p.close()
	threads := p.threads(chats)
	if err := inAll(ctx, threads, 1, nil); err != nil {
		return 0, 0, err
	}
	before, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := inAll(ctx, threads, each, nil); err != nil {
		return 0, 0, err
	}
	took = time.Since(start)
	after, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	n := time.Duration(chats * each)
	return (after - before) / n, took / n, nil
}

// threads are so many, each with somebody of its own: one person's answers wait for each other.
func (p *process) threads(n int) []*talk {
	all := make([]*talk, n)
	for i := range all {
		who := fmt.Sprintf("U%03d", i)
		p.slack.AddUser(fakeslack.User{ID: who, Name: "Person " + who[1:]})
		all[i] = &talk{p: p, who: who, channel: room(i)}
	}
	return all
}

// inAll has n turns in each thread, all threads at once, and looks at each with over, where there is one.
func inAll(ctx context.Context, threads []*talk, n int, over func(*talk)) error {
	var all sync.WaitGroup
	errs := make([]error, len(threads))
	for i, t := range threads {
		all.Go(func() {
			for range n {
				if errs[i] = t.turn(ctx); errs[i] != nil {
					return
				}
				if over != nil {
					over(t)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// talk is a thread in which somebody asks again and again.
type talk struct {
	p       *process
	who     string // whose it is; empty: of person
	channel string
	thread  string

	// Of the last turn: when it was asked and clicked, and its message.
	asked, clicked time.Time
	message        string
}

// turn is one: a question, a click, an answer.
func (t *talk) turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, who := t.p.slack, cmp.Or(t.who, person)
	t.asked = time.Now()
	ts := s.Say(who, t.channel, t.thread, fmt.Sprintf("<@%s> please write hello to notes.txt", s.BotUser()))
	if t.thread == "" {
		t.thread = ts
	}
	shows := func(is func(fakeslack.Message) bool) error {
		return s.Wait(ctx, func() bool {
			all := s.Messages(t.channel, t.thread)
			last := all[len(all)-1]
			t.message = last.TS
			return last.BotID != "" && is(last)
		})
	}
	if err := shows(func(m fakeslack.Message) bool { return has(m.Version, `"`+allowOnce+`"`) }); err != nil {
		return fmt.Errorf("no card: %w", err)
	}
	t.clicked = time.Now()
	if _, err := s.Click(who, t.channel, t.message, allowOnce); err != nil {
		return err
	}
	if err := shows(func(m fakeslack.Message) bool {
		return has(m.Version, strings.TrimSpace(token(answerTokens-1))) && !working(m.Version)
	}); err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	return nil
}

// growth are five hundred turns in one chat: what the last of them cost, by what the first did.
func growth(ctx context.Context, b *bench, replicas int) (measured, error) {
	if replicas != 1 {
		return nil, nil
	}
	const some = 32 // a snapshot is due after 256 entries
	late := 480
	if b.quick {
		late = 96
	}
	p, err := program(ctx, nod)
	if err != nil {
		return nil, err
	}
	defer p.close()
	idle, err := p.costs(ctx, func() error { return sleep(ctx, 10*time.Second) })
	if err != nil {
		return nil, err
	}
	t := &talk{p: p, channel: room(0)}
	var first cost
	got := measured{}
	for i := 1; i <= late+some; i += some {
		c, err := p.costs(ctx, func() error { return inAll(ctx, []*talk{t}, some, nil) })
		if err != nil {
			return nil, err
		}
		c.commands -= int64(float64(idle.commands) * c.took.Seconds() / idle.took.Seconds()) // a channel takes a post a second, so most of the time is idle
		c.bytes -= int64(float64(idle.bytes) * c.took.Seconds() / idle.took.Seconds())
		if i == 1+some { // the very first loads the scripts
			first = c
		}
		b.say("P22: turns %d to %d, each: %.1f commands, %.1f KB in and out, %.1f ms of processor, %.1f ms by the clock, %.1f KB more in Redis", i, i+some-1,
			float64(c.commands)/some, float64(c.bytes)/some/1000, float64(c.cpu.Milliseconds())/some, float64(c.took.Milliseconds())/some, float64(c.held)/some/1000)
		if i <= 100 && 100 < i+some {
			got["P11"] = fmt.Sprintf("%.1f KB", float64(c.bytes)/some/1000)
		}
		if i > late {
			got["P22"] = fmt.Sprintf("%.2f, %.2f, %.2f, %.2f (%.1f KB held a turn)", part(c.commands, first.commands), part(c.bytes, first.bytes), part(c.cpu, first.cpu), part(c.took, first.took), float64(c.held)/some/1000)
		}
	}
	return got, nil
}

func part[N int64 | time.Duration](a, of N) float64 { return float64(a) / float64(max(of, 1)) }

// cost is what something took.
type cost struct {
	commands, bytes, held int64
	sent                  int64 // of the bytes, those to Redis
	cpu, took             time.Duration
}

func (p *process) costs(ctx context.Context, do func() error) (c cost, err error) {
	now := func() (c cost, err error) {
		var in, out int64
		var errs [5]error
		c.commands, errs[0] = p.info(ctx, "stats", "total_commands_processed")
		in, errs[1] = p.info(ctx, "stats", "total_net_input_bytes")
		out, errs[2] = p.info(ctx, "stats", "total_net_output_bytes")
		c.held, errs[3] = p.info(ctx, "memory", "used_memory_dataset")
		c.cpu, errs[4] = p.cpu()
		c.bytes, c.sent = in+out, in
		return c, errors.Join(errs[:]...)
	}
	before, err := now()
	if err != nil {
		return c, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return c, err
	}
	took := time.Since(start)
	after, err := now()
	return cost{after.commands - before.commands, after.bytes - before.bytes, after.held - before.held, after.sent - before.sent, after.cpu - before.cpu, took}, err
}
