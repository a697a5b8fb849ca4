package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Every command of these pages runs as it is pasted, in one shell for a page, in their order. Only what each person has of their own is filled in.
// R167
func TestPagesRun(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		page  string
		needs []string
		yours func(*testing.T) *strings.Replacer
		wants []string // what the shell prints
	}{
		{"api.md", []string{"curl"}, func(t *testing.T) *strings.Replacer {
			return strings.NewReplacer("http://127.0.0.1:8080", start(t, settings{}).addr)
		}, []string{`"type":"approval_required"`, `"choice":"allow_once"`, "event: permission_granted", "event: turn_done"}},
		{"operating.md", nil, func(*testing.T) *strings.Replacer {
			return strings.NewReplacer("\nredis-cli", "\n: redis-cli") // TestCluster does
		}, []string{"data_dir:", "scripted"}},
		{"recipes.md", nil, func(*testing.T) *strings.Replacer { return strings.NewReplacer() }, []string{"write_file", "asks"}},
	} {
		t.Run(x.page, func(t *testing.T) {
			t.Parallel()
			for _, program := range x.needs {
				if _, err := exec.LookPath(program); err != nil {
					missing(t, program, program+" is not installed")
				}
			}
			script := x.yours(t).Replace(commands(readPage(t, x.page)))
			if strings.Contains(script, "…") {
				t.Fatalf("what is to be filled in?\n%s", script)
			}
			printed := shell(t, script)
			for _, want := range x.wants {
				if !strings.Contains(printed, want) {
					t.Errorf("%q is not in what it prints:\n%s", want, printed)
				}
			}
		})
	}
}

// fenced are blocks that are not to be pasted.
var fenced = regexp.MustCompile("(?s)```.*?```\n")

// commands are a page's indented blocks, as one script.
func commands(page string) string { return strings.Join(blocks(fenced.ReplaceAllString(page, "")), "") }

// shell runs a script in a folder of its own, where nod is the program that was built, and returns what it printed.
func shell(t *testing.T, script string) string {
	t.Helper()
	desk := t.TempDir()
	bin := filepath.Join(desk, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program("bot"), filepath.Join(bin, "nod")); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(desk, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script) //nolint:gosec // the page's
	cmd.Dir, cmd.Stdout, cmd.Stderr = desk, out, out
	cmd.Env = []string{"HOME=" + desk, "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "NOD_LISTEN=127.0.0.1:0", "NOD_DATA_DIR=" + filepath.Join(desk, "data")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background
	printed, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Errorf("%v:\n%s\n%s", err, script, printed)
	}
	return string(printed)
}
