package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// expires finds until when a card says that it can be answered, as Slack writes it in each reader's own time.
var expires = regexp.MustCompile(`!date\^(\d+)\^`)

// asksAtOnce are seventy questions within two seconds in one workspace, each allowed at once: P17.
func asksAtOnce(ctx context.Context, b *bench, replicas int) (measured, error) {
	n, within := 70, 2*time.Second
	if b.quick {
		n = 7
	}
	w, err := newWorld(ctx, newPen(firstToken, 10*time.Millisecond, 50, true), replicas)
	if err != nil {
		return nil, err
	}
	defer w.close()
	left, cards, decisions := make([]float64, n), make([]time.Duration, n), make([]time.Duration, n)
	start := time.Now()
	err = each(ctx, n, within/time.Duration(n), func(ctx context.Context, i int) error {
		said, r := time.Now(), w.ask(i)
		ts, err := r.button(ctx, allowOnce)
		if err != nil {
			return err
		}
		shown, err := r.until(ctx, func(v fakeslack.Version) bool { return has(v, allowOnce) })
		if err != nil {
			return err
		}
		m, _ := w.slack.Message(r.channel, ts)
		at := expires.FindSubmatch(m.Blocks)
		if at == nil {
			return errors.New("the card does not say until when it can be answered")
		}
		until, _ := strconv.ParseInt(string(at[1]), 10, 64)
		cards[i], left[i] = shown.Sub(said), float64(time.Unix(until, 0).Sub(shown))/float64(askFor)
		decisions[i], err = r.allow(ctx, ts)
		return err
	})
	count, refused, _ := w.calls(start)
	b.say("P17, %d replica(s): cards p50 %s last %s; decisions p50 %s last %s; calls %s; spent %v", replicas, ms(percentile(cards, .5)),
		ms(slices.Max(cards)), ms(percentile(decisions, .5)), ms(slices.Max(decisions)), shown(count), w.spent)
	timely := len(slices.DeleteFunc(left, func(x float64) bool { return x < 0.9 }))
	return measured{"P17": fmt.Sprintf("%d of %d, %s, %s, %d", timely, n, ms(slices.Max(cards)), ms(slices.Max(decisions)), refused)}, err
}

// allow clicks, and tells how long it took until everybody saw that.
func (r *reader) allow(ctx context.Context, ts string) (time.Duration, error) {
	clicked := time.Now()
	if _, err := r.w.slack.Click(r.user, r.channel, ts, allowOnce); err != nil {
		return 0, err
	}
	decided, err := r.until(ctx, func(v fakeslack.Version) bool { return v.At.After(clicked) && !has(v, allowOnce) })
	if err != nil {
		return 0, fmt.Errorf("no decision: %w", err)
	}
	return decided.Sub(clicked), nil
}

// mentionsAtOnce are eight people who ask in one channel at the same moment, for a tool and for a long answer: P18.
func mentionsAtOnce(ctx context.Context, b *bench, replicas int) (measured, error) {
	got := ""
	for _, tool := range []bool{true, false} {
		w, err := newWorld(ctx, newPen(firstToken, 10*time.Millisecond, 200, tool), replicas)
		if err != nil {
			return nil, err
		}
		start, signs, posts := time.Now(), make([]time.Duration, 8), make([]time.Duration, 8)
		err = each(ctx, len(posts), 0, func(ctx context.Context, i int) error {
			r := w.askIn(i, channel(0))
			posted, err := r.until(ctx, func(fakeslack.Version) bool { return true })
			signs[i], posts[i] = min(posted.Sub(start), r.status().Sub(start)), posted.Sub(start)
			return err
		})
		count, refused, _ := w.calls(start)
		b.say("P18, %d replica(s), a tool: %v: signs %v; posts %v; calls %s", replicas, tool, signs, posts, shown(count))
		w.close()
		if err != nil {
			return nil, err
		}
		if got != "" {
			got += "; "
		}
		got += fmt.Sprintf("%s, %s, %d", ms(slices.Max(signs)), ms(slices.Max(posts)), refused)
	}
	return measured{"P18": got}, nil
}

// status is when the thread was first said to be worked on; the far future where it never was.
func (r *reader) status() time.Time {
	for _, c := range r.w.slack.Calls("agents.sessions.setStatus") {
		if c.Error == "" && c.Values.Get("thread_ts") == r.thread {
			return c.At
		}
	}
	return time.Now().Add(time.Hour)
}
