package surface

import (
	"strings"
	"testing"
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
