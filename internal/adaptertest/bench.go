package adaptertest

import (
	"encoding/json"
	"testing"
)

// BenchmarkEncode encodes a megabyte, and for comparison has json.Marshal
// write the same values.
func BenchmarkEncode(b *testing.B, e Encoder) {
	r := Large(e.Reasoning)
	body, err := e.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	var values any
	if err := json.Unmarshal(body, &values); err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name   string
		encode func() ([]byte, error)
	}{
		{"adapter", func() ([]byte, error) { return e.Encode(r) }},
		{"json.Marshal", func() ([]byte, error) { return json.Marshal(values) }},
		{"json.Marshal of the messages", func() ([]byte, error) { return json.Marshal(r.Messages) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := way.encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
