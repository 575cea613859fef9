//go:build live

package openai_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider/openai"
)

// One tool turn, one overflow and one native compaction with the real
// provider: FORGE_LIVE=1 go test -tags live -run TestLive ./provider/openai
func TestLive(t *testing.T) {
	m, err := openai.New(openai.Options{
		Connection: adaptertest.LiveConnection(t, openai.DefaultEndpoint, "OPENAI_API_KEY"),
		Model:      adaptertest.LiveModel("FORGE_LIVE_MODEL", "gpt-5-mini"),
	})
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Live(t, m)
}
