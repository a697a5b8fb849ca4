package attacks

import (
	"strings"
	"testing"
)

// likeOthers are hosts that pass for others.
var likeOthers = map[string]string{
	"cyrillic-a":      "https://аpple.com/login",
	"all-cyrillic":    "https://аррӏе.com/",
	"greek-o":         "https://gοοgle.com/",
	"punycode":        "https://xn--pple-43d.com/",
	"fullwidth":       "https://ａpple.com/",
	"slash-lookalike": "https://bank.com⁄login.evil.com/",
	"dot-lookalike":   "https://bank。com.evil.com/",
	"latin-alpha":     "https://ɑpple.com/",
	"dotless-i":       "https://gıthub.com/",
	"bare":            "curl аpple.com/x",
	"mail":            "ceo@аpple.com",
	"path":            "/srv/дata/x",
	"path-windows":    `C:\srv\dаta`,
	"path-of-url":     "https://files.example/dоcs/x",
}

// homoglyphs is row 3: a host that passes for another is flagged on the card.
func homoglyphs() (out []attack) {
	for name, address := range likeOthers {
		out = append(out, everywhere(3, "host-"+name, func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "write", args(idOf(t), "url", address))))
			if s := k.asking(1); !strings.Contains(undiscord.ReplaceAllString(s.text, "$1"), "Careful: ") {
				t.Errorf("no warning about %s: %s", address, s.text)
			}
			k.end()
		})...)
	}
	// What stands before an @ is no host, and must not be what the card names.
	out = append(out, everywhere(3, "user-info", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, wants(call("box", "write", args(idOf(t), "url", "https://bank.com@evil.example/"))))
		s := k.asking(1)
		if !strings.Contains(undiscord.ReplaceAllString(s.text, "$1"), "evil.example") {
			t.Errorf("the card does not name the host: %s", s.text)
		}
		k.end()
	})...)
	return out
}
