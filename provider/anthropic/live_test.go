//go:build live

package anthropic_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider/anthropic"
)

// One tool turn, one overflow and one native compaction with the real
// provider: FORGE_LIVE=1 go test -tags live -run TestLive ./provider/anthropic
func TestLive(t *testing.T) {
	m, err := anthropic.New(anthropic.Options{
		Connection: adaptertest.LiveConnection(t, anthropic.DefaultEndpoint, "ANTHROPIC_API_KEY"),
		Model:      adaptertest.LiveModel("FORGE_LIVE_MODEL", "claude-haiku-4-5"),
	})
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Live(t, m)
}
