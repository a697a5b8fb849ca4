package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shipped calls each with every parsed Go file that is neither a test nor of tests/.
func shipped(t *testing.T, each func(path string, f *ast.File)) {
	t.Helper()
	repo, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for dir := range repo.runs {
		if dir == "tests" || strings.HasPrefix(dir, "tests/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			each(dir+"/"+filepath.Base(file), f)
			n++
		}
	}
	if n < 100 {
		t.Fatalf("only %d files were looked at", n)
	}
}

// Auto-approval is for library users who choose it. Nothing of the product so much as names it.
// R62 C10
func TestTheProductNeverAllowsAll(t *testing.T) {
	seen := false
	shipped(t, func(path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "AllowAll" {
				seen = true
				if !strings.HasPrefix(path, "core/permission/") {
					t.Errorf("%s speaks of AllowAll", path)
				}
			}
			return true
		})
	})
	if !seen {
		t.Error("there is no AllowAll: this test looks for nothing")
	}
}

// Whoever's decision it is, and whatever it came through, one package makes the event of it.
// R64
func TestOnePlaceDecides(t *testing.T) {
	var makes []string
	shipped(t, func(path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			switch x := lit.Type.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := x.X.(*ast.Ident); ok && pkg.Name == "turn" && x.Sel.Name == "Decided" {
					makes = append(makes, path)
				}
			case *ast.Ident:
				// The turn's own package declares the event, and reads it back from what is stored.
				if x.Name == "Decided" && strings.HasPrefix(path, "core/agent/turn/") && len(lit.Elts) > 0 {
					makes = append(makes, path)
				}
			}
			return true
		})
	})
	if !slices.Equal(slices.Compact(makes), []string{"core/agent/decision/choice.go"}) {
		t.Errorf("decisions are made in %q, want core/agent/decision/choice.go alone", makes)
	}
}

// The roadmap has phases, and says of each what it brings and why it is useful alone.
// R164
func TestTheRoadmapHasItsPhases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/roadmap.md"))
	if err != nil {
		t.Fatal(err)
	}
	phase := regexp.MustCompile(`(?m)^\| (\d)\. (\w[^|]*) \|([^|]+)\|([^|]+)\|$`)
	var names []string
	for i, m := range phase.FindAllStringSubmatch(string(text), -1) {
		if m[1] != string(rune('1'+i)) {
			t.Errorf("phase %s stands at place %d", m[1], i+1)
		}
		names = append(names, m[2])
		if len(strings.TrimSpace(m[3])) < 20 || len(strings.TrimSpace(m[4])) < 20 {
			t.Errorf("phase %s does not say what it brings and why that is useful alone", m[1])
		}
	}
	if len(names) < 4 || names[0] != "Blocking" || !slices.ContainsFunc(names, func(s string) bool { return strings.Contains(s, "management") }) {
		t.Errorf("the phases are %q", names)
	}
}
