package compaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of a text by byte offsets.
type span struct{ start, end int }

// sentence is a piece of a message's text that may be a statement.
type sentence struct {
	span
	// quoted: it stands between tags that quote something, such as the text
	// of an issue. It can be shown but states nothing.
	quoted bool
	// block numbers the paragraph or list item that it is in.
	block int
}

// lineKind is what a line of a user's message is.
type lineKind uint8

const (
	blankLine lineKind = iota
	proseLine
	listLine  // prose that begins a list item
	dataLine  // pasted output or code
	fenceLine // inside a fenced block, or its border
	quoteLine // a mail-style quotation
	tagLine   // a line that is one tag
	citedLine // prose between quoting tags
)

type textLine struct {
	span
	kind lineKind
}

// segment cuts a user's text into sentences. Fenced code, quotations, pasted
// output and code are left out.
func segment(text string) []sentence {
	lines := classifyLines(text)
	smoothData(text, lines)
	skipReported(text, lines)
	var out []sentence
	block := 0
	for i := 0; i < len(lines); {
		kind := lines[i].kind
		if kind != proseLine && kind != listLine && kind != citedLine {
			i++
			continue
		}
		j := i + 1
		for j < len(lines) && lines[j].kind == kind && kind != listLine && wrapped(text, lines[j-1].span, lines[j].span) ||
			j < len(lines) && kind == listLine && lines[j].kind == proseLine && wrapped(text, lines[j-1].span, lines[j].span) {
			j++
		}
		p := span{lines[i].start, lines[j-1].end}
		p.start += bulletLength(text[p.start:p.end])
		for _, s := range splitSentences(text, p) {
			out = append(out, sentence{span: s, quoted: kind == citedLine, block: block})
		}
		if j < len(lines) && lines[j].kind == blankLine || kind == listLine {
			block++
		}
		i = j
	}
	return out
}

func classifyLines(text string) []textLine {
	var lines []textLine
	fence, cited := "", ""
	for start := 0; start < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := text[start:end]
		trimmed := strings.TrimSpace(line)
		kind := proseLine
		switch {
		case fence != "":
			kind = fenceLine
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			kind, fence = fenceLine, trimmed[:3]
			if strings.Count(trimmed, fence) > 1 {
				fence = ""
			}
		case trimmed == "":
			kind = blankLine
		case trimmed[0] == '>':
			kind = quoteLine
		case cited != "":
			kind = citedLine
			if strings.Contains(trimmed, "</"+cited) {
				kind, cited = tagLine, ""
			} else if looksLikeData(line, trimmed) {
				kind = dataLine
			}
		case trimmed[0] == '<':
			var opened string
			kind, opened = tagKind(trimmed)
			cited = opened
		case looksLikeData(line, trimmed):
			kind = dataLine
		case bulletLength(trimmed) > 0:
			kind = listLine
		}
		lines = append(lines, textLine{span{start, end}, kind})
		start = end + 1
	}
	return lines
}

// tagKind reads a line that begins with "<". A tag that opens a block which
// does not close on the line is returned, unless its name says that what
// follows is the user's own.
func tagKind(trimmed string) (lineKind, string) {
	end := strings.IndexAny(trimmed, " >")
	if end < 2 || trimmed[1] == '/' || !isName(trimmed[1:end]) {
		return dataLine, ""
	}
	name := trimmed[1:end]
	if strings.Contains(trimmed, "</"+name) || strings.HasSuffix(trimmed, "/>") {
		return tagLine, ""
	}
	for _, own := range []string{"instruction", "rule", "task", "constraint", "requirement", "important", "request", "query", "note", "goal"} {
		if strings.Contains(strings.ToLower(name), own) {
			return tagLine, ""
		}
	}
	return tagLine, name
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && s[i] != '_' && s[i] != '-' && s[i] != ':' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// wrapped reports whether line b goes on with the sentence of line a.
func wrapped(text string, a, b span) bool {
	before, after := strings.TrimSpace(text[a.start:a.end]), strings.TrimSpace(text[b.start:b.end])
	if len(before) < 50 || after == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return !strings.ContainsRune(".!?:;。！？：；", last) && (unicode.IsLower(first) || last == ',' || spaceless(first))
}

// bulletLength returns the length of what stands before the text of a list
// item: "- ", "* ", "2. ", "[x] ". Zero when the line is no item.
func bulletLength(line string) int {
	trimmed := strings.TrimLeft(line, " \t")
	n := len(line) - len(trimmed)
	i := 0
	switch {
	case strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* "):
		i = 2
	case strings.HasPrefix(trimmed, "• ") || strings.HasPrefix(trimmed, "– "):
		_, size := utf8.DecodeRuneInString(trimmed)
		i = size + 1
	case strings.HasPrefix(trimmed, "#"):
		i = len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
		if i < len(trimmed) && trimmed[i] != ' ' {
			return 0
		}
	default:
		for i < len(trimmed) && i < 3 && trimmed[i] >= '0' && trimmed[i] <= '9' {
			i++
		}
		if i == 0 || i+1 >= len(trimmed) || trimmed[i] != '.' && trimmed[i] != ')' || trimmed[i+1] != ' ' {
			return 0
		}
		i += 2
	}
	rest := trimmed[i:]
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		if strings.HasPrefix(rest, box) {
			i += len(box)
		}
	}
	return n + i
}

// maxSentenceBytes is where a sentence is cut at the next best place: longer
// ones are lists or pasted text, and would crowd out many others.
const maxSentenceBytes = 420

// splitSentences cuts a paragraph at the ends of its sentences.
func splitSentences(text string, p span) []span {
	var out []span
	start := p.start
	for i := p.start; i < p.end; {
		r, size := utf8.DecodeRuneInString(text[i:p.end])
		i += size
		if !ends(text, p, r, i-size, i) {
			continue
		}
		for i < p.end { // closing quotes and repeated marks belong to the sentence
			r, size := utf8.DecodeRuneInString(text[i:p.end])
			if !strings.ContainsRune(".!?。！？\"')”’»」』）", r) {
				break
			}
			i += size
		}
		out = appendCut(out, text, span{start, i})
		start = i
	}
	return appendCut(out, text, span{start, p.end})
}

// ends reports whether the mark r at text[at:next] ends a sentence.
func ends(text string, p span, r rune, at, next int) bool {
	switch r {
	case '。', '！', '？', '।', '؟':
		return true
	case '!', '?', '…':
		return next >= p.end || text[next] == ' ' || text[next] == '\n' || text[next] == '"' || text[next] == ')'
	case '.':
		if next < p.end && text[next] != ' ' && text[next] != '\n' && text[next] != '"' && text[next] != ')' {
			return false
		}
		return !abbreviated(text[p.start:at])
	}
	return false
}

// abbreviated reports whether the period after s belongs to an abbreviation
// or an ordinal.
func abbreviated(s string) bool {
	i := strings.LastIndexAny(s, " \n(\"") + 1
	last := strings.ToLower(s[i:])
	switch last {
	case "e.g", "i.e", "etc", "vs", "approx", "cf", "resp", "nr", "no", "dr", "mr", "mrs", "ms", "st",
		"z.b", "bzw", "ca", "evtl", "ggf", "usw", "u.a", "d.h", "p.ex", "par ex", "p.ej", "ej", "sr", "bv", "np", "tzn",
		"т.е", "т.д", "напр", "max", "min", "sec", "fig", "incl", "excl":
		return last != "no" && last != "max" && last != "min" || len(s) > len(last)
	}
	return utf8.RuneCountInString(last) == 1 && last >= "a"
}

// appendCut appends s without surrounding space, cut into pieces where it is
// too long: at a semicolon, else a comma, else a space.
func appendCut(out []span, text string, s span) []span {
	s = trimSpan(text, s)
	for s.end-s.start > maxSentenceBytes {
		window := text[s.start : s.start+maxSentenceBytes]
		cut := -1
		for _, mark := range []string{"; ", "；", "，", ", ", "、", "\n", " "} {
			if n := strings.LastIndex(window, mark); n > maxSentenceBytes/4 {
				cut = n + len(mark)
				break
			}
		}
		if cut < 0 {
			cut = maxSentenceBytes
			for cut > 0 && !utf8.RuneStart(text[s.start+cut]) {
				cut--
			}
			if cut == 0 {
				cut = maxSentenceBytes
			}
		}
		if piece := trimSpan(text, span{s.start, s.start + cut}); piece.end > piece.start {
			out = append(out, piece)
		}
		s = trimSpan(text, span{s.start + cut, s.end})
	}
	if s.end > s.start {
		out = append(out, s)
	}
	return out
}

func trimSpan(text string, s span) span {
	piece := text[s.start:s.end]
	left := strings.TrimLeftFunc(piece, unicode.IsSpace)
	s.start += len(piece) - len(left)
	s.end = s.start + len(strings.TrimRightFunc(left, unicode.IsSpace))
	return s
}
