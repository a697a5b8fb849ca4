package pin

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/permission/canonical"
)

func exactly(path, value string) Pin {
	return Pin{Path: path, Value: json.RawMessage(value)}
}
func below(path, dir string) Pin {
	return Pin{Path: path, Match: MatchUnder, Value: textOf(dir)}
}
func just(names ...string) Pin {
	return Pin{Path: ArgumentNames, Value: listOf(names)}
}

// What each kind of pin lets through. (TestPins has the values that are compared exactly.)
// R154 R155
func TestPinned(t *testing.T) {
	for _, c := range []struct {
		pins []Pin
		args string
		want bool
	}{
		{[]Pin{below("path", "/srv/a")}, `{"path":"/srv/a/x"}`, true},
		{[]Pin{below("path", "/srv/a")}, `{"path":"/srv/a/x","mode":"append"}`, true},
		{[]Pin{below("path", "/srv/a")}, `{"path":"\/srv\/a\/x"}`, true}, // the same text
		{[]Pin{below("path", "/srv/a")}, `{"path":"/srv/a/\u002e\u002e/b"}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":"/etc/passwd"}`, false},
		{[]Pin{below("path", "/srv/a")}, `{}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":null}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":7}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":["/srv/a/x"]}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":{"0":"/srv/a/x"}}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"path":"/srv/a/x","path":"/etc/passwd"}`, false},
		{[]Pin{below("path", "/srv/a")}, `nonsense`, false},
		{[]Pin{below("from", "/srv/a"), below("to", "/srv/a")}, `{"from":"/srv/a/x","to":"/srv/a/y"}`, true},
		{[]Pin{below("from", "/srv/a"), below("to", "/srv/a")}, `{"from":"/srv/a/x","to":"/srv/b"}`, false},
		{[]Pin{below("o.path", "/srv/a")}, `{"o":{"path":"/srv/a/x"}}`, true},
		{[]Pin{below("/o.path", "/srv/a")}, `{"o.path":"/srv/a/x"}`, true},

		// servers that fold case read the other key
		{[]Pin{below("path", "/srv/a")}, `{"path":"/srv/a/x","Path":"/etc/passwd"}`, false},
		{[]Pin{below("path", "/srv/a")}, `{"PATH":"/srv/a/x"}`, false},
		{[]Pin{exactly("kind", `"x"`)}, "{\"kind\":\"x\",\"\u212Aind\":\"y\"}", false},       // the Kelvin sign folds to k
		{[]Pin{exactly("source", `"x"`)}, "{\"source\":\"x\",\"\u017Fource\":\"y\"}", false}, // and the long s to s
		{[]Pin{exactly("o.method", `"GET"`)}, `{"o":{"method":"GET","Method":"PUT"}}`, false},
		{[]Pin{exactly("o.method", `"GET"`)}, `{"o":{"method":"GET"},"O":{"method":"PUT"}}`, false},
		{[]Pin{exactly("o.method", `"GET"`)}, `{"o":{"method":"GET"},"m":1,"M":2}`, true}, // not on the way

		// the names of the arguments
		{[]Pin{just("method", "url")}, `{"url":"x","method":"y"}`, true},
		{[]Pin{just("method", "url")}, `{"method":"y"}`, false},
		{[]Pin{just("method", "url")}, `{"method":"y","url":"x","body":"z"}`, false},
		{[]Pin{just("method", "url")}, `{"method":"y","URL":"x"}`, false},
		{[]Pin{just()}, `{}`, true},
		{[]Pin{just()}, `{"a":1}`, false},
		{[]Pin{just("é\u200b")}, "{\"é\u200b\":1}", true},
		{[]Pin{exactly(".", `{"a":1}`)}, `{"a":1}`, false},
		{[]Pin{exactly(".", `["a"]`)}, `{"":{"":["a"]}}`, false},
		{[]Pin{{Path: ".", Match: MatchUnder, Value: textOf("/srv/a")}}, `{"":{"":"/srv/a/x"}}`, false},

		// what is not understood covers nothing
		{[]Pin{{Path: "", Value: json.RawMessage(`1`)}}, `{"":1}`, false},
		{[]Pin{{}}, `{}`, false},
		{[]Pin{{Path: "/", Value: json.RawMessage(`1`)}}, `{"":1}`, true},
		{[]Pin{{Path: "a", Match: 2, Value: json.RawMessage(`1`)}}, `{"a":1}`, false},
		{[]Pin{{Path: "a", Match: 255, Value: json.RawMessage(`"/srv/a"`)}}, `{"a":"/srv/a"}`, false},
		{[]Pin{{Path: "path", Match: MatchUnder, Value: json.RawMessage(`["/srv/a"]`)}}, `{"path":"/srv/a/x"}`, false},
		{[]Pin{{Path: "path", Match: MatchUnder, Value: json.RawMessage(`null`)}}, `{"path":null}`, false},
		{[]Pin{{Path: "path", Match: MatchUnder}}, `{"path":"/srv/a/x"}`, false},
	} {
		if got := Hold(c.pins, json.RawMessage(c.args)); got != c.want {
			t.Errorf("%s on %s: %v", c.pins, c.args, got)
		}
	}
}

func TestCheck(t *testing.T) {
	many := slices.Repeat([]Pin{exactly("a", `1`)}, 21)
	for _, c := range []struct {
		pins []Pin
		want string // "" passes
	}{
		{nil, ""},
		{many[:20], ""},
		{[]Pin{exactly("a", `"x"`), below("/a~1b/~0c.d", "/srv"), below("p", `C:\srv`), below("q", "docs")}, ""},
		{[]Pin{exactly("a.b", `{"a":[1,null,"\n"]}`), just("a", "b")}, ""},
		{[]Pin{just()}, ""},
		{many, "pins: 21 are given and 20 are allowed"},
		{[]Pin{exactly("a", `1`), exactly("", `1`)}, `pin 2 (""): the path of the argument is missing`},
		{[]Pin{exactly("a..b", `1`)}, "empty step"},
		{[]Pin{exactly("a.", `1`)}, "empty step"},
		{[]Pin{exactly("/a~2", `1`)}, "~0 nor ~1"},
		{[]Pin{exactly("/a~", `1`)}, "~0 nor ~1"},
		{[]Pin{exactly(strings.Repeat("a", 257), `1`)}, "longer than 256 bytes"},
		{[]Pin{exactly("a", `"`+strings.Repeat("a", 4095)+`"`)}, "longer than 4096 bytes"},
		{[]Pin{exactly("a", ``)}, "not JSON"},
		{[]Pin{exactly("a", `x`)}, "not JSON"},
		{[]Pin{exactly("a", `{"a":1,"a":2}`)}, "not JSON"},
		{[]Pin{exactly("a", `1 `)}, "not in canonical form"},
		{[]Pin{exactly("a", `"\u003c"`)}, "not in canonical form"},
		{[]Pin{below("a", "/")}, "not a plain path below the root"},
		{[]Pin{below("a", "/srv/a/")}, "not a plain path"},
		{[]Pin{below("a", "/srv/a/**")}, "not a plain path"},
		{[]Pin{below("a", "/srv/../etc")}, "not a plain path"},
		{[]Pin{below("a", ".")}, "not a plain path"},
		{[]Pin{{Path: "a", Match: MatchUnder, Value: json.RawMessage(`7`)}}, "not a plain path"},
		{[]Pin{{Path: "a", Match: 2, Value: json.RawMessage(`7`)}}, "its match is not known"},
		{[]Pin{exactly(".", `1`)}, "list of all argument names"},
		{[]Pin{exactly(".", `null`)}, "list of all argument names"},
		{[]Pin{exactly(".", `["b","a"]`)}, "list of all argument names"},
		{[]Pin{exactly(".", `["a","a"]`)}, "list of all argument names"},
		{[]Pin{exactly(".", `["a",1]`)}, "list of all argument names"},
		{[]Pin{below(".", "docs")}, "list of all argument names"},
		{[]Pin{exactly("c", `1`), just("a", "b")}, `pin 2 ("."): it leaves out c`},
		{[]Pin{just("a", "b"), below("/c/a", "docs")}, `pin 1 ("."): it leaves out c`},
	} {
		err := Check(c.pins)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.pins, err, c.want)
		}
	}
}

// A value may be a secret, and an error is read in places where it is not expected.
func TestCheckShowsNoValue(t *testing.T) {
	for _, p := range []Pin{exactly("a", `"hunter2`), exactly("a", `"hunter2" `), below("a", "hunter2/.."), {Path: "a", Match: 9, Value: json.RawMessage(`"hunter2"`)}, exactly(".", `"hunter2"`)} {
		if err := Check([]Pin{p}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// What is stored reads back, an exact pin as it was stored before there were others, and a match of the future is not taken for another.
func TestPinsStored(t *testing.T) {
	pins := []Pin{exactly("a", `1`), below("b", "/srv/a"), just("a", "b")}
	b, err := json.Marshal(pins)
	const want = `[{"path":"a","value":1},{"path":"b","value":"/srv/a","match":"under"},{"path":".","value":["a","b"]}]`
	if err != nil || string(b) != want {
		t.Fatalf("%s, %v", b, err)
	}
	var back []Pin
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, pins) {
		t.Fatalf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`[{"path":"a","value":1,"match":"like"}]`), &back); err == nil || !strings.Contains(err.Error(), `match: "like" is not one of exact, under`) {
		t.Errorf("a match that is not known: %v", err)
	}
}

var (
	drawArgs = rapid.Custom(func(t *rapid.T) map[string]any {
		return rapid.MapOfN(rapid.SampledFrom([]string{"path", "Path", "source", "dest_path", "method", "content", "o", ""}),
			rapid.OneOf(
				rapid.Map(rapid.SampledFrom([]string{"/srv/a/x", "/srv/a/b/y", "/srv/a", "/srv/b/x", "docs/a/x", "docs/a/y", "/srv/a/../b", "", `C:\srv\a\x`, "GET", "PUT", "hello", strings.Repeat("a long line ", 30), "two\nlines"}), func(s string) any { return s }),
				rapid.Just(any(nil)), rapid.Just(any(true)), rapid.Map(rapid.IntRange(0, 2), func(i int) any { return i }),
				rapid.Just(any([]any{"/srv/a/x"})), rapid.Just(any(map[string]any{"path": "/srv/a/x", "m": 1}))), 0, 5).Draw(t, "args")
	})
	drawPin = rapid.Custom(func(t *rapid.T) Pin {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"path", "source", "method", "content"}), 0, 3, rapid.ID).Draw(t, "names")
			return just(slices.Sorted(slices.Values(names))...)
		case 1:
			return below(rapid.SampledFrom([]string{"path", "source", "o.path"}).Draw(t, "path"), rapid.SampledFrom([]string{"/srv/a", "/srv", "docs/a", "/", `C:\srv`}).Draw(t, "dir"))
		case 2:
			return Pin{Path: "path", Match: Match(rapid.IntRange(2, 9).Draw(t, "match")), Value: json.RawMessage(`"/srv/a/x"`)}
		}
		return exactly(rapid.SampledFrom([]string{"path", "method", "content", "o", "o.m", "source.0", "/"}).Draw(t, "path"),
			rapid.SampledFrom([]string{`"/srv/a/x"`, `"GET"`, `null`, `true`, `1`, `{"m":1,"path":"/srv/a/x"}`, `x`}).Draw(t, "value"))
	})
)

func encoded(t interface{ Fatal(...any) }, args map[string]any) json.RawMessage {
	b, err := json.Marshal(args)
	if err == nil {
		b, err = canonical.Arguments(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A pin narrows: with one more, no call is covered that was not before.
// R155
func TestPinsNarrow(t *testing.T) {
	kept, lost := 0, 0
	defer func() {
		if kept == 0 || lost == 0 {
			t.Errorf("one more pin left %d calls covered and %d not: this says nothing", kept, lost)
		}
	}()
	one := json.RawMessage(`{"method":"GET","path":"/srv/a/x"}`) // of either kind there is one, whatever is drawn
	for _, method := range []string{`"GET"`, `"PUT"`} {
		if near := below("path", "/srv/a"); Hold([]Pin{near, exactly("method", method)}, one) {
			kept++
		} else if Hold([]Pin{near}, one) {
			lost++
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		args := drawArgs.Draw(t, "args")
		maps.Copy(args, map[string]any{"path": "/srv/a/x", "method": "GET"})
		raw := encoded(t, args)
		pins := rapid.SliceOfN(drawPin, 0, 2).Draw(t, "pins")
		if rapid.Bool().Draw(t, "near") {
			pins = []Pin{below("path", "/srv/a")}
		}
		more := append(slices.Clone(pins), drawPin.Draw(t, "more"))
		switch before, after := Hold(pins, raw), Hold(more, raw); {
		case after && !before:
			t.Fatalf("%s covers %s and without the last it does not", more, raw)
		case after:
			kept++
		case before:
			lost++
		}
		if Hold(slices.Concat(more, []Pin{{}}), raw) {
			t.Fatal("the zero pin covers something")
		}
	})
}

// claims reads a pin with encoding/json and plain words, and says whether it holds. It is written without a look at pin.go.
func claims(t *testing.T, p Pin, args map[string]any) bool {
	var at any = args
	if p.Path == "." {
		names := []any{}
		for _, n := range slices.Sorted(maps.Keys(args)) {
			names = append(names, n)
		}
		at = names
	} else {
		keys := strings.Split(p.Path, ".")
		if p.Path[0] == '/' {
			keys = strings.Split(p.Path[1:], "/")
			for i := range keys {
				keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
			}
		}
		for _, k := range keys {
			switch v := at.(type) {
			case map[string]any:
				var ok bool
				if at, ok = v[k]; !ok {
					return false
				}
				for other := range v { // the value that a server which folds case could take instead
					if other != k && strings.EqualFold(other, k) {
						return false
					}
				}
			case []any:
				i, err := strconv.Atoi(k)
				if err != nil || i < 0 || i >= len(v) {
					return false
				}
				at = v[i]
			default:
				return false
			}
		}
	}
	want := decoded(t, p.Value)
	if p.Match == MatchExact {
		return reflect.DeepEqual(at, want)
	}
	dir, ok := want.(string)
	path, isText := at.(string)
	return p.Match == MatchUnder && ok && isText && escapes(dir, path) == "" && strings.Trim(dir, `/.`) != ""
}

func decoded(t *testing.T, raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("what covers a call cannot be read: %s: %v", raw, err)
	}
	return v
}

// Whatever arguments and pin come: if the call is covered, then so it is for another reader.
func FuzzPinned(f *testing.F) {
	for dir, paths := range outside {
		for _, p := range paths[:min(4, len(paths))] {
			args, _ := json.Marshal(map[string]string{"path": p})
			f.Add(args, "path", []byte(textOf(dir)), uint8(1))
		}
	}
	f.Add([]byte(`{"path":"/srv/a/x"}`), "path", []byte(`"/srv/a"`), uint8(1))
	f.Add([]byte(`{"a":{"b.c":[1,{"~/":2}]}}`), "/a/b.c/1/~0~1", []byte(` 2`), uint8(0))
	f.Add([]byte(`{"a":1,"b":2}`), ".", []byte(`["a","b"]`), uint8(0))
	f.Add([]byte(`{"a":1,"A":2}`), "a", []byte(`1`), uint8(0))
	f.Add([]byte(`{"a":null}`), "a", []byte(`null`), uint8(0))
	f.Add([]byte(`{"":""}`), "", []byte(`""`), uint8(0))
	f.Fuzz(func(t *testing.T, args []byte, path string, value []byte, match uint8) {
		p := Pin{Path: path, Value: value, Match: Match(match)}
		if !Hold([]Pin{p}, args) {
			return
		}
		if path == "" || match > 1 {
			t.Fatalf("%s covers %s", p, args)
		}
		if len(bytes.TrimSpace(args)) == 0 {
			args = []byte("{}")
		}
		object, ok := decoded(t, args).(map[string]any)
		if !ok || !claims(t, p, object) {
			t.Fatalf("%s covers %s, and for another reader it does not", p, args)
		}
		if strings.Contains(Label([]Pin{p}), sayUnknownTo) {
			t.Fatalf("%s covers %s, and its label does not say what", p, args)
		}
	})
}
