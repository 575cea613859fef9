package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Bounds of what a statement may say. They catch slips (a price per token, a
// window in kilobytes), not lies.
const (
	// MaxOverridesBytes is the longest text that ParseOverrides reads.
	MaxOverridesBytes = 1 << 20

	maxStatedTokens        = 1_000_000_000
	maxStatedUSDPerMillion = 1_000_000
	maxStatedTTLSeconds    = 366 * 24 * 3600
	maxNameBytes           = 200
)

// ErrInvalid is wrapped by every error about overrides.
var ErrInvalid = errors.New("invalid model overrides")

// Overrides are statements about models, in order; a later one wins over an
// earlier one. The zero value states nothing.
type Overrides struct{ entries []entry }

// An entry is what one source says about one model or several.
type entry struct {
	ID              string      `json:"id,omitempty"`
	IDs             []string    `json:"ids,omitempty"`
	Source          string      `json:"source,omitempty"`
	Date            string      `json:"date,omitempty"`
	Provider        *string     `json:"provider,omitempty"`
	Aliases         []string    `json:"aliases,omitempty"`
	Family          *Family     `json:"family,omitempty"`
	Vocabulary      *string     `json:"vocabulary,omitempty"`
	WindowTokens    *int        `json:"windowTokens,omitempty"`
	MaxInputTokens  *int        `json:"maxInputTokens,omitempty"`
	MaxOutputTokens *int        `json:"maxOutputTokens,omitempty"`
	Prices          *priceEntry `json:"prices,omitempty"`
	Cache           *cacheEntry `json:"cache,omitempty"`
	Unknown         []string    `json:"unknown,omitempty"`
}

type rateEntry struct {
	Input          *float64 `json:"inputUSDPerMillion,omitempty"`
	CachedInput    *float64 `json:"cachedInputUSDPerMillion,omitempty"`
	CacheWrite     *float64 `json:"cacheWriteUSDPerMillion,omitempty"`
	LongCacheWrite *float64 `json:"longCacheWriteUSDPerMillion,omitempty"`
	Output         *float64 `json:"outputUSDPerMillion,omitempty"`
}

type priceEntry struct {
	rateEntry
	Tiers []tierEntry `json:"tiers,omitempty"`
}

type tierEntry struct {
	AboveInputTokens int `json:"aboveInputTokens"`
	rateEntry
}

type cacheEntry struct {
	Mode           *CacheMode `json:"mode,omitempty"`
	MinTokens      *int       `json:"minTokens,omitempty"`
	TTLSeconds     *int       `json:"ttlSeconds,omitempty"`
	LongTTLSeconds *int       `json:"longTTLSeconds,omitempty"`
	MaxBreakpoints *int       `json:"maxBreakpoints,omitempty"`
}

// Names that "unknown" may hold.
func forgettable() []string {
	return []string{"vocabulary", "windowTokens", "maxInputTokens", "maxOutputTokens", "prices", "cache"}
}

// ParseOverrides reads a user's statements about models: a JSON array of
// objects, each with "id" (or "ids") and any of
//
//	provider, family, vocabulary, aliases [names]
//	windowTokens, maxInputTokens, maxOutputTokens
//	prices {inputUSDPerMillion, cachedInputUSDPerMillion,
//	        cacheWriteUSDPerMillion, longCacheWriteUSDPerMillion,
//	        outputUSDPerMillion, tiers [{aboveInputTokens, …the same five}]}
//	cache {mode, minTokens, ttlSeconds, longTTLSeconds, maxBreakpoints}
//	unknown [what to forget: "prices", "windowTokens", …]
//	source, date (YYYY-MM-DD)
//
// Unknown keys, negative numbers and values out of range are errors that wrap
// ErrInvalid. At most MaxOverridesBytes are read.
func ParseOverrides(data []byte) (Overrides, error) {
	entries, err := parse(data)
	if err != nil {
		return Overrides{}, err
	}
	return Overrides{entries: entries}, nil
}

func parse(data []byte) ([]entry, error) {
	if len(data) > MaxOverridesBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrInvalid, len(data), MaxOverridesBytes)
	}
	var entries []entry
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after the closing bracket", ErrInvalid)
	}
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrInvalid, i+1, err)
		}
	}
	return entries, nil
}

// check refuses what cannot be meant, and brings names to lower case.
func (e *entry) check() error {
	if (e.ID == "") == (len(e.IDs) == 0) {
		return errors.New(`state either "id" or "ids"`)
	}
	if e.ID != "" {
		e.IDs, e.ID = []string{e.ID}, ""
	}
	for _, names := range [][]string{e.IDs, e.Aliases} {
		for i, name := range names {
			names[i] = normalize(name)
			if names[i] == "" || len(names[i]) > maxNameBytes {
				return fmt.Errorf("name %q: must have 1 to %d bytes", shorten(name), maxNameBytes)
			}
		}
	}
	if len(e.IDs) > 1 && len(e.Aliases) > 0 {
		return errors.New(`"aliases" need a single "id"`)
	}
	if e.Date != "" {
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
			return fmt.Errorf("date %q: write it as YYYY-MM-DD", shorten(e.Date))
		}
	}
	if e.Family != nil && !slices.Contains(families(), *e.Family) {
		return fmt.Errorf("family %q: use one of %v", shorten(string(*e.Family)), families())
	}
	if e.Vocabulary != nil && !slices.Contains(vocabularies(), *e.Vocabulary) {
		return fmt.Errorf("vocabulary %q: use one of %v", shorten(*e.Vocabulary), vocabularies())
	}
	for _, what := range e.Unknown {
		if !slices.Contains(forgettable(), what) {
			return fmt.Errorf("unknown %q: use any of %v", shorten(what), forgettable())
		}
	}
	return errors.Join(
		checkNumber("windowTokens", e.WindowTokens, 1, maxStatedTokens),
		checkNumber("maxInputTokens", e.MaxInputTokens, 1, maxStatedTokens),
		checkNumber("maxOutputTokens", e.MaxOutputTokens, 1, maxStatedTokens),
		e.Prices.check(), e.Cache.check())
}

func (p *priceEntry) check() error {
	if p == nil {
		return nil
	}
	if err := p.rateEntry.check(); err != nil {
		return err
	}
	slices.SortFunc(p.Tiers, func(a, b tierEntry) int { return a.AboveInputTokens - b.AboveInputTokens })
	for i, tier := range p.Tiers {
		if err := checkNumber("tiers: aboveInputTokens", &tier.AboveInputTokens, 1, maxStatedTokens); err != nil {
			return err
		}
		if i > 0 && p.Tiers[i-1].AboveInputTokens == tier.AboveInputTokens {
			return fmt.Errorf("tiers: %d is there twice", tier.AboveInputTokens)
		}
		if err := tier.rateEntry.check(); err != nil {
			return err
		}
	}
	return nil
}

func (r rateEntry) check() error {
	for _, rate := range []*float64{r.Input, r.CachedInput, r.CacheWrite, r.LongCacheWrite, r.Output} {
		if rate != nil && !(*rate >= 0 && *rate <= maxStatedUSDPerMillion) {
			return fmt.Errorf("prices: %v is not between 0 and %d US dollars for a million tokens", *rate, maxStatedUSDPerMillion)
		}
	}
	return nil
}

func (c *cacheEntry) check() error {
	if c == nil {
		return nil
	}
	if c.Mode != nil && !slices.Contains(cacheModes(), *c.Mode) {
		return fmt.Errorf("cache mode %q: use one of %v", shorten(string(*c.Mode)), cacheModes())
	}
	return errors.Join(
		checkNumber("cache: minTokens", c.MinTokens, 0, maxStatedTokens),
		checkNumber("cache: ttlSeconds", c.TTLSeconds, 0, maxStatedTTLSeconds),
		checkNumber("cache: longTTLSeconds", c.LongTTLSeconds, 0, maxStatedTTLSeconds),
		checkNumber("cache: maxBreakpoints", c.MaxBreakpoints, 0, math.MaxInt16))
}

func checkNumber(what string, n *int, low, high int) error {
	if n != nil && (*n < low || *n > high) {
		return fmt.Errorf("%s is %d, it must be %d to %d", what, *n, low, high)
	}
	return nil
}

// shorten keeps a foreign text in an error message readable.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
