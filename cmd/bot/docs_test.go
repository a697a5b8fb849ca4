package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/chat"
)

// Every page is in the index, links lead somewhere, files that are named exist, and what library.md shows stands in the example that is compiled.
// R167
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	index := read("../../docs/README.md")
	link, file := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`), regexp.MustCompile("`((?:core|state|adapters|cmd|tests)/[\\w/.]+)`")
	headless := regexp.MustCompile(`\n[^|\n]*\n\|[^\n]*\n(?:[^|]|\|[^-])`)
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text := read(page)
		if name := filepath.Base(page); !strings.Contains(index, "("+name+")") && !strings.Contains(index, "(../"+name+")") && filepath.Base(filepath.Dir(page)) == "docs" && name != "README.md" {
			t.Errorf("%s is not in docs/README.md", name)
		}
		if m := headless.FindString(text); m != "" {
			t.Errorf("%s has rows without a head, which are shown as text: %s", page, m)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s leads nowhere: %s", page, m[1])
			}
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s names what is not there: %s", page, m[1])
			}
		}
	}
	example := read("../../core/agent/example_test.go")
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read("../../docs/library.md"), -1)
	for _, m := range shown {
		if !strings.Contains(example, m[1]) {
			t.Errorf("the example has no\n%s", m[1])
		}
	}
	if len(shown) == 0 {
		t.Error("library.md shows nothing")
	}
}

// What web.md shows of a provider is a configuration, and its groups and people are who it says.
func TestDocsOfSigningIn(t *testing.T) {
	data, err := os.ReadFile("../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": "/home/ana", "NOD_OIDC_CLIENT_SECRET": "a-secret-of-the-client"}
	c, err := config.Parse("web.md", []byte(shown(string(data))), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); len(w) != 0 {
		t.Errorf("it has to be warned of: %q", w)
	}
	doors, err := parts.SignIn(c, nil)
	if err != nil || !strings.Contains(string(data), "`"+doors[0].Return()+"`") {
		t.Errorf("where people come back to is not what it says: %v", err)
	}
	ana := chat.User{Platform: "web", Key: "oidc-1@login.example.org/realms/acme"}
	p := parts.Operators(c).Knowing(ana, []chat.User{{Platform: "web", Key: "&nod-admins"}})
	if !p.IsAdmin(ana) || p.IsAdmin(chat.User{Platform: "web", Key: "oidc-2@login.example.org/realms/acme"}) {
		t.Error("its admins are not those of the group")
	}
	if !slices.Contains(p.Approvers.Users, chat.User{Platform: "web", Key: "oidc-8f14e45f@login.example.org/realms/acme"}) {
		t.Errorf("its approvers are %v", p.Approvers.Users)
	}
}
