package stand

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort is a TCP port of 127.0.0.1 for a program that must be told one, and nobody else's until the test ends: it is below those that the
// system gives to connections and to listeners that ask for any (one of these could take it before the program does, or while it is started
// again), and the UDP port of its number is held, which keeps other tests off that ask here.
func FreePort(t interface {
	Helper()
	Cleanup(f func())
	Fatal(args ...any)
}) int {
	t.Helper()
	for range 1000 {
		port := 10_000 + rand.IntN(20_000) //nolint:gosec // any port will do
		at := fmt.Sprintf("127.0.0.1:%d", port)
		held, err := net.ListenPacket("udp", at) //nolint:noctx // nothing is waited for
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", at) //nolint:noctx // only to find a port
		if err != nil {
			_ = held.Close()
			continue
		}
		_ = l.Close()
		t.Cleanup(func() { _ = held.Close() })
		return port
	}
	t.Fatal("no port is free")
	return 0
}
