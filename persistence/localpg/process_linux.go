package localpg

import "syscall"

// endWithParent makes the kernel shut a child down immediately if this process ends without stopping
// it.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGQUIT }
