package child

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

var inherited = []string{"PATH", "HOME"}

// ownGroup puts the child at the head of its own process group, so that what it starts can be ended with it,
// and has the kernel kill it when we die without a word.
func ownGroup(cmd *exec.Cmd, as *User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as.credential()}
}

// waitAndEndGroup waits for the process and then ends what it left behind. The group is killed before the process
// is reaped: until then its number cannot be another's.
func waitAndEndGroup(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	killGroup(cmd.Process.Pid)
	return cmd.Wait()
}

func termGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
