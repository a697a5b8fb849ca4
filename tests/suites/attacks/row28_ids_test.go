package attacks

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
)

// reusedIDs is row 28: a call's identity is ours, whatever the model calls it.
func reusedIDs() (out []attack) {
	as := func(id string, c agent.ReplyCall) agent.ReplyCall { c.ModelID = id; return c }
	for name, id := range map[string]string{"plain": "call_1", "empty": "", "long": strings.Repeat("x", 5000), "hidden": "call\u200b1", "newline": "call\n1", "custom-id": "nod:allow_once:1"} {
		out = append(out, everywhere(28, name+"-in-the-next-reply", func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wants(as(id, call("box", "write", `{"path":"first-`+name+`"}`))), wants(as(id, write(name))))
			k.click(ana, k.asking(1), "Allow once")
			k.until("it asks for the second", func(s shot) bool { return s.asks == 1 && len(k.ledger.of("first-"+name)) == 1 })
			k.end()
			if got := k.ledger.of("first-" + name); len(got) != 1 {
				t.Errorf("the first ran %d times", len(got))
			}
		})...)
		out = append(out, everywhere(28, name+"-twice-in-a-reply", func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wants(as(id, call("box", "write", `{"path":"first-`+name+`"}`)), as(id, write(name))))
			s := k.asking(2)
			k.press(t, ana, s, s.labelled("Allow once")[0])
			k.until("one is decided", func(s shot) bool { return s.asks == 1 })
			k.end()
			if got := k.ledger.of("first-" + name); len(got) != 1 {
				t.Errorf("the first ran %d times", len(got))
			}
		})...)
		out = append(out, everywhere(28, name+"-in-the-next-turn", func(t *testing.T, w *world, surface string) {
			name := idOf(t)
			k := begin(t, w, surface, wants(as(id, call("box", "write", `{"path":"first-`+name+`"}`))))
			k.allow("Allow once")
			k.again(ana, name+"-2", wants(as(id, write(name))))
			k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.end()
		})...)
	}
	out = append(out, on(28, "web", "approve-by-the-reused-id", func(t *testing.T, w *world) {
		name := idOf(t)
		id := "call-" + name
		k := begin(t, w, "web", wants(as(id, call("box", "write", args(name, "n", "1"))), as(id, write(name))))
		k.asking(2)
		status, answer := w.sessions[ana].call(t, "POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": id, "approved": true})
		if status != 409 {
			t.Errorf("which of two is meant was guessed: %d %s", status, answer)
		}
		k.still(2)
		k.end()
	}))
	return out
}
