package config

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v4"
)

// maxFile bounds what is read as configuration. A file of a megabyte is no configuration.
const maxFile = 1 << 20

// Load reads the file at path, or [DefaultFile] where path is empty and it is there, puts the environment over it and checks the whole. A
// returned error of type [Problems] has every mistake.
func Load(path string, env Getenv) (Config, error) {
	if path == "" {
		switch found, err := find(); {
		case err != nil:
			return Config{}, err
		case found == "":
			return Parse("environment", nil, env)
		default:
			path = found
		}
	}
	data, err := readFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return ParseAt(path, data, env)
}

// ParseAt is [Load] with the content that the file at path has, or will have.
func ParseAt(path string, data []byte, env Getenv) (Config, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return parse(path, full, data, env)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Parse is [Load] with the file's content at hand; name is what problems call it.
func Parse(name string, data []byte, env Getenv) (Config, error) {
	return parse(name, "", data, env)
}

func parse(name, file string, data []byte, env Getenv) (Config, error) {
	c := Default()
	c.File = file
	r := &File{file: name, env: env, set: map[string]Problem{}}
	if len(data) > maxFile {
		r.found = Problems{{File: name, Say: "is larger than 1 MiB; this cannot be a configuration"}}
	} else {
		r.document(data, reflect.ValueOf(&c).Elem())
	}
	r.environment(&c)
	c.normalize(r)
	c.check(r)
	for name, s := range sorted(c.MCP.Servers) {
		if s.Disabled { // its rules may stay
			r.notes = append(r.notes, r.problemOf(join("mcp.servers", name), "is left out: it is disabled"))
			delete(c.MCP.Servers, name)
		}
	}
	c.Notes = r.notes
	return c, r.Err()
}

// ReadStrictly reads a file of another kind into a struct by its yaml tags, as strictly as a configuration: each mistake has its line and
// field, and all are told at once. The entries of its lists are counted from 1. empty: nothing stands in it.
func ReadStrictly(name string, data []byte, into any) (f *File, empty bool) {
	f = &File{file: name, set: map[string]Problem{}, verbatim: true, first: 1}
	return f, !f.document(data, reflect.ValueOf(into).Elem())
}

// document reads the file's one document into v. It reports whether there is something in it.
func (r *File) document(data []byte, v reflect.Value) bool {
	root, wrong := compose(r.file, data)
	if wrong != nil {
		r.found = append(r.found, *wrong)
	} else if root != nil {
		r.value(root, v, "")
	}
	return root != nil || wrong != nil
}

// twoEscapes are one character of JSON, and none of YAML.
var twoEscapes = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)

// compose parses the file's one document.
func compose(name string, data []byte) (*yaml.Node, *Problem) {
	if json.Valid(data) {
		data = twoEscapes.ReplaceAllFunc(data, func(b []byte) []byte { return []byte(gjson.Parse(`"` + string(b) + `"`).Str) })
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&second); err == nil {
			return nil, &Problem{File: name, Line: second.Line, Say: "a second document starts here; there can be only one"}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, broken(name, data, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var (
	quoted    = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`") // where the YAML library repeats its input, which may be a secret
	yamlMarks = []string{"','", "']'", "'}'", "'-'", "':'"}      // what it misses somewhere, and may be named
	tabbed    = regexp.MustCompile(`^ *\t`)
)

// broken makes a problem of the YAML library's error, without the input it quotes: a password that starts with * is
// read as an alias, and the library names it.
func broken(name string, data []byte, err error) *Problem {
	p := &Problem{File: name, Say: "this is not YAML"}
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return p
	}
	p.Line = e.Mark.Line
	lines := bytes.Split(data, []byte("\n"))
	say := strings.TrimSpace(quoted.ReplaceAllStringFunc(e.Message, func(q string) string {
		if slices.Contains(yamlMarks, q) {
			return q
		}
		return "…"
	}))
	switch {
	case strings.Contains(e.Message, "cannot start any token") && p.Line > 0 && p.Line <= len(lines) && tabbed.Match(lines[p.Line-1]):
		p.Say = "this line is indented with a tab; YAML wants spaces"
	case strings.Contains(e.Message, "cannot start any token"):
		p.Say = "a value that starts with @, % or ` must stand in quotes"
	case strings.Contains(e.Message, "escape character"), strings.Contains(e.Message, "hexadecimal"):
		p.Say = `\ has a meaning in double quotes: write a path in single ones, as 'C:\Users\ana'`
	case strings.Contains(e.Message, "anchor"):
		p.Say = "a value that starts with * or & must stand in quotes"
	case say != "":
		p.Say += ": " + say
	}
	return p
}

// environment puts variables over fields that name one. An empty variable counts as not set, because compose files pass those on.
func (r *File) environment(c *Config) {
	eachVariable(reflect.ValueOf(c).Elem(), "", func(name, field string, v reflect.Value) {
		if written, under := Variable(r.env, name); written != "" {
			r.set[field] = Problem{File: under}
			if quoted.FindString(written) == written {
				r.Add(field, "stands in quotation marks, which would be a part of it: docker's --env-file, say, takes none away; leave them out")
			} else if err := setValue(v, written, false); err != nil {
				r.Add(field, "%v", err)
			}
		}
	})
}

// eachVariable calls each with every variable of the environment that goes over a field, and with that field. What stands in no file has its
// variable's name for a field.
func eachVariable(v reflect.Value, field string, each func(name, field string, v reflect.Value)) {
	for f, at := range v.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		env, of := f.Tag.Get("env"), join(field, name)
		if name == "-" {
			of = env
		}
		switch {
		case env != "":
			each(env, of, at)
		case f.Type.Kind() == reflect.Struct:
			eachVariable(at, of, each)
		}
	}
}

// Misspelt warns of variables that are nearly one of ours, and so do nothing. names are those of the environment.
func Misspelt(names []string) (out []string) {
	var known []string
	eachVariable(reflect.ValueOf(Config{}), "", func(name, _ string, _ reflect.Value) { known = append(known, name) })
	known = append(known, "NOD_CONFIG")
	for _, name := range names {
		name = strings.ToUpper(name)
		now := name
		if rest, ok := strings.CutPrefix(name, before); ok {
			now = prefix + rest
		}
		if slices.Contains(known, now) {
			continue
		}
		if field, ok := strings.CutPrefix(now, prefix); ok && slices.ContainsFunc(yamlFields(reflect.TypeFor[Config]()), func(f structField) bool { return strings.EqualFold(f.name, field) }) {
			out = append(out, fmt.Sprintf("the environment variable %s is none that nod knows: %s stands in the file", name, strings.ToLower(field)))
			continue
		}
		for _, k := range known {
			if of, _, _ := strings.Cut(k, "_"); strings.HasPrefix(now, of+"_") && levenshtein.ComputeDistance(now, k) <= 2 {
				out = append(out, fmt.Sprintf("the environment variable %s is none that nod knows; did you mean %s?", name, k))
			}
		}
	}
	return out
}

// normalize finds files from wherever they are named, and brings what may be written in several ways, as other programs' files do, to one.
func (c *Config) normalize(r *File) {
	c.peopleAmongKeys(r)
	for i := range c.Web.OIDC {
		c.Web.OIDC[i].Page = cmp.Or(c.Web.OIDC[i].Page, c.Web.OIDC[0].Page)
	}
	home, _ := r.env("HOME")
	at := func(path string) string {
		if rest, ok := strings.CutPrefix(path+"/", "~/"); ok && home != "" {
			return filepath.Join(home, rest)
		}
		return path
	}
	for name, s := range c.MCP.Servers {
		field := join("mcp.servers", name)
		if len(s.Args) > 0 {
			r.refuse(len(s.Command) == 0 && !r.Has(field+".command"), field+".args", "arguments of which command? Set command to the program")
			s.Command, s.Args = slices.Concat(s.Command, s.Args), nil
			maskArgs(s.Command)
		}
		s.Dir = at(s.Dir)
		for i := range s.Paths {
			s.Paths[i].Path = at(s.Paths[i].Path)
		}
		c.MCP.Servers[name] = s
	}
	for field, path := range sorted(map[string]*string{"data_dir": &c.DataDir, "audit.key": &c.Audit.SignWith, "reputation.file": &c.Reputation.File}) {
		*path = at(*path)
		r.refuse(strings.HasPrefix(*path, "~"), field, "~ needs HOME to be set, and a / behind it; name the path in full")
		if *path != "" {
			*path, _ = filepath.Abs(*path) // what servers may reach is compared with it
		}
	}
}

// peopleAmongKeys moves those of ADMIN_SESSION_KEYS that name a person or a role to the admins: the list is one for both (R110). As a key of
// the web API such a name would let in everybody who can read it.
func (c *Config) peopleAmongKeys(r *File) {
	c.AdminSessionKeys = slices.DeleteFunc(c.AdminSessionKeys, func(k Secret) bool {
		platform, _, _ := strings.Cut(strings.ToLower(k.Reveal()), ":")
		if platform != "slack" && platform != "discord" && !strings.HasPrefix(k.Reveal(), "web::") {
			return false
		}
		switch u, err := parseUser(k.Reveal()); {
		case err != nil:
			r.found = append(r.found, Problem{File: "ADMIN_SESSION_KEYS", Field: "admins", Say: err.Error()})
		case !slices.Contains(c.Admins, u):
			c.Admins = append(c.Admins, u)
		}
		return true
	})
}
