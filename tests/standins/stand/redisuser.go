package stand

import (
	"fmt"
	"os"
	"strings"
)

// RedisUser makes a redis-server know the user of deploy/redis-users.acl, who has nod's keys and commands and no others: its arguments, and what
// stands before @ in the URL. A command that nod begins to use, and that is not in the file, then fails. The default user stays, for tests.
func RedisUser(file string) (args []string, info string, err error) {
	b, err := os.ReadFile(file) //nolint:gosec // a test's own
	if err != nil {
		return nil, "", err
	}
	for line := range strings.Lines(string(b)) {
		if rules, is := strings.CutPrefix(line, "user nod "); is {
			args = append([]string{"--user", "nod"}, strings.Fields(strings.Replace(rules, ">CHANGE-ME", ">secret", 1))...)
		}
	}
	if args == nil {
		return nil, "", fmt.Errorf("%s has no user nod", file)
	}
	return args, "nod:secret@", nil
}
