package cl100k_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/cl100k"
)

func BenchmarkCount(b *testing.B)     { tokentest.BenchmarkCount(b, cl100k.New()) }
func BenchmarkFirstPass(b *testing.B) { tokentest.BenchmarkFirstPass(b, cl100k.New) }
