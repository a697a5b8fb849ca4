package blocks

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// A card shows the server's icon, as a picture or as an emoji, or one in its place; what the server says it is; and whether it is
// trusted. Nothing but a plain https address is given to Slack to fetch.
// R81
func TestIconOfAServer(t *testing.T) {
	for name, tt := range map[string]struct{ icon, text, image string }{
		"picture":  {"https://files.example/icon.png", "", "https://files.example/icon.png"},
		"emoji":    {"📁", "📁 ", ""},
		"none":     {"", surface.SayNoIcon + " ", ""},
		"plain":    {"http://files.example/icon.png", surface.SayNoIcon + " ", ""},
		"a script": {"javascript:alert(1)", surface.SayNoIcon + " ", ""},
		"inline":   {"data:image/png;base64,AAAA", surface.SayNoIcon + " ", ""},
		"words":    {"This server is safe", surface.SayNoIcon + " ", ""},
	} {
		for trusted, says := range map[bool]string{true: "files, marked as trusted", false: "files, not marked as trusted"} {
			a := cardOf(1, looks.HelloArgs)
			a.Server = render.Server{Name: "files", Description: "Files of the team.", Icon: tt.icon, Trusted: trusted}
			p := EncodeMessage(render.Message{State: render.Waiting, Blocks: []render.Block{a}})
			if err := check(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var images, lines []string
			visit(decoded(rawJSON(p.Blocks)), "", func(_, kind string, n map[string]any) {
				if url, ok := n["image_url"].(string); ok {
					images = append(images, url)
				}
				if s, ok := n["text"].(string); ok && kind == "plain_text" {
					lines = append(lines, strings.Split(s, "\n")...)
				}
			})
			if got := strings.Join(images, " "); got != tt.image {
				t.Errorf("%s: pictures %q, want %q", name, got, tt.image)
			}
			found, described := false, false
			for _, l := range lines {
				found = found || l == tt.text+surface.SayServer(a.Server)
				described = described || l == text.ServerSays+"Files of the team."
			}
			if !found || !described || surface.SayServer(a.Server) != says {
				t.Errorf("%s: %q", name, lines)
			}
		}
	}
}
