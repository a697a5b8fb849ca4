package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/card"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/script"
)

// hiding is a call that asks, of which the card masks a part.
func hiding(t *testing.T, approvals int) *script.Script {
	r := script.Rules("c1", "a1", permission.Ask, permission.Write)
	r.Ruling.Masked, r.Ruling.ChatGrant, r.Ruling.Approvals = true, false, approvals
	return script.Begin(t, script.Proposes("c1", "write_file", `{"password":"hunter2"}`)).Put(r)
}

// What a card masks counts as allowed only by those who looked at it, in the asking in force. Denying always counts.
func TestWhatIsMaskedIsAllowedByWhoLooked(t *testing.T) {
	hiding(t, 0).Shows(text.HiddenOnCard).Offers("reveal:a1", "allow_once:a1", "deny:a1", "view:a1", "deny_reason:a1", "extend:a1", "stop:a1").Decide(script.Ana, chat.AllowOnce).Is("c1", Awaiting, "")
	if got := hiding(t, 0).Decide(script.Ana, chat.Deny).Call("c1").Status; got != Denied {
		t.Errorf("denied, it is %s", got)
	}
	hiding(t, 0).Put(Revealed{Ask: "a1", By: script.Ben}).Decide(script.Ana, chat.AllowOnce).Is("c1", Awaiting, "")
	hiding(t, 0).Put(Revealed{Ask: "a0", By: script.Ana}).Decide(script.Ana, chat.AllowOnce).Is("c1", Awaiting, "")
	if n := len(hiding(t, 0).Put(Revealed{Ask: "a1"}).Call("c1").Revealed); n != 0 {
		t.Error("nobody looked")
	}
	if s := Apply(New(chat.ID{Platform: "web", Key: "c9"}), Entry{Seq: 1, Event: Revealed{Ask: "a1", By: script.Ana}}); s.Turn != nil {
		t.Error("a look began a turn")
	}
	ruled := hiding(t, 0).Call("c1")
	ruled.Args = []byte(`{"n":1}`)
	if !Masked(ruled) {
		t.Error("what was masked when it was ruled is masked no more")
	}
	long := hiding(t, 0)
	long.Session.Turn.Calls[0].Args = []byte(`{"password":"hunter2","text":"` + strings.Repeat("x", render.MaxArgs) + `"}`)
	long.Offers("deny:a1", "view:a1", "deny_reason:a1", "extend:a1", "stop:a1")
	x := hiding(t, 0).Put(Revealed{Ask: "a1", By: script.Ana, Name: "Ana"})
	if got := x.Call("c1").Revealed; len(got) != 1 || got[0].By != script.Ana || got[0].Ask != "a1" || got[0].Name != "Ana" || !got[0].At.Equal(x.Now) {
		t.Errorf("%+v", got)
	}
	if n := len(x.Fork().Put(Revealed{Ask: "a1", By: script.Ana}).Call("c1").Revealed); n != 1 {
		t.Errorf("one look is %d looks", n)
	}
	x.Fork().Decide(script.Ana, chat.AllowOnce).Is("c1", Allowed, "").Put(Withdrawn{Ask: "a1", By: script.Ana, Next: "a2"}).Decide(script.Ana, chat.AllowOnce).Is("c1", Awaiting, "")
	if n := len(x.Fork().Decide(script.Ana, chat.AllowOnce).Put(Revealed{Ask: "a1", By: script.Ben}).Call("c1").Revealed); n != 1 {
		t.Error("somebody looked at what was decided")
	}
	// Where two must allow it, both must have looked.
	hiding(t, 2).Put(Revealed{Ask: "a1", By: script.Ana}).Decide(script.Ana, chat.AllowOnce).Decide(script.Ben, chat.AllowOnce).Is("c1", Awaiting, "").
		Put(Revealed{Ask: "a1", By: script.Ben}).Decide(script.Ben, chat.AllowOnce).Is("c1", Allowed, "")
	// A ruling from before this was recorded: the log stays what it was.
	script.Begin(t, script.Proposes("c1", "write_file", `{"password":"hunter2"}`)).Put(script.Rules("c1", "a1", permission.Ask, permission.Write)).Decide(script.Ana, chat.AllowOnce).Is("c1", Allowed, "")
}

// That somebody looked is in the audit, and what they saw is not.
func TestALookIsAudited(t *testing.T) {
	x := hiding(t, 0).Put(Revealed{Ask: "a1", By: script.Ana, Name: "Ana"}).Put(Revealed{Ask: "a1", By: script.Ana, Name: "Ana"})
	n := 0
	for _, r := range audit.Records(x.Session.Chat, x.Log) {
		if r.Kind == audit.Reveal {
			n++
			if r.Outcome != audit.Revealed || r.By != script.Ana || r.Ask != "a1" || r.Redacted != 1 || strings.Contains(r.Args, "hunter2") {
				t.Errorf("%+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// A server could ask the model in logs of earlier versions: they are read as ever, who looked is on record, and there is nothing to allow.
func TestASampleOfAnEarlierVersion(t *testing.T) {
	x := script.Ran(t).Put(Elicited{Call: "c1", Run: "r1", Ask: "w1", Request: Elicitation{Kind: "sample", Prompt: []byte(`{"password":"hunter2"}`)}, Wait: time.Minute})
	x.Hides("hunter2").Offers("decline:w1", "stop:w1")
	x.Put(Revealed{Ask: "w1", By: script.Ana})
	if c := x.Call("c1"); !c.Saw("w1", script.Ana) || c.Saw("w1", script.Ben) {
		t.Errorf("%+v", c.Revealed)
	}
	if d := card.Hidden(hiding(t, 0).Call("c1")); !strings.Contains(d.Parts[1].Text, "hunter2") {
		t.Errorf("%+v", d)
	}
}
