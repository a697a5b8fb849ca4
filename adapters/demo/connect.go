package demo

import (
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// Connect makes the workbench over dir, as [Workbench] does, and returns what gives an MCP client a connection to it, inside this
// process.
func Connect(dir string, apart bool, now func() time.Time) (func() transport.Interface, error) {
	s, err := Workbench(dir, apart, now)
	if err != nil {
		return nil, err
	}
	return func() transport.Interface { return transport.NewInProcessTransport(s) }, nil
}
