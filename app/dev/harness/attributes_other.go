//go:build !linux

package harness

import "syscall"

// attributes returns attributes of a child process that does not receive the terminal's Ctrl-C.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
