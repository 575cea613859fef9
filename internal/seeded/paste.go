package seeded

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// pastedLog is output that a user pastes, sometimes in a fence, with lines in
// it that look like rules.
func pastedLog(r *rand.Rand) string {
	var lines []string
	for range 3 + r.IntN(9) {
		lines = append(lines, logLine(r))
	}
	text := strings.Join(lines, "\n")
	if r.IntN(3) == 0 {
		return "```\n" + text + "\n```"
	}
	return text
}

func logLine(r *rand.Rand) string {
	id, path, n := identifier(r), pathName(r), r.IntN(900)
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("2026-11-%02dT09:%02d:%02dZ INFO %s started in %dms", 1+r.IntN(28), r.IntN(60), r.IntN(60), id, n)
	case 1:
		return fmt.Sprintf("ERROR: %s must not be empty (code=%d)", id, n)
	case 2:
		return fmt.Sprintf("\tat %s (%s:%d)", id, path, n)
	case 3:
		return fmt.Sprintf("%s.go:%d: always use %s, never %s", strings.TrimSuffix(path, "/"), n, id, identifier(r))
	case 4:
		return fmt.Sprintf("[WARN] do not call %s from %s", id, path)
	case 5:
		return fmt.Sprintf("--- FAIL: Test%s (0.%02ds)", id, r.IntN(99))
	case 6:
		return fmt.Sprintf("{\"level\":\"info\",\"msg\":\"only %s may write %s\",\"n\":%d}", id, path, n)
	case 7:
		return fmt.Sprintf("level=warn component=%s retries=%d msg=\"should never happen\"", id, n)
	}
	return fmt.Sprintf("12:%02d:%02d.%03d %s prefer %s over %s", r.IntN(60), r.IntN(60), n, id, id, identifier(r))
}

// lookAlike is tool output, or code, that states rules nobody set.
func lookAlike(r *rand.Rand, w Wording) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package %s does things.\npackage %s\n\n", pick(r, nouns), pick(r, nouns))
	for range 4 + r.IntN(6) {
		p := pick(r, w.Phrases)
		text, _ := Fill(r, p.Texts[0])
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "// %s\n", text)
		case 1:
			fmt.Fprintf(&b, "\tlog.Println(%q)\n", text)
		default:
			fmt.Fprintf(&b, "%s\n", text)
		}
	}
	return b.String()
}
