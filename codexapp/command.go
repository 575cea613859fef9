package codexapp

import (
	"path"
	"slices"
	"strings"
)

// commandsOf reads what Codex calls a command, one line for a shell, into the
// argument vectors that a policy's rules speak of. plain is the vector to
// decide on: that of a single program, or the shell's own where the line is
// more than that. parts are the programs that a longer line seems to start;
// they are for rules that deny, and no proof of anything.
func commandsOf(line string) (plain []string, parts [][]string) {
	argv, ok := split(line)
	if !ok || len(argv) == 0 {
		return []string{line}, nil
	}
	script := ""
	switch {
	case len(argv) == 3 && isShell(argv[0]) && (argv[1] == "-c" || argv[1] == "-lc"):
		script = argv[2]
	case strings.ContainsAny(line, special):
		script = line
		argv = []string{"sh", "-c", line}
	default:
		return argv, nil
	}
	if inner, ok := split(script); ok && len(inner) > 0 && !strings.ContainsAny(script, special) {
		return inner, nil
	}
	return argv, segments(script)
}

// special are the characters that make a line more than one program with its
// arguments.
const special = ";|&<>()$`\n*?{}[]~!#=\\"

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh"}, path.Base(name))
}

// split splits a line at spaces, with single and double quotes; false when a
// quote does not end.
func split(line string) ([]string, bool) {
	var out []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == '\'' && r != '\'', quote == '"' && r != '"' && r != '\\':
			word.WriteRune(r)
		case r == '\\':
			escaped, inWord = true, true
		case quote != 0:
			quote = 0
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, quote == 0 && !escaped
}

// segments cuts a script at what parts commands, and reads each piece. Quotes
// hide what is in them, but for the substitutions in double ones.
func segments(script string) [][]string {
	var out [][]string
	for _, piece := range cutCommands(script) {
		words, ok := split(piece)
		if !ok {
			words = strings.Fields(strings.NewReplacer(`"`, " ", "'", " ").Replace(piece))
		}
		for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "!" || words[0] == "$") {
			words = words[1:]
		}
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

func cutCommands(script string) []string {
	var out []string
	start, quote, depth, before := 0, byte(0), 0, byte(0)
	for i := range len(script) {
		c, cut := script[i], false
		switch {
		case before == '\\' && quote != '\'':
			c = 0 // it stands for itself
		case quote == '\'':
			if c == quote {
				quote = 0
			}
		case c == '`', c == '(' && (quote == 0 || before == '$'):
			cut = true
			if c == '(' {
				depth++
			}
		case c == ')' && (quote == 0 || depth > 0):
			cut, depth = true, max(0, depth-1)
		case quote == '"':
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		default:
			cut = strings.IndexByte(";|&\n{}", c) >= 0
		}
		if cut {
			out = append(out, script[start:i])
			start = i + 1
		}
		before = c
	}
	return append(out, script[start:])
}
