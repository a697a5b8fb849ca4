package config

import (
	"fmt"
	"strings"
)

// Getenv looks a variable up: os.LookupEnv, or a table in a test.
type Getenv func(name string) (value string, set bool)

// optional reports whether a variable that is not set means empty: those that the bot reads itself, so that one file serves
// with and without Slack, Discord or a model's key. Everything else must be set where it is named.
func optional(name string) bool {
	for _, p := range []string{"SLACK_", "DISCORD_", "OPENAI_", "BOT_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return name == "REDIS_URL" || name == "ADMIN_SESSION_KEYS"
}

// expand replaces ${NAME} by the variable and $${ by ${. A lone $ stays. used reports that a variable's value went in.
// A value is not expanded again, so what stands in a variable can name no other.
func expand(s string, env Getenv) (out string, used bool, err error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), used, nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		name, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok || !isName(name) {
			return "", used, fmt.Errorf("a variable is written ${NAME}, and a literal ${ is written $${")
		}
		v, set := env(name)
		if !set && !optional(name) {
			return "", used, fmt.Errorf("the environment variable %s is not set", name)
		}
		b.WriteString(v)
		used = used || v != ""
		s = rest
	}
}

func isName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// escapeVariables makes expand give s back.
func escapeVariables(s string) string { return strings.ReplaceAll(s, "${", "$${") }
