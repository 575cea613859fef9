package tokentest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"testing"
)

// maxMergeFileBytes is what one vocabulary may take in the repository.
const maxMergeFileBytes = 3 << 20

// CheckSource checks that a merge file is the one that the SOURCE.md beside it
// describes, and that licence and size are in order.
func CheckSource(t *testing.T, mergePath string) {
	t.Helper()
	content := ReadFile(t, mergePath)
	if len(content) > maxMergeFileBytes {
		t.Errorf("%s has %d bytes, more than %d", mergePath, len(content), maxMergeFileBytes)
	}
	recorded := Checksum(t, "SOURCE.md", regexp.QuoteMeta(mergePath))
	if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != recorded {
		t.Errorf("SHA-256 of %s = %s, SOURCE.md says %s", mergePath, got, recorded)
	}
	if len(ReadFile(t, "LICENSE")) == 0 {
		t.Error("LICENSE is empty")
	}
}

// Checksum returns the SHA-256 that a SOURCE.md records for something.
func Checksum(t *testing.T, path, of string) string {
	t.Helper()
	found := regexp.MustCompile(`SHA-256 of ` + of + `: ([0-9a-f]{64})`).FindSubmatch(ReadFile(t, path))
	if found == nil {
		t.Fatalf("%s names no SHA-256 of %s", path, of)
	}
	return string(found[1])
}

// ReadFile returns the content of a file.
func ReadFile(t TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
