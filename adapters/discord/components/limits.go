package components

import "github.com/nodhq/nod/core/render"

// What Discord takes of one message or modal. "Characters" are UTF-16 units here: Discord does not say how it counts what is outside
// the Basic Multilingual Plane, and this is the larger of the two usual counts.
const (
	maxText        = 4000     // over all TextDisplays. https://github.com/discord/discord-api-docs/pull/8562
	maxTextBytes   = 10_170   // UTF-8 of all TextDisplays and textOverhead for each: above that Discord fails with 500. https://github.com/discord/discord-api-docs/issues/8554
	textOverhead   = 12       // bytes that each TextDisplay counts beside its own. The same page.
	maxComponents  = 40       // of a message, those inside others too. https://discord.com/developers/docs/components/reference
	maxRow         = 5        // buttons of a row; a select stands in one alone. https://discord.com/developers/docs/components/reference#action-row
	maxAddress     = 512      // where a button leads. https://discord.com/developers/docs/components/reference#button
	maxCustomID    = 100      // unique in its message. https://discord.com/developers/docs/components/reference#anatomy-of-a-component
	maxLabel       = 80       // of a button. https://discord.com/developers/docs/components/reference#button
	maxOptions     = 25       // https://discord.com/developers/docs/components/reference#string-select
	maxOption      = 100      // an option's label, its value and its description, each. The same page.
	maxPlaceholder = 150      // of a select. The same page.
	maxMentions    = 100      // users, and roles, that allowed_mentions names. https://discord.com/developers/docs/resources/message#allowed-mentions-object
	maxFileBytes   = 10 << 20 // of all files here; Discord's limit is one for each. https://discord.com/developers/docs/reference#uploading-files
	maxModalTitle  = 45       // https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal
	MaxInputs      = 5        // The same page.
	maxInputLabel  = 45       // https://discord.com/developers/docs/components/reference#text-input
	maxInputHint   = 100      // its placeholder. The same page.
	maxInput       = 4000     // its value. The same page.
)

// maxReason is how long a reason may be.
const maxReason = 500

// Limits are what a message is fitted to before it is drawn. They leave room for what is added: backslashes, marks, times, links. Where
// that is not enough, encode draws less.
var Limits = render.Limits{Chars: 3300, Bytes: 9300, Blocks: 14, Text: 3000, Args: 1200, Label: maxLabel, Asks: 5, Choices: 24}

// tighter are the limits that encode tries one after the other when a drawing does not fit. The last lie below
// [render.Floor], where Fit does what it can.
var tighter = []render.Limits{
	{Chars: 2800, Bytes: 7600, Blocks: 12, Text: 2500, Args: 1000, Label: maxLabel, Asks: 4, Choices: 24},
	{Chars: 2300, Bytes: 6500, Blocks: 11, Text: 1900, Args: 600, Label: maxLabel, Asks: 3, Choices: 20},
	render.Floor,
	{Chars: 1300, Bytes: 3900, Blocks: 8, Text: 400, Args: 150, Label: 40, Asks: 2, Choices: 16},
	{Chars: 900, Bytes: 2700, Blocks: 6, Text: 250, Args: 80, Label: 32, Asks: 1, Choices: 12},
	{Chars: 500, Bytes: 1500, Blocks: 5, Text: 120, Args: 40, Label: 24, Asks: 1, Choices: 10},
	{Chars: 300, Bytes: 900, Blocks: 4, Text: 60, Args: 30, Label: 16, Asks: 1, Choices: 8},
}
