package confine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Harden shuts what the kernel shows of this process (memory, open files, environment) to others of the same user, such as the tool servers
// that it starts. It stands before anything is started, and before the environment is read: Go has a copy of that. The environment is wiped
// where it lies, besides: root reads it however a process is marked, and so does a server that runs as root.
func Harden() error {
	wiped := wipeEnvironment() // first: a process that is not dumpable may not open its own /proc/self/environ, unless it is root
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("this process could not be closed to others of its user: %w", err)
	}
	return wiped
}

// The places of env_start and env_end in /proc/self/stat, counted behind the program's name: proc_pid_stat(5).
const envStart, envEnd = 50 - 3, 51 - 3

func wipeEnvironment() error {
	before, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(before) == 0 {
		return err
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envEnd {
		return errors.New("the kernel does not say where the environment lies")
	}
	start, err1 := strconv.ParseUint(fields[envStart], 10, 64)
	end, err2 := strconv.ParseUint(fields[envEnd], 10, 64)
	if err := errors.Join(err1, err2); err != nil || end-start != uint64(len(before)) {
		return errors.New("the kernel does not say where the environment lies")
	}
	// The kernel has just read it there, so it may be written. What writes into a process from outside is forbidden in containers, even to itself.
	clear(unsafe.Slice((*byte)(unsafe.Add(nil, start)), len(before)))
	if after, err := os.ReadFile("/proc/self/environ"); err != nil || len(bytes.Trim(after, "\x00")) > 0 {
		return errors.New("the environment could not be wiped")
	}
	return nil
}
