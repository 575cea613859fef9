// Command example writes examples/long-session.jsonl: a made-up session of a
// coding agent in Codex's rollout format, played by a script. Tool output in
// it is text of this repository, so that it weighs what real output weighs.
//
// It was run once; the file is not made again when the repository changes.
//
//	go run ./internal/example > examples/long-session.jsonl
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

//go:embed script.txt
var script string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	out := bufio.NewWriter(os.Stdout)
	w := &writer{enc: json.NewEncoder(out), now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	w.enc.SetEscapeHTML(false)
	for i, block := range strings.Split(strings.TrimSpace(script), "\n\n---\n\n") {
		if err := w.block(block); err != nil {
			return fmt.Errorf("block %d of the script: %w", i+1, err)
		}
	}
	return out.Flush()
}

// writer writes rollout lines.
type writer struct {
	enc   *json.Encoder
	now   time.Time
	turns int
	calls int
}

// block writes one step of the script. Its first line says what it is:
//
//	instructions          the system text follows
//	user                  what the person says
//	assistant             what the model says
//	call COMMAND          a shell call; its output follows
//	call COMMAND < FILE [FROM,TO]   the output is (a part of) a file
func (w *writer) block(text string) error {
	head, body, _ := strings.Cut(text, "\n")
	kind, rest, _ := strings.Cut(head, " ")
	switch kind {
	case "instructions":
		return w.start(body)
	case "user":
		w.turns++
		w.line("turn_context", map[string]any{"turn_id": fmt.Sprintf("turn-%d", w.turns), "cwd": "/home/dev/forge", "approval_policy": "on-request", "model": "gpt-5"})
		return w.message("user", "input_text", body)
	case "assistant":
		return w.message("assistant", "output_text", body)
	case "call":
		command, file, _ := strings.Cut(rest, " < ")
		return w.call(command, file, body)
	}
	return fmt.Errorf("unknown kind %q", kind)
}

func (w *writer) start(instructions string) error {
	w.line("session_meta", map[string]any{"id": "0f0e0d0c-0000-4000-8000-000000000001", "timestamp": w.now.Format(time.RFC3339), "cwd": "/home/dev/forge",
		"originator": "forge-example", "cli_version": "0.171.0", "source": "cli", "model_provider": "openai", "base_instructions": map[string]any{"text": instructions}})
	return w.line("event_msg", map[string]any{"type": "task_started", "turn_id": "turn-1", "model_context_window": 272000})
}

func (w *writer) message(role, part, text string) error {
	return w.line("response_item", map[string]any{"type": "message", "role": role, "content": []any{map[string]any{"type": part, "text": text}}})
}

func (w *writer) call(command, file, output string) error {
	w.calls++
	id := fmt.Sprintf("call_%03d", w.calls)
	if file != "" {
		var err error
		if output, err = excerpt(file); err != nil {
			return err
		}
	}
	arguments, err := json.Marshal(map[string]any{"command": []string{"bash", "-lc", command}})
	if err != nil {
		return err
	}
	w.line("response_item", map[string]any{"type": "function_call", "name": "shell", "arguments": string(arguments), "call_id": id})
	return w.line("response_item", map[string]any{"type": "function_call_output", "call_id": id, "output": output})
}

// excerpt reads "FILE" or "FILE FROM,TO", lines counted from 1.
func excerpt(spec string) (string, error) {
	name, lines, _ := strings.Cut(spec, " ")
	data, err := os.ReadFile(name)
	if err != nil || lines == "" {
		return string(data), err
	}
	var from, to int
	if _, err := fmt.Sscanf(lines, "%d,%d", &from, &to); err != nil {
		return "", fmt.Errorf("read range %q: %w", lines, err)
	}
	all := strings.SplitAfter(string(data), "\n")
	return strings.Join(all[min(from-1, len(all)):min(to, len(all))], ""), nil
}

func (w *writer) line(kind string, payload map[string]any) error {
	w.now = w.now.Add(7 * time.Second)
	return w.enc.Encode(struct {
		Timestamp string `json:"timestamp"`
		Type      string `json:"type"`
		Payload   any    `json:"payload"`
	}{w.now.Format("2006-01-02T15:04:05.000Z"), kind, payload})
}
