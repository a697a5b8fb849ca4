package attacks

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// owners is row 20 for the one a chat belongs to: whoever began it, for ever.
func owners() (out []attack) {
	return append(out, everywhere(20, "the-owner-pushed-out", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, says("Hello."))
		k.over(1)
		w.accepts(t, "mix", "put")
		crowd := func(i int, words ...string) {
			env := k.envelope(ana)
			env.User.Key, env.Name = fmt.Sprintf("U9%05d", i), "somebody"
			_ = k.engine.Accept(t.Context(), chat.Commanded{Envelope: env, Verb: "mode", Args: words}) // anybody may ask for more care
		}
		for i := range 205 {
			crowd(i, "tool")
		}
		for i := range 205 {
			crowd(i, "never", "yes")
		}
		k.again(ana, k.name+"-2", wants(call("mix", "put", `{"path":"`+k.name+`"}`)))
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
		k.end()
		k.command(ana, "mode", "never", "yes") // and it is still Ana's
		k.again(ana, k.name+"-3", wants(call("mix", "put", `{"path":"`+k.name+`"}`)))
		k.over(3)
		k.times(1)
	})...)
}
