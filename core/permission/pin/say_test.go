package pin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What lists of grants say.
func TestLabel(t *testing.T) {
	for _, c := range []struct {
		pins []Pin
		want string
	}{
		{nil, ""},
		{[]Pin{below("path", "/srv/a"), exactly("method", `"GET"`)}, `when path is under "/srv/a/**" and method is "GET"`},
		{[]Pin{below("a", "/srv/a"), below("b", "/srv/b"), below("c", "/srv/b")}, `when a is under "/srv/a/**" and b and c are under "/srv/b/**"`},
		{[]Pin{exactly("o.a", `1`), just("o", "p")}, `when o.a is 1, with any other o, any p and no other arguments`},
		{[]Pin{exactly("/a~1b", `{ "b":1, "a":"\u200b\n" }`)}, `when "/a~1b" is {"a":"\u{200B}\n","b":1}`},
		{[]Pin{exactly("a\u202e", `"\\u{202E}"`)}, `when "a\u{202E}" is "\\u{202E}"`},
		{[]Pin{just("a", "b")}, `with any a, any b and no other arguments`},
		{[]Pin{just()}, `with no arguments`},
		{[]Pin{below("p", `C:\srv`)}, `when p is under "C:\\srv\\**"`},
		{[]Pin{exactly("any x and no", `1`)}, `when "any x and no" is 1`},
		{[]Pin{exactly("a", `x`)}, `when a is something that is not understood`},
		{[]Pin{{Path: "p", Match: MatchUnder, Value: json.RawMessage(`1`)}}, `when p is under something that is not understood`},
		{[]Pin{{Path: "q", Match: 7, Value: json.RawMessage(`1`)}}, `when q is something that is not understood`},
		{[]Pin{below("p", "/srv/a"), exactly("q", `"/srv/a"`)}, `when p is under "/srv/a/**" and q is "/srv/a"`},
		{[]Pin{below("p", "/srv/\u200b")}, `when p is under "/srv/\u{200B}/**"`},
		{[]Pin{{Path: ".", Match: MatchUnder, Value: json.RawMessage(`["a"]`)}}, `with arguments that are something that is not understood`},
		{[]Pin{exactly(".", `1`)}, `with arguments that are something that is not understood`},
	} {
		if got := Label(c.pins); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.pins, got, c.want)
		}
	}
}

// Two lists of pins that pass the check read alike only if they grant the same.
func TestLabelsTellApart(t *testing.T) {
	paths := []string{"path", "method", "/path", "/a.b", "a.b", "a b", "/a is 1 and b", "a is 1 and b", "any path", ".", "\u200b", `\u{200B}`}
	values := []string{`1`, `"1"`, `"/srv/a/**"`, `"/srv/a"`, `"/srv/a\" and b is \"x"`, "\"\u200b\"", `"\\u{200B}"`, `null`, `"null"`, `["path"]`, `["b","path"]`, `{"a":1}`, `"{\"a\":1}"`, `"GET, with no other arguments"`}
	seen := map[string]string{}
	for _, path := range paths {
		for _, value := range values {
			for m := MatchExact; m <= MatchUnder; m++ {
				p := Pin{Path: path, Value: json.RawMessage(value), Match: m}
				for _, pins := range [][]Pin{{p}, {p, exactly("b", `"x"`)}, {exactly("b", `"x"`), p}, {p, below("b", "/srv/a")}, {p, just("b", "path")}} {
					if Check(pins) != nil {
						continue
					}
					var each []string // their order grants nothing
					for _, p := range pins {
						b, err := json.Marshal(p)
						if err != nil {
							t.Fatal(err)
						}
						each = append(each, string(b))
					}
					slices.Sort(each)
					label, grants := Label(pins), strings.Join(each, "\n")
					if was, ok := seen[label]; ok && was != grants {
						t.Errorf("%s\nand\n%s\nboth read %s", was, grants, label)
					}
					seen[label] = grants
				}
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d labels", len(seen))
	}
}
