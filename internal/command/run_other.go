//go:build !unix

package command

import (
	"os/exec"
	"syscall"
)

func setDir(cmd *exec.Cmd, s Spec) { cmd.Dir = s.DirPath }

func expect([]string) Confinement {
	return Confinement{Text: "Not confined: this system has no means that Forge knows, so the program can write wherever the user can, and what it starts may outlive it."}
}

func (r *runner) prepare() error {
	r.exit.Confinement = expect(r.spec.Writable)
	return nil
}

// terminate does nothing: there is no gentle signal, so the grace just passes.
func (r *runner) terminate() {}

func (r *runner) kill() { r.cmd.Process.Kill() }

func (r *runner) reap() { r.wait() }

func signalName(syscall.WaitStatus) string { return "" }
