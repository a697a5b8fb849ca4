//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd, as *User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
}

// waitAndEndGroup waits for the process and then ends what it left behind.
func waitAndEndGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	return err
}
