package demo

import (
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// Connect makes the workbench over dir and returns what gives an MCP client a connection to it, inside this
// process.
func Connect(dir string, now func() time.Time) (func() transport.Interface, error) {
	s, err := Workbench(dir, now)
	if err != nil {
		return nil, err
	}
	return func() transport.Interface { return transport.NewInProcessTransport(s) }, nil
}
