package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/checkpoint"
)

// Whatever Decode accepts is well formed, survives a round trip and can be
// verified against any transcript.
func FuzzDecode(f *testing.F) {
	tr := conversation(f, "m", 6)
	data, err := record(f, tr, 4, &checkpoint.Chain{}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schemaVersion":1}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := checkpoint.Decode(data)
		if err != nil {
			return
		}
		c.Verify(tr)
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := checkpoint.Decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(c, back); diff != "" {
			t.Error(diff)
		}
	})
}
