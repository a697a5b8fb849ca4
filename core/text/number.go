package text

import (
	"strconv"
	"strings"
	"time"
)

// Number is n with thousands separated: "98,000".
func Number(n int) string {
	sign, s := "", strconv.Itoa(n)
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Count is a number of things: "1 more message", "2 more messages".
func Count(n int, thing string) string { return Number(n) + " " + thing + either(n == 1, "", "s") }

// either is the one or the other wording.
func either(is bool, one, other string) string {
	if is {
		return one
	}
	return other
}

// Size is a number of bytes as people say it: "812 bytes", "12 KB", "3.4 MB".
func Size(bytes int) string {
	switch {
	case bytes < 1000:
		return Count(bytes, "byte")
	case bytes < 999_500:
		return strconv.Itoa((bytes+500)/1000) + " KB"
	}
	return strconv.FormatFloat(float64(bytes)/1e6, 'f', 1, 64) + " MB"
}

// Took is a duration as people say it: "0.2 s", "60 s", "2 min", "3 h", "4 days". It rounds down, but never
// to nothing.
func Took(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return "0." + strconv.Itoa(max(1, int(d/(100*time.Millisecond)))) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}

// Clock is a moment as a sentence names it, where a surface cannot draw the reader's own time: "14:02 UTC".
func Clock(t time.Time) string { return clock(t, "15:04 UTC") }

// ClockSeconds is [Clock] with seconds: "14:02:07 UTC".
func ClockSeconds(t time.Time) string { return clock(t, "15:04:05 UTC") }

func clock(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}

// OneOf joins names with commas and "or".
func OneOf(names []string) string { return series(names, " or ") }

// AllOf joins names with commas and "and".
func AllOf(names []string) string { return series(names, " and ") }

func series(names []string, last string) string {
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + last + names[n]
	}
	return strings.Join(names, "")
}
