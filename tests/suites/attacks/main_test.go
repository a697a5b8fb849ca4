package attacks

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/harness/machine"
)

// atOnce is how many cases run at once, unless -parallel says otherwise: most of the time they wait for a stand-in to be drawn to.
const atOnce = 16

func TestMain(m *testing.M) {
	machine.AtOnce(max(atOnce, 8*runtime.GOMAXPROCS(0)))
	machine.SpendMemory()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 { // after a failure much is left standing
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
