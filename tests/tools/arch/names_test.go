package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Nothing that people read calls the program by the name that it had.
func TestProgramIsCalledNod(t *testing.T) {
	looked := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == "node_modules" || name == "testdata" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".json", ".html", ".js", ".service"}, filepath.Ext(file)) && d.Name() != "Makefile" && !strings.HasPrefix(d.Name(), "Dockerfile") {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		looked++
		for _, f := range Formerly(filepath.ToSlash(rel), string(data)) {
			t.Error(f)
		}
		return nil
	})
	if err != nil || looked < 500 {
		t.Errorf("%d files looked at, %v", looked, err)
	}
}

func TestFormerlyBites(t *testing.T) {
	for line, old := range map[string]bool{
		"run bot doctor": true, "name bot.yaml": true, "BOT_LISTEN=x": true, "set `BOT_DATA_DIR`": true, "    bot": true, "`bot` alone": true, "-o bin/bot ./cmd/bot": true, "bot -config x": true,
		"the bot's token": false, "SLACK_BOT_TOKEN": false, "go run ./cmd/bot": false, "a bot that asks": false, "bot_token: x": false, "a robot config": false, "nod doctor": false,
	} {
		if got := Formerly("docs/x.md", line) != nil; got != old {
			t.Errorf("%q: found: %v", line, got)
		}
	}
	if Formerly("cmd/bot/x_test.go", "BOT_LISTEN") != nil {
		t.Error("tests may name what went on working")
	}
}
