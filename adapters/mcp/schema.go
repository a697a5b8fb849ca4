package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemaURL names a tool's schema to the compiler. It resolves nowhere.
const schemaURL = "tool:///input"

// dialects are the versions of JSON Schema that the compiler knows by heart.
var dialects = map[string]bool{
	"json-schema.org/draft-04/schema": true, "json-schema.org/draft-06/schema": true, "json-schema.org/draft-07/schema": true,
	"json-schema.org/draft/2019-09/schema": true, "json-schema.org/draft/2020-12/schema": true,
}

var english = message.NewPrinter(language.English)

// compile reads a tool's input schema. The schema is a stranger's: it must not make us load anything, and
// patterns in a regular-expression dialect that Go lacks match everything (the server still checks them).
func compile(raw json.RawMessage) (s *jsonschema.Schema, err error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("it has %s bytes, more than %s", count(len(raw)), count(maxSchema))
	}
	doc, err := unmarshal(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	defer func() {
		if p := recover(); p != nil { // a stranger's schema must not end the program
			s, err = nil, errors.New("it cannot be read")
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	if d, _ := root["$schema"].(string); !dialects[strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(d, "#"), "https://"), "http://")] {
		delete(root, "$schema") // an unknown or missing dialect is read as the specification's default, 2020-12
	}
	if err := c.AddResource(schemaURL, root); err != nil {
		return nil, briefly(err)
	}
	if s, err = c.Compile(schemaURL); err != nil {
		return nil, briefly(err)
	}
	return s, nil
}

// briefly is why a schema does not compile, without the compiler's own addresses.
func briefly(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			return errors.New(strings.Join(findings(v, 1), ""))
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return errors.New("it refers to another document, which is never loaded")
	}
	return errors.New(brief(strings.ReplaceAll(err.Error(), schemaURL, "the schema"), 200))
}

// check validates arguments. The error lists what is wrong, each with a JSON pointer, for the model.
func check(s *jsonschema.Schema, args json.RawMessage) (err error) {
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
	defer func() {
		if recover() != nil {
			err = errors.New("the arguments cannot be checked against the tool's schema")
		}
	}()
	err = s.Validate(doc)
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		return errors.New("the arguments do not fit the tool's input schema: " + strings.Join(findings(v, 8), "; "))
	}
	return err
}

// findings are the leaves of a validation error.
func findings(v *jsonschema.ValidationError, most int) (list []string) {
	var walk func(*jsonschema.ValidationError)
	left := 0
	walk = func(v *jsonschema.ValidationError) {
		for _, c := range v.Causes {
			walk(c)
		}
		if len(v.Causes) > 0 {
			return
		}
		if len(list) == most {
			left++
			return
		}
		at := "/"
		if len(v.InstanceLocation) > 0 {
			at = ""
			for _, part := range v.InstanceLocation {
				at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
			}
		}
		list = append(list, brief("at "+at+": "+v.ErrorKind.LocalizedString(english), 300))
	}
	walk(v)
	if left > 0 && most > 1 {
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
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(f, 0) || len(v) > 400 || f == 0 && strings.ContainsAny(string(v), "123456789") && tiny(string(v)) {
			return errors.New("a number is out of range")
		}
	case []any:
		for _, e := range v {
			if err := sane(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := sane(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// tiny reports an exponent that no float has: 1e-999999999 would be a rational of a gigabyte.
func tiny(s string) bool {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return false
	}
	e, err := strconv.Atoi(s[i+1:])
	return err != nil || e < -1000
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

func lenientRegexp(s string) (jsonschema.Regexp, error) {
	if re, err := regexp.Compile(s); err == nil {
		return re, nil
	}
	return anything(s), nil
}

// anything is a pattern that Go cannot read, such as one with a look-ahead.
type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }
