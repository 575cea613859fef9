//go:build unix

package mcp_test

import (
	"os/exec"
	"syscall"
)

// detach gives a program a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
