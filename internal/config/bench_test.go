package config_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/config"
)

// What each start of the program pays.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if f := config.Merge([]byte(config.Example()), nil).Findings(); len(f) != 0 {
			b.Fatal(f)
		}
	}
}

func BenchmarkSettings(b *testing.B) {
	c := config.Merge([]byte(config.Example()), nil)
	for b.Loop() {
		if len(c.Settings()) == 0 {
			b.Fatal("none")
		}
	}
}
