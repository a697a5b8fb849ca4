package fakediscord_test

import (
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// click is a room with a message that asks, and a click on it.
func click(t *testing.T, what string) (*room, *fakediscord.Manual, *fakediscord.Delivery, string) {
	t.Helper()
	clock := fakediscord.NewManual()
	r := start(t, fakediscord.Options{Clock: clock})
	id := r.post(asking(row(sel(obj{"options": []any{obj{"label": "More", "value": "more"}}})))).id(t)
	d, err := r.Click(r.ana, r.general, id, what)
	if err != nil {
		t.Fatal(err)
	}
	return r, clock, d, id
}

func (r *room) answer(d *fakediscord.Delivery, body any) reply {
	r.t.Helper()
	return r.callWith("POST", "/interactions/"+d.ID+"/"+d.Token()+"/callback?with_response=true", body, "")
}

func (r *room) hook(d *fakediscord.Delivery, method, rest string, body any) reply {
	r.t.Helper()
	return r.callWith(method, "/webhooks/"+r.AppID()+"/"+d.Token()+rest, body, "")
}

func TestThreeSeconds(t *testing.T) {
	r, clock, d, _ := click(t, "Deny")
	clock.Advance(3 * time.Second)
	if _, err := d.Wait(within(t)); err == nil || !d.Failed() {
		t.Error("it should have failed")
	}
	r.answer(d, obj{"type": 6}).is(t, 404, 10062)
	r.callWith("POST", "/interactions/1/x/callback", obj{"type": 6}, "").is(t, 404, 10062)
	r.callWith("POST", "/interactions/"+d.ID+"/x/callback", obj{"type": 6}, "").is(t, 404, 10062)
}

func TestInTimeAndOnce(t *testing.T) {
	r, clock, d, _ := click(t, "Deny")
	clock.Advance(3*time.Second - 1)
	r.answer(d, obj{"type": 6}).is(t, 200, 0)
	r.answer(d, obj{"type": 9, "data": form1()}).is(t, 400, 40060) // no modal after that
	a, err := d.Wait(within(t))
	if err != nil || a.Type != fakediscord.CallbackDeferUpdate || !a.At.Equal(clock.Now()) {
		t.Errorf("%v %v", a, err)
	}
	r.hook(d, "PATCH", "/messages/@original", obj{"components": []any{text("done")}}).is(t, 200, 0)
}

func TestEphemeralAnswers(t *testing.T) {
	r, clock, d, id := click(t, "Deny")
	w := r.ready()
	a := r.answer(d, obj{"type": 4, "data": obj{"content": "not for you", "flags": 64}})
	equal(t, "ephemeral", at(a.obj, "interaction", "response_message_ephemeral"), true)
	seen := r.Seen(r.ana, r.general)
	if len(seen) != 1 || seen[0].Text() != "not for you" || len(r.Seen(r.ben, r.general)) != 0 || len(r.Messages(r.general)) != 1 {
		t.Fatalf("%+v", seen)
	}
	r.call("PATCH", r.messages()+"/"+seen[0].ID, obj{"content": "x"}).is(t, 404, 10008) // only by the token
	r.hook(d, "PATCH", "/messages/@original", obj{"content": "still not"}).is(t, 200, 0)
	more := r.hook(d, "POST", "", with(v2(row(button("q", "Quietly"))), "flags", 32768|64)).id(t)
	if _, err := r.Click(r.ben, r.general, more, "Quietly"); err == nil {
		t.Error("nobody else sees it")
	}
	if _, err := r.ClickSeen(r.ana, r.general, "Quietly"); err != nil {
		t.Error(err)
	}
	equal(t, "all that the gateway says", w.op(0)["t"], "INTERACTION_CREATE")
	r.hook(d, "DELETE", "/messages/"+more, nil).is(t, 204, 0)
	r.hook(d, "PATCH", "/messages/"+id, obj{"content": "x"}).is(t, 404, 10008) // not this token's
	clock.Advance(fakediscord.TokenFor + time.Second)
	r.hook(d, "PATCH", "/messages/@original", obj{"content": "x"}).is(t, 401, 50027)
}

func TestDeferring(t *testing.T) {
	r, _, d, _ := click(t, "Deny")
	r.hook(d, "POST", "", obj{"content": "x"}).is(t, 404, 10015) // not answered yet
	r.answer(d, obj{"type": 5, "data": obj{"flags": 32768}}).is(t, 400, 50035)
	r.answer(d, obj{"type": 5}).is(t, 200, 0)
	m := r.Mine(r.general)[1]
	if m.Flags&fakediscord.FlagLoading == 0 {
		t.Error("it is loading")
	}
	// the first followup after a deferral is the deferred message itself
	equal(t, "edited", r.hook(d, "POST", "", v2(text("here"))).id(t), m.ID)
	if m, _ = r.Message(r.general, m.ID); m.Text() != "here" || m.Flags&fakediscord.FlagLoading != 0 || m.Webhook != r.AppID() {
		t.Errorf("%+v", m)
	}
	second := r.hook(d, "POST", "", obj{"content": "and"}).id(t)
	if second == m.ID {
		t.Error("a second followup is a message of its own")
	}
	r.call("PATCH", r.messages()+"/"+second, obj{"content": "by the channel"}).is(t, 200, 0)
	r.hook(d, "DELETE", "/messages/@original", nil).is(t, 204, 0)
	r.hook(d, "GET", "/messages/@original", nil).is(t, 404, 10008)
}

func form1(more ...any) obj {
	return obj{"custom_id": "f", "title": "Why?", "components": append([]any{row(obj{"type": 4, "custom_id": "why", "style": 2, "label": "Reason", "required": true, "max_length": 10})}, more...)}
}

func TestModals(t *testing.T) {
	r, _, d, id := click(t, "Deny")
	w := r.ready()
	r.answer(d, obj{"type": 9, "data": form1(obj{"type": 18, "label": "More", "component": obj{"type": 4, "custom_id": "more", "style": 1, "value": "v", "required": false}})}).is(t, 200, 0)
	open := r.Modals(r.ana)
	if len(open) != 1 || open[0].Title != "Why?" || len(open[0].Inputs) != 2 || open[0].Inputs[0].Label != "Reason" || open[0].Inputs[1].Value != "v" {
		t.Fatalf("%+v", open)
	}
	for _, bad := range []map[string]string{{"why": ""}, {"why": "eleven char"}, {"what": "x"}} {
		if _, err := r.Submit(r.ana, bad); err == nil {
			t.Errorf("the form let %v through", bad)
		}
	}
	d, err := r.Submit(r.ana, map[string]string{"why": "no"})
	if err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	equal(t, "row", at(in, "data", "components", 0, "components", 0, "value"), "no")
	equal(t, "label", at(in, "data", "components", 1, "component", "value"), "v")
	equal(t, "message", at(in, "message", "id"), id)
	r.answer(d, obj{"type": 9, "data": form1()}).is(t, 400, 50035) // no modal for a modal
	equal(t, "still open", len(r.Modals(r.ana)), 1)
	r.answer(d, obj{"type": 7, "data": v2(text("denied: no"))}).is(t, 200, 0)
	equal(t, "closed", len(r.Modals(r.ana)), 0)
	m, _ := r.Message(r.general, id)
	equal(t, "updated", m.Text(), "denied: no")
}

func TestWhatModalsMayHave(t *testing.T) {
	input := func(more obj) obj {
		o := obj{"type": 4, "custom_id": "a", "style": 1, "label": "A"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	of := func(rows ...any) obj { return obj{"custom_id": "f", "title": "T", "components": rows} }
	for _, tt := range []struct {
		name  string
		good  obj
		bad   obj
		where string
	}{
		{"title", with(of(row(input(nil))), "title", rep(45)), with(of(row(input(nil))), "title", rep(46)), "data.title"},
		{"rows", of(many(5, func(i int) any { return row(input(obj{"custom_id": string(rune('a' + i))})) })...), of(many(6, func(i int) any { return row(input(obj{"custom_id": string(rune('a' + i))})) })...), "data.components"},
		{"no rows", of(row(input(nil))), with(of(), "components", []any{}), "data.components"},
		{"two in a row", of(row(input(nil))), of(row(input(nil), input(obj{"custom_id": "b"}))), "data.components.0.components"},
		{"a button", of(row(input(nil))), of(row(button("a", "A"))), "data.components.0.components.0.type"},
		{"label", of(row(input(obj{"label": rep(45)}))), of(row(input(obj{"label": rep(46)}))), "data.components.0.components.0.label"},
		{"value", of(row(input(obj{"value": rep(4000)}))), of(row(input(obj{"value": rep(4001)}))), "data.components.0.components.0.value"},
		{"max_length", of(row(input(obj{"max_length": 4000}))), of(row(input(obj{"max_length": 4001}))), "data.components.0.components.0.max_length"},
		{"value over max_length", of(row(input(obj{"max_length": 3, "value": "abc"}))), of(row(input(obj{"max_length": 2, "value": "abc"}))), "data.components.0.components.0.value"},
		{"placeholder", of(row(input(obj{"placeholder": rep(100)}))), of(row(input(obj{"placeholder": rep(101)}))), "data.components.0.components.0.placeholder"},
		{"custom_id twice", of(row(input(nil)), row(input(obj{"custom_id": "b"}))), of(row(input(nil)), row(input(nil))), "data.components.1.components.0.custom_id"},
		{"style", of(row(input(obj{"style": 2}))), of(row(input(obj{"style": 3}))), "data.components.0.components.0.style"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _, d, _ := click(t, "Deny")
			a := r.answer(d, obj{"type": 9, "data": tt.bad})
			a.is(t, 400, 50035)
			foundAny(t, a.obj, tt.where)
			if _, answered := d.Answered(); answered {
				t.Error("a refused callback is no answer")
			}
			r.answer(d, obj{"type": 9, "data": tt.good}).is(t, 200, 0)
		})
	}
}

func foundAny(t *testing.T, answer obj, where string) {
	t.Helper()
	list, _ := at(answer["errors"], append(steps(where), "_errors")...).([]any)
	if len(list) == 0 {
		t.Errorf("nothing at %s: %s", where, asJSON(answer))
	}
}

func TestSelectsAndStaleClicks(t *testing.T) {
	r, _, _, id := click(t, "Deny")
	w := r.ready()
	if _, err := r.Choose(r.ana, r.general, id, "More"); err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	equal(t, "values", at(in, "data", "values"), []any{"more"})
	equal(t, "type", at(in, "data", "component_type"), 3)
	r.call("PATCH", r.messages()+"/"+id, obj{"components": []any{text("over")}}).is(t, 200, 0)
	if _, err := r.Click(r.ana, r.general, id, "Deny"); err == nil {
		t.Error("the button is gone")
	}
	if _, err := r.ClickStale(r.ana, r.general, id, 0, "Deny"); err != nil {
		t.Error(err)
	}
	equal(t, "the message as it is now", at(w.event("INTERACTION_CREATE"), "message", "components", 0, "content"), "over")
	disabled := r.post(v2(row(with(button("d", "D"), "disabled", true)))).id(t)
	if _, err := r.Click(r.ana, r.general, disabled, "D"); err == nil {
		t.Error("it is disabled")
	}
}

func TestInADM(t *testing.T) {
	r := start(t, fakediscord.Options{})
	w := r.ready()
	dm := r.OpenDM(r.ana)
	id := r.call("POST", "/channels/"+dm+"/messages", asking()).id(t)
	if _, err := r.Click(r.ana, dm, id, "Deny"); err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	if at(in, "user", "id") != r.ana || in["member"] != nil || in["guild_id"] != nil || in["context"] != 1.0 {
		t.Errorf("%v", in)
	}
	if _, err := r.Click(r.ben, dm, id, "Deny"); err == nil {
		t.Error("it is not Ben's")
	}
}
