//go:build unix

package child

import "syscall"

// credential makes a program another user, without groups of ours.
func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID}
}
