//go:build unix && !linux

package localpg

import "syscall"

// endWithParent does nothing, because only Linux can end a child with its parent.
func endWithParent(*syscall.SysProcAttr) {}
