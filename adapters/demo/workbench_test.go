package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 3, 4, 12, 30, 5, 0, time.UTC)

// open gives an in-process client of a workbench in dir.
func open(t *testing.T, dir string) *client.Client {
	t.Helper()
	return openApart(t, dir, false)
}

func openApart(t *testing.T, dir string, apart bool) *client.Client {
	t.Helper()
	s, err := Workbench(dir, apart, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// do runs one call and gives its text; a fault says that the tool answered with an error.
func do(t *testing.T, c *client.Client, name string, args map[string]any) (text string, fault bool) {
	t.Helper()
	return doIn(t.Context(), t, c, name, args)
}

func doIn(ctx context.Context, t *testing.T, c *client.Client, name string, args map[string]any) (text string, fault bool) {
	t.Helper()
	r, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: args}})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s gave %d contents", name, len(r.Content))
	}
	return r.Content[0].(mcp.TextContent).Text, r.IsError
}

func TestWorkbenchDoesTheWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "workspace") // is made with its parents
	c := open(t, dir)
	for _, step := range []struct {
		tool  string
		args  map[string]any
		want  string
		fault bool
	}{
		{"datetime", nil, "Wednesday, 4 March 2026, 12:30:05 UTC (UTC+00:00)", false},
		{"datetime", map[string]any{"timezone": "Moon/Sea"}, `"Moon/Sea" is not a time zone known here; use an IANA name such as Europe/Berlin.`, true},
		{"calculator", map[string]any{"expression": "2+2*3"}, "2+2*3 = 8", false},
		{"calculator", map[string]any{"expression": "1/3"}, "1/3 ≈ 0.33333333333333333333", false},
		{"calculator", map[string]any{"expression": "1/0"}, "Division by zero.", true},
		{"list_directory", nil, "The directory is empty.", false},
		{"read_file", map[string]any{"path": "notes.txt"}, "There is no notes.txt in the workspace.", true},
		{"write_file", map[string]any{"path": "notes.txt", "content": "hello"}, "Wrote notes.txt (5 bytes).", false},
		{"read_file", map[string]any{"path": "notes.txt"}, "hello", false},
		{"write_file", map[string]any{"path": "./notes.txt", "content": "bye"}, "Replaced ./notes.txt (3 bytes).", false},
		{"read_file", map[string]any{"path": "notes.txt"}, "bye", false},
		{"read_file", map[string]any{"path": "notes.txt", "offset": 1}, "ye", false},
		{"read_file", map[string]any{"path": "notes.txt", "offset": 9}, "notes.txt has 3 bytes; offset 9 is behind its end.", true},
		{"write_file", map[string]any{"path": "docs/a.txt", "content": "x"}, "The directory of docs/a.txt does not exist; create it first.", true},
		{"create_directory", map[string]any{"path": "docs/old"}, "Created docs/old.", false},
		{"create_directory", map[string]any{"path": "docs/old"}, "docs/old exists already.", false},
		{"create_directory", map[string]any{"path": "notes.txt"}, "notes.txt is a file.", true},
		{"write_file", map[string]any{"path": "docs/a.txt", "content": ""}, "Wrote docs/a.txt (0 bytes).", false},
		{"read_file", map[string]any{"path": "docs/a.txt"}, "(The file is empty.)", false},
		{"list_directory", nil, "docs/\nnotes.txt (3 bytes)", false},
		{"list_directory", map[string]any{"path": "docs"}, "a.txt (0 bytes)\nold/", false},
		{"list_directory", map[string]any{"path": "notes.txt"}, "notes.txt is a file, not a directory.", true},
		{"read_file", map[string]any{"path": "docs"}, "docs is a directory.", true},
		{"write_file", map[string]any{"path": "docs", "content": "x"}, "docs is a directory.", true},
		{"delete_file", map[string]any{"path": "docs/old"}, "docs/old is a directory; only files are deleted.", true},
		{"delete_file", map[string]any{"path": "notes.txt"}, "Deleted notes.txt.", false},
		{"delete_file", map[string]any{"path": "notes.txt"}, "There is no notes.txt in the workspace.", true},
	} {
		got, fault := do(t, c, step.tool, step.args)
		if got != step.want || fault != step.fault {
			t.Errorf("%s %v = %q (error: %v), want %q (error: %v)", step.tool, step.args, got, fault, step.want, step.fault)
		}
	}
}

// TestNothingLeadsOut: neither "..", nor an absolute path, nor a link, for any tool.
// R30
func TestNothingLeadsOut(t *testing.T) {
	base := t.TempDir()
	dir, secret := filepath.Join(base, "workspace"), filepath.Join(base, "secret.txt")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	for link, to := range map[string]string{"link": secret, "relative": "../secret.txt", "up": "..", "root": "/"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("this system makes no symbolic links:", err)
		}
	}
	for _, path := range []string{"../secret.txt", secret, "a/../../secret.txt", "./../secret.txt", "link", "relative", "up/secret.txt", "root" + secret, "/", "..", "up"} {
		for _, tool := range []string{"read_file", "write_file", "list_directory", "create_directory", "delete_file"} {
			if tool == "delete_file" && !strings.ContainsAny(path, "./") {
				continue // deletes the link itself, which is in the workspace
			}
			args := map[string]any{"path": path}
			if tool == "write_file" {
				args["content"] = "overwritten"
			}
			text, fault := do(t, c, tool, args)
			if !fault || strings.Contains(text, "s3cret") {
				t.Errorf("%s %s = %q, want an error", tool, path, text)
			}
			if strings.Contains(text, dir) {
				t.Errorf("%s %s tells where the workspace is: %q", tool, path, text)
			}
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "s3cret" {
		t.Fatalf("the file outside is now %q, %v", b, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 2 {
		t.Fatalf("something was made outside: %v", entries)
	}
}

func TestSizesAreCapped(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	// The cap falls into the middle of a two-byte character.
	text := "x" + strings.Repeat("ä", MaxRead/2+5000)
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, fault := do(t, c, "read_file", map[string]any{"path": "long.txt"})
	first, words, _ := strings.Cut(got, "\n\n")
	if fault || len(first) != MaxRead-1 || words != "(These are bytes 0 to 262143. 10002 bytes more follow; read on with offset 262143.)" {
		t.Fatalf("read %d bytes and the words %q", len(first), words)
	}
	rest, fault := do(t, c, "read_file", map[string]any{"path": "long.txt", "offset": 262143})
	if fault || first+rest != text {
		t.Fatalf("the two parts (%d and %d bytes) are not the file", len(first), len(rest))
	}
	got, fault = do(t, c, "write_file", map[string]any{"path": "big.txt", "content": strings.Repeat("x", MaxWrite+1)})
	if !fault || !strings.Contains(got, "at most 1024 KiB") {
		t.Fatalf("write: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "big.txt")); err == nil {
		t.Fatal("the refused text was written all the same")
	}
	if got, fault = do(t, c, "write_file", map[string]any{"path": "big.txt", "content": strings.Repeat("x", MaxWrite)}); fault {
		t.Fatalf("the largest text: %q", got)
	}
	for i := range maxList + 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ = do(t, c, "list_directory", nil); strings.Count(got, "\n") != maxList || !strings.HasSuffix(got, "(5 more entries are not shown)") {
		t.Fatalf("list has %d lines and ends %q", strings.Count(got, "\n"), got[len(got)-40:])
	}
}

func TestOddFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "pic.png"), []byte{0x89, 'P', 'N', 'G', 0, 0xff}, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, fault := do(t, c, "read_file", map[string]any{"path": "pic.png"}); !fault || !strings.Contains(got, "not a text file (6 bytes)") {
		t.Errorf("binary: %q", got)
	}
	// A pipe would block a reader for ever.
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	for _, tool := range []string{"read_file", "write_file"} {
		if got, fault := do(t, c, tool, map[string]any{"path": "pipe", "content": "x"}); !fault || !strings.Contains(got, "not an ordinary file") {
			t.Errorf("%s pipe: %q", tool, got)
		}
	}
}

func TestArgumentsOfTheWrongShape(t *testing.T) {
	c := open(t, t.TempDir())
	for tool, args := range map[string]map[string]any{
		"read_file":        {"path": 7},
		"write_file":       {"path": "", "content": "x"},
		"create_directory": {"path": ""},
		"delete_file":      {},
		"calculator":       {},
	} {
		if got, fault := do(t, c, tool, args); !fault || got == "" {
			t.Errorf("%s %v = %q, want an error", tool, args, got)
		}
	}
}

// TestDeclarations is R20, R24, R25 and R30: every tool has a risk, and the named ones have the documents' values.
// R24 R25 R90 R170
func TestDeclarations(t *testing.T) {
	c := open(t, t.TempDir())
	listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		risk                      permission.Risk
		approval                  permission.Approval
		access                    permission.Access
		readOnly, destr, repeated bool
	}
	want := map[string]row{
		"datetime":         {permission.Safe, permission.AutoApprove, permission.Read, true, false, true},
		"calculator":       {permission.Safe, permission.AutoApprove, permission.Read, true, false, true},
		"list_directory":   {permission.Safe, permission.AutoApprove, permission.Read, true, false, true},
		"read_file":        {permission.Safe, permission.AutoApprove, permission.Read, true, false, true},
		"write_file":       {permission.Moderate, permission.RequireConfirmation, permission.Write, false, true, true},
		"create_directory": {permission.Moderate, permission.RequireConfirmation, permission.Write, false, false, true},
		"delete_file":      {permission.Dangerous, permission.RequireConfirmation, permission.Write, false, true, false},
	}
	declared := Metadata()
	if len(listed.Tools) != len(want) || len(declared) != len(want) {
		t.Fatalf("%d tools, %d declared, want %d", len(listed.Tools), len(declared), len(want))
	}
	for _, tool := range listed.Tools {
		m, ok := declared[tool.Name]
		if !ok {
			t.Errorf("%s declares nothing", tool.Name)
		}
		a := tool.Annotations
		if got := (row{m.Risk, m.Approval, m.Access, *a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint}); got != want[tool.Name] {
			t.Errorf("%s is %+v, want %+v", tool.Name, got, want[tool.Name])
		}
		if *a.OpenWorldHint || a.Title == "" || tool.Description == "" || m.Impact == "" || m.Category == "" {
			t.Errorf("%s says too little: %+v %+v", tool.Name, a, m)
		}
		if m.Approval != permission.AutoApprove && !strings.Contains(m.Message, "{{.args.path}}") {
			t.Errorf("%s asks without naming the path: %q", tool.Name, m.Message)
		}
		// Impact and access must agree: a tool that writes is never called read-only, and the other way round.
		if *a.ReadOnlyHint != (m.Access == permission.Read) {
			t.Errorf("%s: readOnlyHint and access disagree", tool.Name)
		}
	}
	if got := declared["delete_file"].Message; got != "Are you sure you want to delete {{.args.path}}?" {
		t.Errorf("delete_file asks %q (R90)", got)
	}
}

func TestSchemasCompile(t *testing.T) {
	for _, tool := range tools {
		var doc any
		if err := json.Unmarshal([]byte(tool.schema), &doc); err != nil {
			t.Fatalf("%s: %v", tool.name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:///schema", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mem:///schema")
		if err != nil {
			t.Fatalf("%s: %v", tool.name, err)
		}
		if s.Validate(map[string]any{"path": "a", "content": "b", "expression": "1", "evil": true}) == nil {
			t.Errorf("%s takes unknown arguments", tool.name)
		}
	}
}

func TestWorkbenchNeedsADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Workbench(file, false, time.Now); err == nil {
		t.Fatal("a file was taken for a workspace")
	}
}

func TestCancelledCallDoesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := Workbench(dir, false, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": "a", "content": "b"}}}
	if _, err := s.GetTool("write_file").Handler(ctx, r); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Fatal("the file was written")
	}
}

// Apart, what one chat wrote another neither reads, lists, replaces nor deletes; and a call of no chat gets nothing.
func TestChatsApart(t *testing.T) {
	dir := t.TempDir()
	c := openApart(t, dir, true)
	ana := agent.InTurn(t.Context(), chat.ID{Platform: "slack", Workspace: "T1", Key: "C1-1"}, "")
	ben := agent.InTurn(t.Context(), chat.ID{Platform: "slack", Workspace: "T1", Key: "C1-2"}, "")
	if text, fault := doIn(ana, t, c, "write_file", map[string]any{"path": "notes.txt", "content": "of Ana"}); fault {
		t.Fatal(text)
	}
	if text, fault := doIn(ana, t, c, "read_file", map[string]any{"path": "notes.txt"}); fault || text != "of Ana" {
		t.Errorf("Ana reads %q", text)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "chats"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	other := entries[0].Name()
	for _, path := range []string{"notes.txt", "../" + other + "/notes.txt", filepath.Join(dir, "chats", other, "notes.txt"), "chats/" + other + "/notes.txt"} {
		for _, tool := range []string{"read_file", "delete_file"} {
			if text, fault := doIn(ben, t, c, tool, map[string]any{"path": path}); !fault || strings.Contains(text, "of Ana") {
				t.Errorf("%s %s: %q", tool, path, text)
			}
		}
	}
	if text, _ := doIn(ben, t, c, "list_directory", map[string]any{}); text != "The directory is empty." {
		t.Errorf("Ben sees %q", text)
	}
	if text, fault := do(t, c, "list_directory", map[string]any{}); !fault {
		t.Errorf("a call of no chat sees %q", text)
	}
}
