// Package setup is the command nod init: it writes the first nod.yaml.
//
// It asks three things where a person types, and takes flags where nobody does: which model, which tool servers of other programs' files
// (import.go reads those), and whether tools that only read run without a question. The file has words beside its fields, holds no key of the
// model, and is checked as every configuration before it is written. It never replaces a file.
package setup

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// answers are what the flags say, or a person.
type answers struct {
	model, baseURL, keyEnv string
	files                  []string // to take servers over from
	all                    bool     // take over all that are found
	reads                  bool     // tools that only read run unasked
	out                    string
}

// Commands is nod init. Codes: 0 the file is written; 1 it is not; 2 what was typed is wrong.
func Commands(p *command.Process) *cobra.Command {
	a := &answers{}
	c := p.Command("init", "write a first nod.yaml: the model, the tool servers that other programs have, and what may run unasked", nil)
	c.RunE = p.Run(func(p command.Process, _ []string) int {
		asked := p.Terminal && !slices.ContainsFunc([]string{"model", "base-url", "key-env", "import", "import-all", "reads"}, c.Flags().Changed)
		return a.run(p, asked)
	})
	c.Long = "Write a first nod.yaml. At a terminal and without flags it asks; otherwise the flags are the answers. A file that is there is never changed."
	c.Flags().StringVar(&a.model, "model", "", "the model's `NAME`; without one the scripted demo answers")
	c.Flags().StringVar(&a.baseURL, "base-url", "", "`URL` of a server with Chat Completions; otherwise OpenAI's own")
	c.Flags().StringVar(&a.keyEnv, "key-env", "OPENAI_API_KEY", "the environment `VARIABLE` that holds the model's key")
	c.Flags().StringSliceVar(&a.files, "import", nil, "take over the tool servers of `FILE`: an mcp.json of Claude, Cursor or VS Code; may be given several times")
	c.Flags().BoolVar(&a.all, "import-all", false, "take over the tool servers of all such files in their usual places")
	c.Flags().BoolVar(&a.reads, "reads", false, "tools that only read, by their server's word, run without a question")
	c.Flags().StringVar(&a.out, "out", config.DefaultFile, "write to `FILE`, which only its owner may read")
	return c
}

func (a *answers) run(p command.Process, asked bool) int {
	if _, err := os.Lstat(a.out); err == nil {
		return p.Refuse(command.Fail, fmt.Errorf("%s is there already, and nod init changes nothing; -out names another file", a.out))
	}
	servers, notes, err := a.servers(p.Env, asked)
	if err != nil {
		return p.Refuse(command.Usage, err)
	}
	if asked {
		servers = a.ask(p, servers)
	}
	if !envName.MatchString(a.keyEnv) {
		return p.Refuse(command.Usage, errors.New("-key-env: want the name of an environment variable, such as OPENAI_API_KEY: the key itself belongs in no file"))
	}
	text, refused := a.text(servers, p.Env)
	if _, err := config.ParseAt(a.out, text, anySet(p.Env)); err != nil {
		return p.Refuse(command.Usage, fmt.Errorf("with these answers the file would be wrong, so it is not written:\n%w", err))
	}
	if err := write(a.out, text); err != nil {
		return p.Refuse(command.Fail, err)
	}
	for _, n := range append(notes, refused...) {
		fmt.Fprintln(p.Stderr, "note:", command.OneLine(n))
	}
	a.next(p, len(servers))
	return command.OK
}

// servers are those of the named files, or all that can be found, to be shown or taken.
func (a *answers) servers(env config.Getenv, asked bool) (all []server, notes []string, err error) {
	for _, f := range a.files {
		of, also, err := read(f, env)
		if err != nil {
			return nil, nil, fmt.Errorf("-import: %w", err)
		}
		all, notes = append(all, of...), append(notes, also...)
	}
	if a.all || asked {
		of, also := found(env)
		all, notes = append(all, of...), append(notes, also...)
	}
	return named(all), notes, nil
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// ask puts the questions. No answer is the one in brackets.
func (a *answers) ask(p command.Process, servers []server) []server {
	lines := bufio.NewScanner(cmp.Or[io.Reader](p.Stdin, strings.NewReader("")))
	line := func(question, otherwise string) string {
		fmt.Fprintf(p.Stdout, "%s [%s]: ", question, otherwise)
		if !lines.Scan() {
			fmt.Fprintln(p.Stdout)
			return otherwise
		}
		return cmp.Or(strings.TrimSpace(lines.Text()), otherwise)
	}
	yes := func(question string) bool { return strings.HasPrefix(strings.ToLower(line(question, "no")), "y") }

	const demo = "none: a scripted demo"
	if a.model = line("The model's name, such as gpt-5", demo); a.model == demo {
		a.model = ""
	} else {
		const own = "OpenAI's own"
		if a.baseURL = line("The address of its server, with Chat Completions", own); a.baseURL == own {
			a.baseURL = ""
		}
		a.keyEnv = line("The environment variable that holds its key", a.keyEnv)
	}
	if len(servers) > 0 {
		fmt.Fprintln(p.Stdout, "\nOther programs on this machine have these tool servers. nod would start them:")
		for _, s := range servers {
			fmt.Fprintf(p.Stdout, "  %-16s %s   (%s)\n", s.name, command.OneLine(s.line()), command.OneLine(s.from))
		}
		if !yes("Take them over? (y/n)") {
			servers = nil
		}
	}
	if len(servers) > 0 {
		a.reads = yes("May tools that only read, by their server's word, run without a question? Changes ask. (y/n)")
	}
	return servers
}

// text is the file. refused says what it could not grant.
func (a *answers) text(servers []server, env config.Getenv) (text []byte, refused []string) {
	var b bytes.Buffer
	b.WriteString(`# The configuration of nod, written by nod init. nod reads it when it starts in this directory, and elsewhere with -config.
#   nod config check   names every mistake with its line
#   nod doctor         tries all that it names
# Every field is explained in docs/configuration.md, and stands in deploy/nod.yaml.

`)
	if a.model == "" && a.baseURL == "" {
		b.WriteString("# Without a model the scripted demo answers.\n# model: {name: \"\", base_url: \"\", api_key: \"${OPENAI_API_KEY}\"}\n")
	} else {
		fmt.Fprintf(&b, "model:\n  name: %s\n  base_url: %s  # any server with Chat Completions; empty is OpenAI's own\n  api_key: %s  # the variable, so that the key lies in no file\n",
			quote(config.EscapeVariables(a.model)), quote(config.EscapeVariables(a.baseURL)), quote("${"+a.keyEnv+"}"))
	}
	if len(servers) == 0 {
		b.WriteString(`
# Tool servers, as their READMEs have it. Their tools ask before they run, until somebody says otherwise.
# mcpServers:
#   files:
#     command: npx
#     args: [-y, "@modelcontextprotocol/server-filesystem", /srv/data]
#     paths: [/srv/data]   # all of your files that it can reach
#     trusted: true        # its tools that only read, by its own word, run without a question
`)
		return b.Bytes(), nil
	}
	b.WriteString("\n# Every tool asks before it runs, until somebody says otherwise")
	if a.reads {
		b.WriteString("; those that only read, by the word of a trusted server, do not")
	}
	b.WriteString(".\nmcp:\n  servers:\n")
	for _, s := range servers {
		fmt.Fprintf(&b, "    # from %s\n    %s:\n", command.OneLine(s.from), quote(s.name))
		refused = append(refused, a.entry(&b, s, env)...)
	}
	return b.Bytes(), refused
}

// entry writes one server.
func (a *answers) entry(b *bytes.Buffer, s server, env config.Getenv) (refused []string) {
	if s.url != "" {
		fmt.Fprintf(b, "      url: %s\n", quote(s.url))
	} else {
		fmt.Fprintf(b, "      command: %s\n", quote(s.command))
		var reach []string
		for _, arg := range s.command[1:] {
			switch info, err := os.Stat(arg); {
			case err != nil || !filepath.IsAbs(arg) || strings.HasPrefix(arg, "/usr/"):
			case a.own(arg, env):
				refused = append(refused, fmt.Sprintf("%s cannot reach %s, because what nod keeps for itself lies in it: give it a part of that, in paths and in its command", s.name, arg))
			case info.IsDir() || info.Mode().IsRegular():
				reach = append(reach, arg)
			}
		}
		if len(reach) > 0 {
			fmt.Fprintf(b, "      paths: %s  # all of your files that it can reach; {path: …, read_only: true} is less\n", quote(reach))
		}
	}
	switch {
	case s.dir == "":
	case a.own(s.dir, env):
		refused = append(refused, fmt.Sprintf("%s starts in a directory of its own: what nod keeps for itself lies in %s", s.name, s.dir))
	default:
		fmt.Fprintf(b, "      dir: %s\n", quote(s.dir))
	}
	table(b, "env", s.env)
	table(b, "headers", s.headers)
	if s.kind == "sse" {
		b.WriteString("      type: sse\n")
	}
	if a.reads {
		b.WriteString("      trusted: true  # its own word about its tools is believed\n")
	}
	return refused
}

func table(b *bytes.Buffer, field string, of map[string]string) {
	if len(of) > 0 {
		fmt.Fprintf(b, "      %s:\n", field)
	}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(b, "        %s: %s\n", quote(k), quote(of[k]))
	}
}

// own reports whether a directory holds what nod keeps for itself, or lies in it: no server may reach that.
func (a *answers) own(path string, env config.Getenv) bool {
	file, _ := filepath.Abs(a.out) // what goes wrong here does so when the whole file is read, before it is written
	c, _ := config.Parse("environment", nil, env)
	return confine.Within(file, path) || confine.Within(c.DataDir, path) || confine.Within(path, c.DataDir)
}

// next says what to do now.
func (a *answers) next(p command.Process, servers int) {
	fmt.Fprintf(p.Stdout, "%s is written, with %s.", a.out, command.Count(servers, "tool server", "tool servers"))
	if v, _ := p.Env(a.keyEnv); v == "" && a.model+a.baseURL != "" {
		fmt.Fprintf(p.Stdout, " Set %s to the model's key.", a.keyEnv)
	}
	at := ""
	if a.out != config.DefaultFile {
		at = " -config " + a.out
	}
	fmt.Fprintf(p.Stdout, " Then:\n  nod doctor%s\n  nod%s\n", at, at)
}

// write makes the file, for its owner alone: what other programs' files hold may be tokens. It replaces none.
func write(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the person names it
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// quote writes a text, or a list of texts, as JSON does, which YAML reads.
func quote(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts can be written
	return strings.TrimSpace(b.String())
}

// anySet has a value for every variable, because those that the file names are to be set later.
func anySet(env config.Getenv) config.Getenv {
	return func(name string) (string, bool) {
		v, _ := env(name)
		return v, true
	}
}
