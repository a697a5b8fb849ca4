package turn_test

import (
	"testing"

	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

// A read may run while something before it waits for an answer. When that comes, the answered call waits for the read's end: two runs
// at once could come in another order than the one that was read and approved.
func TestWhatIsAllowedWaitsForTheRun(t *testing.T) {
	x := script.Begin(t, script.Proposes("c1", "w", `{}`), script.Proposes("c2", "r", `{}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write), script.Rules("c2", "a2", permission.Allow, permission.Read))
	x.Owes("the read runs ahead", RunTool{"c2"}).Starts("c2", "r2").Decides("c1", chat.AllowOnce, script.Ana)
	start := Started{Call: "c1", Run: "r1", Ask: "a1", Digest: x.Call("c1").Digest, Token: 1}
	x.OwesIn("one runs", Env{Live: "r2"}).Ignores("one runs", start)
	x.Put(Finished{Call: "c2", Run: "r2"}).Owes("it has ended", RunTool{"c1"}).Takes(start).Is("c1", Running, "")
}

// A run that the log forgot, because the store came back older, makes its call one of unknown outcome, however far the log is with it. Its
// result settles it; what the log knows of, or has settled, is left alone.
func TestARunThatTheLogForgot(t *testing.T) {
	forgot := Abandoned{Call: "c1", Run: "r1", Token: 1, Own: true, Forgotten: true, Ask: "a9"}
	known := forgot
	known.Forgotten = false
	proposed := script.Begin(t, script.Proposes("c1", "w", `{}`))
	awaits := proposed.Fork().Put(script.Rules("c1", "a1", permission.Ask, permission.Write))
	allowed := awaits.Fork().Decides("c1", chat.AllowOnce, script.Ana)
	for name, x := range map[string]*script.Script{"proposed": proposed, "awaits": awaits, "allowed": allowed} {
		x.Fork().Ignores(name, known)
		x.Fork().Takes(forgot).Is("c1", Unknown, "").Put(Finished{Call: "c1", Run: "r1", Result: Result{Text: "late"}}).Is("c1", Done, "late")
	}
	runs := allowed.Fork().Starts("c1", "r2")
	runs.Ignores("another run is on record", forgot)
	repeated := allowed.Fork().Starts("c1", "r1").Put(Abandoned{Call: "c1", Run: "r1", Token: 2, Ask: "a8", Repeat: "read_only"})
	repeated.Ignores("the log knows the run", forgot)
	awaits.Fork().Decides("c1", chat.Deny, script.Ana).Ignores("it is settled", forgot)
}
