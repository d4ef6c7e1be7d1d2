package localpg

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// endWithParent makes the kernel shut a child down immediately if this process ends without stopping
// it.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGQUIT }

// memory is a file system in memory.
const memory = "/dev/shm"

// hasMemory reports whether memory has 6 GB of space and lets programs run.
func hasMemory() bool {
	const noExec = 8
	var found syscall.Statfs_t
	err := syscall.Statfs(memory, &found)
	return err == nil && found.Flags&noExec == 0 && found.Bavail*uint64(found.Bsize) > 6_000_000_000
}

// hasEnded reports whether a process has ended. It may be a zombie, whose parent has not collected its exit status.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return isMissing(pid) // otherwise /proc hides the process, which belongs to another user
	}
	// The state follows the program's name in parentheses, which can contain any character. See proc(5).
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return strings.IndexAny(state, "ZXx") == 0
}

// worksIn reports whether dir is the working directory of a process. It returns true if the working
// directory is unknown.
func worksIn(pid int, dir string) bool {
	works, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return true
	}
	info, err := os.Stat(dir)
	return err != nil || os.SameFile(works, info)
}
