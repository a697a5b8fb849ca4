// Package described compares JSON with the schemas that a platform publishes.
package described

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schemas stand at places in a document. They are safe for concurrent use.
type Schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	at       map[string]*jsonschema.Schema // by where they stand
}

// New takes a document, which stays as it is.
func New(doc any) (*Schemas, error) {
	s := &Schemas{compiler: jsonschema.NewCompiler(), at: map[string]*jsonschema.Schema{}}
	s.compiler.AssertFormat()
	return s, s.compiler.AddResource(base, doc)
}

// Unpack reads an object of JSON that gzip packed.
func Unpack(packed []byte) (map[string]any, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(r)
	if err != nil {
		return nil, err
	}
	object, is := v.(map[string]any)
	if !is {
		return nil, errors.New("no object")
	}
	return object, nil
}

// JSON reads a value to be compared.
func JSON(text []byte) (any, error) { return jsonschema.UnmarshalJSON(bytes.NewReader(text)) }

const base = "platform.json"

// Faults are what the schema at a place says against a value, each with where it was found.
func (s *Schemas) Faults(where string, at []string, v any) []string {
	schema, err := s.schema(at)
	if err == nil {
		err = schema.Validate(v)
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		if err != nil {
			return []string{where + ": " + err.Error()}
		}
		return nil
	}
	out := reasons(wrong)
	for i := range out {
		out[i] = where + ": " + out[i]
	}
	return out
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func (s *Schemas) schema(at []string) (*jsonschema.Schema, error) {
	where := base + "#"
	for _, part := range at {
		where += "/" + url.PathEscape(escape.Replace(part))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.at[where]; known != nil {
		return known, nil
	}
	schema, err := s.compiler.Compile(where)
	s.at[where] = schema
	return schema, err
}

var english = message.NewPrinter(language.English)

// reasons are the innermost causes, without the values; of alternatives, those of the one that comes closest.
func reasons(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind.LocalizedString(english)}
	}
	alternatives := false
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		alternatives = true
	}
	var out []string
	for _, cause := range e.Causes {
		found := reasons(cause)
		if !alternatives {
			out = append(out, found...)
		} else if out == nil || distance(found) < distance(out) {
			out = found
		}
	}
	return out
}

// distance is how far a value is from an alternative: of another type is farthest, and who finds fault deep inside took the rest.
func distance(reasons []string) int {
	far, deepest := len(reasons), 0
	for _, r := range reasons {
		where, _, _ := strings.Cut(r, ": ")
		deepest = max(deepest, strings.Count(where, "/"))
		if strings.Contains(r, "type: value must be") {
			far += 1000
		}
	}
	return far - 10*deepest
}
