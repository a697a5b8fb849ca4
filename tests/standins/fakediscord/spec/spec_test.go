package spec_test

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/described"
	"github.com/nodhq/nod/tests/standins/fakediscord/spec"
)

// small is a description with what the package looks at, made up for this test.
const small = `{"openapi":"3.1.0","paths":{
 "/things/@me":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"type":"string"}}}},"4XX":{"$ref":"#/components/responses/Wrong"}}}},
 "/things/{id}":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
  "responses":{"204":{},"429":{"content":{"application/json":{"schema":{"type":"object","required":["retry_after"]}}}}}}}},
 "components":{"responses":{"Wrong":{"content":{"application/json":{"schema":{"type":"object","properties":{"code":{"type":"integer"}}}}}}},
  "schemas":{"Thing":{"type":"object","properties":{"n":{"type":"integer"},"at":{"type":"string","format":"date-time"}},"required":["n"]}}}}`

func TestFaults(t *testing.T) {
	doc, err := described.JSON([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.New(doc.(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		method, path, request string
		status                int
		answer, want          string
	}{
		{"GET", "/things/@me", "", 200, `"x"`, ""},
		{"GET", "/things/@me", "", 404, `{"code":1}`, ""},
		{"POST", "/things/7", `{"n":1,"at":"2026-11-28T10:00:00Z"}`, 204, "", ""},
		{"POST", "/things/7", `{"n":"not asked about"}`, 429, `{"retry_after":1}`, ""},
		{"POST", "/things/7", `{"n":1}`, 500, `{}`, ""},
		{"GET", "/things/@me", "", 200, `{"type":91}`, ""},
		{"GET", "/things/@me", "", 200, "5", "answer 200: : got number, want string"},
		{"GET", "/things/@me", "", 200, "", "has a body, or has none"},
		{"GET", "/things/@me", "", 200, "{", "no JSON"},
		{"GET", "/things/@me", "", 404, `{"code":"x"}`, "answer 404: code: got string, want integer"},
		{"POST", "/things/7", `{"n":"x"}`, 204, "", "POST /things/{id}: request: n: got string, want integer"},
		{"POST", "/things/7", `{"n":1,"at":"noon"}`, 204, "", "request: at: "},
		{"POST", "/things/7", `{}`, 204, "", "request: : missing property 'n'"},
		{"POST", "/things/7", `{"n":1}`, 200, "{}", "200 is not described"},
		{"POST", "/things/7", `{"n":1}`, 204, "{}", "has a body, or has none"},
		{"POST", "/others", "", 204, "", "no such route"},
		{"POST", "/things/7", "", 429, `{"message":"m"}`, "missing property 'retry_after'"},
	} {
		got := strings.Join(s.Faults(spec.Call{Method: x.method, Path: x.path, Request: []byte(x.request), Status: x.status, Answer: []byte(x.answer)}), "; ")
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s %s %s → %d %s: %q, want %q", x.method, x.path, x.request, x.status, x.answer, got, x.want)
		}
	}
}

// What Discord documents and its description does not have is put into it.
func TestDiscord(t *testing.T) {
	s, err := spec.Discord()
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]bool{
		`{"message":"m","retry_after":1,"global":false}`:                                                              true,
		`{"message":"m","code":50035,"errors":{"content":{"_errors":[{"code":"BASE_TYPE_REQUIRED","message":"m"}]}}}`: false, // of another status
	} {
		if got := s.Faults(spec.Call{Method: "GET", Path: "/users/@me", Status: 429, Answer: []byte(answer)}); (len(got) == 0) != want {
			t.Errorf("%s: %q", answer, got)
		}
	}
}
