// Package sketch is the bad example: each name that a line declares with a retired word is told at its end.
package sketch // sketch

import paper "fmt" // paper

const oneDeed = 1 // oneDeed

var fine, sheet_of = paper.Sprint(), 2 // sheet_of

type MuzzleTime struct { // MuzzleTime
	HTTPFate int // HTTPFate
}

func (crew MuzzleTime) isFaded(pane string) (x int) { // crew isFaded pane
	for telling := range pane { // telling
		x = telling
	}
	gagged, ok := 1, true // gagged
	if newspaper := ok; newspaper {
		x = gagged // used, not declared
	}
turnstile: // turnstile
	for {
		break turnstile
	}
	return x
}
