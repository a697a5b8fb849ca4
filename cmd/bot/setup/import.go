package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/nodhq/nod/cmd/bot/config"
)

// maxFile bounds what is read of another program's file. Claude Code's holds more than its servers.
const maxFile = 16 << 20

// server is what a file of another program says of a tool server, in nod's words.
type server struct {
	name, from string // from is the file
	command    []string
	env        map[string]string
	dir        string
	url        string
	headers    map[string]string
	kind       string
}

// line is what starts it, or where it is: what a person looks at before it is taken over.
func (s server) line() string { return cmp.Or(s.url, strings.Join(s.command, " ")) }

// places are where Claude Desktop, Claude Code, Cursor and VS Code keep their tool servers: for a person, on any system, and for the project
// in the current directory.
func places(env config.Getenv) (paths []string) {
	home, _ := env("HOME")
	if profile, _ := env("USERPROFILE"); home == "" {
		home = profile
	}
	for _, program := range []string{filepath.Join("Claude", "claude_desktop_config.json"), filepath.Join("Code", "User", "mcp.json")} {
		if roaming, _ := env("APPDATA"); roaming != "" {
			paths = append(paths, filepath.Join(roaming, program))
		}
		if home != "" {
			paths = append(paths, filepath.Join(home, "Library", "Application Support", program), filepath.Join(home, ".config", program))
		}
	}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(home, ".claude.json"))
	}
	return append(paths, ".mcp.json", filepath.Join(".cursor", "mcp.json"), filepath.Join(".vscode", "mcp.json"))
}

// found are the servers of all the files that are there. A file that cannot be read is a note, and the others count.
func found(env config.Getenv) (all []server, notes []string) {
	for _, path := range places(env) {
		of, also, err := read(path, env)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			notes = append(notes, err.Error())
		}
		all, notes = append(all, of...), append(notes, also...)
	}
	return all, notes
}

// entry is a server as those files have it. What stands in it besides is the other program's own affair.
type entry struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// read reads one file: mcpServers as Claude and Cursor have it, servers as VS Code's mcp.json, mcp: servers as its settings.json.
func read(path string, env config.Getenv) (all []server, notes []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, nil, fmt.Errorf("%s is no file of tool servers", path)
	}
	data, err := os.ReadFile(path) //nolint:gosec // a person names it, or it is where those programs keep it
	if err != nil {
		return nil, nil, err
	}
	var file struct {
		MCPServers map[string]entry `json:"mcpServers"`
		Servers    map[string]entry `json:"servers"`
		MCP        struct {
			Servers map[string]entry `json:"servers"`
		} `json:"mcp"`
	}
	if data, err = hujson.Standardize(bytes.TrimPrefix(data, []byte("\ufeff"))); err == nil { // these programs allow comments in it, and a byte order mark
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read as JSON with tool servers", path) // the library repeats its input, which holds tokens
	}
	from, _ := filepath.Abs(path) // fails only where the current directory is gone
	w := words{home: filepath.Dir(from), env: env}
	if of := filepath.Base(w.home); of == ".vscode" || of == ".cursor" {
		w.home = filepath.Dir(w.home) // the project's
	}
	for _, entries := range []map[string]entry{file.MCPServers, file.Servers, file.MCP.Servers} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if s, ok := w.server(name, from, entries[name]); ok {
				all = append(all, s)
			} else {
				notes = append(notes, fmt.Sprintf("%s: %s is left out: it is switched off there, or has neither a command nor a url", path, name))
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(w.unset)) {
		notes = append(notes, fmt.Sprintf("set %s before nod starts: %s wants it", v, path))
	}
	return all, notes, nil
}

// words turns the variables of those programs into nod's.
type words struct {
	home  string // the directory of the project
	env   config.Getenv
	unset map[string]bool
}

func (w *words) server(name, from string, e entry) (s server, ok bool) {
	if e.Disabled || (e.Command == "") == (e.URL == "") {
		return s, false
	}
	s = server{name: name, from: from, url: w.of(e.URL), env: w.each(e.Env), headers: w.each(e.Headers), dir: w.of(e.Cwd), kind: e.Type}
	if e.Command != "" {
		s.command = []string{w.of(e.Command)}
		for _, a := range e.Args {
			s.command = append(s.command, w.of(a))
		}
	}
	return s, true
}

func (w *words) each(in map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		out[k] = w.of(v)
	}
	return out
}

var (
	placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)
	noName      = regexp.MustCompile(`[^A-Za-z0-9_]+`)
)

// of writes ${workspaceFolder} and ${userHome} out, and makes ${env:NAME}, ${NAME:-default} and the questions that VS Code asks, ${input:name},
// to variables of the environment. nod reads them when it starts.
func (w *words) of(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		inside := p[2 : len(p)-1]
		kind, name, two := strings.Cut(inside, ":")
		switch {
		case inside == "workspaceFolder":
			return w.home
		case inside == "userHome":
			home, _ := w.env("HOME")
			return home
		case kind == "input":
			inside = strings.ToUpper(noName.ReplaceAllString(name, "_"))
		case kind == "env":
			inside = noName.ReplaceAllString(name, "_")
		case two:
			inside = noName.ReplaceAllString(kind, "_")
		default:
			inside = noName.ReplaceAllString(inside, "_")
		}
		if v, _ := w.env(inside); v == "" {
			if w.unset == nil {
				w.unset = map[string]bool{}
			}
			w.unset[inside] = true
		}
		return "${" + inside + "}"
	})
}

var noServer = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// named gives each server a name that nod takes, and drops what stands in two files alike.
func named(all []server) (out []server) {
	taken := map[string]bool{"workbench": true} // the built-in one's
	for _, s := range all {
		if slices.ContainsFunc(out, func(o server) bool {
			return o.line() == s.line() && maps.Equal(o.env, s.env) && maps.Equal(o.headers, s.headers)
		}) {
			continue
		}
		name := strings.Trim(noServer.ReplaceAllString(s.name, "-"), "-.")
		name = cmp.Or(name[:min(len(name), 60)], "server")
		s.name = name
		for n := 2; taken[strings.ToLower(s.name)]; n++ {
			s.name = fmt.Sprintf("%s-%d", name, n)
		}
		taken[strings.ToLower(s.name)] = true
		out = append(out, s)
	}
	return out
}
