package slack

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

func text(kind, s string) string { return fmt.Sprintf(`{"type":%q,"text":%q}`, kind, s) }

func btn(more string) string {
	return `{"type":"button","action_id":"a","text":` + text("plain_text", "ok") + more + `}`
}

func actions(elements ...string) string {
	return `{"type":"actions","elements":[` + strings.Join(elements, ",") + `]}`
}

func section(s string) string { return `{"type":"section","text":` + text("mrkdwn", s) + `}` }

func repeated(n int, f func(i int) string) string {
	var out []string
	for i := range n {
		out = append(out, f(i))
	}
	return strings.Join(out, ",")
}

func option(label, value string) string {
	return `{"text":` + text("plain_text", label) + fmt.Sprintf(`,"value":%q}`, value)
}

func menu(options ...string) string {
	return actions(`{"type":"overflow","action_id":"m","options":[` + strings.Join(options, ",") + `]}`)
}

func box(more string, children string) string {
	return `{"type":"container","title":` + text("plain_text", "t") + `,"child_blocks":[` + children + `]` + more + `}`
}

func task(more string) string { return `{"type":"task_card","task_id":"1","title":"t"` + more + `}` }

func rich(part string) string {
	return `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[` + part + `]}]}`
}

func input(element, more string) string {
	return `{"type":"input","label":` + text("plain_text", "l") + `,"element":{"type":"plain_text_input","action_id":"i"` + element + `}` + more + `}`
}

func view(more, blocks string) string {
	return `{"type":"modal","title":` + text("plain_text", "t") + `,"submit":` + text("plain_text", "ok") + more + `,"blocks":[` + blocks + `]}`
}

func home(more, blocks string) string { return `{"type":"home"` + more + `,"blocks":[` + blocks + `]}` }

// sel is a select, checkboxes or radio buttons.
func sel(kind, more string, options ...string) string {
	return `{"type":"` + kind + `","action_id":"s","options":[` + strings.Join(options, ",") + `]` + more + `}`
}

// sure is a button with a confirmation of four texts.
func sure(title, words, yes, no string) string {
	return actions(btn(`,"confirm":{"title":` + text("plain_text", title) + `,"text":` + text("plain_text", words) + `,"confirm":` + text("plain_text", yes) + `,"deny":` + text("plain_text", no) + `}`))
}

func element(e string) string {
	return `{"type":"input","label":` + text("plain_text", "l") + `,"element":` + e + `}`
}

// badMessages has, for each rule that is on messages, blocks that break it and no other rule.
var badMessages = map[string][]string{
	"message kinds":       {`{"type":"alert","text":` + text("mrkdwn", "x") + `}`, input("", ""), `{"type":"future"}`},
	"message blocks":      {repeated(51, func(int) string { return `{"type":"divider"}` }), `{"type":"plan","title":"p","tasks":[` + repeated(50, func(int) string { return task("") }) + `]}`},
	"message length":      {repeated(5, func(int) string { return section(rep(2700)) })},
	"markdown length":     {`{"type":"markdown","text":"` + rep(6001) + `"},{"type":"markdown","text":"` + rep(6000) + `"}`},
	"unique block_id":     {`{"type":"divider","block_id":"b"},{"type":"divider","block_id":"b"}`},
	"unique action_id":    {actions(btn(""), btn("")), actions(btn("")) + "," + actions(btn(""))},
	"block_id":            {`{"type":"divider","block_id":""}`, `{"type":"divider","block_id":"` + rep(256) + `"}`},
	"section text":        {`{"type":"section"}`},
	"section fields":      {`{"type":"section","fields":[` + text("mrkdwn", rep(2001)) + `]}`, `{"type":"section","fields":[` + repeated(11, func(int) string { return text("mrkdwn", "x") }) + `]}`},
	"header text":         {`{"type":"header","text":` + text("plain_text", rep(151)) + `}`},
	"header is plain":     {`{"type":"header","text":` + text("mrkdwn", "x") + `}`},
	"markdown text":       {`{"type":"markdown","text":""}`},
	"context elements":    {`{"type":"context","elements":[]}`, `{"type":"context","elements":[` + repeated(11, func(int) string { return text("mrkdwn", "x") }) + `]}`},
	"context kinds":       {`{"type":"context","elements":[` + btn("") + `]}`},
	"actions elements":    {actions(), actions(repeated(26, func(i int) string { return strings.Replace(btn(""), `"a"`, fmt.Sprintf(`"a%d"`, i), 1) }))},
	"actions kinds":       {actions(text("plain_text", "x"))},
	"container title":     {`{"type":"container","child_blocks":[{"type":"divider"}]}`, strings.Replace(box("", `{"type":"divider"}`), `"t"`, `"`+rep(151)+`"`, 1)},
	"container subtitle":  {box(`,"subtitle":`+text("plain_text", rep(151)), `{"type":"divider"}`)},
	"container children":  {box("", ""), box("", repeated(11, func(int) string { return `{"type":"divider"}` }))},
	"container kinds":     {box("", `{"type":"markdown","text":"x"}`), box("", rich(`{"type":"text","text":"x"}`))},
	"container collapsed": {box(`,"default_collapsed":true`, `{"type":"divider"}`)},
	"plan title":          {`{"type":"plan","title":""}`, `{"type":"plan"}`},
	"plan tasks":          {`{"type":"plan","title":"p","tasks":[{"type":"divider"}]}`},
	"task id":             {`{"type":"task_card","title":"t"}`},
	"task title":          {`{"type":"task_card","task_id":"1","title":"` + rep(257) + `"}`},
	"task status":         {task(`,"status":"done"`)},
	"task output":         {task(`,"output":{"type":"divider"}`)},
	"task details":        {task(`,"details":{"type":"divider"}`)},
	"card title":          {`{"type":"card","title":` + text("mrkdwn", rep(151)) + `}`},
	"card body":           {`{"type":"card","body":` + text("mrkdwn", rep(201)) + `}`},
	"rich_text elements":  {`{"type":"rich_text","elements":[]}`},
	"rich_text parts":     {rich("")},
	"rich_text text":      {rich(`{"type":"text","text":""}`)},
	"rich_text link":      {rich(`{"type":"link","text":"x"}`)},
	"text":                {`{"type":"context","elements":[` + text("plain_text", "") + `]}`, `{"type":"context","elements":[` + text("mrkdwn", rep(3001)) + `]}`},
	"action_id":           {actions(`{"type":"button","text":` + text("plain_text", "x") + `}`)},
	"button text":         {actions(`{"type":"button","action_id":"a","text":` + text("plain_text", rep(76)) + `}`), actions(`{"type":"button","action_id":"a"}`), actions(`{"type":"button","action_id":"a","text":` + text("plain_text", strings.Repeat("😀", 38)) + `}`)},
	"button is plain":     {actions(`{"type":"button","action_id":"a","text":` + text("mrkdwn", "x") + `}`)},
	"button value":        {actions(btn(`,"value":"` + rep(2001) + `"`)), actions(btn(`,"value":""`))},
	"button url":          {actions(btn(`,"url":"` + rep(3001) + `"`))},
	"button label":        {actions(btn(`,"accessibility_label":"` + rep(76) + `"`))},
	"button style":        {actions(btn(`,"style":"primary"`))},
	"overflow options":    {menu(option("a", "1")), menu(strings.Split(repeated(6, func(int) string { return option("a", "1") }), ";")...)},
	"section accessory":   {`{"type":"section","text":` + text("mrkdwn", "x") + `,"accessory":` + sel("radio_buttons", "", option("a", "1")) + `}`},
	"select options":      {actions(sel("static_select", "")), actions(sel("static_select", "", repeated(101, func(i int) string { return option("a", fmt.Sprint(i)) })))},
	"select placeholder":  {actions(sel("static_select", `,"placeholder":`+text("plain_text", rep(151)), option("a", "1")))},
	"boxes options":       {actions(sel("checkboxes", "")), actions(sel("checkboxes", "", repeated(11, func(i int) string { return option("a", fmt.Sprint(i)) })))},
	"chosen at first":     {actions(sel("static_select", `,"initial_option":`+option("b", "1"), option("a", "1"))), actions(sel("checkboxes", `,"initial_options":[`+option("a", "2")+`]`, option("a", "1")))},
	"confirm title":       {sure(rep(101), "t", "y", "n"), sure("", "t", "y", "n")},
	"confirm text":        {sure("t", rep(301), "y", "n")},
	"confirm yes":         {sure("t", "x", rep(31), "n")},
	"confirm no":          {sure("t", "x", "y", rep(31))},
	"option description":  {menu(strings.TrimSuffix(option("a", "1"), "}")+`,"description":`+text("plain_text", rep(76))+`}`, option("b", "2"))},
	"option text":         {menu(option(rep(76), "1"), option("b", "2"))},
	"option value":        {menu(option("a", rep(76)), option("b", "2"))},
	"image address":       {`{"type":"image","image_url":"http://x","alt_text":"a"}`, `{"type":"image","alt_text":"a"}`, `{"type":"image","image_url":"https://` + rep(3000) + `","alt_text":"a"}`},
	"image alt_text":      {`{"type":"image","image_url":"https://x"}`},
}

var badViews = map[string][]string{
	"modal kinds":              {view("", `{"type":"markdown","text":"x"}`)},
	"view blocks":              {view("", repeated(101, func(int) string { return `{"type":"divider"}` }))},
	"modal title":              {strings.Replace(view("", ""), `"t"`, `"`+rep(25)+`"`, 1)},
	"modal submit":             {strings.Replace(view("", ""), `"ok"`, `"`+rep(25)+`"`, 1)},
	"modal close":              {view(`,"close":`+text("plain_text", rep(25)), "")},
	"view length":              {view("", repeated(90, func(int) string { return section(rep(2900)) })), home("", repeated(90, func(int) string { return section(rep(2900)) }))},
	"view callback_id":         {view(`,"callback_id":"`+rep(256)+`"`, "")},
	"view metadata":            {home(`,"private_metadata":"`+rep(3001)+`"`, ""), view(`,"private_metadata":"`+rep(3001)+`"`, "")},
	"modal input needs submit": {strings.Replace(view("", input("", "")), `"submit"`, `"other"`, 1)},
	"home kinds":               {home("", input("", "")), home("", `{"type":"markdown","text":"x"}`)},
	"home members":             {home(`,"title":`+text("plain_text", "t"), ""), home(`,"submit":`+text("plain_text", "t"), ""), home(`,"close":`+text("plain_text", "t"), "")},
	"input element":            {view("", element(btn("")))},
	"input label":              {view("", strings.Replace(input("", ""), `"l"`, `"`+rep(2001)+`"`, 1))},
	"input hint":               {view("", input("", `,"hint":`+text("plain_text", rep(2001))))},
	"input value":              {view("", input(`,"initial_value":"`+rep(3001)+`"`, ""))},
	"input length":             {view("", input(`,"max_length":3001`, ""))},
	"input placeholder":        {view("", input(`,"placeholder":`+text("plain_text", rep(151)), ""))},
}

// Each rule has something that only it refuses: without the rule it would pass.
func TestEveryRuleIsNeeded(t *testing.T) {
	cases := map[string][]any{"message text": {messageOf("", []byte(`[]`)), messageOf(rep(4001), []byte(`[]`))}}
	for name, list := range badMessages {
		for _, blocks := range list {
			if !json.Valid([]byte("[" + blocks + "]")) {
				t.Fatalf("%s: the case is not JSON: %s", name, blocks)
			}
			cases[name] = append(cases[name], messageOf("x", []byte("["+blocks+"]")))
		}
	}
	for name, list := range badViews {
		for _, v := range list {
			if !json.Valid([]byte(v)) {
				t.Fatalf("%s: the case is not JSON: %s", name, v)
			}
			cases[name] = append(cases[name], decoded([]byte(v)))
		}
	}
	// Two rules look at these texts, the one of the block and the one of all texts: either is enough.
	doubled := map[string]string{"section text": "text", "confirm title": "text"}
	for _, r := range rules {
		if r.source == "" || len(cases[r.name]) == 0 {
			t.Errorf("%s has no source or no case", r.name)
		}
		without := bookOf(slices.DeleteFunc(slices.Clone(rules), func(x rule) bool { return x.name == r.name || x.name == doubled[r.name] }))
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

// A rule's error names block, field, rule and source.
func TestWhatCheckSays(t *testing.T) {
	err := book.verdict(messageOf("x", []byte(`[{"type":"divider"},`+actions(btn(`,"value":"`+rep(2001)+`"`))+`]`)))
	if want := "slack: blocks/1/elements/0 (button): value has 2001 characters, at most 2000 [button value, see " + docParts + "button-element]"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := check(payload{}); err == nil {
		t.Error("an empty message passes")
	}
}

// The largest that is allowed passes.
func TestCheckTakesTheLimit(t *testing.T) {
	for _, blocks := range []string{
		section(rep(3000)), `{"type":"header","text":` + text("plain_text", rep(150)) + `}`, repeated(50, func(int) string { return `{"type":"divider"}` }),
		menu(option(rep(75), rep(75)), option("b", "2")), actions(btn(`,"value":"` + rep(2000) + `","style":"danger","accessibility_label":"` + rep(75) + `"`)), `{"type":"markdown","text":"` + rep(12_000) + `"}`,
		box(`,"is_collapsible":true,"default_collapsed":true`, repeated(10, func(int) string { return section("x") })),
	} {
		if err := book.verdict(messageOf(rep(4000), []byte("["+blocks+"]"))); err != nil {
			t.Error(err)
		}
	}
}
