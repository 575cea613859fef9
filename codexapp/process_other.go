//go:build !unix

package codexapp

func (p *process) prepare() {}

func (p *process) terminateGroup() { p.cmd.Process.Kill() }

func (p *process) killGroup() { p.cmd.Process.Kill() }

// awaitExit returns when the program has ended.
func (p *process) awaitExit() { p.cmd.Process.Wait() }

// sweep finds nothing: there are no groups of processes here.
func (p *process) sweep() {}
