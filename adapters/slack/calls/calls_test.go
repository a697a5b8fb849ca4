package calls

import (
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// What a click came to is shown whatever was spent; a question that nobody has seen may go somewhat beyond, all else nowhere.
func TestWhatMayGoBeyondTheBudget(t *testing.T) {
	for u, most := range map[agent.Urgency]int{agent.Progress: 75, agent.Final: 75, agent.Question: 75, agent.Decision: surface.Overdraw} {
		if s := New(Update, "T1", "C1", u); s.Limit != 50 || s.Hard != most {
			t.Errorf("lane %d: %d of %d", u, s.Hard, s.Limit)
		}
	}
}

func TestEveryMethodHasItsRate(t *testing.T) {
	for _, m := range []string{Post, Update, Delete, Whisper, Replies, History, Converse, Status, Rename, File, Suggest} {
		if r := rates[m]; r.limit <= 0 || r.per <= 0 {
			t.Errorf("%s has none", m)
		}
	}
	if got := New(Post, "T1", "C1", agent.Final).Pool; got != "T1/chat.postMessage/C1" {
		t.Error(got)
	}
	if got := New(Update, "T1", "C1", agent.Final).Pool; got != "T1/chat.update" {
		t.Error(got)
	}
	if s := New("some.method", "T1", "", agent.Final); s.Limit != tier2.limit {
		t.Errorf("an unknown method has %d", s.Limit)
	}
}
