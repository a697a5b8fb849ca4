package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Server is the workbench's name among the tool servers.
const Server = "workbench"

// The workbench's caps.
const (
	MaxRead  = 256 << 10 // bytes that one read_file gives
	MaxWrite = 1 << 20   // bytes that one write_file takes
	maxList  = 500       // entries that one list_directory names
	version  = "1"
)

// tool is one tool of the workbench: what the model reads, what the policy reads, and what it does.
type tool struct {
	name, title, description, schema string
	destructive, repeats             bool
	metadata                         permission.Metadata
	run                              func(*workspace, arguments) (string, error)
}

// arguments are those of all tools; each tool's schema says which it takes.
type arguments struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	Offset     int64  `json:"offset"`
	Expression string `json:"expression"`
	Timezone   string `json:"timezone"`
}

// workspace is where the tools work.
type workspace struct {
	root *os.Root
	now  func() time.Time
}

const pathSchema = `"path": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Relative to the workspace, with forward slashes"}`

// object is the schema of arguments with these properties and no others; required are the names of some, quoted.
func object(properties, required string) string {
	if required != "" {
		required = `, "required": [` + required + `]`
	}
	return `{"type": "object", "properties": {` + properties + `}` + required + `, "additionalProperties": false}`
}

// reads is what a tool declares that changes nothing.
func reads(category, impact string) permission.Metadata {
	return permission.Metadata{Risk: permission.Safe, Approval: permission.AutoApprove, Access: permission.Read, Category: category, Impact: impact}
}

// writes is what a tool declares that changes files.
func writes(risk permission.Risk, impact, message string) permission.Metadata {
	return permission.Metadata{Risk: risk, Approval: permission.RequireConfirmation, Access: permission.Write, Category: "Files", Impact: impact, Message: message}
}

var tools = []tool{
	{
		name: "datetime", title: "Date and time", description: "The current date and time.", repeats: true, run: (*workspace).datetime,
		schema: object(`"timezone": {"type": "string", "maxLength": 64, "description": "IANA name such as Europe/Berlin; `+
			`the bot's own zone when left out"}`, ""),
		metadata: reads("Facts", "Reads the clock."),
	},
	{
		name: "calculator", title: "Calculator", repeats: true, run: (*workspace).calculator,
		description: "Evaluates an arithmetic expression exactly: + - * / % ^ and parentheses.",
		schema:      object(`"expression": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "For example (2+3)*4^2"}`, `"expression"`),
		metadata:    reads("Facts", "Computes; changes nothing."),
	},
	{
		name: "list_directory", title: "List directory", repeats: true, run: (*workspace).list,
		description: "Lists the files and directories in a directory of the workspace.",
		schema:      object(`"path": {"type": "string", "maxLength": 1024, "description": "Relative to the workspace; the workspace itself when left out"}`, ""),
		metadata:    reads("Files", "Reads names and sizes in the workspace."),
	},
	{
		name: "read_file", title: "Read file", description: "Reads a text file of the workspace, up to 256 KiB at once.", repeats: true, run: (*workspace).read,
		schema:   object(pathSchema+`, "offset": {"type": "integer", "minimum": 0, "description": "Byte to start at; 0 when left out"}`, `"path"`),
		metadata: reads("Files", "Reads a file of the workspace."),
	},
	{
		name: "write_file", title: "Write file", destructive: true, repeats: true, run: (*workspace).write,
		description: "Writes a text file of the workspace. What was in it before is replaced. At most 1 MiB.",
		schema:      object(pathSchema+`, "content": {"type": "string", "maxLength": 1048576, "description": "The whole new content"}`, `"path", "content"`),
		metadata:    writes(permission.Moderate, "Replaces the file if it exists.", "Write to {{.args.path}}?"),
	},
	{
		name: "create_directory", title: "Create directory", repeats: true, run: (*workspace).create,
		description: "Creates a directory of the workspace, with its parents. One that exists is left as it is.",
		schema:      object(pathSchema, `"path"`),
		metadata:    writes(permission.Moderate, "Adds a directory to the workspace.", "Create the directory {{.args.path}}?"),
	},
	{
		// Not idempotent: the second time it answers with an error, or deletes what somebody made since.
		name: "delete_file", title: "Delete file", destructive: true, run: (*workspace).delete,
		description: "Deletes a file of the workspace for good. Directories are refused.",
		schema:      object(pathSchema, `"path"`),
		metadata:    writes(permission.Dangerous, "The file is gone afterwards; there is no copy.", "Are you sure you want to delete {{.args.path}}?"),
	},
}

// Connect makes the workbench over dir, as [Workbench] does, and returns what gives an MCP client a connection to it, inside this
// process.
func Connect(dir string, apart bool) (func() transport.Interface, error) {
	s, err := Workbench(dir, apart, time.Now)
	if err != nil {
		return nil, err
	}
	return func() transport.Interface { return transport.NewInProcessTransport(s) }, nil
}

// Workbench makes the built-in tool server. Its file tools see nothing outside dir, which is made if it is missing. Apart, each chat has a
// directory of its own there, and sees nothing of the others'. now is the clock of datetime.
func Workbench(dir string, apart bool, now func() time.Time) (*server.MCPServer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the workspace: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	b := &workspace{root, now}
	s := server.NewMCPServer(Server, version,
		server.WithTitle("Workbench"),
		server.WithDescription("The bot's own tools: clock, calculator, and files of one directory."),
		server.WithToolCapabilities(false),
		server.WithRecovery(),
	)
	for _, t := range tools {
		def := mcp.NewToolWithRawSchema(t.name, t.description, json.RawMessage(t.schema))
		def.Annotations = mcp.ToolAnnotation{
			Title:           t.title,
			ReadOnlyHint:    new(t.metadata.Access == permission.Read),
			DestructiveHint: new(t.destructive),
			IdempotentHint:  new(t.repeats),
			OpenWorldHint:   new(false),
		}
		s.AddTool(def, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args arguments
			if err := r.BindArguments(&args); err != nil {
				return mcp.NewToolResultError("The arguments do not fit " + t.name + ": " + err.Error()), nil
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			text, err := b.in(ctx, apart, func(b *workspace) (string, error) { return t.run(b, args) })
			if err != nil {
				return mcp.NewToolResultError(say(args.Path, err)), nil
			}
			return mcp.NewToolResultText(text), nil
		})
	}
	return s, nil
}

// Preview names the tool that reads what another replaces.
var Preview = map[string]string{"write_file": "read_file"}

// in runs a tool where the chat of its call has its files.
func (b *workspace) in(ctx context.Context, apart bool, run func(*workspace) (string, error)) (string, error) {
	if !apart {
		return run(b)
	}
	id, _, ok := agent.TurnOf(ctx)
	if !ok {
		return "", errors.New("nobody knows whose files these would be")
	}
	name := sha256.Sum256([]byte(id.String()))
	dir := "chats/" + hex.EncodeToString(name[:16])
	if err := b.root.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	root, err := b.root.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	return run(&workspace{root, b.now})
}

// Metadata is what each tool of the workbench declares about itself, by name.
func Metadata() map[string]permission.Metadata {
	m := make(map[string]permission.Metadata, len(tools))
	for _, t := range tools {
		m[t.name] = t.metadata
	}
	return m
}

// say words an error for people and models, without the machine's own paths.
func say(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("There is no %s in the workspace.", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("The operating system does not allow that for %s.", path)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		if strings.Contains(p.Err.Error(), "escapes") {
			return fmt.Sprintf("%s is outside the workspace; only relative paths within it work.", path)
		}
		return fmt.Sprintf("%s: %s.", path, p.Err)
	}
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		return fmt.Sprintf("%s: %s.", path, sys.Err)
	}
	text := err.Error() + "."
	if path != "" && strings.HasPrefix(text, path) {
		return text // a file's name keeps its case
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (b *workspace) datetime(a arguments) (string, error) {
	at := b.now()
	if a.Timezone != "" {
		zone, err := time.LoadLocation(a.Timezone)
		if err != nil {
			return "", fmt.Errorf("%q is not a time zone known here; use an IANA name such as Europe/Berlin", a.Timezone)
		}
		at = at.In(zone)
	}
	return at.Format("Monday, 2 January 2006, 15:04:05 MST (UTC-07:00)"), nil
}

func (b *workspace) calculator(a arguments) (string, error) {
	v, err := calculate(a.Expression)
	if err != nil {
		return "", err
	}
	if about, rounded := strings.CutPrefix(v, "about "); rounded {
		return strings.TrimSpace(a.Expression) + " ≈ " + about, nil
	}
	return strings.TrimSpace(a.Expression) + " = " + v, nil
}

func (b *workspace) list(a arguments) (string, error) {
	if a.Path == "" {
		a.Path = "."
	}
	dir, err := b.root.Open(a.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file, not a directory", a.Path)
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "The directory is empty.", nil
	}
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	var out strings.Builder
	for i, e := range entries {
		if i == maxList {
			fmt.Fprintf(&out, "(%d more entries are not shown)\n", len(entries)-maxList)
			break
		}
		name := strings.ToValidUTF8(e.Name(), "\uFFFD")
		switch info, err := e.Info(); {
		case e.IsDir():
			fmt.Fprintf(&out, "%s/\n", name)
		case err != nil:
			fmt.Fprintf(&out, "%s\n", name)
		case e.Type()&fs.ModeSymlink != 0:
			fmt.Fprintf(&out, "%s (link)\n", name)
		default:
			fmt.Fprintf(&out, "%s (%s)\n", name, size(info.Size()))
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func (b *workspace) read(a arguments) (string, error) {
	all, err := b.regular(a.Path)
	if err != nil {
		return "", err
	}
	f, err := b.root.Open(a.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if a.Offset > all {
		return "", fmt.Errorf("%s has %s; offset %d is behind its end", a.Path, size(all), a.Offset)
	}
	buf := make([]byte, min(all-a.Offset, MaxRead+1)) // one more than is given tells whether a character would be cut in two
	n, err := f.ReadAt(buf, a.Offset)
	if n == 0 && err != nil && all > a.Offset {
		return "", err
	}
	whole := text.HeadBytes(string(buf[:n]), MaxRead)
	if !utf8.ValidString(whole) || strings.ContainsRune(whole, 0) {
		return "", fmt.Errorf("%s is not a text file (%s)", a.Path, size(all))
	}
	if end := a.Offset + int64(len(whole)); end < all {
		return fmt.Sprintf("%s\n\n(These are bytes %d to %d. %s more follow; read on with offset %d.)", whole, a.Offset, end, size(all-end), end), nil
	}
	if len(whole) == 0 {
		return text.EmptyFile, nil
	}
	return whole, nil
}

func (b *workspace) write(a arguments) (string, error) {
	if a.Path == "" {
		return "", errors.New("a file name is missing")
	}
	if len(a.Content) > MaxWrite {
		return "", fmt.Errorf("the text has %s; at most %s are written at once", size(int64(len(a.Content))), size(MaxWrite))
	}
	did := "Replaced"
	if _, err := b.regular(a.Path); errors.Is(err, fs.ErrNotExist) {
		did = "Wrote"
	} else if err != nil {
		return "", err
	}
	if err := b.root.WriteFile(a.Path, []byte(a.Content), 0o600); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the directory of %s does not exist; create it first", a.Path)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s (%s).", did, a.Path, size(int64(len(a.Content)))), nil
}

func (b *workspace) create(a arguments) (string, error) {
	if a.Path == "" {
		return "", errors.New("a directory name is missing")
	}
	switch info, err := b.root.Stat(a.Path); {
	case err == nil && info.IsDir():
		return fmt.Sprintf("%s exists already.", a.Path), nil
	case err == nil:
		return "", fmt.Errorf("%s is a file", a.Path)
	}
	if err := b.root.MkdirAll(a.Path, 0o700); err != nil {
		return "", err
	}
	return fmt.Sprintf("Created %s.", a.Path), nil
}

func (b *workspace) delete(a arguments) (string, error) {
	info, err := b.root.Lstat(a.Path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s is a directory; only files are deleted", a.Path)
	}
	if err := b.root.Remove(a.Path); err != nil {
		return "", err
	}
	return fmt.Sprintf("Deleted %s.", a.Path), nil
}

// regular is the size of a file. It refuses directories, and pipes and devices, which could block for ever.
func (b *workspace) regular(path string) (size int64, err error) {
	info, err := b.root.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, fmt.Errorf("%s is a directory", path)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not an ordinary file", path)
	}
	return info.Size(), nil
}

func size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
