//go:build unix && !linux

package codexapp

// awaitExit returns when the program has ended.
func (p *process) awaitExit() { p.cmd.Process.Wait() }

// sweep finds nothing: only Linux shows the environment of other processes.
func (p *process) sweep() {}
