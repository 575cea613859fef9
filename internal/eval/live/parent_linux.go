package live

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the kernel end the program when the thread that starts it
// does: a run that is killed leaves no trial behind that goes on asking.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
