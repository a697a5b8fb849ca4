package components

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
)

func TestAskPayloadIsBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"hello", strings.Repeat("*", 4000), strings.Repeat("語", 4000), strings.Repeat("\n", 3000) + "x", "> quoted\n# big\n```", ""} {
		p := Question("**Eve**\n# "+strings.Repeat("x", 500), s)
		if err := check(p); err != nil {
			t.Errorf("%.20q: %v", s, err)
		}
		if n := utf8.RuneCountInString(p.Components[0].(discordgo.TextDisplay).Content); n > maxShown {
			t.Errorf("%.20q: %d characters", s, n)
		}
	}
}
