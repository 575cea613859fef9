package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	merges := write("in.merges", "a\x00\x00b\x00\x00\x00\x01\x00c\x00\x00")
	tokenizer := write("tokenizer.json", `{"model":{"type":"BPE","vocab":{"ab":256},"merges":["a b"]}}`)
	out := filepath.Join(dir, "out.merges")
	tests := []struct {
		name      string
		args      []string
		want      string // the merge file
		wantError string
	}{
		{"head", []string{"-head", "1", "-out", out, merges}, "a\x00\x00b\x00\x00", ""},
		{"JSON", []string{"-out", out, tokenizer}, "a\x00\x00b\x00\x00", ""},
		{"head too long", []string{"-head", "3", "-out", out, merges}, "", "a head of 3 merges"},
		{"no head", []string{"-out", out, merges}, "", "a head of 0 merges"},
		{"no output", []string{merges}, "", "name the merge file"},
		{"no input", []string{"-out", out}, "", "name the merge file"},
		{"other name", []string{"-out", out, write("x.txt", "")}, "", "the name ends in none"},
		{"cut", []string{"-out", out, write("cut.tiktoken", "IQ== 0\n")}, "", "fewer than 256"},
		{"missing", []string{"-out", out, filepath.Join(dir, "missing.json")}, "", "read vocabulary"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := run(test.args)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error = %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("merge file = %q, want %q", got, test.want)
			}
		})
	}
}
