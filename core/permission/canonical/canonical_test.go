package canonical

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
		"{\"s\":\"\uFFFD\\ue000\"}":          "{\"s\":\"\uFFFD\uE000\"}",
		`{"s":"\u00e9é\ud83d\uDE00😀"}`:       `{"s":"éé😀😀"}`,
		"{\"s\":\"\u2028\\u2028\"}":          "{\"s\":\"\u2028\u2028\"}",
		`{"s":"\"\\\b\f\n\r\t\u0000\u001F"}`: `{"s":"\"\\\b\f\n\r\t\u0000\u001f"}`,
		"{\"s\":\"\x7f\"}":                   "{\"s\":\"\x7f\"}",
		`{"\u0062":1,"a":2}`:                 `{"a":2,"b":1}`,
	} {
		got, err := Arguments([]byte(in))
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
	if _, err := Arguments([]byte(deep(64))); err != nil {
		t.Error("64 levels:", err)
	}
	if _, err := Arguments([]byte(`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`)); err != nil {
		t.Error("64 levels of lists:", err)
	}
	big := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	if _, err := Arguments([]byte(big(1 << 20))); err != nil {
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
		{`{"a":"\ud800\ue000"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800xudc00"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800\xdc00"}`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800`, 6, "$.a", "surrogate"},
		{`{"a":"\ud800\`, 6, "$.a", "surrogate"},
		{`{"a":-.5}`, 6, "$.a", "not complete"},
		{`{"a":1.e5}`, 7, "$.a", "not complete"},
		{`{"a-b":1,"a-b":2}`, 9, "$.a-b", "the key a-b occurs twice"},
		{deep(65), 64 * 5, "$.a.a.a.a.a.a.a.a.a…", "too deeply"},
		{big(1<<20 + 1), 1 << 20, "$", "1048577 bytes long"},
	} {
		got, err := Arguments([]byte(c.in))
		var ae *Error
		if !errors.As(err, &ae) {
			t.Errorf("%.60s: accepted as %.60s", c.in, got)
			continue
		}
		if ae.Offset != c.offset || ae.Path != c.path || !strings.Contains(ae.Problem, c.problem) {
			t.Errorf("%.60s: at %d %s: %s", c.in, ae.Offset, ae.Path, ae.Problem)
		}
	}
	if _, err := Arguments([]byte(`{"a":"\u1234"}`)[:10]); !strings.Contains(err.Error(), "four hexadecimal") {
		t.Error("read past the end:", err)
	}
	_, err := Arguments([]byte(`{"path":"/tmp","path":"/etc"}`))
	if want := "The arguments were refused: the key path occurs twice (at byte 15, $.path). Send one JSON object in which every key occurs once."; err.Error() != want {
		t.Errorf("got %s", err)
	}
	_, err = Arguments([]byte(`{"` + strings.Repeat("k", 5000) + `":}`))
	if len(err.Error()) > 300 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

// Only the outermost keys come as they are ordered, and what no order names stands behind them as it was written.
func TestWritten(t *testing.T) {
	const in, want = `{"z":{"b":1,"a":2},"x":0,"b":{"b":1,"a":2},"a":3}`, `{"a":3,"b":{"b":1,"a":2},"z":{"b":1,"a":2},"x":0}`
	if got, err := Written([]byte(in), []string{"a", "b"}); err != nil || string(got) != want {
		t.Errorf("got %s (%v)\nwant %s", got, err, want)
	}
}

func TestLookup(t *testing.T) {
	for path, want := range map[string]string{"a 0": `1`, "a 1": `{"b":2}`, "a 1 b": `2`, "a 2": "", "a -1": "", "a b": "", "b": "", "a 1 b 0": "", "0": `3`} {
		if got, found := Lookup([]byte(`{"a":[1,{"b":2}],"0":3}`), strings.Fields(path)); string(got) != want || found != (want != "") {
			t.Errorf("%s: %s, %v", path, got, found)
		}
	}
}

// What is accepted is what every reader reads: valid, meaning the same as the original, one form only.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"b":[1,{"d":"\ud83d\ude00\n"}],"a":-0.5e+10}`, `{"a":1,"a":2}`, `{"a":"\u0000<>&"}`, `[1]`, "{\"a\":\"\xff\"}", `{"a":{"b":[[[]]]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := Arguments(in)
		if !bytes.Equal(in, before) {
			t.Fatal("changed its input")
		}
		if err != nil {
			var ae *Error
			if !errors.As(err, &ae) || ae.Offset < 0 || ae.Offset > len(in) {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := Arguments(out); err != nil || !bytes.Equal(again, out) {
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
