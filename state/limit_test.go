package state

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/chat"
)

// metered is two clients of one store, whose time a test holds.
type metered struct {
	t    *testing.T
	a, b *Store
	at   time.Time
	set  func(time.Time)
}

func eachMetered(t *testing.T, test func(m *metered)) {
	t.Run("Redis", func(t *testing.T) {
		a, m := mini(t, Options{})
		m.SetTime(noon)
		test(&metered{t, a, openStore(t, Options{URL: "redis://" + m.Addr()}), noon, m.SetTime})
	})
	t.Run("embedded", func(t *testing.T) {
		at := noon
		s := openEmbedded(t, t.TempDir(), Options{now: func() time.Time { return at }})
		test(&metered{t, s, s, noon, func(x time.Time) { at = x }})
	})
}

func (m *metered) pass(d time.Duration) {
	m.at = m.at.Add(d)
	m.set(m.at)
}

func (m *metered) begins(s *Store, who, turn string, turns, tokens int, want prompt.Over) {
	m.t.Helper()
	got, err := s.CountTurn(m.t.Context(), chat.User{Platform: "test", Key: who}, turn, turns, tokens)
	if err != nil || got.Tokens != want.Tokens || !got.Until.Equal(want.Until) {
		m.t.Fatalf("%s begins %s: %+v, %v; want %+v", who, turn, got, err, want)
	}
}

func (m *metered) uses(s *Store, who string, tokens int) {
	m.t.Helper()
	if err := s.CountTokens(m.t.Context(), chat.User{Platform: "test", Key: who}, tokens); err != nil {
		m.t.Fatal(err)
	}
}

// fades looks that what is counted of somebody does not stay for ever.
func (m *metered) fades(who string) {
	m.t.Helper()
	for _, k := range limitKeys(chat.User{Platform: "test", Key: who}) {
		n, err := m.a.rdb.Exists(m.t.Context(), k).Result()
		left, bad := m.a.rdb.PTTL(m.t.Context(), k).Result()
		if err != nil || bad != nil || n == 1 && left <= 0 {
			m.t.Errorf("%s stays: %v %v", k, err, bad)
		}
	}
}

var within = prompt.Over{}

// Turns are those of the last hour, of all clients together and each once. Who is refused loses nothing.
func TestTurnsInAnHour(t *testing.T) {
	eachMetered(t, func(m *metered) {
		m.begins(m.a, "ana", "t1", 2, 0, within)
		m.pass(10 * time.Minute)
		m.begins(m.b, "ana", "t1", 2, 0, within) // taken over
		m.begins(m.b, "ana", "t2", 2, 0, within)
		full := prompt.Over{Until: noon.Add(time.Hour)}
		m.begins(m.a, "ana", "t3", 2, 0, full)
		m.begins(m.a, "ana", "t2", 2, 0, within) // it has begun
		m.begins(m.a, "ben", "t3", 2, 0, within)
		m.pass(50*time.Minute - time.Millisecond)
		m.begins(m.a, "ana", "t3", 2, 0, full)
		m.pass(time.Millisecond)
		m.begins(m.a, "ana", "t3", 2, 0, within)
		m.begins(m.b, "ana", "t4", 2, 0, prompt.Over{Until: noon.Add(70 * time.Minute)})
		m.begins(m.b, "ana", "t4", 1, 0, prompt.Over{Until: noon.Add(2 * time.Hour)}) // fewer are allowed by now than there are
		m.begins(m.b, "ana", "t4", 3, 0, within)
		m.fades("ana")
	})
}

// Tokens are those of a day that begins with the first of them.
func TestTokensInADay(t *testing.T) {
	eachMetered(t, func(m *metered) {
		m.begins(m.a, "ana", "t1", 5, 100, within)
		m.pass(time.Hour)
		m.uses(m.a, "ana", 60)
		m.pass(time.Hour)
		m.uses(m.b, "ana", 39)
		m.begins(m.a, "ana", "t2", 5, 100, within)
		m.uses(m.a, "ana", 1)
		full := prompt.Over{Tokens: true, Until: noon.Add(25 * time.Hour)}
		m.begins(m.b, "ana", "t3", 5, 100, full)
		m.begins(m.b, "ana", "t3", 0, 100, full)
		m.begins(m.b, "ana", "t2", 5, 100, within) // it has begun
		m.begins(m.b, "ben", "t3", 5, 100, within)
		m.begins(m.b, "ben", "t4", 0, 100, within)
		m.fades("ana")
		m.pass(23*time.Hour - time.Millisecond)
		m.begins(m.b, "ana", "t3", 5, 100, full)
		m.pass(time.Millisecond)
		m.begins(m.b, "ana", "t3", 5, 100, within)
		m.uses(m.b, "ana", 100)
		m.begins(m.a, "ana", "t4", 5, 100, prompt.Over{Tokens: true, Until: noon.Add(49 * time.Hour)})
	})
}
