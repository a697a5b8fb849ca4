package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's root as seen from here.
const root = "../../.."

// sources calls each with every Go file of the module that go build would see.
func sources(t *testing.T, each func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			hidden := file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))
			if hidden || name == "testdata" || name == "node_modules" || name == "vendor" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != root {
				return fs.SkipDir // another module, such as tools/
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		each(filepath.ToSlash(rel), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The whole module keeps the arrows and the bans.
// R9
func TestTheHouse(t *testing.T) {
	var shipped, calls []string
	sources(t, func(path string, source []byte) {
		x, err := Examine(path, source)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		for _, b := range x.Broken {
			t.Error(b)
		}
		if !exempt(path) {
			shipped = append(shipped, path)
		}
		calls = append(calls, x.ToolCalls...)
	})
	for _, r := range []string{"core/chat", "core/permission", "core/render", "core/agent/turn", "core/agent", "cmd/bot"} {
		if !slices.ContainsFunc(shipped, func(p string) bool { return below(p, r) }) {
			t.Errorf("no file of %s was seen: the test looks at nothing", r)
		}
	}
	// Requirement R9: no path runs a tool without the gate.
	mcp := slices.ContainsFunc(shipped, func(p string) bool { return below(p, "adapters/mcp") })
	if mcp && len(calls) != 1 {
		t.Errorf("CallTool has %d callers, want the one that takes a decision's token: %s", len(calls), strings.Join(calls, ", "))
	}
}

// The tests of pure rooms run without the race detector (.ci/run), so they may start nothing that it would have to watch.
func TestPureRoomsAreTestedAlone(t *testing.T) {
	seen := 0
	sources(t, func(path string, source []byte) {
		if !strings.HasSuffix(path, "_test.go") || !slices.Contains(Pure(), filepath.ToSlash(filepath.Dir(path))) {
			return
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if spec.Path.Value == `"sync"` || spec.Path.Value == `"sync/atomic"` {
				t.Errorf("%s imports %s", path, spec.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, starts := n.(*ast.GoStmt); starts {
				t.Errorf("%s starts a goroutine", path)
			}
			return true
		})
	})
	if seen < 50 {
		t.Errorf("%d files of tests were seen: the test looks at nothing", seen)
	}
}

// The test of the test: each source breaks one rule and is caught with that rule's reason; each of the second kind is fine.
func TestBansBite(t *testing.T) {
	for _, tt := range []struct{ path, source, want string }{
		// arrows
		{"core/chat/x.go", `import "github.com/nodhq/nod/core/render"`, whyLeaf},
		{"core/chat/x.go", `import "golang.org/x/text/unicode/norm"`, whyLeaf},
		{"core/permission/x.go", `import "github.com/nodhq/nod/core/agent/turn"`, whyPure},
		{"core/render/x.go", `import "github.com/nodhq/nod/core/permission"`, whyPure},
		{"core/agent/turn/x.go", `import "github.com/nodhq/nod/core/agent"`, whyPure},
		{"core/agent/x.go", `import "github.com/nodhq/nod/state"`, whyEngine},
		{"core/agent/x.go", `import "github.com/nodhq/nod/adapters/web"`, whyEngine},
		{"core/agent/x.go", `import "github.com/nodhq/nod/cmd/bot/config"`, whyEngine},
		{"adapters/web/x.go", `import "github.com/nodhq/nod/adapters/demo"`, whyAdapter},
		{"adapters/web/page/x.go", `import "github.com/nodhq/nod/adapters/demo"`, whyAdapter},
		{"adapters/mcp/x.go", `import "github.com/nodhq/nod/state"`, whyAdapter},
		{"state/x.go", `import "github.com/nodhq/nod/adapters/web"`, whyState},
		{"state/x.go", `import "github.com/nodhq/nod/cmd/bot"`, whyState},
		{"cmd/bot/x.go", `import "github.com/nodhq/nod/tests/fakes"`, "tests are not shipped"},
		{"cmd/bot/x.go", `import "github.com/nodhq/nod/internal/util"`, "no room"},
		{"internal/util/x.go", ``, "no room of the house"},
		{"x.go", ``, "no room of the house"},
		// pure rooms
		{"core/agent/turn/x.go", `import "context"`, "nothing in a pure room waits"},
		{"core/permission/x.go", `import "net/http"`, "reaches nobody"},
		{"core/render/x.go", `import "os/exec"`, "reads no file"},
		{"core/render/x.go", `import "sync/atomic"`, "nothing to lock"},
		{"core/render/x.go", `import "log/slog"`, "in what it returns"},
		{"core/agent/turn/x.go", `import "math/rand/v2"`, "randomness comes in"},
		{"core/agent/turn/x.go", `import "crypto/rand"`, "randomness comes in"},
		{"core/permission/x.go", `import "pgregory.net/rapid"`, "no third-party module"},
		{"core/permission/deep/er/x.go", `import "golang.org/x/text/width"`, "no third-party module"},
		{"core/agent/turn/x.go", `import "github.com/nodhq/nod/core/render"; var s = render.PlainText(m)`, "the fold holds no sentences"},
		{"core/agent/turn/x.go", `import "github.com/nodhq/nod/core/text"`, whyPure},
		{"core/agent/turn/x.go", `import "time"; func f() { _ = time.Now() }`, "time comes in as a value"},
		{"core/agent/turn/x.go", `import clock "time"; var f = clock.Now`, "time comes in as a value"},
		{"core/render/x.go", `import "time"; func f() { <-time.After(1) }`, "time comes in as a value"},
		{"core/agent/turn/x.go", `func f() { go f() }`, "may not start a goroutine"},
		// what makes the program large
		{"adapters/web/x.go", `import "html/template"`, "twelve megabytes"},
		{"cmd/bot/x.go", `import "text/template"`, "twelve megabytes"},
		// modules
		{"cmd/bot/x.go", `import "github.com/mark3labs/mcp-go/client"`, "MCP is spoken in one adapter"},
		{"core/agent/x.go", `import "github.com/mark3labs/mcp-go/mcp"`, "MCP is spoken in one adapter"},
		{"adapters/web/x.go", `import "github.com/openai/openai-go/v3"`, "the model's wire format"},
		{"adapters/web/x.go", `import "github.com/redis/go-redis/v9"`, "state's scripts only"},
		{"cmd/bot/x.go", `import "github.com/alicebob/miniredis/v2"`, "the embedded store is state's"},
		{"adapters/discord/x.go", `import "github.com/slack-go/slack/socketmode"`, "stands in adapters/slack"},
		{"adapters/slack/x.go", `import "github.com/bwmarrin/discordgo"`, "stands in adapters/discord"},
		{"state/x.go", `import "go.yaml.in/yaml/v4"`, "read in one place"},
		{"state/x.go", `import "github.com/google/go-cmp/cmp"`, "a module for tests"},
		// one place
		{"core/agent/x.go", `func f(c interface{ CallTool() }) { c.CallTool() }`, "the door that every decision guards"},
		{"adapters/demo/x.go", `func f(c interface{ CallTool() }) { g := c.CallTool; g() }`, "the door that every decision guards"},
		{"adapters/web/x.go", `const method = "tools/call"`, "a way around the decision"},
		{"adapters/mcp/x.go", `import "github.com/nodhq/nod/core/agent"; var f = agent.Consume`, "only the engine makes a RunToken"},
		{"cmd/bot/x.go", `import a "github.com/nodhq/nod/core/agent"; var f = a.Consume`, "only the engine makes a RunToken"},
		{"adapters/web/x.go", `func init() {}`, "no func init"},
	} {
		x, err := Examine(tt.path, []byte("package x; "+tt.source))
		if err != nil {
			t.Fatalf("%s %s: %v", tt.path, tt.source, err)
		}
		if len(x.Broken) != 1 || !strings.Contains(x.Broken[0], tt.want) || !strings.HasPrefix(x.Broken[0], tt.path+":1: ") {
			t.Errorf("%s with %q: %q, want one that says %q", tt.path, tt.source, x.Broken, tt.want)
		}
	}
	for _, tt := range []struct{ path, source string }{
		{"core/agent/turn/x.go", `import ("time"; "net/url"; "strings"; "github.com/nodhq/nod/core/permission"); var t time.Time; func f() { t.After(t) }`},
		{"core/agent/x.go", `import ("context"; "sync"; "github.com/nodhq/nod/core/agent/turn"; "golang.org/x/sync/errgroup")`},
		{"core/agent/turn/x_test.go", `import ("context"; "pgregory.net/rapid"; "github.com/nodhq/nod/state")`},
		{"tests/suites/e2e/x.go", `import ("github.com/nodhq/nod/adapters/web"; "github.com/mark3labs/mcp-go/client"); func f(c interface{ CallTool() }) { c.CallTool() }`},
		{"adapters/mcp/x.go", `import ("github.com/mark3labs/mcp-go/client"; "github.com/nodhq/nod/core/agent")`},
		{"adapters/demo/x.go", `import "github.com/mark3labs/mcp-go/server"`},
		{"cmd/bot/x.go", `import ("github.com/nodhq/nod/adapters/demo"; "github.com/nodhq/nod/state"; "github.com/nodhq/nod/cmd/bot/config")`},
		{"state/x.go", `import ("github.com/redis/go-redis/v9"; "github.com/nodhq/nod/state/embedded"; "github.com/nodhq/nod/core/agent")`},
		{"state/embedded/x.go", `import ("github.com/redis/go-redis/v9"; "github.com/alicebob/miniredis/v2")`},
	} {
		x, err := Examine(tt.path, []byte("package x; "+tt.source))
		if err != nil || len(x.Broken) != 0 {
			t.Errorf("%s with %q: %q %v", tt.path, tt.source, x.Broken, err)
		}
	}
	if x, _ := Examine("adapters/mcp/x.go", []byte("package x; func f(c interface{ CallTool() }) { c.CallTool(); c.CallTool() }")); len(x.ToolCalls) != 2 {
		t.Errorf("two calls of CallTool were counted as %d", len(x.ToolCalls))
	}
}
