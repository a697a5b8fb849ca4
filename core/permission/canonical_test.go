package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		``:           `{}`,
		" \n\t\r":    `{}`,
		`{}`:         `{}`,
		` { } `:      `{}`,
		`{"a":[]}`:   `{"a":[]}`,
		`{"a":[ ] }`: `{"a":[]}`,
		`{"a":"\/"}`: `{"a":"/"}`,
		`{"b":1,"a":2,"c":{"z":0,"y":[3,{"q":1,"p":2}]}}`: `{"a":2,"b":1,"c":{"y":[3,{"p":2,"q":1}],"z":0}}`,
		`{"A":1,"a":2,"B":3}`:                             `{"A":1,"B":3,"a":2}`, // not the same key: only exact repeats are
		`{"":0}`:                                          `{"":0}`,
		`{"n":[0,-0,1.0,1e5,1E+05,1e-7,9007199254740993,123456789012345678901234567890,0.10]}`: `{"n":[0,-0,1.0,1e5,1E+05,1e-7,9007199254740993,123456789012345678901234567890,0.10]}`,
		`{"w":[true,false,null]}`:            `{"w":[true,false,null]}`,
		`{"s":"<a href='x'>&</a>"}`:          `{"s":"<a href='x'>&</a>"}`,
		`{"s":"\u003c\u0026"}`:               `{"s":"<&"}`,
		`{"s":"\u00e9é\ud83d\uDE00😀"}`:       `{"s":"éé😀😀"}`,
		"{\"s\":\"\u2028\\u2028\"}":          "{\"s\":\"\u2028\u2028\"}",
		`{"s":"\"\\\b\f\n\r\t\u0000\u001F"}`: `{"s":"\"\\\b\f\n\r\t\u0000\u001f"}`,
		"{\"s\":\"\x7f\"}":                   "{\"s\":\"\x7f\"}",
		`{"\u0062":1,"a":2}`:                 `{"a":2,"b":1}`,
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", in, got, err, want)
		}
	}
}

// Each refusal tells the model where and why.
func TestCanonicalRefuses(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat(`}`, n-1)
	}
	if _, err := Canonical([]byte(deep(64))); err != nil {
		t.Error("64 levels:", err)
	}
	if _, err := Canonical([]byte(`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`)); err != nil {
		t.Error("64 levels of lists:", err)
	}
	big := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	if _, err := Canonical([]byte(big(1 << 20))); err != nil {
		t.Error("1 MiB:", err)
	}
	for _, c := range []struct {
		in      string
		offset  int
		path    string
		problem string
	}{
		{`[]`, 0, "$", "not a JSON object"},
		{`null`, 0, "$", "not a JSON object"},
		{` "x"`, 1, "$", "not a JSON object"},
		{`7`, 0, "$", "not a JSON object"},
		{"\ufeff{}", 0, "$", "not a JSON object"},
		{`{"path":"/tmp","path":"/etc"}`, 15, "$.path", "the key path occurs twice"},
		{`{"a":{"b":[0,{"x y":1,"x\u0020y":2}]}}`, 22, `$.a.b[1]."x y"`, "occurs twice"},
		{`{"a":1,"b":2,"a":1}`, 13, "$.a", "occurs twice"},
		{`{"a":1}x`, 7, "$", "follows the end"},
		{`{"a":1}{"a":2}`, 7, "$", "follows the end"},
		{`{"a":1}` + "\x00", 7, "$", "follows the end"},
		{`{`, 1, "$", "too early"},
		{`{"a"`, 4, "$", "too early"},
		{`{"a":`, 5, "$.a", "too early"},
		{`{"a":[1`, 7, "$.a[1]", "too early"},
		{`{"a":1,}`, 7, "$", "a key in double quotes"},
		{`{,}`, 1, "$", "a key in double quotes"},
		{`{a:1}`, 1, "$", "a key in double quotes"},
		{`{"a" 1}`, 5, "$", "a colon should stand here"},
		{`{"a":1 "b":2}`, 7, "$", "a comma"},
		{`{"a":[1,]}`, 8, "$.a[1]", "a JSON value"},
		{`{"a":[,1]}`, 6, "$.a[0]", "a JSON value"},
		{`{"a":[1 2]}`, 8, "$.a[1]", "a comma"},
		{`{"a":'x'}`, 5, "$.a", "a JSON value"},
		{`{"a":NaN}`, 5, "$.a", "a JSON value"},
		{`{"a":tru}`, 5, "$.a", "a JSON value"},
		{`{"a":truex}`, 9, "$", "a comma"},
		{`{"a":01}`, 6, "$", "a comma"},
		{`{"a":+1}`, 5, "$.a", "a JSON value"},
		{`{"a":-}`, 6, "$.a", "not complete"},
		{`{"a":1.}`, 7, "$.a", "not complete"},
		{`{"a":.5}`, 5, "$.a", "a JSON value"},
		{`{"a":1e}`, 7, "$.a", "not complete"},
		{`{"a":1e+}`, 8, "$.a", "not complete"},
		{`{"a":"x`, 7, "$.a", "does not end"},
		{`{"a":"\`, 6, "$.a", "unknown escape"},
		{"{\"a\":\"\n\"}", 6, "$.a", "control character"},
		{"{\"a\":\"\xff\"}", 6, "$.a", "not valid UTF-8"},
		{"{\"a\":\"\xed\xa0\x80\"}", 6, "$.a", "not valid UTF-8"},
		{"{\"\xc3\":1}", 2, "$", "not valid UTF-8"},
		{`{"a":"\x41"}`, 6, "$.a", "unknown escape"},
		{`{"a":"\u12"}`, 6, "$.a", "four hexadecimal"},
		{`{"a":"\u12g4"}`, 6, "$.a", "four hexadecimal"},
		{`{"a":"\ud800"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800x"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800\u0041"}`, 6, "$.a", "surrogate"},
		{`{"a":"\udc00\ud800"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800xxdc00"}`, 6, "$.a", "surrogate"},
		{`{"a":"\udc00\udc00"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800\ud800"}`, 6, "$.a", "surrogate"},
		{deep(65), 64 * 5, "$.a.a.a.a.a.a.a.a.a…", "too deeply"},
		{big(1<<20 + 1), 1 << 20, "$", "1048577 bytes long"},
	} {
		got, err := Canonical([]byte(c.in))
		var ae *ArgsError
		if !errors.As(err, &ae) {
			t.Errorf("%.60s: accepted as %.60s", c.in, got)
			continue
		}
		if ae.Offset != c.offset || ae.Path != c.path || !strings.Contains(ae.Problem, c.problem) {
			t.Errorf("%.60s: at %d %s: %s", c.in, ae.Offset, ae.Path, ae.Problem)
		}
	}
	if _, err := Canonical([]byte(`{"a":"\u1234"}`)[:10]); !strings.Contains(err.Error(), "four hexadecimal") {
		t.Error("read past the end:", err)
	}
	_, err := Canonical([]byte(`{"path":"/tmp","path":"/etc"}`))
	if want := "The arguments were refused: the key path occurs twice (at byte 15, $.path). Send one JSON object in which every key occurs once."; err.Error() != want {
		t.Errorf("got %s", err)
	}
	_, err = Canonical([]byte(`{"` + strings.Repeat("k", 5000) + `":}`))
	if len(err.Error()) > 300 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

// What is accepted is what every reader reads: valid, meaning the same as the original, one form only.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"b":[1,{"d":"\ud83d\ude00\n"}],"a":-0.5e+10}`, `{"a":1,"a":2}`, `{"a":"\u0000<>&"}`, `[1]`, "{\"a\":\"\xff\"}", `{"a":{"b":[[[]]]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := Canonical(in)
		if !bytes.Equal(in, before) {
			t.Fatal("changed its input")
		}
		if err != nil {
			var ae *ArgsError
			if !errors.As(err, &ae) || ae.Offset < 0 || ae.Offset > len(in) {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := Canonical(out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not one form: %q, then %q, %v", out, again, err)
		}
		if len(bytes.TrimSpace(in)) == 0 {
			return
		}
		if !json.Valid(in) || !json.Valid(out) || len(out) > len(in) {
			t.Fatalf("%q gave %q", in, out)
		}
		if !reflect.DeepEqual(decode(t, in), decode(t, out)) {
			t.Fatalf("%q does not mean %q", out, in)
		}
	})
}

func decode(t *testing.T, b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCallDigest(t *testing.T) {
	base := CallDigest(here, files, []byte(`{"a":1}`))
	if len(base) != 64 || base != CallDigest(here, files, []byte(`{"a":1}`)) {
		t.Error(base)
	}
	seen := map[Digest]string{base: "base"}
	add := func(name string, d Digest) {
		if other, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
	add("args", CallDigest(here, files, []byte(`{"a":2}`)))
	add("chat", CallDigest(there, files, []byte(`{"a":1}`)))
	moved := here
	moved.Workspace = "T2"
	add("workspace", CallDigest(moved, files, []byte(`{"a":1}`)))
	moved.Platform, moved.Workspace = "slackT", "1"
	add("platform and workspace run together", CallDigest(moved, files, []byte(`{"a":1}`)))
	add("server", CallDigest(here, Tool{"file", "smove_thing", "d1"}, []byte(`{"a":1}`)))
	add("name", CallDigest(here, Tool{"files", "move_thin", "d1"}, []byte(`{"a":1}`)))
	add("definition", CallDigest(here, Tool{"files", "move_thing", "d2"}, []byte(`{"a":1}`)))
	add("definition and arguments run together", CallDigest(here, Tool{"files", "move_thing", "d"}, []byte(`1{"a":1}`)))
	// The stored digests of waiting calls depend on these bytes: never change them without a new version in the prefix.
	// (The value was computed by another program from the same fields.)
	if base != "3d8754ab66ae8cd6862fddc21c2f0111129d588c6f4b440e27d280d2ec459a35" {
		t.Errorf("the digest of yesterday's calls changed: %s", base)
	}
}

func TestDefinitionDigest(t *testing.T) {
	d := func(f ...string) Digest {
		return DefinitionDigest(f[0], f[1], f[2], []byte(f[3]), []byte(f[4]), []byte(f[5]))
	}
	base := []string{"n", "t", "d", `{"type":"object","a":1}`, `{"b":2}`, `{"readOnlyHint":true}`}
	for i, other := range []string{"m", "u", "e", `{"type":"object","a":2}`, ``, `{"readOnlyHint":false}`} {
		f := append([]string(nil), base...)
		f[i] = other
		if d(f...) == d(base...) {
			t.Errorf("field %d does not count", i)
		}
	}
	same := append([]string(nil), base...)
	same[3] = ` {"a":1, "type" : "object"}`
	if d(same...) != d(base...) {
		t.Error("the order of keys counts")
	}
	swapped := append([]string(nil), base...)
	swapped[3], swapped[4] = base[4], base[3]
	if d(swapped...) == d(base...) {
		t.Error("schemas can be swapped")
	}
	odd := append([]string(nil), base...)
	odd[3] = `{"a":1,"a":1}`
	odder := append([]string(nil), odd...)
	odder[3] = `{"a":1, "a":1}`
	if d(odd...) == d(base...) || d(odd...) == d(odder...) {
		t.Error("what has no canonical form is not taken byte for byte")
	}
	deepSchema := strings.Repeat(`{"a":`, 100) + `1 ` + strings.Repeat(`}`, 100)
	a, b := append([]string(nil), base...), append([]string(nil), base...)
	a[3], b[3] = deepSchema, strings.Replace(deepSchema, "1 ", "1", 1)
	if d(a...) != d(b...) {
		t.Error("a deep schema is not canonicalised")
	}
}
