package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

const allowOnce = "Allow once"

// each asks n questions, one every so often, and does something with each at the same time.
func each(ctx context.Context, n int, every time.Duration, do func(context.Context, int) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n)*every+3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	start := time.Now()
	for i := range n {
		if err := sleep(ctx, time.Until(start.Add(time.Duration(i)*every))); err != nil {
			failed = err
			break
		}
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return failed
}

// turns are approval turns that come one a second: P1, and P4 from what they spent.
func turns(ctx context.Context, b *bench, replicas int) (measured, error) {
	n, tokens := 40, 50
	if b.quick {
		n = 5
	}
	w, err := newWorld(ctx, newPen(firstToken, 10*time.Millisecond, tokens, true), replicas)
	if err != nil {
		return nil, err
	}
	defer w.close()
	idle, err := w.idleTrips(ctx)
	if err != nil {
		return nil, err
	}
	before, err := w.trips(ctx)
	if err != nil {
		return nil, err
	}
	worst, decisions, finals, cards := make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n)
	start := time.Now()
	err = each(ctx, n, time.Second, func(ctx context.Context, i int) error {
		said := time.Now()
		r := w.ask(i)
		ts, err := r.button(ctx, allowOnce)
		if err != nil {
			return err
		}
		cards[i] = time.Since(said)
		if decisions[i], err = r.allow(ctx, ts); err != nil {
			return err
		}
		if err := r.final(ctx); err != nil {
			return err
		}
		wrote, seen := w.model.wrote(r.asked), r.seen()
		finals[i] = seen[len(seen)-1].At.Sub(wrote[len(wrote)-1])
		worst[i] = max(decisions[i], finals[i])
		return nil
	})
	after, failed := w.trips(ctx)
	err = errors.Join(err, failed)
	perTurn := (float64(after-before) - idle*time.Since(start).Seconds()) / float64(n)
	count, refused, _ := w.calls(start)
	b.say("P1, %d replica(s): decision p50 %s p99 %s, final p50 %s p99 %s, card p50 %s p99 %s; calls %s; spent %v", replicas,
		ms(percentile(decisions, .5)), ms(percentile(decisions, .99)), ms(percentile(finals, .5)), ms(percentile(finals, .99)),
		ms(percentile(cards, .5)), ms(percentile(cards, .99)), shown(count), w.spent)
	b.versions(w, n)
	return measured{"P1": ms(percentile(worst, .99)), "P3": fmt.Sprint(refused), "P4": w.turnsPerMinute(n), "P12": fmt.Sprintf("%.1f (%.1f)", perTurn, idle)}, err
}

// versions shows how one turn in the middle was drawn.
func (b *bench) versions(w *world, n int) {
	if !b.verbose {
		return
	}
	for c := range channels {
		for _, m := range w.slack.Messages(channel(c), "") {
			if m.BotID == "" || (c != (n/2)%channels) {
				continue
			}
			for _, v := range m.Versions {
				b.say("  %s %s %-18s %5d B %q", m.TS, v.At.Format("05.000"), v.Via, len(v.Blocks), cut(v.Text, 60))
			}
		}
	}
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// turnsPerMinute is how many turns the floors allow, by what was not progress: that gives way.
func (w *world) turnsPerMinute(turns int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	best, binding, floors := 0.0, "", fakeslack.Floors()
	for s, n := range w.spent {
		floor, ok := floors[s.method]
		if !ok || s.lane == agent.Progress {
			continue
		}
		all := n
		for other, m := range w.spent {
			if other.method == s.method && other.lane != s.lane && other.lane != agent.Progress {
				all += m
			}
		}
		if per := float64(floor) / (float64(all) / float64(turns)); binding == "" || per < best {
			best, binding = per, fmt.Sprintf("%s, %.2f", s.method, float64(all)/float64(turns))
		}
	}
	if binding == "" {
		return "any (no call that a tier counts)"
	}
	return fmt.Sprintf("%.0f (%s)", best, binding)
}

// streamed asks for n long answers at once. It returns how late their words were; w is nil where nothing could be asked.
func streamed(ctx context.Context, b *bench, n, replicas int) (w *world, start time.Time, lags []time.Duration, err error) {
	tokens := 2000
	if b.quick {
		tokens = 200
	}
	if w, err = newWorld(ctx, newPen(firstToken, 12500*time.Microsecond, tokens, false), replicas); err != nil {
		return nil, start, nil, err
	}
	lags, start = make([]time.Duration, n), time.Now()
	err = each(ctx, n, 0, func(ctx context.Context, i int) error {
		r := w.ask(i)
		if err := r.final(ctx); err != nil {
			return err
		}
		all, err := r.lags()
		lags[i] = mean(all)
		return err
	})
	return w, start, lags, err
}

// answers are eight long ones at once: P2.
func answers(ctx context.Context, b *bench, replicas int) (measured, error) {
	w, start, lags, err := streamed(ctx, b, 8, replicas)
	if w == nil {
		return nil, err
	}
	defer w.close()
	count, refused, bytes := w.calls(start)
	b.say("P2, %d replica(s): lags %v; calls %s, %d KB; spent %v", replicas, lags, shown(count), bytes/1000, w.spent)
	b.versions(w, 8)
	used := w.busiest("chat.update") * 100 / fakeslack.Floors()["chat.update"]
	return measured{"P2": fmt.Sprintf("%.2f s", mean(lags).Seconds()), "P3": fmt.Sprintf("%d (%d %%)", refused, used)}, err
}

// single is one long answer: P14.
func single(ctx context.Context, b *bench, replicas int) (measured, error) {
	w, start, lags, err := streamed(ctx, b, 1, replicas)
	if w == nil {
		return nil, err
	}
	defer w.close()
	count, _, bytes := w.calls(start)
	chat, others := 0, 0 // what shows the answer, and who was asked and told of its status beside it
	for method, n := range count {
		if strings.HasPrefix(method, "chat.") {
			chat += n
		} else {
			others += n
		}
	}
	b.say("P14, %d replica(s): calls %s; spent %v", replicas, shown(count), w.spent)
	b.versions(w, 0)
	return measured{"P14": fmt.Sprintf("%d + %d others, %d KB (%s)", chat, others, bytes/1000, ms(lags[0]))}, err
}

func ms(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
