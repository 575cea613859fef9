// Package page writes the reports of the evaluation: JSON, a page in Markdown
// with its tables, and pictures as files beside it.
package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/internal/eval/verdict"
)

// A Header says where a report comes from.
type Header struct {
	// Commit is the commit that made it; empty when the program does not
	// know.
	Commit string `json:"commit"`
	// Command is what was run.
	Command string `json:"command"`
	// Sessions and Skipped count the files of the corpus that were read and
	// those that no importer knows.
	Sessions int `json:"sessions"`
	Skipped  int `json:"skippedFiles"`
}

// A Bundle is a report as files.
type Bundle struct {
	// Names are the files' names in the order in which they were added.
	Names []string
	files map[string][]byte
}

func (b *Bundle) add(name string, data []byte) {
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	b.Names = append(b.Names, name)
	b.files[name] = data
}

// File returns a file's content.
func (b *Bundle) File(name string) []byte { return b.files[name] }

// Write writes the files into a folder, which is made when it is missing.
// Files with these names are replaced, others are left alone.
func (b *Bundle) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for reports: %w", err)
	}
	for _, name := range b.Names {
		if err := os.WriteFile(filepath.Join(dir, name), b.files[name], 0o644); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}

// envelope is the JSON form of every report.
type envelope struct {
	Header
	Verdicts []verdict.Verdict `json:"verdicts"`
	Report   any               `json:"report"`
}

// addJSON writes the report for programs.
func (b *Bundle) addJSON(name string, h Header, verdicts []verdict.Verdict, report any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(envelope{h, verdicts, report}); err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	b.add(name, out.Bytes())
	return nil
}

// text collects Markdown.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *text) head(title string, h Header, what string) {
	t.line("# %s\n", title)
	commit := h.Commit
	if commit == "" {
		commit = "unknown"
	}
	t.line("Made by `%s` at commit %s. Do not edit. %s\n", h.Command, commit, what)
}

func (t *text) verdicts(vs []verdict.Verdict) {
	t.line("## What was asked for\n")
	t.line("| | asked | measured | |\n|---|---|---|---|")
	for _, v := range vs {
		t.line("| %s | %s | %s | %s |", v.ID, cellText(v.Asked), cellText(v.Measured), v.State)
	}
	t.line("")
}

// cellText makes a text safe for a table.
func cellText(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }

// described prints the sources of the policies.
func (t *text) described(rows [][4]string) {
	t.line("## The policies\n")
	t.line("Each peer is made again from what is known of its mechanism; none of its code is used.\n")
	t.line("| id | policy | where its rule comes from | what is simpler than the peer |\n|---|---|---|---|")
	for _, r := range rows {
		t.line("| %s | %s | %s | %s |", r[0], cellText(r[1]), cellText(r[2]), cellText(r[3]))
	}
	t.line("")
}
