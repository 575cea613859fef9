package main_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode"

	genclasses "github.com/forge-agent/forge/tokenizer/internal/genclasses"
)

func TestTableIsGenerated(t *testing.T) {
	list, err := os.ReadFile("../../bpe/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../bpe/classes.bin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := genclasses.Table(string(list))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("classes.bin is not what classes.txt makes: run go generate ./tokenizer/bpe")
	}
}

// The list is the one of its Unicode version. With a Go release that has
// another version it says nothing about what that version changed.
func TestListIsUnicode(t *testing.T) {
	list, err := os.ReadFile("../../bpe/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	const pinned = "15.0.0"
	if !strings.Contains(string(list), "Unicode "+pinned) {
		t.Fatalf("classes.txt does not name Unicode %s", pinned)
	}
	if unicode.Version == pinned && !bytes.Equal(genclasses.Ranges(), list) {
		t.Error("classes.txt is not what the Unicode tables of this Go release give")
	}
}

func TestTableRefuses(t *testing.T) {
	for name, list := range map[string]string{
		"no class":        "0041",
		"unknown class":   "0041 X",
		"not hexadecimal": "004G U",
		"end before":      "0042-0041 U",
		"outside":         "110000 U",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := genclasses.Table(list); err == nil {
				t.Errorf("Table(%q) gave no error", list)
			}
		})
	}
}
