// Toolserver is the test server of tests/standins/mcpserver over stdio, as a program of its own: toolserver LEDGER [NAME].
package main

import (
	"fmt"
	"os"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: toolserver LEDGER [NAME]")
		os.Exit(2)
	}
	name := "toolserver"
	if len(os.Args) > 2 {
		name = os.Args[2]
	}
	if err := mcpserver.Stdio(name, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
