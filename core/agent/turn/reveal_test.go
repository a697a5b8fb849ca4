package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// hiding is a call that asks, of which the card masks a part.
func hiding(t *testing.T, approvals int) *script {
	r := rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Masked, r.Ruling.ChatGrant, r.Ruling.Approvals = true, false, approvals
	return begin(t, proposes("c1", "write_file", `{"password":"hunter2"}`)).put(r)
}

func (x *script) decide(by chat.User, choice chat.Choice) *script {
	return x.put(Decided{Ask: x.call("c1").Ask, Digest: x.call("c1").Digest, Choice: choice, By: by})
}

// What a card masks counts as allowed only by those who looked at it, in the asking in force. Denying always counts.
func TestWhatIsMaskedIsAllowedByWhoLooked(t *testing.T) {
	hiding(t, 0).shows(render.HiddenOnCard).offers("reveal:a1", "allow_once:a1", "deny:a1", "deny_reason:a1", "view:a1", "why:a1", "extend:a1", "stop:t1").decide(ana, chat.AllowOnce).is("c1", Awaiting, "")
	if got := hiding(t, 0).decide(ana, chat.Deny).call("c1").Status; got != Denied {
		t.Errorf("denied, it is %s", got)
	}
	hiding(t, 0).put(Revealed{Ask: "a1", By: ben}).decide(ana, chat.AllowOnce).is("c1", Awaiting, "")
	hiding(t, 0).put(Revealed{Ask: "a0", By: ana}).decide(ana, chat.AllowOnce).is("c1", Awaiting, "")
	if n := len(hiding(t, 0).put(Revealed{Ask: "a1"}).call("c1").Revealed); n != 0 {
		t.Error("nobody looked")
	}
	if s := Apply(New(chat.ID{Platform: "web", Key: "c9"}), Entry{Seq: 1, Event: Revealed{Ask: "a1", By: ana}}); s.Turn != nil {
		t.Error("a look began a turn")
	}
	ruled := hiding(t, 0).call("c1")
	ruled.Args = []byte(`{"n":1}`)
	if !Masked(ruled) {
		t.Error("what was masked when it was ruled is masked no more")
	}
	long := hiding(t, 0)
	long.s.Turn.Calls[0].Args = []byte(`{"password":"hunter2","text":"` + strings.Repeat("x", render.MaxArgs) + `"}`)
	long.offers("deny:a1", "deny_reason:a1", "view:a1", "why:a1", "extend:a1", "stop:t1")
	x := hiding(t, 0).put(Revealed{Ask: "a1", By: ana, Name: "Ana"})
	if got := x.call("c1").Revealed; len(got) != 1 || got[0].By != ana || got[0].Ask != "a1" || got[0].Name != "Ana" || !got[0].At.Equal(x.at) {
		t.Errorf("%+v", got)
	}
	if n := len(x.fork().put(Revealed{Ask: "a1", By: ana}).call("c1").Revealed); n != 1 {
		t.Errorf("one look is %d looks", n)
	}
	x.fork().decide(ana, chat.AllowOnce).is("c1", Allowed, "").put(Withdrawn{Ask: "a1", By: ana, Next: "a2"}).decide(ana, chat.AllowOnce).is("c1", Awaiting, "")
	if n := len(x.fork().decide(ana, chat.AllowOnce).put(Revealed{Ask: "a1", By: ben}).call("c1").Revealed); n != 1 {
		t.Error("somebody looked at what was decided")
	}
	// Where two must allow it, both must have looked.
	hiding(t, 2).put(Revealed{Ask: "a1", By: ana}).decide(ana, chat.AllowOnce).decide(ben, chat.AllowOnce).is("c1", Awaiting, "").
		put(Revealed{Ask: "a1", By: ben}).decide(ben, chat.AllowOnce).is("c1", Allowed, "")
	// A ruling from before this was recorded: the log stays what it was.
	begin(t, proposes("c1", "write_file", `{"password":"hunter2"}`)).put(rules("c1", "a1", permission.Ask, permission.Write)).decide(ana, chat.AllowOnce).is("c1", Allowed, "")
}

// That somebody looked is in the audit, and what they saw is not.
func TestALookIsAudited(t *testing.T) {
	x := hiding(t, 0).put(Revealed{Ask: "a1", By: ana, Name: "Ana"}).put(Revealed{Ask: "a1", By: ana, Name: "Ana"})
	n := 0
	for _, r := range Audit(x.s.Chat, x.log) {
		if r.Kind == AuditReveal {
			n++
			if r.Outcome != AuditRevealed || r.By != ana || r.Ask != "a1" || r.Redacted != 1 || strings.Contains(r.Args, "hunter2") {
				t.Errorf("%+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// Of what a running tool's server would have the model read it is the same.
func TestALookAtASample(t *testing.T) {
	x := ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantSample, Prompt: []byte(`{"password":"hunter2"}`)}, Wait: time.Minute})
	x.shows(render.HiddenOnCard).offers("reveal:w1", "answer:w1", "decline:w1", "view:w1", "stop:t1")
	x.put(Revealed{Ask: "w1", By: ana})
	if c := x.call("c1"); !c.Saw("w1", ana) || c.Saw("w1", ben) {
		t.Errorf("%+v", c.Revealed)
	}
	if d := Hidden(x.call("c1"), "a1"); strings.Contains(d.Parts[1].Text, "hunter2") {
		t.Errorf("of another asking: %+v", d)
	}
	if d := Hidden(hiding(t, 0).call("c1"), "a1"); !strings.Contains(d.Parts[1].Text, "hunter2") {
		t.Errorf("%+v", d)
	}
	plain := ran(t).put(Wanted{Call: "c1", Run: "r1", Ask: "w1", Want: Want{Kind: WantSample, Prompt: []byte(`{"a":1}`)}, Wait: time.Minute})
	plain.hides(render.HiddenOnCard).offers("answer:w1", "decline:w1", "view:w1", "stop:t1")
	if (Want{Kind: WantURL, Prompt: []byte(`{"password":"hunter2"}`)}).Masked() {
		t.Error("an address has no prompt")
	}
}
