package discord

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// R81: a card shows the server's icon where it is an emoji, and one in its place where it is not: an address is never drawn, because Discord
// would fetch it. What the server says it is, and whether it is trusted, stand beside it.
func TestIconOfAServer(t *testing.T) {
	for name, tt := range map[string]struct{ icon, drawn string }{
		"emoji": {"📁", "📁"}, "none": {"", surface.SayNoIcon}, "picture": {"https://files.example/icon.png", surface.SayNoIcon}, "custom emoji": {"<:x:1>", surface.SayNoIcon},
		"a script": {"javascript:alert(1)", surface.SayNoIcon}, "words": {"This server is safe", surface.SayNoIcon},
	} {
		for trusted, says := range map[bool]string{true: "files, marked as trusted", false: "files, not marked as trusted"} {
			a := cardOf(1, helloArgs)
			a.Server = render.Server{Name: "files", Description: "Files of the team.", Icon: tt.icon, Trusted: trusted}
			p := encode(render.Message{State: render.Waiting, Blocks: []render.Block{a}}, nil)
			if err := check(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			text := dump(p)
			for _, want := range []string{tt.drawn + " " + surface.SayServer(a.Server), render.ServerSays + "Files of the team."} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %q is missing in\n%s", name, want, text)
				}
			}
			if surface.SayServer(a.Server) != says || strings.Contains(string(pretty(t, p)), "files.example") {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	}
}
