package turn

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// A read may run while something before it waits for an answer. When that comes, the answered call waits for the read's end: two runs
// at once could come in another order than the one that was read and approved.
func TestWhatIsAllowedWaitsForTheRun(t *testing.T) {
	x := begin(t, proposes("c1", "w", `{}`), proposes("c2", "r", `{}`)).put(rules("c1", "a1", permission.Ask, permission.Write), rules("c2", "a2", permission.Allow, permission.Read))
	x.owes("the read runs ahead", RunTool{"c2"}).starts("c2", "r2").decides("c1", chat.AllowOnce, ana)
	start := Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.call("c1").Digest, Token: 1}
	x.owesIn("one runs", Env{Live: "r2"}).ignores("one runs", start)
	x.put(Finished{Call: "c2", Run: "r2"}).owes("it has ended", RunTool{"c1"}).takes(start).is("c1", Running, "")
}
