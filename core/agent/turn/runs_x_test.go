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

// A run that the log forgot, because the store came back older, makes its call one of unknown outcome, however far the log is with it. Its
// result settles it; what the log knows of, or has settled, is left alone.
func TestARunThatTheLogForgot(t *testing.T) {
	forgot := Abandoned{Call: "c1", Run: "r1", Token: 1, Own: true, Forgotten: true, Ask: "a9"}
	known := forgot
	known.Forgotten = false
	proposed := begin(t, proposes("c1", "w", `{}`))
	awaits := proposed.fork().put(rules("c1", "a1", permission.Ask, permission.Write))
	allowed := awaits.fork().decides("c1", chat.AllowOnce, ana)
	for name, x := range map[string]*script{"proposed": proposed, "awaits": awaits, "allowed": allowed} {
		x.fork().ignores(name, known)
		x.fork().takes(forgot).is("c1", Unknown, "").put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "late"}}).is("c1", Done, "late")
	}
	runs := allowed.fork().starts("c1", "r2")
	runs.ignores("another run is on record", forgot)
	repeated := allowed.fork().starts("c1", "r1").put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a8", Repeat: "read_only"})
	repeated.ignores("the log knows the run", forgot)
	awaits.fork().decides("c1", chat.Deny, ana).ignores("it is settled", forgot)
}
