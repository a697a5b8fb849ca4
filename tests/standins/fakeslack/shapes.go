package fakeslack

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// rule checks one value; what is wrong it notes.
type rule func(*checker, any)

// shape is what an object may have. Each stands on its page under https://docs.slack.dev/reference/block-kit/
type shape struct {
	need []string
	have map[string]rule
	also func(*checker, map[string]any)
	open bool // members that are not named are let through
}

func anything(*checker, any) {}

func boolean(c *checker, v any) {
	if _, ok := v.(bool); !ok {
		c.no("must be a boolean")
	}
}

// str is a string of least to most characters.
func str(least, most int) rule {
	return func(c *checker, v any) {
		s, ok := v.(string)
		n := len(s)
		if n > most || n < least { // bytes first: it is the quicker count
			n = utf8.RuneCountInString(s)
		}
		switch {
		case !ok:
			c.no("must be a string")
		case n < least:
			c.no("must be more than %d characters", least-1)
		case n > most:
			c.no("must be less than %d characters", most+1)
		}
	}
}

func one(of ...string) rule {
	return func(c *checker, v any) {
		if s, ok := v.(string); !ok || !slices.Contains(of, s) {
			c.no("must be a valid enum value")
		}
	}
}

func number(least, most float64) rule {
	return func(c *checker, v any) {
		n, ok := v.(float64)
		switch {
		case !ok:
			c.no("must be a number")
		case n < least || n > most:
			c.no("must be between %v and %v", least, most)
		}
	}
}

// items is an array of least to most values.
func items(least, most int, each rule) rule {
	return func(c *checker, v any) {
		list, ok := v.([]any)
		switch {
		case !ok:
			c.no("must be an array")
			return
		case len(list) < least:
			c.no("no fewer than %d items allowed", least)
		case len(list) > most:
			c.no("no more than %d items allowed", most)
		}
		for i, e := range list {
			c.in(strconv.Itoa(i), func() { each(c, e) })
		}
	}
}

var (
	dayForm    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	numberForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
)

// form is a string of a form.
func form(is *regexp.Regexp) rule {
	return func(c *checker, v any) {
		if s, ok := v.(string); !ok || !is.MatchString(s) {
			c.no("must match %s", is)
		}
	}
}

// selection checks what the members of a menu have to do with each other: options or groups of them, and what is chosen at first is
// exactly one of them. https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#static_select
func selection(c *checker, e map[string]any) {
	options, _ := e["options"].([]any)
	groups, grouped := e["option_groups"].([]any)
	switch {
	case grouped && e["options"] != nil:
		c.no("only one of options and option_groups may be there")
	case !grouped && e["options"] == nil:
		c.no("missing required field: options")
	}
	for _, g := range groups {
		if g, ok := g.(map[string]any); ok {
			more, _ := g["options"].([]any)
			options = append(options, more...)
		}
	}
	chosen, _ := e["initial_options"].([]any)
	if one := e["initial_option"]; one != nil {
		chosen = append(chosen, one)
	}
	for _, x := range chosen {
		if !slices.ContainsFunc(options, func(o any) bool { return reflect.DeepEqual(o, x) }) {
			c.no("the initial option is none of the options")
		}
	}
}

func textInput(c *checker, e map[string]any) {
	least, _ := e["min_length"].(float64)
	if most, ok := e["max_length"].(float64); ok && least > most {
		c.no("min_length is more than max_length")
	}
}

func object(s shape) rule {
	return func(c *checker, v any) {
		o, ok := v.(map[string]any)
		if !ok {
			c.no("must be an object")
			return
		}
		c.object(o, s)
		if s.also != nil {
			s.also(c, o)
		}
	}
}

// text is a text object of most characters, of one of these types.
func text(most int, kinds ...string) rule {
	body := str(1, most)
	return func(c *checker, v any) {
		o, ok := v.(map[string]any)
		if !ok {
			c.no("must be an object")
			return
		}
		kind, _ := o["type"].(string)
		if !slices.Contains(kinds, kind) {
			c.in("type", func() { c.no("must be a valid enum value") })
			return
		}
		own := map[string]string{"plain_text": "emoji", "mrkdwn": "verbatim"}[kind]
		if _, ok := o["text"]; !ok {
			c.no("missing required field: text")
		}
		for k, x := range o {
			switch k {
			case "type":
			case "text":
				c.in("text", func() { body(c, x) })
			case own:
				c.in(k, func() { boolean(c, x) })
			default:
				c.no("invalid additional property: %s", k)
			}
		}
	}
}

const maxText = 3000 // of a text object

func plainText(most int) rule { return text(most, "plain_text") }
func anyText(most int) rule   { return text(most, "plain_text", "mrkdwn") }

// child is a block of one of these kinds.
func child(kinds ...string) rule {
	return func(c *checker, v any) { c.block(v, kinds) }
}

func with(a map[string]rule, more map[string]rule) map[string]rule {
	for k, v := range more {
		a[k] = v
	}
	return a
}

var (
	// The tables name each other, so they are filled in when the program starts.
	blockShapes, elementShapes map[string]shape
	viewShape, homeShape       shape

	messageOnly = map[string]bool{"markdown": true, "plan": true, "task_card": true, "context_actions": true, "file": true, "carousel": true}
	modalOnly   = map[string]bool{"alert": true}

	confirm = object(shape{need: []string{"title", "text", "confirm", "deny"}, have: map[string]rule{
		"title": plainText(100), "text": anyText(300), "confirm": plainText(30), "deny": plainText(30), "style": one("primary", "danger")}})

	imageElement = map[string]rule{"image_url": str(1, 3000), "slack_file": anything, "alt_text": str(1, 2000)}

	selects = []string{"static_select", "multi_static_select", "external_select", "users_select", "multi_users_select", "conversations_select", "channels_select"}
	pickers = []string{"datepicker", "timepicker", "datetimepicker"}
	simple  = []string{"button", "overflow", "checkboxes", "radio_buttons", "workflow_button"}
	fields  = []string{"plain_text_input", "rich_text_input", "email_text_input", "url_text_input", "number_input", "file_input"}
)

// option is one of a menu's.
func option(label rule, more ...string) shape {
	s := shape{need: []string{"text", "value"}, have: map[string]rule{"text": label, "value": str(1, 150), "description": anyText(75)}}
	for _, k := range more {
		s.have[k] = str(1, 3000)
	}
	return s
}

func init() {
	act := func(have map[string]rule) map[string]rule {
		return with(have, map[string]rule{"action_id": str(0, maxID), "confirm": confirm, "focus_on_load": boolean})
	}
	options := func(most int, label rule) rule { return items(1, most, object(option(label))) }
	menu := func(most int, label rule) map[string]rule {
		return act(map[string]rule{"options": options(most, label), "initial_option": object(option(label)), "initial_options": options(most, label)})
	}
	// https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#static_select
	sel := func() map[string]rule {
		group := object(shape{need: []string{"label", "options"}, have: map[string]rule{"label": plainText(75), "options": options(100, plainText(75))}})
		return with(menu(100, plainText(75)), map[string]rule{"placeholder": plainText(150), "option_groups": items(1, 100, group), "max_selected_items": number(1, 100)})
	}
	picker := func(have map[string]rule) map[string]rule {
		return act(with(have, map[string]rule{"placeholder": plainText(150)}))
	}
	field := func() map[string]rule {
		return act(map[string]rule{"placeholder": plainText(150), "initial_value": str(0, maxInput), "dispatch_action_config": anything})
	}
	feedback := object(shape{need: []string{"text", "value"}, have: map[string]rule{"text": plainText(75), "value": str(1, 2000), "accessibility_label": str(1, 75)}})
	elementShapes = map[string]shape{
		"button": {need: []string{"text"}, have: act(map[string]rule{"text": plainText(75), "url": str(1, 3000), "value": str(0, 2000), "style": one("primary", "danger"),
			"accessibility_label": str(1, 75), "agent_prompt": anything, "agent_prompt_display": anything})},
		"overflow":            {need: []string{"options"}, have: act(map[string]rule{"options": items(1, 5, object(option(plainText(75), "url")))})},
		"checkboxes":          {need: []string{"options"}, have: menu(10, anyText(75)), also: selection},
		"radio_buttons":       {need: []string{"options"}, have: menu(10, anyText(75)), also: selection},
		"static_select":       {have: sel(), also: selection},
		"multi_static_select": {have: sel(), also: selection},
		"email_text_input":    {have: field()},
		"url_text_input":      {have: field()},
		"datepicker":          {have: picker(map[string]rule{"initial_date": form(dayForm)})},
		"datetimepicker":      {have: act(map[string]rule{"initial_date_time": number(1e9, 9_999_999_999)})},
		"plain_text_input": {have: with(field(), map[string]rule{"multiline": boolean, "min_length": number(0, maxInput), "max_length": number(1, maxInput)}),
			also: textInput},
		"feedback_buttons": {need: []string{"positive_button", "negative_button"}, have: act(map[string]rule{"positive_button": feedback, "negative_button": feedback})},
		"icon_button": {need: []string{"icon", "text"}, have: act(map[string]rule{"icon": str(1, 255), "text": plainText(75), "value": str(0, 2000), "accessibility_label": str(1, 75),
			"visible_to_user_ids": items(0, 100, str(1, 255))})},
		"number_input": {need: []string{"is_decimal_allowed"}, have: with(field(), map[string]rule{"is_decimal_allowed": boolean, "min_value": form(numberForm), "max_value": form(numberForm)})},
	}
	for _, kind := range slices.Concat(selects, pickers, simple, fields) {
		if _, ok := elementShapes[kind]; !ok {
			elementShapes[kind] = shape{open: true}
		}
	}
	initBlocks()
}

func initBlocks() {
	image := object(shape{need: []string{"alt_text"}, have: imageElement})
	accessory := element(slices.Concat(simple, selects, pickers)...)
	rich := func(c *checker, v any) { c.block(v, []string{"rich_text"}) }
	blockShapes = map[string]shape{
		"divider": {},
		"section": {have: map[string]rule{"text": anyText(maxText), "fields": items(1, 10, anyText(2000)), "expand": boolean,
			"accessory": func(c *checker, v any) {
				if o, ok := v.(map[string]any); ok && o["type"] == "image" {
					image(c, v)
					return
				}
				accessory(c, v)
			}},
			also: func(c *checker, b map[string]any) {
				if b["text"] == nil && b["fields"] == nil {
					c.no("missing required field: text")
				}
			}},
		"header":   {need: []string{"text"}, have: map[string]rule{"text": plainText(150), "level": anything}},
		"markdown": {need: []string{"text"}, have: map[string]rule{"text": str(1, maxMarkdown)}},
		"image":    {need: []string{"alt_text"}, have: with(map[string]rule{"title": plainText(2000)}, imageElement)},
		"actions":  {need: []string{"elements"}, have: map[string]rule{"elements": items(1, 25, accessory)}},
		"context": {need: []string{"elements"}, have: map[string]rule{"elements": items(1, 10, func(c *checker, v any) {
			if o, ok := v.(map[string]any); ok && o["type"] == "image" {
				image(c, v)
				return
			}
			anyText(maxText)(c, v)
		})}},
		"context_actions": {need: []string{"elements"}, have: map[string]rule{"elements": items(1, 5, element("feedback_buttons", "icon_button"))}},
		"input": {need: []string{"label", "element"}, have: map[string]rule{"label": plainText(2000), "hint": plainText(2000), "optional": boolean, "dispatch_action": boolean,
			"element": element(slices.Concat(fields, selects, pickers, []string{"checkboxes", "radio_buttons"})...)}},
		"file":      {need: []string{"external_id", "source"}, have: map[string]rule{"external_id": str(1, maxID), "source": one("remote")}},
		"rich_text": {need: []string{"elements"}, have: map[string]rule{"elements": items(0, 1000, richElement)}},
		"task_card": {need: []string{"task_id", "title"}, have: map[string]rule{"task_id": str(1, maxID), "title": str(1, MaxBlocksSize), "details": rich, "output": rich,
			"status": one("pending", "in_progress", "complete", "error"), "hide_title": boolean, "icon": anything,
			"sources": items(0, 100, object(shape{need: []string{"type", "url", "text"}, have: map[string]rule{"url": str(1, 3000), "text": str(1, maxText)}}))}},
		"plan": {need: []string{"title"}, have: map[string]rule{"title": str(1, MaxBlocksSize), "tasks": items(0, 1000, child("task_card"))}},
		"card": {have: map[string]rule{"title": anyText(150), "subtitle": anyText(150), "body": anyText(200), "subtext": anyText(200), "hero_image": image, "icon": image, "slack_icon": anything,
			"actions": items(1, 25, element("button", "overflow"))},
			also: func(c *checker, b map[string]any) {
				if b["title"] == nil && b["body"] == nil && b["hero_image"] == nil && b["actions"] == nil {
					c.no("missing required field: title")
				}
			}},
		"container": {need: []string{"child_blocks"}, have: map[string]rule{"title": plainText(150), "rich_text_title": rich, "subtitle": anyText(150), "icon": image,
			"width": one("narrow", "standard", "wide", "full"), "is_collapsible": boolean, "default_collapsed": boolean, "has_header_divider": boolean,
			// what the live validator takes, which is less than the page says: no rich_text, file or input, and no markdown, plan or task_card
			"child_blocks": items(1, 10, child("divider", "image", "section", "actions", "video", "header", "context", "table", "layout"))},
			also: container},
		"table": {need: []string{"rows"}, have: map[string]rule{"rows": items(1, 100, items(1, 20, cell)), "column_settings": items(0, 20, anything)}, also: tableSize},
		"alert": {need: []string{"text"}, have: map[string]rule{"text": anyText(maxText), "level": one("info", "success", "warning", "error", "default")}},
	}
	for _, kind := range []string{"video", "carousel", "layout", "data_table", "data_visualization", "call"} { // nothing here looks into these
		blockShapes[kind] = shape{open: true}
	}
	blocks := func(c *checker, v any) {
		items(0, MaxViewBlocks, anything)(c, v)
		if list, ok := v.([]any); ok {
			c.list(list)
		}
	}
	common := func() map[string]rule {
		return map[string]rule{"blocks": blocks, "private_metadata": str(0, maxMeta), "callback_id": str(0, maxID), "external_id": str(0, maxID)}
	}
	homeShape = shape{need: []string{"blocks"}, have: common()}
	viewShape = shape{need: []string{"title", "blocks"}, have: with(common(), map[string]rule{"title": plainText(maxViewTitle), "submit": plainText(maxViewTitle),
		"close": plainText(maxViewTitle), "clear_on_close": boolean, "notify_on_close": boolean, "submit_disabled": boolean})}
}

// container checks what a container's members have to do with each other.
func container(c *checker, b map[string]any) {
	is := func(k string) bool { v, _ := b[k].(bool); return v }
	switch {
	case b["title"] == nil && b["rich_text_title"] == nil:
		c.no("missing required field: title")
	case is("default_collapsed") && !is("is_collapsible"):
		c.no("default_collapsed requires is_collapsible")
	case is("has_header_divider") && is("is_collapsible"):
		c.no("has_header_divider is not for a collapsible container")
	}
}

// cell is one of a table's.
func cell(c *checker, v any) {
	o, _ := v.(map[string]any)
	switch o["type"] {
	case "raw_text", "raw_number":
	case "rich_text":
		c.block(v, []string{"rich_text"})
	default:
		c.in("type", func() { c.no("unsupported type: %v", o["type"]) })
	}
}

// maxTable is the characters of all cells. https://docs.slack.dev/reference/block-kit/blocks/table-block
const maxTable = 10_000

func tableSize(c *checker, b map[string]any) {
	if size(b["rows"]) > maxTable {
		c.no("the cells must be less than %d characters in all", maxTable+1)
	}
}

// richElement checks what stands in a rich_text block.
func richElement(c *checker, v any) {
	o, _ := v.(map[string]any)
	kind, _ := o["type"].(string)
	elements, ok := o["elements"].([]any)
	switch {
	case !slices.Contains([]string{"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"}, kind):
		c.in("type", func() { c.no("unsupported type: %s", kind) })
		return
	case !ok:
		c.no("missing required field: elements")
		return
	}
	c.path = append(c.path, "elements")
	defer func() { c.path = c.path[:len(c.path)-1] }()
	for i, e := range elements {
		c.in(strconv.Itoa(i), func() {
			if kind == "rich_text_list" {
				richElement(c, e)
				return
			}
			richLeaf(c, e)
		})
	}
}

// richLeaves are the pieces that a rich text is written in, with the member each must have.
var richLeaves = map[string]string{"text": "text", "link": "url", "user": "user_id", "emoji": "name", "channel": "channel_id", "usergroup": "usergroup_id",
	"broadcast": "range", "date": "timestamp", "color": "value", "team": "team_id", "citation": "", "tag": ""}

func richLeaf(c *checker, v any) {
	o, _ := v.(map[string]any)
	kind, _ := o["type"].(string)
	need, ok := richLeaves[kind]
	if !ok {
		c.in("type", func() { c.no("unsupported type: %s", kind) })
		return
	}
	switch x, ok := o[need]; {
	case need == "":
	case !ok:
		c.no("missing required field: %s", need)
	case x == "":
		c.in(need, func() { c.no("must be more than 0 characters") })
	}
}
