package prompt_test

import (
	"testing"

	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/chat"
)

// Who finds a place free takes it without a word, also while somebody else is being told to wait: who was told nothing never waits.
func TestWhoIsToldNothingDoesNotWait(t *testing.T) {
	l := &prompt.Limits{Replying: 1}
	enter := func(wait func()) (leave func()) {
		leave, err := l.Enter(t.Context(), chat.User{Key: "ana"}, wait)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	first := enter(func() { t.Error("the first was told to wait") })
	told := false
	second := enter(func() {
		told = true
		first()
		enter(func() { t.Error("somebody was told to wait for a place that was free") })()
	})
	if !told {
		t.Error("the second was not told to wait")
	}
	second()
}
