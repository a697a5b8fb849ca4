package prompt_test

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/prompt"
	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
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

// A talk that is too long for the model is halved until it is taken, a few times and while it gets shorter; what its service refused is remembered, and what the operator
// said holds where that is less.
func TestWhatTheModelTakes(t *testing.T) {
	var long turn.Session
	for range 64 {
		long.Transcript = append(long.Transcript, turn.Utterance{Role: turn.RoleUser, Text: strings.Repeat("word ", 1000)}, turn.Utterance{Role: turn.RoleAssistant, Text: "yes"})
	}
	short := turn.Session{Transcript: long.Transcript[:1]}
	all := talk.Tokens(talk.Of(long))
	for name, x := range map[string]struct {
		takes, says int // tokens: what the service takes, and what the operator says; 0 is any number
		of          turn.Session
		tries, next int // to ask about it, and then about it again
	}{
		"all of it":              {all, 0, long, 1, 1},
		"half of it":             {all * 2 / 3, 0, long, 2, 1},
		"little":                 {all / 7, 0, long, 4, 1},
		"next to nothing":        {1, 0, long, 5, 3},
		"nothing shorter":        {1, 0, short, 1, 1},
		"what is said":           {all / 2, all / 3, long, 1, 1},
		"more than what is said": {all * 2 / 3, all * 3 / 4, long, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &prompt.Limits{Tokens: x.says}
			for _, want := range []int{x.tries, x.next} {
				tries, size := 0, 0
				left := l.Ask(x.of, nil, func(said []turn.Utterance) bool {
					tries, size = tries+1, talk.Tokens(said)
					return size > x.takes
				})
				if tries != want || (left > 0) != (size < talk.Tokens(talk.Of(x.of))) {
					t.Errorf("%d tries, want %d; %d are left out, of %d tokens", tries, want, left, size)
				}
			}
		})
	}
}
