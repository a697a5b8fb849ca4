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
	return Parse(path, data, env)
}

// Parse is [Load] with the file's content at hand; name is what problems call it.
func Parse(name string, data []byte, env Getenv) (Config, error) {
	c := Default()
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
		return nil, broken(name, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, &Problem{File: name, Line: second.Line, Say: "a second document starts here; a configuration is one"}
	case !errors.Is(err, io.EOF):
		return nil, broken(name, err)
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
func broken(name string, err error) *Problem {
	var e *yaml.LoadError
	p := &Problem{File: name, Say: "this is not YAML"}
	if !errors.As(err, &e) {
		return p
	}
	p.Line = e.Mark.Line
	if strings.Contains(e.Message, "anchor") {
		p.Say = "a value that starts with * or & must stand in quotes"
		return p
	}
	if say := strings.TrimSpace(quoted.ReplaceAllStringFunc(e.Message, unquoted)); say != "" {
		p.Say = "this is not YAML: " + say
	}
	return p
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

// settle drops empty keys, which must never match, and finds the home directory.
func (c *Config) settle(r *report, env Getenv) {
	c.AdminSessionKeys = nonEmpty(c.AdminSessionKeys)
	c.peopleAmongKeys(r)
	c.Web.SessionKeys = nonEmpty(c.Web.SessionKeys)
	if c.DataDir == "~" || strings.HasPrefix(c.DataDir, "~/") {
		home, _ := env("HOME")
		if home == "" {
			r.add("data_dir", "~ needs HOME to be set; name the directory in full")
			return
		}
		c.DataDir = filepath.Join(home, c.DataDir[1:])
	}
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
