package components

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rep is text of n characters.
func rep(n int) string { return strings.Repeat("x", n) }

func repeated(n int, f func(i int) string) string {
	var out []string
	for i := range n {
		out = append(out, f(i))
	}
	return strings.Join(out, ",")
}

// Components as JSON.

func aText(s string) string { return fmt.Sprintf(`{"type":10,"content":%q}`, s) }

func aRow(in ...string) string { return `{"type":1,"components":[` + strings.Join(in, ",") + `]}` }

func aBox(more, in string) string { return `{"type":17,"components":[` + in + `]` + more + `}` }

func aButton(id, more string) string {
	return fmt.Sprintf(`{"type":2,"style":2,"label":"ok","custom_id":%q%s}`, id, more)
}

func aMenu(id, more string, options ...string) string {
	return fmt.Sprintf(`{"type":3,"custom_id":%q%s,"options":[%s]}`, id, more, strings.Join(options, ","))
}

func anOption(label, value, more string) string {
	return fmt.Sprintf(`{"label":%q,"value":%q%s}`, label, value, more)
}

func aSection(in, accessory string) string {
	return `{"type":9,"components":[` + in + `],"accessory":` + accessory + `}`
}

func aLink(url, more string) string {
	return `{"type":2,"style":5,"label":"ok","url":"` + url + `"` + more + `}`
}

func aFile(url string) string { return fmt.Sprintf(`{"type":13,"file":{"url":%q}}`, url) }

func anInput(more string) string {
	return `{"type":4,"style":2,"custom_id":"i","label":"l"` + more + `}`
}

func aMessage(t *testing.T, components string) map[string]any {
	t.Helper()
	var list any
	if err := json.Unmarshal([]byte("["+components+"]"), &list); err != nil {
		t.Fatalf("the case is not JSON: %v in %s", err, components)
	}
	return map[string]any{"kind": partMessage, "components": list}
}

func aModal(t *testing.T, title, id, components string) map[string]any {
	t.Helper()
	m := aMessage(t, components)
	m["kind"], m["title"], m["custom_id"] = partModal, title, id
	return m
}

func altered(m map[string]any, key string, v any) map[string]any {
	m[key] = v
	return m
}

func upload(name string, size int) any {
	return map[string]any{"kind": partUpload, "name": name, "size": size}
}

// badMessages has, for each rule that is on messages, components that break it and no other rule.
var badMessages = map[string][]string{
	"message parts":    {``, aButton("nod:deny:x", ""), `{"type":99}`, aMenu("nod:more:x", "", anOption("a", "deny x", ""))},
	"message size":     {repeated(41, func(int) string { return `{"type":14}` }), aBox("", repeated(40, func(int) string { return `{"type":14}` }))},
	"message text":     {aText(rep(4001)), aText(rep(2001)) + "," + aBox("", aText(rep(2000))), aText(strings.Repeat("😀", 2001))},
	"message bytes":    {aText(strings.Repeat("中", 3387)), aText(strings.Repeat("中", 1694)) + "," + aText(strings.Repeat("中", 1694))},
	"unique custom_id": {aRow(aButton("nod:deny:x", ""), aButton("nod:deny:x", "")), aRow(aButton("nod:deny:x", "")) + "," + aBox("", aRow(aButton("nod:deny:x", "")))},
	"unique id":        {`{"type":14,"id":7},{"type":14,"id":7}`, aBox(`,"id":7`, `{"type":14,"id":7}`)},
	"component id":     {`{"type":14,"id":-1}`, `{"type":14,"id":2147483648}`},
	"container parts":  {aBox("", ""), aBox("", aBox("", aText("x"))), aBox("", aButton("nod:deny:x", ""))},
	"accent_color":     {aBox(`,"accent_color":16777216`, aText("x"))},
	"row parts":        {aRow(), aRow(repeated(6, func(i int) string { return aButton(fmt.Sprintf("nod:deny:%d", i), "") })), aRow(aText("x")), aRow(aRow(aButton("nod:deny:x", "")))},
	"row of a select":  {aRow(aMenu("nod:more:x", "", anOption("a", "deny x", "")), aButton("nod:deny:x", "")), aRow(aMenu("nod:more:x", "", anOption("a", "deny x", "")), aMenu("nod:more:y", "", anOption("a", "deny x", "")))},
	"inputs in modals": {aRow(anInput(""))},
	"text":             {aText(""), aText(" \n "), `{"type":10}`},
	"file":             {aFile("https://evil.example/x.png")},
	"custom_id": {aRow(aButton("", "")), aRow(`{"type":2,"style":2,"label":"ok"}`), aRow(aLink("https://good.example", `,"custom_id":"nod:deny:x"`)), aRow(aLink("https://good.example/"+rep(500), "")),
		aRow(`{"type":2,"style":5,"label":"ok"}`), aRow(aButton("nod:deny:x", `,"url":"https://good.example"`)), aRow(aButton("nod:deny:"+rep(92), "")), aRow(aMenu("", "", anOption("a", "deny x", "")))},
	"button custom_id is ours": {aRow(aButton("nod:approve:x", "")), aRow(aButton("nod:deny", "")), aRow(aButton("nod:more:x", "")), aRow(aButton("nodp:d:0: tok view", "")), aRow(aButton("nod:cancel:y", ""))},
	"select custom_id is ours": {aRow(aMenu("nod:deny:x", "", anOption("a", "deny x", ""))), aRow(aMenu("more", "", anOption("a", "deny x", "")))},
	"button label":             {aRow(`{"type":2,"style":2,"label":"` + rep(81) + `","custom_id":"nod:deny:x"}`), aRow(`{"type":2,"style":2,"label":"","custom_id":"nod:deny:x"}`)},
	"button style":             {aRow(`{"type":2,"style":1,"label":"ok","custom_id":"nod:deny:x"}`), aRow(`{"type":2,"style":3,"label":"ok","custom_id":"nod:allow_once:x"}`), aRow(`{"type":2,"style":4,"label":"ok","custom_id":"nod:allow_once:x"}`)},
	"select options":           {aRow(aMenu("nod:more:x", "")), aRow(aMenu("nod:more:x", "", strings.Split(repeated(26, func(i int) string { return anOption("a", fmt.Sprintf("deny %d", i), "") }), ";")...))},
	"select placeholder":       {aRow(aMenu("nod:more:x", `,"placeholder":"`+rep(151)+`"`, anOption("a", "deny x", "")))},
	"select values":            {aRow(aMenu("nod:more:x", "", anOption("a", "deny x", ""), anOption("b", "deny x", "")))},
	"option label":             {aRow(aMenu("nod:more:x", "", anOption("", "deny x", ""))), aRow(aMenu("nod:more:x", "", anOption(rep(101), "deny x", "")))},
	"option value":             {aRow(aMenu("nod:more:x", "", anOption("a", "", ""))), aRow(aMenu("nod:more:x", "", anOption("a", rep(101), "")))},
	"option value is ours":     {aRow(aMenu("nod:more:x", "", anOption("a", "x", ""))), aRow(aMenu("nodp:p:0: tok =v", "", anOption("a", "deny x", "")))},
	"option default":           {aRow(aMenu("nod:more:x", "", anOption("a", "deny x", `,"default":true`), anOption("b", "deny y", `,"default":true`)))},
	"section parts": {`{"type":9,"components":[],"accessory":` + aButton("nod:deny:x", "") + `}`, aSection(aText("x"), aText("x")), aSection(repeated(4, func(int) string { return aText("x") }), aButton("nod:deny:x", "")),
		aSection(aRow(aButton("nod:deny:y", "")), aButton("nod:deny:x", "")), `{"type":9,"components":[` + aText("x") + `]}`},
	"button url":         {aRow(aLink("javascript:alert(1)", "")), aRow(aLink("https://good.example/\u202e", ""))},
	"option description": {aRow(aMenu("nod:more:x", "", anOption("a", "deny x", `,"description":"`+rep(101)+`"`)))},
}

// badWholes is the same for what is not in the components.
func badWholes(t *testing.T) map[string][]map[string]any {
	form := "form:edit:x"
	return map[string][]map[string]any{
		"files": {altered(aMessage(t, repeated(11, func(i int) string { return aFile(fmt.Sprintf("attachment://%d.txt", i)) })), "files", func() (l []any) {
			for i := range 11 {
				l = append(l, upload(fmt.Sprintf("%d.txt", i), 1))
			}
			return l
		}())},
		"files size": {altered(aMessage(t, aFile("attachment://a.txt")), "files", []any{upload("a.txt", maxFileBytes+1)})},
		"files are named": {aMessage(t, aFile("attachment://a.txt")), altered(aMessage(t, aText("x")), "files", []any{upload("a.txt", 1)}),
			altered(aMessage(t, aFile("attachment://a.txt")+","+aFile("attachment://a.txt")), "files", []any{upload("a.txt", 1)})},
		"file name":               {altered(aMessage(t, aFile("attachment://a b.txt")), "files", []any{upload("a b.txt", 1)})},
		"mentions":                {altered(aMessage(t, aText("x")), "users", []string{"@everyone"}), altered(aMessage(t, aText("x")), "roles", slices.Repeat([]string{"1"}, 101))},
		"modal title":             {aModal(t, "", form, aRow(anInput(""))), aModal(t, rep(46), form, aRow(anInput("")))},
		"modal custom_id":         {aModal(t, "t", "", aRow(anInput(""))), aModal(t, "t", "form:edit:"+rep(91), aRow(anInput("")))},
		"modal custom_id is ours": {aModal(t, "t", "nod:edit:x", aRow(anInput(""))), aModal(t, "t", "nodp:d:0: tok =v", aRow(anInput("")))},
		"modal rows":              {aModal(t, "t", form, ""), aModal(t, "t", form, anInput("")), aModal(t, "t", form, aRow(anInput(""), anInput(`,"custom_id":"j"`))), aModal(t, "t", form, aRow(aButton("nod:deny:x", "")))},
		"input label":             {aModal(t, "t", form, aRow(anInput(`,"label":"`+rep(46)+`"`)))},
		"input placeholder":       {aModal(t, "t", form, aRow(anInput(`,"placeholder":"`+rep(101)+`"`)))},
		"input length":            {aModal(t, "t", form, aRow(anInput(`,"max_length":4001`)))},
		"input value":             {aModal(t, "t", form, aRow(anInput(`,"value":"`+rep(4001)+`"`))), aModal(t, "t", form, aRow(anInput(`,"max_length":5,"value":"`+rep(6)+`"`)))},
	}
}

// Each rule has something that only it refuses: without the rule it would pass.
func TestEveryRuleIsNeeded(t *testing.T) {
	cases := badWholes(t)
	for name, all := range badMessages {
		for _, components := range all {
			cases[name] = append(cases[name], aMessage(t, components))
		}
	}
	for _, r := range rules {
		if r.source == "" || len(cases[r.name]) == 0 {
			t.Errorf("%s has no source or no case", r.name)
		}
		without := bookOf(slices.DeleteFunc(slices.Clone(rules), func(x rule) bool { return x.name == r.name }))
		for i, c := range cases[r.name] {
			err := book.verdict(c)
			var b broken
			if !errors.As(err, &b) || b.rule.name != r.name {
				t.Errorf("%s, case %d: %v", r.name, i, err)
				continue
			}
			if err := without.verdict(c); err != nil {
				t.Errorf("%s, case %d is refused without it too: %v", r.name, i, err)
			}
		}
		delete(cases, r.name)
	}
	for name := range cases {
		t.Errorf("there is no rule %q", name)
	}
}

// A rule's error names component, field, rule and source.
func TestWhatCheckSays(t *testing.T) {
	err := book.verdict(aMessage(t, aText("x")+","+aRow(aButton("nod:deny:"+rep(92), ""))))
	if want := "discord: components/1/components/0 (button): custom_id has 101 characters, at most 100 [custom_id, see " + docParts + "#anatomy-of-a-component]"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := check(Payload{}); err == nil {
		t.Error("an empty message passes")
	}
}

// The largest that is allowed passes.
func TestCheckTakesTheLimit(t *testing.T) {
	for _, components := range []string{
		aText(rep(4000)), aText(strings.Repeat("中", 3386)), aText(strings.Repeat("😀", 2000)), aBox(`,"accent_color":16777215,"id":2147483647`, repeated(39, func(int) string { return `{"type":14}` })),
		aRow(repeated(5, func(i int) string { return aButton(fmt.Sprintf("nod:deny:%d", i), "") })), aRow(`{"type":2,"style":4,"label":"` + rep(80) + `","custom_id":"nod:deny:x"}`),
		aSection(repeated(3, func(int) string { return aText("x") }), aLink("https://good.example/"+rep(491), "")), aSection(aText("x"), `{"type":2,"style":4,"label":"ok","custom_id":"nodp:d:0: tok =v"}`),
		aRow(`{"type":2,"style":4,"label":"ok","custom_id":"sure::allow_server:x"}`),
		aRow(aMenu("nodp:p:0: tok =v", "", anOption("a", "x", `,"default":true`))),
		aRow(aMenu("nod:more:"+rep(64)+" 12345678901234", `,"placeholder":"`+rep(150)+`"`, strings.Split(repeated(25, func(i int) string { return anOption(rep(100), fmt.Sprintf("deny %d", i), "") }), ";")...)),
	} {
		if err := book.verdict(aMessage(t, components)); err != nil {
			t.Error(err)
		}
	}
	if err := book.verdict(aModal(t, rep(45), "form:deny_reason:"+rep(64), aRow(anInput(`,"max_length":4000,"placeholder":"`+rep(100)+`","value":"`+rep(4000)+`"`)))); err != nil {
		t.Error(err)
	}
	if err := book.verdict(altered(aMessage(t, aFile("attachment://a.txt")), "files", []any{upload("a.txt", maxFileBytes)})); err != nil {
		t.Error(err)
	}
}
