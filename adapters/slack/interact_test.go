package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// buttonFor is a button as it stands on our messages.
func buttonFor(c chat.Choice, token string) fakeslack.Button {
	return fakeslack.Button{BlockID: "b", ActionID: "nod:" + string(c) + ":1", Type: "button", Text: string(c), Value: token}
}

// press presses it and waits until that is acknowledged.
func (sc *scene) press(user, channel, ts string, b fakeslack.Button) *fakeslack.Delivery {
	sc.t.Helper()
	d, err := sc.slack.Press(user, channel, ts, b)
	if err != nil {
		sc.t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		sc.t.Fatalf("%v; the log:\n%s", err, sc.log)
	}
	return d
}

// thread is a message in C1 and a reply to it, which nod takes for its own.
func (sc *scene) thread() (root, reply string) {
	root = sc.slack.Say("UBEN", "C1", "", "a thread")
	reply = sc.slack.Say("UBEN", "C1", root, "a reply")
	sc.quiet()
	return root, reply
}

func TestAClick(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	d := sc.press("UANA", "C1", ts, buttonFor(chat.AllowChat, "tok"))
	click := only[chat.Clicked](sc)
	if click.User != ana || click.Name != "Ana" || click.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: root}).Chat() || click.Message != chat.MessageRef(ts) ||
		click.Token != "tok" || click.Choice != chat.AllowChat || click.Delivery == "" || click.Reply == (chat.ReplyHandle{}) {
		t.Errorf("%+v", click)
	}
	sc.slack.Redeliver(d, true)
	sc.until("it is acknowledged again", func() bool { return sc.slack.Acks(d.Attempts()[0].Envelope) == 2 })
	only[chat.Clicked](sc)
	sc.press("UANA", "C1", ts, buttonFor(chat.AllowChat, "tok"))
	if got := sc.ledger.got(); len(got) != 2 {
		t.Error("a second click is taken for the first")
	}
	if ref := (messageAt{"C1", ts}); !slices.ContainsFunc(sc.a.urls.all, func(r *responseURL) bool { return r.ref == ref }) {
		t.Error("the click's response_url is not kept for edits of the message")
	}
}

// Who clicked is what the envelope says, whatever else names a user. 17: an empty attachment_id is no reason to lose a click.
func TestAForgedUserInAPayloadIsIgnored(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	b := buttonFor(chat.AllowOnce, "tok")
	payload, err := json.Marshal(map[string]any{
		"type": "block_actions", "user": map[string]any{"id": "UANA", "team_id": "T1"}, "team": map[string]any{"id": "T1"}, "response_url": "https://hooks.example.com/x",
		"channel":   map[string]any{"id": "C1", "user": "UBEN"},
		"message":   map[string]any{"ts": "1700000002.000001", "thread_ts": "1700000001.000001", "user": "UBEN", "user_id": "UBEN", "blocks": []any{17}},
		"container": map[string]any{"type": "message", "message_ts": "1700000002.000001", "thread_ts": "1700000001.000001", "channel_id": "C1", "user": "UBEN", "attachment_id": ""},
		"state":     map[string]any{"values": map[string]any{}, "user": "UBEN"},
		"actions":   []any{map[string]any{"type": "button", "action_id": b.ActionID, "block_id": "b", "value": "tok", "action_ts": "1.2", "user": map[string]any{"id": "UBEN"}, "selected_user": "UBEN"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sc.raw(`{"envelope_id":"forged","type":"interactive","payload":` + string(payload) + `}`)
	sc.until("it is acknowledged", func() bool { return sc.slack.Acks("forged") == 1 })
	if click := only[chat.Clicked](sc); click.User != ana || click.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}).Chat() {
		t.Errorf("%+v", click)
	}
}

// Slack does not send a click again: it is acknowledged in any case, and the person is told what is certain.
func TestAClickThatIsNotRecordedIsAnsweredHonestly(t *testing.T) {
	for _, over := range []bool{overSocket, overHTTP} {
		sc := newScene(t, over)
		if over == overSocket {
			sc.connected()
		}
		_, ts := sc.thread()
		sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return errDown } })
		sc.press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
		if say := sc.told("UANA")[0]; !strings.Contains(say, "not recorded, try again") {
			t.Errorf("told: %q", say)
		}
		if strings.Contains(strings.Join(sc.told("UANA"), ""), errDown.Error()) {
			t.Error("a person reads an error of the program")
		}
		if len(sc.told("UBEN")) != 0 {
			t.Error("somebody else is told")
		}
	}
}

func TestWhoMayNotDecideIsToldSoAndNothingIsRecorded(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	_, ts := sc.thread()
	for user, want := range map[string]string{"UGUEST": sayGuest, "UEXT": sayExternal, "UGONE": surface.SayNotAPerson} {
		sc.press(user, "C1", ts, buttonFor(chat.AllowOnce, "tok"))
		sc.until(user+" is told", func() bool { return len(sc.told(user)) == 1 })
		if got := sc.told(user)[0]; got != want {
			t.Errorf("%s is told %q", user, got)
		}
	}
	sc.slack.Fail("users.info", 99, fakeslack.Fault{Error: "internal_error"})
	sc.press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != sayWhoUnknown {
		t.Errorf("told: %q", got)
	}
	if got := sc.ledger.asked(); len(got) != 0 {
		t.Errorf("taken: %+v", got)
	}
}

// Slack takes its time for what one person is told or shown. A click is not kept waiting by that, of another person on the same message or of
// the same one: it would not be acknowledged in time.
func TestASlowAnswerHoldsUpNoClick(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		users  []string
		choice chat.Choice
	}{
		"another is refused":           {"response_url", []string{"UGUEST"}, chat.AllowOnce},
		"who others are is not known":  {"users.info", []string{"UNEW1", "UNEW2", "UNEW3"}, chat.AllowOnce},
		"the same person opens a form": {"views.open", []string{"UANA"}, chat.DenyReason},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket).connected()
			for _, user := range c.users {
				if strings.HasPrefix(user, "UNEW") {
					sc.slack.AddUser(fakeslack.User{ID: user, Name: "Nell"})
				}
			}
			root, ts := sc.thread()
			sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
			sc.press("UANA", "C1", ts, buttonFor(chat.AllowChat, "first")) // who she is is known from here on
			only[chat.Clicked](sc)
			hold, asked := make(chan struct{}), make(chan struct{}, 9)
			defer close(hold)
			sc.slack.FailWhen(c.method, func(fakeslack.Call) *fakeslack.Fault {
				asked <- struct{}{}
				return &fakeslack.Fault{Hold: hold}
			})
			for _, user := range c.users {
				if _, err := sc.slack.Press(user, "C1", ts, buttonFor(c.choice, "tok")); err != nil {
					t.Fatal(err)
				}
			}
			<-asked
			sc.press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
			if all := sc.ledger.got(); len(all) != 2 {
				t.Errorf("taken: %+v; the log:\n%s", all, sc.log)
			}
		})
	}
}

func TestGuestsMayStopAndWithTheSettingDecide(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.External = true }).connected()
	_, ts := sc.thread()
	sc.press("UGUEST", "C1", ts, buttonFor(chat.Stop, "turn"))
	sc.press("UEXT", "C1", ts, buttonFor(chat.Deny, "tok"))
	got := sc.ledger.got()
	if len(got) != 2 || got[0].From().User.Key != "UGUEST" || got[1].From().User != (chat.User{Platform: Platform, Workspace: "T9", Key: "UEXT"}) {
		t.Errorf("%+v", got)
	}
}

// modal opens a form or the details and returns it.
func (sc *scene) modal(user, ts string, c chat.Choice, token string) fakeslack.View {
	sc.t.Helper()
	before := len(sc.slack.Views(user))
	sc.press(user, "C1", ts, buttonFor(c, token))
	sc.until("a modal is open", func() bool { return len(sc.slack.Views(user)) == before+1 })
	return sc.slack.Views(user)[before]
}

func TestDenyWithAReason(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UANA", ts, chat.DenyReason, "tok")
	d, err := sc.slack.SubmitView("UANA", v.ID, map[string]string{"reason": " not now "})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	sc.until("the modal is closed", func() bool { return len(sc.slack.Views("UANA")) == 0 })
	sc.ledger.mu.Lock()
	defer sc.ledger.mu.Unlock()
	if len(sc.ledger.decided) != 1 {
		t.Fatalf("decided: %+v", sc.ledger.decided)
	}
	got := sc.ledger.decided[0]
	if got.Choice != chat.Deny || got.Reason != "not now" || got.Token != "tok" || got.User != ana || got.Chat != id || got.Message != chat.MessageRef(ts) || got.Delivery == "" {
		t.Errorf("%+v", got)
	}
}

func TestEditingArguments(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UANA", ts, chat.Edit, "tok")
	submit := func(args string) {
		t.Helper()
		d, err := sc.slack.SubmitView("UANA", v.ID, map[string]string{"args": args})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(sc.ctx); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() string { return sc.slack.Views("UANA")[0].Errors["args"] }
	sc.ledger.set(func() {
		sc.ledger.refuse = func(chat.Clicked) error {
			return &decision.Refusal{Code: decision.RefusedArguments, Say: "That is not JSON."}
		}
	})
	submit("{")
	sc.until("the form says what is wrong", func() bool { return shown() == "That is not JSON." })
	sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return errDown } })
	submit("{}")
	sc.until("the form says that it was not recorded", func() bool { return strings.Contains(shown(), "not recorded, try again") })
	sc.ledger.set(func() { sc.ledger.refuse = nil })
	submit(`{"path":"todo.txt"}`)
	sc.until("the modal is closed", func() bool { return len(sc.slack.Views("UANA")) == 0 })
	sc.ledger.mu.Lock()
	defer sc.ledger.mu.Unlock()
	all := sc.ledger.decided
	if len(all) != 3 || all[2].Choice != chat.Edit || all[2].Args != `{"path":"todo.txt"}` || all[2].Token != "tok" {
		t.Fatalf("%+v", all)
	}
	if all[0].Delivery == all[1].Delivery || all[1].Delivery == all[2].Delivery {
		t.Error("a corrected form is taken for the first one")
	}
}

func TestAFormOfAGuestIsRefusedInTheForm(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UANA", ts, chat.DenyReason, "tok")
	sc.slack.AddUser(fakeslack.User{ID: "UANA", Name: "Ana", Guest: true})
	sc.a.in.people.mu.Lock()
	sc.a.in.people.recent = surface.Cache[*question[Person]]{}
	sc.a.in.people.mu.Unlock()
	if _, err := sc.slack.SubmitView("UANA", v.ID, map[string]string{"reason": "no"}); err != nil {
		t.Fatal(err)
	}
	sc.until("the form says so", func() bool { v := sc.slack.Views("UANA"); return len(v) == 1 && v[0].Errors["reason"] == sayGuest })
	sc.ledger.mu.Lock()
	defer sc.ledger.mu.Unlock()
	if len(sc.ledger.decided) != 0 {
		t.Error("it was decided")
	}
}

func TestDetails(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UGUEST", ts, chat.ViewDetail, "tok") // they see the message anyway
	if !strings.Contains(string(v.Blocks), "notes.txt") {
		t.Errorf("%s", v.Blocks)
	}
	if len(sc.ledger.asked()) != 0 {
		t.Error("looking decided something")
	}
	sc.press("UANA", "C1", ts, buttonFor(chat.ViewDetail, "gone"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != surface.SayNoDetails {
		t.Errorf("told: %q", got)
	}
}

// A row of a list has no menu of its own: the details answer with all that the card of the call alone offers, and say what came of it.
func TestDetailsOfferWhatTheCardDoes(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok", "other")
	sc.wide(id)
	v := sc.modal("UANA", ts, chat.ViewDetail, "tok")
	offered := map[string]fakeslack.Button{}
	for _, b := range sc.slack.ViewButtons(v.ID) {
		offered[b.Text] = b
	}
	for _, label := range []string{text.LabelAllowOnce, text.LabelDeny, text.LabelEdit, text.LabelDenyReason, text.LabelAllowExact, text.LabelAllowHour, text.LabelAllowUses(3), text.LabelAllowChat,
		text.LabelAllowReads("files"), text.LabelAllowWrites("files"), text.LabelAllowServer("files"), "☐ " + text.LabelRemember, text.LabelAllowSession} {
		if offered[label].ActionID == "" {
			t.Errorf("%q is not offered: %v", label, offered)
		}
	}
	if ask := offered[text.LabelAllowServer("files")].Asks; ask != text.ConfirmServer("files") {
		t.Errorf("it is asked %q", ask)
	}
	if v = sc.inView("UANA", text.LabelAllowHour); !strings.Contains(string(v.Blocks), sayRecorded) {
		t.Errorf("%s", v.Blocks)
	}
	var asked []chat.Clicked
	sc.ledger.set(func() { asked = slices.Clone(sc.ledger.decided) })
	if len(asked) != 1 || asked[0].Choice != chat.AllowHour || asked[0].Token != "tok" || asked[0].Chat != id || asked[0].User != ana || asked[0].Message != chat.MessageRef(ts) || asked[0].Delivery == "" {
		t.Fatalf("%+v", asked)
	}
	sc.ledger.set(func() {
		sc.ledger.refuse = func(chat.Clicked) error { return &decision.Refusal{Say: "Already denied by Ben."} }
	})
	if v = sc.inView("UANA", text.LabelAllowOnce); !strings.Contains(string(v.Blocks), "Already denied by Ben.") {
		t.Errorf("%s", v.Blocks)
	}
	if v = sc.inView("UANA", text.LabelEdit); v.Title != surface.SayEditCall || len(sc.slack.Views("UANA")) != 2 {
		t.Errorf("%+v", v)
	}
}

// Whoever may not decide is told so where they clicked.
func TestAGuestInTheDetails(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	sc.modal("UGUEST", ts, chat.ViewDetail, "tok")
	if v := sc.inView("UGUEST", text.LabelAllowOnce); !strings.Contains(string(v.Blocks), sayGuest) || len(sc.ledger.asked()) != 0 {
		t.Errorf("%s", v.Blocks)
	}
}

func TestATriggerThatIsTooOldIsSaid(t *testing.T) {
	for _, code := range []string{"expired_trigger_id", "trigger_expired", "exchanged_trigger_id"} {
		sc := newScene(t, overSocket).connected()
		root, ts := sc.thread()
		sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
		sc.slack.Fail("views.open", 1, fakeslack.Fault{Error: code})
		sc.press("UANA", "C1", ts, buttonFor(chat.DenyReason, "tok"))
		sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
		if got := sc.told("UANA")[0]; got != "Slack closed the window for opening this form. Click again." {
			t.Errorf("told: %q", got)
		}
	}
}

func TestAFormForACallThatNoLongerWaits(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	_, ts := sc.thread()
	sc.press("UANA", "C1", ts, buttonFor(chat.Edit, "tok"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != surface.SayNotOpen {
		t.Errorf("told: %q", got)
	}
}

// What a form remembers is signed by Slack, but of another workspace it is nobody's.
func TestAFormOfAnotherWorkspaceDecidesNothing(t *testing.T) {
	l := newLedger()
	a, _ := postbox(t, l, &lines{})
	for _, meta := range []string{"", "{", blocks.Form{Place: blocks.Place{Team: "T9", Channel: "C1", Thread: "1.2"}, Token: "tok", Choice: chat.DenyReason}.Metadata()} {
		in := inbound.Interaction{Type: "view_submission", Team: inbound.TeamRef{ID: "T1"}, User: "UANA"}
		in.View.Callback, in.View.Metadata, in.View.ID = blocks.CallbackDeny, inbound.LooseString(meta), "V1"
		r, err := a.serve(context.Background(), in)
		raw, _ := json.Marshal(r.body)
		if err != nil || !strings.Contains(string(raw), `"response_action":"errors"`) || !strings.Contains(string(raw), sayNoPlace) {
			t.Errorf("%q: %s, %v", meta, raw, err)
		}
	}
	if len(l.decided) != 0 {
		t.Error("it was decided")
	}
}

// Neither do details that are nobody's.
func TestAClickInDetailsOfAnotherWorkspaceDecidesNothing(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	for i, meta := range []string{"", "{", blocks.Form{Place: blocks.Place{Team: "T9", Channel: "C1", Thread: "1.2"}, Token: "tok", Choice: chat.ViewDetail}.Metadata()} {
		payload, _ := json.Marshal(map[string]any{
			"type": "block_actions", "api_app_id": "A0FAKE", "team": map[string]any{"id": "T1"}, "user": map[string]any{"id": "UANA"}, "trigger_id": fmt.Sprint("t", i),
			"container": map[string]any{"type": "view", "view_id": "V1"}, "view": map[string]any{"id": "V1", "type": "modal", "private_metadata": meta},
			"actions": []any{map[string]any{"type": "button", "action_id": "nod:allow_once:1", "block_id": "b", "value": "tok", "action_ts": "1.2"}},
		})
		in, err := inbound.DecodeInteraction(payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sc.a.serve(sc.ctx, in); err != nil || len(sc.ledger.asked()) > 0 || len(sc.ledger.decided) > 0 {
			t.Errorf("%q: %v, taken %+v, decided %+v", meta, err, sc.ledger.asked(), sc.ledger.decided)
		}
	}
}

// A form that comes twice from the same person is done; that somebody else was first, or that it was decided otherwise, they have to read.
func TestAFormAboutWhatWasDecidedBefore(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ben := userOf("T1", "UBEN")
	submit := func(name string, choice chat.Choice, callback, want string) {
		t.Helper()
		meta := blocks.Form{Place: blocks.Place{Team: "T1", Channel: "C1", Thread: "1.2"}, Token: "tok", Choice: choice}.Metadata()
		in, err := inbound.DecodeInteraction([]byte(fmt.Sprintf(`{"type":"view_submission","api_app_id":"A0FAKE","team":{"id":"T1"},"user":{"id":"UANA"},"trigger_id":%q,
			"view":{"id":"V1","callback_id":%q,"private_metadata":%q}}`, name, callback, meta)))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := sc.a.serve(sc.ctx, in); err != nil || !strings.Contains(jsonOf(r.body), want) {
			t.Errorf("%s: answered %s, %v; want %s", name, jsonOf(r.body), err, want)
		}
	}
	for name, x := range map[string]struct {
		no   decision.Refusal
		want string
	}{
		"the same again":       {decision.Refusal{Code: decision.RefusedDecided, By: ana, Choice: chat.Deny}, `"clear"`},
		"somebody else did":    {decision.Refusal{Code: decision.RefusedDecided, By: ben, Choice: chat.Deny}, "Too late."},
		"they did otherwise":   {decision.Refusal{Code: decision.RefusedDecided, By: ana, Choice: chat.AllowOnce}, "Too late."},
		"it is another reason": {decision.Refusal{Code: decision.RefusedArguments, By: ana, Choice: chat.Deny}, "Too late."},
	} {
		x.no.Say = "Too late."
		sc.ledger.set(func() { sc.ledger.refuse = func(chat.Clicked) error { return &x.no } })
		submit(name, chat.DenyReason, blocks.CallbackDeny, x.want)
	}
	sc.ledger.set(func() { sc.ledger.unread = errDown })
	submit("the chat cannot be read", chat.Answer, blocks.CallbackAnswer, "not recorded, try again")
}

func TestAnAnswerToAFormIsSmall(t *testing.T) {
	l := newLedger()
	l.refuse = func(chat.Clicked) error { return &decision.Refusal{Say: strings.Repeat("é", 50_000)} }
	sc := newScene(t, overSocket).connected()
	sc.ledger.set(func() { sc.ledger.refuse = l.refuse })
	root, ts := sc.thread()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	v := sc.modal("UANA", ts, chat.DenyReason, "tok")
	if _, err := sc.slack.SubmitView("UANA", v.ID, map[string]string{"reason": "no"}); err != nil {
		t.Fatal(err)
	}
	sc.until("the form says so", func() bool {
		v := sc.slack.Views("UANA")
		return len(v) == 1 && strings.HasPrefix(v[0].Errors["reason"], "éé")
	})
}

// A form would have to show what the card masks.
func TestACallWithASecretIsNotEdited(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	root, ts := sc.thread()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: root}, ana, "tok")
	sc.ledger.set(func() { sc.ledger.sessions[id].Turn.Calls[0].Args = []byte(`{"password":"hunter2hunter2"}`) })
	sc.press("UANA", "C1", ts, buttonFor(chat.Edit, "tok"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 1 })
	if got := sc.told("UANA")[0]; got != text.NotEditable || len(sc.slack.Views("UANA")) > 0 {
		t.Errorf("told: %q", got)
	}
	sc.press("UANA", "C1", ts, buttonFor(chat.DenyReason, "gone"))
	sc.until("Ana is told", func() bool { return len(sc.told("UANA")) == 2 })
	sc.modal("UANA", ts, chat.DenyReason, "tok") // shows nothing of it
	sc.ledger.set(func() {
		sc.ledger.refuses = func(chat.Clicked) *decision.Refusal { return &decision.Refusal{Say: "Only Ben may."} }
	})
	sc.press("UANA", "C1", ts, buttonFor(chat.DenyReason, "tok")) // nobody writes for nothing
	sc.until("Ana is told", func() bool {
		return slices.Equal(sc.told("UANA"), []string{text.NotEditable, surface.SayNotOpen, "Only Ben may."})
	})
}
