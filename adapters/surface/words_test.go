package surface

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Command{
		"stop": {Verb: "stop"}, " STOP ": {Verb: "stop"}, "reset": {Verb: "reset"}, "help": {Verb: "help"}, "pending": {Verb: "pending"},
		"history": {Verb: VerbSettings, Args: []string{"history"}}, "Stats": {Verb: VerbSettings, Args: []string{"Stats"}},
		"mode": {Verb: "mode"}, "mode always": {Verb: "mode", Args: []string{"always"}}, "Mode Never": {Verb: "mode", Args: []string{"never"}}, "mode tool": {Verb: "mode", Args: []string{"tool"}},
	} {
		if got, ok := ParseCommand(in); !ok || got.Verb != want.Verb || !reflect.DeepEqual(got.Args, want.Args) {
			t.Errorf("%q: got %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "stop it", "please stop", "mode dark", "mode always please", "reset the router", "stop.", "stops", "history of rome", "stats please"} {
		if c, ok := ParseCommand(in); ok {
			t.Errorf("%q is taken for the command %v", in, c)
		}
	}
}

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
