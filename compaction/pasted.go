package compaction

import (
	"strings"
	"unicode/utf8"
)

// looksLikeData reports whether a line reads like pasted output or code
// rather than like something a person wrote.
func looksLikeData(line, trimmed string) bool {
	if trimmed == "" {
		return false
	}
	if len(trimmed) > 2000 || timestamped(trimmed) || located(trimmed) || levelled(trimmed) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(trimmed)
	if first >= 0x2500 && first <= 0x259f || first == '✓' || first == '✗' || first == '✔' || first == '✘' || first == '❯' {
		return true // drawn boxes, check marks of test runners, prompts
	}
	for _, p := range dataPrefixes {
		if strings.HasPrefix(trimmed, p) {
			return true
		}
	}
	if (trimmed[0] == '+' || trimmed[0] == '-') && len(trimmed) > 1 {
		if rest := strings.TrimSpace(trimmed[1:]); trimmed[1] != ' ' && trimmed[1] != '-' || looksLikeData(rest, rest) {
			return true // a line of a diff
		}
	}
	return dense(trimmed) || (line[0] == '\t' || strings.HasPrefix(line, "    ")) && bulletLength(line) == 0 && codeEnd(trimmed)
}

var dataPrefixes = []string{
	"{", "}", "[{", "[\"", "[INFO", "[WARN", "[ERROR", "[DEBUG", "[TRACE", "[error", "[info", "[warn", "//", "/*", "*/", "#!", "#include", "<!--",
	"$ ", "% ", ">>> ", "PS ", "@@", "+++", "---", "===", "***", "diff --git ", "Author: ", "Date: ",
	"ok  ", "ok\t", "E  ", "panic:", "fatal:", "error:", "error[", "warning:", "warning[", "Error:", "npm ERR", "npm WARN", "Traceback (", "File \"",
	"Caused by:", "java.", "SELECT ", "INSERT INTO", "CREATE TABLE", "GET /", "POST /", "PUT /", "DELETE /", "HTTP/",
	"[Request interrupted", "at com.", "at org.", "at java.", "at Object.", "at async ", "at file:", "import {", "exit status",
}

// levelled reports whether the line begins with the level of a log line or the
// verdict of a test runner.
func levelled(s string) bool {
	head, rest, _ := strings.Cut(s, " ")
	switch strings.TrimRight(head, ":]") {
	case "INFO", "WARN", "ERROR", "FATAL", "TRACE":
		return true
	case "DEBUG", "WARNING", "PASS", "FAIL", "SKIP", "PASSED", "FAILED", "goroutine", "commit", "npm":
		next, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		return rest == "" || head[len(head)-1] == ']' || strings.ContainsAny(next, "/[{=") || strings.Contains(next, "::") ||
			len(next) >= 7 && strings.Trim(next, "0123456789abcdef") == ""
	}
	return strings.HasPrefix(s, "FAIL\t") || strings.HasPrefix(s, "INFO\t") || strings.HasPrefix(s, "ERROR\t") || strings.HasPrefix(s, "WARN\t")
}

// timestamped reports whether the line begins with a date or a time.
func timestamped(s string) bool {
	s = strings.TrimLeft(s, "[(")
	if len(s) < 8 || s[0] < '0' || s[0] > '9' {
		return false
	}
	pattern := func(p string) bool {
		if len(s) < len(p) {
			return false
		}
		for i := range len(p) {
			digit := s[i] >= '0' && s[i] <= '9'
			if p[i] == '0' && !digit || p[i] != '0' && s[i] != p[i] {
				return false
			}
		}
		return true
	}
	return pattern("0000-00-00") || pattern("0000/00/00") || pattern("00:00:00") || pattern("00.00.0000 00")
}

// located reports whether the line begins with a place in a file, such as
// "pkg/a.go:12:" or ends with one in parentheses, as in a stack trace.
func located(s string) bool {
	head, _, _ := strings.Cut(s, " ")
	if i := strings.IndexByte(head, ':'); i > 0 && i+1 < len(head) && head[i+1] >= '0' && head[i+1] <= '9' {
		if strings.ContainsAny(head[:i], "./\\") {
			return true
		}
	}
	if strings.HasPrefix(s, "at ") && strings.HasSuffix(s, ")") {
		return true
	}
	return strings.HasSuffix(s, "+0x") || strings.Contains(s, " +0x")
}

// dense reports whether marks that code and data are made of fill the line.
func dense(s string) bool {
	marks, letters, pairs, digits := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '=':
			marks++
			if i > 0 && i+1 < len(s) && s[i-1] != ' ' && s[i+1] != ' ' {
				pairs++
			}
		case strings.IndexByte("{}()[];<>|\\&*+$\"", c) >= 0:
			marks++
		case c >= '0' && c <= '9':
			digits++
		case c >= utf8.RuneSelf || c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	switch {
	case pairs >= 2 && marks >= 2:
		return true
	case marks >= 3 && marks*100 > 25*len(s), marks >= 3 && marks*100 > 10*len(s) && codeEnd(s):
		return true
	case letters*2 < len(s) && len(s) >= 16 && digits*3 > len(s):
		return true
	}
	return strings.Contains(s, " | ") && strings.Count(s, "|") >= 3
}

// codeEnd reports whether the line ends as lines of code do.
func codeEnd(s string) bool {
	switch s[len(s)-1] {
	case ';', '{', '}', ')', ']', ',', '>', '\\', '=':
		return true
	}
	return strings.HasSuffix(s, "):") || strings.Contains(s, " := ") || strings.Contains(s, " = ")
}

// smoothData turns lines that stand inside pasted output into data too: in a
// run of lines without a gap, half of which are data, what lies between the
// first and the last data line, and lines that begin like comments.
func smoothData(text string, lines []textLine) {
	for i := 0; i < len(lines); {
		j, data, first, last := i, 0, -1, -1
		for ; j < len(lines) && lines[j].kind != blankLine; j++ {
			if lines[j].kind == dataLine {
				data++
				if first < 0 {
					first = j
				}
				last = j
			}
		}
		if data >= 2 && data*2 >= j-i {
			for k := i; k < j; k++ {
				trimmed := strings.TrimSpace(text[lines[k].start:lines[k].end])
				comment := trimmed != "" && (trimmed[0] == '#' || trimmed[0] == '*' || strings.HasPrefix(trimmed, "--"))
				if k > first && k < last || comment {
					lines[k].kind = dataLine
				}
			}
		}
		i = j + 1
	}
}

// skipReported drops what follows a line that announces somebody else's text:
// "the log says:", "README:" and the like, up to the next empty line.
func skipReported(text string, lines []textLine) {
	var folded []byte
	var hits []hit
	for i := 0; i+1 < len(lines); i++ {
		if lines[i].kind != proseLine || lines[i+1].kind == blankLine {
			continue
		}
		line := strings.TrimSpace(text[lines[i].start:lines[i].end])
		if !strings.HasSuffix(line, ":") && !strings.HasSuffix(line, "：") || len(line) > 160 {
			continue
		}
		folded = appendFolded(folded[:0], line)
		hits = cues().scan(hits[:0], folded, nil)
		f := featuresOf(hits, len(folded))
		if f.count[report] == 0 || f.count[prohibit]+f.count[oblige] > 0 {
			continue
		}
		for j := i + 1; j < len(lines) && lines[j].kind != blankLine; j++ {
			lines[j].kind = quoteLine
		}
	}
}
