package harness

import "syscall"

// attributes returns attributes of a child process that ends with its parent and does not receive the terminal's
// Ctrl-C.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
