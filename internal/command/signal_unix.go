//go:build unix

package command

import "syscall"

func signalName(status syscall.WaitStatus) string {
	if !status.Signaled() {
		return ""
	}
	return status.Signal().String()
}
