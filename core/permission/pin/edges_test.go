package pin

import (
	"encoding/json"
	"strings"
	"testing"
)

// Pins that are kept but would not be taken today, or calls that cannot be read, cover nothing.
func TestPinsAtTheEdges(t *testing.T) {
	names := Pin{Path: ArgumentNames, Value: json.RawMessage(`["a"]`)}
	if err := Check([]Pin{{Path: ArgumentNames, Value: json.RawMessage(`{`)}}); err == nil || !strings.Contains(err.Error(), "read in one way") {
		t.Errorf("a list of names that is no JSON: %v", err)
	}
	for _, c := range []struct {
		name, args string
		pins       []Pin
		want       bool
	}{
		{"the very one", `{"a":1}`, []Pin{exactly("a", "1"), names}, true},
		{"a key twice", `{"a":1,"a":1}`, []Pin{exactly("a", "1")}, false},
		{"a key that is not there, pinned to nothing", `{"a":1}`, []Pin{{Path: "b"}}, false},
		{"a key that is not there, pinned to no text", `{"a":1}`, []Pin{below("b", "")}, false},
		{"a list for a pointer with a wild ~", `{"a~":1,"b":2}`, []Pin{exactly("/b", "2")}, true},
	} {
		if got := Hold(c.pins, json.RawMessage(c.args)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for path, fine := range map[string]bool{"/a~0b": true, "/a~b/c": false, "/c/a~b": false, "/a~2/b~1": false} {
		if err := Check([]Pin{exactly(path, "1")}); (err == nil) != fine {
			t.Errorf("%s: %v", path, err)
		}
	}
	for value, fine := range map[string]bool{`["a"]`: true, `[1]`: false, `["b","a"]`: false, `["a",1]`: false, `null`: false, `[1,"a"]`: false, `[null]`: false, `[""]`: true} {
		if err := Check([]Pin{{Path: ArgumentNames, Value: json.RawMessage(value)}}); (err == nil) != fine {
			t.Errorf("names %s: %v", value, err)
		}
	}
	// A pin of another argument whose value happens to be a list of names is no list of names.
	if label := Label([]Pin{{Path: "tags", Value: json.RawMessage(`["a"]`)}}); !strings.Contains(label, "tags is") {
		t.Error(label)
	}
	if label := Label([]Pin{{Path: ArgumentNames, Value: json.RawMessage(`[""]`)}}); strings.Contains(label, "any other") {
		t.Error(label)
	}
}

// What is proposed, where a name or a value is nearly of a kind.
func TestProposalsAtTheEdges(t *testing.T) {
	labels := func(args string) (out []string) {
		for _, p := range Propose("write_file", json.RawMessage(args)) {
			out = append(out, p.Label)
		}
		return out
	}
	for _, c := range []struct {
		args string
		n    int
		has  string
	}{
		{`{"key":"x"}`, 1, `key is "x"`},    // a key, but not an API's
		{`{"sort_key":"x"}`, 1, "sort_key"}, // nor this one
		{`{"api_url":"x"}`, 1, `api_url is "x"`},
		{`{"api_key":"x"}`, 0, ""},                                    //
		{`{"apiKey":"x"}`, 0, ""},                                     //
		{`{"APIKey":"x"}`, 0, ""},                                     // an acronym ends where a word begins
		{`{"myURLPath":"/srv/a/x.md"}`, 2, "under"},                   //
		{`{"path2":"/srv/a/x"}`, 1, `path2 is "/srv/a/x"`},            // a digit belongs to its word
		{`{"source":"web"}`, 1, `source is "web"`},                    // an end that is no path
		{`{"source":"docs/a/b"}`, 1, `source is "docs/a/b"`},          // nor a relative one
		{`{"source":"/srv/a/b.md"}`, 2, "under"},                      //
		{`{"query":"/srv/a/b"}`, 1, `query is "/srv/a/b"`},            // nor what is no end
		{`{"x2Path":"/srv/a/b"}`, 1, "x2Path is"},                     // a word begins after a lower case letter
		{`{"count":3}`, 1, "count is 3"},                              //
		{`{"mode":"fast","path":"/srv/a/x.md"}`, 2, `mode is "fast"`}, // what is no path is pinned beside the directory
		{`{"content":["` + strings.Repeat("x", 300) + `"]}`, 0, ""},   // a list is no text, however long
		{`{"path":"_a/b/c.md"}`, 2, "under"},                          // relative paths begin with a letter, a digit, . or _
		{`{"path":"1a/b/c.md"}`, 2, "under"},                          //
		{`{"path":"-a/b/c"}`, 1, `path is "-a/b/c"`},                  // or are options
		{`{"path":"+a/b/c"}`, 1, `path is`},                           //
		{`{"path":"/-a/b/c.md"}`, 2, "under"},                         // an absolute one is none
	} {
		got := labels(c.args)
		if len(got) != c.n || c.n > 0 && !strings.Contains(strings.Join(got, "\n"), c.has) {
			t.Errorf("%.60s: %q", c.args, got)
		}
	}
	for _, args := range []string{`{`, `[]`, ``} {
		if got := labels(args); got != nil {
			t.Errorf("%s: %q", args, got)
		}
	}
}

func TestPlacesAtTheEdges(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{`C:\a`, `C:\a\b`, true}, {`C:/a`, `C:/a/b`, true}, {`z:/a`, `z:/a/b`, true}, {"C:xa", "C:xa/b", false}, {"{:/a", "{:/a/b", false}, {"1:/a", "1:/a/b", false}, {"[:/a", "[:/a/b", false},
		{"/srv/a", "/srv/a/com1", false}, {"/srv/a", "/srv/a/com", true}, {"/srv/a", "/srv/a/7", true}, {"/srv/a", "/srv/a/comx", true}, {"/srv/a", "/srv/a/com10", true},
		{"_a", "_a/b", true}, {"1a", "1a/b", true}, {".a", ".a/b", true}, {"-a", "-a/b", false}, {"/-a", "/-a/b", true}, {"@a", "@a/b", false},
	} {
		p := Pin{Path: "p", Value: textOf(c.dir), Match: MatchUnder}
		args := append(append([]byte(`{"p":`), textOf(c.path)...), '}')
		if got := Hold([]Pin{p}, args); got != c.want {
			t.Errorf("%s under %s: %v", c.path, c.dir, got)
		}
	}
}
