package openai

import "strings"

// thinking leaves a model's thoughts out of its text: local services without a parser for them send them as <think>…</think> at its beginning.
type thinking struct {
	held string // what may still turn out to be the beginning tag, or a part of the end tag
	in   thoughts
}

type thoughts uint8

const (
	unsure thoughts = iota // nothing but white space and a part of the tag has come
	inside
	gap // white space after the end tag
	over
)

const (
	thinkBegins = "<think>"
	thinkEnds   = "</think>"
)

// cut takes the next piece of text and returns what of it is for people.
func (t *thinking) cut(piece string) string {
	if t.in == over {
		return piece
	}
	t.held += piece
	if t.in == unsure {
		bare := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(bare, thinkBegins):
			t.in, t.held = inside, bare[len(thinkBegins):]
		case strings.HasPrefix(thinkBegins, bare):
			return "" // more has to come
		default:
			return t.rest()
		}
	}
	if t.in == inside {
		_, after, ended := strings.Cut(t.held, thinkEnds)
		if !ended {
			t.held = t.held[max(0, len(t.held)-len(thinkEnds)+1):]
			return ""
		}
		t.in, t.held = gap, after
	}
	if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held == "" {
		return ""
	}
	return t.rest()
}

// rest ends the filter and gives what it still held.
func (t *thinking) rest() string {
	if t.in == inside {
		return ""
	}
	out := t.held
	t.in, t.held = over, ""
	return out
}
