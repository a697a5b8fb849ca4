package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// reader is a person in a thread.
type reader struct {
	w       *world
	user    string
	channel string
	thread  string
	asked   string // the number of the question
}

// ask mentions the bot in a new thread.
func (w *world) ask(i int) *reader { return w.askIn(i, channel(i)) }

func (w *world) askIn(i int, channel string) *reader {
	r := &reader{w: w, user: asker(i), channel: channel, asked: fmt.Sprint(i)}
	r.thread = w.slack.Say(r.user, r.channel, "", fmt.Sprintf("<@%s> question %d. Please answer at length.", w.slack.BotUser(), i))
	return r
}

// own are the bot's messages in the thread.
func (r *reader) own() []fakeslack.Message {
	return slices.DeleteFunc(r.w.slack.Messages(r.channel, r.thread), func(m fakeslack.Message) bool { return m.BotID == "" })
}

// seen are the versions of all of the bot's messages in the thread, in order of time.
func (r *reader) seen() []fakeslack.Version {
	var all []fakeslack.Version
	for _, m := range r.own() {
		all = append(all, m.Versions...)
	}
	slices.SortStableFunc(all, func(a, b fakeslack.Version) int { return a.At.Compare(b.At) })
	return all
}

// button waits for one and returns the message it stands on.
func (r *reader) button(ctx context.Context, text string) (ts string, err error) {
	err = r.w.slack.Wait(ctx, func() bool {
		for _, m := range r.own() {
			if slices.ContainsFunc(r.w.slack.Buttons(r.channel, m.TS), func(b fakeslack.Button) bool { return b.Text == text }) {
				ts = m.TS
				return true
			}
		}
		return false
	})
	if err != nil {
		return "", fmt.Errorf("question %s: no button %q: %w", r.asked, text, err)
	}
	return ts, nil
}

// until waits until the newest version of some message is as wanted, and tells when it was made.
func (r *reader) until(ctx context.Context, is func(fakeslack.Version) bool) (at time.Time, err error) {
	err = r.w.slack.Wait(ctx, func() bool {
		for _, v := range r.seen() {
			if is(v) {
				at = v.At
				return true
			}
		}
		return false
	})
	if err != nil {
		return at, fmt.Errorf("question %s: %w", r.asked, err)
	}
	return at, nil
}

// final waits until nothing more is to come: the last token is there, and the message says that it is whole.
func (r *reader) final(ctx context.Context) error {
	last := strings.TrimSpace(token(r.w.model.tokens - 1))
	if _, err := r.until(ctx, func(v fakeslack.Version) bool { return has(v, last) && !working(v) }); err != nil {
		return fmt.Errorf("no end: %w", err)
	}
	return nil
}

// has reports whether a version shows a word.
func has(v fakeslack.Version, word string) bool {
	return bytes.Contains(v.Blocks, []byte(word)) || v.Blocks == nil && strings.Contains(v.Text, word)
}

// working reports whether a version has a button to stop it.
func working(v fakeslack.Version) bool { return bytes.Contains(v.Blocks, []byte(`"text":"Stop"`)) }

// lags are how long after it was written each token was visible.
func (r *reader) lags() ([]time.Duration, error) {
	wrote := r.w.model.wrote(r.asked)
	if len(wrote) == 0 {
		return nil, errors.New("question " + r.asked + ": nothing was written")
	}
	var out []time.Duration
	for _, v := range r.seen() {
		for len(out) < len(wrote) && has(v, strings.TrimSpace(token(len(out)))) {
			out = append(out, v.At.Sub(wrote[len(out)]))
		}
	}
	if len(out) < len(wrote) {
		return out, fmt.Errorf("question %s: %d of %d tokens were ever visible", r.asked, len(out), len(wrote))
	}
	return out, nil
}

func mean(d []time.Duration) time.Duration {
	var sum time.Duration
	for _, x := range d {
		sum += x
	}
	return sum / time.Duration(max(len(d), 1))
}

// percentile of a list; nearest rank.
func percentile(d []time.Duration, p float64) time.Duration {
	d = slices.Sorted(slices.Values(d))
	if len(d) == 0 {
		return 0
	}
	return d[max(int(math.Ceil(p*float64(len(d))))-1, 0)]
}

// calls are what was called from a moment on: how often each method, refused how often, and bytes in all. What only looks
// at Slack counts, too.
func (w *world) calls(from time.Time) (count map[string]int, refused, bytes int) {
	count = map[string]int{}
	for _, c := range w.slack.Calls() {
		if c.At.Before(from) {
			continue
		}
		count[c.Method]++
		bytes += c.Bytes
		if c.Status == 429 {
			refused++
		}
	}
	return count, refused, bytes
}

// busiest is the most calls of a method within a minute.
func (w *world) busiest(method string) int {
	calls, most := w.slack.Calls(method), 0
	for i, c := range calls {
		n := 0
		for _, d := range calls[i:] {
			if d.At.Sub(c.At) < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// method is a pool's.
func method(pool string) string {
	parts := strings.Split(pool, "/")
	if len(parts) < 2 {
		return pool
	}
	return parts[1]
}

func shown(count map[string]int) string {
	b, _ := json.Marshal(count)
	return string(b)
}
