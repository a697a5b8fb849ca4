package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "",
		`{}`:                "",
		`{"$schema":"https://example.org/my-dialect","type":"object"}`:              "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:     "",
		`{"properties":{"a":{"pattern":"^(?=x)(?<!y)z$"}}}`:                         "",
		`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`: "",
		`{"properties":{"a":{"type":"strnig"}}}`:                                    "at /properties/a/type",
		`{"properties":{"a":{"type":""}}}`:                                          "at /properties/a/type",
		`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`:                        "refers to another document",
		`{"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`:                      "refers to another document",
		`{"properties":{"a":{"$ref":"#/$defs/none"}}}`:                              "none",
		`{"required":["a"]}`:                                         "", // which no property describes
		`{"type":"strnig","minimum":""}`:                             "; and 2 more",
		strings.Repeat(`{"a":`, 64) + `{}` + strings.Repeat(`}`, 64): "more than 64 levels",
		`{"a":[` + numbered(5000, `{}`) + `]}`:                       "more than 5,000 parts",
		costly(`"type":"string"`):                                    "too long to read",
		costly(`"type":"strnig"`):                                    "too long to read", // nor is it read
		`true`:                                                       "not a JSON object",
		`[]`:                                                         "not a JSON object",
		`{"type":`:                                                   "not JSON",
		`{"multipleOf":1e-999999999}`:                                "out of range",
		`{"maximum":1e999999999}`:                                    "out of range",
		`{"a":"` + strings.Repeat("x", MaxBytes) + `"}`:              "more than",
	} {
		_, err := NewQuota(nil).Compile(json.RawMessage(schema))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", schema, err, want)
		}
	}
}

// costly is a schema of many parts under a long name: the compiler writes each part's way anew.
func costly(member string) string {
	return `{` + member + `,"` + strings.Repeat("x", 100_000) + `":[` + numbered(1000, `{}`) + `]}`
}

// The compiler's own loader reads files.
func TestASchemaLoadsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{`{"$ref":"file://` + file + `"}`, `{"$id":"file://` + filepath.Dir(file) + `/other.json","properties":{"a":{"$ref":"schema.json"}}}`} {
		if _, err := NewQuota(nil).Compile(json.RawMessage(schema)); err == nil {
			t.Errorf("%s was loaded", schema)
		}
	}
}

// A schema that goes round in circles, or arguments that nest deep, end in an answer.
func TestSchemasThatTurnInCircles(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"not":{"$ref":"#"}}`, `{"$dynamicRef":"#"}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"additionalProperties":{"$ref":"#"}}`,
	} {
		s, err := NewQuota(nil).Compile(json.RawMessage(schema))
		if err != nil {
			continue // refused is fine
		}
		for _, args := range []string{`{}`, deep} {
			_ = s.Check(json.RawMessage(args)) // any answer is fine
		}
	}
}

func TestCheckSpeaksToTheModel(t *testing.T) {
	s, err := NewQuota(nil).Compile(json.RawMessage(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
		"path":{"type":"string","pattern":"^(?!/etc).*$"},"n":{"type":"integer","maximum":9007199254740993},"l":{"type":"array","items":{"type":"string"}},"a/b":{"type":"null"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string][]string{
		`{"path":"x","n":9007199254740993}`:    nil,
		`{"path":"x","n":9007199254740994}`:    {"at /n"},
		`{"path":"x","n":1.0}`:                 nil,
		``:                                     {"at /: ", "path"},
		`{"path":7,"l":["a",1],"a/b":2,"z":1}`: {"at /path: got number, want string", "at /l/1: ", "at /a~1b: ", "z"},
		`{"path":"x","n":1e999999999}`:         {"out of range"},
		`{"path":"x","n":1e-999999999}`:        {"out of range"},
		`{"path":"x","n":1e400}`:               {"out of range"},
		`{"path":"x","n":1E-1000}`:             {"out of range"},
		`{"path":"x","n":1e-9}`:                {"at /n"},
		`{"path":"x","n":` + strings.Repeat("1", 300) + `.` + strings.Repeat("1", 100) + `}`: {"out of range"},
		`[]`:                                     {"must be a JSON object"},
		`{"path":`:                               {"not JSON"},
		`{"path":"x","l":[1,2,3,4,5,6,7,8,9,0]}`: {"and 2 more"},
	} {
		err := s.Check(json.RawMessage(args))
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %q", args, err, want)
			continue
		}
		if err != nil && strings.Contains(err.Error(), "and 0 more") {
			t.Errorf("%s: %q", args, err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", args, err, w)
			}
		}
	}
}
