package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one guard and the file without its effect.
type Mutant struct {
	File   string // from the module's root, with slashes
	Line   int
	Func   string // as Session.said
	Kind   string // guard, operand or case
	Source string // of the condition, on one line

	path     string // of the file on this disk
	from, to int    // of the condition in it, in bytes
	text     []byte // the mutated file
}

// String is the mutant's line in the report.
func (m Mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.File, m.Line, m.Func, m.Kind, m.Source)
}

// key names the mutant in accepted.txt: without the line, which moves.
func (m Mutant) key() string { return m.File + ":" + m.Func + ": " + m.Source }

// mutants finds the guards of one file.
func mutants(file, path string, src []byte) ([]Mutant, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []Mutant
	for _, d := range f.Decls {
		name := "var"
		if fn, ok := d.(*ast.FuncDecl); ok {
			name = funcName(fn)
		}
		add := func(kind string, cond ast.Expr, before string) {
			from, to := set.Position(cond.Pos()), set.Position(cond.End())
			source := string(src[from.Offset:to.Offset])
			found = append(found, Mutant{
				File: file, Line: from.Line, Func: name, Kind: kind, Source: strings.Join(strings.Fields(source), " "),
				path: path, from: from.Offset, to: to.Offset,
				text: slices.Concat(src[:from.Offset], []byte("("+before+" ("+source+"))"), src[to.Offset:]),
			})
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if leaves(n.Body) {
					add("guard", n.Cond, "false &&")
				}
			case *ast.SwitchStmt:
				if n.Tag != nil {
					break
				}
				for _, s := range n.Body.List {
					if c, ok := s.(*ast.CaseClause); ok {
						for _, e := range c.List {
							add("case", e, "false &&")
						}
					}
				}
			case *ast.BinaryExpr:
				neutral := map[token.Token]string{token.LAND: "true ||", token.LOR: "false &&"}[n.Op]
				for _, e := range []ast.Expr{n.X, n.Y} {
					// Of a && b && c the operands are the three, and none is a && b.
					if inner, ok := ast.Unparen(e).(*ast.BinaryExpr); neutral != "" && !(ok && inner.Op == n.Op) {
						add("operand", e, neutral)
					}
				}
			}
			return true
		})
	}
	slices.SortStableFunc(found, func(a, b Mutant) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return found, nil
}

// leaves reports whether a block ends by going elsewhere.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE || s.Tok == token.BREAK
	}
	return false
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// pkg is the package whose guards are taken out.
type pkg struct {
	files   []string // as [Mutant.File]
	mutants []Mutant
}

// load reads a package's files, or only some of them; those that this platform does not build are left out.
func load(ctx context.Context, path string, only []string) (pkg, error) {
	var p pkg
	listed, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles,Module", path).Output()
	if err != nil {
		return p, fmt.Errorf("go list %s: %w", path, saidBy(err))
	}
	var l struct {
		Dir     string
		GoFiles []string
		Module  struct{ Dir string }
	}
	if err := json.Unmarshal(listed, &l); err != nil {
		return p, fmt.Errorf("%s has to be one package: %w", path, err)
	}
	for _, f := range only {
		if !slices.Contains(l.GoFiles, f) {
			return p, fmt.Errorf("%s has no file %s", path, f)
		}
	}
	for _, f := range l.GoFiles {
		if len(only) > 0 && !slices.Contains(only, f) {
			continue
		}
		full := filepath.Join(l.Dir, f)
		src, err := os.ReadFile(full)
		if err != nil {
			return p, err
		}
		rel, err := filepath.Rel(l.Module.Dir, full)
		if err != nil {
			return p, err
		}
		rel = filepath.ToSlash(rel)
		ms, err := mutants(rel, full, src)
		if err != nil {
			return p, err
		}
		p.files, p.mutants = append(p.files, rel), append(p.mutants, ms...)
	}
	return p, nil
}

// saidBy is err with what the command wrote.
func saidBy(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
