package config

import (
	"fmt"
	"log/slog"
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

// Format answers every verb with the mask. Without it %d of a string would print the string in fmt's complaint.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// GoString masks %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue masks slog attributes.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks JSON and every other encoding that knows texts.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML masks YAML.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// Text is a value that may carry a secret in a part of it: a URL with a password or a token, an argument of a
// command. It prints with those parts masked.
type Text struct{ value, shown string }

// URL makes a Text of a URL. What it shows are scheme, host and path, the names in the query, and [Mask] for the rest.
func URL(s string) Text { return Text{s, maskURL(s, false)} }

// Args makes Texts of a command line. Values of flags and headers that sound like secrets are masked, and what looks
// like a token or a URL with a password.
func Args(args ...string) []Text {
	out := make([]Text, len(args))
	for i, a := range args {
		out[i] = Text{a, a}
	}
	maskArgs(out)
	return out
}

// Reveal returns the text itself.
func (t Text) Reveal() string { return t.value }

// IsZero reports whether the text is empty.
func (t Text) IsZero() bool { return t.value == "" }

func (t Text) String() string { return t.shown }

// Format masks every verb.
func (t Text) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, t.shown) }

// GoString masks %#v.
func (t Text) GoString() string { return t.shown }

// LogValue masks slog attributes.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.shown) }

// MarshalText masks JSON and every other encoding that knows texts.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.shown), nil }

// MarshalYAML masks YAML.
func (t Text) MarshalYAML() (any, error) { return t.shown, nil }

// maskURL hides user and password, every query value, the fragment and, where hidePath, the path: some
// servers' whole secret is a path.
func maskURL(s string, hidePath bool) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return Mask
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		b.WriteString(Mask + "@")
	}
	b.WriteString(u.Host)
	if hidePath && strings.Trim(u.Path, "/") != "" {
		b.WriteString("/" + Mask)
	} else {
		b.WriteString(u.EscapedPath())
	}
	if u.RawQuery != "" {
		names := make([]string, 0)
		for k := range u.Query() {
			names = append(names, url.QueryEscape(k)+"="+Mask)
		}
		slices.Sort(names)
		b.WriteString("?" + strings.Join(names, "&"))
	}
	if u.Fragment != "" {
		b.WriteString("#" + Mask)
	}
	return b.String()
}

var (
	sensitive = regexp.MustCompile(`(?i)(key|token|secret|passw|pwd|auth|bearer|credential|cookie|pat\b)`)
	tokenLike = regexp.MustCompile(`^(sk-|xox[a-z]-|xapp-|gh[a-z]_|github_pat_|glpat-|AKIA|eyJ)|[A-Za-z0-9+_-]{40,}`)
	separator = regexp.MustCompile(`[=:]\s*`)
)

// maskArgs sets what each argument shows. An argument that already shows less than its value keeps that.
func maskArgs(args []Text) {
	next := false
	for i, a := range args {
		hide := next
		next = false
		if a.shown != a.value {
			continue
		}
		v := a.value
		at := separator.FindStringIndex(v)
		switch {
		case hide || tokenLike.MatchString(v):
			args[i].shown = Mask
		case strings.Contains(v, "://") && strings.ContainsAny(v, "@?"):
			args[i].shown = maskURL(v, false)
		case at != nil && sensitive.MatchString(v[:at[0]]):
			args[i].shown = v[:at[1]] + Mask
		case at == nil && strings.HasPrefix(v, "-") && sensitive.MatchString(v):
			next = true
		}
	}
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
