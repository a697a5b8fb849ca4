// Package machine says how much of the machine a test program takes.
package machine

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// AtOnce lets that many parallel tests of this program run at once, or one on each processor if that is more, unless -parallel says
// otherwise: for tests that wait most of the time. It is called by TestMain.
func AtOnce(tests int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(max(tests, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
}

// SpendMemory has less garbage collected, unless GOGC says how much: little lives on from one of thousands of cases to the next, and
// collecting it was a fifth of all their work.
func SpendMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
