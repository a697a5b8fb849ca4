package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// realistic are approval turns in fifty chats at once, with a Slack and a model that take their time: P7 to P9, of nod and of the least that can
// be done. Both are told without what Slack and the model take.
func realistic(ctx context.Context, b *bench, replicas int) (measured, error) {
	got, err := feltOf(ctx, b, nod, replicas)
	if err != nil || replicas != 1 {
		return got, err
	}
	least, err := feltOf(ctx, b, floor, 1)
	if err != nil {
		return nil, fmt.Errorf("the floor: %w", err)
	}
	for name := range got {
		got[name] += " (" + least[name] + ")"
	}
	return got, nil
}

func feltOf(ctx context.Context, b *bench, source string, replicas int) (measured, error) {
	chats, each := 50, 4
	if b.quick {
		chats, each = 5, 1
	}
	p, err := programs(ctx, source, replicas, around{
		yaml: aDay, takes: slackTakes, pace: pace{first: firstToken, word: 10 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	defer p.close()
	threads := p.threads(chats)
	if err := inAll(ctx, threads, 1, nil); err != nil { // the first of everything is dearer
		return nil, err
	}
	before, start := len(p.slack.Deliveries()), time.Now()
	var mu sync.Mutex
	var posts, decisions, acks []time.Duration
	err = inAll(ctx, threads, each, func(t *talk) {
		posted, decided := t.shown()
		mu.Lock()
		defer mu.Unlock()
		posts = append(posts, posted.Sub(t.asked)-firstToken-slackTakes)
		decisions = append(decisions, decided.Sub(t.clicked)-slackTakes)
	})
	count, _, _ := p.calls(start)
	b.say("P7 to P9, %s, %d replica(s): calls %s", source, replicas, shown(count))
	for _, d := range p.slack.Deliveries()[before:] {
		if a := d.Attempts()[0]; a.Failed == "" && (d.Event == "app_mention" || d.Type == "interactive") {
			acks = append(acks, a.Acked.Sub(a.At))
		}
	}
	for _, row := range []struct {
		name string
		of   []time.Duration
	}{{"P7", acks}, {"P8", posts}, {"P9", decisions}} {
		b.say("%s, %s, %d replica(s): p50 %s p99 %s of %d", row.name, source, replicas, fine(percentile(row.of, .5)), fine(percentile(row.of, .99)), len(row.of))
	}
	return measured{"P7": fine(percentile(acks, .99)), "P8": fine(percentile(posts, .5)), "P9": fine(percentile(decisions, .5))}, err
}

// shown is when the last turn's message was first there, and when it first said what was decided.
func (t *talk) shown() (posted, decided time.Time) {
	m, _ := t.p.slack.Message(t.channel, t.message)
	for _, v := range m.Versions {
		if v.At.After(t.clicked) && !has(v, `"`+allowOnce+`"`) {
			return m.Versions[0].At, v.At
		}
	}
	return m.Versions[0].At, time.Time{}
}

// fine is short, so it needs more digits.
func fine(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// shipped is what people get: how fast it starts, and how large it is. P15.
func shipped(ctx context.Context, b *bench, replicas int) (measured, error) {
	if replicas != 1 {
		return nil, nil
	}
	p, err := program(ctx, nod)
	if err != nil {
		return nil, err
	}
	defer p.close()
	var took []time.Duration
	for range 5 {
		p.kill()
		start := time.Now()
		if err := p.launch(ctx, 1); err != nil {
			return nil, err
		}
		before := len(p.slack.Deliveries())
		p.slack.Say(person, room(0), "", fmt.Sprintf("<@%s> hello in words", p.slack.BotUser()))
		a, err := p.slack.Deliveries()[before].Wait(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, a.Acked.Sub(start))
		if err := sleep(ctx, time.Second); err != nil { // it is answered, and the next one starts on an idle machine
			return nil, err
		}
	}
	file, err := os.Stat(p.built)
	if err != nil {
		return nil, err
	}
	return measured{"P15": fmt.Sprintf("%s; %.1f MB", ms(percentile(took, .5)), float64(file.Size())/1e6)}, nil
}

// doubleClicks are questions that their person answers twice at the same moment: P16.
func doubleClicks(ctx context.Context, b *bench, replicas int) (measured, error) {
	n := 200
	if b.quick {
		n = 20
	}
	p, err := programs(ctx, nod, replicas, around{yaml: aDay})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.asks(ctx, n); err != nil {
		return nil, err
	}
	for _, c := range p.cards() {
		stale, _ := p.slack.Message(c.channel, c.ts)
		for range 2 {
			if _, err := p.slack.ClickStale(person, c.channel, c.ts, len(stale.Versions)-1, allowOnce); err != nil {
				return nil, err
			}
		}
	}
	ran := func() int { return p.ledger.Count("write", "did") }
	for before := -1; ran() != before; { // also what would run a second time
		before = ran()
		if err := sleep(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
	return measured{"P16": fmt.Sprintf("%.2f (%d of %d)", float64(ran())/float64(n), ran(), n)}, nil
}

// paged are two answers on the page, a long one and a very long one: P20, what Redis is sent for them. The page is one of the last replica,
// and what is said goes to the first.
func paged(ctx context.Context, b *bench, replicas int) (measured, error) {
	words, word := []int{5000, 250_000}, 4*time.Millisecond
	if b.quick {
		words, word = []int{500, 5000}, 0
	}
	p, err := programs(ctx, nod, replicas, around{pace: pace{word: word}})
	if err != nil {
		return nil, err
	}
	defer p.close()
	var session struct{ Key string }
	if err := p.call(ctx, "", "/api/v1/sessions", `{"name":"Ana"}`, &session); err != nil {
		return nil, err
	}
	if err := sleep(ctx, settled); err != nil {
		return nil, err
	}
	idle, err := p.costs(ctx, func() error { return sleep(ctx, 20*time.Second) })
	if err != nil {
		return nil, err
	}
	var got []string
	for i, n := range append([]int{answerTokens}, words...) { // the first of everything is dearer
		var chat struct {
			ID string `json:"chat_id"`
		}
		if err := p.call(ctx, session.Key, "/api/v1/chats", "", &chat); err != nil {
			return nil, err
		}
		at := "/api/v1/chats/" + chat.ID
		c, err := p.costs(ctx, func() error {
			if err := p.call(ctx, session.Key, at+"/messages", fmt.Sprintf(`{"text":"say it in %d words","delivery":"1"}`, n), nil); err != nil {
				return err
			}
			return p.answered(ctx, session.Key, at+"/events?after=0")
		})
		if err != nil {
			return nil, err
		}
		text := int64(n * len(token(0)))
		sent := c.sent - int64(float64(idle.sent)*c.took.Seconds()/idle.took.Seconds())
		b.say("P20: %d words: %d bytes of text, %d bytes into Redis in %s, %d more as in any such time", n, text, sent, ms(c.took), c.sent-sent)
		if i > 0 {
			got = append(got, fmt.Sprintf("%.2f × (%d KB)", part(sent, text), text/1000))
		}
	}
	return measured{"P20": strings.Join(got, " / ")}, nil
}

// call posts to the page's API.
func (p *process) call(ctx context.Context, key, path, body string, out any) error {
	res, err := request(ctx, http.MethodPost, p.fronts[0], key, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

func request(ctx context.Context, method, front, key, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, front+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		_ = res.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	return res, nil
}

// answered follows a chat until its turn is over.
func (p *process) answered(ctx context.Context, key, path string) error {
	res, err := request(ctx, http.MethodGet, p.fronts[len(p.fronts)-1], key, path, "")
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // left before its end
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the turn's end does not come: %w", err)
		}
		if bytes.HasPrefix(line, []byte("event: turn_done")) {
			return nil
		}
	}
}
