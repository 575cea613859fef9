package o200k_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func BenchmarkCount(b *testing.B)     { tokentest.BenchmarkCount(b, o200k.New()) }
func BenchmarkFirstPass(b *testing.B) { tokentest.BenchmarkFirstPass(b, o200k.New) }
