//go:build live

package gemini_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider/gemini"
)

// One tool turn, one overflow and one native compaction with the real
// provider: FORGE_LIVE=1 go test -tags live -run TestLive ./provider/gemini
func TestLive(t *testing.T) {
	m, err := gemini.New(gemini.Options{
		Connection: adaptertest.LiveConnection(t, gemini.DefaultEndpoint, "GEMINI_API_KEY"),
		Model:      adaptertest.LiveModel("FORGE_LIVE_MODEL", "gemini-2.5-flash"),
	})
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Live(t, m)
}
