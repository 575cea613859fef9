package projection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Effect is what a tool call does, as far as it matters here.
type Effect string

// The effects.
const (
	// EffectUnknown: nothing is known of the tool.
	EffectUnknown Effect = ""
	// EffectRead: the call reads or searches.
	EffectRead Effect = "read"
	// EffectWrite: the call changes a file.
	EffectWrite Effect = "write"
	// EffectRun: the call runs a command, and its output is a protocol of the
	// run.
	EffectRun Effect = "run"
)

// An Observation is a tool result as the Scheduler sees it: what it weighs,
// and what it has to do with others. It holds no content.
type Observation struct {
	// Ref is where the result stands in the transcript.
	Ref transcript.Ref
	// Tokens is what the result weighs in the view, StandInTokens what its
	// stand-in would. A result whose stand-in weighs as much is never
	// cleared.
	Tokens, StandInTokens int
	// Call identifies tool and arguments: calls with the same Call ask for
	// the same thing.
	Call message.Hash
	// Content is the ContentHash of the result.
	Content message.Hash
	// Outcome is OutcomeOf the result.
	Outcome message.Outcome
	// Effect is what the call does, and Path the file that it does it to,
	// empty when it names none.
	Effect Effect
	Path   string
	// SameAs is the earlier result that the view shows instead, see AsRepeat;
	// nil for a result that stands for itself.
	SameAs *transcript.Ref
}

// Observe describes the tool result at ref. tokens is what it weighs in the
// view, and count counts the tokens of a text as the view does.
func Observe(t *transcript.Transcript, ref transcript.Ref, tokens int, count func(text string) int, targets Targets) (Observation, error) {
	s, call, err := SourceAt(t, ref)
	if err != nil {
		return Observation{}, err
	}
	o := Observation{
		Ref: ref, Tokens: tokens, StandInTokens: tokens,
		Call: CallHash(call), Content: ContentHash(s.Result), Outcome: OutcomeOf(s.Result),
	}
	o.Effect, o.Path = effectOf(call)
	if text, ok := StandIn(s, targets); ok {
		o.StandInTokens = min(tokens, count(text))
	}
	return o, nil
}

// SourceAt returns the tool result at ref with its call. It is an error when
// there is none.
func SourceAt(t *transcript.Transcript, ref transcript.Ref) (Source, message.ToolCall, error) {
	at, ok := t.Call(ref)
	if !ok {
		return Source{}, message.ToolCall{}, fmt.Errorf("describe tool result %s: the transcript has none there", Reference(ref))
	}
	call, _ := t.At(at.Message).Blocks[at.Block].(message.ToolCall)
	result, _ := t.At(ref.Message).Blocks[ref.Block].(message.ToolResult)
	return Source{Tool: call.Name, Result: result, Reference: Reference(ref)}, call, nil
}

// CallHash identifies what a call asks for: tool and arguments, not the id.
func CallHash(c message.ToolCall) message.Hash {
	return message.HashBlock(message.ToolCall{Name: c.Name, Arguments: c.Arguments})
}

// effectOf tells the effect of a call by the words in its tool's name, and the
// file by the usual argument names. A tool that it does not know has no
// effect, which only means that nothing is said about its results.
func effectOf(c message.ToolCall) (Effect, string) {
	var args struct {
		Path         any `json:"path"`
		FilePath     any `json:"file_path"`
		FilePath2    any `json:"filePath"`
		AbsolutePath any `json:"absolute_path"`
		Notebook     any `json:"notebook_path"`
		Command      any `json:"command"`
	}
	if strings.HasPrefix(strings.TrimSpace(c.Arguments), "{") {
		// An error leaves the fields empty: free text names no file.
		_ = json.Unmarshal([]byte(c.Arguments), &args)
	}
	path := ""
	for _, v := range []any{args.Path, args.FilePath, args.FilePath2, args.AbsolutePath, args.Notebook} {
		if s, ok := v.(string); ok && path == "" {
			path = s
		}
	}
	words := nameWords(c.Name)
	if command, ok := args.Command.(string); ok && command == "view" && slices.Contains(words, "editor") {
		return EffectRead, path
	}
	for _, e := range effectWords() {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(e.words, w) }) {
			return e.effect, path
		}
	}
	return EffectUnknown, path
}

type effectWord struct {
	effect Effect
	words  []string
}

// effectWords lists, in the order in which they are looked for, the words that
// tools are named with.
func effectWords() []effectWord {
	return []effectWord{
		{EffectWrite, []string{"write", "edit", "editor", "multiedit", "patch", "applypatch", "replace", "create", "delete", "insert", "update"}},
		{EffectRead, []string{"read", "readfile", "view", "cat", "open", "grep", "rg", "glob", "search", "find", "list", "ls", "fetch", "webfetch"}},
		{EffectRun, []string{"bash", "sh", "shell", "exec", "execute", "run", "command", "terminal", "powershell"}},
	}
}

// nameWords splits a name like "read_file" or "readFile" into its words, in
// lower case.
func nameWords(name string) []string {
	var out []string
	word := []rune{}
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// savedTokens is what clearing takes off the view.
func (o Observation) savedTokens() int { return max(0, o.Tokens-o.StandInTokens) }
