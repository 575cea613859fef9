package compaction

import (
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
)

// actionKind is what a tool call does, as far as the ledgers go.
type actionKind uint8

const (
	actionOther actionKind = iota
	actionRead
	actionEdit
	actionCreate
	actionDelete
	actionRun
	actionPlan
)

// action is one thing that a tool call did. A call can do several.
type action struct {
	kind    actionKind
	subject string // a path, a command
	open    []string
}

// parseCall reads a tool call in the dialects of the agents whose sessions are
// known: Claude Code, Codex, pi, Gemini CLI, OpenCode and tools with the usual
// argument names.
func parseCall(dst []action, name, arguments string) []action {
	args := parseArguments(arguments)
	path := args.first("file_path", "path", "filePath", "filename", "absolute_path", "notebook_path", "target_file", "file")
	switch tool := strings.ToLower(name); tool {
	case "read", "read_file", "readfile", "view", "cat", "open", "view_file", "notebookread":
		return appendPath(dst, actionRead, path)
	case "edit", "multiedit", "edit_file", "replace", "str_replace", "notebookedit", "search_replace", "insert", "update_file":
		return appendPath(dst, actionEdit, path)
	case "write", "write_file", "writefile", "create", "create_file", "new_file":
		return appendPath(dst, actionCreate, path)
	case "delete", "delete_file", "remove_file":
		return appendPath(dst, actionDelete, path)
	case "str_replace_editor", "str_replace_based_edit_tool", "text_editor":
		switch args.first("command") {
		case "view":
			return appendPath(dst, actionRead, path)
		case "create":
			return appendPath(dst, actionCreate, path)
		}
		return appendPath(dst, actionEdit, path)
	case "apply_patch", "patch", "applypatch":
		patch := args.first("input", "patch", "patchText", "diff", "patch_text")
		if patch == "" {
			patch = arguments
		}
		return appendPatch(dst, patch)
	case "todowrite", "update_plan", "write_todos", "todo_write", "plan":
		return append(dst, action{kind: actionPlan, open: args.openItems()})
	case "bash", "shell", "exec_command", "run_shell_command", "run_command", "local_shell", "execute", "terminal",
		"container.exec", "execute_command", "bashexecution", "sh", "powershell", "exec":
		command := args.command()
		if command == "" && len(args.fields) == 0 {
			command = arguments
		}
		return appendCommand(dst, command)
	}
	return dst
}

func appendPath(dst []action, kind actionKind, path string) []action {
	if path == "" {
		return dst
	}
	return append(dst, action{kind: kind, subject: path})
}

// appendPatch reads the file headers of a patch in Codex's form or as diff
// writes them.
func appendPatch(dst []action, patch string) []action {
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*** Update File: "):
			dst = appendPath(dst, actionEdit, line[len("*** Update File: "):])
		case strings.HasPrefix(line, "*** Add File: "):
			dst = appendPath(dst, actionCreate, line[len("*** Add File: "):])
		case strings.HasPrefix(line, "*** Delete File: "):
			dst = appendPath(dst, actionDelete, line[len("*** Delete File: "):])
		case strings.HasPrefix(line, "+++ b/"):
			dst = appendPath(dst, actionEdit, line[len("+++ b/"):])
		}
	}
	return dst
}

// arguments are the fields of a call's JSON object.
type arguments struct{ fields map[string]json.RawMessage }

func parseArguments(text string) arguments {
	var a arguments
	if strings.HasPrefix(strings.TrimLeft(text, " \n"), "{") {
		_ = json.Unmarshal([]byte(text), &a.fields) // free text has no fields, which is an answer too
	}
	return a
}

// first returns the first of the named fields that is a string.
func (a arguments) first(names ...string) string {
	for _, name := range names {
		var s string
		if raw, ok := a.fields[name]; ok && json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// command returns the command line, which may be a string or an argument list
// such as ["bash", "-lc", "ls"].
func (a arguments) command() string {
	if s := a.first("command", "cmd", "script", "input", "commandLine"); s != "" {
		return s
	}
	var list []string
	for _, name := range []string{"command", "cmd", "argv"} {
		if json.Unmarshal(a.fields[name], &list) == nil && len(list) > 0 {
			break
		}
	}
	if len(list) == 3 && (strings.HasSuffix(list[0], "sh") || list[0] == "zsh") && strings.HasPrefix(list[1], "-") {
		return list[2]
	}
	return strings.Join(list, " ")
}

// openItems returns the plan items that are not done.
func (a arguments) openItems() []string {
	var open []string
	for _, name := range []string{"todos", "plan", "items"} {
		var items []struct{ Content, Step, Text, Description, Title, Status string }
		if json.Unmarshal(a.fields[name], &items) != nil {
			continue
		}
		for _, item := range items {
			text := firstOf(item.Content, item.Step, item.Text, item.Description, item.Title)
			if s := strings.ToLower(item.Status); text != "" && s != "completed" && s != "done" && s != "cancelled" {
				open = append(open, text)
			}
		}
	}
	return open
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// outcomeOf reads how a call ended: what the result says, else an exit code
// near its beginning or end.
func outcomeOf(r message.ToolResult, text string) message.Outcome {
	if r.Outcome == message.OutcomeFailure {
		return r.Outcome
	}
	if code, ok := exitCode(text); ok {
		if code == "0" {
			return message.OutcomeSuccess
		}
		return message.OutcomeFailure
	}
	if r.Outcome == message.OutcomeUnknown && strings.Contains(text[:min(len(text), 4000)], "Traceback (most recent call last)") {
		return message.OutcomeFailure
	}
	return r.Outcome
}

func exitCode(text string) (string, bool) {
	const window = 300
	parts := []string{text}
	if len(text) > 2*window {
		parts = []string{text[:window], text[len(text)-window:]}
	}
	for _, part := range parts {
		for _, mark := range exitMarks {
			i := strings.Index(part, mark)
			if i < 0 {
				continue
			}
			rest := strings.TrimLeft(part[i+len(mark):], " :")
			n := 0
			for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || n == 0 && rest[n] == '-') {
				n++
			}
			if n > 0 {
				return rest[:n], true
			}
		}
	}
	return "", false
}

var exitMarks = []string{"<returncode>", "\"exit_code\":", "exited with code", "Exit code", "Exit Code", "exit code", "exit status", "exitCode\":"}
