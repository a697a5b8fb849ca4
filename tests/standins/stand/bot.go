package stand

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Bot runs nod from the current directory, the repository's root, with these variables beside the environment's until ctx ends. Its
// data goes with it: the stand-in that it talks to forgets everything, too.
func Bot(ctx context.Context, variables ...string) error {
	dir, err := os.MkdirTemp("", "nod-try")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bot := exec.CommandContext(ctx, "go", "run", "-v", "./cmd/bot") // -v: the first time it compiles for minutes, and says what it is at
	bot.Env = append(append(os.Environ(), "NOD_DATA_DIR="+filepath.Join(dir, "data")), variables...)
	bot.Stdout, bot.Stderr = os.Stdout, os.Stderr
	bot.Cancel = func() error { return nil } // Ctrl-C reaches it as well, and a second one would cut its end short
	bot.WaitDelay = time.Minute
	if err := bot.Run(); err != nil && ctx.Err() == nil {
		return errors.Join(errors.New("nod ended"), err)
	}
	return nil
}
