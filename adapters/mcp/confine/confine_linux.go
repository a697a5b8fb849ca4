package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocked "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/nodhq/nod/adapters/mcp/oneline"
)

// launcher is the name under which this binary is started to become another.
const launcher = "nod-confine"

// answers is set once main said that programs are confined.
var answers atomic.Bool

// plan is what the launcher is told, as its one argument. No secret is in it: the environment goes past it.
type plan struct {
	Dir, Path string
	Args      []string
	Bounds    Bounds
}

// outcome is what the launcher says on its third file where it could not become the program. Where it could, the file ends.
type outcome struct {
	Say   string        `json:",omitempty"`
	Errno syscall.Errno `json:",omitempty"`
}

const report = 3

// A launcher is one before main: most packages that main is made of are set up after this one, and that takes longer than all it does.
var _ = launch()

// launch is the launcher, where this binary was started as one, and then does not return.
func launch() (launched bool) {
	var p plan
	if len(os.Args) != 2 || os.Args[0] != launcher || json.Unmarshal([]byte(os.Args[1]), &p) != nil {
		return false
	}
	_ = json.NewEncoder(os.NewFile(report, "report")).Encode(p.become())
	os.Exit(126) //nolint:forbidigo // it stands in for main: this process only was to become another
	return true
}

// Main says that this binary's programs are confined. It stands first in main.
func Main() { answers.Store(true) }

func (p plan) become() outcome {
	unix.CloseOnExec(report)
	if err := os.Chdir(p.Dir); err != nil {
		return outcome{Say: "its directory cannot be entered as the user that it runs as"}
	}
	if err := p.Bounds.restrict(); err != nil {
		return outcome{Say: "it could not be confined: " + err.Error()}
	}
	var no syscall.Errno
	errors.As(syscall.Exec(p.Path, p.Args, os.Environ()), &no)
	return outcome{Errno: no}
}

// restrict puts the bounds on this process, as far as the kernel can.
func (b Bounds) restrict() error {
	abi, _ := landlocked.LandlockGetABIVersion()
	var rules []landlock.Rule
	for _, path := range reached(system, b.Read) {
		if dir(path) {
			rules = append(rules, landlock.RODirs(path))
		} else {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, path := range reached(b.Write) {
		rule := landlock.RWFiles(path)
		if dir(path) {
			rule = landlock.RWDirs(path)
			if abi >= 2 { // with it, version 1 would restrict nothing
				rule = rule.WithRefer()
			}
		}
		rules = append(rules, rule.WithResolveUnix())
	}
	rules = append(rules, landlock.RWFiles(reached(devices)...).WithIoctlDev())
	able := landlock.V9
	able.HandledAccessNet = 0
	if len(b.Ports) > 0 {
		able.HandledAccessNet = landlocked.AccessNetConnectTCP
		for port := range math.MaxUint16 + 1 {
			if !slices.Contains(b.Ports, uint16(port)) {
				rules = append(rules, landlock.ConnectTCP(uint16(port)))
			}
		}
	}
	return able.BestEffort().Restrict(rules...)
}

// reached are the paths that are there for the user that this process is: what it cannot reach needs no rule, and can have none.
func reached(lists ...[]string) (all []string) {
	for _, path := range slices.Concat(lists...) {
		if fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Close(fd)
			all = append(all, path)
		}
	}
	return all
}

func dir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Able returns the version of Landlock that programs are confined with, or why they are not.
func Able() (version int, err error) {
	if !answers.Load() {
		return 0, errors.New("this binary is no launcher")
	}
	version, err = landlocked.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0, errors.New("this kernel has no Landlock")
	}
	return version, nil
}

// Start starts cmd within bounds. Where they cannot be had, and Able says why, it starts without them.
func Start(cmd *exec.Cmd, b Bounds) error {
	if _, err := Able(); err != nil {
		return cmd.Start()
	}
	if cmd.Err != nil {
		return cmd.Err
	}
	program := cmd.Path
	if !filepath.IsAbs(program) {
		program = filepath.Join(cmd.Dir, program)
	}
	if _, err := os.Stat(program); err != nil { // the launcher's own error would not say that it is not there
		return err
	}
	b.Read = append(slices.Clone(b.Read), needs(program, path(cmd.Env), b.Keep)...)
	told, _ := json.Marshal(plan{cmd.Dir, program, cmd.Args, b}) // texts and numbers always marshal
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w} // its third
	// Not by its name: it may have been replaced by a newer one, and another user may not reach it there.
	cmd.Path, cmd.Args, cmd.Dir = "/proc/self/exe", []string{launcher, string(told)}, ""
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return err
	}
	_ = r.SetReadDeadline(time.Now().Add(10 * time.Second)) // pipes have deadlines
	said, err := io.ReadAll(io.LimitReader(r, 64<<10))
	var o outcome
	if err == nil && len(said) == 0 {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(said, &o)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	switch {
	case err != nil:
		return fmt.Errorf("the launcher: %w", err)
	case o.Say != "":
		return &oneline.Error{Say: o.Say}
	}
	return &os.PathError{Op: "exec", Path: program, Err: o.Errno}
}

func path(env []string) string {
	for _, kv := range slices.Backward(env) {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p
		}
	}
	return ""
}
