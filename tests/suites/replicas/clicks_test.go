package replicas

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

// R54
func TestClickOnAnotherReplica(t *testing.T) {
	both(t, Options{Replicas: 3}, func(w *World) {
		w.Model.When("go", Calls(Call("write", `{}`)))
		w.Say(w.Replicas[0], Ana, "go")
		w.Asks("write")
		w.Press(w.Replicas[2], Ana, chat.AllowOnce, "write")
		w.Over(0)
		equal(w, "runs", w.Tools.Count("write"), 1)
	})
}

// Platforms deliver again, and to another replica.
func TestRedelivery(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		w.Model.When("go", Calls(Call("write", `{}`)))
		said := w.SaidBy(Ana, "go")
		for range 2 {
			for _, r := range w.Replicas {
				w.Deliver(r, said)
			}
		}
		click := w.Click(Ana, w.Await(chat.AllowOnce, "write"))
		for range 2 {
			for _, r := range w.Replicas {
				hasNot(w, "the whisper", w.Deliver(r, click), "denied")
			}
		}
		w.Over(0)
		for _, r := range w.Replicas {
			w.Deliver(r, said)
			w.Deliver(r, click)
		}
		w.Say(w.Replicas[0], Ana, "and now something else")
		w.Over(1)
		equal(w, "runs", w.Tools.Count("write"), 1)
		equal(w, "messages", len(w.Platform.Messages(Room)), 2)
		users := ""
		for _, u := range w.Model.Latest().Talk {
			if u.Role == "user" {
				users += u.Text + ";"
			}
		}
		equal(w, "what people said", users, "go;and now something else;")
	})
}

func TestOppositeClicks(t *testing.T) {
	both(t, Options{Replicas: 2}, func(w *World) {
		const rounds = 12
		denied := 0
		for i := range rounds {
			word := fmt.Sprintf("round-%02d", i)
			w.Model.When(word, Calls(Call("write", fmt.Sprintf(`{"round":%d}`, i))))
			w.Say(w.Replicas[i%2], Ana, word)
			w.Until("the card is there", func() bool { return len(w.Platform.Messages(Room)) == i+1 && w.Asked() == "write" })
			clicks := []chat.Clicked{w.Click(Ana, w.Await(chat.AllowOnce, "write")), w.Click(Root, w.Await(chat.Deny, "write"))}
			var both sync.WaitGroup
			gun := NewLatch()
			for j, c := range clicks {
				both.Go(func() {
					<-gun.C()
					if err := w.Replicas[j].Engine.Accept(context.Background(), c); err != nil {
						w.Errorf("Accept: %v", err)
					}
				})
			}
			gun.Open()
			both.Wait()
			w.Over(i)
			a, d := w.Platform.Whispered(clicks[0].Reply.Key), w.Platform.Whispered(clicks[1].Reply.Key)
			switch {
			case a == "" && strings.Contains(d, "Already allowed once by Ana"):
			case d == "" && strings.Contains(a, "Already denied by Root"):
				denied++
			default:
				w.Errorf("round %d: Ana was told %q, Root was told %q", i, a, d)
			}
		}
		equal(w, "runs", w.Tools.Count("write"), rounds-denied)
	})
}

func TestForeignClick(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	seen(w) // before that is on record a click may come from a message that the log does not know yet
	button := w.Await(chat.AllowOnce, "write")
	has(w, "Ben's whisper", w.Deliver(w.Replicas[0], w.Click(Ben, button)), "Only Ana", "can decide")
	guest := Ana
	guest.Workspace = "T2"
	if got := w.Deliver(w.Replicas[0], w.Click(guest, button)); got == "" {
		t.Error("somebody with Ana's key in another workspace was taken for Ana")
	}
	nobody := w.Click(Ana, button)
	nobody.User = chat.User{}
	if got := w.Deliver(w.Replicas[0], nobody); got == "" {
		t.Error("a click of nobody was taken")
	}
	elsewhere := button
	elsewhere.Message = "m99"
	has(w, "another message's button", w.Deliver(w.Replicas[0], w.Click(Ana, elsewhere)), "not (or no longer) open here")
	elsewhere = button
	elsewhere.Chat = Other
	has(w, "another chat's button", w.Deliver(w.Replicas[0], w.Click(Ana, elsewhere)), "not (or no longer) open here")
	made := button
	made.Token = "made-up"
	has(w, "an invented token", w.Deliver(w.Replicas[0], w.Click(Ana, made)), "not (or no longer) open here")
	notOffered := button
	notOffered.Choice = chat.Happened
	has(w, "a choice that is not offered", w.Deliver(w.Replicas[0], w.Click(Ana, notOffered)), "not open for this call")
	equal(w, "ran", w.Tools.Ran(), "")
	w.Asks("write") // the card stays live
	equal(w, "Ana's whisper", w.Deliver(w.Replicas[0], w.Click(Ana, button)), "")
	w.Over(0)
	equal(w, "ran", w.Tools.Ran(), "write")
}

// Who calls themselves what stands for another account is not drawn as that one.
func TestANameThatIsAnAccount(t *testing.T) {
	w := New(t, Options{})
	w.SetPolicy(func(p *permission.Policy, _ tools) {
		p.Approvers = permission.Approvers{Rule: permission.ApproversListed, Users: []chat.User{Ben}}
	})
	w.Model.When("hi", Says("Hello."))
	w.Model.When("go", Calls(Call("write", `{}`)))
	in := w.SaidBy(Ben, "hi")
	in.Name = Root.String()
	w.Deliver(w.Replicas[0], in)
	w.Over(0)
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	has(w, "the card", w.Text(1), Ben.Key+text.CanAnswer)
}

// What somebody types is never a decision.
func TestWordsDecideNothing(t *testing.T) {
	w := New(t, Options{})
	w.Model.When("go", Calls(Call("write", `{}`)))
	w.Say(w.Replicas[0], Ana, "go")
	w.Asks("write")
	w.Say(w.Replicas[0], Ana, "yes, allow")
	w.Shows(0, "1 more message waits", "[Allow once]")
	equal(w, "ran", w.Tools.Ran(), "")
	w.Press(w.Replicas[0], Ana, chat.Deny, "write")
	w.Over(1)
	equal(w, "ran", w.Tools.Ran(), "")
}
