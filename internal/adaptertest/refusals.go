package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// A Refusal is one recorded answer to a request that a provider did not take.
type Refusal struct {
	Provider string
	// Status is the first HTTP status that the record names, zero for none.
	Status int
	// Body is the answer's, Overflow whether it means a request that is too
	// long.
	Body     string
	Overflow bool
}

// minRefusals is fewer than were recorded: it tells that the file is whole.
const minRefusals = 40

// Refusals returns the shared recorded refusals. It skips the test if
// FORGE_CORPUS is unset.
func Refusals(t *testing.T) []Refusal {
	t.Helper()
	corpus := os.Getenv("FORGE_CORPUS")
	if corpus == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	content, err := os.ReadFile(filepath.Join(corpus, "overflow-errors", "bodies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	statuses := regexp.MustCompile(`[1-5][0-9][0-9]`)
	var refusals []Refusal
	for lines := json.NewDecoder(bytes.NewReader(content)); lines.More(); {
		var line struct {
			Provider, Body string
			Status         json.RawMessage
			Overflow       bool
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		status, _ := strconv.Atoi(statuses.FindString(string(line.Status)))
		refusals = append(refusals, Refusal{line.Provider, status, line.Body, line.Overflow})
	}
	if len(refusals) < minRefusals {
		t.Fatalf("%d recorded refusals, want at least %d", len(refusals), minRefusals)
	}
	return refusals
}
