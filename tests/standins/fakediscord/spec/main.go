// Command spec checks recorded calls of the stand-in Discord against Discord's own description of its API (OpenAPI 3.1):
//
//	go run . -spec discord-openapi.json record.jsonl…
//
// The description is not part of this project, and this is a module of its own so that the product does not depend on the
// library that reads it. A record is made by running tests with NOD_DISCORD_SPEC and NOD_DISCORD_RECORD set (see record.go beside
// this directory).
//
// Every answer must be one that the description has for its status, whatever was asked. Every request that the stand-in granted
// must be one that the description takes: else the stand-in is too lenient. What the stand-in refused is not checked: it knows
// rules that the description does not.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// record is one line, as the stand-in writes it.
type record struct {
	Method, Path, Query string
	Body                json.RawMessage
	Status              int
	Response            json.RawMessage
}

func main() {
	spec := flag.String("spec", os.Getenv("NOD_DISCORD_SPEC"), "path of Discord's OpenAPI description")
	flag.Parse()
	if err := run(os.Stdout, *spec, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks files of records and reports each kind of fault once, with how often it was seen.
func run(out io.Writer, spec string, files []string) error {
	c, err := load(spec)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("name at least one file of records")
	}
	for _, name := range files {
		if err := c.file(name); err != nil {
			return err
		}
	}
	for _, fault := range slices.Sorted(maps.Keys(c.faults)) {
		fmt.Fprintf(out, "%4d × %s\n", c.faults[fault], fault)
	}
	fmt.Fprintf(out, "%d requests and %d answers on %d routes checked, %d kinds of fault, %d answers not described\n", c.requests, c.answers, len(c.routes), len(c.faults), c.unknown)
	switch {
	case c.answers == 0:
		return errors.New("nothing was checked")
	case len(c.faults) > 0:
		return fmt.Errorf("%d kinds of fault", len(c.faults))
	}
	return nil
}

// checker holds the description and what was found.
type checker struct {
	doc                        *openapi3.T
	faults                     map[string]int
	routes                     map[string]bool
	requests, answers, unknown int
}

func load(spec string) (*checker, error) {
	if spec == "" {
		return nil, errors.New("name the description: -spec path, or NOD_DISCORD_SPEC")
	}
	doc, err := openapi3.NewLoader().LoadFromFile(spec)
	if err != nil {
		return nil, fmt.Errorf("the description: %w", err)
	}
	if err := amend(doc); err != nil {
		return nil, err
	}
	return &checker{doc: doc, faults: map[string]int{}, routes: map[string]bool{}}, nil
}

// amend corrects the description where Discord's documentation says otherwise:
//   - the codes of the errors in an invalid form are words (https://docs.discord.com/developers/reference#error-messages);
//   - a 429 has a code for some limits only (https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit).
func amend(doc *openapi3.T) error {
	inner, limited := doc.Components.Schemas["InnerErrors"], doc.Components.Schemas["RatelimitedResponse"]
	if inner == nil || limited == nil || inner.Value.Properties["_errors"] == nil {
		return errors.New("the description is not the one this program knows: no InnerErrors, or no RatelimitedResponse")
	}
	word := openapi3.NewObjectSchema().WithProperty("code", openapi3.NewStringSchema()).WithProperty("message", openapi3.NewStringSchema()).WithRequired([]string{"code", "message"})
	inner.Value.Properties["_errors"].Value.Items = openapi3.NewSchemaRef("", word)
	number := openapi3.NewObjectSchema().WithProperty("code", openapi3.NewIntegerSchema()).WithProperty("message", openapi3.NewStringSchema()).WithRequired([]string{"message"})
	limited.Value.AllOf[0] = openapi3.NewSchemaRef("", number)
	return nil
}

func (c *checker) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		c.check(r)
	}
	return lines.Err()
}

// future are kinds of components that do not exist yet: tests put them into messages to see what clients make of that.
var future = regexp.MustCompile(`"type":9\d\b`)

// check checks one call.
func (c *checker) check(r record) {
	template, op := c.operation(r.Method, r.Path)
	if op == nil {
		c.faults["no such route: "+r.Method+" "+r.Path]++
		return
	}
	c.routes[r.Method+" "+template] = true
	where := r.Method + " " + template
	if r.Status < 300 && len(r.Body) > 0 && op.RequestBody != nil {
		c.requests++
		if kind := op.RequestBody.Value.Content["application/json"]; kind != nil {
			c.visit(where+": request", kind.Schema, r.Body)
		}
	}
	answer := response(op, r.Status)
	switch {
	case answer == nil && r.Status >= 500:
		c.unknown++ // the description has none
	case answer == nil:
		c.faults[fmt.Sprintf("%s: %d is not described", where, r.Status)]++
	case future.Match(r.Response):
		c.unknown++ // a component of a kind that does not exist yet, which a test put there
	default:
		c.answers++
		kind := answer.Value.Content["application/json"]
		if kind == nil != (len(r.Response) == 0) {
			c.faults[fmt.Sprintf("%s: %d has a body, or has none", where, r.Status)]++
		} else if kind != nil {
			c.visit(fmt.Sprintf("%s: answer %d", where, r.Status), kind.Schema, r.Response)
		}
	}
}

// operation finds the route of a path; one with more literal parts comes first.
func (c *checker) operation(method, path string) (string, *openapi3.Operation) {
	best, found := -1, ""
	var op *openapi3.Operation
	parts := strings.Split(path, "/")
	for template, item := range c.doc.Paths.Map() {
		want := strings.Split(template, "/")
		literal := 0
		fits := len(want) == len(parts)
		for i := 0; fits && i < len(want); i++ {
			if want[i] == parts[i] {
				literal++
			} else if !strings.HasPrefix(want[i], "{") {
				fits = false
			}
		}
		if o := item.GetOperation(method); fits && o != nil && literal > best {
			best, found, op = literal, template, o
		}
	}
	return found, op
}

func response(op *openapi3.Operation, status int) *openapi3.ResponseRef {
	if r := op.Responses.Status(status); r != nil {
		return r
	}
	return op.Responses.Value(fmt.Sprintf("%dXX", status/100))
}

// visit checks a value against a schema.
func (c *checker) visit(where string, schema *openapi3.SchemaRef, raw json.RawMessage) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		c.faults[where+": no JSON"]++
		return
	}
	err := schema.Value.VisitJSON(v, openapi3.MultiErrors(), openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation())
	if err == nil {
		return
	}
	for _, line := range reasons(err) {
		c.faults[where+": "+line]++
	}
}

// reasons are the innermost causes, without the values.
func reasons(err error) []string {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		var out []string
		for _, e := range many {
			out = append(out, reasons(e)...)
		}
		return out
	}
	var one *openapi3.SchemaError
	if errors.As(err, &one) {
		if one.Origin != nil {
			return reasons(one.Origin)
		}
		return []string{strings.Join(one.JSONPointer(), "/") + ": " + one.Reason}
	}
	return []string{err.Error()}
}
