//go:build !unix

package main

import "time"

var processStart = time.Now()

// cpuTime stands in with the wall clock where the process has no other.
func cpuTime() time.Duration { return time.Since(processStart) }
