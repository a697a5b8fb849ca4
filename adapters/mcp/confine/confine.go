// Package confine starts a program that reaches no more of this machine than it was given ([Bounds]).
//
// The launcher is this very binary, started under another name: before its main begins, it puts the bounds on itself with Landlock, which
// only Linux has, and then becomes the program. Nothing else can stand between the fork and the exec of a Go program. Programs are confined
// if main calls [Main] first; in a binary that does not, such as a test's, nothing is, and [Able] says so.
//
// What holds where the kernel can: the program opens only files within its bounds, connects to no port that they exclude, sends no signal
// to and debugs no process that it did not start, which includes what /proc tells of those. What does not: it may look at names, sizes and
// times of files, and change modes of files of its own user; sockets that are files are open to it before Landlock's version 9. A user of
// its own shuts both.
//
// [Harden] is the other half: it shuts what the kernel shows of nod itself to the programs that run as the same user. It imports nothing of
// nod but how a line is written; a new path that every program needs is a word in system.
package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds are what a program may reach. Paths are absolute.
type Bounds struct {
	// Write is what it may read and write, and Read what it may read and run; each with all that is below.
	Write, Read []string
	// Keep is what no guess about a program's needs may open: a directory that holds one of these is opened for a program only by name.
	Keep []string
	// Ports are TCP ports that it may not connect to, on any host: the kernel looks at nothing but the number.
	Ports []uint16
}

// system is what every program needs to run, to find hosts and to check certificates: of /etc only parts that hold no configuration.
var system = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/run/current-system",
	"/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/fonts", "/etc/gai.conf", "/etc/gitconfig", "/etc/group", "/etc/host.conf",
	"/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
	"/etc/localtime", "/etc/lsb-release", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki",
	"/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl", "/etc/static", "/etc/terminfo", "/etc/timezone",
	"/var/lib/ca-certificates", // where /etc/ssl/certs of openSUSE leads
	"/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf",
	"/proc/self", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/uptime", "/proc/version",
	"/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Exposed are those of paths that every confined program can read, because they stand among the system's.
func Exposed(paths ...string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return !slices.ContainsFunc(system, func(s string) bool { return Within(p, s) })
	})
}

// needs guesses what a program takes to run: itself, what was installed with it (in such a directory as bin), and the directories of its
// PATH.
func needs(program, path string, keep []string) (list []string) {
	open := func(dir string) bool {
		if dir == "/" || slices.ContainsFunc(keep, func(k string) bool { return Within(k, dir) }) {
			return false
		}
		list = append(list, dir)
		return true
	}
	if home, err := os.UserHomeDir(); err == nil {
		keep = append(slices.Clone(keep), home)
	}
	for _, p := range []string{program, real(program)} {
		list = append(list, p)
		dir := filepath.Dir(p)
		if slices.Contains([]string{"bin", ".bin", "sbin", "shims"}, filepath.Base(dir)) && !open(filepath.Dir(dir)) {
			open(dir)
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			open(filepath.Clean(dir))
		}
	}
	return list
}

// real is where a path leads, or the path itself where it leads nowhere.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// Within reports whether path is dir or below it, as written or as links lead.
func Within(path, dir string) bool {
	below := func(path, dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	return below(path, dir) || below(real(path), real(dir))
}
