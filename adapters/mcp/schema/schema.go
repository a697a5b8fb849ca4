// Package schema compiles the input schemas of tools and checks arguments against them. A schema is a stranger's: it must not make us load
// anything, nor work for long, nor end the program.
//
// Compiling has a [Quota] for all tools of one server. A check counts its steps and is given up after many: the answer is then
// [agent.ErrUnchecked], which says that nobody knows whether the arguments fit.
//
// Start reading at [Quota.Compile] and [Schema.Check]. steps.go counts the steps and says which patterns are compiled. It imports the JSON
// Schema library, and of nod only how numbers and lines are written; it knows no MCP.
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/text"
)

// The limits.
const (
	MaxBytes       = 256 << 10 // bytes of a tool's input schema
	maxDepth       = 64        // objects and arrays in one another in it; each takes the compiler longer than the one before
	maxNodes       = 5_000     // objects and arrays in it
	maxCompile     = 5_000_000 // what compiling all schemas of a server may cost: about so many microseconds
	maxSteps       = 100_000   // steps of one check of arguments: some tenths of a second
	maxPatternText = 4 << 10   // bytes of one pattern
	maxPattern     = 10_000    // characters and ranges of them in one compiled pattern, about
	maxPatterns    = 500_000   // the same in all patterns of a server
)

// schemaURL names a tool's schema to the compiler. It resolves nowhere.
const schemaURL = "tool:///input"

// dialects are the versions of JSON Schema that the compiler knows by heart.
var dialects = map[string]bool{
	"json-schema.org/draft-04/schema": true, "json-schema.org/draft-06/schema": true, "json-schema.org/draft-07/schema": true,
	"json-schema.org/draft/2019-09/schema": true, "json-schema.org/draft/2020-12/schema": true,
}

var english = message.NewPrinter(language.English)

// Schema is a tool's input schema. Validation takes exponential time and memory where a schema or the arguments are made
// for it, so its steps are counted, and one that needs too many is given up.
type Schema struct {
	root   *jsonschema.Schema // nil: it is not checked
	cost   int                // of compiling it, see Quota
	memory int                // of its patterns, see Quota

	mu   sync.Mutex // one check at a time
	left int        // steps that are left to it
}

// Quota is what all the schemas of one server may cost.
type Quota struct {
	cost   int                // of compiling them; about as many microseconds
	memory int                // of their patterns, see weigh
	known  map[string]*Schema // read before, by their JSON
}

// NewQuota is a whole quota. known are schemas that were read before, by their JSON.
func NewQuota(known map[string]*Schema) *Quota {
	return &Quota{cost: maxCompile, memory: maxPatterns, known: known}
}

// Compile reads a tool's input schema. Patterns that are large, or in a dialect of regular expressions that Go lacks, match everything: the
// server still checks them.
func (q *Quota) Compile(raw json.RawMessage) (sc *Schema, err error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("it has %s bytes, more than %s", text.Number(len(raw)), text.Number(MaxBytes))
	}
	sc, ok := q.known[string(raw)]
	if !ok {
		if sc, err = q.read(raw); err != nil {
			return nil, err
		}
	}
	if sc.cost > q.cost {
		return nil, errors.New("it would take too long to read, with those of the tools before it")
	}
	q.cost -= sc.cost
	q.memory -= sc.memory
	return sc, nil
}

func (q *Quota) read(raw json.RawMessage) (sc *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // a stranger's schema must not end the program
			sc, err = nil, errors.New("it cannot be read")
		}
	}()
	doc, err := unmarshal(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	sc = &Schema{}
	dynamic, err := sc.measure(root)
	if err != nil || sc.cost > q.cost {
		return sc, err // Compile refuses what costs too much
	}
	compiled, err := sc.compile(root, q.memory)
	if err != nil {
		return nil, err
	}
	all, known := map[*jsonschema.Schema]bool{}, map[*jsonschema.Schema]bool{}
	sc.count(compiled, all)
	for s := range all {
		dynamic = dynamic || circular(s, known)
	}
	if dynamic {
		return sc, nil // which schemas a check meets shows only on its way: its steps cannot be counted
	}
	compiled.Required = slices.DeleteFunc(compiled.Required, func(name string) bool { // the server fills it in
		p := compiled.Properties[name]
		return p != nil && p.Default != nil
	})
	sc.root = compiled
	return sc, nil
}

// measure sums up what compiling will cost. dynamic says that what a part refers to depends on the way to it.
func (sc *Schema) measure(root any) (dynamic bool, err error) {
	nodes, deepest := 0, 0
	var walk func(v any, depth, path int)
	walk = func(v any, depth, path int) { // path is the length of the names on the way
		m, object := v.(map[string]any)
		if _, list := v.([]any); !object && !list {
			return
		}
		nodes++
		deepest = max(deepest, depth)
		sc.cost += 16 + depth + path/8
		_, anchor := m["$dynamicAnchor"]
		_, older := m["$recursiveAnchor"]
		dynamic = dynamic || anchor || older
		for name, e := range members(v) {
			walk(e, depth+1, path+1+len(name))
		}
	}
	walk(root, 1, 0)
	switch {
	case deepest > maxDepth:
		return false, fmt.Errorf("it nests more than %d levels deep", maxDepth)
	case nodes > maxNodes:
		return false, fmt.Errorf("it has more than %s parts", text.Number(maxNodes))
	}
	return dynamic, nil
}

func (sc *Schema) compile(root map[string]any, memory int) (compiled *jsonschema.Schema, err error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(sc.patterns(memory))
	if d, _ := root["$schema"].(string); !dialects[strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(d, "#"), "https://"), "http://")] {
		delete(root, "$schema") // an unknown or missing dialect is read as the specification's default, 2020-12
	}
	if err = c.AddResource(schemaURL, root); err == nil {
		compiled, err = c.Compile(schemaURL)
	}
	if err != nil {
		return nil, briefly(err)
	}
	return compiled, nil
}

// members are what stands in an object, by name, or in a list.
func members(v any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				if !yield("[i]", e) {
					return
				}
			}
		case map[string]any:
			maps.All(v)(yield)
		}
	}
}

// briefly is why a schema does not compile, without the compiler's own addresses.
func briefly(err error) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return errors.New(strings.Join(findings(v, 1), "; "))
		}
	}
	if errors.As(err, new(*jsonschema.LoadURLError)) {
		return errors.New("it refers to another document, which is never loaded")
	}
	return errors.New(oneline.Brief(strings.ReplaceAll(err.Error(), schemaURL, "the schema"), 200))
}

// Check validates arguments. The error lists what is wrong, each with a JSON pointer, for the model. One of
// [agent.ErrUnchecked] says that nobody knows whether they fit.
func (sc *Schema) Check(args json.RawMessage) (err error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	doc, err := unmarshal(args)
	if err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return errors.New("the arguments must be a JSON object")
	}
	if sc.root == nil {
		return agent.ErrUnchecked
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	defer func() {
		if recover() != nil { // the steps were used up, or the validator met what it does not know
			err = agent.ErrUnchecked
		}
	}()
	sc.left = maxSteps
	err = sc.root.Validate(doc)
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		return errors.New("the arguments do not fit the tool's input schema: " + strings.Join(findings(v, 8), "; "))
	}
	return err
}

// findings are the leaves of a validation error.
func findings(v *jsonschema.ValidationError, most int) (list []string) {
	left := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		for _, c := range v.Causes {
			walk(c)
		}
		switch {
		case len(v.Causes) > 0:
		case len(list) == most:
			left++
		default:
			at := ""
			for _, part := range v.InstanceLocation {
				at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
			}
			list = append(list, oneline.Brief("at "+cmp.Or(at, "/")+": "+v.ErrorKind.LocalizedString(english), 300))
		}
	}
	walk(v)
	if left > 0 {
		list = append(list, fmt.Sprintf("and %d more", left))
	}
	return list
}

// unmarshal reads JSON with exact numbers, but none so large that exact arithmetic on it takes for ever.
func unmarshal(raw []byte) (any, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return doc, sane(doc)
}

func sane(v any) error {
	if n, ok := v.(json.Number); ok {
		_, err := n.Float64()
		_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
		if err != nil || len(n) > 400 || len(exponent) > len("-999") { // 1e-999999999 would be a rational of a gigabyte
			return errors.New("a number is out of range")
		}
	}
	for _, e := range members(v) {
		if err := sane(e); err != nil {
			return err
		}
	}
	return nil
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// anything is a pattern that is not checked: a large one, or one that Go cannot read, such as one with a look-ahead.
type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }
