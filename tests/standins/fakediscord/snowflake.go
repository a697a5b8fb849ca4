package fakediscord

import (
	"strconv"
	"time"
)

// epoch is the first moment of 2015, from which snowflakes count. https://docs.discord.com/developers/reference#snowflakes
const epoch = 1420070400000

// id mints a snowflake of the clock's time: later ones are greater. s.mu is held.
func (s *Server) id() string {
	n := uint64(s.clock.Now().UnixMilli()-epoch) << 22
	s.last = max(n, s.last+1)
	return strconv.FormatUint(s.last, 10)
}

// Time is when a snowflake was minted, to the millisecond.
func Time(id string) time.Time {
	n, _ := strconv.ParseUint(id, 10, 64)
	return time.UnixMilli(int64(n>>22) + epoch).UTC()
}

// before orders snowflakes.
func before(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// order compares snowflakes for sorting.
func order(a, b string) int {
	switch {
	case a == b:
		return 0
	case before(a, b):
		return -1
	}
	return 1
}

// snowflake reports whether v is written like an ID.
func snowflake(v string) bool {
	_, err := strconv.ParseUint(v, 10, 64)
	return err == nil
}

// stamp writes a time as Discord does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }
