//go:build live

package openaichat_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider/openaichat"
)

// One tool turn, one overflow and one native compaction with the real
// provider: FORGE_LIVE=1 go test -tags live -run TestLive ./provider/openaichat
func TestLive(t *testing.T) {
	m, err := openaichat.New(openaichat.Options{
		Connection: adaptertest.LiveConnection(t, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
		Model:      adaptertest.LiveModel("FORGE_LIVE_MODEL", "deepseek-chat"),
	})
	if err != nil {
		t.Fatal(err)
	}
	adaptertest.Live(t, m)
}
