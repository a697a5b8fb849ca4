// Package spec compares calls of Discord's API with Discord's own description of it, so that the stand-in and what speaks with it stay true.
//
// The description (OpenAPI 3.1, MIT License) is as Discord publishes it: openapi.json of its repository discord-api-spec, packed by gzip -9n.
package spec

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nodhq/nod/tests/standins/described"
)

//go:embed discord-openapi.json.gz
var packed []byte

// Discord is Discord's own description. It is read once.
var Discord = sync.OnceValues(func() (*Spec, error) {
	doc, err := described.Unpack(packed)
	if err != nil {
		return nil, err
	}
	if err := amend(doc); err != nil {
		return nil, err
	}
	return New(doc)
})

// Spec is a description of an API. It is safe for concurrent use.
type Spec struct {
	doc     map[string]any
	schemas *described.Schemas
}

// New takes a description, which stays as it is.
func New(doc map[string]any) (*Spec, error) {
	if object(doc, "paths") == nil {
		return nil, errors.New("the description has no paths")
	}
	schemas, err := described.New(doc)
	return &Spec{doc: doc, schemas: schemas}, err
}

// amend corrects the description where Discord's documentation says otherwise:
//   - the codes of the errors in an invalid form are words (https://docs.discord.com/developers/reference#error-messages);
//   - a 429 has a code for some limits only (https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit);
//   - what a message refers to may be forwarded, too (https://docs.discord.com/developers/resources/message#message-reference-types).
func amend(doc map[string]any) error {
	schemas := object(doc, "components", "schemas")
	form, limited, refers := object(schemas, "InnerErrors", "properties", "_errors"), object(schemas, "RatelimitedResponse"), object(schemas, "MessageReferenceType")
	all, _ := limited["allOf"].([]any)
	if form == nil || refers == nil || len(all) == 0 {
		return errors.New("the description is not one that is known: no InnerErrors, RatelimitedResponse or MessageReferenceType")
	}
	text := map[string]any{"type": "string"}
	form["items"] = map[string]any{"type": "object", "properties": map[string]any{"code": text, "message": text}, "required": []any{"code", "message"}}
	all[0] = map[string]any{"type": "object", "properties": map[string]any{"code": map[string]any{"type": "integer"}, "message": text}, "required": []any{"message"}}
	refers["oneOf"] = []any{map[string]any{"enum": []any{json.Number("0"), json.Number("1")}}}
	return nil
}

// Call is one call and its answer.
type Call struct {
	Method, Path    string // of HTTP; without /api/v10
	Request, Answer []byte // empty: none
	Status          int
}

// future are kinds of components that do not exist yet: tests put them into messages to see what clients make of that.
var future = regexp.MustCompile(`"type":9\d\b`)

// Faults are what the description has no place for: of every answer, whatever was asked, and of each request that was granted, for else who granted it
// is too lenient. What was refused is not looked at: there are rules that the description does not have.
func (s *Spec) Faults(c Call) []string {
	template, op := s.operation(c.Method, c.Path)
	if op == nil {
		return []string{"no such route: " + c.Method + " " + c.Path}
	}
	at := []string{"paths", template, strings.ToLower(c.Method)}
	var out []string
	if body := object(op, "requestBody", "content", "application/json"); body != nil && c.Status < 300 && len(c.Request) > 0 {
		out = s.visit(c.Method+" "+template+": request", append(at, "requestBody", "content", "application/json", "schema"), c.Request)
	}
	code := strconv.Itoa(c.Status)
	answer, is := op["responses"].(map[string]any)[code].(map[string]any)
	if !is {
		code = code[:1] + "XX"
		answer, is = op["responses"].(map[string]any)[code].(map[string]any)
	}
	where := fmt.Sprintf("%s %s: answer %d", c.Method, template, c.Status)
	at = append(at, "responses", code)
	if ref, other := answer["$ref"].(string); other {
		at = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		answer = object(s.doc, at...)
	}
	kind := object(answer, "content", "application/json")
	switch {
	case !is && c.Status >= 500: // the description has none
	case !is:
		out = append(out, where+" is not described")
	case future.Match(c.Answer):
	case (kind == nil) != (len(c.Answer) == 0):
		out = append(out, where+" has a body, or has none")
	case kind != nil:
		out = append(out, s.visit(where, append(at, "content", "application/json", "schema"), c.Answer)...)
	}
	return out
}

// operation finds the route of a path; one with more literal parts comes first.
func (s *Spec) operation(method, path string) (string, map[string]any) {
	best, found := -1, ""
	var op map[string]any
	parts := strings.Split(path, "/")
	for template, item := range object(s.doc, "paths") {
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
		if fits && literal > best {
			if o := object(item.(map[string]any), strings.ToLower(method)); o != nil {
				best, found, op = literal, template, o
			}
		}
	}
	return found, op
}

// visit compares a value with the schema that stands at a place.
func (s *Spec) visit(where string, at []string, text []byte) []string {
	v, err := described.JSON(text)
	if err != nil {
		return []string{where + ": no JSON"}
	}
	return s.schemas.Faults(where, at, v)
}

// object is what stands at a path; nil where there is none.
func object(v map[string]any, path ...string) map[string]any {
	for _, name := range path {
		v, _ = v[name].(map[string]any)
	}
	return v
}
