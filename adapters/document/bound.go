//go:build linux || darwin

package document

import "syscall"

// bound puts bounds on this process that no code in it can lift: memory, processor time, no file to write. What the system refuses is
// left out: whoever started the process ends it by time in any case.
func bound() {
	for what, most := range map[int]uint64{syscall.RLIMIT_DATA: pdfMemory, syscall.RLIMIT_CPU: uint64(pdfWithin.Seconds()), syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0} {
		_ = syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most})
	}
}
