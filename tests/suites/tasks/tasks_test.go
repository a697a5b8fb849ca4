package tasks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/harness/need"
)

// The measurement is of these tasks and no others: what was measured before is compared with it.
func TestTwentyTasks(t *testing.T) {
	calls, slugs := 0, map[string]bool{}
	for _, task := range All {
		calls += len(task.Calls())
		slugs[task.Slug()] = true
		for way, before := range Before {
			if _, found := before[task.Name]; !found {
				t.Errorf("%s: nothing measured before with %s", task.Name, way)
			}
		}
	}
	if len(All) != 20 || len(slugs) != 20 || calls != 82 {
		t.Errorf("%d tasks, %d names, %d calls", len(All), len(slugs), calls)
	}
}

// State notices what the oracle needs it for, and looking alone changes nothing.
func TestStateNoticesChanges(t *testing.T) {
	need.Program(t, "git", "git")
	w, err := Seed(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	task := named("Branch fix commit push")
	state := func() string {
		s, err := w.State(task)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	git := func(args ...string) func() error {
		return func() error { return exec.Command("git", append([]string{"-C", w.Of(task)}, args...)...).Run() }
	}
	last := state()
	for _, step := range []struct {
		what  string
		do    func() error
		moves bool
	}{
		{"git status", git("status"), false},
		{"git log", git("log"), false},
		{"a new branch", git("checkout", "-q", "-b", "b"), true},
		{"a write", func() error { return os.WriteFile(filepath.Join(w.Of(task), "src", "cart.go"), []byte("x"), 0o600) }, true},
		{"git add", git("add", "-A"), true},
		{"git commit", git("commit", "-q", "-m", "m"), true},
		{"git push", git("push", "-q", "origin", "b"), true},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		now := state()
		if (now != last) != step.moves {
			t.Errorf("%s changes the state: %v", step.what, now != last)
		}
		last = now
	}
}

func TestPut(t *testing.T) {
	columns := []Column{{Defaults, map[string]Count{All[0].Name: {6, 6, 2, 1, 378}}}}
	page, err := Put("above\n"+begin+"what was there\n"+end+"below\n", columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"above\n" + begin, end + "below\n", "| 6 / 2 / 378 |", "| **6 / 2 / 378** |", "| " + Before[Defaults][All[0].Name].short() + " |"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	if strings.Contains(page, "what was there") {
		t.Errorf("the old table stayed:\n%s", page)
	}
	if again, err := Put(page, columns); err != nil || again != page {
		t.Errorf("written again it is another page: %v", err)
	}
	if _, err := Put("no such lines", columns); err == nil {
		t.Error("a page without the lines is taken")
	}
}
