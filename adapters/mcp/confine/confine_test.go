//go:build linux

package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a program needs is guessed, and no guess opens what was to be kept, or somebody's home.
func TestNeeds(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	t.Setenv("HOME", home)
	at := func(path string) string { return filepath.Join(root, path) }
	for _, dir := range []string{"home/bin", "home/.local/bin", "home/.local/share/nod", "opt/node/bin", "opt/node/lib", "srv"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("opt/node/lib/npx.js"), at("home/bin/npx")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("opt/node/lib/npx.js"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	keep := []string{at("home/.local/share/nod")}
	for _, tt := range []struct {
		program, path string
		want          []string
	}{
		{"opt/node/bin/npx", "", []string{"opt/node/bin/npx", "opt/node"}},
		{"home/.local/bin/uvx", "", []string{"home/.local/bin/uvx", "home/.local/bin"}}, // what is beside it holds data_dir
		{"home/bin/npx", "", []string{"home/bin/npx", "home/bin", "opt/node/lib/npx.js"}},
		{"srv/server", "", []string{"srv/server"}},
		{"srv/server", at("home") + ":" + at("opt/node/bin") + ":.:/", []string{"srv/server", "opt/node/bin"}},
	} {
		var want []string
		for _, w := range tt.want {
			want = append(want, at(w))
		}
		got := needs(at(tt.program), tt.path, keep)
		slices.Sort(got)
		slices.Sort(want)
		if got, want := fmt.Sprint(slices.Compact(got)), fmt.Sprint(want); got != want {
			t.Errorf("%s: %s, want %s", tt.program, got, want)
		}
	}
	if got := Exposed("/usr/share/nod", "/var/lib/nod", "/etc/nod/nod.yaml", "/etc/ssl/nod.yaml", "/var/lib/ca-certificates/pem"); fmt.Sprint(got) != "[/usr/share/nod /etc/ssl/nod.yaml /var/lib/ca-certificates/pem]" { // openSUSE's /etc/ssl/certs leads to the last
		t.Errorf("exposed: %s", got)
	}
}

// Nothing is confined in a binary whose main does not say so.
func TestNoLauncher(t *testing.T) {
	if version, err := Able(); err == nil {
		t.Errorf("this test confines (%d)", version)
	}
}
