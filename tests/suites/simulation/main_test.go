// Package simulation tells stories of several replicas in which everything breaks, each from a number, its seed.
//
// A story is one testing/synctest bubble: two or three replicas with the real store, on miniredis, which hands them their connections without a
// socket. Time is the bubble's, so that leases, deadlines and back-offs cost nothing. Three people and a stranger say things, press buttons
// against each other, too late, on old cards and twice, change arguments, stop, undo and revoke, and answer what servers ask while their tools run,
// a form or that they sign in there, or leave it; an admin changes settings, in some stories halts everything and resumes, and in others a server comes,
// changes what its tool is, and is accepted, or not; in others again people sign in on the page by a provider, and out. Meanwhile replicas
// are killed and paused for longer than their leases, connections break, commands come late or without an answer, Redis's clock is up to an
// hour off and is set, the platform refuses, delays and loses answers, the model breaks off, tools die, hang and answer after they were cancelled.
// Then nothing breaks any more, and people answer what is asked.
//
// What must hold is read in the tool server's ledger, the platform's history, what the model heard and which commands Redis carried out; nod
// is asked nothing:
//   - no call ran twice, but where a person said "run again";
//   - none ran before its start was recorded, or without an approval that stood: by somebody who may, with these arguments, not denied before,
//     not undone, not asked to be asked since;
//   - nothing started while everything was halted; what stood when a long halt began is over before its end, and says who stopped it;
//   - a tool that changed asked, whatever was set or allowed before, until an admin accepted it;
//   - the admins were told of each set of a server's tools once, whoever died over it, and of the last one for certain;
//   - a server heard what the person whom it asked said, once, and not what was said after a stop or too late, or the message says that the call was
//     broken off;
//   - a server acted in nobody's name but that of the person who asked and signed in, once each time; where they do that stands in no message and no
//     log, and the model was not told;
//   - one sign-in on the page gave one session at most, to whom the provider named; it was there until they signed out, and on no replica afterwards;
//   - the model heard what was said, once, unless somebody stopped the chat, or everything was halted;
//   - every message is final and offers nothing; whatever was asked could be answered.
//
// The same seed tells nearly the same story: what people do and what breaks follows from it, in which order goroutines run does not.
//
// With an odd seed the platform posts at most once. With an even one it can post twice, takes messages beside a turn's one, and a question that
// would be seen too late is posted anew. About one in a thousand of those left an old message that says something else than the new one; of the
// last 4,050 none did. The normal run tells the odd ones and those that failed once, make simulate all of them.
//
// What it leaves out. That a post takes effect after who sent it has died and another replica has posted: such a message stays, and nobody can
// know of it; who only lost the chat takes it away. That Redis's clock is set back by minutes: chats of dead replicas wait as much longer.
package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nodhq/nod/tests/harness"
	"github.com/nodhq/nod/tests/harness/machine"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many stories are told; 0: those of the normal run")
	from   = flag.Uint64("from", 1, "the first one's seed")
	matrix = flag.Bool("matrix", false, "takes every point of the crash matrix, not one in three")
	one    = flag.Uint64("seed", 0, "tells only this one, and everything that happened in it")
)

func TestMain(m *testing.M) {
	machine.SpendMemory()
	runtime.GOMAXPROCS(1) // so that a seed is as nearly as can be the same story each time
	m.Run()
}

func itoa(n int) string { return strconv.Itoa(n) }

// normal is how many stories the normal run tells: as many as NOD_STORIES says, for a run that has the time, or a few.
func normal(t *testing.T) uint64 {
	said := os.Getenv("NOD_STORIES")
	switch {
	case harness.Raced:
		return 10
	case said == "":
		return 100
	}
	n, err := strconv.ParseUint(said, 10, 64)
	if err != nil {
		t.Fatalf("NOD_STORIES=%s is no number of stories", said)
	}
	return n
}

// failedOnce are seeds that failed: what was posted anew was recorded late; who posted it anew died; it was what a server asks.
var failedOnce = []uint64{1460, 1490, 716}

func TestSimulation(t *testing.T) {
	first, n, step := *from, *seeds, uint64(1)
	switch {
	case *one != 0:
		first, n = *one, 1
	case n == 0:
		n, step = normal(t), 2
	}
	all := slices.Clone(failedOnce)
	if *one != 0 || *seeds != 0 {
		all = nil
	}
	for i := range n {
		all = append(all, first+i*step)
	}
	for _, seed := range all {
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
