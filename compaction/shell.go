package compaction

import "strings"

// appendCommand reads a shell command: the command itself, and the files that
// it reads, writes, edits or deletes as far as that can be seen.
func appendCommand(dst []action, command string) []action {
	command = strings.TrimSpace(command)
	if command == "" {
		return dst
	}
	if strings.Contains(command, "*** Begin Patch") {
		return appendPatch(dst, command)
	}
	dst = append(dst, action{kind: actionRun, subject: command})
	head, _, heredoc := strings.Cut(command, "<<")
	if heredoc {
		if i := strings.IndexByte(command, '\n'); i > len(head) {
			head = command[:i] // a redirection may follow the mark of the document
		}
	} else {
		head = command
	}
	if len(head) > 4000 {
		head = head[:4000]
	}
	for part := range strings.FieldsFuncSeq(head, func(r rune) bool { return r == '\n' || r == ';' || r == '&' || r == '|' }) {
		dst = appendSimple(dst, strings.Fields(part))
	}
	return dst
}

// appendSimple reads one simple command.
func appendSimple(dst []action, words []string) []action {
	for len(words) > 0 && (words[0] == "sudo" || words[0] == "then" || words[0] == "do" || strings.Contains(words[0], "=") && !strings.ContainsAny(words[0], "/\"'")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return dst
	}
	for i, w := range words {
		if i+1 < len(words) && (w == ">" || w == ">>") {
			return appendFile(dst, actionCreate, words[i+1])
		}
		if target, ok := strings.CutPrefix(w, ">"); ok && i > 0 && strings.Trim(target, ">") != "" {
			return appendFile(dst, actionCreate, strings.TrimLeft(target, ">"))
		}
	}
	last := words[len(words)-1]
	switch words[0] {
	case "cat", "head", "tail", "less", "nl", "bat", "open":
		return appendFile(dst, actionRead, last)
	case "sed":
		for _, w := range words[1:] {
			if strings.HasPrefix(w, "-i") || w == "--in-place" {
				return appendFile(dst, actionEdit, last)
			}
		}
		return appendFile(dst, actionRead, last)
	case "rm":
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") {
				dst = appendFile(dst, actionDelete, w)
			}
		}
	case "touch", "tee", "create":
		return appendFile(dst, actionCreate, last)
	}
	return dst
}

// appendFile takes a word of a command as a path when it can be one.
func appendFile(dst []action, kind actionKind, word string) []action {
	word = strings.Trim(word, "\"'")
	if word == "" || len(word) > 240 || strings.ContainsAny(word, "$*?<>(){}`\\'\"=") || strings.HasPrefix(word, "-") || strings.HasPrefix(word, "/dev/") ||
		!strings.ContainsAny(word, "./") {
		return dst
	}
	return append(dst, action{kind: kind, subject: word})
}

var testCommands = []string{"go test", "pytest", "py.test", "npm test", "npm run test", "npm t ", "yarn test", "pnpm test", "pnpm run test",
	"bun test", "deno test", "cargo test", "cargo nextest", "mvn test", "mvn verify", "gradle test", "gradlew test", "make test", "make check",
	"mise run test", "ctest", "rspec", "phpunit", "tox", "-m unittest", "manage.py test", "dotnet test", "jest", "vitest", "playwright test",
	"mocha", "swift test", "mix test", "rake test", "runtests", "run_tests"}

// testCommand reports whether a command runs tests.
func testCommand(command string) bool {
	for _, t := range testCommands {
		for rest, offset := command, 0; ; {
			i := strings.Index(rest, t)
			if i < 0 {
				break
			}
			at := offset + i
			if at == 0 || !wordByte(command[at-1]|0x20) && command[at-1] != '-' || t[0] == '-' {
				return true
			}
			offset, rest = at+len(t), command[at+len(t):]
		}
	}
	return false
}

// textAction returns the command of an assistant's message that acts through
// one fenced block, as mini-swe-agent and SWE-agent have it.
func textAction(text string) (string, bool) {
	start := strings.Index(text, "```")
	if start < 0 {
		return "", false
	}
	body := text[start+3:]
	end := strings.Index(body, "```")
	if end < 0 || strings.Contains(body[end+3:], "```") {
		return "", false
	}
	body = body[:end]
	if i := strings.IndexByte(body, '\n'); i >= 0 && !strings.Contains(body[:i], " ") {
		body = body[i+1:] // the name of the language
	}
	return strings.TrimSpace(body), strings.TrimSpace(body) != ""
}
