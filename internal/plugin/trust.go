package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
)

// TrustName is the name of the file in FORGE_HOME that says which plugins of
// which workspace are trusted.
const TrustName = "plugin-trust.json"

const (
	trustVersion  = 1
	maxTrustBytes = 1 << 20
)

// A trustStore is that file. Nothing else makes a plugin of a workspace
// trusted: no file of the workspace, no session, no checkpoint (F-SEC-02). Two
// programs that write at once do not tear the file, and the later one wins.
type trustStore struct{ path string }

// trustFile is the JSON form: workspace, plugin, hash.
type trustFile struct {
	Version    int                          `json:"version"`
	Workspaces map[string]map[string]string `json:"workspaces"`
}

func (s trustStore) load() (trustFile, error) {
	out := trustFile{Version: trustVersion, Workspaces: map[string]map[string]string{}}
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read trusted plugins: %w", err)
	}
	switch {
	case !info.Mode().IsRegular() || info.Size() > maxTrustBytes:
		return out, fmt.Errorf("read trusted plugins: %q is no file of at most %d bytes: move it away", s.path, maxTrustBytes)
	case info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows":
		return out, fmt.Errorf("read trusted plugins: others can write %q (mode %04o): check what it says and run chmod 600 on it", s.path, info.Mode().Perm())
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return out, fmt.Errorf("read trusted plugins: %w", err)
	}
	var read trustFile
	if err := json.Unmarshal(data, &read); err != nil || read.Version != trustVersion {
		return out, fmt.Errorf("read trusted plugins: %q is no file of version %d: move it away, and trust the plugins again", s.path, trustVersion)
	}
	maps.Copy(out.Workspaces, read.Workspaces)
	return out, nil
}

// save writes the file whole: a reader sees the old one or the new one.
func (s trustStore) save(f trustFile) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("store trusted plugins: %w", err)
	}
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("store trusted plugins: %w", err)
	}
	temporary, err := os.CreateTemp(folder, ".plugin-trust-*") // mode 0600
	if err != nil {
		return fmt.Errorf("store trusted plugins: %w", err)
	}
	_, err = temporary.Write(append(data, '\n'))
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), s.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store trusted plugins: %w", err), os.Remove(temporary.Name()))
	}
	return nil
}

// set keeps the hash of a plugin.
func (s trustStore) set(workspace, name, hash string) error {
	f, err := s.load()
	if err != nil {
		return err
	}
	if f.Workspaces[workspace] == nil {
		f.Workspaces[workspace] = map[string]string{}
	}
	f.Workspaces[workspace][name] = hash
	return s.save(f)
}

// remove forgets a plugin and reports whether it was there.
func (s trustStore) remove(workspace, name string) (bool, error) {
	f, err := s.load()
	if err != nil {
		return false, err
	}
	if _, ok := f.Workspaces[workspace][name]; !ok {
		return false, nil
	}
	delete(f.Workspaces[workspace], name)
	if len(f.Workspaces[workspace]) == 0 {
		delete(f.Workspaces, workspace)
	}
	return true, s.save(f)
}
