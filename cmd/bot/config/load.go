package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v4"
)

// maxFile bounds what is read as configuration. A file of a megabyte is no configuration.
const maxFile = 1 << 20

// Load reads the file at path, if path is not empty, puts the environment over it and checks the whole. A returned
// error of type [Problems] has every mistake.
func Load(path string, env Getenv) (Config, error) {
	if path == "" {
		return Parse("environment", nil, env)
	}
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return parse(path, full, data, env)
}

// Parse is [Load] with the file's content at hand; name is what problems call it.
func Parse(name string, data []byte, env Getenv) (Config, error) {
	return parse(name, "", data, env)
}

func parse(name, file string, data []byte, env Getenv) (Config, error) {
	c := Default()
	c.File = file
	r := &report{file: name, set: map[string]origin{}}
	d := &decoder{r, env}
	root, err := compose(name, data)
	if err != nil {
		r.found = append(r.found, *err)
	} else if root != nil {
		d.value(root, reflect.ValueOf(&c).Elem(), "")
	}
	d.environment(reflect.ValueOf(&c).Elem(), "")
	c.settle(r, env)
	c.check(r)
	return c, r.err()
}

// compose parses the file's one document.
func compose(name string, data []byte) (*yaml.Node, *Problem) {
	if len(data) > maxFile {
		return nil, &Problem{File: name, Say: "is larger than 1 MiB; this cannot be a configuration"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, broken(name, data, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, &Problem{File: name, Line: second.Line, Say: "a second document starts here; a configuration is one"}
	case !errors.Is(err, io.EOF):
		return nil, broken(name, data, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// quoted is where the YAML library repeats its input, which may be a secret.
var quoted = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`")

// unquoted leaves only YAML's own marks, which the library names where it misses one.
func unquoted(q string) string {
	switch q {
	case "','", "']'", "'}'", "'-'", "':'":
		return q
	}
	return "…"
}

// broken makes a problem of the YAML library's error, without the input it quotes: a password that starts with * is
// read as an alias, and the library names it.
func broken(name string, data []byte, err error) *Problem {
	var e *yaml.LoadError
	p := &Problem{File: name, Say: "this is not YAML"}
	if !errors.As(err, &e) {
		return p
	}
	p.Line = e.Mark.Line
	if strings.Contains(e.Message, "cannot start any token") && tabbed(data, p.Line) {
		p.Say = "this line is indented with a tab; YAML wants spaces"
		return p
	}
	if strings.Contains(e.Message, "anchor") {
		p.Say = "a value that starts with * or & must stand in quotes"
		return p
	}
	if say := strings.TrimSpace(quoted.ReplaceAllStringFunc(e.Message, unquoted)); say != "" {
		p.Say = "this is not YAML: " + say
	}
	return p
}

// tabbed reports whether a line's indentation has a tab.
func tabbed(data []byte, line int) bool {
	for text := range bytes.Lines(data) {
		if line--; line == 0 {
			blank := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
			return bytes.IndexByte(blank, '\t') >= 0
		}
	}
	return false
}

// environment puts variables over fields that name one. An empty variable counts as not set, because compose files pass those on.
func (d *decoder) environment(v reflect.Value, field string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		path := join(field, name)
		env := f.Tag.Get("env")
		if name == "-" {
			path = env
		}
		if env != "" {
			if text, _ := d.env(env); text != "" {
				d.set[path] = origin{file: env}
				if err := set(v.Field(i), text, false); err != nil {
					d.add(path, "%v", err)
				}
			}
		} else if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == reflect.TypeFor[Config]().PkgPath() {
			d.environment(v.Field(i), path)
		}
	}
}

// Misspelt warns of variables that are nearly one of ours, and so do nothing. names are those of the environment.
func Misspelt(names []string) (out []string) {
	known := append(variables(reflect.TypeFor[Config]()), "BOT_CONFIG")
	for _, name := range names {
		if name = strings.ToUpper(name); slices.Contains(known, name) {
			continue
		}
		if field, ok := strings.CutPrefix(name, "BOT_"); ok && slices.ContainsFunc(yamlFields(reflect.TypeFor[Config]()), func(f structField) bool { return strings.EqualFold(f.name, field) }) {
			out = append(out, fmt.Sprintf("the environment variable %s is none that nod knows: %s stands in the file", name, strings.ToLower(field)))
			continue
		}
		for _, k := range known {
			if prefix, _, _ := strings.Cut(k, "_"); strings.HasPrefix(name, prefix+"_") && levenshtein.ComputeDistance(name, k) <= 2 {
				out = append(out, fmt.Sprintf("the environment variable %s is none that nod knows; did you mean %s?", name, k))
			}
		}
	}
	return out
}

// variables are the environment's names for a struct's fields.
func variables(t reflect.Type) (out []string) {
	for f := range t.Fields() {
		if env := f.Tag.Get("env"); env != "" {
			out = append(out, env)
		} else if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() {
			out = append(out, variables(f.Type)...)
		}
	}
	return out
}

// settle drops empty keys, which must never match, and finds the home directory.
func (c *Config) settle(r *report, env Getenv) {
	c.AdminSessionKeys = nonEmpty(c.AdminSessionKeys)
	c.peopleAmongKeys(r)
	c.Web.SessionKeys = slices.DeleteFunc(c.Web.SessionKeys, func(k SessionKey) bool { return k == SessionKey{} })
	for name, s := range c.MCP.Servers {
		c.MCP.Servers[name] = s.settle(r, name, env)
	}
	if c.DataDir == "~" || strings.HasPrefix(c.DataDir, "~/") {
		home, _ := env("HOME")
		if home == "" {
			r.add("data_dir", "~ needs HOME to be set; name the directory in full")
			return
		}
		c.DataDir = filepath.Join(home, c.DataDir[1:])
	}
}

// settle puts a command and its arguments together, and finds the home directory in paths.
func (s Server) settle(r *report, name string, env Getenv) Server {
	field := join("mcp.servers", name)
	if len(s.Args) > 0 {
		if len(s.Command) == 0 && !r.has(field+".command") {
			r.add(field+".args", "arguments of which command? Set command to the program")
		}
		s.Command, s.Args = slices.Concat(s.Command, s.Args), nil
		maskArgs(s.Command)
	}
	home, _ := env("HOME")
	at := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
			return filepath.Join(home, rest)
		}
		return path
	}
	s.Dir = at(s.Dir)
	for i := range s.Paths {
		s.Paths[i].Path = at(s.Paths[i].Path)
	}
	return s
}

// peopleAmongKeys moves those of ADMIN_SESSION_KEYS that name a person or a role to the admins: the list is one for both (R110). As a key of
// the web API such a name would let in everybody who can read it.
func (c *Config) peopleAmongKeys(r *report) {
	var keys []Secret
	for _, k := range c.AdminSessionKeys {
		platform, _, named := strings.Cut(strings.ToLower(k.Reveal()), ":")
		if !named || platform != "slack" && platform != "discord" {
			keys = append(keys, k)
			continue
		}
		switch u, err := parseUser(k.Reveal()); {
		case err != nil:
			r.found = append(r.found, Problem{File: "ADMIN_SESSION_KEYS", Field: "admins", Say: err.Error()})
		case !slices.Contains(c.Admins, u):
			c.Admins = append(c.Admins, u)
		}
	}
	c.AdminSessionKeys = keys
}

func nonEmpty(in []Secret) []Secret {
	var out []Secret
	for _, s := range in {
		if s = Secret(strings.TrimSpace(s.Reveal())); s != "" {
			out = append(out, s)
		}
	}
	return out
}
