// Package arch holds the house's arrows: which room may import which, what pure rooms may not touch, and which things
// have one place, and, in words.go, which words names no longer have. The tests run it over the whole module.
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
	whyLeaf     = "core/chat is the leaf: everybody speaks its words, so it may know nobody's"
	whyText     = "core/text says what people read and makes visible what hides in it: sentences are made of words and numbers, so it may know nobody's types but core/chat's"
	whyBackoff  = "how long to wait after a failure is arithmetic: it knows nothing of what failed, so that every loop may use it"
	whyPure     = "a pure room decides from values alone, so that it can be replayed, simulated and tested without the world"
	whyDerived  = "what is made of a session reads the fold and never feeds it: it is pure, and the fold knows nothing of it"
	whyEngine   = "the engine calls ports that it declares itself; adapters and state implement them"
	whyBegun    = "the engine begins it and records what came of it: it waits for the world by ports of its own, and knows no log, lease or driver"
	whyLive     = "what people see before the log has it is one lock around values: it knows no driver, so that whatever works for one may write it"
	whyDecision = "what is decided is decided from values alone, before it is recorded: the engine asks and records, and package decision knows neither"
	whySettings = "what people do with the settings goes through the engine, which looks again who may: the engine does not know that there are panels and commands"
	whyAdapter  = "an adapter knows its outside and core, never another adapter or the store: each can be replaced alone"
	whySurface  = "what two surfaces share names neither: it may know core, and no platform, library or store"
	whyEncoder  = "what draws for a platform is values in, values out: the same message gives the same bytes, and needs no network to be looked at"
	whyCalls    = "a call of Slack's API is the same whatever is said in it: its limits and errors are known in one place, and who makes it is the adapter"
	whyInstall  = "how a workspace lets the bot in is known without the rest: a door, a code and a sealed token"
	whySignIn   = "who somebody is is the provider's word, checked in one place, which knows nothing of pages and chats"
	whyMarkdown = "a model's Markdown becomes a tree by its text alone: the same text is the same tree, and no page is needed to look at it"
	whyDecoder  = "what a platform sent is read from its bytes alone, so that every recorded payload says the same for ever"
	whyIDs      = "what Discord's objects are called is read and written in one place, which everything of the adapter may know"
	whyREST     = "a call of Discord's API is the same whatever is said in it: its limits and errors are known in one place"
	whyGateway  = "the connection hands on what comes and reads none of it: what events mean is the adapter's"
	whyBackfill = "what was missed is fetched in its order whatever is said in it: who takes a message is handed in"
	whyDoctor   = "what looks an installation over may use the adapter that it is about, and nothing that runs"
	whyState    = "the store knows core's types only: it keeps what it is given, for whichever surface"
	whyWiring   = "only cmd/bot and what is below it name concrete types; all else takes what it needs as values"
	whyEmbedded = "it is a Redis with a journal: scripts and keys are the caller's, and it knows nothing of chats"
	whyChild    = "it starts and ends a program, or writes a line: it knows no MCP, so a server's words cannot reach it as orders"
	whySchema   = "it checks arguments against a stranger's schema: a pure question, with a bound on its steps"
	whyConfine  = "it stands between the fork and the exec of a program: it knows the kernel, and nothing of nod"
	whyConfig   = "what the configuration says is values; cmd/bot/parts makes the parts from them"
	whyCommand  = "what every command needs is the process and the configuration; what opens a part is cmd/bot/parts"
	whySetup    = "nod init writes a configuration and nothing else: it opens no part of the bot"
	whyTerminal = "nod chat is a client of the web API like any other program: it may not look behind it"
	whyMetrics  = "numbers and traces lie around the engine's ports, so that no room below knows of them"
	whyInbox    = "what waits is a list of chats: how a card looks and who asks is package web's"
	whyFrames   = "what it carries is bytes: what a message looks like is package web's"
	whyPush     = "a push is a question and a device: who may see it and who has signed in is package web's"
	whyStretch  = "a key is made of a secret, and of nothing else"
	whySession  = "who somebody is does not depend on what they want: pages, routes and what a person may do are package web's and the engine's"
	whyReads    = "these commands are the store's and the engine's; what they need of an adapter is made in cmd/bot/parts"
)

var (
	core         = []string{"core/backoff", "core/chat", "core/text", "core/permission", "core/permission/canonical", "core/permission/pin", "core/render", "core/agent/turn", "core/agent/talk", "core/agent/card", "core/agent/form", "core/agent/audit", "core/agent/person", "core/agent/decision", "core/agent/attach", "core/agent/groups", "core/agent/prompt", "core/agent/standing", "core/agent/elicit", "core/agent/live", "core/agent", "core/agent/settings"}
	whyCanonical = "the one form of a call's arguments is a matter of JSON alone: what is digested must not change because a rule does"
	outer        = append([]string{"adapters/surface", "adapters/slack", "adapters/slack/install", "adapters/discord", "adapters/web", "adapters/web/frames", "adapters/web/inbox", "adapters/web/push", "adapters/web/session", "adapters/web/signin", "adapters/web/stretch", "adapters/openai", "adapters/mcp", "adapters/mcp/child", "adapters/mcp/confine", "adapters/demo", "adapters/document", "state"}, core...)
	rooms        = []room{
		{"core/chat", nil, false, whyLeaf},
		{"core/text", []string{"core/chat"}, true, whyText},
		{"core/backoff", nil, false, whyBackoff},
		{"core/permission", []string{"core/chat", "core/text", "core/permission/canonical", "core/permission/pin"}, true, whyPure},
		{"core/permission/pin", []string{"core/text", "core/permission/canonical"}, true, whyPure},
		{"core/permission/canonical", nil, true, whyCanonical},
		{"core/render", []string{"core/chat", "core/text"}, true, whyPure},
		{"core/agent/turn", []string{"core/chat", "core/permission", "core/permission/pin", "core/render"}, true, whyPure},
		{"core/agent/talk", []string{"core/text", "core/agent/turn"}, true, whyDerived},
		{"core/agent/card", []string{"core/chat", "core/text", "core/permission", "core/permission/pin", "core/render", "core/agent/turn", "core/agent/talk"}, true, whyDerived},
		{"core/agent/audit", []string{"core/chat", "core/text", "core/permission", "core/permission/pin", "core/render", "core/agent/turn"}, true, whyDerived},
		{"core/agent/person", []string{"core/chat", "core/permission", "core/agent/turn", "core/agent/audit"}, true, whyDerived},
		{"core/agent/form", []string{"core/chat", "core/text", "core/render", "core/agent/turn"}, true, whyDerived},
		{"core/agent/decision", []string{"core/chat", "core/text", "core/permission", "core/permission/canonical", "core/render", "core/agent/turn", "core/agent/card", "core/agent/form"}, true, whyDecision},
		{"core/agent/attach", []string{"core/backoff", "core/chat", "core/text", "core/agent/turn", "core/agent/talk"}, false, whyBegun},
		{"core/agent/groups", []string{"core/chat", "core/permission", "core/agent/turn", "core/agent/decision"}, false, whyBegun},
		{"core/agent/prompt", []string{"core/chat", "core/text", "core/agent/turn", "core/agent/talk"}, false, whyBegun},
		{"core/agent/standing", []string{"core/chat", "core/text", "core/permission", "core/agent/turn", "core/agent/decision"}, false, whyBegun},
		{"core/agent/elicit", []string{"core/agent/turn"}, false, whyBegun},
		{"core/agent/live", []string{"core/render", "core/agent/turn", "core/agent/card"}, false, whyLive},
		{"core/agent", []string{"core/backoff", "core/chat", "core/text", "core/permission", "core/permission/canonical", "core/permission/pin", "core/render", "core/agent/turn", "core/agent/talk", "core/agent/card", "core/agent/form", "core/agent/audit", "core/agent/decision", "core/agent/attach", "core/agent/groups", "core/agent/prompt", "core/agent/standing", "core/agent/elicit", "core/agent/live"}, false, whyEngine},
		{"core/agent/settings", []string{"core/backoff", "core/chat", "core/text", "core/permission", "core/permission/canonical", "core/render", "core/agent/turn", "core/agent/talk", "core/agent/card", "core/agent/audit", "core/agent/decision", "core/agent"}, false, whySettings},
		{"adapters/surface", core, false, whySurface},
		{"adapters/slack", append([]string{"adapters/slack/blocks", "adapters/slack/calls", "adapters/slack/inbound", "adapters/slack/install", "adapters/surface"}, core...), false, whyAdapter},
		{"adapters/slack/blocks", []string{"core/chat", "core/text", "core/render", "core/agent/turn", "adapters/surface"}, true, whyEncoder},
		{"adapters/slack/inbound", []string{"core/chat", "core/text", "adapters/surface", "adapters/slack/blocks"}, true, whyDecoder},
		{"adapters/slack/calls", []string{"core/text", "core/agent", "adapters/surface"}, false, whyCalls},
		{"adapters/slack/install", nil, false, whyInstall},
		{"adapters/slack/doctor", []string{"core/chat", "core/text", "core/render", "adapters/surface", "adapters/slack", "adapters/slack/blocks", "adapters/slack/calls", "adapters/slack/install"}, false, whyDoctor},
		{"adapters/discord", append([]string{"adapters/surface", "adapters/discord/ids", "adapters/discord/components", "adapters/discord/rest", "adapters/discord/gateway", "adapters/discord/backfill", "adapters/discord/inbound"}, core...), false, whyAdapter},
		{"adapters/discord/inbound", []string{"core/chat", "core/text", "core/render", "adapters/surface", "adapters/discord/ids"}, true, whyDecoder},
		{"adapters/discord/ids", []string{"core/chat"}, true, whyIDs},
		{"adapters/discord/doctor", []string{"adapters/surface", "adapters/discord", "adapters/discord/ids", "adapters/discord/inbound", "adapters/discord/gateway", "adapters/discord/rest", "core/agent", "core/backoff", "core/chat", "core/render"}, false, whyDoctor},
		{"adapters/discord/rest", []string{"adapters/surface", "adapters/discord/ids", "core/agent"}, false, whyREST},
		{"adapters/discord/gateway", []string{"core/backoff", "adapters/surface", "adapters/discord/rest", "core/agent"}, false, whyGateway},
		{"adapters/discord/backfill", []string{"core/backoff", "adapters/discord/ids", "adapters/discord/rest", "core/agent"}, false, whyBackfill},
		{"adapters/discord/components", []string{"adapters/surface", "adapters/discord/ids", "core/chat", "core/text", "core/render", "core/agent/turn", "core/agent/form"}, true, whyEncoder},
		{"adapters/web", append([]string{"adapters/surface", "adapters/web/frames", "adapters/web/inbox", "adapters/web/markdown", "adapters/web/push", "adapters/web/session", "adapters/web/signin"}, core...), false, whyAdapter},
		{"adapters/web/frames", []string{"core/chat"}, false, whyFrames},
		{"adapters/web/inbox", []string{"core/agent", "core/agent/turn", "core/chat"}, false, whyInbox},
		{"adapters/web/push", []string{"adapters/surface", "core/agent/turn", "core/backoff", "core/chat", "core/text"}, false, whyPush},
		{"adapters/web/stretch", nil, false, whyStretch},
		{"adapters/web/session", []string{"adapters/web/signin", "adapters/web/stretch", "core/agent", "core/agent/groups", "core/chat", "core/render", "core/text"}, false, whySession},
		{"adapters/web/signin", []string{"adapters/surface", "adapters/web/stretch"}, false, whySignIn},
		{"adapters/web/markdown", []string{"core/text", "core/render", "adapters/surface"}, true, whyMarkdown},
		{"adapters/openai", core, false, whyAdapter},
		{"adapters/mcp", append([]string{"adapters/mcp/child", "adapters/mcp/confine", "adapters/mcp/schema", "adapters/mcp/oneline"}, core...), false, whyAdapter},
		{"adapters/mcp/child", []string{"adapters/mcp/confine", "adapters/mcp/oneline"}, false, whyChild},
		{"adapters/mcp/schema", []string{"core/agent", "core/text", "adapters/mcp/oneline"}, false, whySchema},
		{"adapters/mcp/oneline", nil, false, whyChild},
		{"adapters/mcp/confine", []string{"adapters/mcp/oneline"}, false, whyConfine},
		{"adapters/demo", core, false, whyAdapter},
		{"adapters/document", []string{"core/chat", "core/text", "core/agent/turn", "core/agent/attach"}, false, whyAdapter},
		{"state", append([]string{"state/embedded"}, core...), false, whyState},
		{"state/embedded", nil, false, whyEmbedded},
		{"cmd/bot/config", []string{"core/chat", "core/text", "core/permission", "core/permission/pin", "adapters/mcp/confine"}, false, whyConfig},
		{"cmd/bot/command", []string{"core/chat", "core/text", "cmd/bot/config"}, false, whyCommand},
		{"cmd/bot/setup", []string{"adapters/mcp/confine", "cmd/bot/config", "cmd/bot/command"}, false, whySetup},
		{"cmd/bot/terminal", []string{"core/backoff", "core/chat", "core/text", "core/render", "core/agent/turn", "cmd/bot/command"}, false, whyTerminal},
		{"cmd/bot/parts", append([]string{"cmd/bot/config", "cmd/bot/command"}, outer...), false, whyWiring},
		{"cmd/bot/doctor", append([]string{"adapters/slack/doctor", "adapters/discord/doctor", "cmd/bot/config", "cmd/bot/command", "cmd/bot/parts"}, outer...), false, whyWiring},
		{"cmd/bot/metrics", append([]string{"state"}, core...), false, whyMetrics},
		{"cmd/bot/traces", core, false, whyMetrics},
		{"cmd/bot/audit", append([]string{"state", "cmd/bot/command", "cmd/bot/parts"}, core...), false, whyReads},
		{"cmd/bot/backup", append([]string{"state", "cmd/bot/config", "cmd/bot/command", "cmd/bot/parts"}, core...), false, whyReads},
		{"cmd/bot/permissions", append([]string{"state", "cmd/bot/config", "cmd/bot/command", "cmd/bot/parts"}, core...), false, whyReads},
		{"cmd/bot/person", append([]string{"state", "cmd/bot/config", "cmd/bot/command", "cmd/bot/parts"}, core...), false, whyReads},
		{"cmd/bot", append([]string{"adapters/slack/doctor", "adapters/discord/doctor", "cmd/bot/config", "cmd/bot/command", "cmd/bot/parts", "cmd/bot/doctor", "cmd/bot/metrics", "cmd/bot/traces", "cmd/bot/audit", "cmd/bot/backup", "cmd/bot/permissions", "cmd/bot/person", "cmd/bot/setup", "cmd/bot/terminal"}, outer...), false, whyWiring},
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

// heavy are standard packages that nothing shipped may import, each with the reason.
var heavy = map[string]string{
	"text/template": "it looks methods up by name, so that the linker keeps every exported method of the whole program: twelve megabytes",
	"html/template": "it is text/template, which keeps every exported method of the whole program: twelve megabytes",
	"plugin":        "a program that opens plugins keeps everything that is in it",
}

var parsers = []string{"net/url", "net/netip"}

// modules are third-party modules with the rooms that may import them, pure ones included. One that is not listed may be imported by
// rooms that are not pure; tests may import all.
var modules = map[string]struct {
	rooms []string
	why   string
}{
	"github.com/mark3labs/mcp-go":     {[]string{"adapters/mcp", "adapters/demo"}, "MCP is spoken in one adapter, and by the demo's in-process server"},
	"github.com/openai/openai-go":     {[]string{"adapters/openai"}, "one adapter knows the model's wire format"},
	"github.com/redis/go-redis":       {[]string{"state", "state/embedded"}, "Redis is touched by state's scripts only: one transition, one script"},
	"github.com/alicebob/miniredis":   {[]string{"state/embedded"}, "the embedded store is state's"},
	"github.com/slack-go/slack":       {[]string{"adapters/slack", "adapters/slack/blocks", "adapters/slack/calls", "adapters/slack/inbound", "adapters/slack/install", "adapters/slack/doctor"}, "what mentions Slack stands in adapters/slack"},
	"github.com/bwmarrin/discordgo":   {[]string{"adapters/discord", "adapters/discord/components", "adapters/discord/doctor", "adapters/discord/gateway", "adapters/discord/inbound", "adapters/discord/rest"}, "what mentions Discord stands in adapters/discord"},
	"github.com/coreos/go-oidc":       {[]string{"adapters/web/signin"}, "a provider's tokens are read and checked in one place"},
	"github.com/SherClockHolmes":      {[]string{"adapters/web/push"}, "what goes to people's devices is encrypted and signed in one place"},
	"golang.org/x/oauth2":             {[]string{"adapters/web/signin"}, "a provider's tokens are read and checked in one place"},
	"go.yaml.in/yaml":                 {[]string{"cmd/bot", "cmd/bot/config"}, "what people write is read in one place, configuration and exports; all else takes values"},
	"github.com/spf13/cobra":          {[]string{"cmd/bot", "cmd/bot/command", "cmd/bot/doctor", "cmd/bot/audit", "cmd/bot/backup", "cmd/bot/permissions", "cmd/bot/person", "cmd/bot/setup", "cmd/bot/terminal"}, "the command line is the commands' own: what they do takes values"},
	"github.com/tailscale/hujson":     {[]string{"cmd/bot/setup"}, "JSON with comments is what other programs write, and nothing of nod's is"},
	"github.com/aymanbagabas":         {[]string{"core/render"}, "texts are compared where the difference is drawn"},
	"github.com/VictoriaMetrics":      {[]string{"cmd/bot/metrics"}, "what is counted is counted in one place"},
	"go.opentelemetry.io":             {[]string{"cmd/bot/traces"}, "spans are made and sent in one place"},
	"github.com/spf13/pflag":          {[]string{"cmd/bot/command"}, "it is what cobra reads flags with: commands name theirs through cobra"},
	"github.com/yuin/goldmark":        {[]string{"adapters/discord/components", "adapters/surface", "adapters/web/markdown"}, "Markdown is parsed where it is drawn"},
	"github.com/google/go-cmp":        {nil, "a module for tests, not to be shipped"},
	"github.com/chromedp":             {nil, "a module for tests, not to be shipped"},
	"go.uber.org/goleak":              {nil, "a module for tests, not to be shipped"},
	"pgregory.net/rapid":              {nil, "a module for tests, not to be shipped"},
	"github.com/modelcontextprotocol": {nil, "mcp-go is this project's MCP library; a second one would be a second truth"},
}

// clocks are what reads or waits for the clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// measures are what the fold may use of core/render: what tells whether arguments can be shown, and no sentence.
var measures = []string{"TooBig", "MaskedJSON"}

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

// Pure are the folders of the pure rooms. Nothing in them runs beside anything, so their own tests have nothing to show the race detector;
// as parts of what calls them they stand before it in the tests of all other rooms.
func Pure() (paths []string) {
	for _, r := range rooms {
		if r.pure {
			paths = append(paths, r.path)
		}
	}
	return paths
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
	case r.path == "core/agent/turn" && names[of.Name] == Module+"/core/render" && !slices.Contains(measures, n.Sel.Name):
		broken(n, "core/agent/turn may not use render.%s: the fold holds no sentences, so that every release folds a log to the same session", n.Sel.Name)
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
		if why := heavy[imported]; why != "" {
			return why
		}
		for p, why := range impure {
			if r.pure && below(imported, p) && !slices.Contains(parsers, imported) {
				return why
			}
		}
		return ""
	}
	for m, of := range modules {
		switch {
		case !below(imported, m):
		case slices.Contains(of.rooms, r.path):
			return "" // named there, for a pure room too: an encoder fills in its library's types
		case !r.pure:
			return of.why
		}
	}
	if r.pure || r.path == "core/chat" {
		return "no third-party module: " + r.why
	}
	return ""
}
