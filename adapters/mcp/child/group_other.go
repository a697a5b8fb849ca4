//go:build !unix

package child

import (
	"os"
	"os/exec"
)

var inherited = []string{"PATH", "HOME", "SYSTEMROOT", "PATHEXT", "USERPROFILE"}

func ownGroup(*exec.Cmd, *User) {}

func waitAndEndGroup(cmd *exec.Cmd) error { return cmd.Wait() }

func termGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
