package parts

import (
	"context"
	"fmt"
	"net"

	"github.com/nodhq/nod/cmd/bot/config"
)

// Listen opens the one listener. The configuration has checked the address as written; here it is checked as it turned out,
// because a name such as localhost can resolve to anything.
func Listen(ctx context.Context, c config.Config) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (listen, BOT_LISTEN): %w", c.Listen, err)
	}
	if c.Web.Enabled && !c.HasSessionKeys() && !isLoopback(ln.Addr()) {
		ln.Close()
		return nil, fmt.Errorf("listen: %s is %s, and %s", c.Listen, ln.Addr(), config.NeedsKeys)
	}
	return ln, nil
}

// isLoopback reports whether only this machine can reach a listener.
func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
