package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// formerly finds what people read of when the program was called bot: its commands, its file, its variables.
var formerly = regexp.MustCompile("(?:^|[^/A-Za-z_])bot (?:serve|config (?:check|print)|doctor|manifest|audit|permissions|chat|help|completion|version|init|COMMAND|-)|\\bbot\\.yaml|(?:^|[^_A-Za-z])BOT_|\\bbin/bot\\b|`bot`|^    bot\\b")

// mayName are the files that say that there were other names, each with how many lines do.
var mayName = map[string]int{
	"cmd/bot/config/names.go": 1, "cmd/bot/config/value.go": 1, "docs/configuration.md": 2, "CHANGELOG.md": 1, "docs/decisions/0017-the-program-is-called-nod.md": 5,
	"tests/tools/arch/names.go": 1,
}

// Formerly names the lines of a file that have the program's old name. Tests may: they show that it goes on working.
func Formerly(path, source string) (found []string) {
	if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tests/standins/node") {
		return nil
	}
	for n, line := range slices.Collect(strings.SplitSeq(source, "\n")) {
		if formerly.MatchString(line) {
			found = append(found, fmt.Sprintf("%s:%d: the program is called nod, nod.yaml is its file and NOD_* are its variables: %s", path, n+1, strings.TrimSpace(line)))
		}
	}
	if len(found) <= mayName[path] {
		return nil
	}
	return found
}
