// Package catalogdata makes the data of model/catalog from two checked-in
// inputs: catwalk.json, a pinned and reduced copy of charm.land/catwalk's
// tables, and overrides.json, statements kept by hand with a source and a date
// each. README.md says how to keep them.
//
// It is a tool of the repository and reads no network; internal/catalogdump is
// its command.
package catalogdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Dump is a reduced copy of catwalk's tables, numbers unchanged.
type Dump struct {
	// Module and Version say what was copied, Date (YYYY-MM-DD) when that
	// version was made.
	Module  string `json:"module"`
	Version string `json:"version"`
	Date    string `json:"date"`
	// Providers are the hosts, sorted by ID.
	Providers []Provider `json:"providers"`
}

// A Provider is one host's table.
type Provider struct {
	ID     string     `json:"id"`
	Models []RawModel `json:"models"`
}

// A RawModel holds catwalk's numbers as they stand there. What the two cached
// prices mean differs by provider (see the rules in Build); zero means that
// catwalk has no value.
type RawModel struct {
	ID              string  `json:"id"`
	In              float64 `json:"cost_per_1m_in,omitempty"`
	Out             float64 `json:"cost_per_1m_out,omitempty"`
	InCached        float64 `json:"cost_per_1m_in_cached,omitempty"`
	OutCached       float64 `json:"cost_per_1m_out_cached,omitempty"`
	WindowTokens    int     `json:"context_window,omitempty"`
	MaxOutputTokens int     `json:"default_max_tokens,omitempty"`
}

// Hosts that are copied: the makers themselves, and hosts that show which
// windows open models are served with.
func copiedProviders() []string {
	return []string{"alibaba-singapore", "anthropic", "cerebras", "deepseek", "gemini", "groq", "minimax", "moonshot", "openai",
		"openrouter", "xai", "zai"}
}

// Reduce reads catwalk's provider tables, one JSON file each, and keeps the
// hosts and fields that the catalog uses.
func Reduce(configs fs.FS, module, version, date string) (Dump, error) {
	dump := Dump{Module: module, Version: version, Date: date}
	for _, id := range copiedProviders() {
		data, err := fs.ReadFile(configs, path.Join("internal/providers/configs", id+".json"))
		if err != nil {
			return Dump{}, fmt.Errorf("read table of %s: %w", id, err)
		}
		provider := Provider{}
		if err := json.Unmarshal(data, &provider); err != nil {
			return Dump{}, fmt.Errorf("decode table of %s: %w", id, err)
		}
		provider.ID = id
		slices.SortFunc(provider.Models, func(a, b RawModel) int { return strings.Compare(a.ID, b.ID) })
		dump.Providers = append(dump.Providers, provider)
	}
	return dump, nil
}

// Encode writes the dump with one model a line, so that a refresh shows what
// changed.
func (d Dump) Encode() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\"module\":%q,\"version\":%q,\"date\":%q,\"providers\":[\n", d.Module, d.Version, d.Date)
	for i, p := range d.Providers {
		fmt.Fprintf(&out, "{\"id\":%q,\"models\":[\n", p.ID)
		for j, m := range p.Models {
			line, err := json.Marshal(m)
			if err != nil {
				return nil, fmt.Errorf("encode %s of %s: %w", m.ID, p.ID, err)
			}
			out.Write(line)
			out.WriteString(comma(j, len(p.Models)))
		}
		out.WriteString("]}" + comma(i, len(d.Providers)))
	}
	out.WriteString("]}\n")
	return out.Bytes(), nil
}

func comma(i, n int) string {
	if i < n-1 {
		return ",\n"
	}
	return "\n"
}
