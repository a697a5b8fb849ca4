package replicas

import (
	"context"
	"testing"

	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// While redis.durability cannot be kept, no approval is spent: the click is not taken, and counts once it can be.
func TestNoApprovalIsSpentWhereItCannotSurvive(t *testing.T) {
	t.Parallel()
	r := StartRedis(t)
	w := New(t, Options{Parallel: true, Backend: r.Backend(), Durability: "replicas=1"})
	w.Model.When("go", Calls(Call("write", `{}`)), Says("I see."))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	if _, err := w.Replicas[0].Engine.Decide(context.Background(), w.Click(Ana, w.Await(chat.AllowOnce, "write"))); err == nil {
		t.Error("the click was taken")
	}
	equal(t, "the log", kinds(w), "said replied ruled")
	StartRedis(t).Follow(r)
	r.Followed()
	equal(t, "the click", w.Press(w.Replicas[0], Ana, chat.AllowOnce, "write"), "")
	has(t, "the message", w.Over(0), "allowed once by Ana", "I see.")
	equal(t, "runs", w.Tools.Count("write"), 1)
}
