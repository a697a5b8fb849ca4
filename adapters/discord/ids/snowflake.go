package ids

import (
	"cmp"
	"strconv"
	"time"
)

// IsSnowflake reports whether s could be an ID: Discord's are unsigned 64-bit numbers, written in decimal. https://discord.com/developers/docs/reference#snowflakes
func IsSnowflake(s string) bool {
	if s == "" || len(s) > 20 || s[0] == '0' {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// discordEpoch is the first millisecond of 2015, which snowflakes count from. https://discord.com/developers/docs/reference#snowflakes
const discordEpoch = 1_420_070_400_000

// Older orders snowflakes: the longer number is the larger one.
func Older(a, b string) bool { return Compare(a, b) < 0 }

// Compare orders snowflakes as [cmp.Compare] does.
func Compare(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// Before is the snowflake before id.
func Before(id string) string {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return "0"
	}
	return strconv.FormatUint(n-1, 10)
}

// Time is when a message was made, which its ID says.
func Time(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// FirstAt is the smallest ID that something made at t can have.
func FirstAt(t time.Time) string {
	ms := t.UnixMilli() - discordEpoch
	if ms <= 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(ms)<<22, 10)
}
