package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Repository knows the tests there are. It reads a package when it is asked about it first.
type Repository struct {
	root string              // the module's
	runs map[string][]string // by directory within the module: the test files that go test ./... compiles
	read map[string]suite
}

// suite is what the tests of one package have.
type suite struct {
	tests     map[string]*ast.FuncDecl
	functions map[string]*ast.FuncDecl // all of them, tests too
	values    map[string]ast.Expr      // constants and variables of the package
	files     map[string]bool          // the names of its testdata without their endings
}

// Open asks the go command which packages and test files go test ./... runs in the module at root: that is its own rule, with build
// constraints, other modules and testdata, and not one of ours.
func Open(root string) (*Repository, error) {
	const form = `{{.Dir}}{{range .TestGoFiles}}	{{.}}{{end}}{{range .XTestGoFiles}}	{{.}}{{end}}`
	cmd := exec.Command("go", "list", "-e", "-find", "-f", form, "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./...: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	full, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return nil, err
	}
	r := &Repository{root: full, runs: map[string][]string{}, read: map[string]suite{}}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		dir, err := filepath.EvalSymlinks(f[0])
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(full, dir)
		if err != nil {
			return nil, err
		}
		r.runs[filepath.ToSlash(rel)] = f[1:]
	}
	return r, nil
}

// Has reports whether a file or directory is there.
func (r *Repository) Has(path string) bool {
	_, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(path)))
	return err == nil
}

// Marks are all marks of the tests that run, by number, in the order of their packages and names.
func (r *Repository) Marks() (map[string][]Mark, error) {
	marks := map[string][]Mark{}
	for _, dir := range slices.Sorted(maps.Keys(r.runs)) {
		s, err := r.suite(dir, r.runs[dir])
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(s.tests)) {
			doc := s.tests[name].Doc
			if doc == nil {
				continue
			}
			for _, line := range doc.List {
				for _, m := range parseMarks(strings.TrimPrefix(line.Text, "//")) {
					m.Package, m.Test = dir, name
					marks[m.Number] = append(marks[m.Number], m)
				}
			}
		}
	}
	return marks, nil
}

// missing says why a marked test does not count, or nothing if it does.
func (r *Repository) missing(m Mark) string {
	s := r.read[m.Package]
	f := s.tests[m.Test]
	switch {
	case f.Body == nil || len(f.Body.List) == 0:
		return "it is empty"
	case skips(f.Body.List):
		return "it is skipped always"
	case !s.selects(f, m.Subs):
		return fmt.Sprintf("go test ./%s -run '%s' has no tests to run", m.Package, strings.Join(append([]string{m.Test}, m.Subs...), "/"))
	}
	return ""
}

func (r *Repository) suite(dir string, files []string) (suite, error) {
	if s, ok := r.read[dir]; ok {
		return s, nil
	}
	s := suite{tests: map[string]*ast.FuncDecl{}, functions: map[string]*ast.FuncDecl{}, values: map[string]ast.Expr{}, files: map[string]bool{}}
	at := filepath.Join(r.root, filepath.FromSlash(dir))
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(at, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return suite{}, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		s.add(f)
	}
	err := filepath.WalkDir(filepath.Join(at, "testdata"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			s.files[stem(path)] = true
		}
		return err
	})
	if err != nil {
		return suite{}, err
	}
	r.read[dir] = s
	return s, nil
}

// add takes what a file has.
func (s suite) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				s.functions[d.Name.Name] = d
			}
			if isTest(d) {
				s.tests[d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for i, name := range v.Names {
						if i < len(v.Values) {
							s.values[name.Name] = v.Values[i]
						}
					}
				}
			}
		}
	}
}

// isTest: what go test takes for a test, a function and no method with one *testing.T.
func isTest(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") || fn.Type.TypeParams != nil || len(fn.Type.Params.List) != 1 || len(fn.Type.Params.List[0].Names) > 1 {
		return false
	}
	p, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := p.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "T"
}

// skips reports whether statements skip their test whatever happens: a Skip that stands under no condition.
func skips(list []ast.Stmt) bool {
	return slices.ContainsFunc(list, func(st ast.Stmt) bool {
		switch st := st.(type) {
		case *ast.BlockStmt:
			return skips(st.List)
		case *ast.ExprStmt:
			call, ok := st.X.(*ast.CallExpr)
			if !ok {
				return false
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			return ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
		}
		return false
	})
}
