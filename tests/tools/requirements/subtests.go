package main

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// selects reports whether go test -run with these sub-tests, outermost first, runs anything below the test: it goes through the calls of t.Run
// level by level, as go test does, and compares with what the name of each can be. It reads the source and runs nothing, so it says
// yes too often (every string that a table holds is a name), and never because a level was left out.
func (s suite) selects(test *ast.FuncDecl, subs []string) bool {
	level := s.runs(test.Body, &scope{body: test})
	for i, sub := range subs {
		want, err := regexp.Compile(rewrite(sub))
		if err != nil {
			return false
		}
		var next []run
		found := false
		for _, r := range level {
			for name := range r.names {
				if want.MatchString(rewrite(name)) {
					found = true
					if i+1 < len(subs) {
						next = append(next, s.function(r.does, r.in)...)
					}
					break
				}
			}
		}
		if !found {
			return false
		}
		level = next
	}
	return true
}

// rewrite is what go test makes of a name.
func rewrite(name string) string { return strings.ReplaceAll(name, " ", "_") }

// run is a call of t.Run: what its name can be, and the function.
type run struct {
	names map[string]bool
	does  ast.Expr
	in    *scope
}

// scope is a top-level function, and what its parameters were given where it was called.
type scope struct {
	body  *ast.FuncDecl
	given map[string]value
}

type value struct {
	is ast.Expr
	in *scope
}

// calling is the scope of a function that is called.
func calling(f *ast.FuncDecl, args []ast.Expr, from *scope) *scope {
	to := &scope{body: f, given: map[string]value{}}
	i := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if i < len(args) {
				to.given[name.Name] = value{args[i], from}
			}
			i++
		}
	}
	return to
}

// depth bounds helpers that call helpers, and themselves.
func (sc *scope) depth() (n int) {
	for _, v := range sc.given {
		n = max(n, 1+v.in.depth())
	}
	return n
}

// runs are the calls of t.Run that a piece of code makes itself or by helpers of the package, not those within the functions that it gives to t.Run.
func (s suite) runs(code ast.Node, in *scope) (out []run) {
	ast.Inspect(code, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			if t, ok := f.X.(*ast.Ident); ok && t.Name == "t" && f.Sel.Name == "Run" && len(call.Args) == 2 {
				out = append(out, run{s.strings(call.Args[0], in), call.Args[1], in})
				return false
			}
		case *ast.Ident:
			if v, ok := in.given[f.Name]; ok {
				out = append(out, s.function(v.is, v.in)...)
			} else if fn := s.functions[f.Name]; fn != nil && fn.Body != nil && in.depth() < 8 {
				out = append(out, s.runs(fn.Body, calling(fn, call.Args, in))...)
				return false
			}
		}
		return true
	})
	return out
}

// function is what a function that is given away runs.
func (s suite) function(f ast.Expr, in *scope) []run {
	switch f := f.(type) {
	case *ast.FuncLit:
		return s.runs(f.Body, in)
	case *ast.Ident:
		if v, ok := in.given[f.Name]; ok {
			return s.function(v.is, v.in)
		}
		if fn := s.functions[f.Name]; fn != nil && fn.Body != nil {
			return s.runs(fn.Body, calling(fn, nil, in))
		}
	}
	return nil
}

// strings are all that an expression can be made of: its literals and those of the constants, variables, tables and functions it names.
func (s suite) strings(e ast.Expr, in *scope) map[string]bool {
	out := map[string]bool{}
	type place struct {
		n  ast.Node
		in *scope
	}
	seen := map[place]bool{}
	var from func(n ast.Node, in *scope)
	from = func(n ast.Node, in *scope) {
		if n == nil || seen[place{n, in}] {
			return
		}
		seen[place{n, in}] = true
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false // what a table's functions say is no name
			case *ast.SelectorExpr:
				from(n.X, in)
				return false
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					out[text] = true
					if strings.HasPrefix(text, "testdata") {
						maps.Copy(out, s.files)
					}
				}
			case *ast.Ident:
				if v, ok := in.given[n.Name]; ok {
					from(v.is, v.in)
				} else if local := locals(in.body, n.Name); len(local) > 0 {
					for _, e := range local {
						from(e, in)
					}
				} else if v := s.values[n.Name]; v != nil {
					from(v, &scope{})
				} else if f := s.functions[n.Name]; f != nil && f.Body != nil && f != in.body {
					from(f.Body, &scope{body: f})
				}
			}
			return true
		})
	}
	from(e, in)
	return out
}

// locals are what a variable of a function is made of: what it is set to, what it ranges over, and the keys under which it is filled.
func locals(f *ast.FuncDecl, name string) (out []ast.Expr) {
	if f == nil {
		return nil
	}
	is := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if is(n.Key) || is(n.Value) {
				out = append(out, n.X)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				if id.Name == name {
					out = append(out, n.Values...)
				}
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if is(to) {
					out = append(out, n.Rhs...)
				} else if x, ok := to.(*ast.IndexExpr); ok && is(x.X) {
					out = append(out, x.Index)
				}
			}
		}
		return true
	})
	return out
}

// stem is a file's name as the tests call it.
func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
