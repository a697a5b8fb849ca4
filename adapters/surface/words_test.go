package surface

import (
	"strings"
	"testing"
)

func TestAttachedFilesAreNamed(t *testing.T) {
	t.Parallel()
	got := WithFiles("look", []string{"a.pdf", strings.Repeat("x", 500) + "\n\u202eb"})
	if !strings.HasPrefix(got, "look\n[attached file, not readable for nod: a.pdf]\n[") || len(got) > 300 || strings.Contains(got, "\u202e") {
		t.Errorf("%q", got)
	}
	if WithFiles("look", nil) != "look" {
		t.Error("a message without files was changed")
	}
}
