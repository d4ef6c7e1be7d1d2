package localpg

import "syscall"

// endWithParent has the kernel shut a child down at once when this process dies without stopping it.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGQUIT }
