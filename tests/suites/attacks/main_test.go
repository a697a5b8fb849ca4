package attacks

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many cases run at once, unless -parallel says otherwise: most of the time they wait for a stand-in to be drawn to.
const atOnce = 16

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // memory is cheap here, and collecting it was a quarter of all the work
	}
	parallel := strconv.Itoa(max(atOnce, 8*runtime.GOMAXPROCS(0)))
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			parallel = f.Value.String()
		}
	})
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 { // after a failure much is left standing
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
