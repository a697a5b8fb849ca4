package permission

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestKeptDefinition(t *testing.T) {
	cut := Definition{Cut: true}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		name string
		d    Definition
		kept bool
	}{
		{"only a title", Definition{Title: "Go"}, true},
		{"all parts", Definition{"Go", "It goes.", raw(`{}`), raw(`{}`), raw(`{}`), false}, true},
		{"no JSON", Definition{Title: "Go", Input: raw(`{`)}, false},
		{"an output that is no JSON", Definition{Title: "Go", Output: raw(`{`)}, false},
		{"annotations that are no JSON", Definition{Title: "Go", Annotations: raw(`{`)}, false},
		{"as long as may be", Definition{Title: strings.Repeat("x", MaxDefinition)}, true},
		{"longer", Definition{Title: strings.Repeat("x", MaxDefinition+1)}, false},
		{"longer together", Definition{Title: strings.Repeat("x", MaxDefinition-1), Input: raw(`{}`)}, false},
	} {
		want := cut
		if c.kept {
			want = c.d
		}
		if got := c.d.Kept(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %.80v", c.name, got)
		}
	}
}

func TestDifferences(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	same := Pinned{Tool: files, Counts: files.Definition, Was: Definition{Title: "a"}, Now: Definition{Title: "b"}}
	if got := same.Differences(); got != nil {
		t.Errorf("it is what counts, and yet %v", got)
	}
	changed := func(was, now Definition) Pinned { return Pinned{Tool: files, Counts: "d0", Was: was, Now: now} }
	whole := []Difference{{"definition", "d0", "d1"}}
	for _, c := range []struct {
		name string
		p    Pinned
		want []Difference
	}{
		{"texts", changed(Definition{Title: "a", Description: "x"}, Definition{Title: "b", Description: "x"}), []Difference{{"title", "a", "b"}}},
		{"nothing that is said", changed(Definition{Input: raw(`{"b":1,"a":2}`)}, Definition{Input: raw(`{"a":2, "b":1}`)}), []Difference{{PartOrigin, "", ""}}},
		{"a schema", changed(Definition{Input: raw(`{"a":1}`)}, Definition{}), []Difference{{"input schema", "{\n  \"a\": 1\n}", ""}}},
		{"what is no JSON", changed(Definition{Output: raw(`{`)}, Definition{Output: raw(`[`)}), []Difference{{"output schema", "{", "["}}},
		{"was too long", changed(Definition{Cut: true}, Definition{Title: "b"}), whole},
		{"is too long", changed(Definition{Title: "a"}, Definition{Cut: true}), whole},
	} {
		if got := c.p.Differences(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	long := strings.Repeat("ä", maxDifference)
	d := Difference{"title", long, long + "bc"}.Clipped()
	if d.Was != long || d.Now != long+" … (2 more characters)" {
		t.Errorf("%d and %d characters", len([]rune(d.Was)), len([]rune(d.Now)))
	}
}
