package fakediscord_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func many(n int, f func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func sel(more obj) obj {
	o := obj{"type": 3, "custom_id": "s", "options": []any{obj{"label": "A", "value": "a"}}}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func with(o obj, k string, v any) obj {
	out := obj{}
	for k, v := range o {
		out[k] = v
	}
	if out[k] = v; v == nil {
		delete(out, k)
	}
	return out
}

func rep(n int) string { return strings.Repeat("x", n) }

// Each pair is the last thing that is taken and the first that is not, with where the error stands.
func TestWhatMessagesMayHave(t *testing.T) {
	r := start(t, fakediscord.Options{})
	one := button("a", "A")
	content := obj{"content": "hi"}
	tests := []struct {
		name     string
		good     obj
		bad      any
		where    string // path to _errors
		code     string
		status   int
		refusing int
	}{
		{name: "content", good: obj{"content": rep(2000)}, bad: obj{"content": rep(2001)}, where: "content", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "content in characters", good: obj{"content": strings.Repeat("ß", 2000)}, bad: obj{"content": strings.Repeat("ß", 2001)}, where: "content", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "empty", good: content, bad: obj{}, refusing: 50006},
		{name: "blank", good: content, bad: obj{"content": " \n"}, refusing: 50006},
		{name: "no JSON", good: content, bad: `{"content":`, refusing: 50109},
		{name: "no object", good: content, bad: `[]`, code: "DICT_TYPE_CONVERT"},
		{name: "content is text", good: content, bad: obj{"content": 5}, where: "content", code: "STRING_TYPE_CONVERT"},
		{name: "v2 with content", good: v2(text("a")), bad: with(v2(text("a")), "content", "x"), where: "content", code: "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"},
		{name: "v2 with embeds", good: v2(text("a")), bad: with(v2(text("a")), "embeds", []any{obj{"title": "x"}}), where: "embeds", code: "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"},
		{name: "v2 without the flag", good: v2(text("a")), bad: obj{"components": []any{text("a")}}, where: "components.0.type", code: "UNION_TYPE_CHOICES"},
		{name: "v2 without components", good: v2(text("a")), bad: obj{"flags": 32768}, where: "components", code: "BASE_TYPE_REQUIRED"},
		{name: "40 nested", good: v2(box(many(39, func(int) any { return text("a") })...)), bad: v2(box(many(20, func(int) any { return text("a") })...), box(many(19, func(int) any { return text("a") })...)), where: "components", code: "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED"},
		{name: "4000 in all", good: v2(text(rep(2000)), text(rep(2000))), bad: v2(text(rep(2000)), box(text(rep(2001)))), where: "components", code: "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED"},
		{name: "one text", good: v2(text(rep(4000))), bad: v2(text(rep(4001))), where: "components.0.content", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "empty text", good: v2(text("a")), bad: v2(text("")), where: "components.0.content", code: "BASE_TYPE_REQUIRED"},
		{name: "10170 bytes", good: v2(text(strings.Repeat("界", 3386))), bad: v2(text(strings.Repeat("界", 3387))), status: 500},
		{name: "10170 bytes count each text", good: v2(text(strings.Repeat("界", 1691)), text(strings.Repeat("界", 1691))), bad: v2(text(strings.Repeat("界", 1692)), text(strings.Repeat("界", 1691))), status: 500},
		{name: "top button", good: v2(row(one)), bad: v2(one), where: "components.0.type", code: "UNION_TYPE_CHOICES"},
		{name: "box in box", good: v2(box(text("a"))), bad: v2(box(box(text("a")))), where: "components.0.components.0.type", code: "UNION_TYPE_CHOICES"},
		{name: "unknown kind", good: v2(text("a")), bad: v2(obj{"type": 99}), where: "components.0.type", code: "UNION_TYPE_CHOICES"},
		{name: "5 rows of old", good: obj{"components": many(5, func(i int) any { return row(button(fmt.Sprint(i), "A")) })}, bad: obj{"components": many(6, func(i int) any { return row(button(fmt.Sprint(i), "A")) })}, where: "components", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "5 buttons", good: v2(row(many(5, func(i int) any { return button(fmt.Sprint(i), "A") })...)), bad: v2(row(many(6, func(i int) any { return button(fmt.Sprint(i), "A") })...)), where: "components.0.components", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "a select is alone", good: v2(row(sel(nil))), bad: v2(row(sel(nil), one)), where: "components.0.components", code: "COMPONENT_LAYOUT_WIDTH_EXCEEDED"},
		{name: "label", good: v2(row(button("a", rep(80)))), bad: v2(row(button("a", rep(81)))), where: "components.0.components.0.label", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "custom_id", good: v2(row(button(rep(100), "A"))), bad: v2(row(button(rep(101), "A"))), where: "components.0.components.0.custom_id", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "custom_id needed", good: v2(row(one)), bad: v2(row(with(one, "custom_id", nil))), where: "components.0.components.0.custom_id", code: "BASE_TYPE_REQUIRED"},
		{name: "custom_id twice", good: v2(row(one, button("b", "A"))), bad: v2(row(one), box(row(one))), where: "components.1.components.0.components.0.custom_id", code: "COMPONENT_CUSTOM_ID_DUPLICATED"},
		{name: "custom_id or url", good: v2(row(obj{"type": 2, "style": 5, "label": "A", "url": "https://a.example"})), bad: v2(row(obj{"type": 2, "style": 5, "label": "A", "url": "https://a.example", "custom_id": "x"})), where: "components.0.components.0.custom_id", code: "BUTTON_COMPONENT_CUSTOM_ID_FORBIDDEN"},
		{name: "url of a plain button", good: v2(row(one)), bad: v2(row(with(one, "url", "https://a.example"))), where: "components.0.components.0.url", code: "BUTTON_COMPONENT_URL_FORBIDDEN"},
		{name: "scheme", good: v2(row(obj{"type": 2, "style": 5, "label": "A", "url": "https://a.example"})), bad: v2(row(obj{"type": 2, "style": 5, "label": "A", "url": "ftp://a.example"})), where: "components.0.components.0.url", code: "URL_TYPE_INVALID_SCHEME"},
		{name: "url", good: v2(text("a")), bad: v2(row(obj{"type": 2, "style": 5, "label": "A", "url": "https://a.example/" + rep(500)})), where: "components.0.components.0.url", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "style", good: v2(row(one)), bad: v2(row(with(one, "style", 9))), where: "components.0.components.0.style", code: "BASE_TYPE_CHOICES"},
		{name: "label or emoji", good: v2(row(with(with(one, "label", nil), "emoji", obj{"name": "🔥"}))), bad: v2(row(with(one, "label", nil))), where: "components.0.components.0", code: "BUTTON_COMPONENT_INVALID"},
		{name: "25 options", good: v2(row(sel(obj{"options": many(25, func(i int) any { return obj{"label": "A", "value": fmt.Sprint(i)} })}))), bad: v2(row(sel(obj{"options": many(26, func(i int) any { return obj{"label": "A", "value": fmt.Sprint(i)} })}))), where: "components.0.components.0.options", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "no options", good: v2(row(sel(nil))), bad: v2(row(sel(obj{"options": []any{}}))), where: "components.0.components.0.options", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "option label", good: v2(row(sel(obj{"options": []any{obj{"label": rep(100), "value": rep(100), "description": rep(100)}}}))), bad: v2(row(sel(obj{"options": []any{obj{"label": rep(101), "value": "a"}}}))), where: "components.0.components.0.options.0.label", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "option value", good: v2(row(sel(nil))), bad: v2(row(sel(obj{"options": []any{obj{"label": "A", "value": rep(101)}}}))), where: "components.0.components.0.options.0.value", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "option description", good: v2(row(sel(nil))), bad: v2(row(sel(obj{"options": []any{obj{"label": "A", "value": "a", "description": rep(101)}}}))), where: "components.0.components.0.options.0.description", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "option twice", good: v2(row(sel(nil))), bad: v2(row(sel(obj{"options": []any{obj{"label": "A", "value": "a"}, obj{"label": "B", "value": "a"}}}))), where: "components.0.components.0.options.1.value", code: "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED"},
		{name: "max_values", good: v2(row(sel(nil))), bad: v2(row(sel(obj{"max_values": 2}))), where: "components.0.components.0.max_values", code: "NUMBER_TYPE_MAX"},
		{name: "placeholder", good: v2(row(sel(obj{"placeholder": rep(150)}))), bad: v2(row(sel(obj{"placeholder": rep(151)}))), where: "components.0.components.0.placeholder", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "accent", good: v2(with(box(text("a")), "accent_color", 0xFFFFFF)), bad: v2(with(box(text("a")), "accent_color", 0x1000000)), where: "components.0.accent_color", code: "NUMBER_TYPE_MAX"},
		{name: "accent below", good: v2(with(box(text("a")), "accent_color", 0)), bad: v2(with(box(text("a")), "accent_color", -1)), where: "components.0.accent_color", code: "NUMBER_TYPE_MIN"},
		{name: "empty box", good: v2(box(text("a"))), bad: v2(obj{"type": 17, "components": []any{}}), where: "components.0.components", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "section", good: v2(obj{"type": 9, "components": []any{text("a")}, "accessory": one}), bad: v2(obj{"type": 9, "components": []any{text("a")}}), where: "components.0.accessory", code: "BASE_TYPE_REQUIRED"},
		{name: "section texts", good: v2(obj{"type": 9, "components": []any{text("a"), text("b"), text("c")}, "accessory": one}), bad: v2(obj{"type": 9, "components": many(4, func(int) any { return text("a") }), "accessory": one}), where: "components.0.components", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "file not there", good: v2(text("a")), bad: v2(obj{"type": 13, "file": obj{"url": "attachment://x.txt"}}), where: "components.0.file.url", code: "UNFURLED_MEDIA_ITEM_REFERENCED_ATTACHMENT_NOT_FOUND"},
		{name: "spacing", good: v2(text("a"), obj{"type": 14, "spacing": 2}), bad: v2(text("a"), obj{"type": 14, "spacing": 3}), where: "components.1.spacing", code: "BASE_TYPE_CHOICES"},
		{name: "nonce", good: with(content, "nonce", rep(25)), bad: with(content, "nonce", rep(26)), where: "nonce", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "10 embeds", good: obj{"embeds": many(10, func(int) any { return obj{"title": "x"} })}, bad: obj{"embeds": many(11, func(int) any { return obj{"title": "x"} })}, where: "embeds", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "embed text", good: obj{"embeds": []any{obj{"description": rep(4096)}}}, bad: obj{"embeds": []any{obj{"description": rep(4097)}}}, where: "embeds.0.description", code: "BASE_TYPE_MAX_LENGTH"},
		{name: "6000 of embeds", good: obj{"embeds": []any{obj{"description": rep(4000)}, obj{"description": rep(2000)}}}, bad: obj{"embeds": []any{obj{"description": rep(4000)}, obj{"description": rep(1990), "fields": []any{obj{"name": "12345", "value": "123456"}}}}}, where: "embeds", code: "MAX_EMBED_SIZE_EXCEEDED"},
		{name: "mentions", good: with(content, "allowed_mentions", obj{"parse": []any{}, "users": many(100, func(i int) any { return fmt.Sprint(i + 1) })}), bad: with(content, "allowed_mentions", obj{"parse": []any{}, "users": many(101, func(i int) any { return fmt.Sprint(i + 1) })}), where: "allowed_mentions.users", code: "BASE_TYPE_BAD_LENGTH"},
		{name: "mentions contradict", good: with(content, "allowed_mentions", obj{"parse": []any{"roles"}, "users": []any{"1"}}), bad: with(content, "allowed_mentions", obj{"parse": []any{"users"}, "users": []any{"1"}}), where: "allowed_mentions.users", code: "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"},
		{name: "mentions of what", good: content, bad: with(content, "allowed_mentions", obj{"parse": []any{"all"}}), where: "allowed_mentions.parse.0", code: "BASE_TYPE_CHOICES"},
		{name: "answers nothing", good: content, bad: with(content, "message_reference", obj{"message_id": "1"}), where: "message_reference", code: "REPLIES_UNKNOWN_MESSAGE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a := r.post(tt.good); a.status != 200 {
				t.Errorf("the good one: %d %s", a.status, a.raw)
			}
			r.Forget()
			before := len(r.Messages(r.general))
			a := r.post(tt.bad)
			switch {
			case tt.status != 0:
				a.is(t, tt.status, 0)
			case tt.refusing != 0:
				a.is(t, 400, tt.refusing)
			default:
				a.is(t, 400, 50035)
				found(t, a.obj, tt.where, tt.code)
			}
			if refused := r.Refusals(); len(refused) != 1 || refused[0].Method != fakediscord.CreateMessage || refused[0].Status != a.status {
				t.Errorf("kept %+v", refused)
			}
			if len(r.Messages(r.general)) != before {
				t.Error("a refused message is there")
			}
		})
	}
}

// found fails the test unless the nested errors have this code at this place.
func found(t *testing.T, answer obj, where, code string) {
	t.Helper()
	v := answer["errors"]
	if where != "" {
		for _, step := range strings.Split(where, ".") {
			v = at(v, step)
		}
	}
	list, _ := at(v, "_errors").([]any)
	for _, e := range list {
		if at(e, "code") == code {
			return
		}
	}
	t.Errorf("no %s at %s: %s", code, where, asJSON(answer))
}

// What the checks let through comes back with what Discord adds.
func TestComponentsComeBackSettled(t *testing.T) {
	r := start(t, fakediscord.Options{})
	a := r.post(v2(text("a"), obj{"type": 14}, obj{"type": 17, "id": 2, "components": []any{row(sel(nil))}}))
	id := a.id(t)
	seen := map[any]bool{}
	for _, path := range [][]any{{0}, {1}, {2}, {2, "components", 0}, {2, "components", 0, "components", 0}} {
		v := at(a.obj["components"], append(path, "id")...)
		if v == nil || seen[v] {
			t.Errorf("id %v at %v", v, path)
		}
		seen[v] = true
	}
	equal(t, "divider", at(a.obj["components"], 1, "divider"), true)
	equal(t, "min_values", at(a.obj["components"], 2, "components", 0, "components", 0, "min_values"), 1)
	equal(t, "the same later", asJSON(at(r.call("GET", r.messages()+"/"+id, nil).obj, "components")), asJSON(a.obj["components"]))
}
