package catalogdata

import (
	"bytes"
	"cmp"
	_ "embed" // the inputs
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/forge-agent/forge/model/catalog"
)

//go:embed catwalk.json
var catwalk []byte

//go:embed overrides.json
var overrides []byte

// A statement is an entry of the catalog's data as far as catwalk's tables
// fill it. The format is that of catalog.ParseOverrides.
type statement struct {
	ID              string   `json:"id"`
	Source          string   `json:"source"`
	Date            string   `json:"date"`
	Provider        string   `json:"provider"`
	Family          string   `json:"family"`
	Aliases         []string `json:"aliases,omitempty"`
	WindowTokens    int      `json:"windowTokens,omitempty"`
	MaxOutputTokens int      `json:"maxOutputTokens,omitempty"`
	Prices          *prices  `json:"prices,omitempty"`
}

type prices struct {
	Input       float64 `json:"inputUSDPerMillion"`
	CachedInput float64 `json:"cachedInputUSDPerMillion,omitempty"`
	CacheWrite  float64 `json:"cacheWriteUSDPerMillion,omitempty"`
	Output      float64 `json:"outputUSDPerMillion"`
}

// Build returns the catalog's data file, made from the checked-in inputs: the
// statements from catwalk's tables, then those kept by hand, one a line. The
// same inputs give the same bytes.
func Build() ([]byte, error) { return BuildFrom(catwalk, overrides) }

// BuildFrom is Build with other inputs: an encoded Dump, and a JSON array of
// statements that each say their source and date.
func BuildFrom(dumpJSON, overridesJSON []byte) ([]byte, error) {
	var dump Dump
	if err := json.Unmarshal(dumpJSON, &dump); err != nil {
		return nil, fmt.Errorf("read catwalk.json: %w", err)
	}
	var kept []json.RawMessage
	if err := json.Unmarshal(overridesJSON, &kept); err != nil {
		return nil, fmt.Errorf("read overrides.json: %w", err)
	}
	var lines [][]byte
	for _, s := range fromDump(dump) {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", s.ID, err)
		}
		lines = append(lines, line)
	}
	for i, raw := range kept {
		if err := checkSourced(raw); err != nil {
			return nil, fmt.Errorf("overrides.json: entry %d: %w", i+1, err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil, fmt.Errorf("overrides.json: entry %d: %w", i+1, err)
		}
		lines = append(lines, line.Bytes())
	}
	data := append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...)
	data = append(data, "\n]\n"...)
	if _, err := catalog.ParseOverrides(data); err != nil {
		return nil, fmt.Errorf("check the result: %w", err)
	}
	return data, nil
}

// checkSourced makes sure that a statement kept by hand says where it comes
// from.
func checkSourced(raw json.RawMessage) error {
	var s struct{ Source, Date string }
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Source == "" || s.Date == "" {
		return fmt.Errorf("state source and date: %.60s", raw)
	}
	return nil
}

// fromDump turns the tables into statements, sorted by ID. A model that
// several hosts serve gets the smallest window that any of them states
// (F-CAP-04: never an optimistic window).
func fromDump(dump Dump) []statement {
	byID := map[string]statement{}
	for _, r := range rules() {
		for _, p := range dump.Providers {
			if p.ID != r.table {
				continue
			}
			for _, m := range p.Models {
				s, ok := r.statement(dump, m)
				if !ok {
					continue
				}
				if other, taken := byID[s.ID]; taken {
					s = merge(other, s)
				}
				byID[s.ID] = s
			}
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b statement) int { return cmp.Compare(a.ID, b.ID) })
}

// merge keeps the first statement, which is the maker's where there is one,
// and takes the window of a second host when that is smaller and the first is
// not the maker's own.
func merge(first, second statement) statement {
	if first.Prices != nil || second.WindowTokens == 0 || first.WindowTokens != 0 && first.WindowTokens <= second.WindowTokens {
		return first
	}
	first.WindowTokens, first.Source = second.WindowTokens, second.Source
	return first
}

var snapshotDate = regexp.MustCompile(`-20[0-9]{6}$`)

func (r rule) statement(dump Dump, m RawModel) (statement, bool) {
	id := strings.ToLower(m.ID)
	s := statement{
		ID:       id,
		Source:   fmt.Sprintf("%s %s, table %s", dump.Module, dump.Version, r.table),
		Date:     dump.Date,
		Provider: r.provider, Family: r.family,
		WindowTokens: m.WindowTokens,
	}
	if r.makers != nil {
		i := slices.IndexFunc(r.makers, func(k maker) bool { return k.match.MatchString(id) })
		if i < 0 {
			return statement{}, false
		}
		s.Provider, s.Family = r.makers[i].provider, r.makers[i].family
		s.ID = id[strings.LastIndexByte(id, '/')+1:]
	}
	if base := snapshotDate.ReplaceAllString(s.ID, ""); base != s.ID {
		s.ID, s.Aliases = base, []string{s.ID}
	}
	if r.outputIsLimit(id) {
		s.MaxOutputTokens = m.MaxOutputTokens
	}
	s.Prices = rates(r.layout(id), m)
	return s, true
}

// rates gives the prices their meaning. Zero and what does not fit is unknown:
// a read costs at most half the input, a write at least the input.
func rates(l layout, m RawModel) *prices {
	if l == noPrices || m.In <= 0 || m.Out <= 0 {
		return nil
	}
	p := &prices{Input: m.In, Output: m.Out}
	isRead := func(v float64) bool { return v > 0 && v <= m.In/2 }
	read, write := 0.0, 0.0
	switch l {
	case writeAndRead:
		read, write = m.OutCached, m.InCached
	case readAndWrite:
		read, write = m.InCached, m.OutCached
	case readIn:
		read = m.InCached
	case readOut:
		read = m.OutCached
	case readEither:
		switch in, out := isRead(m.InCached), isRead(m.OutCached); {
		case in && !out, in && m.InCached == m.OutCached:
			read = m.InCached
		case out && !in:
			read = m.OutCached
		}
	}
	if isRead(read) {
		p.CachedInput = round(read)
	}
	if write >= m.In {
		p.CacheWrite = round(write)
	}
	p.Input, p.Output = round(p.Input), round(p.Output)
	return p
}

// round takes away the noise of a price that was multiplied from one per
// token, for example 0.39999999999999997.
func round(usd float64) float64 {
	const steps = 1e7
	return float64(int64(usd*steps+0.5)) / steps
}
