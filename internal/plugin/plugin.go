// Package plugin runs programs and reads texts that extend Forge: folders with
// a plugin.json that declares observers, policy hooks, prompts, MCP servers,
// commands and skills.
//
// A plugin of the user lies in FORGE_HOME and is trusted by its place. One of a
// workspace does nothing until the user has trusted it, for this workspace and
// this content of all its files; the trust is kept in FORGE_HOME. What runs is
// a private copy of what was trusted.
//
// Plugins see redacted events and cannot answer them, and a policy hook can
// only make a decision stricter (F-SEC-08). There is no way for one to change a
// request, a checkpoint or a limit.
package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/forge-agent/forge/internal/excerpt"
	"github.com/forge-agent/forge/internal/workspace"
)

// Where plugins are kept.
const (
	// WorkspaceFolder is the folder of a workspace's plugins.
	WorkspaceFolder = ".forge/plugins"
	// UserFolder is the folder of the user's plugins in FORGE_HOME.
	UserFolder = "plugins"
)

// maxPlugins bounds the plugins of one origin.
const maxPlugins = 64

// Origin is where a plugin lies.
type Origin string

// The origins.
const (
	OriginUser      Origin = "user"
	OriginWorkspace Origin = "workspace"
)

// Trust says whether a plugin may do what it declares.
type Trust string

// The states.
const (
	// Trusted: by its place, or by the user for its present content.
	Trusted Trust = "trusted"
	// Untrusted: the user has not trusted it in this workspace.
	Untrusted Trust = "untrusted"
	// Changed: it was trusted, and its files are others now.
	Changed Trust = "changed"
)

// A Plugin is one that was found.
type Plugin struct {
	Manifest Manifest
	Origin   Origin
	Trust    Trust
	// Dir is its folder, absolute.
	Dir string
	// Hash stands for all its files; empty for the user's and for those that
	// were never trusted.
	Hash string

	bundle bundle
}

// A Problem is a plugin that cannot be used, or a reason why none can.
type Problem struct {
	// Plugin is the name of its folder, empty for all.
	Plugin string
	Origin Origin
	// Text is a clause that says what to change.
	Text string
}

// String returns all three.
func (p Problem) String() string {
	if p.Plugin == "" {
		return fmt.Sprintf("plugins of the %s: %s", p.Origin, p.Text)
	}
	return fmt.Sprintf("plugin %q of the %s: %s", p.Plugin, p.Origin, p.Text)
}

// A List is the plugins of one run. It does not change.
type List struct {
	// Plugins are the user's, then the workspace's, each sorted by name. A
	// name occurs once.
	Plugins []Plugin
	// Problems say what cannot be used, and why.
	Problems []Problem

	workspace *workspace.Workspace
	trust     trustStore
	refused   string // why nothing can be trusted
}

// Discover looks for plugins. w is the workspace, nil for none, and stays the
// caller's; forgeHome is FORGE_HOME, empty for none. Nothing is run. The error
// is about the trust file or that of ctx.
func Discover(ctx context.Context, w *workspace.Workspace, forgeHome string) (*List, error) {
	l := &List{workspace: w}
	if forgeHome != "" {
		home, err := filepath.Abs(forgeHome)
		if err != nil {
			return nil, fmt.Errorf("find plugins: %w", err)
		}
		l.trust = trustStore{filepath.Join(home, TrustName)}
		if w != nil && overlap(w.Dir(), home) {
			// What is worked on could change its own trust (F-SEC-02).
			l.refused = fmt.Sprintf("none is used, since the workspace %q and the plugins of FORGE_HOME (%q) lie in each other: work in another folder, or set FORGE_HOME to one outside", w.Dir(), home)
			l.Problems = append(l.Problems, Problem{Origin: OriginUser, Text: l.refused})
			return l, nil
		}
		if err := l.user(ctx, filepath.Join(home, UserFolder)); err != nil {
			return nil, fmt.Errorf("find plugins: %w", err)
		}
	} else {
		l.refused = "there is no FORGE_HOME to keep trust in"
	}
	if w == nil {
		return l, nil
	}
	known := trustFile{}
	if l.refused == "" {
		var err error
		if known, err = l.trust.load(); err != nil {
			return nil, err
		}
	}
	if err := l.find(ctx, w, WorkspaceFolder, OriginWorkspace, known.Workspaces[w.Dir()]); err != nil {
		return nil, fmt.Errorf("find plugins: %w", err)
	}
	return l, nil
}

// overlap reports whether FORGE_HOME lies in the workspace, or the workspace
// among the user's plugins.
func overlap(dir, home string) bool {
	home = resolve(home)
	return inside(dir, home) || inside(resolve(filepath.Join(home, UserFolder)), dir) || inside(dir, resolve(filepath.Join(home, UserFolder)))
}

// inside reports whether name is dir or below it.
func inside(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// resolve follows the links in what exists of a path.
func resolve(name string) string {
	resolved, err := filepath.EvalSymlinks(name)
	if err == nil {
		return resolved
	}
	parent := filepath.Dir(name)
	if parent == name {
		return name
	}
	return filepath.Join(resolve(parent), filepath.Base(name))
}

func (l *List) user(ctx context.Context, folder string) error {
	dir, err := workspace.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return l.find(ctx, dir, ".", OriginUser, nil)
}

// find adds the plugins of one folder.
func (l *List) find(ctx context.Context, dir *workspace.Workspace, folder string, origin Origin, known map[string]string) error {
	found := 0
	for e, err := range dir.Walk(ctx, folder, &workspace.WalkOptions{Ignored: true, Depth: 1}) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				l.problem("", origin, err)
			}
			continue
		}
		if e.Type == fs.ModeSymlink {
			l.problem(path.Base(e.Path), origin, errors.New("its folder is a link, and is not followed: put the folder itself there"))
			continue
		}
		if e.Type != fs.ModeDir {
			continue
		}
		if found++; found > maxPlugins {
			l.problem("", origin, fmt.Errorf("there are more than %d, and the rest is not used", maxPlugins))
			return nil
		}
		if err := l.add(ctx, dir, e.Path, origin, known); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.problem(path.Base(e.Path), origin, err)
		}
	}
	return nil
}

func (l *List) problem(name string, origin Origin, err error) {
	l.Problems = append(l.Problems, Problem{name, origin, excerpt.Line(err.Error(), 400)})
}

// add reads one plugin. Only one that was trusted before is read whole.
func (l *List) add(ctx context.Context, dir *workspace.Workspace, folder string, origin Origin, known map[string]string) error {
	sub, err := dir.OpenSub(folder)
	if err != nil {
		return err
	}
	defer sub.Close()
	name := path.Base(folder)
	p := Plugin{Origin: origin, Trust: Untrusted, Dir: sub.Dir()}
	hash, wasTrusted := known[name]
	switch {
	case origin == OriginUser:
		p.Trust = Trusted
	case wasTrusted:
		b, err := readBundle(ctx, sub)
		if err != nil {
			return err
		}
		p.Hash, p.Trust = b.hash, Changed
		if b.hash == hash {
			p.Trust, p.bundle = Trusted, b
		}
	}
	manifest, err := manifestOf(sub, p.bundle)
	if err != nil {
		return err
	}
	if p.Manifest, err = ParseManifest(manifest); err != nil {
		return err
	}
	if p.Manifest.Name != name {
		return fmt.Errorf("its name is %q, and its folder must have the same", p.Manifest.Name)
	}
	if other, ok := l.Find(name); ok {
		return fmt.Errorf("not used, since there is one of that name of the %s", other.Origin)
	}
	l.Plugins = append(l.Plugins, p)
	return nil
}

// manifestOf returns the manifest of what was trusted, else that in the folder.
func manifestOf(dir *workspace.Workspace, b bundle) ([]byte, error) {
	if len(b.files) > 0 {
		return b.manifest()
	}
	f, err := dir.Read(ManifestName, maxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s in its folder", ManifestName)
	}
	return f.Data, err
}

// Find returns the plugin of a name.
func (l *List) Find(name string) (Plugin, bool) {
	i := slices.IndexFunc(l.Plugins, func(p Plugin) bool { return p.Manifest.Name == name })
	if i < 0 {
		return Plugin{}, false
	}
	return l.Plugins[i], true
}

// ErrUnknown is wrapped by errors about a plugin or a command that does not
// exist.
var ErrUnknown = errors.New("there is none of that name")

// find is Find with an error that says what stands against it.
func (l *List) lookUp(name string) (Plugin, error) {
	if l.refused != "" {
		return Plugin{}, fmt.Errorf("plugin %q: %s", name, l.refused)
	}
	for _, problem := range l.Problems {
		if problem.Plugin == name {
			return Plugin{}, errors.New(problem.String())
		}
	}
	if p, ok := l.Find(name); ok {
		return p, nil
	}
	return Plugin{}, fmt.Errorf("plugin %q: %w", name, ErrUnknown)
}

// SetTrusted trusts a plugin of the workspace with its present content, and
// returns it. One of the user's needs no trust, which is an error.
func (l *List) SetTrusted(ctx context.Context, name string) (Plugin, error) {
	p, err := l.lookUp(name)
	if err != nil {
		return Plugin{}, err
	}
	if p.Origin == OriginUser {
		return Plugin{}, fmt.Errorf("plugin %q lies in FORGE_HOME and is trusted by its place", name)
	}
	sub, err := l.workspace.OpenSub(path.Join(WorkspaceFolder, name))
	if err != nil {
		return Plugin{}, err
	}
	defer sub.Close()
	if p.bundle, err = readBundle(ctx, sub); err != nil {
		return Plugin{}, fmt.Errorf("trust plugin %q: %w", name, err)
	}
	// What is trusted is what was hashed, so the manifest is read from it.
	data, err := p.bundle.manifest()
	if err == nil {
		p.Manifest, err = ParseManifest(data)
	}
	if err != nil || p.Manifest.Name != name {
		return Plugin{}, fmt.Errorf("trust plugin %q: its files changed just now (%w)", name, cmp.Or(err, errors.New("it has another name")))
	}
	p.Hash, p.Trust = p.bundle.hash, Trusted
	return p, l.trust.set(l.workspace.Dir(), name, p.Hash)
}

// SetUntrusted forgets that a plugin of the workspace was trusted, and reports
// whether it was. The plugin need not exist any more.
func (l *List) SetUntrusted(name string) (bool, error) {
	if l.refused != "" || l.workspace == nil {
		return false, fmt.Errorf("plugin %q: %s", name, cmp.Or(l.refused, "there is no workspace"))
	}
	return l.trust.remove(l.workspace.Dir(), name)
}

// TrustPath is where trust is kept.
func (l *List) TrustPath() string { return l.trust.path }
