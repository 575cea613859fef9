package plugin_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/forge-agent/forge/internal/plugin"
)

// The example in the documentation is a manifest with all capabilities.
func TestDocumentedManifest(t *testing.T) {
	data, err := os.ReadFile("../../docs/EXTENDING.md")
	must(t, err)
	found := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(data)
	if found == nil {
		t.Fatal("there is no example")
	}
	m, err := plugin.ParseManifest(found[1])
	if err != nil || len(m.Capabilities.Names()) != 6 {
		t.Errorf("%q, %v", m.Capabilities.Names(), err)
	}
}
