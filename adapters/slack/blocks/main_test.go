package blocks

import (
	"testing"

	"github.com/nodhq/nod/tests/harness/machine"
)

func TestMain(m *testing.M) {
	machine.SpendMemory()
	m.Run()
}
