// Package credential knows the routes to providers and keeps their keys: in
// one file that only its owner can read, each key under the endpoint that it
// goes to.
//
// A key is shown nowhere. Keys of the environment are not stored.
package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/forge-agent/forge/provider"
)

// FileName is the name of the file in Forge's home folder.
const FileName = "auth.json"

const (
	fileVersion  = 1
	maxFileBytes = 1 << 20
)

// A Store is the file with the keys. Two programs that write at once do not
// tear the file, and the later one wins.
type Store struct{ path string }

// Open returns the store in a folder, which need not exist.
func Open(folder string) *Store { return &Store{filepath.Join(folder, FileName)} }

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// file is the JSON form.
type file struct {
	Version int               `json:"version"`
	Keys    map[string]string `json:"keys"`
}

// bind returns the name that an endpoint's key is kept under: scheme, host and
// port.
func bind(endpoint string) (string, error) {
	u, err := provider.ParseEndpoint(endpoint)
	if err != nil {
		return "", err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

// Bound returns the name that an endpoint's key is kept under, empty for what
// is no endpoint.
func Bound(endpoint string) string {
	name, err := bind(endpoint)
	if err != nil {
		return ""
	}
	return name
}

func (s *Store) load() (file, error) {
	out := file{Version: fileVersion, Keys: map[string]string{}}
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read keys: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return out, fmt.Errorf("read keys: others can read %q (mode %04o): run chmod 600 on it, and replace the keys if the machine is shared", s.path, mode)
	}
	if info.Size() > maxFileBytes {
		return out, fmt.Errorf("read keys: %q has %d bytes, which no list of keys has", s.path, info.Size())
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return out, fmt.Errorf("read keys: %w", err)
	}
	if err := json.Unmarshal(data, &out); err != nil || out.Version != fileVersion {
		// The cause could repeat a key.
		return out, fmt.Errorf("read keys: %q is no file of version %d: move it away and log in again", s.path, fileVersion)
	}
	if out.Keys == nil {
		out.Keys = map[string]string{}
	}
	return out, nil
}

// save writes the file whole: a reader sees the old one or the new one.
func (s *Store) save(f file) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	temporary, err := os.CreateTemp(folder, ".auth-*") // mode 0600
	if err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	_, err = temporary.Write(append(data, '\n'))
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), s.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store keys: %w", err), os.Remove(temporary.Name()))
	}
	return nil
}

// Set keeps a key for an endpoint.
func (s *Store) Set(endpoint, secret string) error {
	name, err := bind(endpoint)
	if err != nil {
		return err
	}
	if _, err := provider.NewKey(secret, endpoint); err != nil {
		return err
	}
	f, err := s.load()
	if err != nil {
		return err
	}
	f.Keys[name] = strings.TrimSpace(secret)
	return s.save(f)
}

// Delete forgets the key of an endpoint and reports whether there was one.
func (s *Store) Delete(endpoint string) (bool, error) {
	name, err := bind(endpoint)
	if err != nil {
		return false, err
	}
	f, err := s.load()
	if err != nil {
		return false, err
	}
	if _, ok := f.Keys[name]; !ok {
		return false, nil
	}
	delete(f.Keys, name)
	return true, s.save(f)
}

// Key returns the key of an endpoint, the zero Key when there is none.
func (s *Store) Key(endpoint string) (provider.Key, error) {
	name, err := bind(endpoint)
	if err != nil {
		return provider.Key{}, err
	}
	f, err := s.load()
	if err != nil || f.Keys[name] == "" {
		return provider.Key{}, err
	}
	return provider.NewKey(f.Keys[name], endpoint)
}

// Endpoints lists the endpoints with a key, sorted.
func (s *Store) Endpoints() ([]string, error) {
	f, err := s.load()
	return slices.Sorted(maps.Keys(f.Keys)), err
}
