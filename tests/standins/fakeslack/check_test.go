package fakeslack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func long(n int) string { return strings.Repeat("x", n) }

func section(text string) string {
	return `{"type":"section","text":{"type":"mrkdwn","text":"` + text + `"}}`
}

func button(id, more string) string {
	return `{"type":"button","action_id":"` + id + `","text":{"type":"plain_text","text":"Go"}` + more + `}`
}

func actions(elements ...string) string {
	return `{"type":"actions","elements":[` + strings.Join(elements, ",") + `]}`
}

func container(children string) string {
	return `{"type":"container","title":{"type":"plain_text","text":"T"},"child_blocks":[` + children + `]}`
}

func times(n int, f func(int) string) string {
	var out []string
	for i := range n {
		out = append(out, f(i))
	}
	return strings.Join(out, ",")
}

func rich(inner string) string {
	return `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[` + inner + `]}]}`
}

func task(more string) string { return `{"type":"task_card","task_id":"1","title":"t"` + more + `}` }

func sameSection(int) string { return section("x") }

// dialogue is a confirmation.
func dialogue(text, yes string) string {
	return `,"confirm":{"title":{"type":"plain_text","text":"T"},"text":{"type":"plain_text","text":"` + text + `"},"confirm":{"type":"plain_text","text":"` + yes + `"},"deny":{"type":"plain_text","text":"No"}}`
}

func TestBlocksRefused(t *testing.T) {
	s := start(t, fakeslack.Options{})
	many := func(n int) string { return times(n, func(i int) string { return button(fmt.Sprint("a", i), "") }) }
	options := func(n int) string {
		return times(n, func(i int) string {
			return fmt.Sprintf(`{"text":{"type":"plain_text","text":"o"},"value":"v%d"}`, i)
		})
	}
	for name, c := range map[string]struct{ blocks, pointer, say string }{
		"51 blocks":              {times(51, sameSection), "/blocks", "no more than 50 items allowed"},
		"an unknown kind":        {`{"type":"fancy"}`, "/blocks/0/type", "unsupported type: fancy"},
		"no object":              {`"x"`, "/blocks/0", "must be an object"},
		"section text":           {section(long(3001)), "/blocks/0/text/text", "must be less than 3001 characters"},
		"empty section text":     {section(""), "/blocks/0/text/text", "must be more than 0 characters"},
		"no section text":        {`{"type":"section"}`, "/blocks/0", "missing required field: text"},
		"a text's kind":          {`{"type":"section","text":{"type":"html","text":"x"}}`, "/blocks/0/text/type", "valid enum"},
		"emoji of mrkdwn":        {`{"type":"section","text":{"type":"mrkdwn","text":"x","emoji":true}}`, "/blocks/0/text", "invalid additional property: emoji"},
		"an unknown member":      {`{"type":"divider","color":"red"}`, "/blocks/0", "invalid additional property: color"},
		"fields":                 {`{"type":"section","fields":[` + times(11, func(int) string { return `{"type":"mrkdwn","text":"x"}` }) + `]}`, "/blocks/0/fields", "no more than 10"},
		"field text":             {`{"type":"section","fields":[{"type":"mrkdwn","text":"` + long(2001) + `"}]}`, "/blocks/0/fields/0/text", "less than 2001"},
		"header":                 {`{"type":"header","text":{"type":"plain_text","text":"` + long(151) + `"}}`, "/blocks/0/text/text", "less than 151"},
		"header in mrkdwn":       {`{"type":"header","text":{"type":"mrkdwn","text":"x"}}`, "/blocks/0/text/type", "enum"},
		"context items":          {`{"type":"context","elements":[` + times(11, func(int) string { return `{"type":"mrkdwn","text":"x"}` }) + `]}`, "/blocks/0/elements", "no more than 10"},
		"26 buttons":             {actions(many(26)), "/blocks/0/elements", "no more than 25"},
		"no buttons":             {actions(), "/blocks/0/elements", "no fewer than 1"},
		"button text":            {actions(`{"type":"button","text":{"type":"plain_text","text":"` + long(76) + `"}}`), "/blocks/0/elements/0/text/text", "less than 76"},
		"button value":           {actions(button("a", `,"value":"`+long(2001)+`"`)), "/blocks/0/elements/0/value", "less than 2001"},
		"button url":             {actions(button("a", `,"url":"`+long(3001)+`"`)), "/blocks/0/elements/0/url", "less than 3001"},
		"button style":           {actions(button("a", `,"style":"green"`)), "/blocks/0/elements/0/style", "enum"},
		"hidden button":          {actions(button("a", `,"visible_to_user_ids":["U1"]`)), "/blocks/0/elements/0", "additional property: visible_to_user_ids"},
		"accessibility label":    {actions(button("a", `,"accessibility_label":"`+long(76)+`"`)), "/blocks/0/elements/0/accessibility_label", "less than 76"},
		"action_id":              {actions(button(long(256), "")), "/blocks/0/elements/0/action_id", "less than 256"},
		"same action_id":         {actions(button("a", "")) + "," + actions(button("a", "")), "/blocks/1/elements/0/action_id", "already exists"},
		"block_id":               {`{"type":"divider","block_id":"` + long(256) + `"}`, "/blocks/0/block_id", "less than 256"},
		"same block_id":          {`{"type":"divider","block_id":"b"},{"type":"divider","block_id":"b"}`, "/blocks/1/block_id", "already exists"},
		"six in an overflow":     {actions(`{"type":"overflow","action_id":"o","options":[` + options(6) + `]}`), "/blocks/0/elements/0/options", "no more than 5"},
		"option value":           {actions(`{"type":"overflow","action_id":"o","options":[{"text":{"type":"plain_text","text":"o"},"value":"` + long(151) + `"}]}`), "/blocks/0/elements/0/options/0/value", "less than 151"},
		"101 in a select":        {actions(`{"type":"static_select","action_id":"o","options":[` + options(101) + `]}`), "/blocks/0/elements/0/options", "no more than 100"},
		"no options":             {actions(`{"type":"static_select","action_id":"o"}`), "/blocks/0/elements/0", "missing required field: options"},
		"options and groups":     {actions(`{"type":"static_select","action_id":"o","options":[` + options(1) + `],"option_groups":[{"label":{"type":"plain_text","text":"g"},"options":[` + options(1) + `]}]}`), "/blocks/0/elements/0", "only one of options"},
		"a group's label":        {actions(`{"type":"static_select","action_id":"o","option_groups":[{"options":[` + options(1) + `]}]}`), "/blocks/0/elements/0/option_groups/0", "missing required field: label"},
		"placeholder":            {actions(`{"type":"static_select","action_id":"o","placeholder":{"type":"plain_text","text":"` + long(151) + `"},"options":[` + options(1) + `]}`), "/blocks/0/elements/0/placeholder/text", "less than 151"},
		"chosen, not there":      {actions(`{"type":"static_select","action_id":"o","initial_option":{"text":{"type":"plain_text","text":"o"},"value":"v9"},"options":[` + options(2) + `]}`), "/blocks/0/elements/0", "none of the options"},
		"ticked, otherwise":      {actions(`{"type":"checkboxes","action_id":"o","initial_options":[{"text":{"type":"plain_text","text":"other"},"value":"v0"}],"options":[` + options(2) + `]}`), "/blocks/0/elements/0", "none of the options"},
		"11 checkboxes":          {actions(`{"type":"checkboxes","action_id":"o","options":[` + options(11) + `]}`), "/blocks/0/elements/0/options", "no more than 10"},
		"option description":     {actions(`{"type":"static_select","action_id":"o","options":[{"text":{"type":"plain_text","text":"o"},"value":"v","description":{"type":"plain_text","text":"` + long(76) + `"}}]}`), "/blocks/0/elements/0/options/0/description/text", "less than 76"},
		"dialog text":            {actions(button("a", dialogue(long(301), "Yes"))), "/blocks/0/elements/0/confirm/text/text", "less than 301"},
		"dialog button":          {actions(button("a", dialogue("x", long(31)))), "/blocks/0/elements/0/confirm/confirm/text", "less than 31"},
		"dialog without a no":    {actions(button("a", `,"confirm":{"title":{"type":"plain_text","text":"t"},"text":{"type":"plain_text","text":"t"},"confirm":{"type":"plain_text","text":"t"}}`)), "/blocks/0/elements/0/confirm", "missing required field: deny"},
		"input in actions":       {actions(`{"type":"plain_text_input","action_id":"x"}`), "/blocks/0/elements/0/type", "unsupported"},
		"markdown":               {`{"type":"markdown","text":"` + long(12001) + `"}`, "/blocks/0/text", "less than 12001"},
		"markdown in all":        {times(3, func(int) string { return `{"type":"markdown","text":"` + long(4001) + `"}` }), "/blocks", "in all"},
		"rich text in container": {container(rich(`{"type":"text","text":"x"}`)), "/blocks/0/child_blocks/0/type", "unsupported type: rich_text"},
		"markdown in container":  {container(`{"type":"markdown","text":"x"}`), "/blocks/0/child_blocks/0/type", "unsupported type: markdown"},
		"plan in container":      {container(`{"type":"plan","title":"x"}`), "/blocks/0/child_blocks/0/type", "unsupported type: plan"},
		"task in container":      {container(task("")), "/blocks/0/child_blocks/0/type", "unsupported type: task_card"},
		"11 children":            {container(times(11, sameSection)), "/blocks/0/child_blocks", "no more than 10"},
		"no children":            {container(""), "/blocks/0/child_blocks", "no fewer than 1"},
		"container title":        {`{"type":"container","title":{"type":"plain_text","text":"` + long(151) + `"},"child_blocks":[{"type":"divider"}]}`, "/blocks/0/title/text", "less than 151"},
		"no container title":     {`{"type":"container","child_blocks":[{"type":"divider"}]}`, "/blocks/0", "missing required field: title"},
		"collapsed, not so":      {`{"type":"container","default_collapsed":true,"title":{"type":"plain_text","text":"T"},"child_blocks":[{"type":"divider"}]}`, "/blocks/0", "requires is_collapsible"},
		"card body":              {`{"type":"card","title":{"type":"mrkdwn","text":"t"},"body":{"type":"mrkdwn","text":"` + long(201) + `"}}`, "/blocks/0/body/text", "less than 201"},
		"card title":             {`{"type":"card","title":{"type":"mrkdwn","text":"` + long(151) + `"}}`, "/blocks/0/title/text", "less than 151"},
		"alert in a message":     {`{"type":"alert","text":{"type":"mrkdwn","text":"t"}}`, "/blocks/0/type", "unsupported type: alert"},
		"plan title":             {`{"type":"plan"}`, "/blocks/0", "missing required field: title"},
		"no task":                {`{"type":"plan","title":"p","tasks":[{"type":"section"}]}`, "/blocks/0/tasks/0/type", "unsupported"},
		"task_id":                {`{"type":"task_card","title":"t"}`, "/blocks/0", "missing required field: task_id"},
		"task title":             {`{"type":"task_card","task_id":"t"}`, "/blocks/0", "missing required field: title"},
		"task status":            {task(`,"status":"done"`), "/blocks/0/status", "enum"},
		"task output":            {task(`,"output":"words"`), "/blocks/0/output", "must be an object"},
		"task output's kind":     {task(`,"output":` + section("x")), "/blocks/0/output/type", "unsupported type: section"},
		"task source":            {task(`,"sources":[{"type":"url","url":"https://example.com"}]`), "/blocks/0/sources/0", "missing required field: text"},
		"empty rich text":        {rich(`{"type":"text","text":""}`), "/blocks/0/elements/0/elements/0/text", "more than 0"},
		"rich text leaf":         {rich(`{"type":"bold","text":"x"}`), "/blocks/0/elements/0/elements/0/type", "unsupported"},
		"context_actions":        {`{"type":"context_actions","elements":[` + button("a", "") + `]}`, "/blocks/0/elements/0/type", "unsupported type: button"},
		"table rows":             {`{"type":"table","rows":[` + times(101, func(int) string { return `[{"type":"raw_text","text":"x"}]` }) + `]}`, "/blocks/0/rows", "no more than 100"},
		"table cells":            {`{"type":"table","rows":[[{"type":"raw_text","text":"` + long(10_001) + `"}]]}`, "/blocks/0", "the cells"},
		"image":                  {`{"type":"image","image_url":"https://example.com/x.png"}`, "/blocks/0", "missing required field: alt_text"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", "["+c.blocks+"]")
			refused(t, a, "invalid_blocks")
			msgs := fmt.Sprint(at(a, "response_metadata", "messages"))
			if !strings.Contains(msgs, "[ERROR] ") || !strings.Contains(msgs, c.say) || !strings.Contains(msgs, "[json-pointer:"+c.pointer+"]") {
				t.Errorf("got %s, want %q at %s", msgs, c.say, c.pointer)
			}
			if fmt.Sprint(at(a, "errors", 0)) == "<nil>" {
				t.Error("no errors")
			}
			a, _ = call(t, s, "blocks.validate", "blocks", "["+c.blocks+"]")
			refused(t, a, "invalid_blocks")
			if p := at(a, "errors", 0, "pointer"); p == nil || !strings.HasPrefix(c.pointer, "/blocks") {
				t.Errorf("pointer %v", p)
			}
		})
	}
	if n := len(s.Messages("C1", "")); n != 0 {
		t.Errorf("%d refused messages were written", n)
	}
}

func TestBlocksTaken(t *testing.T) {
	s := start(t, fakeslack.Options{})
	full := strings.Join([]string{
		`{"type":"header","text":{"type":"plain_text","text":"` + long(150) + `","emoji":true}}`,
		`{"type":"markdown","text":"**hi** & <there>"}`,
		`{"type":"plan","title":"Working","tasks":[` + task(`,"status":"complete","output":`+rich(`{"type":"text","text":"0.2 s"}`)) + `]}`,
		task(`,"hide_title":true,"details":` + rich(`{"type":"link","url":"https://example.com"}`)),
		`{"type":"section","text":{"type":"mrkdwn","text":"` + long(3000) + `","verbatim":true},"accessory":` + button("acc", "") + `}`,
		`{"type":"container","is_collapsible":true,"default_collapsed":true,"title":{"type":"plain_text","text":"Arguments"},"child_blocks":[` + section("x") + `,` + actions(button("in", "")) + `]}`,
		`{"type":"actions","block_id":"perm","elements":[` + button("a", `,"style":"danger","value":"v","confirm":{"title":{"type":"plain_text","text":"Sure?"},"text":{"type":"mrkdwn","text":"x"},"confirm":{"type":"plain_text","text":"Yes"},"deny":{"type":"plain_text","text":"No"}}`) +
			`,{"type":"overflow","action_id":"o","options":[{"text":{"type":"plain_text","text":"One"},"value":"1"}]}` +
			`,{"type":"checkboxes","action_id":"c","options":[{"text":{"type":"mrkdwn","text":"Remember"},"value":"r"}]}]}`,
		`{"type":"context","elements":[{"type":"mrkdwn","text":"x"},{"type":"image","image_url":"https://example.com/x.png","alt_text":"x"}]}`,
		`{"type":"context_actions","elements":[{"type":"feedback_buttons","action_id":"f","positive_button":{"text":{"type":"plain_text","text":"Good"},"value":"1"},"negative_button":{"text":{"type":"plain_text","text":"Bad"},"value":"0"}}]}`,
		`{"type":"card","title":{"type":"mrkdwn","text":"t"},"body":{"type":"mrkdwn","text":"` + long(200) + `"},"actions":[` + button("card", "") + `]}`,
		`{"type":"table","rows":[[{"type":"raw_text","text":"x"},` + rich(`{"type":"text","text":"x"}`) + `]]}`,
		`{"type":"divider"}`,
	}, ",")
	ts := said(t, s, "C1", "", "["+full+"]")
	var got []string
	for _, b := range s.Buttons("C1", ts) {
		got = append(got, b.ActionID)
	}
	if want := "acc in a o c f f card"; strings.Join(got, " ") != want {
		t.Errorf("buttons %v, want %s", got, want)
	}
	for name, c := range map[string]string{"50 blocks": times(50, sameSection), "at the size": `{"type":"markdown","text":"` + long(12_000) + `"}`} {
		if a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", "["+c+"]"); a["ok"] != true {
			t.Errorf("%s: %v", name, a)
		}
	}
	if a, _ := call(t, s, "blocks.validate", "message", `{"blocks":[`+full+`]}`); a["ok"] != true {
		t.Errorf("%v", a)
	}
	a, _ := call(t, s, "blocks.validate", "message", `{"blocks":[{"type":"fancy"}]}`)
	refused(t, a, "invalid_message")
	a, _ = call(t, s, "blocks.validate", "view", `{"type":"modal","blocks":[]}`)
	refused(t, a, "invalid_view")
	a, _ = call(t, s, "blocks.validate")
	refused(t, a, "invalid_arguments")
}

func TestBlocksTooLong(t *testing.T) {
	s := start(t, fakeslack.Options{})
	// 13,200 characters is the whole array as JSON: what wraps the texts counts, escapes and white space do not
	wrap := len(`[` + section("") + `,` + section("") + `,` + section("") + `,` + section("") + `,` + section("") + `]`)
	five := func(n int) string {
		return "[" + section(strings.Repeat(`\u003c`, 3000)) + ",\n " + section(long(3000)) + "," + section(long(3000)) + "," + section(long(3000)) + "," + section(long(n)) + "]"
	}
	rest := fakeslack.MaxBlocksSize - wrap - 12_000
	if a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", five(rest)); a["ok"] != true {
		t.Errorf("at the limit: %v", a)
	}
	a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", five(rest+1))
	refused(t, a, "msg_blocks_too_long")
	for _, blocks := range []string{`{"type":"divider"}`, `[{"type":`, `7`} {
		a, _ := call(t, s, "chat.postMessage", "channel", "C1", "text", "x", "blocks", blocks)
		refused(t, a, "invalid_blocks_format")
	}
}
