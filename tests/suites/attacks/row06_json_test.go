package attacks

import (
	"fmt"
	"strings"
	"testing"
)

// ambiguous is row 6: what two readers could read differently is refused, and what is not keeps its bytes.
func ambiguous() (out []attack) {
	const p = `"path":"%[1]s"`
	for name, arguments := range map[string]string{
		"duplicate-key":       `{"path":"/tmp",` + p + `}`,
		"duplicate-nested":    `{` + p + `,"a":{"b":1,"b":2}}`,
		"duplicate-in-list":   `{` + p + `,"a":[{"b":1,"b":2}]}`,
		"duplicate-escaped":   `{"p\u0061th":"/tmp",` + p + `}`,
		"duplicate-far-apart": `{` + p + `,` + strings.Repeat(`"x":[1],"y":2,`, 1) + `"path":"/tmp"}`,
		"half-a-surrogate":    `{` + p + `,"a":"\ud800"}`,
		"surrogates-turned":   `{` + p + `,"a":"\udc00\ud800"}`,
		"invalid-utf8":        "{" + p + ",\"a\":\"\xff\"}",
		"overlong-utf8":       "{" + p + ",\"a\":\"\xc0\xaf\"}",
		"trailing-value":      `{` + p + `}{"path":"/tmp"}`,
		"trailing-comma":      `{` + p + `,}`,
		"comment":             `{` + p + `/*,"a":1*/}`,
		"byte-order-mark":     "\ufeff{" + p + "}",
		"array":               `[{` + p + `}]`,
		"string-of-json":      `"{\"path\":\"%[1]s\"}"`,
		"nan":                 `{` + p + `,"a":NaN}`,
		"beyond-floats":       `{` + p + `,"a":1e400}`,
		"hex-number":          `{` + p + `,"a":0x10}`,
		"leading-zero":        `{` + p + `,"a":010}`,
		"raw-control":         "{" + p + ",\"a\":\"\x01\"}",
		"single-quotes":       `{'path':'%[1]s'}`,
		"too-deep":            `{` + p + `,"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
		"too-long":            `{` + p + `,"a":"` + strings.Repeat("a", 1<<20) + `"}`,
		"unfinished":          `{` + p,
	} {
		out = append(out, everywhere(6, name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "write", fmt.Sprintf(arguments, idOf(t)))))
			if s := k.over(1); s.asks > 0 {
				t.Errorf("it asks for arguments that can be read in two ways")
			}
			k.never()
			if read := w.pen.read(k.name); !strings.Contains(read, "refused") && !strings.Contains(read, "not") {
				t.Errorf("the model was not told why: %s", clip(read, 1000))
			}
		})...)
	}
	for name, want := range map[string]string{
		"big-integer": `9007199254740993`, "negative-zero": `-0`, "long-fraction": `0.1000000000000000055511151231257827`,
	} {
		out = append(out, everywhere(6, name+"-keeps-its-text", func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "write", fmt.Sprintf(`{"path":%q,"n":%s}`, idOf(t), want))))
			s := k.asking(1)
			if !strings.Contains(s.text, want) {
				t.Errorf("the card does not show %s: %s", want, s.text)
			}
			k.click(ana, s, "Allow once")
			k.over(1)
			if got := k.ledger.of(quoted(k.name)); len(got) != 1 || !strings.Contains(got[0].args, want) {
				t.Errorf("it ran with %+v", got)
			}
		})...)
	}
	// Keys that differ in their case are two keys: both are shown, and both arrive.
	out = append(out, everywhere(6, "case-folding", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "write", fmt.Sprintf(`{"path":%q,"PATH":"/upper","Path":"/title"}`, idOf(t)))))
		s := k.asking(1)
		k.click(ana, s, "Allow once")
		k.over(1)
		got := k.ledger.of(quoted(k.name))
		for _, want := range []string{"/upper", "/title"} {
			if !strings.Contains(s.text, want) || len(got) != 1 || !strings.Contains(got[0].args, want) {
				t.Errorf("%s: the card shows %s, and it ran with %+v", want, s.text, got)
			}
		}
	})...)
	return out
}
