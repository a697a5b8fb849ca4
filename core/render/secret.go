package render

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretWords are the parts of a member's name that say that its value is a secret.
var secretWords = map[string]bool{
	"password": true, "passwords": true, "passwd": true, "passphrase": true, "pwd": true, "secret": true, "secrets": true,
	"token": true, "authorization": true, "cookie": true, "cookies": true, "credential": true, "credentials": true,
	"apikey": true, "privatekey": true, "secretkey": true, "accesskey": true, "accesstoken": true, "authtoken": true,
}

// secretPairs are two parts that say so together.
var secretPairs = map[string]bool{"api key": true, "private key": true, "access key": true, "secret key": true, "auth key": true, "signing key": true}

// plainTails are last parts that say that the value is about a secret and is none.
var plainTails = map[string]bool{
	"count": true, "counts": true, "limit": true, "max": true, "min": true, "budget": true, "usage": true, "type": true, "name": true,
	"length": true, "size": true, "url": true, "uri": true, "endpoint": true, "policy": true, "enabled": true, "required": true,
	"expires": true, "expiry": true, "ttl": true, "path": true, "file": true,
}

// secretKey reports whether a member's name says that its value is a secret. "api_key", "apiKey" and "X-API-Key"
// do, "max_tokens" and "token_count" do not.
func secretKey(name string) bool {
	parts := words(name)
	if len(parts) == 0 || plainTails[parts[len(parts)-1]] {
		return false
	}
	for i, p := range parts {
		if secretWords[p] || i > 0 && secretPairs[parts[i-1]+" "+p] {
			return true
		}
	}
	return false
}

// words splits a name at everything that is no letter or digit and where lower case meets upper case, and
// lowers it. A run of capitals is one word.
func words(name string) []string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		upper := i > 0 && unicode.IsUpper(r)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case upper && unicode.IsLower(rs[i-1]), upper && unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1]):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// shape is a kind of secret that is known by its form. Only the group of the expression is masked.
type shape struct {
	hints []string // one of these, lower case, stands in every text that matches: looking for it is quick
	re    *regexp.Regexp
}

// secretShapes are values that are secrets wherever they stand. Each has a closed alphabet without spaces or
// shell characters (a PEM block's is base64 and line ends), so that a mask can never cover a command.
var secretShapes = []shape{
	form(`(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s]|\\[nrt])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)`, "-----begin "),
	form(start+`(sk-[A-Za-z0-9_-]{16,})`, "sk-"),
	form(start+`([rs]k_(?:live|test)_[A-Za-z0-9]{16,})`, "k_live_", "k_test_"),
	form(start+`(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`, "xox", "xapp-"),
	form(start+`(gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`, "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	form(start+`(glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,})`, "glpat-", "npm_"),
	form(start+`(AIza[A-Za-z0-9_-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b)`, "aiza", "akia", "asia"),
	form(start+`(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`, "eyj"),
	form(`(?i)`+start+`(?:bearer|basic) +([A-Za-z0-9+/_.=~-]{16,})`, "bearer ", "basic "),
	form(`(?i)`+start+`[a-z][a-z0-9+.-]*://[A-Za-z0-9._~%!$&*+,;=-]*:([A-Za-z0-9._~%!*+,=-]+)@`, "://"),
}

// start is the start of a word, in text where line ends stand as \n.
const start = `(?:\b|\\[bfnrt])`

func form(re string, hints ...string) shape { return shape{hints, regexp.MustCompile(re)} }

// maskValues masks what has the form of a secret, and counts it.
func maskValues(s string) (out string, masked int) {
	lower := strings.ToLower(s)
	for _, shape := range secretShapes {
		hinted := false
		for _, h := range shape.hints {
			hinted = hinted || strings.Contains(lower, h)
		}
		if !hinted {
			continue
		}
		var b strings.Builder
		from := 0
		for _, f := range shape.re.FindAllStringSubmatchIndex(s, -1) {
			masked++
			b.WriteString(s[from:f[2]])
			b.WriteString(Secret(utf8.RuneCountInString(s[f[2]:f[3]])))
			from = f[3]
		}
		b.WriteString(s[from:])
		s = b.String()
	}
	return s, masked
}
