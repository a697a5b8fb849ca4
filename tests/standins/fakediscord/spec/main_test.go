package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a description with what the program looks at, made up for this test.
const small = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
 "/things/@me":{"get":{"responses":{"200":{"description":"d","content":{"application/json":{"schema":{"type":"string"}}}},"4XX":{"description":"d","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Details"}}}}}}},
 "/things/{id}":{"post":{"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}},
  "responses":{"204":{"description":"d"},"429":{"description":"d","content":{"application/json":{"schema":{"$ref":"#/components/schemas/RatelimitedResponse"}}}}}}}},
 "components":{"schemas":{
  "Error":{"type":"object","properties":{"code":{"type":"integer"},"message":{"type":"string"}},"required":["code","message"]},
  "InnerErrors":{"type":"object","properties":{"_errors":{"type":"array","items":{"$ref":"#/components/schemas/Error"}}},"required":["_errors"]},
  "Details":{"$ref":"#/components/schemas/InnerErrors"},
  "RatelimitedResponse":{"allOf":[{"$ref":"#/components/schemas/Error"},{"type":"object","required":["retry_after"]}]}}}}`

func check(t *testing.T, lines ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	spec, tape := filepath.Join(dir, "spec.json"), filepath.Join(dir, "tape.jsonl")
	for name, text := range map[string]string{spec: small, tape: strings.Join(lines, "\n")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := run(&out, spec, []string{tape})
	return out.String(), err
}

func TestGoodRecords(t *testing.T) {
	out, err := check(t,
		`{"method":"GET","path":"/things/@me","status":200,"response":"x"}`,
		`{"method":"GET","path":"/things/@me","status":400,"response":{"_errors":[{"code":"WORD","message":"m"}]}}`,
		`{"method":"POST","path":"/things/7","body":{"n":1},"status":204}`,
		`{"method":"POST","path":"/things/7","body":{"n":"not asked about"},"status":429,"response":{"message":"slow","retry_after":1}}`,
		`{"method":"POST","path":"/things/7","body":{"n":1},"status":500,"response":{}}`)
	if err != nil || !strings.Contains(out, "1 requests and 4 answers on 2 routes checked, 0 kinds of fault, 1 answers not described") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFaultyRecords(t *testing.T) {
	for line, want := range map[string]string{
		`{"method":"GET","path":"/things/@me","status":200,"response":5}`:                        "answer 200",
		`{"method":"GET","path":"/things/@me","status":200}`:                                     "has a body, or has none",
		`{"method":"POST","path":"/things/7","body":{"n":"x"},"status":204}`:                     "request",
		`{"method":"POST","path":"/things/7","body":{},"status":204}`:                            "request",
		`{"method":"POST","path":"/things/7","body":{"n":1},"status":200,"response":{}}`:         "200 is not described",
		`{"method":"POST","path":"/things/7","body":{"n":1},"status":204,"response":{}}`:         "has a body, or has none",
		`{"method":"POST","path":"/others","status":204}`:                                        "no such route",
		`{"method":"GET","path":"/things/@me","status":400,"response":{"_errors":[{"code":1}]}}`: "answer 400",
		`{"method":"POST","path":"/things/7","status":429,"response":{"message":"m"}}`:           "answer 429",
	} {
		if out, err := check(t, line); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if _, err := check(t); err == nil {
		t.Error("a check of nothing succeeded")
	}
}
