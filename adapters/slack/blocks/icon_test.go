package blocks

import (
	"cmp"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// The small line of a card shows the server's icon, as a picture or as an emoji. Nothing but a plain https address is given to Slack to
// fetch.
// R81
func TestIconOfAServer(t *testing.T) {
	for name, tt := range map[string]struct{ icon, text, image string }{
		"picture":  {"https://files.example/icon.png", "", "https://files.example/icon.png"},
		"emoji":    {"📁", "📁 ", ""},
		"none":     {"", "", ""},
		"plain":    {"http://files.example/icon.png", "", ""},
		"a script": {"javascript:alert(1)", "", ""},
		"inline":   {"data:image/png;base64,AAAA", "", ""},
		"words":    {"This server is safe", "", ""},
	} {
		a := cardOf(1, looks.HelloArgs)
		a.Icon = tt.icon
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
				lines = append(lines, s)
			}
		})
		if got := strings.Join(images, " "); got != tt.image {
			t.Errorf("%s: pictures %q, want %q", name, got, tt.image)
		}
		if want := cmp.Or(tt.text, text.SymbolConfirm+" ") + a.Small(); lines[0] != want {
			t.Errorf("%s: %q, want %q", name, lines[0], want)
		}
	}
}
