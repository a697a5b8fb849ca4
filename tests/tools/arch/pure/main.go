// Command pure prints the folders of the pure rooms, as go test takes them: go test $(go run ./tests/tools/arch/pure).
package main

import (
	"fmt"

	"github.com/nodhq/nod/tests/tools/arch"
)

func main() {
	for _, path := range arch.Pure() {
		fmt.Println("./" + path)
	}
}
