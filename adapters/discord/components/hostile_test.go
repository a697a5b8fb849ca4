package components

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

var hostile = looks.Hostile{
	Platform: ids.Platform, People: []string{"111111111111111111", "&222222222222222222", "@everyone", "", "1>", "18446744073709551616000"}, Hosts: []string{"good.example"},
	Repeated: []string{"中", "*", "_", "- a\n"}, Confirm: []string{"Really?"}, Toggles: []render.Toggle{render.NoToggle, render.ToggleOff, render.ToggleOn},
	Choices: []chat.Choice{chat.AllowPath, chat.AllowSession, chat.Remember, chat.Why, chat.AskFor, chat.Answer, chat.Decline, chat.Open}, Kinds: []render.AskKind{render.AskInput}, More: 16,
	Pieces: []string{
		"<@111111111111111111>", "<@!1>", "<@&222222222222222222>", "<#3>", "</stop:4>", "<id:customize>", "<a:wave:5>", "<:x:6>", "<t:1795269720:R>", "@everyone", "@here", ":tada:",
		"<https://evil.example>", "https://evil.example/?q=secret", "http://good.example/", "https://docs.example/a_b", "steam://run/1", "discord://-/x", "discord.gg/abc", "https://good.example@evil.example", "https:", "//",
		"[https://good.example](https://evil.example)", "[a](https://docs.example)", "[good.example](<https://docs.example>)", "[🎉](https://good.example 't')", "![x](https://evil.example/p.png)", "[", "](", ")", "]",
		"```", "````", "``", "`", "~~~", "**", "*", "***", "_", "__", "~~", "~", "||", "|", "> ", ">>> ", "-# ", "# ", "#### ", "- ", "1. ", "\n- ", "- [x] ", "\n> ", "\n-# ", "\n### ", "\n```\n", "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
		"\n", "\n\n", "    ", "  ", "&lt;@1&gt;", "&#8238;", "\u200b", "\u202e", "\U000E0041", "😀", "é", "中", "\\", "\"", "{", "}", "<", ">", "&", "\x00", "\xff", "\t", "snake_case", "word", "10:30",
		"<b>", "</details>", "attachment://x", "✓ write_file · files · allowed by policy", "### Allow tool call from files?",
	},
}

// nastyMarkdown is an answer: pieces of markup put together.
func nastyMarkdown(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile.Pieces), 0, 30).Draw(t, "pieces"), rapid.SampledFrom([]string{"", "", " ", "\n"}).Draw(t, "between"))
}
