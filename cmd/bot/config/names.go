package config

import (
	"fmt"
	"os"
	"strings"
)

// DefaultFile is read from the current directory where no file is named.
const DefaultFile = "nod.yaml"

// The program was called bot before it was called nod, and so were its variables. Both names are read, so that nobody's deployment stops.
const prefix, before = "NOD_", "BOT_"

// Variable looks one of nod's variables up by its name, and where that is not set or empty by the one that it had before. under is the name
// under which it was found. Space around a value is no part of it.
func Variable(env Getenv, name string) (value, under string) {
	names := []string{name}
	if rest, ok := strings.CutPrefix(name, prefix); ok {
		names = append(names, before+rest)
	}
	for _, under = range names {
		value, _ = env(under)
		if value = strings.TrimSpace(value); value != "" { // a file of variables with Windows' line ends, or a secret made with echo, has some
			return value, under
		}
	}
	return "", ""
}

// Renamed says which variables are set by the name that they had before, and which name counts.
func Renamed(env Getenv) (out []string) {
	for _, now := range []string{"NOD_CONFIG", "NOD_LISTEN", "NOD_DATA_DIR", "NOD_AUDIT_KEY", "NOD_SESSION_KEY"} {
		old := before + strings.TrimPrefix(now, prefix)
		if v, _ := env(old); v == "" {
			continue
		}
		say := "the environment variable %s is called %s now; it counts under its old name, too"
		if _, under := Variable(env, now); under == now {
			say = "the environment variable %s is called %s now; both are set, and the new one counts"
		}
		out = append(out, fmt.Sprintf(say, old, now))
	}
	return out
}

// find is the file that is read where none is named: nod.yaml of the current directory. It says which programs to start, so one that somebody
// else put there is not read: whoever may write to /tmp would decide what nod does for all who start it there.
func find() (path string, err error) {
	info, err := os.Stat(DefaultFile)
	if err != nil {
		return "", nil //nolint:nilerr // none is there
	}
	if !owned(info) {
		return "", fmt.Errorf("%s in this directory belongs to somebody else, so it is not read unasked; if you trust it, name it: -config %s", DefaultFile, DefaultFile)
	}
	return DefaultFile, nil
}
