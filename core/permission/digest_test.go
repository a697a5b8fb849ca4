package permission

import (
	"strings"
	"testing"
)

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
