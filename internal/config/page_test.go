package config_test

import (
	"flag"
	"os"
	"testing"

	"github.com/forge-agent/forge/internal/config"
)

var update = flag.Bool("update", false, "write docs/CONFIGURATION.md again")

// F-CFG-04: the documented surface is the table of keys, and nothing else.
func TestPage(t *testing.T) {
	const file = "../../docs/CONFIGURATION.md"
	if *update {
		if err := os.WriteFile(file, []byte(config.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != config.Page() {
		t.Errorf("docs/CONFIGURATION.md is out of date (%v): run go generate ./internal/config", err)
	}
}
