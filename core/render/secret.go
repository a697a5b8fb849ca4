package render

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/text"
)

// The parts of a member's name that tell whether its value is a secret.
var (
	secretWords = text.WordSet("password passwords passwd passphrase pwd secret secrets token authorization cookie cookies credential credentials " +
		"apikey privatekey secretkey accesskey accesstoken authtoken")
	secretBeforeKey = text.WordSet("api private access secret auth signing") // they say so before "key"
	secretTails     = text.WordSet("pass pin otp tokens auth jwt")           // last, of a value with a digit in it: the words mean other things, too
	plainTails      = text.WordSet("count counts limit max min budget usage type name length size url uri endpoint policy enabled required " +
		"expires expiry ttl path file") // last, they say that the value is about a secret and is none
)

// wordShape is a value without room for a command: no spaces, quotes, slashes, nor anything that a shell reads. Only such a value is
// masked for its name's sake.
var wordShape = regexp.MustCompile(`^[A-Za-z0-9]` + wordRest + `*$`)

const wordRest = `[A-Za-z0-9_.+=~:@^,!#%-]`

// namesSecret reports whether a member's name says that this value of it is a secret. "api_key", "apiKey" and "X-API-Key" say it,
// "max_tokens" and "token_count" do not.
func namesSecret(name, value string) bool {
	parts := text.NameWords(name)
	if len(parts) == 0 || plainTails[parts[len(parts)-1]] {
		return false
	}
	for i, p := range parts {
		if secretWords[p] || i > 0 && p == "key" && secretBeforeKey[parts[i-1]] {
			return wordShape.MatchString(value)
		}
	}
	tail := parts[len(parts)-1]
	if !secretTails[tail] || !wordShape.MatchString(value) { // last, because a value may be long
		return false
	}
	number := strings.Trim(value, "0123456789") == ""
	return strings.ContainsAny(value, "0123456789") && !(number && tail == "tokens")
}

// span is a part of a text.
type span struct{ from, to int }

// shape is a kind of secret that is known by its form. Only the last group of the expression is masked.
type shape struct {
	hints []string // one of these, lower case, stands in every text that matches: looking for it is quick
	re    *regexp.Regexp
	is    func(text string, groups []string, at span) bool // whether it is one after all; nil: always
}

// secretShapes are values that are secrets wherever they stand. Each has a closed alphabet without spaces or
// shell characters (a PEM block's is base64 and its line ends), so that there is no room for a command under a mask. Whoever decides can
// see what a mask hides all the same, and has to.
var secretShapes = []shape{
	form(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`+keyLine+`(?:[A-Z][A-Za-z-]{1,20}: [ -~]{0,80}`+keyLine+`)*(?:`+keyLine+`)?((?:[A-Za-z0-9+/=]{1,76}(?:`+keyLine+`)?)+)`, isKey, "-----begin "),
	form(`\b(sk-[A-Za-z0-9_-]{16,})`, isRandom, "sk-"),
	form(`\b([rs]k_(?:live|test)_[A-Za-z0-9]{16,})`, nil, "k_live_", "k_test_"),
	form(`\b(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`, hasDigit, "xox", "xapp-"),
	form(`\b(gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`, nil, "gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	form(`\b(glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,})`, hasDigit, "glpat-", "npm_"),
	form(`\b(AIza[A-Za-z0-9_-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b|ya29\.[A-Za-z0-9_-]{20,})`, nil, "aiza", "akia", "asia", "ya29."),
	form(`\b(hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{32,}|whsec_[A-Za-z0-9+=]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})`, hasDigit, "hf_", "dop_v1_", "whsec_", "sg."),
	form(`\bhooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]+/[A-Z0-9]+/([A-Za-z0-9]{16,})`, nil, "hooks.slack.com/"),
	form(`\bdiscord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/([A-Za-z0-9_-]{20,})`, nil, "/webhooks/"),
	form(`\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`, nil, "eyj"),
	form(`(?i)\bbearer +([A-Za-z0-9+_.=~-]{16,})`, ends, "bearer "),
	form(`(?i)\bbasic +([A-Za-z0-9+/]{8,}={0,2})`, isBasic, "basic "),
	form(`(?i)\bauthorization["']?[:=] *["']?[a-z]+ +([A-Za-z0-9]`+wordRest+`{7,})`, isWhole, "authorization"),
	form(`(?i)\baws_?secret_?(?:access_?)?key["']? ?[:=] ?["']?([A-Za-z0-9/+]{40})\b`, nil, "aws"),
	form(`(?i)\b[a-z][a-z0-9+.-]*://[A-Za-z0-9._~%!$&*+,;=-]*:([A-Za-z0-9._~%!*+,=@:^-]+)@`, nil, "://"),
	form(`(?:^|[^A-Za-z0-9_.-])--?([A-Za-z][A-Za-z0-9_-]*)(=| +)["']?([A-Za-z0-9]`+wordRest+`*)`, isNamed, hints...),
	form(`(?:^|[^A-Za-z0-9_.-])([A-Za-z][A-Za-z0-9_.-]*)\\?["']?( ?= ?|: ?)\\?["']?([A-Za-z0-9]`+wordRest+`*)`, isNamed, hints...),
}

// hints stand in the names of secrets.
var hints = []string{"pass", "pwd", "secret", "token", "cookie", "credential", "key", "auth", "pin", "otp", "jwt"}

// keyLine is the end of a line, also as it is written into a configuration.
const keyLine = `(?:\r?\n|\\n)`

func form(re string, is func(string, []string, span) bool, hints ...string) shape {
	return shape{hints, regexp.MustCompile(re), is}
}

func hasDigit(_ string, groups []string, _ span) bool {
	return strings.ContainsAny(groups[len(groups)-1], "0123456789")
}

// isRandom tells a key from a name: letters and digits without a break.
func isRandom(_ string, groups []string, _ span) bool {
	return slices.ContainsFunc(strings.FieldsFunc(groups[1][3:], func(r rune) bool { return r == '-' || r == '_' }), func(s string) bool {
		return len(s) >= 24 || len(s) >= 16 && strings.ContainsAny(s, "0123456789")
	})
}

// ends: a value that goes on with other characters is more than a word, and none of it is masked.
func ends(text string, _ []string, at span) bool {
	return at.to == len(text) || strings.IndexByte(" \t\r\n\"'`;&|)<>]},\\", text[at.to]) >= 0
}

func isWhole(text string, groups []string, at span) bool {
	return hasDigit(text, groups, at) && ends(text, groups, at)
}

// isBasic: a name and a password.
func isBasic(_ string, groups []string, _ span) bool {
	plain, err := base64.StdEncoding.DecodeString(groups[1])
	return err == nil && strings.Contains(string(plain), ":") && isASCII(string(plain))
}

// isNamed: after a name that says so, "--password x", "TOKEN=x" and "X-Api-Key: x".
func isNamed(text string, groups []string, at span) bool {
	value := groups[3]
	if sure := strings.Contains(groups[2], "="); !sure && !strings.ContainsAny(value, "0123456789") { // or it is a sentence
		return false
	}
	return len(value) >= 4 && namesSecret(groups[1], value) && ends(text, groups, at)
}

// isKey: lines of base64 as keys are written: of one length but for the last, and what they hold is a key, or long.
func isKey(_ string, groups []string, _ span) bool {
	lines := strings.Fields(strings.NewReplacer("\r", "", `\n`, " ").Replace(groups[1]))
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "=") { // the sum of a PGP block
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if i < len(lines)-1 && (len(l) != len(lines[0]) || len(l) < 60) || len(l) > len(lines[0]) {
			return false
		}
	}
	key, err := base64.StdEncoding.DecodeString(strings.Join(lines, ""))
	return err == nil && (len(lines) > 3 || strings.HasPrefix(string(key), "0") || strings.HasPrefix(string(key), "openssh-key-v1")) && len(key) >= 30
}

// secrets are the parts of a text that have the form of a secret, in order.
func secrets(s string) []span {
	lower := strings.ToLower(s)
	var found []span
	for _, shape := range secretShapes {
		if !slices.ContainsFunc(shape.hints, func(h string) bool { return strings.Contains(lower, h) }) {
			continue
		}
		for from := 0; from < len(s); {
			m := shape.re.FindStringSubmatchIndex(s[from:])
			if m == nil {
				break
			}
			groups := make([]string, len(m)/2)
			for i := range groups {
				groups[i] = s[from+m[2*i] : from+m[2*i+1]]
			}
			at := span{from + m[len(m)-2], from + m[len(m)-1]}
			if shape.is == nil || shape.is(s, groups, at) {
				found = append(found, at)
				from = at.to
				continue
			}
			from += m[3] // it may begin with the next word
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []span
	for _, f := range found {
		if n := len(out); n > 0 && f.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}
