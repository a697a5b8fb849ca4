package surface

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

func TestAttachedFilesAreNamed(t *testing.T) {
	t.Parallel()
	got := WithFiles("look", []string{SayFile("a.pdf", 12_345), SayFile(strings.Repeat("x", 500)+"\n\u202eb", 0)})
	if !strings.HasPrefix(got, "look\n[file a.pdf, 12 KB; nod cannot read it]\n[file xxx") || len(got) > 300 || strings.Contains(got, "\u202e") {
		t.Errorf("%q", got)
	}
	if WithFiles("look", nil) != "look" {
		t.Error("a message without files was changed")
	}
}

func TestWhatWaits(t *testing.T) {
	t.Parallel()
	if got := SayPending(nil, "thread"); got != "Nothing in this thread waits for an answer." {
		t.Errorf("%q", got)
	}
	open := make([]turn.ToolCall, maxPending+2)
	if got := SayPending(open, "thread"); strings.Count(got, "\n") != maxPending+1 || !strings.HasSuffix(got, "\nand 2 more") || strings.Contains(got, text.ExpiresAt) {
		t.Errorf("%q", got)
	}
}

func TestAButtonHasWords(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{" a\n": "a ⏎", " ": "instead", "": "instead"} {
		if got := Label(s, 9, "instead"); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
