package fakediscord_test

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func steps(where string) []any {
	var out []any
	for _, s := range strings.Split(where, ".") {
		out = append(out, s)
	}
	return out
}

func nod() obj {
	sub := func(name string, options ...any) obj {
		return obj{"type": 1, "name": name, "description": "d", "options": append([]any{}, options...)}
	}
	return obj{"name": "nod", "description": "Ask nod", "contexts": []any{0, 1}, "options": []any{
		sub("ask", obj{"type": 3, "name": "text", "description": "d", "required": true}), sub("help")}}
}

func TestCommandsAreRegisteredOnce(t *testing.T) {
	r := start(t, fakediscord.Options{})
	path := "/applications/" + r.AppID() + "/commands"
	put := func(o obj) (id, version any) {
		a := r.call("PUT", path, []any{o})
		if a.status != 200 || len(a.list) != 1 {
			t.Fatalf("%d %s", a.status, a.raw)
		}
		return at(a.list, 0, "id"), at(a.list, 0, "version")
	}
	id, version := put(nod())
	if again, same := put(nod()); again != id || same != version {
		t.Error("the same commands keep their ID and version")
	}
	if again, other := put(with(nod(), "description", "Changed")); again != id || other == version {
		t.Error("a changed command keeps its ID and gets a version")
	}
	equal(t, "readable", len(r.Commands("")), 1)
	equal(t, "listed", len(r.call("GET", path, nil).list), 1)
	r.call("PUT", "/applications/"+r.AppID()+"/guilds/"+r.Guild()+"/commands", []any{nod()}).is(t, 200, 0)
	equal(t, "of the guild", len(r.Commands(r.Guild())), 1)
	r.call("PUT", "/applications/1/commands", []any{}).is(t, 403, 20012)
}

func TestWhatCommandsMayHave(t *testing.T) {
	r := start(t, fakediscord.Options{})
	option := func(more obj) obj {
		o := obj{"type": 3, "name": "a", "description": "d"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	of := func(options ...any) obj { return obj{"name": "x", "description": "d", "options": options} }
	for name, tt := range map[string]struct {
		bad   []any
		where string
	}{
		"name":         {[]any{with(nod(), "name", "Two words")}, "0.name"},
		"long name":    {[]any{with(nod(), "name", rep(33))}, "0.name"},
		"description":  {[]any{with(nod(), "description", rep(101))}, "0.description"},
		"twice":        {[]any{nod(), nod()}, "1.name"},
		"many options": {[]any{of(many(26, func(i int) any { return option(obj{"name": "a" + string(rune('a'+i))}) })...)}, "0.options"},
		"option twice": {[]any{of(option(nil), option(nil))}, "0.options.1.name"},
		"order":        {[]any{of(option(nil), option(obj{"name": "b", "required": true}))}, "0.options.1.required"},
		"mixed":        {[]any{of(option(nil), option(obj{"name": "b", "type": 1}))}, "0.options"},
		"choices":      {[]any{of(option(obj{"choices": many(26, func(int) any { return obj{"name": "x", "value": "x"} })}))}, "0.options.0.choices"},
	} {
		t.Run(name, func(t *testing.T) {
			a := r.call("PUT", "/applications/"+r.AppID()+"/commands", tt.bad)
			a.is(t, 400, 50035)
			foundAny(t, a.obj, tt.where)
		})
	}
	equal(t, "nothing was registered", len(r.Commands("")), 0)
}

func TestSlash(t *testing.T) {
	r := start(t, fakediscord.Options{})
	if _, err := r.Slash(r.ana, r.general, "nod", "help", nil); err == nil {
		t.Error("not registered")
	}
	r.call("PUT", "/applications/"+r.AppID()+"/commands", []any{nod()})
	w := r.ready()
	for _, bad := range []map[string]any{nil, {"text": 5}, {"text": "x", "more": "y"}} {
		if _, err := r.Slash(r.ana, r.general, "nod", "ask", bad); err == nil {
			t.Errorf("the client let %v through", bad)
		}
	}
	d, err := r.Slash(r.ana, r.OpenDM(r.ana), "nod", "ask", map[string]any{"text": "why?"})
	if err != nil {
		t.Fatal(err)
	}
	in := w.event("INTERACTION_CREATE")
	equal(t, "sub", at(in, "data", "options", 0, "name"), "ask")
	equal(t, "option", at(in, "data", "options", 0, "options", 0, "value"), "why?")
	r.answer(d, obj{"type": 7, "data": obj{"content": "x"}}).is(t, 400, 50035) // there is nothing to update
	r.answer(d, obj{"type": 4, "data": v2(text("because"))}).is(t, 200, 0)
	m := w.event("MESSAGE_CREATE")
	equal(t, "type", m["type"], fakediscord.TypeCommand)
	equal(t, "of", at(m, "interaction_metadata", "user", "id"), r.ana)
}
