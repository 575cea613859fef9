package config

import (
	"fmt"
	"slices"
	"strings"
)

// An entry is one value of a layer.
type entry struct {
	key   *Key
	path  string
	value any
	place Place
}

// A layer is what one source states, in the order of the source.
type layer struct {
	layer   Layer
	entries []entry
}

// checker turns the tree of a file into entries and findings.
type checker struct {
	table    *table
	layer    Layer
	file     string
	entries  []entry
	findings []Finding
}

// readLayer reads the bytes of a file. It returns what can be used of it, and
// everything that is wrong with it.
func readLayer(t *table, l Layer, file string, data []byte) (layer, []Finding) {
	c := &checker{table: t, layer: l, file: file}
	tree, fault := parse(data)
	switch {
	case fault != nil:
		c.fault(fault.line, fault.column, "", "%s", fault.text)
	case !tree.object:
		c.fault(tree.line, tree.column, "", `the file holds %s, but must hold an object such as {"version": %d}`, tree.kind(), Version)
	case c.version(tree):
		c.object(tree, "", "")
	}
	return layer{l, c.entries}, c.findings
}

func (c *checker) fault(line, column int, key, format string, args ...any) {
	c.findings = append(c.findings, Finding{Severity: Fault, Layer: c.layer, Place: Place{File: c.file, Line: line, Column: column},
		Key: key, Text: fmt.Sprintf(format, args...)})
}

// version looks at the version alone: in a file of another version every
// other finding could be wrong.
func (c *checker) version(tree *node) bool {
	for _, m := range tree.members {
		if m.name != "version" {
			continue
		}
		if _, problem := c.table.byPath["version"].read(m.value); problem != "" {
			c.fault(m.value.line, m.value.column, "version", "version %s; this program reads version %d only", problem, Version)
			return false
		}
		return true
	}
	c.fault(tree.line, tree.column, "version", `the file does not state its version; add "version": %d`, Version)
	return true
}

// object checks the members of an object. at is its path in the table, path
// the one in the file.
func (c *checker) object(n *node, at, path string) {
	seen := map[string]member{}
	below := c.table.inside[at]
	for _, m := range n.members {
		if first, twice := seen[m.name]; twice {
			c.fault(m.line, m.column, join(path, clip(m.name)), "%q stands twice in the same object, first in line %d; remove one", clip(m.name), first.line)
			continue
		}
		seen[m.name] = m
		switch {
		case slices.Contains(below, m.name) && m.name != "*" && m.name != "[]":
			c.member(m, join(at, m.name), join(path, m.name))
		case slices.Contains(below, "*"):
			if !chosen(m.name) {
				c.fault(m.line, m.column, path, "%q is no name for an entry of %q; use up to 64 letters, digits, - and _", clip(m.name), path)
				continue
			}
			if m.value.object && len(m.value.members) == 0 {
				c.fault(m.line, m.column, join(path, m.name), "%q is empty; say what it is, or remove it", join(path, m.name))
			}
			c.member(m, join(at, "*"), join(path, m.name))
		default:
			c.fault(m.line, m.column, join(path, clip(m.name)), "%s", c.unknown(m.name, at, path))
		}
	}
}

// chosen reports whether a name can stand for an entry. It holds no dot, so
// that a path can be cut into its names again.
func chosen(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// clip shortens a name of the file for a message.
func clip(name string) string {
	const most = 64
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// unknown names the nearest key: first among those of the same object, then
// among all.
func (c *checker) unknown(name, at, path string) string {
	what := fmt.Sprintf("unknown key %q", clip(name))
	if path != "" {
		what += fmt.Sprintf(" in %q", path)
	}
	near := nearest(name, c.table.inside[at])
	if near == "" {
		var all []string
		for _, k := range c.table.keys {
			all = append(all, k.Path)
		}
		near = nearest(name, all)
	}
	if near == "" {
		return what + `; "forge config schema" lists the keys`
	}
	return what + fmt.Sprintf("; did you mean %q?", near)
}

func (c *checker) member(m member, at, path string) {
	key := c.table.byPath[at]
	switch {
	case key == nil && !m.value.object:
		c.fault(m.value.line, m.value.column, path, "%q must be an object, not %s", path, m.value.kind())
	case key == nil:
		c.object(m.value, at, path)
	case key.Type == Objects:
		if list, ok := c.objects(m.value, key, path); ok {
			c.add(m, key, path, list)
		}
	case key.Type == Ignored:
		if path == "compaction" {
			c.findings = append(c.findings, Finding{Severity: Notice, Layer: c.layer, Place: Place{c.file, m.line, m.column, ""}, Key: path,
				Text: `"compaction" is ignored: how a conversation is compacted is no setting, and "context.mode" says whether it is; remove it`})
		}
	default:
		value, problem := key.read(m.value)
		if problem != "" {
			c.fault(m.value.line, m.value.column, path, "%q %s", path, problem)
			return
		}
		c.add(m, key, path, value)
	}
}

func (c *checker) add(m member, key *Key, path string, value any) {
	c.entries = append(c.entries, entry{key, path, value, Place{File: c.file, Line: m.line, Column: m.column}})
}

// objects reads a list of rules. One wrong entry makes the list unusable: a
// rule that is left out could be the one that matters.
func (c *checker) objects(n *node, key *Key, path string) ([]map[string]any, bool) {
	if n.list == nil {
		c.fault(n.line, n.column, path, "%q must be a list of objects, not %s", path, n.kind())
		return nil, false
	}
	out, before := []map[string]any{}, len(c.findings)
	for i, e := range n.list {
		name := fmt.Sprintf("%s[%d]", path, i)
		if !e.object {
			c.fault(e.line, e.column, name, "%q must be an object, not %s", name, e.kind())
			continue
		}
		inner := &checker{table: c.table, layer: c.layer, file: c.file}
		inner.object(e, key.Path+"[]", name)
		c.findings = append(c.findings, inner.findings...)
		fields := map[string]any{}
		for _, field := range inner.entries {
			fields[field.path[strings.LastIndexByte(field.path, '.')+1:]] = field.value
		}
		for _, below := range c.table.inside[key.Path+"[]"] {
			if k := c.table.byPath[key.Path+"[]."+below]; fields[below] == nil && k.Default != nil && k.Default != "" {
				fields[below] = k.Default
			}
		}
		if fields["action"] == nil && len(inner.findings) == 0 {
			c.fault(e.line, e.column, name, `%q has no "action"; use %s`, name, choices(c.table.byPath[key.Path+"[].action"].Choices))
		}
		if key.Path == grantsPath && len(fields) == 1 && len(inner.findings) == 0 { // the action alone
			c.fault(e.line, e.column, name, `%q matches every call; name a "tool", a "risk" or a "command"`, name)
		}
		out = append(out, fields)
	}
	return out, len(c.findings) == before
}
