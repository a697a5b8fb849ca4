package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one guard without its effect.
type Mutant struct {
	File   string // from the module's root, with slashes
	Line   int
	Func   string // as Session.said
	Kind   string // guard, operand or case; of a script also always and line
	Source string // of the condition, on one line

	path          string // of the file on this disk
	from, to      int    // of the condition in it, in bytes
	before, after string // what stands around it in the mutant; %d is the mutant's number
}

// String is the mutant's line in the report.
func (m Mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.File, m.Line, m.Func, m.Kind, m.Source)
}

// key names the mutant in accepted.txt: without the line, which moves.
func (m Mutant) key() string { return m.File + ":" + m.Func + ": " + m.Source }

// entry names the mutant on the command line and in breaks.txt. Two of a function may have the same.
func (m Mutant) entry() string { return m.File + ":" + m.Func + ": " + m.Kind + ": " + m.Source }

// The two ways to take a condition's effect away: while the mutant sleeps, both are the condition itself, as a bool where its type has a name.
const (
	never  = "(!" + asker + "(%d) && bool("
	always = "(" + asker + "(%d) || bool("
)

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
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			continue // a constant cannot ask
		}
		add := func(kind string, cond ast.Expr, before string) {
			from, to := set.Position(cond.Pos()), set.Position(cond.End())
			found = append(found, Mutant{
				File: file, Line: from.Line, Func: name, Kind: kind,
				Source: strings.Join(strings.Fields(string(src[from.Offset:to.Offset])), " "),
				path:   path, from: from.Offset, to: to.Offset, before: before, after: "))",
			})
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if leaves(n.Body) {
					add("guard", n.Cond, never)
				}
			case *ast.SwitchStmt:
				if n.Tag != nil {
					break
				}
				for _, s := range n.Body.List {
					if c, ok := s.(*ast.CaseClause); ok {
						for _, e := range c.List {
							add("case", e, never)
						}
					}
				}
			case *ast.BinaryExpr:
				neutral := map[token.Token]string{token.LAND: always, token.LOR: never}[n.Op]
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

// load finds the guards of a job's files, in the order of the files' names; files that this platform does not build are left out.
func (j job) load(root string) (files []string, found []Mutant, err error) {
	for _, p := range j.files {
		full, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p.pattern)))
		if err != nil || len(full) == 0 {
			return nil, nil, errors.Join(fmt.Errorf("there is no %s", p.pattern), err)
		}
		for _, f := range full {
			rel := path.Join(path.Dir(p.pattern), filepath.Base(f))
			src, err := os.ReadFile(f)
			if err != nil {
				return nil, nil, err
			}
			var ms []Mutant
			switch ok, err := build.Default.MatchFile(filepath.Dir(f), filepath.Base(f)); {
			case strings.HasSuffix(f, ".lua"):
				ms = luaMutants(rel, f, string(src))
			case err != nil:
				return nil, nil, err
			case !ok || strings.HasSuffix(f, "_test.go"):
				continue
			default:
				if ms, err = mutants(rel, f, src); err != nil {
					return nil, nil, err
				}
			}
			if len(p.funcs) > 0 {
				ms = slices.DeleteFunc(ms, func(m Mutant) bool { return !slices.Contains(p.funcs, m.Func) })
				for _, fn := range p.funcs {
					if !slices.ContainsFunc(ms, func(m Mutant) bool { return m.Func == fn }) {
						return nil, nil, fmt.Errorf("%s has no guard in %s", rel, fn)
					}
				}
			}
			files, found = append(files, rel), append(found, ms...)
		}
	}
	return files, found, nil
}

// moduleRoot is the directory of go.mod, from the working directory upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("there is no go.mod here or above")
		}
		dir = up
	}
}
