package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// overdueAfter is how long the asks wait that nobody answers before a restart: all of them are shown in less.
const overdueAfter = 90 * time.Second

// restart kills all replicas while ten thousand questions wait, and a thousand more that fall due before they are started again: P19. Then
// two people answer each of the ten thousand at once, one allows it and one denies it: P23.
func restart(ctx context.Context, b *bench, replicas int) (measured, error) {
	n, overdue := 10_000, 1000
	if b.quick {
		n, overdue = 200, 50
	}
	forgetHeard()
	p, err := programs(ctx, nod, replicas, around{yaml: fmt.Sprintf("approvals: {timeout: 24h, approvers: anyone}\npermissions: {servers: {box: {tools: {slow: {timeout: %s}}}}}\n", overdueAfter)})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.asks(ctx, n); err != nil {
		return nil, err
	}
	waiting := p.cards()
	if err := p.asksTo(ctx, overdue, "please do something slow"); err != nil {
		return nil, err
	}
	if err := sleep(ctx, settled); err != nil { // the last cards are on record as seen
		return nil, err
	}
	p.kill()
	if err := sleep(ctx, overdueAfter); err != nil { // also that of a card which was on record as seen only just now
		return nil, err
	}
	p.slack.Forget()
	started := time.Now()
	if err := p.launch(ctx, replicas); err != nil {
		return nil, err
	}
	ready := time.Since(started)
	first, err := p.decided(ctx, waiting[0])
	if err != nil {
		return nil, err
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	rate, err := p.expired(ctx, overdue)
	if err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err := errors.Join(err, sleep(ctx, 5*time.Second)); err != nil { // one that came twice would come now
		return nil, err
	}
	heard := modelHeard.expired
	got := measured{"P19": fmt.Sprintf("%s, %s, %.0f/s, %.1f ms (%d of %d)", ms(ready), ms(first), rate, (after-before).Seconds()*1000/float64(heard), heard, overdue)}
	if b.wants("P23") {
		got["P23"], err = p.opposite(ctx, b, waiting[1:])
	}
	return got, err
}

// card is a question as it stands in a channel.
type card struct{ channel, ts string }

// cards are all that stand there.
func (p *process) cards() (all []card) {
	for i := range rooms {
		for _, m := range p.slack.Messages(room(i), "") {
			if m.BotID != "" && has(m.Version, `"`+allowOnce+`"`) {
				all = append(all, card{m.Channel, m.TS})
			}
		}
	}
	return all
}

// decided allows one, and says how long it took until everybody saw that.
func (p *process) decided(ctx context.Context, c card) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	start := time.Now()
	if _, err := p.slack.Click(person, c.channel, c.ts, allowOnce); err != nil {
		return 0, err
	}
	err := p.slack.Wait(ctx, func() bool {
		m, _ := p.slack.Message(c.channel, c.ts)
		return !has(m.Version, `"`+allowOnce+`"`)
	})
	return time.Since(start), err
}

// expired waits until the model was told of n questions that nobody answered, or of no further one for a while: who was not yet seen to be shown
// when all replicas were killed has its time anew. It says how many it was told of a second.
func (p *process) expired(ctx context.Context, n int) (rate float64, err error) {
	h := &modelHeard
	for {
		h.mu.Lock()
		got, took, last := h.expired, h.last.Sub(h.first), h.last
		h.mu.Unlock()
		if got >= n || got > 0 && time.Since(last) > 30*time.Second {
			return float64(got) / took.Seconds(), nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return 0, fmt.Errorf("%d of %d overdue questions are settled: %w", got, n, err)
		}
	}
}

// opposite has two people answer each question at the same moment. Of the two clicks exactly one may count.
func (p *process) opposite(ctx context.Context, b *bench, all []card) (string, error) {
	var at, again, late atomic.Int64
	var clicking sync.WaitGroup
	var failed error
	var once sync.Once
	start := time.Now()
	ran, denied := p.ledger.Count("write", "did"), modelHeard.denied
	for range 64 {
		clicking.Go(func() {
			for i := at.Add(1) - 1; int(i) < len(all) && ctx.Err() == nil; i = at.Add(1) - 1 {
				if err := p.bothClick(ctx, all[i], &again, &late); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	clicking.Wait()
	took := time.Since(start)
	if err := errors.Join(failed, sleep(ctx, settled)); err != nil {
		return "", err
	}
	modelHeard.mu.Lock()
	ran, denied = p.ledger.Count("write", "did")-ran, modelHeard.denied-denied
	modelHeard.mu.Unlock()
	told := 0
	for _, who := range []string{person, another} {
		for _, e := range p.slack.Ephemerals(who) {
			if has(e.Version, "Already") {
				told++
			}
		}
	}
	b.say("P23: %d allowed, %d denied, %d told that somebody was first; on %d Slack gave up, and said so itself; %d pairs were refused and clicked again; %.0f clicks a second", ran, denied, told, late.Load(), again.Load(),
		float64(2*len(all))/took.Seconds())
	return fmt.Sprintf("%d of %d (%d losers told)", ran+denied, len(all), told), nil
}

// bothClick has two people answer one question, again where Slack gave up on both clicks, and waits until everybody sees what came of it. late
// counts where Slack gave up on one of them, who is told that by Slack.
func (p *process) bothClick(ctx context.Context, c card, again, late *atomic.Int64) error {
	clicks := [][2]string{{person, allowOnce}, {another, "Deny"}}
	rand.Shuffle(2, func(i, j int) { clicks[i], clicks[j] = clicks[j], clicks[i] })
	stale, _ := p.slack.Message(c.channel, c.ts)
	version := len(stale.Versions) - 1
	for taken := false; !taken; {
		var sent []*fakeslack.Delivery
		for _, k := range clicks {
			d, err := p.slack.ClickStale(k[0], c.channel, c.ts, version, k[1])
			if err != nil {
				return err
			}
			sent = append(sent, d)
		}
		refused := 0
		for _, d := range sent {
			if _, err := d.Wait(ctx); err != nil {
				refused++
			}
		}
		switch taken = refused < len(sent); {
		case !taken:
			again.Add(1)
		case refused > 0:
			late.Add(1)
		}
	}
	return p.slack.Wait(ctx, func() bool {
		m, _ := p.slack.Message(c.channel, c.ts)
		return !has(m.Version, `"`+allowOnce+`"`)
	})
}

// events are mentions that arrive one to four times each, in another order, and whose answer is cut in one of twenty: P24.
func events(ctx context.Context, b *bench, replicas int) (measured, error) {
	n := 5000 // Slack sends two events for each
	if b.quick {
		n = 100
	}
	forgetHeard()
	p, err := programs(ctx, nod, max(replicas, 3), around{})
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.shaky = true
	start := p.slack.Count("chat.postMessage")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for i := 0; ; {
		posted := p.slack.Count("chat.postMessage") - start
		if posted >= n {
			break
		}
		for ; i < n && i-posted < 64; i++ {
			p.slack.Say(person, room(i), "", fmt.Sprintf("<@%s> say in words what number %d is", p.slack.BotUser(), i))
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%d of %d are answered: %w", posted, n, err)
		}
	}
	if err := sleep(ctx, settled); err != nil {
		return nil, err
	}
	lost, twice, again := 0, max(p.slack.Count("chat.postMessage")-start-n, 0), 0
	modelHeard.mu.Lock()
	defer modelHeard.mu.Unlock()
	for i := range n {
		switch heard := modelHeard.questions[fmt.Sprint(i)]; {
		case heard == 0:
			lost++
		case heard > 1:
			twice++
		}
	}
	for _, d := range p.slack.Deliveries() {
		again += len(d.Attempts()) - 1
	}
	b.say("P24, %d replicas: %d events arrived %d times, %d of them because an answer was cut", max(replicas, 3), len(p.slack.Deliveries()), p.passed.Load(), again)
	return measured{"P24": fmt.Sprintf("%d, %d", lost, twice)}, nil
}

// pass gives a delivery to some replica and its answer back; where deliveries are shaky, as [process.shaky] says.
func (p *process) pass(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	give := func(ctx context.Context) (*http.Response, error) {
		if p.shaky {
			_ = sleep(ctx, rand.N(200*time.Millisecond))
		}
		p.passed.Add(1)
		to := p.fronts[rand.IntN(len(p.fronts))]
		again, err := http.NewRequestWithContext(ctx, r.Method, to+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		again.Header = r.Header.Clone()
		return passing.Do(again)
	}
	if p.shaky {
		for range rand.IntN(4) {
			p.copies.Go(func() {
				if res, err := give(context.WithoutCancel(r.Context())); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
		}
	}
	res, err := give(r.Context())
	if err != nil || p.shaky && rand.IntN(20) == 0 {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // Slack is gone
}

var passing = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// mentions are 320 people who ask within nine seconds: P25.
func mentions(ctx context.Context, b *bench, replicas int) (measured, error) {
	n, within := 320, 9*time.Second
	if b.quick {
		n, within = 32, 900*time.Millisecond
	}
	forgetHeard()
	p, err := programs(ctx, nod, replicas, around{yaml: aDay})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.asks(ctx, 20); err != nil { // the first of everything is dearer
		return nil, err
	}
	before := len(p.slack.Deliveries())
	err = each(ctx, n, within/time.Duration(n), func(ctx context.Context, i int) error {
		t := &talk{p: p, channel: room(i)}
		return t.turn(ctx)
	})
	var acks, clicks []time.Duration
	unacked := 0
	for _, d := range p.slack.Deliveries()[before:] {
		a := d.Attempts()[0]
		switch {
		case a.Failed != "":
			unacked++
		case d.Event == "app_mention":
			acks = append(acks, a.Acked.Sub(a.At))
		case d.Type == "interactive":
			clicks = append(clicks, a.Acked.Sub(a.At))
		}
	}
	lost := p.log.count("lost the lease")
	b.say("P25, %d replica(s): mentions acknowledged p50 %s p99 %s, clicks p50 %s p99 %s, %d not in time", replicas, ms(percentile(acks, .5)), ms(percentile(acks, .99)),
		ms(percentile(clicks, .5)), ms(percentile(clicks, .99)), unacked)
	return measured{"P25": fmt.Sprintf("%s, %d", ms(percentile(acks, .99)), lost)}, err
}

// sleeping are a hundred thousand chats in which nothing happens: P26, what they add to a start, to a second of nothing and to a turn with
// the note that reminds of it.
func sleeping(ctx context.Context, b *bench, replicas int) (measured, error) {
	if replicas != 1 {
		return nil, nil
	}
	n := 100_000
	if b.quick {
		n = 2000
	}
	p, err := program(ctx, nod)
	if err != nil {
		return nil, err
	}
	defer p.close()
	type look struct {
		start      time.Duration
		idle, turn cost
	}
	measure := func() (l look, err error) {
		if err := cmp.Or(p.asks(ctx, 50), sleep(ctx, settled)); err != nil {
			return l, err
		}
		if l.idle, err = p.costs(ctx, func() error { return sleep(ctx, 20*time.Second) }); err != nil {
			return l, err
		}
		l.turn, err = p.costs(ctx, func() error { return errors.Join(p.asks(ctx, 100), sleep(ctx, 5*time.Second)) })
		p.kill()
		begun := time.Now()
		err = errors.Join(err, p.launch(ctx, 1))
		l.start = time.Since(begun)
		return l, err
	}
	few, err := measure()
	if err != nil {
		return nil, err
	}
	if err := p.fill(ctx, n); err != nil {
		return nil, err
	}
	many, err := measure()
	if err != nil {
		return nil, err
	}
	for _, l := range []look{few, many} {
		b.say("P26: start %s; 20 s of nothing: %d commands, %d KB, %d ms of processor; 100 questions: %d commands, %d KB, %d ms", ms(l.start),
			l.idle.commands, l.idle.bytes/1000, l.idle.cpu.Milliseconds(), l.turn.commands, l.turn.bytes/1000, l.turn.cpu.Milliseconds())
	}
	return measured{"P26": fmt.Sprintf("%.2f, %.2f, %.2f", part(many.start, few.start), part(many.idle.bytes, few.idle.bytes), part(many.turn.bytes, few.turn.bytes))}, nil
}

// fill puts n chats into Redis whose questions are open for a year.
func (p *process) fill(ctx context.Context, n int) error {
	s, err := state.Open(ctx, state.Options{URL: p.at, Replica: "fill"})
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // all is written
	var at atomic.Int64
	var filling sync.WaitGroup
	errs := make([]error, 64)
	for w := range errs {
		filling.Go(func() {
			for i := at.Add(1); int(i) <= n && errs[w] == nil; i = at.Add(1) {
				id := chat.ID{Platform: "slack", Workspace: "T0FAKE", Key: fmt.Sprintf("C%03d/%d.000001", i%rooms, i)}
				var got agent.Written
				said := turn.Said{Delivery: chat.Delivery(fmt.Sprint(i)), By: chat.User{Platform: "slack", Workspace: "T0FAKE", Key: person}, Text: strings.Repeat("sleep ", 20)}
				if got, errs[w] = s.Append(ctx, agent.Write{Chat: id, Claim: "fill", Events: []agent.Keyed{{Op: agent.OpID(fmt.Sprint("f", i)), Event: said}}}); errs[w] == nil {
					_, errs[w] = s.Append(ctx, agent.Write{Chat: id, Known: got.Head, Lease: got.Lease, Release: true, Wake: time.Now().Add(365 * 24 * time.Hour)})
				}
			}
		})
	}
	filling.Wait()
	return errors.Join(errs...)
}
