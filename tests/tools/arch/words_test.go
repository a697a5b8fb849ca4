package arch

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// No shipped name has a word that was retired.
func TestRetiredWords(t *testing.T) {
	sources(t, func(path string, source []byte) {
		found, err := Retired(path, source)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, f := range found {
			t.Error(f)
		}
	})
}

// The bad example says at the end of each line which of its names are found.
func TestRetiredBites(t *testing.T) {
	source, err := os.ReadFile("testdata/retired.go")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Retired("core/chat/x.go", source)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range found {
		got = append(got, strings.Fields(f)[1])
	}
	for line := range strings.Lines(string(source)) {
		if code, names, ok := strings.Cut(line, " // "); ok && strings.TrimSpace(code) != "" && !strings.HasPrefix(names, "used") {
			for name := range strings.FieldsSeq(names) {
				want = append(want, name+":")
			}
		}
	}
	if slices.Sort(got); len(want) == 0 || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, path := range []string{"core/chat/x_test.go", "tests/harness/x.go"} {
		if found, err := Retired(path, source); err != nil || found != nil {
			t.Errorf("%s: %q, %v: tests may be named as they like", path, found, err)
		}
	}
	if got := wordsOf("newHTTPWire_of2"); !slices.Equal(got, []string{"new", "http", "wire", "of2"}) {
		t.Errorf("%q", got)
	}
}
