package mcp

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/adapters/mcp/confine"
)

// child is the process of a stdio server. We start it ourselves: mcp-go would hand it our whole environment,
// tie its life to the context of the handshake, and lose what it started when it ends.
type child struct {
	in, out, errs *os.File // our ends of its pipes
	pid           int
	done          chan struct{} // closed once the process and its group are gone
	exit          error         // valid after done
	words         *stderrLog
	drained       chan struct{}
}

// unsentError is a request that the child certainly did not get in full.
type unsentError struct{ cause error }

func (e *unsentError) Error() string { return "not written: " + e.cause.Error() }
func (e *unsentError) Unwrap() error { return e.cause }

// spawn starts the program with the environment its entry lists, PATH and HOME, within its bounds.
func spawn(cfg Server, log *slog.Logger, clean func(string) string) (*child, error) {
	dir, env, err := cfg.lodge()
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
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Dir, cmd.Env = dir, environ(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	ownGroup(cmd, cfg.User)
	c := &child{
		in: pipes[1], out: pipes[2], errs: pipes[4], done: make(chan struct{}), drained: make(chan struct{}),
		words: &stderrLog{log: log, clean: clean},
	}
	started := make(chan error)
	go func() {
		// The kernel kills a child with Pdeathsig when the *thread* that started it ends, so this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cfg.start(cmd)
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		c.exit = waitAndEndGroup(cmd)
		close(c.done)
	}()
	err = <-started
	closeAll(pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(c.in, c.out, c.errs)
		return nil, err
	}
	go func() {
		defer close(c.drained)
		c.words.drain(c.errs)
	}()
	return c, nil
}

// lodge makes the program's own directory where it has one, and says where it starts and with which variables.
func (s Server) lodge() (dir string, env map[string]string, err error) {
	if s.Home != "" {
		if err := s.move(s.Home, filepath.Join(s.Home, "tmp")); err != nil {
			return "", nil, &sayError{"its own directory could not be made below data_dir"}
		}
	}
	var granted []string
	if s.Bounds != nil {
		granted = slices.Concat(s.Bounds.Read, s.Bounds.Write)
	}
	for _, path := range granted {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", nil, &sayError{"of its paths " + printable(path) + " was not found"}
		}
	}
	dir = cmp.Or(s.Dir, s.Home)
	if dir != "" { // exec reports a missing directory as a missing program
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", nil, &sayError{"its directory was not found"}
		}
	}
	if s.Home == "" {
		return dir, s.Env, nil
	}
	env = map[string]string{"HOME": s.Home, "TMPDIR": filepath.Join(s.Home, "tmp")}
	maps.Copy(env, s.Env)
	return dir, env, nil
}

// move makes directories, for the program's own user where it has one. What is there already stays as it is, and no link is followed: the
// program of yesterday could have put one there.
func (s Server) move(dirs ...string) error {
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
func (s Server) start(cmd *exec.Cmd) error {
	if s.Bounds == nil {
		return cmd.Start()
	}
	b := *s.Bounds
	b.Write = slices.Clone(b.Write)
	for _, dir := range []string{s.Home, s.Dir} {
		if dir != "" {
			b.Write = append(b.Write, dir)
		}
	}
	return confine.Start(cmd, b)
}

// environ is all that a child sees.
func environ(listed map[string]string) []string {
	env := map[string]string{}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	for name, v := range listed {
		env[name] = v
	}
	list := make([]string, 0, len(env))
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

// stop ends the process: by closing its stdin, then by asking, then by force. It returns when the process, its
// group and our goroutines are gone.
func (c *child) stop(grace time.Duration) {
	closeAll(c.in)
	if !c.gone(grace) {
		termGroup(c.pid)
		if !c.gone(grace) {
			killGroup(c.pid)
			<-c.done
		}
	}
	// Whatever left the group may still hold the other ends.
	closeAll(c.out, c.errs)
	<-c.drained
}

func (c *child) gone(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}

// epitaph says how the process ended, waiting a moment if only its stdout has so far.
func (c *child) epitaph() string {
	if !c.gone(time.Second) {
		return "it closed its output"
	}
	if c.exit == nil {
		return "it exited"
	}
	return c.exit.Error()
}

// pipeWriter writes to a child's stdin, but not for ever: mcp-go holds a lock and ignores the context while it
// writes, so a child that stops reading would block every caller. A line half written cannot be mended: the child is lost.
type pipeWriter struct {
	*os.File
	patience time.Duration
	lost     func(error)
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	err := w.SetWriteDeadline(time.Now().Add(w.patience))
	if err != nil {
		return 0, &unsentError{err}
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
		return n, &unsentError{err}
	}
	return n, err
}

// stderrLog passes what a child writes to stderr on to the log, within limits.
type stderrLog struct {
	log   *slog.Logger
	clean func(string) string // takes secrets out
	mu    sync.Mutex
	last  string
}

const (
	maxStderrLine  = 2 << 10  // bytes
	maxStderrLines = 10 << 10 // of one child; then silence
)

func (s *stderrLog) drain(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxStderrLine)
	for n := 0; ; {
		line, cut, err := lines.ReadLine()
		if len(line) > 0 {
			text := s.clean(printable(string(line)))
			s.mu.Lock()
			s.last = text
			s.mu.Unlock()
			if n++; n < maxStderrLines {
				s.log.Debug("stderr", "line", text)
			} else if n == maxStderrLines {
				s.log.Warn("the server writes too much to stderr; no more of it is logged")
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

// lastWords is the last line the child wrote to stderr.
func (s *stderrLog) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // closing twice is harmless
		}
	}
}
