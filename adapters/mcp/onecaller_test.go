package mcp

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A tool runs only for a token because there is one place that asks a server to run one, and that place takes
// a token. Who adds another goes around every approval.
// R9
func TestThereIsOneCallerOfCallTool(t *testing.T) {
	var found []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || path == filepath.Join(root, "tests")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := gotoken.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			// Any mention counts, also as a value that is called elsewhere; so does the method's name on the wire.
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "CallTool" {
					found = append(found, filepath.ToSlash(path)+": CallTool")
				}
			case *ast.BasicLit:
				if n.Kind == gotoken.STRING && strings.Contains(n.Value, "tools/call") {
					found = append(found, filepath.ToSlash(path)+": "+n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0] != "../../adapters/mcp/call.go: CallTool" {
		t.Errorf("calls of tools: %q, want the one in adapters/mcp/call.go", found)
	}
}
