package tasks

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// World is a directory in which each task has one of its own, below it; memory.jsonl in memory/ is what the memory server knows.
type World struct{ Dir string }

// Seed makes the world in an empty directory.
func Seed(dir string) (World, error) {
	for name, content := range seeds() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return World{}, err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return World{}, err
		}
	}
	w := World{dir}
	for _, t := range All {
		if err := os.MkdirAll(w.Of(t), 0o755); err != nil {
			return World{}, err
		}
		if usesGit(t) {
			if err := seedRepository(w.Of(t)); err != nil {
				return World{}, err
			}
		}
	}
	return w, os.MkdirAll(filepath.Join(w.Of(named("Clean up temp")), "trash"), 0o755)
}

// Of is the directory of a task.
func (w World) Of(t Task) string { return filepath.Join(w.Dir, t.Slug()) }

// Memory is the memory server's file.
func (w World) Memory() string { return filepath.Join(w.Dir, "memory", "memory.jsonl") }

func named(name string) Task {
	for _, t := range All {
		if t.Name == name {
			return t
		}
	}
	panic("no task " + name)
}

func usesGit(t Task) bool {
	for _, c := range t.Calls() {
		if c.Server == "git" {
			return true
		}
	}
	return false
}

// seeds are the files of the world.
func seeds() map[string]string {
	all := map[string]string{"memory/memory.jsonl": `{"type":"entity","name":"payments rota","entityType":"rota","observations":["Ana is on call"]}` + "\n"}
	put := func(task, name, content string) { all[named(task).Slug()+"/"+name] = content }
	for _, f := range docs {
		put("Summarise five files", f, "About "+f+".\n")
	}
	for _, m := range months {
		put("Rename all reports of 2025", "reports/report-2025-"+m+".md", "Report of "+m+".\n")
	}
	put("Rename all reports of 2025", "reports/report-2024-12.md", "Report of last year.\n")
	for _, f := range drafts {
		put("Clean up temp", "temp/"+f, "draft\n")
	}
	put("Changelog and commit", "CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 1.0\n")
	put("Find an owner and message them", ".github/CODEOWNERS", "src/pay.go @ana\n")
	put("What changed last week", "app.txt", "one\n")
	put("Fix a typo", "README.md", "You recieve a mail.\n")
	put("Compare two configs", "staging.yaml", "replicas: 1\n")
	put("Compare two configs", "production.yaml", "replicas: 3\n")
	put("What fills the data folder", "data/big.bin", strings.Repeat("x", 4096))
	put("What fills the data folder", "data/logs/app.log", "started\n")
	for _, f := range todos {
		put("Find the TODOs", f, "package src\n\n// TODO: tests\n")
	}
	put("Branch fix commit push", "src/cart.go", "package src\n\nfunc pay() error { panic(\"empty\") }\n")
	put("CSV to JSON", "people.csv", "name,team\nAna,payments\nBen,shipping\n")
	return all
}

// seedRepository makes a directory's files the first commit of a repository, an empty one the second, with a bare one beside it as origin.
func seedRepository(dir string) error {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "."}, {"config", "user.name", "Ana"}, {"config", "user.email", "ana@example.org"}, {"add", "-A"},
		{"commit", "-q", "-m", "First"}, {"commit", "-q", "--allow-empty", "-m", "Second"},
		{"init", "-q", "--bare", dir + ".git"}, {"remote", "add", "origin", "../" + filepath.Base(dir) + ".git"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2026-11-20T10:00:00Z", "GIT_COMMITTER_DATE=2026-11-20T10:00:00Z"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// hash is what a commit of this run is called, which depends on its time.
var hash = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// State is how the files of a task stand: one line for each with its content's digest, and where its repositories' branches are, with how many
// commits; in the memory server's task also what it knows. What git keeps for itself is left out, so that looking changes nothing.
func (w World) State(t Task) (string, error) {
	var b strings.Builder
	dirs := []string{w.Of(t)}
	if t.Name == "Remember who is on call" {
		dirs = append(dirs, filepath.Dir(w.Memory()))
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			name, err := filepath.Rel(w.Dir, path)
			if err != nil || d.IsDir() {
				fmt.Fprintln(&b, name+"/")
				return err
			}
			content, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(content))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	if !usesGit(t) {
		return b.String(), nil
	}
	for _, dir := range []string{w.Of(t), w.Of(t) + ".git"} {
		for _, args := range [][]string{{"for-each-ref", "--format=%(refname) %(subject)"}, {"log", "--all", "--format=%s %D"}, {"diff", "--cached", "--stat"}} {
			if strings.HasSuffix(dir, ".git") && args[0] == "diff" {
				continue // a bare one has no index
			}
			cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_OPTIONAL_LOCKS=0"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("git %v: %w: %s", args, err, out)
			}
			b.Write(out)
		}
	}
	return b.String(), nil
}

// clocks are what a run's results say of its own time.
var clocks = regexp.MustCompile(`"timestamp": ?\d+|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// Plain is a result without what is another one in every run: the world's place, hashes of new commits, times.
func (w World) Plain(result string) string {
	result = strings.ReplaceAll(result, w.Dir, "")
	return clocks.ReplaceAllString(hash.ReplaceAllString(result, "(hash)"), "(time)")
}
