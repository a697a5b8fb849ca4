package slack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/surface"
)

// Where the rules are from.
const (
	docBlocks = "https://docs.slack.dev/reference/block-kit/blocks/"
	docParts  = "https://docs.slack.dev/reference/block-kit/block-elements/"
	docTexts  = "https://docs.slack.dev/reference/block-kit/composition-objects/"
	docModals = "https://docs.slack.dev/reference/views/modal-views"
	docHome   = "https://docs.slack.dev/reference/views/home-tab-views"
	docDialog = docTexts + "confirmation-dialog-object"
)

// rules are what Slack refuses, as far as nod could send it. A block of a kind that none of them knows is refused too: nobody
// has looked up yet what is wrong with it.
var rules = []rule{
	// The whole.
	{"message text", kindMessage, "https://docs.slack.dev/reference/methods/chat.update", chars("text", 1, maxText)},
	{"message kinds", kindMessage, docBlocks, kinds("blocks", "actions", "card", "container", "context", "context_actions", "divider", "header",
		"image", "markdown", "plan", "rich_text", "section", "table", "task_card")},
	{"message blocks", kindMessage, "https://docs.slack.dev/block-kit", func(n map[string]any) string { return atMostBlocks(n, maxBlocks) }},
	{"message length", kindMessage, "https://github.com/slackapi/bolt-js/issues/2509", func(n map[string]any) string {
		if size := n["size"].(int); size > maxAll {
			return fmt.Sprintf("all blocks together have %d characters, at most %d", size, maxAll)
		}
		return ""
	}},
	{"markdown length", kindMessage, docBlocks + "markdown-block", func(n map[string]any) string {
		size := 0
		visit(n["blocks"], "", func(_, kind string, b map[string]any) {
			if s, _ := b["text"].(string); kind == "markdown" {
				size += surface.Width(s)
			}
		})
		if size > maxMarkdown {
			return fmt.Sprintf("markdown blocks have %d characters, at most %d together", size, maxMarkdown)
		}
		return ""
	}},
	{"unique block_id", whole, docBlocks, func(n map[string]any) string { return twice(n, "block_id") }},
	{"unique action_id", whole, docParts + "button-element", func(n map[string]any) string { return twice(n, "action_id") }},
	{"modal kinds", kindModal, docBlocks, kinds("blocks", "actions", "context", "divider", "header", "image", "input", "rich_text", "section")},
	{"home kinds", kindHome, docBlocks, kinds("blocks", "actions", "context", "divider", "header", "image", "rich_text", "section")},
	{"home members", kindHome, docHome, func(n map[string]any) string {
		for _, m := range []string{"title", "submit", "close"} {
			if _, ok := n[m]; ok {
				return m + " is not for a Home tab"
			}
		}
		return ""
	}},
	{"view blocks", views, "https://docs.slack.dev/block-kit", func(n map[string]any) string { return atMostBlocks(n, maxViewBlocks) }},
	{"modal title", kindModal, docModals, chars("title.text", 1, maxViewTitle)},
	{"modal submit", kindModal, docModals, optional("submit.text", maxViewTitle)},
	{"modal close", kindModal, docModals, optional("close.text", maxViewTitle)},
	{"view length", views, "https://docs.slack.dev/reference/methods/views.open#errors", func(n map[string]any) string {
		if size := surface.Width(string(rawJSON(n))); size > maxViewSize {
			return fmt.Sprintf("the view has %d characters, at most %d", size, maxViewSize)
		}
		return ""
	}},
	{"view callback_id", views, docModals, optional("callback_id", maxID)},
	{"view metadata", views, docModals, optional("private_metadata", maxMeta)},
	{"modal input needs submit", kindModal, docModals, func(n map[string]any) string {
		say := ""
		visit(n["blocks"], "", func(at, kind string, _ map[string]any) {
			if _, ok := n["submit"]; kind == "input" && !ok {
				say = "submit is missing and there is an input"
			}
		})
		return say
	}},

	// Blocks.
	{"block_id", "*", docBlocks, optional("block_id", maxID)},
	{"section text", "section", docBlocks + "section-block", func(n map[string]any) string {
		if _, ok := n["fields"]; ok {
			return optional("text.text", maxSection)(n)
		}
		return chars("text.text", 1, maxSection)(n)
	}},
	{"section fields", "section", docBlocks + "section-block", func(n map[string]any) string {
		list, ok := n["fields"].([]any)
		if !ok {
			return ""
		}
		for _, f := range list {
			m, _ := f.(map[string]any)
			if say := chars("text", 1, 2000)(m); say != "" {
				return "fields: " + say
			}
		}
		return items("fields", 1, 10)(n)
	}},
	{"section accessory", "section", docBlocks + "section-block", kinds("accessory", "button", "checkboxes", "image", "overflow", "static_select")},
	{"header text", "header", docBlocks + "header-block", chars("text.text", 1, maxHeader)},
	{"header is plain", "header", docBlocks + "header-block", oneOf("text.type", "plain_text")},
	{"markdown text", "markdown", docBlocks + "markdown-block", chars("text", 1, maxMarkdown)},
	{"context elements", "context", docBlocks + "context-block", items("elements", 1, maxContext)},
	{"context kinds", "context", docBlocks + "context-block", kinds("elements", "image", "plain_text", "mrkdwn")},
	{"actions elements", "actions", docBlocks + "actions-block", items("elements", 1, maxActions)},
	{"actions kinds", "actions", docBlocks + "actions-block", kinds("elements", "button", "checkboxes", "overflow", "static_select")},
	{"container title", "container", docBlocks + "container-block", chars("title.text", 1, maxHeader)},
	{"container subtitle", "container", docBlocks + "container-block", optional("subtitle.text", maxSubtitle)},
	{"container children", "container", docBlocks + "container-block", items("child_blocks", 1, maxChildren)},
	// What both the page and the validator take: the page names rich_text too, which the validator is said to refuse.
	{"container kinds", "container", docBlocks + "container-block", kinds("child_blocks", "actions", "context", "divider", "header", "image", "section", "table", "video")},
	{"container collapsed", "container", docBlocks + "container-block", func(n map[string]any) string {
		if n["default_collapsed"] == true && n["is_collapsible"] != true {
			return "default_collapsed needs is_collapsible"
		}
		return ""
	}},
	{"plan title", "plan", docBlocks + "plan-block", chars("title", 1, maxTitle)},
	{"plan tasks", "plan", docBlocks + "plan-block", kinds("tasks", "task_card")},
	{"task id", "task_card", docBlocks + "task-card-block", chars("task_id", 1, maxID)},
	{"task title", "task_card", docBlocks + "task-card-block", chars("title", 1, maxTitle)},
	{"task status", "task_card", docBlocks + "task-card-block", oneOf("status", "pending", "in_progress", "complete", "error")},
	{"task output", "task_card", docBlocks + "task-card-block", kinds("output", "rich_text")},
	{"task details", "task_card", docBlocks + "task-card-block", kinds("details", "rich_text")},
	{"card title", "card", docBlocks + "card-block", optional("title.text", 150)},
	{"card body", "card", "https://github.com/agno-agi/agno/issues/8072", optional("body.text", 200)},
	{"rich_text elements", "rich_text", docBlocks + "rich-text-block", items("elements", 1, 1000)},
	{"rich_text parts", "rich_text_section rich_text_preformatted", docBlocks + "rich-text-block", items("elements", 1, 1000)},
	{"rich_text text", "text", docBlocks + "rich-text-block", chars("text", 1, maxAll)},
	{"rich_text link", "link", docBlocks + "rich-text-block", chars("url", 1, maxURL)},
	{"input element", "input", docBlocks + "input-block", kinds("element", "checkboxes", "datepicker", "datetimepicker", "email_text_input", "multi_static_select",
		"number_input", "plain_text_input", "radio_buttons", "static_select", "url_text_input")},
	{"input label", "input", docBlocks + "input-block", chars("label.text", 1, maxInputLabel)},
	{"input hint", "input", docBlocks + "input-block", optional("hint.text", maxInputLabel)},

	// Elements and texts.
	{"text", "plain_text mrkdwn", docTexts + "text-object", chars("text", 1, maxSection)},
	{"action_id", "button checkboxes datepicker datetimepicker email_text_input multi_static_select number_input overflow plain_text_input radio_buttons static_select url_text_input", docParts + "button-element", chars("action_id", 1, maxID)},
	{"button text", "button", docParts + "button-element", chars("text.text", 1, maxLabel)},
	{"button is plain", "button", docParts + "button-element", oneOf("text.type", "plain_text")},
	{"button value", "button", docParts + "button-element", optional("value", maxValue)},
	{"button url", "button", docParts + "button-element", optional("url", maxURL)},
	{"button label", "button", docParts + "button-element", optional("accessibility_label", maxLabel)},
	{"button style", "button", "UX.md: Allow is never the button that stands out", oneOf("style", "danger")},
	{"overflow options", "overflow", docParts + "overflow-menu-element", items("options", minOptions, maxOptions)},
	{"select options", "static_select multi_static_select", docParts + "select-menu-element", items("options", 1, maxSelect)},
	{"select placeholder", "static_select multi_static_select", docParts + "select-menu-element", optional("placeholder.text", maxHolder)},
	{"boxes options", "checkboxes radio_buttons", docParts + "checkboxes-element", items("options", 1, maxBoxes)},
	{"chosen at first", "checkboxes multi_static_select radio_buttons static_select", docParts + "select-menu-element", chosenIsThere},
	{"confirm title", kindConfirm, docDialog, chars("title.text", 1, maxConfTitle)},
	{"confirm text", kindConfirm, docDialog, chars("text.text", 1, maxConfirm)},
	{"confirm yes", kindConfirm, docDialog, chars("confirm.text", 1, maxConfButton)},
	{"confirm no", kindConfirm, docDialog, chars("deny.text", 1, maxConfButton)},
	{"option description", kindOption, docTexts + "option-object", optional("description.text", maxLabel)},
	{"option text", kindOption, docTexts + "option-object", chars("text.text", 1, maxLabel)},
	{"option value", kindOption, docTexts + "option-object", chars("value", 1, maxOption)},
	{"image address", "image", docParts + "image-element", func(n map[string]any) string {
		if u, _ := n["image_url"].(string); !strings.HasPrefix(u, "https://") || surface.Width(u) > maxURL {
			return fmt.Sprintf("image_url must begin with https:// and have at most %d characters", maxURL)
		}
		return ""
	}},
	{"image alt_text", "image", docParts + "image-element", chars("alt_text", 1, maxAlt)},
	{"input value", "email_text_input plain_text_input url_text_input", docParts + "plain-text-input-element", optional("initial_value", maxInput)},
	{"input length", "plain_text_input", docParts + "plain-text-input-element", func(n map[string]any) string {
		if v, ok := n["max_length"]; ok && atoi(v) > maxInput {
			return fmt.Sprintf("max_length is %v, at most %d", v, maxInput)
		}
		return ""
	}},
	{"input placeholder", "plain_text_input", docParts + "plain-text-input-element", optional("placeholder.text", 150)},
}

// chosenIsThere: what is chosen at first has to be exactly one of the options.
func chosenIsThere(n map[string]any) string {
	options, _ := n["options"].([]any)
	chosen, _ := n["initial_options"].([]any)
	if one, ok := n["initial_option"]; ok {
		chosen = append(chosen, one)
	}
	for _, c := range chosen {
		if !slices.ContainsFunc(options, func(o any) bool { return reflect.DeepEqual(o, c) }) {
			return "what is chosen at first is none of the options"
		}
	}
	return ""
}

func atoi(v any) (n int) {
	_, _ = fmt.Sscan(fmt.Sprint(v), &n)
	return n
}

// atMostBlocks counts blocks inside others too.
func atMostBlocks(n map[string]any, most int) string {
	count := 0
	var add func(list any)
	add = func(list any) {
		blocks, _ := list.([]any)
		for _, b := range blocks {
			count++
			if m, ok := b.(map[string]any); ok {
				add(m["child_blocks"])
				add(m["tasks"])
			}
		}
	}
	add(n["blocks"])
	if count > most {
		return fmt.Sprintf("blocks: %d with those inside others, at most %d", count, most)
	}
	return ""
}

// twice finds an identifier that occurs more than once.
func twice(n map[string]any, name string) (say string) {
	seen := map[string]bool{}
	visit(n["blocks"], "", func(_, _ string, b map[string]any) {
		id, ok := b[name].(string)
		if ok && seen[id] {
			say = fmt.Sprintf("%s %q occurs twice", name, id)
		}
		seen[id] = true
	})
	return say
}
