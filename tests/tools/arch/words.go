package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"unicode"
)

// retired are words that names of this module once had, each with what it is called now. A name is looked at word by word; a comment is
// not. docs/glossary.md has the words of ours that stay.
var retired = map[string]string{
	"afford":    "to acquire",
	"crew":      "the bots and apps that a message may come from: say which",
	"deed":      "an action",
	"deeds":     "actions",
	"entitle":   "to set the title",
	"epitaph":   "an exit error",
	"fade":      "to expire",
	"faded":     "expired",
	"fate":      "an exit status, or an outcome",
	"gagged":    "paused",
	"heeds":     "is for the bot",
	"muzzle":    "a pause",
	"obituary":  "an exit error",
	"pane":      "a view, or the request for one",
	"paper":     "an encoder",
	"picked":    "an input's state, or chosen",
	"purse":     "a rate limiter, or a budget",
	"reworded":  "edited",
	"sheet":     "an encoder",
	"sketch":    "a rendition",
	"spared":    "refunded",
	"telling":   "a notification, or a delivery of one",
	"turnstile": "a limiter",
	"wanting":   "an elicitation",
}

// Retired names what a shipped file declares with a retired word.
func Retired(path string, source []byte) (found []string, err error) {
	if exempt(path) {
		return nil, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	look := func(names ...ast.Expr) {
		for _, n := range names {
			id, ok := n.(*ast.Ident)
			if !ok {
				continue
			}
			for _, w := range wordsOf(id.Name) {
				if now := retired[w]; now != "" {
					found = append(found, fmt.Sprintf("%s:%d: %s: %q is a retired word; it is %s", path, set.Position(id.Pos()).Line, id.Name, w, now))
				}
			}
		}
	}
	idents := func(ids []*ast.Ident) {
		for _, id := range ids {
			look(id)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.File:
			look(n.Name)
		case *ast.FuncDecl:
			look(n.Name)
		case *ast.TypeSpec:
			look(n.Name)
		case *ast.ValueSpec:
			idents(n.Names)
		case *ast.Field: // of structs and interfaces, parameters, results, receivers
			idents(n.Names)
		case *ast.LabeledStmt:
			look(n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				look(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				look(n.Key, n.Value)
			}
		case *ast.ImportSpec:
			if n.Name != nil {
				look(n.Name)
			}
		}
		return true
	})
	return found, nil
}

// wordsOf splits a name at its capitals and underscores: "newHTTPWire" is new, http, wire.
func wordsOf(name string) (words []string) {
	rs := []rune(name)
	start := 0
	for i := 1; i <= len(rs); i++ {
		ends := i == len(rs) || rs[i] == '_' || unicode.IsUpper(rs[i]) && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
		if ends {
			words = append(words, strings.ToLower(strings.Trim(string(rs[start:i]), "_")))
			start = i
		}
	}
	return words
}
