package workspace

import (
	"strings"

	"github.com/forge-agent/forge/tool"
)

// Glob returns a function that reports whether a path matches a pattern
// written as in an ignore file: "*.go" anywhere, "/main.go" or "cmd/*.go" from
// the workspace on, "cmd/**" or "cmd/" all that is below a folder.
func Glob(text string) (func(path string) bool, error) {
	patterns := parseIgnore(text)
	if len(patterns) != 1 || patterns[0].negated || strings.Contains(text, "\n") {
		return nil, tool.Argumentf("%q is no pattern for paths. Write one as in .gitignore, such as %q or %q.", text, "*.go", "cmd/**")
	}
	p := patterns[0]
	return func(path string) bool {
		segments := strings.Split(path, "/")
		for n := range segments {
			if p.matches(segments[:n+1], n < len(segments)-1) {
				return true
			}
		}
		return false
	}, nil
}
