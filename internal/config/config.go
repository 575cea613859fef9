// Package config reads Forge's configuration: defaults, the user's file, the
// project's file, the environment and flags, in that order.
//
// One table ([Keys]) says what settings there are. Files are checked against
// it, layers are merged by it, and the JSON Schema and the page of the
// documentation are made from it. A project's file can only tighten what holds
// without it (F-CFG-02); what it may not do is not applied and reported.
//
// The package writes nothing, starts nothing and holds no keys of providers
// (internal/credential does). Parsing and merging only compute.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/workspace"
)

// Where the files are: the user's in Forge's home folder, the project's in the
// workspace.
const (
	UserFile    = "config.json"
	ProjectFile = ".forge/config.json"
)

// FamilyVariable is the environment variable with the family of compactions.
// It is for the development of Forge and appears in no help (P-FAM-01).
const FamilyVariable = "FORGE_COMPACTION_STRATEGY"

// Options say where to read from. The zero value gives the defaults.
type Options struct {
	// Home is Forge's home folder, absolute; empty for no user's file.
	Home string
	// Workspace is the folder of the session; nil for no project's file.
	Workspace *workspace.Workspace
	// Getenv looks a variable up; nil for no environment.
	Getenv func(string) string
	// Flags are the values of flags that were given, by key: "limits.maxSteps".
	Flags map[string]string
	// Family is the application's own choice of a family; it comes before the
	// environment's. Empty for none.
	Family compaction.Family
}

// A Config is what all layers together say. It does not change after Load and
// may be shared by goroutines.
type Config struct {
	// Values are the settings that hold.
	Values
	settings map[string]*setting
	findings []Finding
}

// Load reads all layers. The error is an [*Error] with every fault, and the
// Config, never nil, is then what the usable rest says: it is good for showing
// and for nothing else, since a rule that protects could be missing in it.
//
// Findings that are no faults must be shown to the user: see [Config.Warnings].
func Load(o Options) (*Config, error) {
	t := newTable(Keys())
	var layers []layer
	var findings []Finding
	take := func(l layer, fs []Finding) {
		layers, findings = append(layers, l), append(findings, fs...)
	}
	take(readUser(t, o.Home))
	if !sameFile(o) {
		take(readProject(t, o.Workspace))
	}
	take(readEnvironment(t, o.Getenv))
	take(readFlags(t, o.Flags))
	c := build(t, layers, findings)
	var finding *Finding
	if c.Family, finding = family(o); finding != nil {
		c.findings = append(c.findings, *finding)
		finish(c.findings)
	}
	return c, faults(c.findings)
}

// Check returns what is wrong with one file, as a layer on top of the defaults.
// A project's file is judged by the defaults: what a user has set can refuse
// more of it.
func Check(l Layer, file string, data []byte) []Finding {
	t := newTable(Keys())
	read, findings := readLayer(t, l, file, data)
	return build(t, []layer{read}, findings).findings
}

// build merges layers and decodes the outcome.
func build(t *table, layers []layer, findings []Finding) *Config {
	m := merge(t, layers)
	c := &Config{settings: m.settings, findings: slices.Concat(findings, m.findings, verify(m))}
	finish(c.findings)
	// The types were checked value by value, so this cannot fail.
	if err := json.Unmarshal(m.document(), &c.Values); err != nil {
		c.findings = append(c.findings, Finding{Severity: Fault, Text: "the merged configuration cannot be read: " + err.Error()})
	}
	return c
}

// document is the merged configuration as JSON.
func (m *merged) document() []byte {
	root := map[string]any{}
	for path, s := range m.settings {
		if s.value == nil {
			continue
		}
		at, names := root, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}
		at[names[len(names)-1]] = s.value
	}
	data, err := json.Marshal(root)
	if err != nil {
		return nil
	}
	return data
}

// sameFile reports whether the project's file is the user's: a session in the
// home directory has ~/.forge/config.json as both.
func sameFile(o Options) bool {
	if o.Home == "" || o.Workspace == nil {
		return false
	}
	user, err := os.Stat(filepath.Join(o.Home, UserFile))
	if err != nil {
		return false
	}
	project, err := os.Stat(filepath.Join(o.Workspace.Dir(), filepath.FromSlash(ProjectFile)))
	return err == nil && os.SameFile(user, project)
}

func broken(l Layer, file, text string) (layer, []Finding) {
	return layer{layer: l}, []Finding{{Severity: Fault, Layer: l, Place: Place{File: file}, Text: text}}
}

func readUser(t *table, home string) (layer, []Finding) {
	if home == "" {
		return layer{layer: User}, nil
	}
	file := filepath.Join(home, UserFile)
	data, err := ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return layer{layer: User}, nil
	case err != nil:
		return broken(User, file, err.Error())
	}
	return readLayer(t, User, file, data)
}

// ReadFile reads a file of at most MaxFileBytes. Opening a pipe would wait,
// and a device may never end, so only regular files are read.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read configuration: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read configuration: %q is not a regular file", path)
	case info.Size() > MaxFileBytes:
		return nil, fmt.Errorf("read configuration: %q has %d bytes, which no configuration has; the most is %d", path, info.Size(), MaxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return data, nil
}

func readProject(t *table, w *workspace.Workspace) (layer, []Finding) {
	if w == nil {
		return layer{layer: Project}, nil
	}
	name := filepath.Join(w.Dir(), filepath.FromSlash(ProjectFile))
	file, err := w.Read(ProjectFile, MaxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(name); err == nil {
			return broken(Project, name, "the link leads nowhere; remove it")
		}
		return layer{layer: Project}, nil
	case err != nil:
		return broken(Project, name, err.Error())
	}
	return readLayer(t, Project, name, file.Data)
}

func readEnvironment(t *table, getenv func(string) string) (layer, []Finding) {
	l, findings := layer{layer: Environment}, []Finding(nil)
	for i := range t.keys {
		k := &t.keys[i]
		if k.Env == "" || getenv == nil || getenv(k.Env) == "" {
			continue
		}
		place := Place{Name: k.Env}
		value, problem := k.parseText(getenv(k.Env))
		if problem != "" {
			findings = append(findings, Finding{Severity: Fault, Layer: Environment, Place: place, Key: k.Path, Text: k.Env + " " + problem})
			continue
		}
		l.entries = append(l.entries, entry{k, k.Path, value, place})
	}
	return l, findings
}

func readFlags(t *table, flags map[string]string) (layer, []Finding) {
	l, findings := layer{layer: Flag}, []Finding(nil)
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		k := t.byPath[path]
		if k == nil || k.Flag == "" {
			findings = append(findings, Finding{Severity: Fault, Layer: Flag, Key: path, Text: fmt.Sprintf("there is no flag for %q", path)})
			continue
		}
		place := Place{Name: "--" + k.Flag}
		value, problem := k.parseText(flags[path])
		if problem != "" {
			findings = append(findings, Finding{Severity: Fault, Layer: Flag, Place: place, Key: path, Text: place.Name + " " + problem})
			continue
		}
		l.entries = append(l.entries, entry{k, path, value, place})
	}
	return l, findings
}

func family(o Options) (compaction.Family, *Finding) {
	name, place := string(o.Family), Place{}
	if name == "" && o.Getenv != nil {
		name, place = o.Getenv(FamilyVariable), Place{Name: FamilyVariable}
	}
	f, err := compaction.ParseFamily(name)
	if err != nil {
		return compaction.FamilySummary, &Finding{Severity: Fault, Layer: Environment, Place: place, Text: err.Error()}
	}
	return f, nil
}
