package components

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// A card shows the server's icon where it is an emoji, and one in its place where it is not: an address is never drawn, because Discord
// would fetch it. What the server says it is, and whether it is trusted, stand beside it.
// R81
func TestIconOfAServer(t *testing.T) {
	for name, tt := range map[string]struct{ icon, drawn string }{
		"emoji": {"📁", "📁"}, "none": {"", surface.SayNoIcon}, "picture": {"https://files.example/icon.png", surface.SayNoIcon}, "custom emoji": {"<:x:1>", surface.SayNoIcon},
		"a script": {"javascript:alert(1)", surface.SayNoIcon}, "words": {"This server is safe", surface.SayNoIcon},
	} {
		for trusted, says := range map[bool]string{true: "files, marked as trusted", false: "files, not marked as trusted"} {
			a := cardOf(1, looks.HelloArgs)
			a.Server = render.Server{Name: "files", Description: "Files of the team.", Icon: tt.icon, Trusted: trusted}
			p := encode(render.Message{State: render.Waiting, Blocks: []render.Block{a}}, nil)
			if err := check(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			said := dump(p)
			for _, want := range []string{tt.drawn + " " + surface.SayServer(a.Server), text.ServerSays + "Files of the team."} {
				if !strings.Contains(said, want) {
					t.Errorf("%s: %q is missing in\n%s", name, want, said)
				}
			}
			if surface.SayServer(a.Server) != says || strings.Contains(string(pretty(t, p)), "files.example") {
				t.Errorf("%s:\n%s", name, said)
			}
		}
	}
}

// The box on a card is as the chat says.
// R83
func TestTheBoxIsTicked(t *testing.T) {
	t.Parallel()
	s := samples.Grantable("tok")
	for _, want := range []string{"[☐ Remember this choice]", "[☑ Remember this choice]"} {
		if got := dump(encode(card.View(s, s.Turn, card.Live{}), nil)); !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
		s.Turn.Calls[0].Ticked = &turn.Person{User: samples.Ana.User}
	}
}
