package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mask stands where a secret would.
const Mask = "***"

// Secret is text that no log, error or dump shows: whatever prints it prints [Mask], and an empty one prints
// empty. [Secret.Reveal] is the one way to the text, so that its uses can be found.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format answers every verb with the mask, %#v too. Without it %d of a string would print the string in fmt's complaint.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// MarshalText masks JSON, YAML, slog's attributes and every other encoding that knows texts.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Text is a value that may carry a secret in a part of it: a URL with a password or a token, an argument of a
// command. It prints with those parts masked.
type Text struct{ value, shown string }

// URL makes a Text of a URL. What it shows are scheme and host, and [Mask] for the rest.
func URL(s string) Text { return Text{s, maskURL(s)} }

// Reveal returns the text itself.
func (t Text) Reveal() string { return t.value }

// IsZero reports whether the text is empty.
func (t Text) IsZero() bool { return t.value == "" }

func (t Text) String() string { return t.shown }

// Format and MarshalText mask as those of [Secret] do.
func (t Text) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, t.shown) }

// MarshalText masks every encoding that knows texts.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.shown), nil }

// maskURL shows where a URL leads and nothing more: some servers' whole secret is a path or a query's name. A Redis database's number and
// the path of a Unix socket are none.
func maskURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return Mask
	}
	shown := u.Scheme + "://"
	if u.User != nil {
		shown += Mask + "@"
	}
	shown += u.Host
	switch path := strings.Trim(u.Path, "/"); {
	case path == "", u.Scheme == "unix", strings.HasPrefix(u.Scheme, "redis") && strings.Trim(path, "0123456789") == "":
		shown += u.EscapedPath()
	default:
		shown += "/" + Mask
	}
	if u.RawQuery != "" {
		shown += "?" + Mask
	}
	if u.Fragment != "" {
		shown += "#" + Mask
	}
	return shown
}

var (
	sensitive = regexp.MustCompile(`(?i)(key|token|secret|pass|pwd|auth|bearer|credential|cookie|header|pin|otp|jwt|dsn|url|uri|conn|pat\b)`)
	tokenLike = regexp.MustCompile(`^(sk-|xox[a-z]-|xapp-|gh[a-z]_|github_pat_|glpat-|AKIA|eyJ)|[A-Za-z0-9+_-]{40,}`)
	separator = regexp.MustCompile(`[=:]\s*`)
	// longFlag has no value of its own. shortFlag may: -pSECRET is one word for some programs.
	longFlag  = regexp.MustCompile(`^--[A-Za-z][A-Za-z-]*$`)
	shortFlag = regexp.MustCompile(`^-[A-Za-z]{1,2}$`)
	// plain are the short flags after which what comes is no secret for the programs that start servers: npx -y, python -m, docker run -i,
	// -t, -it and -v, node -r.
	plain = []string{"-y", "-m", "-i", "-t", "-it", "-v", "-r", "-q"}
)

// maskArgs sets what each argument shows. What follows a flag of one letter is shown only where such a flag is known to take no secret,
// and what follows a long one where its name does not sound like one. An argument that already shows less than its value keeps that.
func maskArgs(args []Text) {
	next := false
	for i, a := range args {
		v, hide := a.value, next
		next = false
		at := separator.FindStringIndex(v)
		switch {
		case a.shown != v:
		case hide && !strings.HasPrefix(v, "-"), tokenLike.MatchString(v):
			args[i].shown = Mask
		case strings.Contains(v, "://"):
			args[i].shown = maskURL(v)
		case at != nil && (sensitive.MatchString(v[:at[0]]) || strings.HasPrefix(v, "-")):
			args[i].shown = v[:at[1]] + Mask
		case longFlag.MatchString(v):
			next = sensitive.MatchString(v) || strings.Contains(v, "user") // often with a password behind a colon
		case shortFlag.MatchString(v):
			next = !slices.Contains(plain, v)
		case strings.HasPrefix(v, "-") && len(v) > 2 && v[1] != '-':
			args[i].shown = v[:2] + Mask
		case strings.HasPrefix(v, "-") && v != "-" && v != "--":
			args[i].shown = Mask
		}
	}
}

// Hidden are the parts of arguments that they do not show: the whole of ***, the value of --key=***.
func Hidden(args []Text) (out []string) {
	for _, a := range args {
		if shown, hides := strings.CutSuffix(a.shown, Mask); hides {
			out = append(out, strings.TrimPrefix(a.value, shown))
		}
	}
	return out
}

// RevealAll reveals a list, for those who must have the texts themselves.
func RevealAll[T interface{ Reveal() string }](in []T) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = s.Reveal()
	}
	return out
}

// RevealMap reveals the values of a map.
func RevealMap(in map[string]Secret) map[string]string {
	out := make(map[string]string, len(in))
	for k, s := range in {
		out[k] = s.Reveal()
	}
	return out
}
