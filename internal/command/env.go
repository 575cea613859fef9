package command

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// passed are the variables that a program gets from the user's environment.
// Everything else, keys and tokens above all, stays out.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"GOPATH", "GOROOT", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOPRIVATE", "GOFLAGS", "GOTOOLCHAIN",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "VIRTUAL_ENV", "PYENV_ROOT",
	// Without these no program starts on Windows.
	"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES",
}

// Environment returns the environment of a program: what is harmless of the
// user's environment (entries "NAME=value"), the names in extra, and folders
// for temporary files and caches below tempDir, where a confined program can
// write. Names in extra win over the fixed list, the folders over both, except
// where extra names them.
func Environment(environ, extra []string, tempDir string) []string {
	var out []string
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && (isPassed(name) || slices.Contains(extra, name)) {
			out = append(out, entry)
		}
	}
	set := func(name, value string) {
		if slices.Contains(extra, name) {
			return
		}
		out = slices.DeleteFunc(out, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		out = append(out, name+"="+value)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		set(name, tempDir)
	}
	set("XDG_CACHE_HOME", filepath.Join(tempDir, "cache"))
	set("GOCACHE", filepath.Join(tempDir, "cache", "go-build"))
	set("TERM", "dumb")
	set("NO_COLOR", "1")
	set("PAGER", "cat")
	set("GIT_PAGER", "cat")
	set("GIT_TERMINAL_PROMPT", "0")
	return out
}

func isPassed(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_")
}

// lookPath finds a program on the PATH of the environment that it will have.
// Entries that are not absolute are passed over, so that no program is found
// in the workspace by its name alone.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, "PATH="); ok {
			value = v
		}
	}
	for _, dir := range filepath.SplitList(value) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range executableSuffixes() {
			file := filepath.Join(dir, name+suffix)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %q on the PATH. Shell syntax and built-ins do not work here: give a program and its arguments one by one", name)
}

func executableSuffixes() []string {
	if runtime.GOOS == "windows" {
		return []string{"", ".exe", ".cmd", ".bat"}
	}
	return []string{""}
}
