package blocks

import "github.com/nodhq/nod/core/render"

// What Slack takes of one message or modal. "Characters" are UTF-16 units here: Slack does not say how it counts what is outside the
// Basic Multilingual Plane, and this is the larger of the two usual counts.
const (
	maxBlocks     = 50      // of a message; blocks inside others are counted as well, since a markdown block "may result in multiple blocks". https://docs.slack.dev/block-kit
	maxViewBlocks = 100     // of a modal or a Home tab. https://docs.slack.dev/block-kit
	maxViewSize   = 250_000 // characters of a view's JSON: view_too_large. https://docs.slack.dev/reference/methods/views.open#errors
	maxAll        = 13_000  // the JSON of all blocks. Undocumented: msg_blocks_too_long came at 13,297 characters, at 13,172 with a divider. https://github.com/slackapi/bolt-js/issues/2509
	maxMarkdown   = 12_000  // over all markdown blocks. https://docs.slack.dev/reference/block-kit/blocks/markdown-block
	maxSection    = 3000    // https://docs.slack.dev/reference/block-kit/blocks/section-block
	maxHeader     = 150     // https://docs.slack.dev/reference/block-kit/blocks/header-block
	maxContext    = 10      // elements. https://docs.slack.dev/reference/block-kit/blocks/context-block
	maxActions    = 25      // elements. https://docs.slack.dev/reference/block-kit/blocks/actions-block
	maxLabel      = 75      // of a button, an option and an accessibility_label. https://docs.slack.dev/reference/block-kit/block-elements/button-element
	maxOption     = 75      // an option's value: 150 on the page of today, 75 in Slack's own types. https://docs.slack.dev/reference/block-kit/composition-objects/option-object
	minOptions    = 2       // of an overflow menu: 1 on the page of today, 2 before
	maxOptions    = 5       // https://docs.slack.dev/reference/block-kit/block-elements/overflow-menu-element
	maxSelect     = 100     // options of a select. https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element
	maxBoxes      = 10      // checkboxes or radio buttons. https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element
	maxConfirm    = 300     // a confirmation's text. https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
	maxConfTitle  = 100     // and its title
	maxConfButton = 30      // and its buttons
	maxHolder     = 150     // a placeholder
	maxTitle      = 256     // of a task card: the pages name no limit, those of the same fields in a stream do. https://docs.slack.dev/reference/methods/chat.appendStream
	maxText       = 4000    // of chat.update; chat.postMessage takes 40,000. https://docs.slack.dev/reference/methods/chat.update
	maxURL        = 3000    // of an image or a button
	maxViewTitle  = 24      // title, submit and close. https://docs.slack.dev/reference/views/modal-views
	maxMeta       = 3000    // private_metadata. https://docs.slack.dev/reference/views/modal-views
	maxInput      = 3000    // of a plain_text_input. https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element
	maxInputLabel = 2000    // https://docs.slack.dev/reference/block-kit/blocks/input-block
)

// Limits are the room of a usual message: an answer of 9,000 characters, or as many questions as are asked at once. Arguments are as long as
// leaves the buttons below them on the screen; all of them are a click away. Escaping and JSON make some texts longer, and the menus of
// several questions most of all; EncodeMessage then draws less.
var Limits = render.Limits{Chars: 9500, Bytes: 28_500, Blocks: 24, Text: 9000, Args: 900, Label: maxLabel, Asks: 20, Choices: 90}

// tighter are what EncodeMessage tries then. The last lie below [render.Floor], where Fit does what it can.
var tighter = []render.Limits{
	{Chars: 8600, Bytes: 25_800, Blocks: 22, Text: 8000, Args: 900, Label: maxLabel, Asks: 15, Choices: 75},
	{Chars: 7600, Bytes: 22_800, Blocks: 20, Text: 7200, Args: 900, Label: maxLabel, Asks: 10, Choices: 60},
	{Chars: 6000, Bytes: 18_000, Blocks: 18, Text: 5600, Args: 900, Label: maxLabel, Asks: 7, Choices: 60},
	{Chars: 4500, Bytes: 13_500, Blocks: 14, Text: 4000, Args: 800, Label: maxLabel, Asks: 5, Choices: 50},
	{Chars: 3000, Bytes: 9000, Blocks: 12, Text: 2400, Args: 600, Label: 60, Asks: 4, Choices: 40},
	{Chars: 2200, Bytes: 6600, Blocks: 10, Text: 1000, Args: 400, Label: 40, Asks: 3, Choices: 20},
	render.Floor,
	{Chars: 1200, Bytes: 3600, Blocks: 8, Text: 300, Args: 120, Label: 32, Asks: 2, Choices: 14},
	{Chars: 700, Bytes: 2100, Blocks: 5, Text: 200, Args: 60, Label: 24, Asks: 1, Choices: 10},
	{Chars: 300, Bytes: 900, Blocks: 4, Text: 60, Args: 30, Label: 16, Asks: 1, Choices: 8},
}

// bare is from where on EncodeMessage leaves out what can be had from View details: a server's picture, and the words below a menu's lines.
const bare = 6
