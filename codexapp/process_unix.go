//go:build unix

package codexapp

import "syscall"

// prepare gives the program a session of its own: no terminal, and one group
// that a signal reaches as a whole.
func (p *process) prepare() { p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func (p *process) terminateGroup() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

func (p *process) killGroup() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
