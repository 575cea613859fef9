//go:build unix

package workspace

import "syscall"

const openNonblock = syscall.O_NONBLOCK
