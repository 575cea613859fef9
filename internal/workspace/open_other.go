//go:build !unix

package workspace

const openNonblock = 0
