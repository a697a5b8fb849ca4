package slack

import (
	"os"
	"testing"

	"github.com/nodhq/nod/tests/harness/machine"
)

func TestMain(m *testing.M) {
	machine.SpendMemory()
	os.Exit(m.Run())
}
