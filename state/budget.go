package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/chat"
)

// Spend is one call of a platform's method that somebody would like to make.
type Spend struct {
	Pool    string        // what the limit is counted by: workspace, method and, where the platform counts so, channel
	Limit   int           // calls in Per; 0 with Ends: the message ended by other means, and nothing is spent
	Hard    int           // calls in Per that decisions may go up to; less than Limit: that
	Per     time.Duration // the platform's window
	Evenly  bool          // Limit at once, and then one every Per/Limit: where the platform bears short bursts
	Lane    agent.Urgency // a decision goes before a final, a final before progress
	Message string        // the live message it is for; empty where there is none. Each one keeps a call in reserve for its final
	Rate    float64       // how fast that message grows, in characters a second
	Ends    bool          // the message needs nothing after this
}

// freeAfterCoolOff is how long after a cool-off a pool keeps slots free: several times the minute that platforms count in.
const freeAfterCoolOff = 10 * time.Minute

// Spend asks for one call from a pool that all replicas share. Zero: it is counted, make it now. Otherwise nothing was spent, and wait (at
// least 20 ms) is when to ask again; who does so in time keeps the place in the queue. lua/spend.lua says who goes first and how progress
// is paced. An error leaves it open whether the call was counted; it will be free again after Per.
func (s *Store) Spend(ctx context.Context, sp Spend) (wait time.Duration, err error) {
	if sp.Pool == "" || sp.Limit < 0 || sp.Per <= 0 && sp.Limit > 0 || sp.Limit == 0 && !sp.Ends {
		return 0, errors.New("spend: wants a pool, a limit and what it is counted in")
	}
	switch {
	case sp.Limit == 0: // nobody waits for what is only said
		s.mention(sp.call(""), func(any, error) {})
		return 0, nil
	case s.fromShare(sp):
		return 0, nil
	}
	res, err := s.write(ctx, sp.call(""))
	if err != nil {
		return 0, err
	}
	said, ok := res.(string)
	n, bad := strconv.ParseInt(said, 10, 64)
	if !ok || bad != nil {
		return 0, unexpected(spendScript.Name, res)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// call is the script's run. how is empty, or one of its words for a share.
func (sp Spend) call(how string) call {
	k := poolKeys(sp.Pool)
	return spendScript.on([]string{k.spent, k.live, k.came, k.pool},
		strconv.Itoa(sp.Limit), millis(sp.Per+margin(sp.Per)), strconv.Itoa(int(sp.Lane)), sp.Message,
		strconv.FormatFloat(growth(sp.Rate), 'f', 3, 64), flag(sp.Ends), rand.Text(), strconv.Itoa(sp.Hard), flag(sp.Evenly), how)
}

// CoolOff stops every spending from a pool for d, on all replicas: the platform refused a call. Then a slot stays free for some minutes.
func (s *Store) CoolOff(ctx context.Context, pool string, d time.Duration) error {
	if pool == "" || d <= 0 {
		return fmt.Errorf("cool-off: wants a pool and a time, not %s", d)
	}
	s.shares.drop(pool)
	_, err := s.write(ctx, coolScript.on([]string{poolKeys(pool).pool}, millis(d), millis(freeAfterCoolOff)))
	return err
}

// margin is what our window is longer than the platform's. We count when a call may leave, the platform when it arrives: a slow
// call followed by quick ones comes to it as more than the limit. Calls of one client do not differ by more than that.
func margin(per time.Duration) time.Duration {
	return min(max(per/60, 100*time.Millisecond), time.Second)
}

// growth bounds a rate that was measured over too short a time, or not at all.
func growth(rate float64) float64 {
	if !(rate > 0) { // also NaN
		return 0
	}
	return min(rate, 100_000)
}

var (
	spendScript = load("spend")
	coolScript  = load("cooloff")
)

var _ prompt.Meter = (*Store)(nil)

// CountTurn implements [prompt.Meter]. The hour is the last one, by Redis's clock; the day begins with the first tokens that are used.
func (s *Store) CountTurn(ctx context.Context, who chat.User, turn string, turns, tokens int) (prompt.Over, error) {
	res, err := s.write(ctx, limitScript.on(limitKeys(who), turn, strconv.Itoa(turns), strconv.Itoa(tokens), "0"))
	which, until, over := strings.Cut(text(res), " ")
	if err != nil || !over {
		return prompt.Over{}, err
	}
	return prompt.Over{Tokens: which == "tokens", Until: time.UnixMilli(int64(number(until)))}, nil //nolint:gosec // a time
}

// CountTokens implements [prompt.Meter]. A repeat after a lost reply may count them twice.
func (s *Store) CountTokens(ctx context.Context, who chat.User, tokens int) error {
	_, err := s.write(ctx, limitScript.on(limitKeys(who), "", "0", "0", strconv.Itoa(tokens)))
	return err
}
