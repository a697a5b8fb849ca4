package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// What is drawn has to be taken by Slack: an edit that fails would leave people with buttons that are out of date. The stand-in's validator is
// the judge, and what nod holds itself to beyond it is looked at here. Both read the JSON, and so are a second opinion on whatever made it.

// check says what Slack would refuse of a message.
func check(p Message) error {
	blocks := rawJSON(p.Blocks)
	var errs []error
	if n := surface.Width(p.Text); n < 1 || n > maxText {
		errs = append(errs, fmt.Errorf("the text has %d characters", n))
	}
	if n := surface.Width(string(blocks)); n > maxAll {
		errs = append(errs, fmt.Errorf("all blocks together have %d characters", n))
	}
	if n := nested(decoded(blocks)); n > maxBlocks {
		errs = append(errs, fmt.Errorf("%d blocks with those inside others", n))
	}
	return errors.Join(append(errs, fakeslack.CheckMessage(inUnits(blocks)), strict(blocks))...)
}

// checkView does the same for a modal, and checkHome for a Home tab.
func checkView(v slack.ModalViewRequest) error { return checkAny(rawJSON(v), "modal") }

func checkHome(v slack.HomeTabViewRequest) error { return checkAny(rawJSON(v), "home") }

func checkAny(raw []byte, kind string) error {
	var tooLarge error
	if n := surface.Width(string(raw)); n > maxViewSize {
		tooLarge = fmt.Errorf("the view has %d characters", n)
	}
	return errors.Join(tooLarge, fakeslack.CheckView(inUnits(raw), kind), strict(raw))
}

// inUnits has two characters for each that is two UTF-16 units: the stand-in counts characters, nod the larger of the usual counts.
func inUnits(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if r > 0xffff {
			out = utf8.AppendRune(out, 0xe000+r>>10)
			r = 0xe800 + r&0x3ff
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// strict says where a payload leaves what nod holds itself to, and the stand-in does not: documented limits that older clients have, and
// what Slack takes but would make no sense.
func strict(raw []byte) error {
	var errs []error
	visit(decoded(raw), "", func(at, kind string, n map[string]any) {
		need := func(ok bool, say string) {
			if !ok {
				errs = append(errs, fmt.Errorf("%s (%s): %s", at, kind, say))
			}
		}
		words := func(name string) string { s, _ := n[name].(string); return s }
		size := func(name string) int { l, _ := n[name].([]any); return len(l) }
		if v, ok := n["block_id"]; ok {
			need(v != "", "an empty block_id")
		}
		if v, ok := n["private_metadata"]; ok {
			need(v != "", "empty private_metadata")
		}
		switch kind {
		case "button":
			v, ok := n["value"]
			need(words("action_id") != "", "no action_id")
			need(!ok || v != "", "an empty value")
			need(words("style") == "" || words("style") == "danger", "it stands out, and only a denial may")
		case "overflow":
			need(words("action_id") != "" && size("options") >= minOptions, "fewer options than there were to be once")
		case "checkboxes", "datepicker", "datetimepicker", "email_text_input", "multi_static_select", "number_input", "plain_text_input", "radio_buttons", "static_select", "url_text_input":
			need(words("action_id") != "", "no action_id")
			need(surface.Width(words("initial_value")) <= maxInput, "a value that is too long")
		case kindOption:
			need(surface.Width(words("value")) <= maxOption, "an option's value that is too long")
		case "task_card", "plan":
			need(surface.Width(words("title")) <= maxTitle, "a title that is too long")
		case "image":
			need(strings.HasPrefix(words("image_url"), "https://"), "no address that Slack fetches")
		case "rich_text", "rich_text_section", "rich_text_preformatted":
			need(size("elements") > 0, "it is empty")
		}
	})
	return errors.Join(errs...)
}

// kindOption is what an option of a menu is called here: it has no type of its own.
const kindOption = "option"

func decoded(raw []byte) any {
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// visit calls f for a payload and everything in it that has a type, or is an option of a menu.
func visit(node any, at string, f func(at, kind string, node map[string]any)) {
	switch n := node.(type) {
	case []any:
		for i, x := range n {
			visit(x, at+"/"+strconv.Itoa(i), f)
		}
	case map[string]any:
		kind, _ := n["type"].(string)
		if kind == "" && n["text"] != nil && n["value"] != nil {
			kind = kindOption
		}
		if kind != "" {
			f(at, kind, n)
		}
		keys := make([]string, 0, len(n))
		for k := range n {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			visit(n[k], at+"/"+k, f)
		}
	}
}

// nested counts blocks, with those inside others.
func nested(v any) (n int) {
	list, _ := v.([]any)
	for _, b := range list {
		m, _ := b.(map[string]any)
		n += 1 + nested(m["child_blocks"]) + nested(m["tasks"])
	}
	return n
}

func rep(n int) string { return strings.Repeat("x", n) }

// The judge has to find what it is there for.
func TestWhatIsNotTaken(t *testing.T) {
	button := func(more string) string {
		return `{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"x"}` + more + `}]}`
	}
	option := func(value string) string {
		return `{"text":{"type":"plain_text","text":"o"},"value":"` + value + `"}`
	}
	menu := func(options ...string) string {
		return `{"type":"actions","elements":[{"type":"overflow","action_id":"a","options":[` + strings.Join(options, ",") + `]}]}`
	}
	tasks := strings.Repeat(`{"type":"task_card","task_id":"1","title":"t"},`, 50)
	for name, blocks := range map[string]string{
		"fifty inside one": `{"type":"plan","title":"p","tasks":[` + strings.TrimSuffix(tasks, ",") + `]}`,
		"together":         strings.TrimSuffix(strings.Repeat(`{"type":"section","text":{"type":"mrkdwn","text":"`+rep(2700)+`"}},`, 5), ","),
		"units":            `{"type":"header","text":{"type":"plain_text","text":"` + strings.Repeat("😀", 76) + `"}}`,
		"primary":          button(`,"style":"primary"`), "empty value": button(`,"value":""`), "one option": menu(option("1")), "option value": menu(option("1"), option(rep(76))),
		"no action_id": `{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"x"}}]}`,
		"title":        `{"type":"task_card","task_id":"1","title":"` + rep(257) + `"}`, "plain http": `{"type":"image","image_url":"http://x","alt_text":"a"}`,
		"empty rich text": `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[]}]}`, "empty block_id": `{"type":"divider","block_id":""}`,
	} {
		raw := json.RawMessage("[" + blocks + "]")
		p := Message{Text: "x"}
		for _, b := range decoded(raw).([]any) {
			one, _ := json.Marshal(b)
			p.Blocks = append(p.Blocks, encodedBlock{json: one})
		}
		if err := check(p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	none := []slack.Block{}
	if check(Message{none, "x"}) != nil || check(Message{none, ""}) == nil || check(Message{none, rep(4001)}) == nil {
		t.Error("the text is not looked at")
	}
}

// field follows a path of names through objects.
func field(node map[string]any, path string) (v any, ok bool) {
	name, rest, more := strings.Cut(path, ".")
	if v, ok = node[name]; !ok || !more {
		return v, ok
	}
	inner, _ := v.(map[string]any)
	return field(inner, rest)
}
