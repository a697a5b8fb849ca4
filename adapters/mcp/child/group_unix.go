//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

var inherited = []string{"PATH", "HOME"}

func ownGroup(cmd *exec.Cmd, as *User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
}

// waitAndEndGroup waits for the process and then ends what it left behind.
func waitAndEndGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	return err
}

func termGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
