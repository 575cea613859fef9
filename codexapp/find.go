package codexapp

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Find returns the program to start: path when it is not empty (the value of
// FORGE_CODEX_PATH), otherwise "codex" on the PATH of the environment, entries
// "NAME=value". Entries of the PATH that are not absolute are passed over. The
// error wraps ErrNotFound.
func Find(path string, environ []string) (string, error) {
	if path != "" {
		if !isProgram(path) {
			return "", fmt.Errorf("%w: FORGE_CODEX_PATH names %s, which is no program that can be started; correct it or unset it", ErrNotFound, clean(path))
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, suffix := range suffixes() {
			if file := filepath.Join(dir, "codex"+suffix); isProgram(file) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%w: there is no program \"codex\" on the PATH; install it (npm install -g @openai/codex), or set FORGE_CODEX_PATH to where it is", ErrNotFound)
}

func suffixes() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".cmd"}
	}
	return []string{""}
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

// variable returns the last value of a variable, empty for none.
func variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if n, v, ok := strings.Cut(entry, "="); ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			value = v
		}
	}
	return value
}

// testedVersions is the range that the tests ran with; testedMajor and so on
// are its bounds. Older ones lack methods that are used here.
const (
	testedVersions = "0.171"
	testedMajor    = 0
	testedMinor    = 171
)

// checkVersion reads the version out of a user agent ("forge/0.171.0 (…)"). A
// newer one than was tested gives a warning, an older one an error.
func checkVersion(userAgent string) (version, warning string, err error) {
	_, rest, _ := strings.Cut(userAgent, "/")
	version, _, _ = strings.Cut(rest, " ")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return "", fmt.Sprintf("Codex does not say its version; Forge was tested with %s", testedVersions), nil
	}
	major, bad := strconv.Atoi(parts[0])
	minor, worse := strconv.Atoi(parts[1])
	switch {
	case bad != nil || worse != nil || major < 0 || minor < 0:
		return "", fmt.Sprintf("Codex does not say its version; Forge was tested with %s", testedVersions), nil
	case major < testedMajor || major == testedMajor && minor < testedMinor:
		return version, "", fmt.Errorf("%w: it is %s, Forge needs %s or newer; update it (npm install -g @openai/codex)", ErrVersion, clean(version), testedVersions)
	case major > testedMajor || minor > testedMinor:
		return version, fmt.Sprintf("Codex %s is newer than what Forge was tested with (%s): if something looks wrong, use that version", clean(version), testedVersions), nil
	}
	return version, "", nil
}
