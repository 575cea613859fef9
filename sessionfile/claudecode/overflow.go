package claudecode

import (
	"regexp"
	"strconv"

	"github.com/forge-agent/forge/sessionfile"
)

var (
	usedOverMaximum = regexp.MustCompile(`(\d+) tokens > (\d+) maximum`)
	inputPlusOutput = regexp.MustCompile(`(\d+) \+ (\d+) > (\d+)`)
)

// parseOverflow reports whether an error text says that the request was too
// long, with the numbers it states, zero for none.
func parseOverflow(text string) (used, window int, overflow bool) {
	if !sessionfile.SaysOverflow(text) {
		return 0, 0, false
	}
	if m := usedOverMaximum.FindStringSubmatch(text); m != nil {
		return number(m[1]), number(m[2]), true
	}
	if m := inputPlusOutput.FindStringSubmatch(text); m != nil {
		return number(m[1]), number(m[3]), true
	}
	return 0, 0, true
}

// number is zero for what does not fit into an int.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
