package attacks

import (
	"fmt"
	"strings"
	"testing"
)

// hiddenSets are what a person cannot see, by class; of large classes the ends and a middle.
var hiddenSets = map[string]string{
	"controls":          runes(0x01, 0x07, 0x0B, 0x0E, 0x1B, 0x1F, 0x7F, 0x85, 0x9B),
	"zero-width":        runes(0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF),
	"bidi":              runes(0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0x200E, 0x200F, 0x061C),
	"formats":           runes(0x00AD, 0x0600, 0x06DD, 0x070F, 0x180E, 0x2061, 0x2064, 0x206A, 0x206F, 0xFFF9, 0xFFFB, 0x110BD, 0x1BCA0, 0x1D173),
	"line-separator":    runes(0x2028),
	"paragraph":         runes(0x2029),
	"odd-spaces":        runes(0x00A0, 0x1680, 0x2000, 0x2003, 0x200A, 0x202F, 0x205F, 0x3000),
	"variations":        runes(0xFE00, 0xFE0E, 0xFE0F, 0xE0100, 0xE0150, 0xE01EF, 0x180B),
	"tags":              runes(0xE0001, 0xE0020, 0xE0041, 0xE007A, 0xE007F),
	"private-use":       runes(0xE000, 0xF000, 0xF8FF, 0xF0000, 0xFFFFD, 0x100000, 0x10FFFD),
	"default-ignorable": runes(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0xE0002, 0xE0FFF),
	"strikes":           runes(0x0335, 0x0336, 0x0338, 0x20D2, 0x20EB),
	"blank-glyphs":      runes(0x2800, 0xFFFC, 0x16FE4, 0x1D159),
	"unassigned":        runes(0x0378, 0x2065, 0xFFF0, 0x50000),
}

func runes(rs ...rune) string { return string(rs) }

// hiddenCharacters is row 2: in an argument, a key, at the ends of either, in a tool's description or in an answer that is decided
// on, no hidden character reaches anybody, and the card counts what it made visible.
func hiddenCharacters() (out []attack) {
	for class, set := range hiddenSets {
		n := len([]rune(set))
		between := strings.Join(strings.Split(set, ""), "a")
		for _, p := range []struct {
			where  string
			script func(name string) []reply
			count  int
		}{
			{"inside", func(name string) []reply {
				return []reply{wants(call("box", "write", args(name, "text", "rm "+between+" -rf")))}
			}, n},
			{"first", func(name string) []reply {
				return []reply{wants(call("box", "write", args(name, "text", set+"rm -rf")))}
			}, n},
			{"last", func(name string) []reply {
				return []reply{wants(call("box", "write", args(name, "text", "rm -rf"+set)))}
			}, n},
			{"key", func(name string) []reply { return []reply{wants(call("box", "write", args(name, "te"+set+"xt", "v")))} }, n},
			{"description", func(name string) []reply { return []reply{wants(call("hider", class, `{"path":"`+name+`"}`))} }, 0},
		} {
			in := somewhere
			if p.where == "inside" || p.where == "description" {
				in = everywhere
			}
			out = append(out, in(2, class+"-"+p.where, func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface, p.script(idOf(t))...)
				s := k.asking(1)
				for _, x := range append(k.payloads(), s.raw) {
					if r, found := survives(x, set); found {
						t.Fatalf("U+%04X survives: %q", r, clip(x, 3000))
					}
				}
				if p.count > 0 && !strings.Contains(s.text, fmt.Sprint(p.count)+" hidden character") && !strings.Contains(s.raw, fmt.Sprintf(`"escaped":%d`, p.count)) {
					t.Errorf("the card does not say that %d were made visible: %s", p.count, s.text)
				}
				k.end()
			})...)
		}
	}
	return out
}

// survives finds a character of a set in a payload, as itself or as JSON's escape of it.
func survives(payload, set string) (rune, bool) {
	payload = strings.ReplaceAll(payload, "⚠️", "") // our own sign
	for _, r := range set {
		if strings.ContainsRune(payload, r) || r <= 0xFFFF && strings.Contains(strings.ToLower(payload), fmt.Sprintf(`\u%04x`, r)) {
			return r, true
		}
	}
	return 0, false
}

// hiderTools have a description with each class.
func hiderTools() (out []tool) {
	for class, set := range hiddenSets {
		out = append(out, tool{server: "hider", name: class, description: "Writes " + set + " safely" + set})
	}
	return out
}
