package config

import (
	"cmp"
	"slices"
)

// Findings returns everything that is wrong with the layers, by layer and
// place. The result is the caller's.
func (c *Config) Findings() []Finding { return slices.Clone(c.findings) }

// Warnings returns the findings that are no faults: a run begins in spite of
// them, and must show them.
func (c *Config) Warnings() []Finding {
	return slices.DeleteFunc(c.Findings(), func(f Finding) bool { return f.Severity == Fault })
}

// Provenance returns every layer's opinion on a key, the one that holds first
// and then from the highest layer to the lowest. It is empty for a key that
// nobody sets and that has no default.
func (c *Config) Provenance(key string) []Origin {
	s := c.settings[key]
	if s == nil {
		return nil
	}
	out := slices.Clone(s.origins)
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b Origin) int {
		switch {
		case a.Used == b.Used:
			return cmp.Compare(b.Layer, a.Layer)
		case a.Used:
			return -1
		}
		return 1
	})
	return out
}

// A Setting is a key with its value and where it comes from, ready to be shown
// or written as JSON: secrets are hidden.
type Setting struct {
	Key string `json:"key"`
	// Value is the value that holds; nil when nobody sets it.
	Value any `json:"value"`
	// Text is the value for people.
	Text string `json:"-"`
	// Doc says what the key means.
	Doc string `json:"-"`
	// Origins are as Provenance returns them.
	Origins []ShownOrigin `json:"origins"`
}

// A ShownOrigin is an origin with its value ready to be shown.
type ShownOrigin struct {
	Origin
	Value any    `json:"value"`
	Text  string `json:"-"`
}

// Settings returns all keys in the order of the table. Keys below a name that
// the user chose follow where the table has them, by name. What a project
// proposes has the keys "mcp.proposed.…".
func (c *Config) Settings() []Setting {
	var out []Setting
	t := newTable(Keys())
	for _, k := range t.keys {
		var paths []string
		for path, s := range c.settings {
			if s.key.Path == k.Path && path != projectRules {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		for _, path := range paths {
			out = append(out, c.shown(c.settings[path]))
		}
	}
	// The keys of one entry belong together.
	rank := map[string]int{}
	for i, s := range out {
		group := cmp.Or(entity(c.settings[s.Key].key.Path, s.Key), s.Key)
		if _, seen := rank[group]; !seen {
			rank[group] = i
		}
	}
	slices.SortStableFunc(out, func(a, b Setting) int {
		return cmp.Compare(rank[cmp.Or(entity(c.settings[a.Key].key.Path, a.Key), a.Key)], rank[cmp.Or(entity(c.settings[b.Key].key.Path, b.Key), b.Key)])
	})
	return out
}

func (c *Config) shown(s *setting) Setting {
	value := s.value
	if s.path == rulesPath && c.settings[projectRules] != nil {
		value = append(slices.Clone(objects(value)), objects(c.settings[projectRules].value)...)
	}
	out := Setting{Key: s.path, Value: s.key.shown(value), Text: s.key.show(value), Doc: s.key.Doc}
	for _, o := range c.Provenance(s.path) {
		out.Origins = append(out.Origins, ShownOrigin{Origin: o, Value: s.key.shown(o.Value), Text: s.key.show(o.Value)})
	}
	return out
}

func objects(value any) []map[string]any {
	list, _ := value.([]map[string]any)
	return list
}

// Find returns the nearest key to a word, for a person who misspelt it; empty
// when none is near.
func (c *Config) Find(word string) string {
	var all []string
	for _, s := range c.Settings() {
		all = append(all, s.Key)
	}
	return nearest(word, all)
}
