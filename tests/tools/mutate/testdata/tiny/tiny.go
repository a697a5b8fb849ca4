// Package tiny is what the tests of mutate take apart: its tests look at some of its guards and not at others.
package tiny

// Grade is tested: what is above 9 is great, what is not positive is nothing.
func Grade(n int) string {
	if n <= 0 {
		return "nothing"
	}
	switch {
	case n > 9:
		return "great"
	}
	return "good"
}

// Shy is tested without its guard.
func Shy(name string) string {
	if len(name) == 0 {
		return "nobody"
	}
	return name
}

// Loud is a condition whose type has a name.
type Loud bool

// Mark is not tested.
func (l Loud) Mark() string {
	if l {
		return "!"
	}
	return "."
}

// Between is tested on its lower side only.
func Between(n, from, to int) bool { return n >= from && n <= to }

// Wait never ends without its guard.
func Wait(n int) int {
	for {
		if n > 0 {
			break
		}
	}
	return n
}
