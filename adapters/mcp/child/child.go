// Package child starts the program of a stdio server and ends it, with all that it started.
//
// We start it ourselves: mcp-go would hand it our whole environment, tie its life to the context of the handshake, and lose what it started
// when it ends. A [Program] says what is started; [Start] gives it a directory, an environment and a process group of its own, within its
// bounds (package confine); [Child.Stop] ends it. What it writes to stderr goes to the log, within limits.
//
// group_*.go are what differs between systems. It knows no MCP: the pipes are the transport's.
package child

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/adapters/mcp/oneline"
)

// Program is what is started.
type Program struct {
	Command   []string
	Env       map[string]string // what it sees besides PATH and HOME; secret
	Dir, Home string            // where it starts; a directory of its own, which is made if it is missing
	Bounds    *confine.Bounds   // nil: whatever its user may
	User      *User             // nil: as we do
}

// User is a user of this machine.
type User struct{ UID, GID uint32 }

// Child is a program that was started.
type Child struct {
	Out      *os.File      // what it writes
	Done     chan struct{} // closed once the process and its group are gone
	in, errs *os.File      // our ends of its other pipes
	pid      int
	exit     error // valid after Done

	log     *slog.Logger
	clean   func(string) string // takes secrets out
	last    atomic.Value        // string: the last line of stderr
	drained chan struct{}       // closed once stderr is read to its end
}

// ErrUnsent is a request that the child certainly did not get in full.
var ErrUnsent = errors.New("not written")

// Start starts a program with the environment its entry lists, PATH and HOME, within its bounds.
func Start(p Program, log *slog.Logger, clean func(string) string) (*Child, error) {
	dir, err := p.prepare()
	if err != nil {
		return nil, err
	}
	var pipes [6]*os.File
	for i := 0; i < len(pipes); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:]...)
			return nil, err
		}
		pipes[i], pipes[i+1] = r, w
	}
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env = dir, p.environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	ownGroup(cmd, p.User)
	c := &Child{in: pipes[1], Out: pipes[2], errs: pipes[4], Done: make(chan struct{}), drained: make(chan struct{}), log: log, clean: clean}
	started := make(chan error)
	go func() {
		// The kernel kills a child with Pdeathsig when the *thread* that started it ends, so this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.start(cmd)
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		c.exit = waitAndEndGroup(cmd)
		close(c.Done)
	}()
	err = <-started
	closeAll(pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(c.in, c.Out, c.errs)
		return nil, err
	}
	go func() {
		defer close(c.drained)
		c.drain(c.errs)
	}()
	return c, nil
}

// prepare makes the program's own directory where it has one, and says where it starts.
func (s Program) prepare() (dir string, err error) {
	if s.Home != "" {
		if err := s.makeDirs(s.Home, filepath.Join(s.Home, "tmp")); err != nil {
			return "", &oneline.Error{Say: "its own directory could not be made below data_dir"}
		}
	}
	if s.Bounds != nil {
		for _, path := range slices.Concat(s.Bounds.Read, s.Bounds.Write) {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return "", &oneline.Error{Say: "of its paths " + oneline.Printable(path) + " was not found"}
			}
		}
	}
	dir = cmp.Or(s.Dir, s.Home)
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) { // exec reports a missing directory as a missing program
		return "", &oneline.Error{Say: "its directory was not found"}
	}
	return dir, nil
}

// makeDirs makes directories, for the program's own user where it has one. No link is followed: the program of yesterday could have put one
// there.
func (s Program) makeDirs(dirs ...string) error {
	if err := os.MkdirAll(filepath.Dir(dirs[0]), 0o711); err != nil { // open for passing through: a server may be another user
		return err
	}
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o700)
		if err == nil && s.User != nil {
			err = os.Lchown(dir, int(s.User.UID), int(s.User.GID))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// start starts the program, confined where it has bounds.
func (s Program) start(cmd *exec.Cmd) error {
	if s.Bounds == nil {
		return cmd.Start()
	}
	b := *s.Bounds
	own := slices.DeleteFunc([]string{s.Home, s.Dir}, func(dir string) bool { return dir == "" })
	b.Write = slices.Concat(b.Write, own)
	return confine.Start(cmd, b)
}

// environ is all that a child sees. Of two values of one name the later one counts.
func (s Program) environ() []string {
	env := []string{} // never nil, with which it would see ours
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if s.Home != "" {
		env = append(env, "HOME="+s.Home, "TMPDIR="+filepath.Join(s.Home, "tmp"))
	}
	for name, v := range s.Env {
		env = append(env, name+"="+v)
	}
	return env
}

// Stop ends the process: by closing its stdin, then by asking, then by force. It returns when its group and our goroutines are gone, too.
func (c *Child) Stop(grace time.Duration) {
	closeAll(c.in)
	if !closes(c.Done, grace) {
		termGroup(c.pid)
		if !closes(c.Done, grace) {
			killGroup(c.pid)
			<-c.Done
		}
	}
	// Whatever left the group may still hold the other ends; but its last words, which often say why it died, may still lie in the pipe.
	closeAll(c.Out)
	closes(c.drained, lastWords)
	closeAll(c.errs)
	<-c.drained
}

// lastWords is how long what a dead process wrote to stderr is read, where something else keeps its end open.
const lastWords = 2 * time.Second

func closes(c <-chan struct{}, within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// HowEnded says how the process ended, waiting a moment if only its stdout has so far.
func (c *Child) HowEnded() string {
	if !closes(c.Done, time.Second) {
		return "it closed its output"
	}
	closes(c.drained, time.Second) // for LastLine
	if c.exit == nil {
		return "it exited"
	}
	return c.exit.Error()
}

// Writer writes to its stdin, each time for no longer than patience. lost hears the first error.
func (c *Child) Writer(patience time.Duration, lost func(error)) io.WriteCloser {
	return &writer{c.in, patience, lost}
}

// writer writes to a child's stdin, but not for ever: mcp-go holds a lock and ignores the context while it
// writes, so a child that stops reading would block every caller. A line half written cannot be mended: the child is lost.
type writer struct {
	*os.File
	patience time.Duration
	lost     func(error)
}

func (w *writer) Write(p []byte) (int, error) {
	err := w.SetWriteDeadline(time.Now().Add(w.patience))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	n, err := w.File.Write(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it does not read its input: %w", err)
	}
	w.lost(err)
	if n < len(p)-1 { // without its last byte before the newline a message is no JSON
		return n, fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	return n, err
}

const (
	maxStderrLine  = 2 << 10  // bytes
	maxStderrLines = 10 << 10 // of one child; then silence
)

// drain passes what a child writes to stderr on to the log, within limits.
func (c *Child) drain(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxStderrLine)
	for n := 0; ; {
		line, cut, err := lines.ReadLine()
		if len(line) > 0 {
			text := c.clean(oneline.Printable(string(line)))
			c.last.Store(text)
			if n++; n < maxStderrLines {
				c.log.Debug("stderr", "line", text)
			} else if n == maxStderrLines {
				c.log.Warn("the server writes too much to stderr; no more of it is logged")
			}
		}
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

// LastLine is the last line that the child wrote to stderr.
func (c *Child) LastLine() string {
	line, _ := c.last.Load().(string)
	return line
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // closing twice is harmless
		}
	}
}
