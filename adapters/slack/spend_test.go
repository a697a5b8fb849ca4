package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func TestProgressNeverWaitsForTheBudget(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.budget.wait(r.updatePool(), 1300*time.Millisecond)
	pe := fault(t, r.Edit(r.ctx, r.id, ref, answering("b"), agent.Progress))
	if pe.Kind != agent.FaultLater || pe.RetryAfter != 1300*time.Millisecond {
		t.Errorf("got %v after %s", pe, pe.RetryAfter)
	}
	if len(r.slept) > 0 || len(r.slack.Calls("chat.update")) > 0 {
		t.Errorf("it slept %v and called %d times", r.slept, len(r.slack.Calls("chat.update")))
	}
}

func TestWhatAPersonWaitsForWaitsInside(t *testing.T) {
	for _, u := range []agent.Urgency{agent.Final, agent.Decision} {
		r := newRoom(t, fakeslack.Options{})
		ref := r.post(answering("a"))
		r.budget.wait(r.updatePool(), 300*time.Millisecond, 200*time.Millisecond)
		r.edit(ref, finished("b"), u)
		if fmt.Sprint(r.slept) != "[300ms 200ms]" {
			t.Errorf("it waited %v", r.slept)
		}
		for _, s := range r.budget.of(r.updatePool()) {
			if s.Lane != u {
				t.Errorf("lane %v, want %v", s.Lane, u)
			}
		}
	}
}

// A wait that the caller's time does not reach is said at once, for the caller to come again with the newest view.
func TestWaitIsBoundedByTheContext(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.budget.wait(r.updatePool(), time.Hour)
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	if pe := fault(t, r.Edit(ctx, r.id, ref, finished("b"), agent.Final)); pe.Kind != agent.FaultLater || pe.RetryAfter != time.Hour {
		t.Errorf("got %v after %s", pe, pe.RetryAfter)
	}
	if len(r.slept) > 0 {
		t.Errorf("it waited %v", r.slept)
	}
	r.budget.wait(r.updatePool(), time.Second)
	r.pause = func(context.Context, time.Duration) error { return context.Canceled }
	if pe := fault(t, r.Edit(r.ctx, r.id, ref, finished("b"), agent.Final)); pe.Kind != agent.FaultLater {
		t.Errorf("got %v: nothing was sent, and that is known", pe)
	}
}

func TestWhatIsSpent(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering(strings.Repeat("a", 10)))
	r.pass(2 * time.Second)
	r.edit(ref, answering(strings.Repeat("a", 110)), agent.Progress)
	r.pass(time.Second)
	r.edit(ref, asking("a"), agent.Progress)
	r.pass(time.Second)
	r.edit(ref, finished("b"), agent.Final)
	got := r.budget.of(r.updatePool())
	if len(got) != 3 {
		t.Fatalf("%d spends", len(got))
	}
	for _, s := range got {
		if s.Limit != 50 || s.Per != time.Minute || s.Message != "C1/"+string(ref) {
			t.Errorf("spent %+v", s)
		}
	}
	if got[0].Rate != 50 {
		t.Errorf("100 characters in 2 s are %v a second", got[0].Rate)
	}
	if got[2].Rate != 1 {
		t.Errorf("a message that shrank has rate %v: it would wait for ever", got[2].Rate)
	}
	for i, want := range []bool{false, false, true} {
		if got[i].Ends != want {
			t.Errorf("spend %d ends: %v", i, got[i].Ends)
		}
	}
}

func TestBudgetThatCannotBeAsked(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.budget.err = errors.New("redis is away")
	if pe := fault(t, r.Edit(r.ctx, r.id, ref, answering("b"), agent.Progress)); pe.Kind != agent.FaultLater || pe.RetryAfter != time.Second {
		t.Errorf("progress: %v after %s", pe, pe.RetryAfter)
	}
	r.edit(ref, asking("c"), agent.Decision)
	r.edit(ref, finished("d"), agent.Final)
	if n := len(r.slack.Calls("chat.update")); n != 2 {
		t.Errorf("%d edits, want the decision and the final", n)
	}
	r.budget.err = nil
	r.edit(ref, finished("e"), agent.Final)
	if n := strings.Count(r.log.String(), "shared budget"); n != 2 {
		t.Errorf("%d lines, want one when it went and one when it came back:\n%s", n, r.log)
	}
}

// stuck is a budget that never answers.
type stuck struct{ *budget }

func (stuck) Spend(ctx context.Context, _ surface.Spend) (time.Duration, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// A decision is shown also while Redis hangs.
func TestBudgetThatDoesNotAnswer(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(answering("a"))
	r.limiter.Budget, r.limiter.Patience = stuck{r.budget}, time.Millisecond
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	if err := r.Edit(ctx, r.id, ref, asking("c"), agent.Decision); err != nil {
		t.Error(err)
	}
}

func TestNoBudget(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	r.limiter.Budget = nil
	ref := r.post(answering("a"))
	r.edit(ref, answering("b"), agent.Progress)
	r.slack.Fail("chat.update", 1, fakeslack.Fault{RetryAfter: 2 * time.Second})
	if pe := fault(t, r.Edit(r.ctx, r.id, ref, answering("c"), agent.Progress)); pe.Kind != agent.FaultBusy {
		t.Error(pe)
	}
}
