package child

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child the head of a process group, to end with it what it starts, and has the kernel kill it when we die without a
// word.
func ownGroup(cmd *exec.Cmd, as *User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as.credential()}
}

// waitAndEndGroup ends what the process left behind before it is reaped: until then its number cannot be another's.
func waitAndEndGroup(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	killGroup(cmd.Process.Pid)
	err := cmd.Wait()
	// In a container nod is the first process, which inherits what lost its parent. Nobody waits for this: one that became another user lives on.
	go func() {
		for again := error(nil); again == nil || errors.Is(again, unix.EINTR); _, again = unix.Wait4(-cmd.Process.Pid, nil, 0, nil) {
		}
	}()
	return err
}
