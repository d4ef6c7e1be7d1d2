//go:build unix && !linux

package localpg

import "syscall"

// endWithParent does nothing, because only Linux can end a child with its parent.
func endWithParent(*syscall.SysProcAttr) {}

// hasEnded reports whether no process has the id.
func hasEnded(pid int) bool { return isMissing(pid) }

// worksIn returns true, because only Linux shows the working directory of a process.
func worksIn(int, string) bool { return true }

const memory = ""

func hasMemory() bool { return false }
