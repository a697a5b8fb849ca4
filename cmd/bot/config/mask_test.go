package config

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestWhatAURLShows(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"https://h.example/":             "https://h.example/",
		"https://h.example/s/s3cret/mcp": "https://h.example/***",
		"https://h.example?s3cret":       "https://h.example?***",
		"https://u:s3cret@h.example:1/p?b=2&a=1#f": "https://***@h.example:1/***?***#***",
		"rediss://h:6379/s3cret":                   "rediss://h:6379/***",
		"redis://:s3cret@h:6379/0":                 "redis://***@h:6379/0",
		"unix:///run/redis.sock?db=1":              "unix:///run/redis.sock?***",
		"s3cret":                                   "***",
		"mailto:s3cret":                            "***",
		"http://[::1":                              "***",
		"https://h.example/1234567890":             "https://h.example/***", // no database's number
	} {
		if got := URL(in).String(); got != want {
			t.Errorf("%q shows %q, want %q", in, got, want)
		}
		if URL(in).Reveal() != in {
			t.Errorf("%q is not revealed", in)
		}
	}
}

func TestWhatACommandShows(t *testing.T) {
	got := ""
	for _, a := range masked("npx", "-y", "@scope/server", "--root", "/srv/data", "--token", "s3cret", "--api-key=s3cret", "-H", "X-Api-Key: s3cret", "ghp_s3cret", "--port", "80",
		"-p", "s3cret", "-ps3cret", "--config=s3cret", "-it", "image", "-e", "NAME=s3cret", "--dsn", "s3cret", "https://h.example/s/s3cret", "--s3cret1", "-u", "--verbose", "src", "--db-user", "ana:s3cret", "level=3", "password=s3cret", "-", "--") {
		got += " " + a.String()
	}
	if want := " npx -y @scope/server --root /srv/data --token *** --api-key=*** -H *** *** --port 80" +
		" -p *** -p*** --config=*** -it image -e *** --dsn *** https://h.example/*** *** -u --verbose src --db-user *** level=3 password=*** - --"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// masked are the arguments of a command as the configuration shows them.
func masked(args ...string) []Text {
	out := make([]Text, len(args))
	for i, a := range args {
		out[i] = Text{a, a}
	}
	maskArgs(out)
	return out
}

func TestExpand(t *testing.T) {
	e := env("A", "1", "B", "${A}", "EMPTY", "")
	for in, want := range map[string]string{
		"":                 "",
		"a$b $A $":         "a$b $A $",
		"${A}":             "1",
		"x${A}y${A}":       "x1y1",
		"${B}":             "${A}", // what stands in a variable names no other
		"$${A}":            "${A}",
		"$${A}${A}":        "${A}1",
		"${EMPTY}|":        "|",
		"${SLACK_ANY}|":    "|",
		"${OPENAI_MODEL}|": "|",
	} {
		got, _, err := expand(in, e)
		if err != nil || got != want {
			t.Errorf("%q gave %q (%v), want %q", in, got, err, want)
		}
		back, used, err := expand(EscapeVariables(got), e)
		if err != nil || used || back != got {
			t.Errorf("%q escaped and expanded gave %q (%v)", got, back, err)
		}
	}
	if _, used, _ := expand("${A}${EMPTY}", e); !used {
		t.Error("a secret with nothing behind it is shown")
	}
	for _, in := range []string{"${", "${}", "${A", "${a b}", "${1}", "${NOT_SET}", "${A}${NOT_SET}"} {
		if got, _, err := expand(in, e); err == nil {
			t.Errorf("%q gave %q", in, got)
		}
	}
}

// Whatever the YAML library quotes of its input stays out of what is said.
func TestBrokenQuotesNothing(t *testing.T) {
	for _, m := range []string{"found 's3cret' here", `found "s3cret"`, "found `s3cret`", "unknown anchor 's3cret' referenced"} {
		if p := broken("f", nil, &yaml.LoadError{Message: m}); strings.Contains(p.Say, "s3cret") {
			t.Errorf("said: %s", p.Say)
		}
	}
	for _, line := range []int{0, 9} { // it names no line, or none that there is
		if p := broken("f", []byte("\tx"), &yaml.LoadError{Mark: yaml.Mark{Line: line}, Message: "cannot start any token"}); strings.Contains(p.Say, "tab") {
			t.Errorf("said: %s", p.Say)
		}
	}
	if p := broken("f", nil, errors.New("s3cret")); p.Say != "this is not YAML" {
		t.Errorf("said: %s", p.Say)
	}
}
