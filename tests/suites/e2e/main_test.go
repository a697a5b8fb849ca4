// Package e2e runs the whole program as people have it: the built binary as a process of its own, with a data directory, an
// environment and an address, spoken to through its HTTP API and its page.
//
// Its words. A [bot] is one process and what it printed. A [person] is a session of the API. A [room] is a chat as that person sees it. A [stream] is
// one open connection of server-sent events.
//
// Its rules. Nothing waits for a fixed time: every wait is for an event or a state, with a deadline that only a broken program
// reaches. A process gets exactly the environment the test names, so nothing of the machine leaks in. What really
// happened is read where it happened: in files, and in the ledger of tests/standins/mcpserver.
//
// Tests that need more than Go (redis-server, Node packages, Chromium) skip and say so, unless NOD_REQUIRE names what is missing.
package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/tests/harness/chromium"
	"github.com/nodhq/nod/tests/harness/machine"
)

// programs is the folder of the binaries that TestMain built.
var programs string

var updatePicture = flag.Bool("update-picture", false, "write docs/first-minute.gif, the README's moving picture, and the pictures of the settings")

// atOnce is how many tests run at once, unless -parallel says otherwise: most of the time they wait for what other processes do.
const atOnce = 10

func TestMain(m *testing.M) {
	machine.AtOnce(atOnce)
	os.Exit(build(m.Run))
}

// build makes the programs once for all tests, and removes them.
func build(run func() int) int {
	dir, err := os.MkdirTemp("", "nod-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs them, too
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, pkg := range []string{"./cmd/bot", "./tests/standins/fakellm/cmd/fakellm", "./tests/standins/mcpserver/cmd/toolserver", "./tests/standins/mcpserver/cmd/thief"} {
		// go run keeps what it linked, for the next time and for whoever runs the same, as the README does. The checkout may belong to somebody
		// else, and git then refuses to say its revision.
		cmd := exec.Command("go", "run", "-buildvcs=false", "-exec", "cp", pkg, program(path.Base(pkg))) //nolint:gosec // one of the four
		cmd.Dir = filepath.Join("..", "..", "..")
		cmd.Env = append(os.Environ(), shipped()...)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	code := run()
	chromium.Stop()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 { // after a failure much is left standing
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func program(name string) string { return filepath.Join(programs, name) }

// shipped is what a program is built with here: beside tests with the race detector nothing is compiled without it but the program as it
// ships, which is without cgo.
func shipped() []string {
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return []string{"CGO_ENABLED=0"}
	}
	return nil
}
