package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/state"
)

// Backend is a Redis that several replicas share.
type Backend struct {
	Name string
	// Start gives the URL of a fresh one that ends with the test.
	Start func(testing.TB) string
}

// Mini is miniredis in this process; Real is a redis-server process of its own.
var (
	Mini = Backend{"miniredis", func(t testing.TB) string { return "redis://" + miniredis.RunT(t).Addr() }}
	Real = Backend{"redis", startReal}
)

// Backends are all of them.
func Backends() []Backend { return []Backend{Mini, Real} }

// Require ends the test where what it needs is missing: as a failure where NOD_REQUIRE names it, as a skip elsewhere.
func Require(t testing.TB, name, missing string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("NOD_REQUIRE"), ","), name) {
		t.Fatalf("NOD_REQUIRE asks for %s, and %s", name, missing)
	}
	t.Skipf("%s (set NOD_REQUIRE=%s to make this a failure)", missing, name)
}

// startReal runs a server on a socket in a directory of its own.
func startReal(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Require(t, "redis", "there is no redis-server in PATH")
	}
	dir, err := os.MkdirTemp("", "nod") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no", "--dir", dir, "--daemonize", "no") //nolint:gosec // a test's server
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := "unix://" + sock
	deadline := time.Now().Add(deadline)
	for {
		s, err := state.Open(t.Context(), state.Options{URL: url, Log: discard})
		if err == nil {
			_ = s.Close()
			return url
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not get ready: %v", err)
		}
		select { // nothing tells when the socket is there
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}
