package blocks

import "github.com/nodhq/nod/tests/suites/conformance/looks"

var hostile = looks.Hostile{Platform: Platform, People: []string{"U1ANA", "<!channel>", "", "UA|x>"}, More: 9, Pieces: []string{
	"<!channel>", "<@U1>", "<#C1|general>", "<!subteam^S1>", "<!here>", "@here", "@everyone", "<https://evil.example|https://good.example>",
	"[https://good.example](https://evil.example)", "![x](https://evil.example/p.png)", "```", "````", "`", "*bold*", "_it_", "~s~", "> ", "\n", "\n\n", "    ", "&lt;!channel&gt;",
	"\u200b", "\u202e", "\U000E0041", "😀", "é", "中", "\\", "\"", "{", "}", "<", ">", "&", "|", "\x00", "\xff", "[", "](", "https://evil.example", "<!date^1^{time}|x>", ":tada:", "\\@channel", "- [x] ",
}}
