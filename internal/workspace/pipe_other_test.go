//go:build !unix

package workspace_test

import "testing"

func pipe(testing.TB, string) {}
