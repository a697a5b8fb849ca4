// Package simulation tells stories of several replicas in which everything breaks, each from a number, its seed.
//
// A story is one testing/synctest bubble: two or three replicas with the real store, on miniredis, which hands them their connections without a
// socket. Time is the bubble's, so that leases, deadlines and back-offs cost nothing. Three people and a stranger say things, press buttons
// against each other, too late, on old cards and twice, change arguments, stop, undo and revoke; an admin changes settings. Meanwhile replicas
// are killed and paused for longer than their leases, connections break, commands come late or without an answer, Redis's clock is up to an
// hour off and is set, the platform refuses, delays and loses answers, the model breaks off, tools die, hang and answer after they were cancelled.
// Then nothing breaks any more, and people answer what is asked.
//
// What must hold is read in the tool server's ledger, the platform's history, what the model heard and which commands Redis carried out; nod
// is asked nothing:
//   - no call ran twice, but where a person said "run again";
//   - none ran before its start was recorded, or without an approval that stood: by somebody who may, with these arguments, not denied before,
//     not undone, not asked to be asked since;
//   - the model heard what was said, once, unless somebody stopped the chat;
//   - every message is final and offers nothing; whatever was asked could be answered.
//
// The same seed tells nearly the same story: what people do and what breaks follows from it, in which order goroutines run does not.
//
// With an odd seed the platform posts at most once. With an even one it can post twice, takes messages beside a turn's one, and a question that
// would be seen too late is posted anew. About one in a thousand of those still leaves an old message that says something else than the new
// one: the normal run tells the odd ones only, make simulate all of them.
//
// What it leaves out. That a post takes effect after who sent it has gone and another replica has posted: such a message stays, and nobody can
// know of it. That Redis's clock is set back by minutes: chats of dead replicas wait as much longer.
package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nodhq/nod/tests/harness"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many stories are told; 0: 100, and 10 with the race detector")
	from   = flag.Uint64("from", 1, "the first one's seed")
	matrix = flag.Bool("matrix", false, "takes every point of the crash matrix, not one in three")
	one    = flag.Uint64("seed", 0, "tells only this one, and everything that happened in it")
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	runtime.GOMAXPROCS(1) // so that a seed is as nearly as can be the same story each time
	m.Run()
}

func itoa(n int) string { return strconv.Itoa(n) }

func TestSimulation(t *testing.T) {
	first, n, step := *from, *seeds, uint64(1)
	switch {
	case *one != 0:
		first, n = *one, 1
	case n == 0 && harness.Raced:
		n, step = 10, 2
	case n == 0:
		n, step = 100, 2
	}
	for seed := first; seed < first+n*step; seed += step {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t, seed, false)
				s.run()
				s.judge()
				if t.Failed() || *one != 0 {
					t.Logf("seed %d; alone: go test ./tests/suites/simulation -seed %d -v\n%s", seed, seed, strings.Join(s.told, "\n"))
				}
			})
		})
		if !ok {
			t.FailNow() // its story is the last thing to read
		}
	}
}
