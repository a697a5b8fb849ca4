// Package arch holds the house's arrows: which room may import which, what pure rooms may not touch, and which things
// have one place. arch_test.go runs it over the whole module.
//
// The rule for tests: files named *_test.go and everything under tests/ may import what they like, because nothing that is shipped
// imports them; shipped code may not import tests/. Files under testdata are not looked at.
//
// A ban is a line with its reason, and the reason is what a failing test says. A new room is a line in [rooms]; that the code wants
// another arrow is a reason to ask what stands in the wrong room, not to add it.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Module is the module's path.
const Module = "github.com/nodhq/nod"

// room is a folder with what it may import of ours.
type room struct {
	path string // of the folder; what is below belongs to it unless it is a room itself
	may  []string
	pure bool
	why  string
}

const (
	whyLeaf    = "core/chat is the leaf: everybody speaks its words, so it may know nobody's"
	whyPure    = "a pure room decides from values alone, so that it can be replayed, simulated and tested without the world"
	whyEngine  = "the engine calls ports that it declares itself; adapters and state implement them"
	whyAdapter = "an adapter knows its outside and core, never another adapter or the store: each can be replaced alone"
	whySurface = "what two surfaces share names neither: it may know core, and no platform, library or store"
	whyState   = "the store knows core's types only: it keeps what it is given, for whichever surface"
	whyWiring  = "only cmd/bot names concrete types; all else takes what it needs as values"
)

var (
	core  = []string{"core/chat", "core/permission", "core/render", "core/agent/turn", "core/agent"}
	rooms = []room{
		{"core/chat", nil, false, whyLeaf},
		{"core/permission", []string{"core/chat"}, true, whyPure},
		{"core/render", []string{"core/chat"}, true, whyPure},
		{"core/agent/turn", []string{"core/chat", "core/permission", "core/render"}, true, whyPure},
		{"core/agent", []string{"core/chat", "core/permission", "core/render", "core/agent/turn"}, false, whyEngine},
		{"adapters/surface", core, false, whySurface},
		{"adapters/slack", append([]string{"adapters/surface"}, core...), false, whyAdapter},
		{"adapters/discord", append([]string{"adapters/surface"}, core...), false, whyAdapter},
		{"adapters/web", core, false, whyAdapter},
		{"adapters/openai", core, false, whyAdapter},
		{"adapters/mcp", core, false, whyAdapter},
		{"adapters/demo", core, false, whyAdapter},
		{"state", core, false, whyState},
		{"cmd/bot", append([]string{"adapters/surface", "adapters/slack", "adapters/discord", "adapters/web", "adapters/openai", "adapters/mcp", "adapters/demo", "state"}, core...), false, whyWiring},
	}
)

// impure are standard packages that a pure room may not import, each with the reason. A path stands for what is below it too.
var impure = map[string]string{
	"context":     "nothing in a pure room waits, so nothing can be cancelled",
	"net":         "a pure room reaches nobody (net/url and net/netip only parse, and are allowed)",
	"os":          "a pure room reads no file, variable or signal",
	"io/fs":       "a pure room reads no file",
	"syscall":     "a pure room knows no system",
	"sync":        "values are not shared, so there is nothing to lock",
	"log":         "a pure room says what it found in what it returns",
	"math/rand":   "randomness comes in as a value, so that a fold is the same everywhere",
	"crypto/rand": "randomness comes in as a value, so that a fold is the same everywhere",
	"testing":     "shipped code carries no test code",
	"unsafe":      "no value is worth its guarantees here",
}

var parsers = []string{"net/url", "net/netip"}

// modules are third-party modules with the rooms that may import them. One that is not listed may be imported by rooms that are
// not pure; tests may import all.
var modules = map[string]struct {
	rooms []string
	why   string
}{
	"github.com/mark3labs/mcp-go":     {[]string{"adapters/mcp", "adapters/demo"}, "MCP is spoken in one adapter, and by the demo's in-process server"},
	"github.com/openai/openai-go":     {[]string{"adapters/openai"}, "one adapter knows the model's wire format"},
	"github.com/redis/go-redis":       {[]string{"state"}, "Redis is touched by state's scripts only: one transition, one script"},
	"github.com/alicebob/miniredis":   {[]string{"state"}, "the embedded store is state's"},
	"github.com/slack-go/slack":       {[]string{"adapters/slack"}, "what mentions Slack stands in adapters/slack"},
	"github.com/bwmarrin/discordgo":   {[]string{"adapters/discord"}, "what mentions Discord stands in adapters/discord"},
	"go.yaml.in/yaml":                 {[]string{"cmd/bot"}, "configuration is read in one place; all else takes values"},
	"github.com/google/go-cmp":        {nil, "a module for tests, not to be shipped"},
	"github.com/chromedp":             {nil, "a module for tests, not to be shipped"},
	"go.uber.org/goleak":              {nil, "a module for tests, not to be shipped"},
	"pgregory.net/rapid":              {nil, "a module for tests, not to be shipped"},
	"github.com/modelcontextprotocol": {nil, "mcp-go is this project's MCP library; a second one would be a second truth"},
}

// clocks are what reads or waits for the clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// roomOf finds the room that a folder belongs to.
func roomOf(dir string) (room, bool) {
	best := room{}
	for _, r := range rooms {
		if below(dir, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

// below reports whether path is root or stands under it.
func below(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// exempt reports whether the rule for tests applies to a file.
func exempt(file string) bool {
	return strings.HasSuffix(file, "_test.go") || below(file, "tests")
}

// Examined is what one shipped file brings: what it breaks, and where it calls a tool.
type Examined struct {
	Broken []string
	// ToolCalls are the places that name a method CallTool.
	ToolCalls []string
}

// Examine looks at one file. path is relative to the module's root, with slashes.
func Examine(path string, source []byte) (Examined, error) {
	var x Examined
	if exempt(path) {
		return x, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return x, err
	}
	broken := func(n ast.Node, format string, args ...any) {
		p := set.Position(n.Pos())
		x.Broken = append(x.Broken, fmt.Sprintf("%s:%d: ", path, p.Line)+fmt.Sprintf(format, args...))
	}
	dir := path[:max(0, strings.LastIndexByte(path, '/'))]
	r, ok := roomOf(dir)
	if !ok {
		broken(f, "folder %q is no room of the house: DESIGN 2 says where a line of code goes", dir)
		return x, nil
	}
	names := map[string]string{} // what an import is called in this file
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return x, err
		}
		name := imported[strings.LastIndexByte(imported, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
		if why := r.forbids(imported); why != "" {
			broken(spec, "%s may not import %s: %s", r.path, imported, why)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if r.pure {
				broken(n, "%s may not start a goroutine: %s", r.path, whyPure)
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				broken(n, "no func init: registration at a distance hides what is wired, and cmd/bot wires in the open")
			}
		case *ast.SelectorExpr:
			x.selector(n, r, names, set, broken)
		case *ast.BasicLit:
			if n.Value == `"tools/call"` && r.path != "adapters/mcp" {
				broken(n, "only adapters/mcp calls tools, by mcp-go's CallTool: every other way is a way around the decision")
			}
		}
		return true
	})
	return x, nil
}

// selector looks at one x.Name.
func (x *Examined) selector(n *ast.SelectorExpr, r room, names map[string]string, set *token.FileSet, broken func(ast.Node, string, ...any)) {
	of, _ := n.X.(*ast.Ident)
	switch {
	case n.Sel.Name == "CallTool":
		x.ToolCalls = append(x.ToolCalls, set.Position(n.Pos()).String())
		if r.path != "adapters/mcp" {
			broken(n, "only adapters/mcp calls CallTool, in one place: it is the door that every decision guards")
		}
	case of == nil:
	case r.pure && names[of.Name] == "time" && slices.Contains(clocks, n.Sel.Name):
		broken(n, "%s may not use time.%s: time comes in as a value", r.path, n.Sel.Name)
	case names[of.Name] == Module+"/core/agent" && n.Sel.Name == "Consume":
		broken(n, "only the engine makes a RunToken, after its own Started is durable")
	}
}

// forbids returns why a room may not import something, or "".
func (r room) forbids(imported string) string {
	if rest, ours := strings.CutPrefix(imported, Module+"/"); ours || imported == Module {
		to, ok := roomOf(rest)
		switch {
		case below(rest, "tests"):
			return "tests are not shipped"
		case !ok:
			return "it is no room of the house"
		case to.path != r.path && !slices.Contains(r.may, to.path):
			return r.why
		}
		return ""
	}
	if m, _, _ := strings.Cut(imported, "/"); !strings.Contains(m, ".") { // the standard library
		for p, why := range impure {
			if r.pure && below(imported, p) && !slices.Contains(parsers, imported) {
				return why
			}
		}
		return ""
	}
	if r.pure || r.path == "core/chat" {
		return "no third-party module: " + r.why
	}
	for m, of := range modules {
		if below(imported, m) && !slices.Contains(of.rooms, r.path) {
			return of.why
		}
	}
	return ""
}
