package cli

import (
	"os"
	"testing"
)

// The page of commands is what the program says of itself.
func TestReferenceIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../../docs/CLI.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := reference(newRoot(&Env{Getenv: func(string) string { return "" }})); got != string(page) {
		t.Error("docs/CLI.md is out of date: go run ./cmd/forge reference > docs/CLI.md")
	}
}
