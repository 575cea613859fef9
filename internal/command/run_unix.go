//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

func setDir(cmd *exec.Cmd, s Spec) { cmd.Dir = s.DirPath }

func expect([]string) Confinement {
	return Confinement{Text: "Not confined: only Linux has Landlock, so the program can write wherever the user can."}
}

func (r *runner) prepare() error {
	r.exit.Confinement = expect(r.spec.Writable)
	r.cmd.Env = append(r.cmd.Env[:len(r.cmd.Env):len(r.cmd.Env)], "PWD="+r.spec.DirPath)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil
}

func (r *runner) terminate() { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM) }

func (r *runner) kill() { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }

// reap waits for the program and kills what is left of its process group. A
// process that has left the group is not found here.
func (r *runner) reap() {
	r.wait()
	syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
}
