package stand

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

// FreePort is a TCP port of 127.0.0.1 for a program that must be told one, and nobody else's until the test ends: it is below those that the
// system gives to connections and to listeners that ask for any (one of these could take it before the program does, or while it is started
// again), and a file in the system's folder for such keeps other tests off that ask here.
func FreePort(t interface {
	Helper()
	Cleanup(f func())
	Fatal(args ...any)
}) int {
	t.Helper()
	for range 1000 {
		port := 10_000 + rand.IntN(20_000) //nolint:gosec // any port will do
		file := filepath.Join(os.TempDir(), fmt.Sprintf("nod-tests-port-%d", port))
		held, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		_ = held.Close()
		t.Cleanup(func() { _ = os.Remove(file) })
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil { //nolint:noctx // only to find a port
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
