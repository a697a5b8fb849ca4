package attacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/text"
)

// doubling is a schema of n parts, each of which applies the next twice.
func doubling(n int, keyword, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":%s}}`, n, leaf)
	return b.String()
}

// union is a filter as honest tools have it.
const union = `{"type":"object","properties":{"path":{"type":"string"},"filter":{"$ref":"#/$defs/f"}},"$defs":{"f":{"anyOf":[
	{"type":"object","properties":{"and":{"$ref":"#/$defs/f"},"not":{"$ref":"#/$defs/f"}},"required":["and"]},
	{"type":"object","properties":{"and":{"$ref":"#/$defs/f"},"or":{"$ref":"#/$defs/f"}},"required":["and"]},
	{"type":"string"}]}}}`

// deepFilter is a filter that fits no part of a union, n levels deep.
func deepFilter(path string, n int) string {
	return fmt.Sprintf(`{"filter":%s1%s,"path":%q}`, strings.Repeat(`{"and":`, n), strings.Repeat("}", n), path)
}

// bombTools belong to a server that is never asked for. An asked one has a filter, too.
func bombTools() []tool {
	return []tool{
		{server: "bomb", name: "doubling", description: "Writes.", schema: doubling(40, "allOf", `{}`)},
		{server: "bomb", name: "failing", description: "Writes.", schema: doubling(40, "anyOf", `{"required":["x"]}`)},
		{server: "bomb", name: "union", description: "Writes.", schema: union},
		{server: "bomb", name: "patterns", description: "Writes.", schema: `{"patternProperties":{"` + strings.Repeat("a|", 400) + `b":{}}}`},
		{server: "box", name: "filtered", description: "Writes.", schema: union},
	}
}

// exhaustion is row 31: what is made to take all time and memory takes neither. Where arguments could not be checked somebody is asked.
func exhaustion() (out []attack) {
	for name, arguments := range map[string]func(path string) string{
		"doubling": func(path string) string { return fmt.Sprintf(`{"path":%q}`, path) },
		"failing":  func(path string) string { return fmt.Sprintf(`{"path":%q}`, path) },
		"union":    func(path string) string { return deepFilter(path, 55) },
	} {
		out = append(out, everywhere(31, "check-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("bomb", name, arguments(idOf(t)))))
			s := k.asking(1)
			if !has([]string{s.text}, text.Unchecked) {
				t.Errorf("the card does not say why: %s", s.text)
			}
			k.end()
		})...)
		out = append(out, everywhere(31, "stop-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("bomb", name, arguments(idOf(t)))))
			k.click(ana, k.asking(1), "Stop")
			k.over(1)
			k.never()
		})...)
	}
	out = append(out, everywhere(31, "edit-to-what-cannot-be-checked", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "filtered", fmt.Sprintf(`{"path":%q}`, idOf(t)))))
		on := k.asking(1)
		if has([]string{on.text}, text.Unchecked) {
			t.Errorf("it is said of what was checked: %s", on.text)
		}
		k.fill(t, ana, on, k.one(on, "Edit arguments…"), "args", deepFilter(k.name, 55))
		k.until("it asks anew, and says so", func(s shot) bool { return s.asks == 1 && has([]string{s.text}, text.Unchecked) })
		k.end()
	})...)
	return out
}
