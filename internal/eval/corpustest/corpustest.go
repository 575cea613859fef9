// Package corpustest makes small folders of sessions up; used by tests only.
package corpustest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Secret stands in every text of every session, and in every file's name: no
// report may hold it.
const Secret = "zqsecretqz"

// Write makes n sessions of chat messages in a folder, each of several turns
// with tool calls, and one file that is no session. The same seed gives the
// same files.
func Write(dir string, n int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range n {
		data, err := json.Marshal(messages(r, 2+r.IntN(3), 4+r.IntN(8)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.json", Secret, i)), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no session"), 0o644)
}

type object map[string]any

// messages makes one conversation.
func messages(r *rand.Rand, turns, steps int) []object {
	out := []object{{"role": "system", "content": "You are a coding agent. " + Secret}}
	call := 0
	for turn := range turns {
		out = append(out, object{"role": "user", "content": fmt.Sprintf("Please look at pkg/part%d/file_%d.go next %s.", turn, r.IntN(50), Secret)})
		for range steps {
			call++
			id := fmt.Sprint("call_", call)
			out = append(out, object{"role": "assistant", "content": "", "tool_calls": []object{{"id": id, "type": "function",
				"function": object{"name": "read_file", "arguments": fmt.Sprintf(`{"path":"pkg/part%d/file_%d.go"}`, turn, r.IntN(50))}}}})
			out = append(out, object{"role": "tool", "tool_call_id": id, "content": source(r)})
		}
		out = append(out, object{"role": "assistant", "content": "That is done. " + Secret})
	}
	return out
}

// source makes up what a tool shows.
func source(r *rand.Rand) string {
	var b strings.Builder
	for range 20 + r.IntN(60) {
		fmt.Fprintf(&b, "func handle_%d(item%d Item) error { return store.Put(%d, %q) }\n", r.IntN(900), r.IntN(90), r.IntN(9000), Secret)
	}
	return b.String()
}
